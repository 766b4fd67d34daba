"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.gardens.gardens import Gardens
from flatlands.games.flatlands.gardens.paths import Paths

PARTS = (Paths, Gardens)
