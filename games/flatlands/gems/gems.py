"""Gems: they lie near the paths. A player that walks over one gets it; later it lies elsewhere."""

import random

from flatlands import Me, Part, Records, Thing, action
from flatlands.games.flatlands.notes import LINES, Note, note
from flatlands.games.flatlands.treasure import BOARD, beside_paths, is_planted
from flatlands.world.terrain import BLOCKED, HIGH
from flatlands.world.track import Tile

#: The most people on the board that a page is sent.
LENGTH = 10

#: The number of random places that are tried for a gem.
TRIES = 16

#: The kinds of tiles on which no gem lies.
BARRED = BLOCKED | HIGH


class Gem(Thing, reach=0.7, lasts=24 * 3600):
    """A gem. It is forgotten if nobody takes it for a day: the store need not keep gems where
    nobody goes."""


class Gems(Part):
    """Gems: a player that walks over one gets it, and later it lies elsewhere. Their options are
    those of the game.
    """

    things = [Gem]
    notes = Records(Note)

    def plant(self, plot: Tile) -> list[Gem]:
        """Return the gems of a plot."""
        places = [self._choose(plot) for _ in range(self.game.options.gems)]
        return [Gem(place) for place in places if place is not None]

    def on_touch(self, me: Me, gem: Gem) -> None:
        """Give a gem to the player that comes to it first."""
        pause = self.game.options.gem_pause
        then: list[Gem] = []
        if is_planted(gem, self.game.options.gems):
            place = self._choose(gem.plot) or gem.tile
            then = [gem.again(place, after=random.uniform(pause / 2, pause * 3 / 2))]
        if me.take(gem, then, scores=[(BOARD, 1)]):
            rank = me.rank(BOARD)
            if rank.n == 1:
                x, y = gem.tile
                line = note(me.owner, "gem", self.now(), x=x, y=y, once="first")
                self.notes.add(line, LINES)
            me.send("found", gem.id, gem.version, rank.n, rank.place, rank.of)

    @action(rate=1, burst=5)
    def scores(self, me: Me) -> None:
        """Answer with the board."""
        rank, top = me.rank(BOARD), self.top(BOARD, LENGTH)
        rows = [[one.name, one.points, one.owner == me.owner] for one in top]
        me.send("board", rank.n, rank.place, rank.of, rows)

    def _choose(self, plot: Tile) -> Tile | None:
        """Return a random tile near a path of a plot, or None if none was found."""
        terrain = self.node.terrain
        # A gem on a path that leads over a plateau can be reached; elsewhere up there perhaps not.
        fit = (p for p in beside_paths(terrain, plot, TRIES) if terrain.kind(*p) not in BARRED)
        return next(fit, None)
