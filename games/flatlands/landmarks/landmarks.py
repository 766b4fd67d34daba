"""Where landmarks stand, as a function of the ground.

The page's landmarks.js is this module's twin; it also knows their kinds, names, and signposts.
tests/vectors/landmarks.json holds both to the same tiles. Most parts of the world, PART tiles each
way, have one landmark, on open ground not far from a path. Nobody is stopped by it.
"""

from typing import Final

from flatlands.world.recent import Recent
from flatlands.world.terrain import GRASS, PATH_FAR, SAND, WOOD, Terrain, hash32

#: The tiles each way that have one landmark, and those from it to the border of its part.
PART: Final = 160
EDGE: Final = 12

#: The number of places that are looked at, one after the other.
TRIES: Final = 24

#: It stands farther than so many 1/16 tile from the middle of a path, and so many tiles from the
#: plaza.
FROM_PATH: Final = 56
FROM_PLAZA: Final = 45

#: Parts of the world whose landmarks are kept, of about 200 bytes each.
CACHED: Final = 1024

_SALT: Final = 0x1A4D3A
_ACROSS: Final = 0x9E3779B1
_DOWN: Final = 0x85EBCA77
_AROUND: Final = ((-2, 0), (2, 0), (0, -2), (0, 2))


class Landmarks:
    """The landmarks of one world."""

    def __init__(self, terrain: Terrain) -> None:
        self._terrain = terrain
        self._known = Recent(self._find, CACHED)

    def of(self, i: int, j: int) -> tuple[int, int] | None:
        """Return the tile of the landmark of a part of the world, or None if it has none.

        To find out takes up to some ms, once.
        """
        return self._known[i, j]

    def _find(self, part: tuple[int, int]) -> tuple[int, int] | None:
        i, j = part
        roll = hash32(hash32(i * _ACROSS + hash32(self._terrain.seed + _SALT)) + j * _DOWN)
        span = PART - 2 * EDGE
        for _ in range(TRIES):
            x = i * PART + EDGE + (roll & 0xFFFF) % span
            y = j * PART + EDGE + (roll >> 16) % span
            if self._suits(x, y):
                return x, y
            roll = hash32(roll + 1)
        return None

    def _suits(self, x: int, y: int) -> bool:
        """Say whether a landmark can stand on a tile."""
        kind, _, _, path = self._terrain.tile(x, y)
        return (
            kind in (GRASS, SAND)
            and FROM_PATH < path < PATH_FAR
            and x * x + y * y > FROM_PLAZA**2
            and all(self._terrain.kind(x + dx, y + dy) in (GRASS, SAND, WOOD) for dx, dy in _AROUND)
        )
