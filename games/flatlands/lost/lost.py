"""Lost things: each day one lies somewhere out there, and whoever finds it wears it for a day.

The record of a day says what it is, where it lies, and who has found it. It is laid, and taken, in
one step of the store together with its record: so each day has one thing, and one finder, whatever
dies in between. Each node reads the records of the last two days now and then, and sends them to
its pages.
"""

import random
from math import hypot
from typing import Final

from flatlands import (
    Game,
    Me,
    Part,
    Record,
    Records,
    StoreUnavailable,
    Thing,
    Transaction,
    action,
    every,
    number,
    text,
)
from flatlands.games.flatlands.notes import LINES, Note, note
from flatlands.games.flatlands.treasure import beside_paths
from flatlands.server.messages.protocol import TIME_MOST
from flatlands.server.messages.table import NUMBER
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT
from flatlands.world.terrain import BLOCKED, HIGH, PLOT_SIDE
from flatlands.world.track import Tile

#: How many kinds of lost things there are, from 0 on: the page knows which.
KINDS: Final = 3

#: ms of a day.
DAY_MS: Final = 24 * 3600 * 1000

#: A lost thing lies so far from the plaza, in tiles.
NEAREST_TILES: Final = 100
FARTHEST_TILES: Final = 300

#: The records are read so often.
READ_SECONDS: Final = 30

#: No lost thing lies on these kinds of tiles.
BARRED: Final = BLOCKED | HIGH


class Lost(Thing, reach=1.5, lasts=2 * 24 * 3600):
    """What was lost on a `day`, counted from 1970."""

    day = number(0, NUMBER)
    what = number(0, KINDS - 1)


class LostDay(Record, lasts=3 * 24 * 3600):
    """What lies where on a day, which is its id; and who has found it and when, or 0."""

    what = number(0, KINDS - 1)
    x = number(-NUMBER, NUMBER)
    y = number(-NUMBER, NUMBER)
    player = number(0, NUMBER)
    name = text(0, PLAYER_NAME_LIMIT)
    at = number(0, TIME_MOST)


class LostAndFound(Part):
    """Lays the lost things, and says who has found them."""

    things = [Lost]
    days = Records(LostDay)
    notes = Records(Note)

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        #: What pages are sent: see `_rows`.
        self._sent: list[list[object]] = []

    @every(READ_SECONDS, waits=True)
    def look(self) -> None:
        """Lay the thing of today, if that was not done yet, and send what other nodes know."""
        if not self.game.has_store:
            return
        try:
            today = self.now() // DAY_MS
            if self.days.read(str(today)) is None:
                self._lay(today)
            rows = self._rows()
        except StoreUnavailable:
            return
        if rows != self._sent:
            self._sent = rows
            self.broadcast_local("lost", rows)

    @action(rate=0.2, burst=3)
    def lost(self, me: Me) -> None:
        """Answer with what was lost today and yesterday, as this node knows."""
        me.send("lost", self._sent)

    def on_touch(self, me: Me, thing: Lost) -> None:
        """Give a lost thing to whoever comes to it first, if that is somebody with a key."""
        if not me.owner:
            return
        now, name = self.now(), me.name

        def take(there: Lost | None, day: LostDay | None) -> Transaction | None:
            if there is None or day is None or day.player:
                return None
            return Transaction(put=[day.again(player=me.id, name=name, at=now)], remove=[there])

        if self.store.transact([thing, LostDay.key(str(thing.day))], take):
            x, y = thing.tile
            self.notes.add(note(me.owner, "lost", now, n=thing.what, x=x, y=y), LINES)
            self._sent = self._rows()
            self.broadcast("lost", self._sent)

    def _rows(self) -> list[list[object]]:
        """Return a row for each of the last two days that has something: the day, what it is, where
        it was laid, and the id and name of who has found it, and when in node time, or 0."""
        today = self.now() // DAY_MS
        found = [self.days.read(str(day)) for day in (today, today - 1)]
        return [
            [int(one.id), one.what, one.x, one.y, one.player, one.name, one.at]
            for one in found
            if one is not None
        ]

    def _lay(self, today: int) -> None:
        """Lay the thing of a day, unless another node does."""
        tile = self._choose()
        if tile is None:
            return
        what, (x, y) = random.randrange(KINDS), tile

        def lay(day: LostDay | None) -> Transaction | None:
            if day is not None:
                return None
            return Transaction(
                put=[LostDay(str(today), what=what, x=x, y=y), Lost(tile, day=today, what=what)]
            )

        self.store.transact([LostDay.key(str(today))], lay)

    def _choose(self) -> Tile | None:
        """Return a random tile beside a path, far from the plaza, or None if none was found."""
        most = FARTHEST_TILES // PLOT_SIDE
        for _ in range(20):
            plot = random.randint(-most, most), random.randint(-most, most)
            for tile in beside_paths(self.node.terrain, plot, 4):
                fits = NEAREST_TILES <= hypot(*tile) <= FARTHEST_TILES
                if fits and self.node.terrain.kind(*tile) not in BARRED:
                    return tile
        return None
