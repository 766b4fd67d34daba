"""The book: shows its lines to the person that they are about, and has the first ones itself. Other
parts write the others.

A book has room for LINES lines: the oldest ones go first, when a line is added. This module never
shows anybody somebody else's book.
"""

from typing import Final

from flatlands import Me, Part, Records, action, number
from flatlands.games.flatlands.clockwork import Walker
from flatlands.games.flatlands.notes import LINES, MARK, Note, note
from flatlands.server.messages.table import NUMBER
from flatlands.world.terrain import BRIDGE

#: A clockwork walker that a newcomer has met is within so many tiles.
MET_TILES: Final = 12
#: A bridge that a player has crossed is within so many tiles along each axis: it walks on.
CROSSED_TILES: Final = 4


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

    @action(rate=0.2, burst=2, address=(1, 60))
    def came(self, me: Me, guide: int = number(0, NUMBER)) -> None:
        """Note that a player has come for the first time, and has met a clockwork walker, by its
        id, if that is near."""
        near = (one for one in self.movers_near(me.tile, MET_TILES) if isinstance(one, Walker))
        self._note(me, "came", next((one.name for one in near if one.number == guide), ""))

    @action(rate=0.2, burst=2, address=(1, 60))
    def crossed(self, me: Me) -> None:
        """Note that a player has crossed a bridge for the first time."""
        (column, row), around = me.tile, range(-CROSSED_TILES, CROSSED_TILES + 1)
        tiles = ((column + x, row + y) for x in around for y in around)
        if any(self.node.terrain.kind(*tile) == BRIDGE for tile in tiles):
            self._note(me, "bridge")

    def _note(self, me: Me, kind: str, who: str = "") -> None:
        """Add a line of a kind of which a book has one."""
        if me.owner:
            x, y = me.tile
            line = note(me.owner, kind, self.now(), who=who, x=x, y=y, once="first")
            self.notes.add(line, LINES)
