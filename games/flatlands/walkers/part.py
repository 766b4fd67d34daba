"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.walkers.walkers import Walkers

PARTS = (Walkers,)
