"""Gems: they lie near the paths. A player that walks over one gets it; later it lies elsewhere."""

import random
from collections.abc import Iterator

from flatlands import Me, Part, Thing, action
from flatlands.world.terrain import BLOCKED, CELL, HIGH, PLAZA_WITHIN, Terrain
from flatlands.world.track import Tile

#: The board of gems, and the most people on it that a page is sent.
BOARD, LENGTH = "gems", 10

#: The most tiles, along each axis, from a gem to the straight line between two waypoints, and the
#: number of random places that are tried.
ASIDE, TRIES = 6, 16

#: The kinds of tiles on which no gem lies.
BARRED = BLOCKED | HIGH


def beside_paths(terrain: Terrain, cell: Tile, tries: int) -> Iterator[Tile]:
    """Yield up to `tries` random tiles of a cell near its paths."""
    i, j = cell
    edges = sorted(terrain.edges(i, j))
    for _ in range(tries):
        x0, y0, x1, y1 = random.choice(edges)
        part = random.random()
        column = round(x0 + (x1 - x0) * part) + random.randint(-ASIDE, ASIDE)
        row = round(y0 + (y1 - y0) * part) + random.randint(-ASIDE, ASIDE)
        inside = abs(column - i * CELL) < CELL // 2 and abs(row - j * CELL) < CELL // 2
        # On the plaza newcomers would have it at once, and the border of the plaza is decorated.
        if inside and column * column + row * row > (PLAZA_WITHIN + 2) ** 2:
            yield column, row


def is_planted(thing: Thing, each: int) -> bool:
    """Return whether a thing is one of the `each` things of its kind that every cell has."""
    # The cell may have had more before; a stranger at the broker may have made up an id.
    number = thing.id.rpartition(":")[2]
    return number.isdecimal() and int(number) < each


class Gem(Thing, reach=0.7, lasts=24 * 3600):
    """A gem. It is forgotten if nobody takes it for a day: the store need not keep gems where
    nobody goes."""


class Gems(Part):
    """Gems: a player that walks over one gets it, and later it lies elsewhere. Their options are
    those of the game.
    """

    things = [Gem]

    def plant(self, cell: Tile) -> list[Gem]:
        """Return the gems of a cell."""
        places = [self._choose(cell) for _ in range(self.game.options.gems)]
        return [Gem(place) for place in places if place is not None]

    def on_touch(self, me: Me, gem: Gem) -> None:
        """Give a gem to the player that comes to it first."""
        pause = self.game.options.gem_pause
        then: list[Gem] = []
        if is_planted(gem, self.game.options.gems):
            place = self._choose(gem.cell) or gem.tile
            then = [gem.again(place, after=random.uniform(pause / 2, pause * 3 / 2))]
        if me.take(gem, then, scores=[(BOARD, 1)]):
            rank = me.rank(BOARD)
            me.tell("found", gem.id, gem.version, rank.n, rank.place, rank.of)

    @action(rate=1, burst=5)
    def scores(self, me: Me) -> None:
        """Answer with the board."""
        rank, top = me.rank(BOARD), self.top(BOARD, LENGTH)
        rows = [[one.name, one.points, one.owner == me.owner] for one in top]
        me.tell("board", rank.n, rank.place, rank.of, rows)

    def _choose(self, cell: Tile) -> Tile | None:
        """Return a random tile near a path of a cell, or None if none was found."""
        terrain = self.node.terrain
        # A gem on a path that leads over a plateau can be reached; elsewhere up there perhaps not.
        fit = (p for p in beside_paths(terrain, cell, TRIES) if terrain.kind(*p) not in BARRED)
        return next(fit, None)
