"""Where gems may lie, alone or between twin stones, where these stand, and the board that counts
gems."""

import random
from collections.abc import Iterator

from flatlands import Thing
from flatlands.world.terrain import PLAZA_WITHIN, Terrain, plot_index
from flatlands.world.track import Tile

#: The board of gems.
BOARD = "gems"

#: The middle of each twin stone is so many tiles to the side of its gem.
STONE_TILES = 2
#: A player that is so near to the middle of a stone is on it.
ON_STONE_TILES = 0.95

#: The most tiles, along each axis, from a gem to the straight line between two waypoints.
ASIDE = 6


def beside_paths(terrain: Terrain, plot: Tile, tries: int) -> Iterator[Tile]:
    """Yield up to `tries` random tiles of a plot near its paths."""
    i, j = plot
    edges = sorted(terrain.edges(i, j))
    for _ in range(tries):
        x0, y0, x1, y1 = random.choice(edges)
        part = random.random()
        column = round(x0 + (x1 - x0) * part) + random.randint(-ASIDE, ASIDE)
        row = round(y0 + (y1 - y0) * part) + random.randint(-ASIDE, ASIDE)
        inside = (plot_index(column), plot_index(row)) == plot
        # On the plaza newcomers would have it at once, and the border of the plaza is decorated.
        if inside and column * column + row * row > (PLAZA_WITHIN + 2) ** 2:
            yield column, row


def stones(twin: Tile) -> list[Tile]:
    """Return the tiles of the two stones of a gem."""
    column, row = twin
    return [(column - STONE_TILES, row), (column + STONE_TILES, row)]


def is_planted(thing: Thing, each: int) -> bool:
    """Return whether a thing is one of the `each` things of its kind that every plot has."""
    # The plot may have had more before; a stranger at the broker may have made up an id.
    number = thing.id.rpartition(":")[2]
    return number.isdecimal() and int(number) < each
