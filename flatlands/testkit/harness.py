"""Nodes with their sessions, over simulated links and on a clock that only the test moves.

Everything is real except sockets, links and clock: clients send bytes, and get the frames that
sessions write. It knows no game.
"""

import random
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

import gevent
import msgpack

from flatlands.brokers.base import Broker, BrokerClosed, LinkAge, Message, Reset, check_payload
from flatlands.model import Model
from flatlands.server.app import STOP_WITHIN
from flatlands.server.clients.admission import Admission
from flatlands.server.clients.handlers import KINDS
from flatlands.server.clients.session import Session
from flatlands.server.clients.tokens import Tokens
from flatlands.server.messages.channels import WORLD
from flatlands.server.messages.peer_protocol import DRAINING
from flatlands.server.node import Node
from flatlands.server.runtime.limits import Limits
from flatlands.server.runtime.loop import BEAT, FORGIVE_FOR, STALL, Loop
from flatlands.server.squares.crowds import CROWD_FROM
from flatlands.server.squares.peers import NodeLoad
from flatlands.stores.base import Item, Score, Store, StoreError
from flatlands.stores.sqlite import SqliteStore, prepare
from flatlands.testkit.ground import PatchedTerrain
from flatlands.world.grid import SIDE, Grid, Rect
from flatlands.world.track import Track


class Clock:
    """The time of a harness in ms, which only the test moves."""

    def __init__(self) -> None:
        self.time = 1_700_000_000_000


class ManualLoop:
    """A server.loop.Loop in a harness's time. Its node's clock is `skew` ms ahead."""

    def __init__(self, clock: Clock, skew: int = 0) -> None:
        self.stats: Counter[str] = Counter()
        #: What was measured -> the us that it took, each time.
        self.durations: defaultdict[str, list[int]] = defaultdict(list)
        self.clock = clock
        self.skew = skew
        self.measured = 0.0
        #: ms for which this node has just stood still, as `late` returns it.
        self.stood = 0
        #: ms by which its last beat was late.
        self.lag = 0
        #: When it turned last; its turns before and after it stood still.
        self._turned: int | None = None
        self._slept = 0, -FORGIVE_FOR
        self._phase = self.now() % 1000
        #: Seconds by which each call of `seconds` is later than the last one.
        self.cost = 0.0
        #: If it is set, it shuffles the callbacks of a turn.
        self.chance: random.Random | None = None
        #: Whether failures are only counted, as in the real loop.
        self.forgiving = False
        #: Called after each thing that the node does: a callback, or taking a message.
        self.on_done: Callable[[], None] = lambda: None
        self._soon: list[Callable[[], object]] = []
        #: A heap of the timers that were set: the node time, the timer's number, and itself. One
        #: that was set again since is in it twice.
        self._timers: list[tuple[int, int, ManualTimer]] = []
        self._made = 0

    @property
    def time(self) -> int:
        return self.clock.time

    def now(self) -> int:
        return self.clock.time + self.skew

    def at(self, monotonic: float) -> int:
        return round(monotonic * 1000) + self.skew

    def late(self) -> int:
        return self.stood

    def slept(self) -> tuple[int, int] | None:
        now = self.now()
        if self._turned is not None and now - self._turned > BEAT + STALL:
            return self._turned, now
        return self._slept if now < self._slept[1] + FORGIVE_FOR else None

    def seconds(self) -> float:
        self.measured += self.cost
        return self.measured

    def record(self, what: str, us: int) -> None:
        self.durations[what].append(us)

    def call_soon(self, callback: Callable[[], object]) -> None:
        self._soon.append(callback)

    def guarded(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            callback(*arguments)
        except Exception:
            self.failed()

    def failed(self) -> None:
        """Fail the test, unless it is about failures."""
        self.stats["errors"] += 1
        if not self.forgiving:
            raise

    def timer(self, callback: Callable[[], None]) -> "ManualTimer":
        self._made += 1
        return ManualTimer(self._timers, self._made, callback)

    def keep_running(self, name: str, run: Callable[[], None]) -> None:
        """Do nothing: the harness receives instead."""

    every = Loop.every
    put_off = Loop.put_off
    in_turns = Loop.in_turns

    def turn(self) -> bool:
        """Call the callbacks that are due now; return False if there were none."""
        callbacks, self._soon = self._soon, []
        now = self.now()
        if (slept := self.slept()) is not None:
            self._slept = slept
        self._turned = now
        due = []
        while (at := self._soonest()) is not None and at <= now:
            _, number, timer = heappop(self._timers)
            timer.at = None
            due.append((number, timer.callback))
        # In the order in which they were made.
        callbacks += [callback for _, callback in sorted(due, key=itemgetter(0))]
        if self.chance is not None and len(callbacks) > 1:
            self.chance.shuffle(callbacks)
        for callback in callbacks:
            callback()
            self.on_done()
        return bool(callbacks)

    def next(self) -> int | None:
        """Return the harness's time at which the next timer goes off, or None."""
        due = self._soonest()
        return None if due is None else due - self.skew

    def _soonest(self) -> int | None:
        """Return the node time of the next timer, which is then the first of the heap, or None."""
        timers = self._timers
        while timers and timers[0][2].at != timers[0][0]:
            heappop(timers)
        return timers[0][0] if timers else None


class ManualTimer:
    def __init__(
        self,
        timers: "list[tuple[int, int, ManualTimer]]",
        number: int,
        callback: Callable[[], None],
    ) -> None:
        self._timers, self._number = timers, number
        self.callback = callback
        self.at: int | None = None

    def set(self, at: int | None) -> None:
        self.at = at
        if at is not None:
            heappush(self._timers, (at, self._number, self))


class FakeConnection:
    """A server.net.connection.Connection without a socket: a client's model gets everything.

    While it is `stuck`, the first write becomes a remainder, and later ones are refused. While it
    is `dead`, nothing that the client sends arrives, not even pongs.
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
        self.stuck = self.dead = self.more = False
        self.last_heard = loop.time / 1000
        self.pings = 0
        self.remainder: list[bytes] = []
        self.closed: tuple[int, str] | None = None
        self.closed_by_peer = False
        #: Whether a part of a message has come that is not whole yet.
        self.half = False
        self.client: Any = None

    @property
    def at_rest(self) -> bool:
        return self.closed is None and not self.remainder and not self.half

    @property
    def socket(self) -> "FakeConnection":
        return self

    def start(self) -> None:
        pass

    def abort(self) -> None:
        self.close(1006)

    def release(self) -> None:
        """Give up the client, whose next connection gets the model and the messages of this one."""
        assert self.at_rest
        self.on_message = lambda *_: None
        self.on_close = lambda *_: None
        self.closed = 0, "released"

    @property
    def backlogged(self) -> bool:
        return bool(self.remainder)

    @property
    def open(self) -> bool:
        return self.closed is None

    def send(self, data: bytes) -> bool:
        if self.remainder or self.closed:
            return False
        self.writes += 1
        self.bytes += len(data)
        self._receive(data)
        return True

    def send_control(self, data: bytes) -> bool:
        if self.closed:
            return False
        self._receive(data)
        return True

    def _receive(self, data: bytes) -> None:
        if self.stuck:
            self.remainder.append(data)
            return
        for payload in split(data):
            message = msgpack.unpackb(payload)
            self.messages.append(message)
            self.model.apply(message, self.loop.now())

    def ping(self) -> None:
        self.pings += 1
        if not self.dead:
            self.last_heard = self.loop.time / 1000

    def drain(self) -> None:
        """Let the client get what was stuck."""
        self.stuck = False
        waiting, self.remainder = self.remainder, []
        for data in waiting:
            self._receive(data)
        self.on_drain()

    def close(self, code: int, reason: str = "") -> None:
        if self.closed is None:
            self.closed = (code, reason)
            self.loop.call_soon(lambda: self.on_close(code, reason))

    def lose(self, code: int = 1006) -> None:
        """Let the client leave with this close code; 1006 stands for a lost connection."""
        if self.closed is None:
            self.closed_by_peer = code != 1006
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


class Network:
    """Joins the links of a harness: all that are subscribed get what one publishes.

    Messages of one link stay in order. Messages of two links may change places if delays differ.
    """

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        self.clock = clock
        self.chance = chance
        self.links: list[FakeLink] = []
        #: Pairs (from, to) of links between which no message passes.
        self.cuts: set[tuple[FakeLink, FakeLink]] = set()
        #: The most ms that a message takes.
        self.delay = 0

    def carry(self, sender: "FakeLink", message: Message) -> None:
        for link in self.links:
            if message.channel in link.channels and (sender, link) not in self.cuts:
                delay = self.chance.randint(0, self.delay) if self.delay else 0
                link.put(sender, message, self.clock.time + delay)

    def heal(self) -> None:
        """End all cuts and delays."""
        self.cuts.clear()
        self.delay = 0


class FakeLink(Broker):
    """A node's broker, whose link can lose messages, be down, and lose subscriptions."""

    def __init__(self, network: Network) -> None:
        super().__init__("memory://harness")
        self._network = network
        #: The share of published messages that is lost without a sign.
        self.losing = 0.0
        self.down = False
        #: What `links` returns: a single link that is alive.
        self.ages = [LinkAge("a link", 0.0)]
        self.channels: set[str] = set()
        #: Channels whose subscriptions are lost without anybody noticing.
        self.lost: set[str] = set()
        #: Channels on which nothing comes until the link is renewed; or not even then, if that is
        #: `forbidden`. How often it was renewed.
        self.dead: set[str] = set()
        self.forbidden = False
        self.renewals = 0
        self._coming: list[tuple[int, int, Message | Reset]] = []
        self._count = 0
        #: FakeLink -> the time at which its last message comes, which no later one overtakes.
        self._last: dict[FakeLink, int] = {}
        network.links.append(self)

    def subscribe(self, *channels: str) -> None:
        self.channels.update(channels)

    def unsubscribe(self, *channels: str) -> None:
        self.channels.difference_update(channels)
        self.lost.difference_update(channels)

    def renew(self, channel: str) -> None:
        self.renewals += 1
        if not self.forbidden:
            self.dead.clear()
        self._come(self._network.clock.time, Reset(None))

    def links(self) -> list[LinkAge]:
        return self.ages

    def publish(self, channel: str, payload: bytes) -> bool:
        check_payload(payload)
        if self not in self._network.links:
            raise BrokerClosed("the broker was closed")
        if self.down:
            return False
        self.counters.published += 1
        if not self.losing or self._network.chance.random() >= self.losing:
            self._network.carry(self, Message(channel, payload))
        return True

    def put(self, sender: "FakeLink", message: Message, at: int) -> None:
        """Let a message arrive at a time in ms, unless the link or the subscription is lost."""
        if not self.down and message.channel not in self.lost | self.dead:
            at = self._last[sender] = max(at, self._last.get(sender, 0))
            self._come(at, message)

    def _come(self, at: int, item: Message | Reset) -> None:
        self._count += 1
        heappush(self._coming, (at, self._count, item))

    def next(self) -> int | None:
        """Return the time at which the next message arrives, or None."""
        return self._coming[0][0] if self._coming and self in self._network.links else None

    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        closed = self not in self._network.links
        if not closed and self._coming and self._coming[0][0] <= self._network.clock.time:
            return heappop(self._coming)[2]
        return None

    def close(self) -> None:
        if self in self._network.links:
            self._network.links.remove(self)

    def fail(self) -> None:
        """Let the link go down; messages under way to it are lost."""
        self.down = True
        self._coming.clear()

    def restore(self, node: Node) -> None:
        """Let the link come back; the node gets a Reset."""
        self.down = False
        self.lost.clear()
        node.receive(Reset(None))

    def lose_subscriptions(self, channels: set[str]) -> None:
        """Lose the subscriptions of these channels without a sign."""
        self.lost |= channels & self.channels

    def find_subscriptions(self, node: Node) -> None:
        """Let the broker restore the lost subscriptions; the node gets a Reset of them."""
        lost, self.lost = self.lost, set()
        if lost:
            node.receive(Reset(lost))


class Host:
    """A node of a harness, with its loop and its link."""

    def __init__(
        self,
        harness: "Harness",
        skew: int,
        seed: int,
        side: int,
        world: str,
        store: Store | None,
        address: str,
    ) -> None:
        self.loop = ManualLoop(harness.clock, skew)
        self.broker = FakeLink(harness.network)
        #: It calls at once, so that answers of the store come in the time that the test moves.
        self.spawn: Callable[..., object] = lambda call, *arguments: call(*arguments)
        free = harness.free
        terrain = PatchedTerrain(lambda _x, _y: False, seed) if free else harness.play.ground(seed)
        self.node = Node(
            grid=Grid(side),
            terrain=terrain,
            broker=self.broker,
            loop=self.loop,  # type: ignore[arg-type]
            world=world,
            store=store,
            game=harness.game,
            spawn=lambda call, *arguments: self.spawn(call, *arguments),
            address=address,
        )
        self.node.peers.load = NodeLoad(machine=self.node.router.machine(0.0, None))
        self.node.replicas.crowd_from = harness.crowd_from
        if not harness.paced:
            self.node.hub.pace = lambda _screens: 0
        self.node.peers.start()
        self.node.orders.start()
        self.node.router.start()
        self.node.play.start()
        self.tokens = Tokens("a secret of tests", f"{seed} {world}")
        self.limits = Limits(self.loop.stats, now=self.loop.now)
        self.admission = Admission(self.node, self.tokens, self.limits, capacity=1000)
        self.sessions: set[Session] = set()
        #: Whether the process stands still. What clients send then waits in their sockets.
        self.frozen = False
        self._frozen_at = 0
        self._unread: dict[Client, list[tuple[int, bytes]]] = {}

    # As server/app.py does it.

    def begin(self, connection: FakeConnection | Any) -> Session:
        """Begin a session on a connection."""
        session = Session(connection, self.node, self.admission, self.tokens, self.limits, KINDS)

        def closed(code: int, _reason: str) -> None:
            self.sessions.discard(session)
            session.closed(code)

        connection.on_close = closed
        connection.client.session = session
        self.sessions.add(session)
        return session

    def forget(self, session: Session) -> None:
        """Forget a session that continues at another worker."""
        self.sessions.discard(session)

    def freeze(self) -> None:
        """Let the process stand still."""
        if not self.frozen:
            self.frozen, self._frozen_at = True, self.loop.time

    def thaw(self, suspended: bool = False) -> None:
        """Let it run again. If its whole machine was `suspended`, its clock stood still too."""
        self.frozen = False
        if suspended:
            self.loop.skew -= self.loop.time - self._frozen_at
        unread, self._unread = self._unread, {}
        for client, messages in unread.items():
            self._read(client, messages)

    def deliver(self, client: "Client", payload: bytes, opcode: int) -> None:
        """Deliver what a client has sent, now or when the process continues."""
        if self.frozen:
            self._unread.setdefault(client, []).append((opcode, payload))
        else:
            self._read(client, [(opcode, payload)])

    def _read(self, client: "Client", messages: list[tuple[int, bytes]]) -> None:
        """Deliver the messages that one read of a client's socket finds."""
        connection = client.connection
        for left, (opcode, payload) in zip(range(len(messages))[::-1], messages, strict=True):
            if connection.closed is None and not connection.dead:
                connection.last_heard = self.loop.time / 1000
                connection.more = left > 0
                connection.on_message(opcode, payload)
                self.loop.on_done()


class Client:
    """A client of a harness, on one of its nodes. `model` is what it believes."""

    def __init__(self, harness: "Harness", host: Host) -> None:
        self.harness = harness
        self.host = host
        self.connection = FakeConnection(host.loop)
        self.connection.client = self
        self.session = host.begin(self.connection)
        self.model = self.connection.model
        self.number = 0
        #: Whether it acknowledges nothing.
        self.silent = False

    def raw(self, payload: bytes, opcode: int = 2) -> None:
        self.host.deliver(self, payload, opcode)
        self.harness.settle()

    def send(self, *message: Any) -> None:
        self.raw(msgpack.packb(list(message)))

    def hello(self, *what: Any, **named: Any) -> "Client":
        """Send hello as `say_hello` does, and let everything happen that takes no time."""
        self.say_hello(*what, **named)
        self.harness.settle()
        return self

    def say_hello(
        self,
        name: str = "Wren",
        size: tuple[int, int] = (40, 25),
        token: str | None = None,
        near: int | str | None = None,
        place: tuple[int, int] | None = None,
    ) -> None:
        """Send hello without waiting for anything to happen."""
        hello = msgpack.packb([1, 3, name, *size, token, near, *(place or (None, None))])
        self.host.deliver(self, hello, 2)

    def walk(self, dx: int, dy: int, age: int = 0) -> None:
        self.number += 1
        self.send(2, self.number, self.now() - age, dx, dy)

    def go(self, x: int, y: int) -> None:
        self.number += 1
        self.send(3, self.number, self.now(), x, y)

    def home(self) -> None:
        self.number += 1
        self.send(4, self.number)

    def ack(self) -> None:
        self.model.acknowledged = self.model.flush
        self.send(14, self.model.flush)

    def ping(self) -> None:
        self.model.acknowledged = self.model.flush
        self.send(7, 1, self.model.flush)

    def now(self) -> int:
        """Return its node's time in ms."""
        return self.host.loop.now()

    @property
    def id(self) -> int:
        return self.model.id

    def at(self, other: "Client | None" = None) -> tuple[int, int]:
        """Return where the client believes that it, or another one, is now: (x, y) in units."""
        return self.model.players[(other or self).id].at(self.now())

    def sees(self, other: "Client") -> bool:
        return other.id in self.model.players


class ClockStore(SqliteStore):
    """A store in memory and in a harness's time, which several nodes share.

    It answers without its own thread, and not at all while it is `away`.
    """

    away = False

    def __init__(self, clock: Clock, shared: sqlite3.Connection) -> None:
        super().__init__("memory://", "harness")
        self._clock = clock
        self._connection = shared
        self.identity = "harness"
        #: Called with the queue, id and body of what somebody has taken, and with the scores.
        self.on_taken: Callable[..., object] = lambda *_: None

    def take(
        self,
        queue: str,
        id: str,
        then: Iterable[tuple[str, Item]] = (),
        scores: Iterable[Score] = (),
        *,
        only: bytes | None = None,
    ) -> bytes | None:
        points = list(scores)
        body = super().take(queue, id, then, points, only=only)
        if body is not None:
            self.on_taken(queue, id, body, points)
        return body

    def _now(self) -> int:
        return self._clock.time

    def _wait(self, call: Callable[..., Any], *arguments: Any) -> Any:
        if self.away:
            raise StoreError("it is away")
        return call(*arguments)


class _Shared(sqlite3.Connection):
    """A connection that is closed with the last of the stores that share it, in whichever thread
    that is noticed: Python 3.13 warns of one that is never closed."""

    def __del__(self) -> None:
        self.close()


def clock_stores(clock: Clock) -> Callable[[], ClockStore]:
    """Return a function that opens a node's store; all nodes share one, in a harness's time."""
    shared = sqlite3.connect(
        ":memory:", isolation_level=None, factory=_Shared, check_same_thread=False
    )
    prepare(ClockStore(clock, shared)._path, shared)
    return lambda: ClockStore(clock, shared)


class Harness:
    """Nodes with their sessions, over simulated links and on a clock that only the test moves. The
    nodes `play` this class of a game, with its `options`. `free`: the ground has no obstacles;
    otherwise it is that of the game. Each node's clock is `skew` ms ahead of the one before, and
    the nodes are machines with these `addresses`. `stores` opens the store of each node. A square
    with `crowd_from` players is a crowd. `ready`: run until all nodes are ready. `paced`: flushes
    keep the pace that they have in play; otherwise there is one whenever there is anything to tell.
    """

    def __init__(
        self,
        play: type[Any],
        options: Any = None,
        free: bool = True,
        nodes: int = 1,
        skew: int = 0,
        seed: int = 1,
        stores: Callable[[], Store | None] = lambda: None,
        clock: Clock | None = None,
        crowd_from: int = CROWD_FROM,
        ready: bool = False,
        addresses: Sequence[str] = (),
        paced: bool = False,
    ) -> None:
        self.clock = clock or Clock()
        self.chance = random.Random(seed)
        self.network = Network(self.clock, self.chance)
        self.free, self.crowd_from, self.paced = free, crowd_from, paced
        self.play, self.options = play, options
        self._skew, self._stores, self._addresses = skew, stores, list(addresses)
        self.hosts: list[Host] = []
        for _ in range(nodes):
            self.host()
        first = self.hosts[0]
        self.loop, self.node, self.broker = first.loop, first.node, first.broker
        self.clients: list[Client] = []
        self._acknowledge = 0
        #: Whether hooks of the game wait, in their own greenlets.
        self.waits = False
        self.settle()
        if ready:
            self.run(1500)

    def host(
        self, seed: int = 2013, side: int = SIDE, world: str = WORLD, down: bool = False
    ) -> Host:
        """Start another node and return it; `down`: its link is down."""
        skew = self._skew * len(self.hosts)
        address = self._addresses.pop(0) if self._addresses else ""
        self.hosts.append(Host(self, skew, seed, side, world, self._stores(), address))
        self.hosts[-1].broker.down = down
        return self.hosts[-1]

    def game_of(self, host: Host | None = None) -> Any:
        """Return the game on a node, by default the first one."""
        return (host or self.hosts[0]).node.game

    def game(self, node: Node) -> Any:
        """Make the game that is played on a node."""
        return self.play(node, self.options, True)

    def kill(self, host: Host) -> None:
        """Let a node die as by kill -9: it publishes nothing more, and its clients are cut off."""
        self.hosts.remove(host)
        host.node.bus.broker.close()
        self.clients = [client for client in self.clients if client.host is not host]

    def client(self, host: Host | None = None) -> Client:
        """Return a connected client that has sent nothing yet."""
        self.clients.append(Client(self, host or self.hosts[0]))
        return self.clients[-1]

    def place(
        self,
        name: str,
        square: tuple[int, int],
        size: tuple[int, int] = (40, 25),
        host: Host | None = None,
    ) -> Client:
        """Return a client whose player stands in the middle of a square."""
        span = self.node.grid.span
        middle = square[0] * span + span // 2, square[1] * span + span // 2
        return self.stand(name, middle, size, host)

    def stand(
        self, name: str, at: tuple[int, int], size: tuple[int, int], host: Host | None = None
    ) -> Client:
        """Return a client whose player stands at a position in units."""
        node = (host or self.hosts[0]).node
        node.residents.spot = lambda near=None: at  # type: ignore[method-assign]
        try:
            return self.client(host).hello(name, size)
        finally:
            del node.residents.spot

    def settle(self) -> None:
        """Let everything happen that takes no time."""
        busy = True
        while busy:
            busy = False
            if self.waits:
                gevent.sleep(0)
            for host in self.awake():
                # What another node has just done may have killed this one.
                if host not in self.hosts:
                    continue
                busy |= host.loop.turn()
                while (item := host.broker.receive(0)) is not None:
                    host.node.receive(item)
                    host.loop.on_done()
                    busy = True

    def awake(self) -> list[Host]:
        """Return the nodes that do not stand still."""
        return [host for host in self.hosts if not host.frozen]

    def stop(self, host: Host) -> None:
        """Stop a node as server/app.py does it, within a second or two."""
        host.node.play.stop()
        host.node.peers.publish(DRAINING)
        for client in self.clients:
            if client.host is host and client.connection.open:
                if client.session.resident is not None:
                    client.session.renew_token()
                client.connection.close(1012, "the server restarts")
        self.run(1000)
        host.node.takeovers.stop()
        host.node.outbox.publish_all()
        for _ in range(STOP_WITHIN * 50):
            if host.node.play.finish():
                break
            self.run(20)
        host.node.peers.publish(DRAINING)
        self.kill(host)

    def run(self, ms: int) -> None:
        """Let this many ms pass. Clients acknowledge flushes once a second."""
        until = self.clock.time + ms
        while True:
            self.settle()
            dues = (due for host in self.awake() for due in (host.loop.next(), host.broker.next()))
            soonest = min((due for due in dues if due is not None), default=until + 1)
            self.clock.time = max(min(until, self._acknowledge, soonest), self.clock.time)
            if self.clock.time >= self._acknowledge:
                self._acknowledge = self.clock.time + 900
                for client in self.clients:
                    owes = client.model.flush > client.model.acknowledged and not client.silent
                    if owes and not client.connection.closed:
                        # Real clients use both.
                        (client.ack if client.model.flush % 2 else client.ping)()
            for client in self.clients:
                client.model.expire(client.now())
            if self.clock.time >= until and soonest > until:
                break
        self.settle()

    def truth(self, client: Client) -> dict[int, tuple[Any, ...]]:
        """Return what a client should believe: all residents in the squares that it holds.

        The result is id -> (seq, ack, name, dimmed, track, square, look, pace, values), with times
        by the clock of the client's node.
        """
        assert client.model.held is not None
        rect = Rect(*client.model.held)
        truth = {}
        for host in self.hosts:
            ahead = client.host.loop.skew - host.loop.skew
            for r in host.node.residents.by_id.values():
                if rect.holds(r.square):
                    x, y, dx, dy, start, duration = r.track.numbers()
                    track = x, y, dx, dy, start + ahead, duration
                    state = r.seq, r.ack, r.name, r.dimmed
                    more = r.look, r.pace, list(r.values)
                    truth[r.id] = *state, track, r.square, *more
        return truth

    def belief(self, client: Client) -> dict[int, tuple[Any, ...]]:
        """Return what a client believes, in the same form."""
        return {
            p.id: (
                *(p.seq, p.ack, p.name, p.dimmed, tuple(p.track), p.square),
                *(p.look, p.pace, p.values),
            )
            for p in client.model.players.values()
        }

    def check(self) -> None:
        """Check that every client that does not lag believes the truth, and that there are some."""
        compared = 0
        for client in self.clients:
            session = client.session
            lags = session.lags_since is not None or client.connection.backlogged
            if session.resident is not None and not lags:
                assert session.resident.held == client.model.held
                truth = self.truth(client)
                assert less_roughly(self.belief(client), truth, client) == truth
                compared += 1
        assert compared, "nobody is left who could believe anything"


def less_roughly(
    belief: dict[int, tuple[Any, ...]],
    truth: dict[int, tuple[Any, ...]],
    client: Client,
    slack: int = 0,
) -> dict[int, tuple[Any, ...]]:
    """Return a belief in which true tracks replace those that are from sketches and as close as
    docs/protocol.md promises, if the clocks of nodes are known to within `slack` ms."""
    exact = dict(belief)
    for id, known in client.model.players.items():
        if known.rough and id in truth:
            x, y, dx, dy, start, lasts = truth[id][4]
            # How far along the real way the sketch is, and so when the player would be there.
            ahead = (known.track[0] - x) * dx + (known.track[1] - y) * dy
            late = known.track[4] - start - ahead * lasts // (dx * dx + dy * dy or 1)
            late = max(-slack, min(late, slack))
            shifted = x, y, dx, dy, start + late, lasts
            if is_close(truth[id][4], known.track) or is_close(shifted, known.track):
                exact[id] = *belief[id][:4], truth[id][4], *belief[id][5:]
    return exact


def is_close(real: tuple[int, ...], sketch: tuple[int, ...]) -> bool:
    """Return whether a sketch was right to 1/32 tile when it was made, and to half a tile later."""
    real_track, sketched, begun = Track(*real), Track(*sketch), sketch[4]
    return all(
        abs(p - q) <= (33 if t == begun else 512)
        for t in (begun, sketched.end, max(sketched.end, real_track.end))
        for p, q in zip(real_track.at(t), sketched.at(t), strict=True)
    )


def alike(real: tuple[Any, ...], believed: tuple[Any, ...], now: int, slack: int) -> bool:
    """Return whether two records of a player are the same.

    The starts of tracks may differ by `slack` ms, or by any time if both tracks are over.
    """
    track, other = real[4], believed[4]
    if real[:4] != believed[:4] or real[5:] != believed[5:] or track[:4] != other[:4]:
        return False
    over = track[4] + track[5] <= now and other[4] + other[5] <= now
    return over or bool(abs(track[4] - other[4]) <= slack)
