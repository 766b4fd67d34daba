"""A node that only watches: it hosts nobody, sends no heartbeats, and knows all players of a world.

It hears the heartbeats of all nodes, asks them once a second in which squares they have players,
subscribes to these, and asks for what is in them, as a node does for its screens. This module never
publishes anything but such questions.
"""

import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gevent
import msgpack

from flatlands.brokers.base import Broker, BrokerClosed, Message, Reset
from flatlands.server.loop import Loop
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Channels, nodes_channel
from flatlands.server.messages.peer_protocol import HEARTBEAT, SQUARES, Malformed
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

#: ms between two surveys, and for which a square that a node has named counts as inhabited: two
#: answers may be lost.
SURVEY_EVERY, NAMED_FOR = 1000, 3500

#: A player that left a square is known for so many ms without an enter in another one, as on
#: screens; and the square into which it went is listened to for as long, before it is named.
BETWEEN = 2000

#: Seconds between two looks at whether this process stood still, as it does while a statement runs.
LOOK_EVERY = 0.1

#: Events are counted over so many ms.
RATE_OVER = 5000


class Silent(Exception):
    """No server of the world is heard; the text is a sentence for operators."""


class _Counting:
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
        self._hub = _Counting(self.loop, self._see)
        #: The squares that any node has named in an answer to a survey, and those into which
        #: somebody went a moment ago, with the node times in ms until which they count.
        self._inhabited: dict[Square, int] = {}
        #: The squares that the replicas need for that.
        self._followed: set[Square] = set()
        self._id = random.getrandbits(32)
        self._channels: Channels
        self._asked = 0
        #: Players that left a square and whose enter in another one has not come, by their ids,
        #: with the node times at which they left.
        self._between: dict[int, tuple[int, Player]] = {}
        self._listener: gevent.Greenlet[..., None] | None = None
        self._looking: gevent.Greenlet[..., None] | None = None
        #: When this process was last seen not to stand still.
        self._looked = self._started

    def start(self) -> None:
        """Wait until what all nodes have is known. Raises Silent if no server is heard."""
        self._broker.subscribe(nodes_channel(self._world))
        self._listener = gevent.spawn(self._listen)
        self._looking = gevent.spawn(self._keep_looking)
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
        if self._looking is not None:
            self._looking.kill()

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
            elif item.channel == self._channels.survey:
                kind, *fields = peer_protocol.read(item.payload)
                if kind == SQUARES:
                    self._named(*fields)
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
        self._channels = channels = Channels(self._world, seed, side)
        id = self._id
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
        self._broker.subscribe(channels.survey)

    def _keep_looking(self) -> None:
        while True:
            self._look()
            self._survey()
            gevent.sleep(LOOK_EVERY)

    def _survey(self) -> None:
        """Ask all nodes in which squares they have players, if that is due."""
        if self.ground and self.loop.now() >= self._asked + SURVEY_EVERY:
            self._asked = self.loop.now()
            self._broker.publish(self._channels.nodes, peer_protocol.survey(self._id))
            self._bury()
            self._follow()

    def _look(self) -> bool:
        """Say whether this process stood still. Then all nodes count as heard: what they sent waits
        unread."""
        now = self.loop.now()
        stood = now - self._looked > STALLED
        if stood and self.ground:
            self.peers.hear_all(now)
        self._looked = now
        return stood

    def _bury(self) -> None:
        """Forget the nodes that are dead."""
        self._look()
        self.peers.bury(self.loop.now())

    def _named(self, _node: int, flat: list[int]) -> None:
        """Subscribe to the squares that a node has named: column, row, column, row ..."""
        squares = zip(flat[::2], flat[1::2], strict=True)
        self._inhabited.update(dict.fromkeys(squares, self.loop.now() + NAMED_FOR))
        self._follow()

    def _follow(self) -> None:
        """Subscribe to the squares that are inhabited, and let go those that are no longer."""
        now = self.loop.now()
        self._inhabited = {square: t for square, t in self._inhabited.items() if t > now}
        inhabited = self._inhabited.keys()
        self.replicas.need(inhabited - self._followed)
        self.replicas.let_go(self._followed - inhabited)
        self._followed = set(inhabited)

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
                self._inhabited[square] = max(self._inhabited.get(square, 0), now + BETWEEN)
        if self._inhabited.keys() - self._followed:
            self._follow()

    # What is known.

    def check(self) -> None:
        """Raise Silent if the broker does not answer: then nothing is known of what happens now.

        If this process has just stood still, what came meanwhile is read first.
        """
        if self._look():
            gevent.sleep(LOOK_EVERY)
            self._wait(
                lambda: all(link.seconds <= BROKEN_AFTER for link in self._broker.links()), PATIENCE
            )
        for link in self._broker.links():
            if link.seconds > BROKEN_AFTER:
                raise Silent(str(link))

    def players(self) -> list[tuple[Square, Player]]:
        """Return all players, each once, with the squares in which they are."""
        self._bury()
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
