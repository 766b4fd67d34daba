"""What an observing bot believes about the world, and a log of the messages that made it so.

It believes what flatlands/model.py makes of messages, and so shares no code with what the bots
themselves do and know, which is the truth about their players. It judges nothing except the order
of what comes: loadtest/swarm/oracle.py compares the log with what the bot had to be told.
"""

from array import array
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from flatlands.loadtest.swarm.intent_times import IntentTimes
from flatlands.loadtest.swarm.reports import Look, Observed
from flatlands.model import FIRST_PERSON_ID, GONE, SNAPSHOT_ENTRY, Model, Square

#: ms by which a batch of another node may seem to be older than the one before it, because the
#: bot's node has estimated the other's clock again.
ADJUSTED = 100

#: The seqs of a player that comes to another node begin there at the next multiple of this, plus
#: one (docs/nodes.md, incarnations).
INCARNATION = 2**24

# The kinds of messages.
HELD = 18
SNAPSHOT = 19
FLUSH = 21
RESYNC = 22
LINK = 26


class Observer(Model):
    """The beliefs and the log of one observing bot. Times are in us of the run's clock.

    The log names a move not by its number, but by the time at which it was due: 0 if the event
    acknowledges none.
    """

    def __init__(self, intent_times: IntentTimes) -> None:
        super().__init__()
        self._intent_times = intent_times
        #: When the message came that is being read; the row of its batch, or -1 for a snapshot; and
        #: whether the batch was begun before one that has come.
        self._now, self._row, self._late = 0, -1, False
        #: Square -> source -> when the last batch was begun, and player -> last seq in a batch; and
        #: the latter for the square of the batch that is being read.
        self._begun: dict[Square, dict[int, int]] = {}
        self._seqs: dict[Square, dict[int, int]] = {}
        self._told: dict[int, int] = {}
        #: Squares that were a crowd. For these the server itself makes batches of moves that it
        #: tells exactly. It begins them when it writes them, and other batches before.
        self._crowds: set[Square] = set()
        # The log has six numbers for each event or snapshot's entry of a player: the time, the
        # player's id, when the move was due, the kind, the row of the batch, and the seq ...
        self._news = array("q")
        # ... and a row for each batch: (time, column, row, number of events, replaced events).
        self._rows: list[tuple[int, int, int, int, int]] = []
        self.duplicate = self.reordered = 0
        #: Records whose slot no player had that it knew.
        self.lacking = 0
        #: For each resync: the time of the last message before it, and its own time.
        self.behind: list[tuple[int, int]] = []
        self.last = 0
        #: (time, rectangle of squares held from then on).
        self._held_log: list[tuple[int, int, int, int, int]] = []
        #: (time, whether the server was linked to its other nodes from then on).
        self._links: list[tuple[int, int]] = []
        # The screen at each look: (time, number of players), and these players with their seqs.
        self._looks: list[tuple[int, int]] = []
        self._on_screen, self._screen_seqs = array("q"), array("q")

    def take(self, message: Sequence[Any], now: int) -> None:
        """Apply a message that came at the time `now`."""
        kind = message[0]
        if kind == SNAPSHOT and not self.holds((message[1], message[2])):
            return
        if kind == RESYNC:
            self.behind.append((self.last, now))
            for table in (self._begun, self._seqs, self._crowds):
                table.clear()
        elif kind in (SNAPSHOT, FLUSH):
            self.last = now
        elif kind == LINK:
            self._links.append((now, int(message[1])))
        self._now, self._row = now, -1
        self.apply(message, now // 1000)
        if kind == HELD:
            self._hold()

    def _hold(self) -> None:
        assert self.held is not None
        self._held_log.append((self._now, *self.held))
        self._crowds = {square for square in self._crowds if self.holds(square)}
        for table in (self._begun, self._seqs):
            for square in [square for square in table if not self.holds(square)]:
                del table[square]

    def note_batch(
        self, square: Square, source: int, sent: int, events: int, replaced: int
    ) -> None:
        """Log a batch, or the moves of a crowd."""
        self._row, self._late = len(self._rows), False
        self._rows.append((self._now, *square, events, replaced))
        self._told = self._seqs.setdefault(square, {})
        if source < 0:
            if self.holds(square):
                self._crowds.add(square)
            return
        begun = self._begun.setdefault(square, {})
        before = begun.get(source)
        if before is None or sent > before:
            begun[source] = sent
        elif square not in self._crowds:
            # The bot's own node begins a batch when the one before it has been published.
            self._late = sent < before - (ADJUSTED if source else 0)

    def note_event(self, kind: int, id: int, seq: int, ack: int) -> None:
        """Log an event, and count it if it repeats the last one of its player, or is older."""
        if self._row < 0:
            if kind == SNAPSHOT_ENTRY and id in self.players and seq <= self.players[id].seq:
                return
        else:
            before = self._told.get(id, -1)
            if kind == GONE:
                newest = max(before, self.players[id].seq if id in self.players else 0)
                if seq // INCARNATION < newest // INCARNATION:
                    # The node that handed it over says so last, for clients that missed its next
                    # node.
                    return
            if seq == before:
                self.duplicate += 1
                return
            # A node that heard too late that a player went elsewhere may tell of it once more:
            # screens ignore events of an earlier incarnation.
            if self._late or (seq < before and seq // INCARNATION == before // INCARNATION):
                self.reordered += 1
            if seq > before:
                self._told[id] = seq
        self._news.extend((self._now, id, self._intent_times.get(id, ack), kind, self._row, seq))

    def note_nobody(self) -> None:
        """Count a record or a sketch that names nobody."""
        self.lacking += 1

    def look(self, now: int) -> None:
        """Log which players are on the screen, without movers: no bot plays these."""
        self.expire(now // 1000)
        people = [player for id, player in self.players.items() if id >= FIRST_PERSON_ID]
        self._looks.append((now, len(people)))
        self._on_screen.extend(player.id for player in people)
        self._screen_seqs.extend(player.seq for player in people)

    def ground(self) -> Look:
        """Return what lies, and what is written, in the squares that it holds, for
        square_contents.py."""
        kinds = {(what, number): len(names) for what, number, _, names, *_ in self.welcome[14]}
        layers = [number for what, number in kinds if what == "cells"]
        c0, r0, c1, r1 = self.held or (0, 0, -1, -1)
        blank, seen = bytes(self.side**2), Look()
        for square in product(range(c0, c1 + 1), range(r0, r1 + 1)):
            seen["things", square] = {
                (thing[0], thing[1], *thing[3 : 5 + kinds["thing", thing[0]]])
                for thing in self.things.get(square, ())
                if ("thing", thing[0]) in kinds
            }
            for number in layers:
                seen[number, square] = bytes(self.cells.get((*square, number), blank))
        return seen

    def report(self) -> Observed:
        """Return the log and the beliefs as arrays."""
        screens = [self._on_screen, self._screen_seqs]
        return {
            "news": np.array(self._news, dtype=np.int64).reshape(-1, 6),
            "rows": np.array(self._rows, dtype=np.int64).reshape(-1, 5),
            "beliefs": np.array(
                [
                    (id, p.seq, self._intent_times.get(id, p.ack), *p.square, *p.track, p.rough)
                    for id, p in self.players.items()
                ],
                dtype=np.int64,
            ).reshape(-1, 12),
            "behind": self.behind,
            "holds": np.array(self._held_log, dtype=np.int64).reshape(-1, 5),
            "links": self._links,
            "looks": np.array(self._looks, dtype=np.int64).reshape(-1, 2),
            "screens": np.array([np.array(column, dtype=np.int64) for column in screens]).T,
            "duplicate": self.duplicate,
            "reordered": self.reordered,
            "lacking": self.lacking,
        }
