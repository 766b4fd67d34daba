"""What a page finds by a few letters: players of all nodes, cairns, and landmarks that somebody has
found. The page itself knows the landmarks around its player, found or not.

This module never tells more about anybody than server/players/names.py does.
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

#: The most letters in a question, and the most cairns, and the most landmarks, in an answer.
LETTERS, MOST = 40, 10

#: The most cairns that are searched, the newest ones; and the most matches among which those that
#: are told are chosen.
CAIRNS, MATCHES = 20_000, 1000

#: How many places' texts are folded in one turn of the event loop, and seconds between two turns:
#: with 0, other greenlets would run, but what comes from sockets would wait.
PIECE, PAUSE = 500, 0.001

#: ms for which what was read from the store is used.
KEPT_FOR = 30_000

#: The most landmarks that one reading names, at a ms or two each, and the most that are known.
NAMED, NAMED_MOST = 200, 10_000

_CAIRNS = f"SELECT name, text, x, y FROM cairn ORDER BY built DESC LIMIT {CAIRNS}"

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
            if n % PIECE == 0:
                gevent.sleep(PAUSE)
            for each in texts:
                self.folded[each] = known[each] if each in known else folded(each)
            # A space is before each word, and no text that is looked for has a line's end.
            joined.append("".join(f" {self.folded[each]}\n" for each in texts))
        self._all = "".join(joined)
        #: Where the texts of each place end.
        self._ends = list(accumulate(map(len, joined)))

    def best(self, wanted: str, x: int, y: int) -> list[list[str | int]]:
        """Return up to MOST texts and tiles that match a folded text best, and are then the nearest
        to a tile: of the first MATCHES that match."""
        ranks: dict[int, int] = {}
        for rank, words in ((2, f" {wanted}"), (1, wanted)):
            if len(ranks) >= MOST:
                break
            at = self._all.find(words)
            while at >= 0 and len(ranks) < MATCHES:
                n = bisect_right(self._ends, at)
                ranks.setdefault(n, rank)
                at = self._all.find(words, self._ends[n])
        found = []
        for n, rank in ranks.items():
            texts, (a, b) = self.rows[n]
            found.append((-rank, (a - x) ** 2 + (b - y) ** 2, texts, int(a // 1), int(b // 1)))
        return [[*texts, a, b] for *_, texts, a, b in nsmallest(MOST, found)]


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
        self._read_at = -KEPT_FOR

    @action(rate=4, burst=8, address=(10, 60))
    def seek(self, me: Me, words: str = text(1, LETTERS)) -> None:
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
        if self.now() < self._read_at + KEPT_FOR:
            return
        self._read_at = self.now()
        queue = f"{QUEUE} {self.node.channels.ground}"
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
        for part in [part for part in parts if part not in self._named][:NAMED]:
            gevent.sleep(PAUSE)
            self._named.add(part)
            i, j = map(int, part.split(":"))
            tile, name = self._landmarks.of(i, j), self._landmarks.name(i, j)
            if tile is not None and name is not None:
                marks.append(((name,), tile))
        if len(marks) > len(self._marks.rows):
            self._marks = Texts(marks, self._marks.folded)
