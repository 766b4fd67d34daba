"""What a square, a player and a connection take in a node's memory.

A node of the real classes, with the in-process broker, gets many of each, one kind after the other;
connections are socket pairs. tracemalloc counts the bytes of Python's objects: not what the event
loop and the kernel keep of a connection. This never measures time.
"""

import gc
import socket
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import gevent
import msgpack

from flatlands.brokers.base import Message
from flatlands.brokers.registry import open_broker
from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.processes import Trouble, raise_descriptor_limit
from flatlands.server.clients.session import Session
from flatlands.server.messages import peer_batches, protocol
from flatlands.server.net.connection import Connection
from flatlands.server.net.frames import BINARY
from flatlands.server.node import Node
from flatlands.server.players.spots import spread_square
from flatlands.server.runtime.loop import Loop
from flatlands.testkit.sessions import session_factory
from flatlands.world.batches import BatchContent
from flatlands.world.events import ENTER, EnterEvent, Event
from flatlands.world.grid import Grid, Square
from flatlands.world.terrain import Terrain
from flatlands.world.track import PACE_USUAL

#: There are so many of each kind.
OF_EACH_KIND = 1000
#: So many players and connections are in one square.
PER_SQUARE = 10
#: The screens may reach so many squares around these.
RING_SQUARES = 4

#: The tiles that a screen shows.
VIEWPORT = 24, 24

#: The id of the node that has the other players.
OTHER_NODE = 7
#: The first id of the other players.
FIRST_ID = 2**40

#: The node has this long to do what it was told.
PATIENCE_SECONDS = 30.0
#: The node writes to its screens within this time.
FLUSHED_SECONDS = 0.5


def each(number: int = OF_EACH_KIND) -> dict[str, int]:
    """Return kind -> the bytes of one, measured with `number`. Raises Trouble and Interrupted."""
    raise_descriptor_limit()
    terrain = Terrain(2013)
    # What is computed of the ground once, and then kept, belongs to none of them.
    _grown(number, terrain)
    tracemalloc.start()
    try:
        return _grown(number, terrain)
    finally:
        tracemalloc.stop()


def _grown(number: int, terrain: Terrain) -> dict[str, int]:
    """Make a node grow; return kind -> the bytes of one, 0 unless tracemalloc counts them."""
    with ExitStack() as stack:
        growth = _Growth(number, terrain, stack)
        squares = growth.squares()
        others = growth.others()
        own = growth.own()
        return {
            "a square that the node receives": squares,
            "a player of another node": others,
            "a player of its own": own,
            "a connection, without its player": growth.connections() - own,
        }


class _Growth:
    """An empty node, and what is added to it. Each method returns the bytes of one."""

    def __init__(self, number: int, terrain: Terrain, stack: ExitStack) -> None:
        self._number, self._stack = number, stack
        stats: Counter[str] = Counter()
        self._loop = Loop(stats)
        broker = open_broker("memory://bench-memory")
        spread = -(-number // PER_SQUARE)
        self._node = Node(
            grid=Grid(), terrain=terrain, broker=broker, loop=self._loop, spread=spread
        )
        self._inside = [spread_square(turn // PER_SQUARE, spread) for turn in range(number)]
        listening = gevent.spawn(self._node.listen)
        stack.callback(listening.join)
        stack.callback(broker.close)
        stack.callback(self._loop.end)
        self._sessions: list[Session] = []
        self._session = session_factory(self._node, stats, number)

    def _took(self, do: Callable[[], object], done: Callable[[], bool], number: int) -> int:
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        do()
        until = self._loop.now() + PATIENCE_SECONDS * 1000
        while not done():
            signals.check()
            if self._loop.now() > until:
                raise Trouble("a node does not do what it is told")
            gevent.sleep(0.02)
        gevent.sleep(FLUSHED_SECONDS)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        return round((after - before) / number)

    def _players(self) -> int:
        return sum(
            len(subscription.replica.players)
            for subscription in self._node.subscriptions.by_square.values()
        )

    def squares(self) -> int:
        """Make it receive squares, far more than those that have players."""
        columns, rows = zip(*self._inside, strict=True)
        wanted: list[Square] = [
            (column, row)
            for column in range(min(columns) - RING_SQUARES, max(columns) + RING_SQUARES + 1)
            for row in range(min(rows) - RING_SQUARES, max(rows) + RING_SQUARES + 1)
        ]
        subscriptions = self._node.subscriptions.by_square
        return self._took(
            lambda: self._node.subscriptions.need(wanted),
            lambda: all(square.view.ready for square in subscriptions.values()),
            len(wanted),
        )

    def others(self) -> int:
        """Make another node tell it of that node's players."""

        def tell() -> None:
            for message in self._batches():
                self._node.receive(message)

        return self._took(tell, lambda: self._players() == self._number, self._number)

    def _batches(self) -> Iterator[Message]:
        """Yield what another node publishes: the players of one square after the other."""
        node, now, middle = self._node, self._loop.now(), self._node.grid.span // 2
        for number, square in enumerate(dict.fromkeys(self._inside), 1):
            stand = middle, middle, 0, 0, 0, 0, PACE_USUAL
            events: list[Event] = [
                EnterEvent(ENTER, FIRST_ID + turn, 1, 0, f"other {turn}", False, turn, *stand, [])
                for turn, at in enumerate(self._inside)
                if at == square
            ]
            body = protocol.body(BatchContent(b"", events))
            batch = peer_batches.batch(square, OTHER_NODE, 0, number, now, body)
            yield Message(node.channels.square(square), batch)

    def own(self) -> int:
        """Make players join without a connection, as computer players do."""
        span = self._node.grid.span

        def join() -> None:
            for turn, (column, row) in enumerate(self._inside):
                place = column * span + span // 2, row * span + span // 2
                self._node.residents.join(f"own {turn}", place)

        return self._took(join, lambda: self._players() == 2 * self._number, self._number)

    def connections(self) -> int:
        """Make clients connect and join."""
        hub = self._node.hub

        def connect() -> None:
            for turn in range(self._number):
                ours, theirs = socket.socketpair()
                self._stack.callback(theirs.close)
                ours.setblocking(False)
                connection = Connection(ours, protocol.MESSAGE_LIMIT)
                self._stack.callback(connection.abort)
                self._sessions.append(self._session(connection))
                connection.start()
                hello = protocol.HELLO, protocol.VERSION, f"client {turn}", *VIEWPORT, *[None] * 4
                connection.on_message(BINARY, msgpack.packb(hello))

        return self._took(connect, lambda: hub.sessions_holding == self._number, self._number)
