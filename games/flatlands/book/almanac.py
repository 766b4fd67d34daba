"""The almanac: one page for each day of the world, which tells of the day before by five statements
of SQL over its tables.

The first player to ask for it on a day has it written; then all read the same page, on whichever
node. This module never changes what it tells of.
"""

from typing import Final

from flatlands import Me, Part, Record, Records, action, number, select, text
from flatlands.games.flatlands.tables import TABLES
from flatlands.server.messages.table import NUMBER
from flatlands.server.messages.texts import NAME_LIMIT, TEXT_LIMIT

#: ms of a day of the world, as in page/day.js, and ms for which something counts as new.
DAY, NEW = 960_000, 24 * 3600 * 1000

#: Kind of entry -> the SQL that returns who, n, x, y and words of each; `now` is node time in ms.
PAGE: Final = {
    "farthest": """SELECT n.who, n.n, n.x, n.y, '' FROM note n
        WHERE n.kind = 'landmark' AND n.at > {now} - {new}
        ORDER BY n.x * n.x + n.y * n.y DESC, n.at LIMIT 1""",
    "loneliest": """SELECT c.name, min(abs(c.x - o.x) + abs(c.y - o.y)) AS away, c.x, c.y, c.text
        FROM cairn c JOIN cairn o ON c.id <> o.id GROUP BY c.id ORDER BY away DESC LIMIT 1""",
    "oldest": """SELECT name, {now} - built, x, y, text FROM cairn ORDER BY built LIMIT 1""",
    "hands": """SELECT '', count(*) AS hands, x, y, '' FROM note
        WHERE kind = 'hand' AND at > {now} - {new} GROUP BY x, y ORDER BY hands DESC LIMIT 1""",
    "unseen": """SELECT '', 0, part_x, part_y, '' FROM landmark
        WHERE finders = 0 ORDER BY x * x + y * y LIMIT 3""",
}


class Entry(Record, lasts=2 * 24 * 3600):
    """An entry on the page of a day."""

    kind = text(1, 12)
    who = text(0, NAME_LIMIT)
    n = number(0, NUMBER)
    x = number(-NUMBER, NUMBER)
    y = number(-NUMBER, NUMBER)
    words = text(0, TEXT_LIMIT)


class Almanac(Part):
    """The almanac: one page for each day of the world, which tells of the day before by five
    statements of SQL over its tables.
    """

    entries = Records(Entry)

    @action(rate=0.2, burst=3, address=(2, 120))
    def almanac(self, me: Me) -> None:
        """Answer with the page of today: its day, and the entries."""
        now = self.now()
        day = now // DAY
        found = self.entries.all(str(day)) or self._write(day, now)
        me.tell("almanac", day, [[one.kind, *list(one.values.values())[1:]] for one in found])

    def _write(self, day: int, now: int) -> list[Entry]:
        """Write the page of a day, unless another node does at the same time; return the page."""
        statements = [each.format(now=now, new=NEW) for each in PAGE.values()]
        for kind, answer in zip(PAGE, select(self, TABLES, *statements), strict=True):
            for at, (who, n, x, y, words) in enumerate(answer):
                place = {"n": int(n), "x": int(x // 1), "y": int(y // 1)}
                one = Entry(f"{day}/{kind} {at}", kind=kind, who=who, words=words, **place)
                self.entries.add(one)
        return self.entries.all(str(day))
