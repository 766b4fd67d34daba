"""The client that is the same for all peers: some thousand players in one event loop.

Open loop: a move is sent when it is due, whether or not the last one came back, and latency counts
from that moment. It reads whatever comes, answers pings, and counts markers; how long it was late
itself, and what it used of its core, it tells.
"""

import base64
import contextlib
import gc
import os
import random
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from loadtest.kit import signals
from loadtest.kit.histogram import Histogram
from loadtest.peers.dialects import Address, Dialect, Lines, Refused, Square
from loadtest.peers.marker import Tally, marker
from loadtest.swarm.wire import CLOSE, WS_PING, WS_PONG, client_frame

SECOND = 1_000_000

#: Moves a second and player.
RATE = 2

#: Units across a square; where in it a player is says nothing to any peer.
SPAN = 16 * 1024

#: Seconds that are played before it counts, and that what is due in the window may take after it.
WARM_UP, DRAIN = 2.0, 1.0

#: Players that join at a time, and seconds in which one at least must get in.
JOINING, STALLED = 50, 15.0

#: Bytes of one read: below what malloc maps anew each time.
READ = 64 * 1024

#: Sockets that are read before it is looked whether a move is due.
AT_ONCE = 64

#: CPU seconds, and memory in MB, of the server's processes.
Cost = tuple[float, float]


@dataclass
class Player:
    """One connection. `rest` is what has come of a frame, or of the answer to the handshake."""

    square: Square
    audience: int
    socket: socket.socket
    lines: Lines
    opened: bool = False
    step: int = 0
    rest: bytes = b""
    unsent: bytes = b""

    @property
    def plays(self) -> bool:
        """Whether all is said that must be before the first move."""
        return self.opened and self.step == len(self.lines)


@dataclass
class Measured:
    """What came of a run. Latency is ms; `seconds` is the window's length as it was; `client` is
    the share of a core that this process used, `late_p99` the lateness of its moves in ms."""

    expected: int = 0
    delivered: int = 0
    arrived: int = 0
    bytes: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    mb: float = 0.0
    client: float = 0.0
    late_p99: float = 0.0
    lost: int = 0
    latency: dict[str, float] = field(default_factory=dict)


def whole_frames(data: bytes, found: list[tuple[int, bytes]]) -> int:
    """Return how many bytes at the beginning are whole frames.

    Control frames, and frames of one byte (a heartbeat may be one), are added to `found`, as
    opcode and payload.
    """
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
    """Return a square for each player: `share` in each of a block with ceil(sqrt) columns."""
    squares = -(-players // share)
    side = int(np.ceil(np.sqrt(squares)))
    return [(player % squares % side, player % squares // side) for player in range(players)]


def audiences(squares: Sequence[Square]) -> list[int]:
    """Return, for each player, how many are subscribed to its square: those in the 3x3 around."""
    there: dict[Square, int] = {}
    for square in squares:
        there[square] = there.get(square, 0) + 1
    around = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)]
    heard = {
        (column, row): sum(there.get((column + x, row + y), 0) for x, y in around)
        for column, row in there
    }
    return [heard[square] for square in squares]


class Client:
    """See the module. Times are us of the run's clock. Close it to close all connections."""

    def __init__(self, address: Address, dialect: Dialect) -> None:
        # First, so that its number is low enough for select().
        self._epoll = select.epoll()
        self._address, self._dialect = address, dialect
        self._epoch = time.monotonic_ns() // 1000
        self._players: dict[int, Player] = {}
        #: Players in the order in which they move, over and over.
        self._order: list[Player] = []
        self._tally = Tally(0, 0)
        self._late = Histogram()
        self._sent = self._expected = self._lost = self._ready = 0
        self._first_due: float = 0
        self._moving = False

    def now(self) -> int:
        """The run's clock."""
        return time.monotonic_ns() // 1000 - self._epoch

    def close(self) -> None:
        """Close all connections."""
        for player in self._players.values():
            player.socket.close()
        self._epoll.close()

    def join(self, squares: Sequence[Square]) -> None:
        """Bring a player into each of these squares. Raises Refused."""
        started = 0
        waiting = list(zip(squares, audiences(squares), strict=True))
        progress, seen = self.now(), 0
        while self._ready < len(squares):
            while started < len(squares) and started - self._ready < JOINING:
                self._connect(*waiting[started])
                started += 1
            self._turn(self.now() + SECOND // 4)
            if self._lost:
                raise Refused("the server closed a connection that was joining")
            if self._ready > seen:
                progress, seen = self.now(), self._ready
            elif self.now() - progress > STALLED * SECOND:
                raise Refused(f"only {self._ready} of {len(squares)} players could join")
        self._order = list(self._players.values())
        random.shuffle(self._order)

    def measure(self, seconds: float, cost: Callable[[], Cost]) -> Measured:
        """Let all players move, and measure for so long, after a while to warm up. Raises
        Refused when nobody is connected any more."""
        begin = self.now() + round(WARM_UP * SECOND)
        end = begin + round(seconds * SECOND)
        self._tally = Tally(begin, end)
        self._first_due, self._moving = self.now(), True
        with _undisturbed():
            self._until(begin)
            (cpu, _), own = cost(), time.process_time()
            started = self.now()
            self._until(end)
            # Also what was due while this process had no core.
            self._send_due()
            (cpu_after, mb), own_after = cost(), time.process_time()
            ended = self.now()
            self._moving = False
            self._until(end + round(DRAIN * SECOND), all_come=True)
        tally, past = self._tally, (ended - started) / SECOND
        return Measured(
            self._expected, tally.delivered, tally.arrived, tally.bytes, past, cpu_after - cpu, mb,
            (own_after - own) / past, self._late.percentile(99), self._lost,
            tally.latency.summary(),
        )  # fmt: skip

    # The loop.

    def _until(self, end: int, all_come: bool = False) -> None:
        """Go on until a moment, or until all that is expected has come."""
        while self.now() < end:
            if all_come and self._tally.delivered >= self._expected:
                break
            self._turn(end)
            if not self._players:
                raise Refused("all players lost their connection")
        self._tally.count()

    def _turn(self, end: int) -> None:
        """Send what is due and read what has come; wait for either until `end`. Raises
        Interrupted."""
        signals.check()
        self._send_due()
        wait = (min(self._due(), end) if self._moving else end) - self.now()
        # epoll waits for whole milliseconds, which would stand in every latency; select does not.
        select.select([self._epoll.fileno()], [], [], max(wait, 0) / SECOND)
        ready = self._epoll.poll(0)
        for turn, (fd, _) in enumerate(ready, 1):
            if turn % AT_ONCE == 0:
                self._send_due()
            player = self._players.get(fd)
            if player is not None:
                self._read(player)
        if len(ready) < AT_ONCE:
            self._tally.count()

    def _due(self) -> int:
        """Return when the next move is due: they come evenly, each player's at its rate."""
        return round(self._first_due + self._sent * SECOND / (RATE * len(self._order)))

    def _send_due(self) -> None:
        while self._moving and (due := self._due()) <= (now := self.now()):
            player = self._order[self._sent % len(self._order)]
            self._sent += 1
            if player.socket.fileno() >= 0:
                x, y = random.randrange(SPAN), random.randrange(SPAN)
                self._say(player, self._dialect.move(x, y, marker(due)))
            if self._tally.begin <= due < self._tally.end:
                # Also of who has lost its connection: it is the server's part to keep it.
                self._expected += player.audience
                self._late.add(np.array([now - due]))

    # Connections.

    def _connect(self, square: Square, audience: int) -> None:
        path = self._dialect.path(self._address, square)
        key = base64.b64encode(os.urandom(16)).decode()
        host, port = self._address
        try:
            made = socket.create_connection(self._address, timeout=STALLED)
        except OSError as error:
            raise Refused(f"a connection was refused: {error}") from error
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setblocking(False)
        player = Player(square, audience, made, self._dialect.lines(square))
        self._players[made.fileno()] = player
        self._epoll.register(made.fileno(), select.EPOLLIN)
        request = (
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        )
        self._write(player, request.encode())

    def _read(self, player: Player) -> None:
        try:
            data = player.socket.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            # Reset by the server: told as a lost connection, like its orderly end.
            data = b""
        if not data:
            self._lose(player)
            return
        data = player.rest + data
        if not player.opened:
            head, separator, data = data.partition(b"\r\n\r\n")
            if not separator:
                player.rest = head
                return
            if not head.startswith(b"HTTP/1.1 101"):
                status = head.partition(b"\r\n")[0].decode(errors="replace")
                raise Refused(f"the handshake was answered with {status!r}")
            player.opened = True
            self._go_on(player, b"")
        found: list[tuple[int, bytes]] = []
        end = whole_frames(data, found)
        frames, player.rest = data[:end], data[end:]
        self._tally.add(frames, self.now())
        for opcode, payload in found:
            self._answer(player, opcode, payload)
        if not player.plays:
            self._go_on(player, frames)

    def _answer(self, player: Player, opcode: int, payload: bytes) -> None:
        heartbeat = self._dialect.heartbeat
        if opcode == WS_PING:
            self._write(player, client_frame(payload, WS_PONG))
        elif opcode == CLOSE:
            self._lose(player)
        elif heartbeat is not None and payload == heartbeat[0]:
            self._say(player, heartbeat[1])

    def _go_on(self, player: Player, came: bytes) -> None:
        """Say what is next, if what it waits for has come."""
        while not player.plays:
            awaited, reply = player.lines[player.step]
            if awaited not in came:
                return
            came = came.partition(awaited)[2] if awaited else came
            player.step += 1
            if reply:
                self._say(player, reply)
        self._ready += 1

    def _say(self, player: Player, payload: bytes) -> None:
        self._write(player, client_frame(payload, self._dialect.opcode))

    def _write(self, player: Player, data: bytes) -> None:
        """Send what is left and then this. What a server does not take now goes with what is said
        next, half a second later: it is far behind then anyway."""
        if player.socket.fileno() < 0:
            return
        data = player.unsent + data
        try:
            player.unsent = data[player.socket.send(data) :]
        except BlockingIOError:
            player.unsent = data
        except OSError:
            self._lose(player)

    def _lose(self, player: Player) -> None:
        if player.socket.fileno() >= 0:
            self._lost += 1
            # Stays in the order of moves, and is not heard any more.
            del self._players[player.socket.fileno()]
            player.socket.close()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """No garbage is collected meanwhile."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
