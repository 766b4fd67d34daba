"""Where signposts stand, and which of them a path joins, as functions of the ground.

The page's landmarks.js is this module's twin; tests/vectors/posts.json holds both to the same
tiles. Most plots of the ground have a signpost beside a path, near where their paths meet; that of
plot (0, 0) is the one on the plaza.
"""

from typing import Final

from flatlands.world.lru_cache import LRUCache
from flatlands.world.terrain import GRASS, SAND, WOOD, Terrain
from flatlands.world.track import Tile

#: Tiles around a waypoint in which a signpost stands.
AROUND: Final = 8

#: No signpost is nearer to the middle of its path, in 1/16 tile.
POST_FROM: Final = 26
#: No signpost is farther from the middle of its path, in 1/16 tile.
POST_TO: Final = 40

#: The fewest tiles between two signposts that make a course.
APART: Final = 24

#: The neighbours of a plot, by the numbers of sides: east, south, west and north.
SIDES: Final = ((1, 0), (0, 1), (-1, 0), (0, -1))

#: How many plots are cached, at about 200 bytes each.
CACHED: Final = 4096

#: The tiles around a waypoint, the nearest first; of equally near ones, the north-western first.
_NEAREST: Final = sorted(
    ((x, y) for y in range(-AROUND, AROUND + 1) for x in range(-AROUND, AROUND + 1)),
    key=lambda at: (at[0] ** 2 + at[1] ** 2, at[1], at[0]),
)


class Posts:
    """The signposts of one world. Cells are (column, row), as in docs/games/."""

    def __init__(self, terrain: Terrain) -> None:
        self._terrain = terrain
        self._known = LRUCache(self._find, CACHED)

    def course(self, plot: Tile, side: int) -> tuple[Tile, Tile] | None:
        """Return the tiles of a plot's signpost and of the next one that a path leads to on a side
        of it, or None if there is no course. Finding out takes up to a few ms, once."""
        i, j = SIDES[side]
        there = plot[0] + i, plot[1] + j
        first, last = sorted((plot, there))
        joins = (*self._terrain.waypoint(*first), *self._terrain.waypoint(*last))
        if joins not in self._terrain.edges(*plot):
            return None
        one, other = self._known[plot], self._known[there]
        if one is None or other is None:
            return None
        far = (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2
        return (one, other) if far >= APART**2 else None

    def may_end(self, plot: Tile, side: int, tile: Tile) -> bool:
        """Return whether a tile is near enough to where a course ends, if there is one, to see the
        signpost there."""
        i, j = SIDES[side]
        waypoint = self._terrain.waypoint(plot[0] + i, plot[1] + j)
        return all(abs(a - b) <= 2 * AROUND for a, b in zip(waypoint, tile, strict=True))

    def _find(self, plot: Tile) -> Tile | None:
        """Return the tile of the signpost of a plot, or None if it has none."""
        left, top = self._terrain.waypoint(*plot)
        if plot == (0, 0):
            return 0, 0
        for x, y in _NEAREST:
            kind, _, _, path = self._terrain.tile(left + x, top + y)
            if POST_FROM <= path <= POST_TO and kind in (GRASS, SAND, WOOD):
                return left + x, top + y
        return None
