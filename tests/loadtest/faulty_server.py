"""A server that makes faults once its clients play, for tests that the oracle finds them:
`python -m tests.loadtest.faulty_server '{"drop": 3, ...}' OPTIONS`.

The argument says how many faults of each kind it makes. Each fault is done to a batch with a single
move, on its way to one client that is not the mover. With {"lose": 10000}, one batch in 10,000 is
lost on its way to any client. With {"blind": 5}, five clients are told nothing of cells.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from flatlands.server.__main__ import main  # first of all: it patches the standard library

import gevent  # isort: skip
import msgpack  # isort: skip

from flatlands.server.messages import protocol  # isort: skip
from flatlands.server.net.frames import frame  # isort: skip
from flatlands.server.clients.session import Session  # isort: skip
from flatlands.world.batches import RECORD  # isort: skip
from flatlands.world.sketches import join  # isort: skip
from flatlands.model import SKETCH, sketches  # isort: skip

#: Seconds from the first flush to the first fault.
AFTER = 4.0
#: Seconds from each fault to the next.
PAUSE = 0.05

#: ms by which a batch is delayed.
DELAY = 3000

#: A batch as clients get it: column, row, source, ago, and what it says.
Batch = list[Any]


class Faults:
    """The faults that are left to be made, and the function that makes them."""

    def __init__(self, counts: dict[str, int]) -> None:
        self.one_in, self.batches = counts.pop("lose", 0), 0
        self.left = counts
        self.next = 0.0
        self.flush = Session.flush
        #: (session, square) -> a batch that is written after a later one, and the node time
        #: at which it was begun.
        self.held: dict[tuple[Session, tuple[int, int]], tuple[Batch, int]] = {}
        #: Session -> batches that are written late: (when, batch, time at which it was begun).
        self.delayed: dict[Session, list[tuple[int, Batch, int]]] = {}
        #: The sessions from which a move was hidden. The first in a flush is nearly always the same
        #: one, and perhaps no observer's.
        self.hidden_from: set[Session] = set()
        #: The clients that are told nothing of cells.
        self.blind: set[Session] = set()

    def write(self, session: Session, data: bytes, number: int, now: int) -> None:
        """Write a flush as Session.flush does, but with a fault in it."""
        out = []
        for whole, payload in _frames(data):
            fields = msgpack.unpackb(payload)
            if fields[0] == protocol.CELLS and self._is_blind(session):
                continue
            if fields[0] != protocol.FLUSH:
                out.append(whole)
                continue
            kind, flush, at, batches, *crowds = fields
            told = [one for batch in batches for one in self._told(session, batch, at)]
            late = self.delayed.get(session, [])
            told += [_ago(batch, at - sent) for when, batch, sent in late if when <= at]
            self.delayed[session] = [one for one in late if one[0] > at]
            if crowds:
                crowds = [[self._hide(session, crowd) for crowd in crowds[0]]]
            out.append(frame(msgpack.packb([kind, flush, at, told, *crowds])))
        self.flush(session, b"".join(out), number, now)

    def _is_blind(self, session: Session) -> bool:
        """Return whether a client is one of those that are told nothing of cells."""
        if len(self.blind) < self.left.get("blind", 0):
            self.blind.add(session)
        return session in self.blind

    def _told(self, session: Session, batch: Batch, at: int) -> list[Batch]:
        """Return what a client is told in place of a batch, in a flush of the node time `at`."""
        self.batches += 1
        if self.one_in and self.batches % self.one_in == 0:
            return []
        time = gevent.get_hub().loop.now()
        if not self.next:
            self.next = time + AFTER
        square = batch[0], batch[1]
        if (held := self.held.get((session, square))) is not None:
            late, begun = held
            if at - batch[3] <= begun:
                # Of two batches begun in one millisecond nobody knows which came first.
                return [batch]
            del self.held[session, square]
            return [batch, _ago(late, at - begun)]
        fault = next((name for name, left in self.left.items() if left), None)
        if fault in (None, "hide", "blind") or time < self.next or not _simple(session, batch):
            return [batch]
        self.left[fault] -= 1
        self.next = time + PAUSE
        if fault == "duplicate":
            return [batch, batch]
        if fault == "leak":
            return [batch, [batch[0] + 1000, *batch[1:]]]
        if fault == "reorder":
            self.held[session, square] = batch, at - batch[3]
        elif fault == "delay":
            self.delayed.setdefault(session, []).append((at + DELAY, batch, at - batch[3]))
        else:
            assert fault == "drop", fault
        return []

    def _hide(self, session: Session, crowd: list[Any]) -> list[Any]:
        """Return what a client is told of a crowd, perhaps without the last of its moves."""
        time, player = gevent.get_hub().loop.now(), session.resident
        if not self.next:
            self.next = time + AFTER
        if not self.left.get("hide") or time < self.next or player is None:
            return crowd
        if session in self.hidden_from:
            return crowd
        last = list(sketches(crowd[4]))[-1][0]
        if crowd[3] == 0 and last == player.slot:
            return crowd
        self.left["hide"] -= 1
        self.hidden_from.add(session)
        self.next = time + PAUSE
        left = [(slot, SKETCH.pack(*fields)) for slot, fields in sketches(crowd[4]) if slot < last]
        return [*crowd[:4], join(left), *crowd[5:]]


def _ago(batch: Batch, ago: int) -> Batch:
    """Return a batch as if it had been begun `ago` ms before the flush."""
    return [*batch[:3], ago, *batch[4:]]


def _simple(session: Session, batch: Batch) -> bool:
    """Return whether a batch has a single move, which is not the client's own."""
    column, row, source, _, *said = batch
    player = session.resident
    if len(said) != 1 or len(said[0]) != RECORD.size or player is None:
        return False
    slot, _, ack, *_ = RECORD.unpack(said[0])
    return ack > 0 and (source, column, row, slot) != (0, *player.square, player.slot)


def _frames(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield (whole frame, its payload) for each frame of a flush."""
    at = 0
    while at < len(data):
        size, start = data[at + 1], at + 2
        if size >= 126:
            width = 2 if size == 126 else 8
            size, start = int.from_bytes(data[start : start + width], "big"), start + width
        yield data[at : start + size], data[start : start + size]
        at = start + size


if __name__ == "__main__":
    faults = Faults(json.loads(sys.argv.pop(1)))
    Session.flush = lambda *arguments: faults.write(*arguments)  # type: ignore[method-assign]
    sys.exit(main())
