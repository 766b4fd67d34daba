"""The almanac: one page for each day of the world, which describes the day before by four
statements of SQL over its tables.

The first player to ask for it on a day has it written, by one node; then all read the same page, on
whichever node. This module never changes what it describes.
"""

import random
from collections.abc import Sequence
from typing import Final

import gevent
from gevent.event import AsyncResult

from flatlands import Me, Part, Record, Records, Refused, action, select
from flatlands.games.flatlands.notes import DAY, Entry
from flatlands.games.flatlands.tables import TABLES, newest
from flatlands.server.game.game import Game
from flatlands.server.query.tables import Row
from flatlands.world.track import Tile

#: ms for which something counts as new.
NEW: Final = 24 * 3600 * 1000

#: Kind of entry -> the SQL that returns who, n, x, y and words of each; `now` is node time in ms.
#: Of all the cairns that "loneliest" returns, `loneliest` finds the one of that name.
PAGE: Final = {
    "farthest": """SELECT n.who, n.n, n.x, n.y, '' FROM note n
        WHERE n.kind = 'landmark' AND n.at > {now} - {new}
        ORDER BY n.x * n.x + n.y * n.y DESC, n.at LIMIT 1""",
    "loneliest": "SELECT name, 0, x, y, text FROM cairn ORDER BY built DESC LIMIT 50000",
    "oldest": """SELECT name, {now} - built, x, y, text FROM cairn ORDER BY built LIMIT 1""",
    "hands": """SELECT '', count(*) AS hands, x, y, '' FROM note
        WHERE kind = 'hand' AND at > {now} - {new} GROUP BY x, y ORDER BY hands DESC LIMIT 1""",
}

#: The kind of the only entry of a page of which there is nothing to tell.
EMPTY: Final = "empty"

#: What they read: of the lines of books those that can count.
_READ: Final = {**TABLES, "note": newest(("landmark", "hand"), NEW)}

#: Seconds after which a page may be written by another node than the one that began to.
CLAIM: Final = 30

#: So many places are looked at in one turn of the event loop.
PLACES_AT_ONCE = 1000
#: After each such turn: with 0, other greenlets would run, but what comes from sockets would wait.
PAUSE_SECONDS = 0.001


class Writer(Record, lasts=CLAIM):
    """The claim of the node that writes the page of a day."""


class Almanac(Part):
    """Writes and shows the almanac."""

    entries = Records(Entry)
    writers = Records(Writer)

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        #: Day -> its page, for which players of this node wait.
        self._awaited: dict[int, AsyncResult[list[Entry]]] = {}

    @action(rate=0.2, burst=3, address=(2, 120))
    def almanac(self, me: Me) -> None:
        """Answer with the page of today: its day, and the entries."""
        day = self.now() // DAY
        found = self.entries.all(str(day)) or self._shared(day)
        if not found:
            raise Refused("store", "today's page is being written: ask again in a minute", None)
        me.send("almanac", day, [[one.kind, *list(one.values.values())[1:]] for one in found])

    def _shared(self, day: int) -> list[Entry]:
        """Return the page of a day, which is written once for all who ask meanwhile; none if
        another node writes it."""
        if day in self._awaited:
            return self._awaited[day].get() or []
        self._awaited[day], found = AsyncResult(), []
        try:
            # Whoever has written it gave up the claim in the same step.
            if self.writers.add(Writer(str(day))) and not self.entries.all(str(day)):
                self._write(day)
            found = self.entries.all(str(day))
        finally:
            self._awaited.pop(day).set(found)
        return found

    def _write(self, day: int) -> None:
        """Write the page of a day, all of it in one step, unless another node, which may since this
        one's claim is over, was faster."""
        writer, now = self.writers.read(str(day)), self.now()
        statements = [each.format(now=now, new=NEW) for each in PAGE.values()]
        answers = dict(zip(PAGE, select(self, _READ, *statements), strict=True))
        answers["loneliest"] = _loneliest(answers["loneliest"])
        entries = []
        for kind, answer in answers.items():
            for at, (who, n, x, y, words) in enumerate(answer):
                place = {"n": int(n), "x": int(x // 1), "y": int(y // 1)}
                entries.append(
                    Entry(f"{day}/{kind} {at}", kind=kind, who=who, words=words, **place)
                )
        if writer is not None:
            # A page without entries would count as one that is not written yet.
            empty = Entry(f"{day}/{EMPTY}", kind=EMPTY, x=0, y=0)
            self.writers.forget(writer, entries or [empty])


def _loneliest(cairns: Sequence[Row]) -> list[Row]:
    """Return the row of the loneliest cairn, with its distance; none if there are not two."""
    found = loneliest([(int(x // 1), int(y // 1)) for _name, _n, x, y, _text in cairns])
    return [(cairns[at][0], away, *cairns[at][2:]) for at, away in [found]] if found else []


def loneliest(tiles: Sequence[Tile]) -> tuple[int, int] | None:
    """Return which of some tiles is farthest from the nearest other one, and how far, along both
    axes together; None if there are not two. It waits now and then, for others to go on.

    In a random order only some ln(n) tiles are lonelier than all before, and only these are
    compared with all. The others have somebody as near as the loneliest so far in boxes around
    them: if one is in a box with another, that is near enough.
    """
    if len(tiles) < 2:
        return None
    best, found, side = -1, 0, 1
    boxes: dict[Tile, list[Tile]] = {}
    for n, at in enumerate(random.sample(range(len(tiles)), len(tiles))):
        if n % PLACES_AT_ONCE == 0:
            gevent.sleep(PAUSE_SECONDS)
        x, y = tiles[at]
        if best >= 0:
            i, j = x // side, y // side
            if len(boxes[i, j]) > 1 or any(
                abs(x - a) + abs(y - b) <= best
                for p in range(i - 2, i + 3)
                for q in range(j - 2, j + 3)
                if (p, q) != (i, j)
                for a, b in boxes.get((p, q), ())
            ):
                continue
        best = min(abs(x - a) + abs(y - b) for k, (a, b) in enumerate(tiles) if k != at)
        found, side = at, best // 2 + 1
        boxes = _boxes(tiles, side)
    return found, best


def _boxes(tiles: Sequence[Tile], side: int) -> dict[Tile, list[Tile]]:
    """Return the tiles in each box of `side` tiles that has some. It waits now and then."""
    boxes: dict[Tile, list[Tile]] = {}
    for n, (x, y) in enumerate(tiles):
        if n % PLACES_AT_ONCE == 0:
            gevent.sleep(PAUSE_SECONDS)
        boxes.setdefault((x // side, y // side), []).append((x, y))
    return boxes
