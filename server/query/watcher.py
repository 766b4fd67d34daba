"""A node that only watches: it hosts nobody, sends no heartbeats, and knows all players of a world.

It hears the heartbeats of all nodes, asks them in which squares they have players, as nodes do for
the map of everybody, subscribes to these, and asks for what is in them, as a node does for its
screens. This module never publishes anything but such questions.
"""

import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gevent
import msgpack

from flatlands.brokers.base import Broker, BrokerClosed, LinkAge, Message, Reset
from flatlands.server.atlas.counts import Counts
from flatlands.server.atlas.dots import SQUARES
from flatlands.server.loop import Loop
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Channels, nodes_channel
from flatlands.server.messages.peer_protocol import HEARTBEAT, Malformed
from flatlands.server.messages.protocol import Tail, with_tail
from flatlands.server.squares.hub import Screen
from flatlands.server.squares.outbox import Outbox
from flatlands.server.squares.peers import BROKEN_AFTER, HEARTBEAT_EVERY, STALLED, Peers
from flatlands.server.squares.replicas import Replicas
from flatlands.world.batches import Content
from flatlands.world.events import GONE, LEAVE, Player
from flatlands.world.grid import Grid, Square

#: Seconds that a watcher waits for the first heartbeat; and then, for those of all other nodes and
#: for all squares, at least and at most.
PATIENCE, SETTLES_AFTER, SETTLES_WITHIN = 5.0, 1.3 * HEARTBEAT_EVERY / 1000, 10.0

#: A player that left a square is known for so many ms without an enter in another one, as on
#: screens; and the square into which it went is listened to for as long, before it is named.
BETWEEN = 2000

#: Events are counted over so many ms.
RATE_OVER = 5000


class Silent(Exception):
    """No server of the world is heard; the text is a sentence for operators."""


class _Events:
    """A hub without screens: it counts the events of each square, by the times at which they came,
    and calls `on_events` with those that are not tracks, as arrays. Times are node time in ms."""

    def __init__(self, loop: Loop, on_events: Callable[[Sequence[Any]], None]) -> None:
        self._loop = loop
        self._on_events = on_events
        self._came: dict[Square, deque[tuple[int, int]]] = {}

    def screens(self, squares: Iterable[Square]) -> dict[Screen, list[Square]]:
        """Return no screens."""
        return {}

    def deliver(self, square: Square, _source: int, _sent: int, tail: Tail) -> None:
        """Count the events of a batch."""
        content = Content(*msgpack.unpackb(with_tail([], tail)))
        came = self._came.setdefault(square, deque())
        came.append((self._loop.now(), content.events))
        self._forget(came)
        self._on_events(content.others)

    def flush_waiting(self, square: Square) -> None:
        """Do nothing: nothing waits."""

    def tell(self, square: Square, message: bytes) -> None:
        """Do nothing: only a screen shows things."""

    def _forget(self, came: deque[tuple[int, int]]) -> None:
        while came and came[0][0] <= self._loop.now() - RATE_OVER:
            came.popleft()

    def events_a_second(self, square: Square, since: int) -> float:
        """Return the events a second in a square over RATE_OVER ms, or since the time `since`."""
        came = self._came.get(square, deque())
        self._forget(came)
        over = min(max(self._loop.now() - since, 1), RATE_OVER)
        return sum(count for _, count in came) * 1000 / over


class Watcher:
    """See the module. `world` is the world's name. Its ground is that of the first server heard.

    It is what its replicas report to (PlayerNews in server/squares/context.py).
    """

    def __init__(self, broker: Broker, world: str) -> None:
        self._broker = broker
        self._world = world
        self.stats: Counter[str] = Counter()
        self.loop = Loop(self.stats)
        self.grid: Grid
        self.peers: Peers
        self.replicas: Replicas
        #: The seed and the side, as in the names of channels; "" before a server was heard.
        self.ground = ""
        self._started = self.loop.now()
        self._hub = _Events(self.loop, self._see)
        #: What nodes tell of the squares in which they have players.
        self._counts: Counts
        #: The squares into which somebody went a moment ago, with the node times in ms until which
        #: they count.
        self._entered: dict[Square, int] = {}
        #: The squares that the replicas need for all that.
        self._followed: set[Square] = set()
        self._beating = self.loop.alarm(self._beat)
        self._beat_due = 0
        #: Players that left a square and whose enter in another one has not come, by their ids,
        #: with the node times at which they left.
        self._between: dict[int, tuple[int, Player]] = {}
        self._listener: gevent.Greenlet[..., None] | None = None

    def start(self) -> None:
        """Wait until what all nodes have is known. Raises Silent if no server is heard."""
        self._broker.subscribe(nodes_channel(self._world))
        self._listener = gevent.spawn(self._listen)
        self._wait(lambda: bool(self.ground), PATIENCE)
        if not self.ground:
            links = [str(link) for link in self._broker.links() if link.seconds > PATIENCE]
            raise Silent(
                links[0]
                if links
                else f"no server of the world {self._world!r} is heard: compare "
                "--broker, --world and SECRET_KEY with those of the servers"
            )
        gevent.sleep(SETTLES_AFTER)
        heard = self.replicas.squares
        self._wait(lambda: all(each.shown.ready for each in heard.values()), SETTLES_WITHIN)

    def _wait(self, done: Callable[[], bool], seconds: float) -> None:
        until = self.loop.now() + seconds * 1000
        while not done() and self.loop.now() < until:
            gevent.sleep(0.02)

    def stop(self) -> None:
        """Leave the broker."""
        # What is due later could not be done any more.
        self.loop.end()
        self._broker.close()
        if self._listener is not None:
            self._listener.join()

    def _listen(self) -> None:
        while True:
            try:
                item = self._broker.receive()
            except BrokerClosed:
                return
            if item is not None:
                self.loop.guarded(self._receive, item)

    def _receive(self, item: Message | Reset) -> None:
        if isinstance(item, Reset):
            if self.ground:
                self.replicas.reset(item)
            return
        try:
            if item.channel == nodes_channel(self._world):
                kind, *fields = peer_protocol.read(item.payload)
                if kind == HEARTBEAT:
                    self._heartbeat(*fields)
            elif item.channel in self._counts.channels:
                self._counts.receive(item.channel, item.payload)
                self._follow()
            else:
                self.replicas.receive(item.channel, item.payload)
        except Malformed:
            self.stats["malformed"] += 1

    def _heartbeat(self, node: int, *fields: Any) -> None:
        if not self.ground:
            self._join(ground=fields[2])
        self.peers.heartbeat(node, *fields)

    def _join(self, ground: str) -> None:
        """Begin to watch the world with this ground."""
        self.ground = ground
        seed, side = map(int, ground.split("-"))
        self.grid = Grid(side)
        channels = Channels(self._world, seed, side)
        id = random.getrandbits(32)
        outbox = Outbox(id, self.grid.span, channels, self._broker, self.loop, self._hub)
        self.peers = Peers(id, channels, self._broker, self.loop)
        self.replicas = Replicas(
            id,
            self.grid,
            channels,
            self._broker,
            self.loop,
            self._hub,
            outbox,
            self.peers,
            lambda: "",
        )
        self.replicas.news = self
        self.peers.on_gone = self.replicas.drop
        self.peers.on_forgotten = self.replicas.drop_herd
        self.peers.on_link = lambda: None
        self._counts = Counts(id, channels, self._broker, self.loop, lambda _node: True)
        self._beat()

    def _beat(self) -> None:
        """Ask where players are, and forget the nodes that are dead, once a second."""
        now = self.loop.now()
        if now - self._beat_due > STALLED:
            # This process stood still: what the nodes have sent is still to be read.
            self.peers.hear_all(now)
        self.peers.bury(now)
        self._counts.need({SQUARES})
        self._follow()
        self._beat_due = now + HEARTBEAT_EVERY
        self._beating.set(self._beat_due)

    def _follow(self) -> None:
        """Subscribe to the squares that are inhabited, and let go those that are no longer."""
        now = self.loop.now()
        self._entered = {square: until for square, until in self._entered.items() if until > now}
        inhabited = self._entered.keys() | (self._counts.squares(SQUARES) or ())
        self.replicas.need(inhabited - self._followed)
        self.replicas.let_go(self._followed - inhabited)
        self._followed = inhabited

    # Players who go from one square into another. The new one is named only later.

    def entered(self, _node: int, _square: Square, id: int, _seq: int) -> None:
        """Note that a player is in a square."""
        self._between.pop(id, None)

    def parted(self, _square: Square, id: int, _seq: int) -> None:
        """Note that a player is about to be removed from a square: where is it meanwhile?"""
        player = self.replicas.player(id)
        if player is not None:
            self._between[id] = self.loop.now(), player

    def ignored(self, id: int, seq: int) -> None:
        """Do nothing: only a node that hosts players can say more."""

    def _see(self, events: Sequence[Any]) -> None:
        """Subscribe to the squares into which players go, and forget those who are gone."""
        now = self.loop.now()
        for kind, id, *fields in events:
            if kind == GONE:
                self._between.pop(id, None)
            elif kind == LEAVE:
                square = fields[1], fields[2]
                self._entered[square] = now + BETWEEN
        if self._entered.keys() - self._followed:
            self._follow()

    # What is known.

    def check(self) -> None:
        """Raise Silent if the broker does not answer: then nothing is known of what happens now.

        If this process stood still, answers may wait unread.
        """
        self._wait(lambda: not self._broken(), PATIENCE)
        for link in self._broken():
            raise Silent(str(link))

    def _broken(self) -> list[LinkAge]:
        return [link for link in self._broker.links() if link.seconds > BROKEN_AFTER]

    def players(self) -> list[tuple[Square, Player]]:
        """Return all players, each once, with the squares in which they are."""
        found: dict[int, tuple[Square, Player]] = {}
        for square, heard in self.replicas.squares.items():
            for id, player in heard.replica.players.items():
                known = found.get(id)
                # Between two squares it may be known in both.
                if known is None or player.seq > known[1].seq:
                    found[id] = square, player
        now = self.loop.now()
        for id, (left, player) in list(self._between.items()):
            if now - left > BETWEEN:
                del self._between[id]
            elif id not in found:
                found[id] = self.grid.square(*player.track.at(now)), player
        return list(found.values())

    def events_a_second(self, square: Square) -> float:
        """Return how many events a second are published in a square."""
        return self._hub.events_a_second(square, self._started)
