"""What a page finds by a few letters: players of all nodes, cairns, and landmarks that somebody has
found. The page itself knows the landmarks around its player, found or not.

This module never tells more about anybody than server/players/names.py does.
"""

from heapq import nsmallest
from itertools import islice

import gevent

from flatlands import Away, Me, Part, action, select, text
from flatlands.games.flatlands.landmarks.finders import QUEUE
from flatlands.games.flatlands.landmarks.landmarks import Landmarks
from flatlands.games.flatlands.tables import TABLES
from flatlands.server.game import Game
from flatlands.server.players.names import folded, matches
from flatlands.world.track import UNIT

#: The most letters in a question, and the most cairns, and the most landmarks, in an answer.
LETTERS, MOST = 40, 10

#: ms for which what was read from the store is used.
KEPT_FOR = 30_000

#: The most landmarks that one reading names, at a ms or two each, and the most that are known.
NAMED, NAMED_MOST = 200, 10_000

#: Where something with a name is: its tile, or the place within the tile.
_Place = tuple[float, float]


class Search(Part):
    """What a page finds by a few letters: players of all nodes, and cairns."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        #: Texts -> the places that have them: the builder's name and the line of a cairn; the name
        #: of a landmark that somebody has found. There are 480 different names at most.
        self._cairns: dict[tuple[str, ...], list[_Place]] = {}
        self._marks: dict[tuple[str, ...], list[_Place]] = {}
        #: The parts of the world whose landmarks these are.
        self._named: set[str] = set()
        self._landmarks = Landmarks(self.node.terrain)
        self._read_at = -KEPT_FOR

    @action(rate=4, burst=8, address=(10, 60))
    def seek(self, me: Me, words: str = text(1, LETTERS)) -> None:
        """Tell a player who and what matches: people with their squares, cairns, and landmarks."""
        wanted, (x, y) = folded(words), me.tile
        if not wanted:
            return
        self._read()

        def best(named: dict[tuple[str, ...], list[_Place]]) -> list[list[str | int]]:
            found = [
                (-rank, (a - x) ** 2 + (b - y) ** 2, texts, int(a // 1), int(b // 1))
                for texts, places in named.items()
                if (rank := max(matches(wanted, each) for each in texts))
                for a, b in places
            ]
            return [[*texts, a, b] for *_, texts, a, b in nsmallest(MOST, found)]

        cairns, marks = best(self._cairns), best(self._marks)
        self.node.names.find(
            words,
            x * UNIT,
            y * UNIT,
            # The player that asked may have left.
            lambda people: me.tell("sought", words, people, cairns, marks) if me.here else None,
        )

    def _read(self) -> None:
        """Read the cairns and the landmarks that were found, if the last reading is too old. It
        waits for the store."""
        if self.now() < self._read_at + KEPT_FOR:
            return
        self._read_at = self.now()
        queue = f"{QUEUE} {self.node.channels.ground}"
        try:
            [rows] = select(self, TABLES, "SELECT name, text, x, y FROM cairn")
            parts = self.node.keeper.wait(
                lambda store: [item.id for item in islice(store.each(queue), NAMED_MOST)]
            )
        except Away:
            # What was read before is still searched, and people are.
            return
        self._cairns = {}
        for *texts, x, y in rows:
            self._cairns.setdefault(tuple(texts), []).append((x, y))
        for part in [part for part in parts if part not in self._named][:NAMED]:
            gevent.sleep(0)
            self._named.add(part)
            i, j = map(int, part.split(":"))
            tile, name = self._landmarks.of(i, j), self._landmarks.name(i, j)
            if tile is not None and name is not None:
                self._marks.setdefault((name,), []).append(tile)
