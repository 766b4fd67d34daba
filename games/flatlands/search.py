"""What a page finds by a few letters: players of all nodes, and cairns. Landmarks it knows itself.

This module never tells of anybody more than server/players/names.py does.
"""

from flatlands import Away, Me, Part, action, select, text
from flatlands.games.flatlands.tables import TABLES
from flatlands.server.game import Game
from flatlands.server.players.names import folded, matches
from flatlands.world.track import UNIT

#: The most letters that are asked for, and the most cairns in an answer.
LETTERS, MOST = 40, 10

#: ms for which the cairns that were read are good.
KEPT_FOR = 30_000


class Search(Part):
    """See the module."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        #: Of each cairn: its builder's name, its line, and its place in tiles.
        self._cairns: list[tuple[str, str, float, float]] = []
        self._read_at = -KEPT_FOR

    @action(rate=4, burst=8, address=(10, 60))
    def seek(self, me: Me, words: str = text(1, LETTERS)) -> None:
        """Tell a player who and what is called so: people in squares, and cairns."""
        wanted, (x, y) = folded(words), me.tile
        if not wanted:
            return
        self._read()
        found = [
            (
                -max(matches(wanted, each) for each in one[:2]),
                (one[2] - x) ** 2 + (one[3] - y) ** 2,
                one,
            )
            for one in self._cairns
            if any(matches(wanted, each) for each in one[:2])
        ]
        cairns = [
            [name, line, int(a // 1), int(b // 1)]
            for *_, (name, line, a, b) in sorted(found)[:MOST]
        ]
        self.node.names.find(
            words,
            x * UNIT,
            y * UNIT,
            # Whoever has asked may have left.
            lambda people: me.tell("sought", words, people, cairns) if me.here else None,
        )

    def _read(self) -> None:
        """Read the cairns, if that was long ago. It waits for the store."""
        if self.now() < self._read_at + KEPT_FOR:
            return
        self._read_at = self.now()
        try:
            [self._cairns] = select(self, TABLES, "SELECT name, text, x, y FROM cairn")
        except Away:
            # Those of before are found, and people.
            return
