"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.twins.twins import Twins

PARTS = (Twins,)
