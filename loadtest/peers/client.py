"""The client that measures all peers alike: some thousand players in one event loop.

The load is an open loop: a move is sent when it is due, whether or not the last one has come back,
and its latency counts from that time. The client reads all that comes, answers pings and counts
markers. It reports how late it was itself, and how much of its core it used.
"""

import contextlib
import gc
import random
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.peers.dialect import Dialect, Lines, Message, Refused, Square, as_bytes
from flatlands.loadtest.peers.marker import Tally, marker
from flatlands.loadtest.swarm import wire
from flatlands.loadtest.swarm.target import Target

SECOND = 1_000_000

#: Moves of each player, a second.
RATE = 2

#: Units across a square. No peer cares where in its square a player is.
SPAN = 16 * 1024

#: Seconds of play before the measured window, and for late deliveries after it.
WARM_UP, DRAIN = 2.0, 1.0

#: Players that join at the same time, and seconds within which at least one must succeed.
JOINING, STALLED = 50, 15.0

#: Bytes of one read: less than malloc would map anew for each.
READ = 64 * 1024

#: Sockets that are read before due moves are sent.
AT_ONCE = 64

#: A socket can be read or written later.
LATER = BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError

#: CPU seconds and MB of memory of the server's processes; None if they are not known.
Cost = tuple[float | None, float | None]


@dataclass
class Player:
    """One connection.

    `audience` is the number of players that get its moves. `lines` are the lines of its dialect,
    and `step` how many of them are done. `rest` are bytes of an unfinished frame or handshake.
    """

    square: Square
    audience: int
    socket: Any
    lines: Lines
    opened: bool = False
    step: int = 0
    rest: bytes = b""
    unsent: bytes = b""

    @property
    def plays(self) -> bool:
        """Whether all lines before the first move are done."""
        return self.opened and self.step == len(self.lines)


@dataclass
class Measured:
    """The result of a run.

    `latency` is in ms; `seconds` is the actual length of the window. `arrived` are the deliveries
    in the window, `delivered` those of moves that were due in it. `cpu` and `mb` are the server's,
    None if they are not known.
    `client` is the share of a core that this process used, and `late_p99` how late, in ms, it sent
    one move in a hundred.
    """

    expected: int = 0
    delivered: int = 0
    arrived: int = 0
    bytes: int = 0
    seconds: float = 0.0
    cpu: float | None = None
    mb: float | None = None
    client: float = 0.0
    late_p99: float = 0.0
    lost: int = 0
    latency: dict[str, float] = field(default_factory=dict)


def whole_frames(data: bytes, found: list[tuple[int, bytes]]) -> int:
    """Return how many bytes at the beginning are whole frames.

    Control frames, and frames of one byte, which may be heartbeats, are added to `found` as
    (opcode, payload).
    """
    # This is wire.frames, written out: a generator would take two thirds more time a frame.
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


class Client:
    """The client that measures all peers alike: some thousand players in one event loop. Times are
    in us of the run's clock. It must be closed in the end.
    """

    def __init__(self, target: Target, dialect: Dialect) -> None:
        # It comes first, so that its number is low enough for select().
        self._epoll = select.epoll()
        self._target, self._dialect = target, dialect
        self._tls = wire.tls(target.tls) if target.tls else None
        self._audiences = dialect.audiences or audiences
        self._epoch = time.monotonic_ns() // 1000
        self._players: dict[int, Player] = {}
        #: The players in the order in which they move, round after round.
        self._order: list[Player] = []
        self._tally = Tally(0, 0)
        self._late = Histogram()
        self._sent = self._expected = self._lost = self._ready = 0
        self._first_due: float = 0
        self._moving = False

    def now(self) -> int:
        """Return the time by the run's clock."""
        return time.monotonic_ns() // 1000 - self._epoch

    def close(self) -> None:
        """Close all connections."""
        for player in self._players.values():
            player.socket.close()
        self._epoll.close()

    def join(self, squares: Sequence[Square]) -> None:
        """Let a player join in each of these squares. Raises Refused and Interrupted."""
        started = 0
        waiting = list(zip(squares, self._audiences(squares), strict=True))
        progress, ready = self.now(), 0
        while self._ready < len(squares):
            while started < len(squares) and started - self._ready < JOINING:
                self._connect(*waiting[started])
                started += 1
            self._turn(self.now() + SECOND // 4)
            if self._lost:
                raise Refused("the server closed a connection that was joining")
            if self._ready > ready:
                progress, ready = self.now(), self._ready
            elif self.now() - progress > STALLED * SECOND:
                raise Refused(f"only {self._ready} of {len(squares)} players could join")
        self._order = list(self._players.values())
        random.shuffle(self._order)

    def measure(self, seconds: float, cost: Callable[[], Cost]) -> Measured:
        """Let all players move for WARM_UP, then measure for so many seconds.

        `cost` returns what the server has used until now. Raises Refused when no player is
        connected any more, and Interrupted.
        """
        begin = self.now() + round(WARM_UP * SECOND)
        end = begin + round(seconds * SECOND)
        self._tally = Tally(begin, end)
        self._first_due, self._moving = self.now(), True
        with _undisturbed():
            self._until(begin)
            (cpu, _), own = cost(), time.process_time()
            started = self.now()
            self._until(end)
            # This also sends moves that were due while this process had no core.
            self._send_due()
            (cpu_after, mb), own_after = cost(), time.process_time()
            ended = self.now()
            self._moving = False
            self._until(end + round(DRAIN * SECOND), all_come=True)
        tally, past = self._tally, (ended - started) / SECOND
        return Measured(
            self._expected,
            tally.delivered,
            tally.arrived,
            tally.bytes,
            past,
            None if cpu is None or cpu_after is None else cpu_after - cpu,
            mb,
            (own_after - own) / past,
            self._late.percentile(99),
            self._lost,
            tally.latency.summary(),
        )

    # The loop.

    def _until(self, end: int, all_come: bool = False) -> None:
        """Run the loop until the time `end`, or with `all_come` until all deliveries have come."""
        while self.now() < end:
            if all_come and self._tally.delivered >= self._expected:
                break
            self._turn(end)
            if not self._players:
                raise Refused("all players lost their connection")
        self._tally.count()

    def _turn(self, end: int) -> None:
        """Send due moves and read what has come; wait for either until `end` at most.

        Raises Interrupted.
        """
        signals.check()
        self._send_due()
        wait = (min(self._due(), end) if self._moving else end) - self.now()
        # epoll waits for whole milliseconds, which would spoil every latency; select does not.
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
        """Return the time at which the next move is due. Moves are evenly spread over time."""
        return round(self._first_due + self._sent * SECOND / (RATE * len(self._order)))

    def _send_due(self) -> None:
        while self._moving and (due := self._due()) <= (now := self.now()):
            player = self._order[self._sent % len(self._order)]
            self._sent += 1
            if player.socket.fileno() >= 0:
                x, y = random.randrange(SPAN), random.randrange(SPAN)
                self._send(player, self._dialect.move(x, y, marker(due)))
            if self._tally.begin <= due < self._tally.end:
                # Moves of lost connections count too: the server should have kept them.
                self._expected += player.audience
                self._late.add(np.array([now - due]))

    # Connections.

    def _connect(self, square: Square, audience: int) -> None:
        target, dialect = self._target, self._dialect
        path = dialect.path(target.address, square) if dialect.path else target.path
        try:
            made = socket.create_connection(target.address, timeout=STALLED)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                made = self._tls.wrap_socket(made, server_hostname=target.name)
        except OSError as error:
            raise Refused(f"a connection was refused: {error}") from error
        made.setblocking(False)
        player = Player(square, audience, made, dialect.lines(square))
        self._players[made.fileno()] = player
        self._epoll.register(made.fileno(), select.EPOLLIN)
        host = wire.host(target.name, target.address[1], bool(target.tls))
        self._write(player, wire.handshake(host, path, "", target.login))

    def _read(self, player: Player) -> None:
        try:
            data = player.socket.recv(READ)
            # TLS may have read more than it returned, of which epoll gives no sign.
            while self._tls is not None and data and player.socket.pending():
                data += player.socket.recv(READ)
        except LATER:
            return
        except OSError:
            # A reset by the server counts as a lost connection, as an orderly end does.
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
        if opcode == wire.WS_PING:
            self._write(player, wire.client_frame(payload, wire.WS_PONG))
        elif opcode == wire.CLOSE:
            self._lose(player)
        elif heartbeat is not None and payload == heartbeat[0]:
            self._send(player, heartbeat[1])

    def _go_on(self, player: Player, came: bytes) -> None:
        """Send the next lines whose awaited bytes have come; `came` are new bytes."""
        while not player.plays:
            awaited, reply = player.lines[player.step]
            if awaited not in came:
                return
            came = came.partition(awaited)[2] if awaited else came
            player.step += 1
            if reply:
                self._send(player, reply)
        self._ready += 1

    def _send(self, player: Player, message: Message) -> None:
        opcode = wire.TEXT if isinstance(message, str) else wire.BINARY
        self._write(player, wire.client_frame(as_bytes(message), opcode))

    def _write(self, player: Player, data: bytes) -> None:
        """Send the bytes that are left from before, and these.

        What a server does not accept now is sent with the player's next move, half a second later:
        such a server is overloaded anyway.
        """
        if player.socket.fileno() < 0:
            return
        data = player.unsent + data
        try:
            player.unsent = data[player.socket.send(data) :]
        except LATER:
            player.unsent = data
        except OSError:
            self._lose(player)

    def _lose(self, player: Player) -> None:
        if player.socket.fileno() >= 0:
            self._lost += 1
            # It keeps its place in the order of moves, but is no longer read.
            del self._players[player.socket.fileno()]
            player.socket.close()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let no garbage be collected while the block runs."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
