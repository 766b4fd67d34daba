"""The client that measures all peers alike: thousands of players in one event loop.

The load is an open loop: a move is sent when it is due, whether or not the last one has come back,
and its latency counts from that time. The loop is that of connections/client.py; what comes is
searched for markers. It reports how late it was itself, and how much of its core it used.
"""

import gc
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

import numpy as np

from flatlands import wire
from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies.connections.client import SECOND, Config, Link
from flatlands.loadtest.studies.connections.client import Client as Loop
from flatlands.loadtest.studies.connections.dialects import Refused, Talk
from flatlands.loadtest.studies.parent import Parent
from flatlands.loadtest.studies.peers.dialect import Dialect, Message, Square, as_bytes
from flatlands.loadtest.studies.peers.marker import Tally, marker
from flatlands.loadtest.swarm.target import Target

#: Moves of each player, a second.
RATE = 2

#: Units across a square. No peer cares where in its square a player is.
SPAN = 16 * 1024

#: The play before the measured window.
WARM_UP_SECONDS = 2.0
#: The time for late deliveries after it.
DRAIN_SECONDS = 1.0

#: CPU seconds and MB of memory of the server's processes; None if they are not known.
Cost = tuple[float | None, float | None]


class Figures(TypedDict):
    """What was measured, see Client.measure."""

    expected: int
    delivered: int
    arrived: int
    bytes: int
    seconds: float
    cpu: float | None
    mb: float | None
    client: float
    late_p99: float
    lost: int
    latency: dict[str, float]


class Nobody(Parent):
    """In place of the parent, as there is none: nobody is told how many have joined."""

    def __init__(self) -> None:
        pass

    def send(self, what: Mapping[str, object]) -> None:
        pass


def whole_frames(data: bytes, found: list[tuple[int, bytes]]) -> int:
    """Return how many bytes at the beginning are whole frames.

    Control frames, and frames of one byte, which may be heartbeats, are added to `found` as
    (opcode, payload).
    """
    # This is wire.split_frames, written out: a generator would take two thirds more time a frame.
    at, end = 0, len(data)
    while end - at >= 2:
        size = data[at + 1]
        start = at + 2
        if size >= 126:
            start += 2 if size == 126 else 8
            if start > end:
                break
            size = int.from_bytes(data[at + 2 : start], "big")
        if start + size > end:
            break
        if size == 1 or data[at] & 8:
            found.append((data[at] & 15, data[start : start + size]))
        at = start + size
    return at


def block(players: int, share: int) -> list[Square]:
    """Return a square for each player, `share` players in each; the squares form a block."""
    squares = -(-players // share)
    side = int(np.ceil(np.sqrt(squares)))
    return [(player % squares % side, player % squares // side) for player in range(players)]


def audiences(squares: Sequence[Square]) -> list[int]:
    """Return for each player how many subscribe to its square: all in the 3x3 squares around it."""
    there: dict[Square, int] = {}
    for square in squares:
        there[square] = there.get(square, 0) + 1
    around = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)]
    subscribers = {
        (column, row): sum(there.get((column + x, row + y), 0) for x, y in around)
        for column, row in there
    }
    return [subscribers[square] for square in squares]


def frame(message: Message) -> bytes:
    """Return the frame of a client's message."""
    opcode = wire.TEXT if isinstance(message, str) else wire.BINARY
    return wire.client_frame(as_bytes(message), opcode)


class Crowd:
    """What all players say by a dialect, and what they are told: a dialect of the loop.

    `tally` counts the deliveries in the window, and `expected` is how many these should be.
    """

    def __init__(self, target: Target, dialect: Dialect) -> None:
        self._target, self._dialect = target, dialect
        self._audiences = dialect.audiences or audiences
        self._waiting: list[tuple[Square, int]] = []
        #: Each player's audience, and the lines that it has not said yet.
        self._audience: dict[Talk, int] = {}
        self._lines: dict[Talk, list[tuple[bytes, Message]]] = {}
        self.tally, self.expected = Tally(0, 0), 0
        #: When what comes now was read.
        self.at = 0

    def wait(self, squares: Sequence[Square]) -> None:
        """Note the squares in which the next players will join."""
        self._waiting = list(zip(squares, self._audiences(squares), strict=True))[::-1]

    def begin(self, talk: Talk) -> bytes:
        """See Dialect of the loop. Raises Refused."""
        square, self._audience[talk] = self._waiting.pop()
        self._lines[talk] = list(self._dialect.lines(square))
        target, path = self._target, self._dialect.path
        where = path(target.address, square) if path else target.path
        host = wire.host_header(target.name, target.address[1], bool(target.tls))
        return wire.upgrade_request(host, where, "", target.login)

    def ask(self, talk: Talk, request: str, due: int) -> bytes:
        """Return a move. Those of lost connections count too: the server should have kept them."""
        if self.tally.begin <= due < self.tally.end:
            self.expected += self._audience[talk]
        x, y = random.randrange(SPAN), random.randrange(SPAN)
        return frame(self._dialect.move(x, y, marker(due)))

    def acknowledge(self, talk: Talk) -> bytes:
        """See Dialect of the loop."""
        raise AssertionError("a peer is owed nothing")

    def came(self, talk: Talk, data: bytes) -> tuple[list[int], bytes]:
        """See Dialect of the loop. Deliveries are counted by their markers."""
        data, reply = talk.rest + data, b""
        if not talk.opened:
            head, separator, data = data.partition(b"\r\n\r\n")
            if not separator:
                talk.rest = head
                return [], b""
            if not head.startswith(b"HTTP/1.1 101"):
                status = head.partition(b"\r\n")[0].decode(errors="replace")
                raise Refused(f"the handshake was answered with {status!r}")
            talk.opened = True
            reply += self._go_on(talk, b"")
        found: list[tuple[int, bytes]] = []
        end = whole_frames(data, found)
        frames, talk.rest = data[:end], data[end:]
        self.tally.add(frames, self.at)
        heartbeat = self._dialect.heartbeat
        for opcode, payload in found:
            if opcode == wire.WS_PING:
                reply += wire.client_frame(payload, wire.WS_PONG)
            elif opcode == wire.CLOSE:
                raise Refused("it closes")
            elif heartbeat is not None and payload == heartbeat[0]:
                reply += frame(heartbeat[1])
        if not talk.ready:
            reply += self._go_on(talk, frames)
        return [], reply

    def _go_on(self, talk: Talk, came: bytes) -> bytes:
        """Return the next lines whose awaited bytes have come; `came` are new bytes."""
        lines, said = self._lines[talk], b""
        while lines and lines[0][0] in came:
            awaited, reply = lines.pop(0)
            came = came.partition(awaited)[2] if awaited else came
            said += frame(reply) if reply else b""
        talk.ready = not lines
        return said


class Client(Loop):
    """A process with many clients of one server, which count what they hear. Times are in us of
    the run's clock. It must be closed at the end."""

    #: Players that are lost keep their place in the order of moves.
    keeps_lost = True

    def __init__(self, target: Target, dialect: Dialect) -> None:
        self._crowd = Crowd(target, dialect)
        config: Config = {
            "address": target.address,
            "sources": [],
            "number": 0,
            "processes": 1,
            "epoch": time.monotonic_ns() // 1000,
            "tls": target.tls,
            "name": target.name,
        }
        super().__init__(config, Nobody(), self._crowd)

    def join(self, squares: Sequence[Square]) -> None:
        """Make a player join in each of these squares. Raises Trouble and Interrupted."""
        self._crowd.wait(squares)
        self._join(len(squares))

    def measure(self, seconds: float, cost: Callable[[], Cost]) -> Figures:
        """Let all players move for WARM_UP_SECONDS, measure for `seconds`, and return the figures.

        `cost` returns what the server has used until now. "seconds" is the actual length of the
        window. "arrived" are the deliveries in it, and "delivered" those of moves that were due in
        it, of the "expected". "cpu" and "mb" are the server's. "client" is the share of a core that
        this process used, "late_p99" how late, in ms, it sent one move in a hundred, and "lost" how
        many players lost their connection. "latency" is in ms. Raises Trouble when no player is
        connected any more, and Interrupted.
        """
        self._begin = self._now() + round(WARM_UP_SECONDS * SECOND)
        self._end = self._begin + round(seconds * SECOND)
        crowd, tally = self._crowd, Tally(self._begin, self._end)
        crowd.tally = tally
        self._every, self._due = SECOND / (RATE * len(self._ready)), self._now()
        gc.collect()
        gc.disable()
        try:
            self._loop = "open"
            self._until(self._begin)
            (cpu, _), own, started = cost(), time.process_time(), self._now()
            self._until(self._end)
            # This also sends moves that were due while this process had no core.
            self._send_due()
            (cpu_after, mb), own_after, ended = cost(), time.process_time(), self._now()
            self._loop = ""
            last = self._end + round(DRAIN_SECONDS * SECOND)
            tally.count()
            while tally.delivered < crowd.expected and (now := self._now()) < last:
                self._turn(min(now + SECOND // 20, last))
                tally.count()
        finally:
            gc.unfreeze()
            gc.enable()
        self._count()
        past = (ended - started) / SECOND
        return {
            "expected": crowd.expected,
            "delivered": tally.delivered,
            "arrived": tally.arrived,
            "bytes": tally.bytes,
            "seconds": past,
            "cpu": None if cpu is None or cpu_after is None else cpu_after - cpu,
            "mb": mb,
            "client": (own_after - own) / past,
            "late_p99": self._late.percentile(99),
            "lost": sum(self._lost.values()),
            "latency": tally.latency.summary(),
        }

    def _turn(self, until: int) -> None:
        signals.check()
        super()._turn(until)
        if not self._links and self._ready:
            raise Trouble("all players lost their connection")

    def _came(self, link: Link, data: bytes, now: int) -> None:
        self._crowd.at = now
        super()._came(link, data, now)

    def _lose(self, link: Link, why: str, again: bool = False) -> None:
        # Nobody tries again.
        super()._lose(link, why)
