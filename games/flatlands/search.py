"""What a page finds by a few letters: players of all nodes, cairns, and landmarks that somebody has
found. The page itself knows the landmarks around its player, found or not.

This module never reveals more about anybody than server/players/names.py does.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from itertools import accumulate, islice

import gevent

from flatlands import Me, Part, StoreUnavailable, action, select, text
from flatlands.games.flatlands.finds import QUEUE
from flatlands.games.flatlands.ground.landmarks import Landmarks
from flatlands.games.flatlands.tables import TABLES
from flatlands.server.game.game import Game
from flatlands.server.players.names import folded
from flatlands.world.track import UNIT

#: No question has more letters.
QUESTION_LETTERS = 40
#: An answer has at most so many cairns, and as many landmarks.
ANSWERS_MOST = 10

#: So many cairns are searched at most, the newest ones.
CAIRNS_MOST = 20_000
#: The best answers are chosen among so many matches at most.
MATCHES_MOST = 1000

#: The texts of so many places are folded in one turn of the event loop.
PLACES_AT_ONCE = 500
#: After each such turn: with 0, other greenlets would run, but what comes from sockets would wait.
PAUSE_SECONDS = 0.001

#: What was read from the store is used for this long.
READING_MS = 30_000

#: One reading names so many landmarks at most, at a ms or two each.
NAMED_AT_ONCE = 200
#: No more landmarks are known.
NAMED_MOST = 10_000

_CAIRNS = f"SELECT name, text, x, y FROM cairn ORDER BY built DESC LIMIT {CAIRNS_MOST}"

#: Where something with a name is: its tile, or the place within the tile.
_Place = tuple[float, float]


class Texts:
    """Places with texts, which are folded once and joined into one text, so that a question looks
    through that. `known` has texts that were folded before. Making it waits now and then."""

    def __init__(
        self, rows: Iterable[tuple[tuple[str, ...], _Place]], known: Mapping[str, str]
    ) -> None:
        self.rows = list(rows)
        self.folded: dict[str, str] = {}
        joined: list[str] = []
        for n, (texts, _place) in enumerate(self.rows):
            if n % PLACES_AT_ONCE == 0:
                gevent.sleep(PAUSE_SECONDS)
            for each in texts:
                self.folded[each] = known[each] if each in known else folded(each)
            # A space is before each word, and no text that is looked for has a line's end.
            joined.append("".join(f" {self.folded[each]}\n" for each in texts))
        self._all = "".join(joined)
        #: Where the texts of each place end.
        self._ends = list(accumulate(map(len, joined)))

    def best(self, wanted: str, x: int, y: int) -> list[list[str | int]]:
        """Return up to ANSWERS_MOST texts and tiles that match a folded text best, and are then the
        nearest to a tile: of the first MATCHES_MOST that match."""
        ranks: dict[int, int] = {}
        for rank, words in ((2, f" {wanted}"), (1, wanted)):
            if len(ranks) >= ANSWERS_MOST:
                break
            at = self._all.find(words)
            while at >= 0 and len(ranks) < MATCHES_MOST:
                n = bisect_right(self._ends, at)
                ranks.setdefault(n, rank)
                at = self._all.find(words, self._ends[n])
        found = []
        for n, rank in ranks.items():
            texts, (a, b) = self.rows[n]
            found.append((-rank, (a - x) ** 2 + (b - y) ** 2, texts, int(a // 1), int(b // 1)))
        return [[*texts, a, b] for *_, texts, a, b in nsmallest(ANSWERS_MOST, found)]


class Search(Part):
    """What a page finds by a few letters: players of all nodes, and cairns."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        #: The builder's name and the line of each cairn; the name of each landmark that somebody
        #: has found.
        self._cairns, self._marks = Texts([], {}), Texts([], {})
        #: The parts of the world whose landmarks these are.
        self._named: set[str] = set()
        self._landmarks = Landmarks(self.node.terrain)
        self._read_at = -READING_MS

    @action(rate=4, burst=8, address=(10, 60))
    def seek(self, me: Me, words: str = text(1, QUESTION_LETTERS)) -> None:
        """Tell a player who and what matches: people with their squares, cairns, and landmarks."""
        wanted, (x, y) = folded(words), me.tile
        if not wanted:
            return
        self._read()
        cairns, marks = (texts.best(wanted, x, y) for texts in (self._cairns, self._marks))
        self.node.names.find(
            words,
            x * UNIT,
            y * UNIT,
            # The player that asked may have left.
            lambda people: me.send("sought", words, people, cairns, marks) if me.is_local else None,
        )

    def _read(self) -> None:
        """Read the cairns and the landmarks that were found, if the last reading is too old. It
        waits for the store."""
        if self.now() < self._read_at + READING_MS:
            return
        self._read_at = self.now()
        queue = f"{QUEUE} {self.node.channels.ground_id}"
        try:
            [rows] = select(self, TABLES, _CAIRNS)
            parts = self.node.store_client.wait(
                lambda store: [item.id for item in islice(store.each(queue), NAMED_MOST)]
            )
        except StoreUnavailable:
            # What was read before is still searched, and people are.
            return
        cairns = [((name, line), (x, y)) for name, line, x, y in rows]
        self._cairns = Texts(cairns, self._cairns.folded)
        marks = self._marks.rows[:]
        for part in [part for part in parts if part not in self._named][:NAMED_AT_ONCE]:
            gevent.sleep(PAUSE_SECONDS)
            self._named.add(part)
            i, j = map(int, part.split(":"))
            tile, name = self._landmarks.of(i, j), self._landmarks.name(i, j)
            if tile is not None and name is not None:
                marks.append(((name,), tile))
        if len(marks) > len(self._marks.rows):
            self._marks = Texts(marks, self._marks.folded)
