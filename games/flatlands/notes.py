"""Notes: the lines of people's books, and of the almanac, as records.

A part of Flatlands that writes some has `notes = Records(Note)`, and adds each with
`self.notes.add(note(...), LINES)`. This module never shows them to anybody: the part book does.
"""

import random
from typing import Final

from flatlands import Record, number, text
from flatlands.server.messages.protocol import TIME_MOST
from flatlands.server.messages.table import NUMBER
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT, TEXT_LIMIT

#: ms of a day of the world, as in page/day.js.
DAY: Final = 960_000

#: How many characters of an owner its book is known by.
MARK: Final = 16

#: The most lines of a book that are kept, and shown.
LINES: Final = 300

#: Seconds after which a line is gone.
LASTS: Final = 180 * 24 * 3600


class Note(Record, lasts=LASTS):
    """A line: what has happened `at` a node time in ms, with whom, and where. What `n`, `x` and `y`
    mean depends on its kind: games/flatlands/protocol.md has them all."""

    kind = text(1, 12)
    at = number(0, TIME_MOST)
    who = text(0, PLAYER_NAME_LIMIT)
    n = number(-NUMBER, NUMBER)
    x = number(-NUMBER, NUMBER)
    y = number(-NUMBER, NUMBER)


class Entry(Record, lasts=2 * 24 * 3600):
    """An entry on the page that the almanac has for a day."""

    kind = text(1, 12)
    who = text(0, PLAYER_NAME_LIMIT)
    n = number(0, NUMBER)
    x = number(-NUMBER, NUMBER)
    y = number(-NUMBER, NUMBER)
    words = text(0, TEXT_LIMIT)


def note(
    owner: str,
    kind: str,
    at: int,
    *,
    who: str = "",
    n: int = 0,
    x: int = 0,
    y: int = 0,
    once: str = "",
) -> Note:
    """Return a line for the book of an owner, of which the first MARK characters are enough.

    With `once`, the line is kept only once, however often it is added under that name. Raises
    ValueError if `owner` is empty.
    """
    if not owner:
        raise ValueError("a player without a key has no book")
    name = f"{kind} {once}" if once else f"{random.getrandbits(64):016x}"
    return Note(f"{owner[:MARK]}/{name}", kind=kind, at=at, who=who, n=n, x=x, y=y)
