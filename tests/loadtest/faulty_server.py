"""A server that makes faults once its clients play, for tests of the oracle that must find them:
`python -m tests.loadtest.faulty_server '{"drop": 3, ...}' OPTIONS`.

The argument says how many faults of each kind it makes. Each fault is done to a batch with a single
move, on its way to one client that is not the mover. With {"lose": 10000}, one batch in so many is
lost on its way to any client.
"""

import json
import random
import sys
from collections.abc import Iterator

from server.__main__ import main  # first of all: it patches the standard library

import gevent  # isort: skip
import msgpack  # isort: skip

from server.messages import protocol  # isort: skip
from server.websocket.frames import frame  # isort: skip
from server.clients.session import Session  # isort: skip
from world.events import TRACK  # isort: skip

#: Seconds from the first flush to the first fault, and from each fault to the next.
AFTER, PAUSE = 4.0, 0.05

#: Seconds by which a batch is delayed.
DELAY = 3.0

#: The least number of a move of the swarm. Other events are left alone.
MOVE = 2**31


class Faults:
    """The faults that are left to be made, and the function that makes them."""

    def __init__(self, counts: dict[str, int]) -> None:
        self.one_in = counts.pop("lose", 0)
        self.left = counts
        self.next = 0.0
        self.done: dict[Session, int] = {}
        self.flush = Session.flush
        #: (session, square) -> a frame that is written after the square's next batch.
        self.held: dict[tuple[Session, tuple[int, int]], bytes] = {}

    def write(self, session: Session, data: bytes, number: int, now: int) -> None:
        """Write a flush as Session.flush does, but with a fault in it."""
        time = gevent.get_hub().loop.now()
        if not self.next:
            self.next = time + AFTER
        out = []
        for whole, payload in _frames(data):
            kind, *fields = msgpack.unpackb(payload)
            if kind != protocol.BATCH:
                out.append(whole)
                continue
            square, events = (fields[0], fields[1]), fields[7]
            if self.one_in and random.randrange(self.one_in) == 0:
                continue
            late = self.held.pop((session, square), None)
            if late is not None:
                out += [whole, late]
                continue
            fault = next((name for name, left in self.left.items() if left), None)
            if fault is None or time < self.next or not _simple(session, events):
                out.append(whole)
                continue
            self.left[fault] -= 1
            self.next = time + PAUSE
            if fault == "duplicate":
                out += [whole, whole]
            elif fault == "reorder":
                self.held[session, square] = whole
            elif fault == "delay":
                gevent.spawn_later(DELAY, session.connection.send, whole)
            elif fault == "leak":
                far = [kind, fields[0] + 1000, *fields[1:]]
                out += [whole, frame(msgpack.packb(far))]
            else:
                assert fault == "drop", fault
        self.flush(session, b"".join(out), number, now)


def _simple(session: Session, events: list[list[int]]) -> bool:
    """Say whether a batch has a single move, which is not the client's own."""
    if len(events) != 1 or events[0][0] != TRACK or session.resident is None:
        return False
    return events[0][3] >= MOVE and events[0][1] != session.resident.id


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
