"""The book: shows its lines to the person that they are about. Other parts write them.

A book has room for LINES lines: the oldest ones go first, when a line is added. This module never
shows anybody somebody else's book.
"""

from flatlands import Me, Part, Records, action
from flatlands.games.flatlands.notes import LINES, MARK, Note


class Book(Part):
    """The part of the game with the book."""

    notes = Records(Note)

    @action(rate=0.2, burst=3, address=(2, 120))
    def book(self, me: Me) -> None:
        """Answer with the lines of a player's book, the newest first."""
        lines = self.notes.all(me.owner[:MARK]) if me.owner else []
        lines.sort(key=lambda line: -line.at)
        # Some may have come with another step of the store, which cuts nothing.
        rows = [[one.kind, one.at, one.who, one.n, one.x, one.y] for one in lines[:LINES]]
        me.send("book", rows)
