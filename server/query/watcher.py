"""A node that only watches: it hosts nobody, sends no heartbeats, and receives all players of a
world.

It is a node that was never started. It receives the heartbeats of all others, asks them in which
squares they have players, as nodes do for the map of everybody, subscribes to these, and asks for
what is in them, as a node does for its screens. It publishes nothing but these questions.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress

import gevent

from flatlands.brokers.base import Broker, BrokerClosed, LinkHealth, Message, Reset
from flatlands.server.atlas.counts import PlayerCounts
from flatlands.server.atlas.dots import WORLD_SQUARES
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import nodes_channel
from flatlands.server.messages.peer_protocol import Heartbeat, Malformed
from flatlands.server.node import Node
from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.peers import HEARTBEAT_EVERY, LINK_BROKEN_S, STALLED_MS
from flatlands.world.batches import BatchContent
from flatlands.world.events import Event, GoneEvent, LeaveEvent, Player
from flatlands.world.grid import Grid, Square
from flatlands.world.terrain import Terrain

#: How long a watcher waits for the first heartbeat.
HEARD_WITHIN_S = 5.0

#: How long it then waits at least for the heartbeats of all other nodes.
SETTLES_AFTER_S = 1.3 * HEARTBEAT_EVERY / 1000

#: How long it then waits at most for all squares.
SETTLES_WITHIN_S = 10.0

#: A player that left a square is kept for this long without an enter in another one, as on screens;
#: and the square into which it went is received as long, before nodes name it.
BETWEEN_SQUARES_MS = 2000

#: Events are counted over this time.
RATE_OVER_MS = 5000


class NoServerHeard(Exception):
    """No heartbeat of a server of the world has come; the text is a sentence for operators."""


class Watcher:
    """A node that watches the world named `world`, and takes no part in it.

    Its ground is that of the first server whose heartbeat comes. Its node's squares report to it:
    see PlayerListener and SquareObserver in squares/context.py.
    """

    def __init__(self, broker: Broker, world: str) -> None:
        self._broker = broker
        self._world = world
        self.loop = Loop(Counter())
        #: It has no players, and was never started, so it says nothing of itself.
        self.node: Node
        #: The seed and the side, as in the names of channels; "" before a heartbeat came.
        self.ground_id = ""
        self._started = self.loop.now()
        #: The squares in which nodes have players, as they publish them.
        self._counts: PlayerCounts
        #: The squares into which somebody went a moment ago, with the node times in ms until which
        #: they count.
        self._entered: dict[Square, int] = {}
        #: The squares that the subscriptions need for all that.
        self._followed: set[Square] = set()
        #: Square -> when events came there, and how many.
        self._events: dict[Square, deque[tuple[int, int]]] = {}
        self._beating = self.loop.timer(self._beat)
        self._beat_due = 0
        #: Players that left a square and whose enter in another one has not come, by their ids,
        #: with the node times at which they left.
        self._between: dict[int, tuple[int, Player]] = {}
        self._listener: gevent.Greenlet[..., None] | None = None

    def start(self) -> None:
        """Wait until all nodes have sent what they have. Raises NoServerHeard if no server
        answers."""
        self._broker.subscribe(nodes_channel(self._world))
        self._listener = gevent.spawn(self._listen)
        self._wait(lambda: bool(self.ground_id), HEARD_WITHIN_S)
        if not self.ground_id:
            links = [str(link) for link in self._broker.links() if link.seconds > HEARD_WITHIN_S]
            raise NoServerHeard(
                links[0]
                if links
                else f"no server of the world {self._world!r} answers: compare "
                "--broker, --world and SECRET_KEY with those of the servers"
            )
        gevent.sleep(SETTLES_AFTER_S)
        subscriptions = self.node.subscriptions.by_square
        self._wait(
            lambda: all(each.view.ready for each in subscriptions.values()), SETTLES_WITHIN_S
        )

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
        if isinstance(item, Message):
            with suppress(Malformed):
                if self.ground_id and item.channel in self._counts.channels:
                    self.node.receive(item)
                    self._follow()
                    return
                message = peer_protocol.read(item.payload)
                if isinstance(message, list):
                    column, row, _node, _previous, _number, _sent, *content = message
                    came = self._events.setdefault((column, row), deque())
                    came.append((self.loop.now(), BatchContent(*content).events))
                elif isinstance(message, Heartbeat) and not self.ground_id:
                    self._join(message.rules)
        if self.ground_id:
            self.node.receive(item)

    def _join(self, rules: str) -> None:
        """Begin to watch the world with these rules, as in Channels."""
        seed, side, *fingerprint = rules.split("-")
        self.ground_id = f"{seed}-{side}"
        self.node = node = Node(
            grid=Grid(int(side)),
            terrain=Terrain(int(seed)),
            broker=self._broker,
            loop=self.loop,
            world=self._world,
            game_fingerprint="".join(fingerprint),
        )
        node.square_context.set_player_listener(self)
        node.square_context.set_observer(self)
        self._counts = PlayerCounts(node.bus, lambda _node: True)
        self._beat()

    def _beat(self) -> None:
        """Ask where players are, and forget the nodes that are dead, once a second."""
        now = self.loop.now()
        if now - self._beat_due > STALLED_MS:
            # This process stood still: what the nodes have sent is still to be read.
            self.node.peers.mark_all_heard(now)
        self.node.peers.remove_silent(now)
        self._counts.need({WORLD_SQUARES})
        self._follow()
        for square, came in list(self._events.items()):
            while came and came[0][0] <= now - RATE_OVER_MS:
                came.popleft()
            if not came:
                del self._events[square]
        self._beat_due = now + HEARTBEAT_EVERY
        self._beating.set(self._beat_due)

    def _follow(self) -> None:
        """Receive the squares that are inhabited, and no longer those that are not."""
        now = self.loop.now()
        self._entered = {square: until for square, until in self._entered.items() if until > now}
        inhabited = self._entered.keys() | (self._counts.squares(WORLD_SQUARES) or ())
        self.node.subscriptions.need(inhabited - self._followed)
        self.node.subscriptions.let_go(self._followed - inhabited)
        self._followed = inhabited

    # Players who go from one square into another. Nodes name the new one only later.

    def player_entered(self, _node: int, _square: Square, id: int, _seq: int) -> None:
        """Note that a player is in a square."""
        self._between.pop(id, None)

    def player_exited(self, _square: Square, id: int, _seq: int) -> None:
        """Keep a player that is about to be removed from a square, until it enters another."""
        player = self.node.subscriptions.player(id)
        if player is not None:
            self._between[id] = self.loop.now(), player

    def enter_ignored(self, id: int, seq: int) -> None:
        """Do nothing: only a node that hosts players can say more."""

    def events_applied(self, _square: Square, events: Sequence[Event]) -> None:
        """Subscribe to the squares into which players go, and forget those who are gone."""
        for event in events:
            if isinstance(event, GoneEvent):
                self._between.pop(event.id, None)
            elif isinstance(event, LeaveEvent):
                self._entered[event.column, event.row] = self.loop.now() + BETWEEN_SQUARES_MS
        if self._entered.keys() - self._followed:
            self._follow()

    # What was received.

    def check(self) -> None:
        """Raise NoServerHeard if the broker does not answer: then nothing of what happens now is
        received.

        If this process stood still, answers may wait unread.
        """
        self._wait(lambda: not self._broken(), HEARD_WITHIN_S)
        for link in self._broken():
            raise NoServerHeard(str(link))

    def _broken(self) -> list[LinkHealth]:
        return [link for link in self._broker.links() if link.seconds > LINK_BROKEN_S]

    def players(self) -> list[tuple[Square, Player]]:
        """Return all players, each once, with the squares in which they are."""
        found: dict[int, tuple[Square, Player]] = {}
        for square, subscription in self.node.subscriptions.by_square.items():
            for id, player in subscription.replica.players.items():
                before = found.get(id)
                # Between two squares it may be in both.
                if before is None or player.seq > before[1].seq:
                    found[id] = square, player
        now = self.loop.now()
        for id, (left, player) in list(self._between.items()):
            if now - left > BETWEEN_SQUARES_MS:
                del self._between[id]
            elif id not in found:
                found[id] = self.node.grid.square(*player.track.at(now)), player
        return list(found.values())

    def events_a_second(self, square: Square) -> float:
        """Return the events a second in a square over RATE_OVER_MS, or since this watcher began."""
        now = self.loop.now()
        over = min(max(now - self._started, 1), RATE_OVER_MS)
        came = self._events.get(square, ())
        return sum(count for at, count in came if at > now - RATE_OVER_MS) * 1000 / over
