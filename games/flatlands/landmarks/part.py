"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.landmarks.finders import Finders

PARTS = (Finders,)
