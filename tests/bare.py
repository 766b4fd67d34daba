"""The bare game, which the tests of the engine play: players walk, talk and wave, and pick apples.

It stands for any game: no apple lies anywhere unless an option says so, and nobody but players
walks.
"""

import random
from dataclasses import dataclass

from flatlands import Event, Me, Record, Records, Thing, Transaction, action, number
from flatlands import Game as Engine
from flatlands.server.settings import option, seconds, whole
from flatlands.world.track import Tile

#: The board of those who have picked the most apples.
BOARD = "apples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of the bare game."""

    apples: int = option("number of apples in each part of the world", whole(0, 60), 0)
    pause: float = option("seconds until an apple that was picked lies elsewhere", seconds, 120)


class Apple(Thing, reach=0.7, lasts=24 * 3600):
    """An apple, which is forgotten if nobody picks it for a day."""


class Purse(Record):
    """Who has how many apples in stock."""

    apples = number(0, 10**6)


class Wave(Event):
    """A player waves."""

    hand = number(1, 255)


class Game(Engine):
    """The bare game: players walk, talk and wave, and pick apples."""

    things = (Apple,)
    events = (Wave,)
    purses = Records(Purse)

    def __init__(self, node: object, options: Options | None = None, alone: bool = True) -> None:
        super().__init__(node, options or Options(), alone)

    def plant(self, plot: Tile) -> list[Thing]:
        """Return the apples of a part of the world."""
        tiles = [self.somewhere(plot) for _ in range(self.options.apples)]
        return [Apple(tile) for tile in tiles if tile is not None]

    def on_touch(self, me: Me, apple: Apple) -> None:
        """Let the player that comes first pick an apple."""
        pause, tile = self.options.pause, self.somewhere(apple.plot) or apple.tile
        then = [apple.again(tile, after=random.uniform(pause / 2, pause * 3 / 2))]
        if me.take(apple, then, scores=[(BOARD, 1)]):
            me.send("found", apple.id, apple.version)

    def stock(self, apple: Apple, purse: str) -> bool:
        """Take an apple away for a purse, without a player; return whether it was still there."""
        tile = self.somewhere(apple.plot) or apple.tile

        def taken(there: Apple | None, has: Purse | None) -> Transaction | None:
            if there is None or there.version != apple.version:
                return None
            has = has or Purse(purse)
            elsewhere = there.again(tile, after=self.options.pause)
            stocked = has.again(apples=has.apples + 1)
            return Transaction([elsewhere, stocked], scores=[(purse, BOARD, 1)])

        return self.store.transact([apple, Purse.key(purse)], taken)

    def give(self, giver: str, taker: str) -> bool:
        """Let an apple go from one purse to another; return whether there was one."""

        def given(less: Purse | None, more: Purse | None) -> Transaction | None:
            if less is None or not less.apples:
                return None
            more = more or Purse(taker)
            return Transaction(
                [less.again(apples=less.apples - 1), more.again(apples=more.apples + 1)]
            )

        return self.store.transact([Purse.key(giver), Purse.key(taker)], given)

    @action(rate=1, burst=5)
    def wave(self, me: Me, hand: int = number(1, 255)) -> None:
        """Show all who see a player that it waves."""
        me.emit(Wave(hand=hand))

    @action(rate=1, burst=5)
    def scores(self, me: Me) -> None:
        """Tell a player the board."""
        me.send("board", [[one.name, one.points] for one in self.top(BOARD, 10)])
