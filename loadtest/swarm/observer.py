"""What an observing bot believes about the world, and a log of the messages that made it so.

It keeps the players as docs/protocol.md says in section 5. It judges nothing except the order of
what comes: loadtest/swarm/oracle.py compares the log with what the bot had to be told.
"""

from array import array
from typing import Any

import msgpack
import numpy as np

from loadtest.swarm.wire import ENTER, GONE, LEAVE, SAID, SNAPSHOT, TRACK, Batch

#: us for which a player that left for a held square is kept without its enter event.
DRAWN_ON = 2_000_000

#: us for which the seq of a removed player is remembered.
REMEMBERED = 10_000_000

#: The kind, in the log, of an entry of a snapshot.
SHOWN = 9

Square = tuple[int, int]


class Belief:
    """A player as an observer believes it to be.

    `track` is (x, y, dx, dy, start, duration): absolute positions in 1/1024 tile, times in ms of
    the clock of the bot's node. `until` is the time at which the player is removed because its
    enter has not come, or None.
    """

    __slots__ = ("seq", "ack", "square", "track", "until")

    def __init__(self, seq: int, ack: int, square: Square, track: tuple[int, ...]) -> None:
        self.seq = seq
        self.ack = ack
        self.square = square
        self.track = track
        self.until: int | None = None


class Observer:
    """The beliefs and the log of one observing bot. Times are in us of the run's clock."""

    def __init__(self) -> None:
        self.span = 0
        #: Node -> ms to add to its times to have those of the bot's node.
        self.clocks: dict[int, int] = {}
        self.players: dict[int, Belief] = {}
        self.held: tuple[int, int, int, int] | None = None
        self._removed: dict[int, tuple[int, int]] = {}
        #: (square, node) -> number of the last batch; (square, player) -> last seq in a batch.
        self._numbers: dict[tuple[Square, int], int] = {}
        self._seqs: dict[tuple[Square, int], int] = {}
        # The log has a row for each event or snapshot's entry of a player ...
        self._ids, self._acks, self._at = array("q"), array("q"), array("q")
        self._kinds, self._sources, self._news_seqs = array("b"), array("l"), array("q")
        # ... and one for each batch: (time, column, row, number of events, replaced events, whether
        # a batch is missing before it).
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        self.duplicate = self.reordered = 0
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

    def batch(self, batch: Batch, now: int) -> None:
        """Apply a batch that came at the time `now`."""
        self.last = now
        square, node, number = batch.square, batch.node, batch.number
        known = self._numbers.get((square, node), number - 1)
        if number == known:
            self.duplicate += len(batch.events)
            return
        late = number < known
        gap = 0
        if not late:
            gap = int((square, node) in self._numbers and batch.previous not in (0, known))
            self._numbers[square, node] = number
        row = len(self._rows)
        self._rows.append((now, *square, len(batch.events), batch.replaced, gap))
        if not self._holds(square):
            return
        sent = batch.sent + self.clocks.get(node, 0)
        for event in batch.events:
            kind = event[0]
            if kind == SAID:
                continue
            id, seq = event[1], event[2]
            before = self._seqs.get((square, id), -1)
            if seq == before:
                self.duplicate += 1
                continue
            if late or seq < before:
                self.reordered += 1
            self._seqs[square, id] = max(seq, before)
            self._note(id, event[3] if kind <= TRACK else 0, kind, now, row, seq)
            self._believe(square, sent, event, now)

    def snapshot(self, payload: bytes, now: int) -> None:
        """Apply the payload of a snapshot that came at the time `now`."""
        self.last = now
        kind, column, row, sent, entries = msgpack.unpackb(payload)
        assert kind == SNAPSHOT
        square = column, row
        if not self._holds(square):
            return
        present = set()
        for entry in entries:
            id, seq, ack = entry[1:4]
            present.add(id)
            known = self.players.get(id)
            if known is None or seq > known.seq:
                self._note(id, ack, SHOWN, now, -1, seq)
            self._believe(square, sent, entry, now)
        for id, player in list(self.players.items()):
            if player.square == square and id not in present and player.until is None:
                self._note(id, 0, GONE, now, -1, player.seq)
                del self.players[id]

    def hold(self, rect: tuple[int, int, int, int], now: int) -> None:
        """Note the rectangle (c0, r0, c1, r1) of squares that are held from now on."""
        self.held = rect
        self._held_log.append((now, *rect))
        for id, player in list(self.players.items()):
            if not self._holds(player.square):
                del self.players[id]
        for table in (self._numbers, self._seqs):
            for key in [key for key in table if not self._holds(key[0])]:
                del table[key]

    def resync(self, now: int) -> None:
        """Forget everything: the server has skipped events and sends everything again."""
        self.behind.append((self.last, now))
        self.players.clear()
        self._removed.clear()
        self._numbers.clear()
        self._seqs.clear()
        self.held = None

    def link(self, up: bool, now: int) -> None:
        """Note whether the server is linked to its other nodes."""
        self._links.append((now, int(up)))

    def look(self, now: int) -> None:
        """Log which players are on the screen."""
        self.expire(now)
        self._looks.append((now, len(self.players)))
        for id, player in self.players.items():
            self._on_screen.append(id)
            self._screen_seqs.append(player.seq)

    def expire(self, now: int) -> None:
        """Remove the players whose enter has not come in time."""
        for id, player in list(self.players.items()):
            if player.until is not None and player.until <= now:
                del self.players[id]

    def report(self) -> dict[str, Any]:
        """Return the log and the beliefs as arrays."""
        news = [self._at, self._ids, self._acks, self._kinds, self._sources, self._news_seqs]
        screens = [self._on_screen, self._screen_seqs]
        return {
            "news": np.array([np.array(column, dtype=np.int64) for column in news]).T,
            "rows": np.array(self._rows, dtype=np.int64).reshape(-1, 6),
            "beliefs": np.array(
                [
                    (id, p.seq, p.ack, *p.square, *p.track)
                    for id, p in self.players.items()
                ],
                dtype=np.int64,
            ).reshape(-1, 11),
            "behind": self.behind,
            "holds": np.array(self._held_log, dtype=np.int64).reshape(-1, 5),
            "links": self._links,
            "looks": np.array(self._looks, dtype=np.int64).reshape(-1, 2),
            "screens": np.array([np.array(column, dtype=np.int64) for column in screens]).T,
            "duplicate": self.duplicate,
            "reordered": self.reordered,
        }

    def _holds(self, square: Square) -> bool:
        held = self.held
        return (
            held is not None
            and held[0] <= square[0] <= held[2]
            and held[1] <= square[1] <= held[3]
        )

    def _note(self, id: int, ack: int, kind: int, now: int, row: int, seq: int) -> None:
        """Log an event of a player. `row` is that of its batch, or -1 for a snapshot's entry."""
        self._at.append(now)
        self._ids.append(id)
        self._acks.append(ack)
        self._kinds.append(kind)
        self._sources.append(row)
        self._news_seqs.append(seq)

    def _believe(self, square: Square, sent: int, event: list[Any], now: int) -> None:
        kind, id, seq = event[:3]
        known = self.players.get(id)
        if known is not None and seq <= known.seq:
            return
        if kind in (LEAVE, GONE):
            to = (event[3], event[4]) if kind == LEAVE else None
            if to is not None and self._holds(to):
                if known is not None:
                    known.seq, known.square, known.until = seq, to, now + DRAWN_ON
            else:
                self.players.pop(id, None)
                before = self._removed.get(id, (0, 0))[0]
                self._removed[id] = max(seq, before), now + REMEMBERED
            return
        if kind == TRACK:
            # Its enter was lost. To note this seq would keep it out when the enter comes again.
            if known is None or known.square != square or known.until is not None:
                return
        if kind == ENTER and id in self._removed:
            removed, until = self._removed[id]
            if seq <= removed and now < until:
                return
            del self._removed[id]
        x, y, dx, dy, age, duration = event[-6:]
        x, y = x + square[0] * self.span, y + square[1] * self.span
        track = x, y, dx, dy, sent - age, duration
        if kind == ENTER:
            self.players[id] = Belief(seq, event[3], square, track)
        else:
            assert known is not None
            known.seq, known.ack, known.track = seq, event[3], track
