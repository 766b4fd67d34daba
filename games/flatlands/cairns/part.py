"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.cairns.cairns import Cairns

PARTS = (Cairns,)
