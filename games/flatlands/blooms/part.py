"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.blooms.blooms import Blooms

PARTS = (Blooms,)
