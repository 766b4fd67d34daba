"""What people leave on the ground: the paths that their feet wear, and the gardens they plant."""

from flatlands.games.flatlands.gardens.gardens import Gardens
from flatlands.games.flatlands.gardens.paths import Paths

PARTS = (Paths, Gardens)
PLACE = 100
