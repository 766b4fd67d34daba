"""Gems: they lie near the paths. Who walks over one has it, and it lies somewhere else later."""

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flatlands import Me, Part, Thing, action
from flatlands.world.terrain import BLOCKED, CELL, HIGH, PLAZA_WITHIN, Terrain
from flatlands.world.track import Tile

if TYPE_CHECKING:
    from flatlands.games.flatlands.game import Game

#: The board of gems, and the most people on it that a page is sent.
BOARD, LENGTH = "gems", 10

#: How far from the straight line between two waypoints a gem lies at most, in tiles, and the number
#: of random places that are tried.
ASIDE, TRIES = 6, 16

#: The kinds of tiles on which none lies.
BARRED = BLOCKED | HIGH


def beside_paths(terrain: Terrain, cell: Tile, tries: int) -> Iterator[Tile]:
    """Yield up to so many random tiles of a cell near its paths."""
    i, j = cell
    edges = sorted(terrain.edges(i, j))
    for _ in range(tries):
        x0, y0, x1, y1 = random.choice(edges)
        part = random.random()
        column = round(x0 + (x1 - x0) * part) + random.randint(-ASIDE, ASIDE)
        row = round(y0 + (y1 - y0) * part) + random.randint(-ASIDE, ASIDE)
        inside = abs(column - i * CELL) < CELL // 2 and abs(row - j * CELL) < CELL // 2
        # Newcomers would have it at once on the plaza, whose border is decorated.
        if inside and column * column + row * row > (PLAZA_WITHIN + 2) ** 2:
            yield column, row


def is_planted(thing: Thing, each: int) -> bool:
    """Say whether a thing is one of those that cells have of its kind, where they have so many."""
    # The cell may have had more before; a stranger at the broker may name one otherwise.
    number = thing.id.rpartition(":")[2]
    return number.isdecimal() and int(number) < each


class Gem(Thing, reach=0.7, lasts=24 * 3600):
    """A gem. It is forgotten if nobody takes it for a day: the store need not keep those of places
    where nobody goes."""


class Gems(Part):
    """Gems: who walks over one has it, and later it lies somewhere else. Its options are those of
    the game.
    """

    game: "Game"
    things = [Gem]

    def plant(self, cell: Tile) -> list[Gem]:
        """Return the gems of a cell."""
        places = [self._choose(cell) for _ in range(self.game.options.gems)]
        return [Gem(place) for place in places if place is not None]

    def on_touch(self, me: Me, gem: Gem) -> None:
        """Give a gem to who comes to it first."""
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
        # On a path that leads over a plateau it can be reached; elsewhere up there perhaps not.
        fit = (p for p in beside_paths(terrain, cell, TRIES) if terrain.kind(*p) not in BARRED)
        return next(fit, None)
