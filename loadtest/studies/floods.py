"""What players notice while strangers flood their server.

Two hundred players walk and ping. For some seconds before and during each flood, which another
process makes, the time until each pong and each own event is measured. All connections come from
this machine, which has no limit per address: that is the harder case.
"""

import contextlib
import math
import multiprocessing
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypedDict

import msgpack

from flatlands import wire
from flatlands.loadtest.kit import signals
from flatlands.loadtest.studies.study import Column, Measure, NoOptions, PlainStudy
from flatlands.loadtest.swarm import target
from flatlands.loadtest.swarm.blocking_client import Address, BlockingClient, connected

#: So many players are measured.
PLAYERS = 200
#: Each player makes so many moves.
MOVES_A_SECOND = 1.0
#: Each player sends so many pings.
PINGS_A_SECOND = 4.0
#: The players begin in so many squares.
SPREAD_SQUARES = 8

#: The measured time before a flood.
BEFORE_SECONDS = 3.0
#: The measured time during a flood.
DURING_SECONDS = 6.0
#: The rest after a flood.
REST_SECONDS = 1.5

#: ms by which the 99th percentile may grow during a flood.
TARGET = 50

GET = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


# Floods. Each gets the server's address, and never returns: its process is killed.


def _again(work: Callable[[], None]) -> None:
    """Call `work` for ever, whatever the server does about it."""
    while True:
        try:
            work()
        except OSError:
            time.sleep(0.01)


def pipelined(to: Address) -> None:
    """Send requests without waiting for answers, on one connection after the other."""

    def work() -> None:
        with connected(to) as sock:
            sock.setblocking(False)
            with selectors.DefaultSelector() as ready:
                ready.register(sock, selectors.EVENT_READ | selectors.EVENT_WRITE)
                while True:
                    for _, events in ready.select():
                        if events & selectors.EVENT_READ and not sock.recv(1 << 20):
                            return
                        if events & selectors.EVENT_WRITE:
                            sock.send(GET % b"/healthz" * 50)

    _again(work)


def keep_alive(to: Address) -> None:
    """Send a request as soon as the last one is answered."""

    def work() -> None:
        with connected(to) as sock:
            while True:
                sock.sendall(GET % b"/main.js")
                answer = b""
                while b"\r\n\r\n" not in answer:
                    data = sock.recv(65536)
                    if not data:
                        return
                    answer += data
                head, body = answer.split(b"\r\n\r\n", 1)
                left = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0]) - len(body)
                while left > 0:
                    left -= len(sock.recv(65536)) or left

    _again(work)


def thirty_clients(to: Address) -> None:
    """Do as `keep_alive` does, with thirty clients."""
    for _ in range(29):
        threading.Thread(target=keep_alive, args=(to,), daemon=True).start()
    keep_alive(to)


def endless_body(to: Address, head: bytes, body: bytes) -> None:
    """Send a body that never ends."""

    def work() -> None:
        with connected(to) as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n")
            while True:
                sock.sendall(body)

    _again(work)


def slow_heads(to: Address) -> None:
    """Send three hundred requests, one byte at a time."""
    sockets = [connected(to) for _ in range(300)]
    while True:
        for at, sock in enumerate(sockets):
            try:
                sock.sendall(b"x")
            except OSError:
                sock.close()
                with contextlib.suppress(OSError):
                    sockets[at] = connected(to)
        time.sleep(0.02)


def silent_sockets(to: Address) -> None:
    """Keep opening connections that send nothing; of more than five hundred, close the oldest."""
    sockets: list[socket.socket] = []

    def work() -> None:
        sockets.append(connected(to))
        if len(sockets) > 500:
            sockets.pop(0).close()

    _again(work)


def join_and_drop(to: Address) -> None:
    """Join and reset the connection at once."""

    def work() -> None:
        with BlockingClient(to) as visitor:
            visitor.hello().token()
            visitor.reset()

    _again(work)


def chat_by_coming_back(to: Address) -> None:
    """Send five chat messages, reset the connection, and come back to send five more."""
    token: str | None = None

    def work() -> None:
        nonlocal token
        with BlockingClient(to) as visitor:
            token = visitor.hello(token).token()
            visitor.socket.sendall(wire.message_frame(wire.SAY, "x" * 120) * 5)
            time.sleep(0.01)
            visitor.reset()

    _again(work)


def control_frames(to: Address, opcode: int) -> None:
    """Send control frames of a WebSocket without end."""
    flood = wire.client_frame(b"", opcode) * 2000

    def work() -> None:
        with BlockingClient(to) as visitor:
            visitor.hello().token()
            while True:
                visitor.socket.sendall(flood)

    _again(work)


def handshakes(to: Address) -> None:
    """Open and reset WebSockets."""

    def work() -> None:
        with BlockingClient(to) as visitor:
            visitor.reset()

    _again(work)


#: Name -> flood: the long body has a hundred gigabytes, and the other one chunks of a byte.
FLOODS: dict[str, Callable[[Address], None]] = {
    "pipelined": pipelined,
    "keep alive": keep_alive,
    "thirty clients": thirty_clients,
    "chunked body": partial(
        endless_body, head=b"Transfer-Encoding: chunked", body=b"1\r\nx\r\n" * 5000
    ),
    "long body": partial(endless_body, head=b"Content-Length: 100000000000", body=b"x" * 65536),
    "slow heads": slow_heads,
    "silent sockets": silent_sockets,
    "join and drop": join_and_drop,
    "chat by coming back": chat_by_coming_back,
    "pings": partial(control_frames, opcode=wire.WS_PING),
    "pongs": partial(control_frames, opcode=wire.WS_PONG),
    "handshakes": handshakes,
}


# Players.


class Player(BlockingClient):
    """A player that walks to and fro, and is measured."""

    def __init__(self, to: Address, number: int) -> None:
        super().__init__(to)
        self.hello(name=f"P{number}")
        self.id = self.flush = self.walks = 0
        #: The square in which it is, and what its node calls it there; None before it was told.
        self.named: tuple[wire.Square, int] | None = None
        #: ms by which node time is ahead of this process's clock.
        self.ahead = 0
        #: Number of a move that is not answered yet -> the time at which it was sent.
        self.moves: dict[int, float] = {}
        # The players act at different times.
        self.move_at = time.monotonic() + number / PLAYERS / MOVES_A_SECOND
        self.ping_at = time.monotonic() + number / PLAYERS / PINGS_A_SECOND


class Field:
    """All players, and the seconds that pongs and moves took since the last `run` began."""

    def __init__(self, to: Address) -> None:
        self.pongs: list[float] = []
        self.moves: list[float] = []
        self.pong_at = time.monotonic()
        #: The longest time, in seconds, in which no player got a pong.
        self.gap = 0.0
        self.lost = 0
        self._ready = selectors.DefaultSelector()
        self._players = [Player(to, number) for number in range(PLAYERS)]
        for player in self._players:
            player.socket.setblocking(False)
            self._ready.register(player.socket, selectors.EVENT_READ, player)

    def run(self, seconds: float) -> None:
        """Make all play for `seconds`; forget what was measured before. Raises Interrupted."""
        self.pongs, self.moves, self.gap = [], [], 0.0
        self.pong_at = time.monotonic()
        until = self.pong_at + seconds
        while (now := time.monotonic()) < until:
            signals.check()
            for key, _ in self._ready.select(0.002):
                self._read(key.data)
            for player in self._players:
                self._act(player, now)
        self.gap = max(self.gap, time.monotonic() - self.pong_at)
        # Moves that were not answered have taken at least this long.
        for player in self._players:
            self.moves += [now - sent for sent in player.moves.values() if now - sent > 1]

    def _read(self, player: Player) -> None:
        try:
            data = player.socket.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.lost += 1
            self._ready.unregister(player.socket)
            self._players.remove(player)
            player.socket.close()
            return
        now = time.monotonic()
        data, read = player.rest + data, 0
        for begin, start, read in wire.split_frames(data):
            self._take(player, wire.frame_payload(data[begin], data[start:read]), now)
        player.rest = data[read:]

    def _take(self, player: Player, message: bytes, now: float) -> None:
        if message[0] < 0x90:
            return  # a control frame
        kind = wire.message_kind(message)
        if kind == wire.FLUSH:
            player.flush, written, batches, _ = wire.read_flush(wire.unpack_message(message))
            for fields in batches:
                self._note_answers(player, wire.BatchMessage(fields, written), now)
        elif kind == wire.PONG:
            self.pongs.append(now - msgpack.unpackb(message)[1] / 1e6)
            self.gap = max(self.gap, now - self.pong_at)
            self.pong_at = now
        elif kind == wire.WELCOME:
            fields = msgpack.unpackb(message)
            player.id, player.ahead = fields[2], fields[3] - int(now * 1000)
        elif kind == wire.SNAPSHOT:
            _, column, row, _sent, entries = msgpack.unpackb(message)[:5]
            for enter in (wire.Enter.read(entry, 2) for entry in entries):
                if enter.id == player.id:
                    player.named = (column, row), enter.slot

    def _note_answers(self, player: Player, batch: wire.BatchMessage, now: float) -> None:
        """Note which of a player's own moves a batch answers."""
        answers = []
        for enter in (wire.Enter.read(it) for it in batch.others if it[0] == wire.ENTER):
            if enter.id == player.id:
                player.named = batch.square, enter.slot
                answers.append(enter.ack)
        # Source 0 is the client's own node, and so the player's.
        if batch.source == 0 and player.named is not None and player.named[0] == batch.square:
            answers += [record[2] for record in batch.records if record[0] == player.named[1]]
        for ack in answers:
            # The ack may be the low byte only.
            for number in [n for n in player.moves if (ack - n) % 256 < 128]:
                self.moves.append(now - player.moves.pop(number))

    def _act(self, player: Player, now: float) -> None:
        if not player.id:
            return
        messages = b""
        if now >= player.ping_at:
            player.ping_at = max(player.ping_at + 1 / PINGS_A_SECOND, now)
            messages += wire.message_frame(wire.PING, int(now * 1e6), player.flush)
        if now >= player.move_at:
            player.move_at = max(player.move_at + 1 / MOVES_A_SECOND, now)
            player.walks += 1
            player.moves[player.walks] = now
            heading = 1 - 2 * (player.walks % 2)
            messages += wire.message_frame(
                wire.WALK, player.walks, int(now * 1000) + player.ahead, heading, 0
            )
        if messages:
            with contextlib.suppress(OSError):
                player.socket.sendall(messages)

    def close(self) -> None:
        """Close all connections."""
        for player in self._players:
            player.socket.close()
        self._ready.close()


#: A flood. `pong` and `move` are the 99th percentiles of both during it, and `gap` is the longest
#: time without a pong, all in ms; `lost` are the players that have lost their connection.
Point = TypedDict(
    "Point",
    {
        "series": str,
        "pong before": float,
        "move before": float,
        "pong": float,
        "move": float,
        "gap": float,
        "lost": int,
    },
)


def _slowest(times: list[float]) -> float:
    """Return the 99th percentile, in ms, of times in seconds."""
    ordered = sorted(times)
    return ordered[math.ceil(len(ordered) * 0.99) - 1] * 1000 if ordered else math.nan


def _marks(row: Point) -> str:
    worse = max(row["pong"] - row["pong before"], row["move"] - row["move before"])
    lost = f"{row['lost']} lost their connection" if row["lost"] else ""
    return ", ".join(filter(None, ("missed" if worse > TARGET else "", lost)))


class Floods(PlainStudy[Point, NoOptions]):
    """Pongs and moves of players, before and during each flood."""

    program = "-m loadtest.studies floods"
    about = (
        f"Measure what {PLAYERS} players who walk and ping notice while strangers flood the "
        "server; takes two minutes."
    )
    title = "Players while strangers flood their server"
    options = NoOptions
    note = f"""<p class=note>99th percentiles in ms. Target: during a flood at most {TARGET} more.
</p>"""
    sentences = {"": f"99th percentiles in ms; target: during a flood at most {TARGET} more"}
    columns = {
        "": (
            Column("flood", "series", width=-20),
            Column("pong before", "pong before", ".0f", 11),
            Column("during", "pong", ".0f", 6),
            Column("own move before", "move before", ".0f", 15),
            Column("during", "move", ".0f", 6),
            Column("no pong at all for, ms", "gap", ".0f", 22),
            Column("", _marks, width=-6),
        )
    }

    def jobs(self) -> Iterator[tuple[str, Measure[Point]]]:
        """Yield the only job: all floods come to one server."""
        yield "players join", self._points

    def _points(self) -> Iterator[Point]:
        processes = multiprocessing.get_context("spawn")
        with (
            target.started("", 1, SPREAD_SQUARES) as server,
            contextlib.closing(Field(server.address)) as field,
        ):
            field.run(3)
            for name, flood in FLOODS.items():
                self.note_progress(f"{name} ...")
                field.run(BEFORE_SECONDS)
                pong, move = _slowest(field.pongs), _slowest(field.moves)
                process = processes.Process(target=flood, args=(server.address,), daemon=True)
                process.start()
                try:
                    field.run(0.5)  # in which its interpreter starts
                    field.run(DURING_SECONDS)
                finally:
                    process.kill()
                    process.join()
                yield {
                    "series": name,
                    "pong before": pong,
                    "move before": move,
                    "pong": _slowest(field.pongs),
                    "move": _slowest(field.moves),
                    "gap": field.gap * 1000,
                    "lost": field.lost,
                }
                field.run(REST_SECONDS)


main = Floods.main
