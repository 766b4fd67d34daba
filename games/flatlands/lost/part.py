"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.lost.lost import LostAndFound

PARTS = (LostAndFound,)
