"""Nodes with their sessions and memory brokers, in a time that only the test moves.

Real everything but sockets and clock: messages in are bytes, messages out are the frames written.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgpack

from brokers import LinkAge, Message, Reset, open_broker
from server.channels import WORLD
from server.limits import Limits
from server.node import Node
from server.session import Session
from server.tokens import Tokens
from tests.ground import Ground
from tests.model import Model
from world.grid import SIDE, Grid, Rect
from world.terrain import Terrain

_names = itertools.count()


class Clock:
    """The one time of a harness, in ms; only the test moves it."""

    def __init__(self) -> None:
        self.time = 1_700_000_000_000


class ManualLoop:
    """server.loop.Loop in a harness's time; `skew` is by how much its node's clock is ahead."""

    def __init__(self, clock: Clock, skew: int = 0) -> None:
        self.stats: Counter[str] = Counter()
        self.clock = clock
        self.skew = skew
        self.measured = 0.0
        #: ms for which this node has just stood still.
        self.stood = 0
        #: Seconds that whatever is measured is found to take.
        self.cost = 0.0
        self._soon: list[Callable[[], None]] = []
        self._alarms: list[ManualAlarm] = []

    @property
    def time(self) -> int:
        return self.clock.time

    def now(self) -> int:
        return self.clock.time + self.skew

    def at(self, monotonic: float) -> int:
        return round(monotonic * 1000) + self.skew

    def late(self) -> int:
        return self.stood

    def seconds(self) -> float:
        self.measured += self.cost
        return self.measured

    def soon(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def alarm(self, callback: Callable[[], None]) -> "ManualAlarm":
        self._alarms.append(ManualAlarm(callback))
        return self._alarms[-1]

    def turn(self) -> bool:
        """Do what is to be done now; False if there was nothing."""
        callbacks, self._soon = self._soon, []
        for alarm in self._alarms:
            if alarm.at is not None and alarm.at <= self.now():
                alarm.at = None
                callbacks.append(alarm.callback)
        for callback in callbacks:
            callback()
        return bool(callbacks)

    def next(self) -> int | None:
        """Return the harness's time at which something is due next."""
        due = min((a.at for a in self._alarms if a.at is not None), default=None)
        return None if due is None else due - self.skew


class ManualAlarm:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback = callback
        self.at: int | None = None

    def set(self, at: int | None) -> None:
        self.at = at


class FakeConnection:
    """server.connection.Connection without a socket: what is sent goes to a model of the client.

    While `stuck` the first write is a remainder, and later ones are refused. While `dead` nothing
    that the client sends arrives, pongs included.
    """

    def __init__(self, loop: ManualLoop) -> None:
        self.loop = loop
        self.on_message: Callable[[int, bytes], object] = lambda *_: None
        self.on_close: Callable[[int, str], object] = lambda *_: None
        self.on_drain: Callable[[], object] = lambda: None
        self.address = "127.0.0.1"
        self.model = Model()
        self.messages: list[Any] = []
        self.bytes = 0
        self.writes = 0
        self.stuck = self.dead = False
        self.heard = loop.time / 1000
        self.pings = 0
        self._remainder: list[bytes] = []
        self.closed: tuple[int, str] | None = None

    @property
    def backlogged(self) -> bool:
        return bool(self._remainder)

    @property
    def open(self) -> bool:
        return self.closed is None

    def send(self, data: bytes) -> bool:
        if self._remainder or self.closed:
            return False
        self.writes += 1
        self.bytes += len(data)
        self._take(data)
        return True

    def send_control(self, data: bytes) -> bool:
        if self.closed:
            return False
        self._take(data)
        return True

    def _take(self, data: bytes) -> None:
        if self.stuck:
            self._remainder.append(data)
            return
        for payload in split(data):
            message = msgpack.unpackb(payload)
            self.messages.append(message)
            self.model.take(message, self.loop.now())

    def ping(self) -> None:
        self.pings += 1
        if not self.dead:
            self.heard = self.loop.time / 1000

    def drain(self) -> None:
        """Let the client take what was stuck."""
        self.stuck = False
        waiting, self._remainder = self._remainder, []
        for data in waiting:
            self._take(data)
        self.on_drain()

    def close(self, code: int, reason: str = "") -> None:
        if self.closed is None:
            self.closed = (code, reason)
            self.loop.soon(lambda: self.on_close(code, reason))

    def lose(self, code: int = 1006) -> None:
        """The client is gone."""
        self.close(code)


def split(data: bytes) -> list[bytes]:
    """Return the payloads of whole, unmasked binary frames."""
    payloads, at = [], 0
    while at < len(data):
        assert data[at] == 0x82
        length, at = data[at + 1], at + 2
        if length >= 126:
            size = 2 if length == 126 else 8
            length, at = int.from_bytes(data[at : at + size], "big"), at + size
        payloads.append(data[at : at + length])
        at += length
    return payloads


class FaultyBroker:
    """A broker whose link can lose what is published, or be down, and come back with a Reset."""

    def __init__(self, url: str, chance: random.Random) -> None:
        self._broker = open_broker(url)
        self._chance = chance
        #: The share of what is published that is lost without a word.
        self.losing = 0.0
        self.down = False
        self.counters = self._broker.counters
        self.ring_hash = self._broker.ring_hash
        #: Its links, as it tells them: one, that is well.
        self.told = [LinkAge("a link", 0.0)]
        self._channels = self._broker._channels  # type: ignore[attr-defined]
        self.subscribe = self._broker.subscribe
        self.unsubscribe = self._broker.unsubscribe
        self.close = self._broker.close

    def links(self) -> list[LinkAge]:
        return self.told

    def publish(self, channel: str, payload: bytes) -> bool:
        if self.down:
            return False
        if self._chance.random() < self.losing:
            return True
        return self._broker.publish(channel, payload)

    def receive(self, timeout: float) -> Message | Reset | None:
        item = self._broker.receive(timeout)
        while self.down and item is not None:
            item = self._broker.receive(timeout)
        return item

    def restore(self, node: Node) -> None:
        """The link is back."""
        self.down = False
        node.take(Reset(None))


class Host:
    """A node of a harness, with its loop and its link."""

    def __init__(
        self, harness: "Harness", free: bool, skew: int, seed: int, side: int, world: str
    ) -> None:
        self.loop = ManualLoop(harness.clock, skew)
        self.broker = FaultyBroker(harness.url, harness.chance)
        terrain = Ground(lambda _x, _y: False, seed) if free else Terrain(seed)
        self.node = Node(
            grid=Grid(side), terrain=terrain, broker=self.broker, loop=self.loop, world=world  # type: ignore[arg-type]
        )  # fmt: skip
        self.node.peers.start()
        self.tokens = Tokens("a secret of tests")
        self.limits = Limits(self.loop.stats, now=self.loop.now)


class Client:
    """A client of a harness, on one of its nodes; `model` is what it believes."""

    def __init__(self, harness: "Harness", host: Host) -> None:
        self.harness = harness
        self.host = host
        self.connection = FakeConnection(host.loop)
        self.session = Session(self.connection, host.node, host.tokens, 1000, host.limits)  # type: ignore[arg-type]
        self.connection.on_close = lambda code, _reason: self.session.closed(code)
        self.model = self.connection.model
        self.number = self.acknowledged = 0

    def raw(self, payload: bytes, opcode: int = 2) -> None:
        if self.connection.closed is None and not self.connection.dead:
            self.connection.heard = self.harness.clock.time / 1000
            self.connection.on_message(opcode, payload)
        self.harness.settle()

    def send(self, *message: Any) -> None:
        self.raw(msgpack.packb(list(message)))

    def hello(
        self, name: str = "Wren", size: tuple[int, int] = (40, 25), token: str | None = None,
        near: int | str | None = None,
    ) -> "Client":  # fmt: skip
        self.send(1, 1, name, *size, token, near)
        return self

    def walk(self, dx: int, dy: int, age: int = 0) -> None:
        self.number += 1
        self.send(2, self.number, self.now() - age, dx, dy)

    def go(self, x: int, y: int) -> None:
        self.number += 1
        self.send(3, self.number, self.now(), x, y)

    def home(self) -> None:
        self.number += 1
        self.send(4, self.number)

    def ping(self) -> None:
        self.acknowledged = self.model.flush
        self.send(7, 1, self.model.flush)

    def now(self) -> int:
        """Its node's time."""
        return self.host.loop.now()

    @property
    def id(self) -> int:
        return self.model.id

    def at(self, other: "Client | None" = None) -> tuple[int, int]:
        """Where the client believes itself, or another one, to be now."""
        return self.model.players[(other or self).id].at(self.now())

    def sees(self, other: "Client") -> bool:
        return other.id in self.model.players


class Harness:
    """See the module. `free` ground has no obstacles at all; clocks differ by `skew` ms a node."""

    def __init__(self, free: bool = True, nodes: int = 1, skew: int = 0, seed: int = 1) -> None:
        self.clock = Clock()
        self.url = f"memory://harness-{next(_names)}"
        self.chance = random.Random(seed)
        self._free = free
        self._skew = skew
        self.hosts: list[Host] = []
        for _ in range(nodes):
            self.host()
        self.loop, self.node, self.broker = (
            self.hosts[0].loop, self.hosts[0].node, self.hosts[0].broker,
        )  # fmt: skip
        self.clients: list[Client] = []
        self._acknowledge = 0
        self.settle()

    def host(
        self, seed: int = 2013, side: int = SIDE, world: str = WORLD, down: bool = False
    ) -> Host:
        """Start another node; with `down` its link is, too."""
        skew = self._skew * len(self.hosts)
        self.hosts.append(Host(self, self._free, skew, seed, side, world))
        self.hosts[-1].broker.down = down
        return self.hosts[-1]

    def kill(self, host: Host) -> None:
        """A node dies as by kill -9: nothing of it says goodbye; its clients are cut off."""
        self.hosts.remove(host)
        host.broker.close()
        self.clients = [client for client in self.clients if client.host is not host]

    def client(self, host: Host | None = None) -> Client:
        """Return a connected client that has said nothing yet."""
        self.clients.append(Client(self, host or self.hosts[0]))
        return self.clients[-1]

    def place(
        self, name: str, square: tuple[int, int], size: tuple[int, int] = (40, 25),
        host: Host | None = None,
    ) -> Client:  # fmt: skip
        """Return a client whose player stands in the middle of a square."""
        span = self.node.grid.span
        middle = square[0] * span + span // 2, square[1] * span + span // 2
        return self.stand(name, middle, size, host)

    def stand(
        self, name: str, at: tuple[int, int], size: tuple[int, int], host: Host | None = None
    ) -> Client:
        """Return a client whose player stands at a position in units."""
        node = (host or self.hosts[0]).node
        node.spot = lambda near=None: at  # type: ignore[method-assign]
        try:
            return self.client(host).hello(name, size)
        finally:
            del node.spot

    def settle(self) -> None:
        """Let everything happen that happens without time passing."""
        busy = True
        while busy:
            busy = False
            for host in self.hosts:
                busy |= host.loop.turn()
                while (item := host.broker.receive(0)) is not None:
                    host.node.take(item)
                    busy = True

    def run(self, ms: int) -> None:
        """Let time pass, moment by moment; clients acknowledge once a second."""
        until = self.clock.time + ms
        while True:
            self.settle()
            dues = [due for host in self.hosts if (due := host.loop.next()) is not None]
            soonest = min(dues, default=until + 1)
            self.clock.time = max(min(until, self._acknowledge, soonest), self.clock.time)
            if self.clock.time >= self._acknowledge:
                self._acknowledge = self.clock.time + 900
                for client in self.clients:
                    if client.model.flush > client.acknowledged and not client.connection.closed:
                        client.ping()
            for client in self.clients:
                client.model.expire(client.now())
            if self.clock.time >= until and soonest > until:
                break
        self.settle()

    def truth(self, client: Client) -> dict[int, tuple[Any, ...]]:
        """Return what a client ought to believe: all residents in the squares it holds, their
        times by the clock of the client's node."""
        assert client.model.held is not None
        rect = Rect(*client.model.held)
        truth = {}
        for host in self.hosts:
            ahead = client.host.loop.skew - host.loop.skew
            for r in host.node.residents.values():
                if rect.holds(r.square):
                    x, y, dx, dy, start, duration = r.track
                    track = x, y, dx, dy, start + ahead, duration
                    truth[r.id] = r.seq, r.ack, r.name, r.dimmed, track, r.square
        return truth

    def belief(self, client: Client) -> dict[int, tuple[Any, ...]]:
        """Return what it believes, in the same form."""
        return {
            p.id: (p.seq, p.ack, p.name, p.dimmed, tuple(p.track), p.square)
            for p in client.model.players.values()
        }

    def check(self) -> None:
        """Assert that every client that keeps up believes the truth."""
        for client in self.clients:
            session = client.session
            lags = session.behind_since is not None or client.connection.backlogged
            if session.resident is not None and not lags:
                assert session.resident.held == client.model.held
                assert self.belief(client) == self.truth(client)
