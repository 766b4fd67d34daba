"""A game that has one of all that an author can see or do in /inspect, for the tests of it."""

import gevent

from flatlands import (
    Cells,
    Me,
    Mover,
    Record,
    Records,
    Refused,
    Thing,
    action,
    flag,
    number,
    plain,
    text,
)
from flatlands import Game as Engine


class Painter(Me):
    """A player, whose fields everybody sees."""

    colour = number(0, 7)
    team = text(0, 9)


class Coin(Thing, reach=0.2):
    """It lies there."""

    worth = number(1, 9)


class Chest(Thing, reach=0.2, per_owner=1):
    """A person has one at most."""

    label = text(0, 20)


class Fish(Mover, persist=False):
    """It swims."""

    size = number(1, 9)


class Purse(Record):
    """What somebody has."""

    gold = number(0, 100)
    _last = text(0, 9)


class Game(Engine[Painter]):
    """Players paint, and are refused."""

    ground, me, things = plain(), Painter, (Coin, Chest, Fish)
    floor, heat = Cells(), Cells(persist=False)
    purses = Records(Purse)

    @action(rate=0.01, burst=1)
    def paint(
        self, me: Painter, colour: int = number(1, 7), team: str = text(0, 9), wide: bool = flag()
    ) -> None:
        """Paint the tile on which a player is."""
        me.colour, me.team = colour, team
        me.write(self.floor, me.tile, colour)

    @action(rate=9)
    def refuse(self, me: Painter) -> None:
        """Refuse."""
        raise Refused("poor", "You need 5 gold.")

    @action(rate=9)
    def leave(self, me: Painter) -> None:
        """Send the player away, and wait until it has gone."""
        me._resident.session.connection.close(1008, "bye")
        while me.is_local:
            gevent.sleep(0.01)

    @action(rate=9)
    def wait(self, me: Painter) -> None:
        """Take long."""
        gevent.sleep(60)
