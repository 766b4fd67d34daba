"""The book: shows its lines to the person that they are about. Other parts write them.

A book has room for MOST lines: the oldest ones go first. This module never tells anybody of
somebody else's book.
"""

from typing import Final

from flatlands import Me, Part, Records, action, number
from flatlands.games.flatlands.book.notes import MARK, Note, note
from flatlands.server.messages.protocol import OTHERS_FROM
from flatlands.server.messages.table import NUMBER

#: The most lines of a book that are kept, and shown.
MOST: Final = 300

#: The most tiles between two who wave to each other, and ms of a day: it is noted once a day.
NEAR, DAY = 16, 24 * 3600 * 1000


class Book(Part):
    """The book: shows its lines to the person that they are about."""

    notes = Records(Note)

    @action(rate=0.2, burst=3)
    def book(self, me: Me) -> None:
        """Answer with the lines of a player's book, the newest first."""
        lines = self.notes.all(me.owner[:MARK]) if me.owner else []
        lines.sort(key=lambda line: -line.at)
        for line in lines[MOST:]:
            self.notes.forget(line)
        rows = [[one.kind, one.at, one.who, one.n, one.x, one.y] for one in lines[:MOST]]
        me.tell("book", rows)

    @action(rate=0.5, burst=5)
    def spark(self, me: Me, other: int = number(OTHERS_FROM, NUMBER)) -> None:
        """Note that a player and one near it have waved to each other, which its page has seen."""
        now, (x, y) = self.now(), me.tile
        for seen in self.players_near(me.tile, NEAR):
            if seen.id == other != me.id and me.owner:
                once = f"{other} {now // DAY}"
                self.notes.add(note(me.owner, "spark", now, who=seen.name, x=x, y=y, once=once))
