"""The other nodes of a world, all in one process, which is a worker of the study.

It publishes what they would publish, as far as one real node hears it: the heartbeats of all of
them, and their batches, full states and keepalives in the squares that the real node has asked
about. The server's own classes pack and publish all of it; but these nodes have no clients, and
read nothing but sync requests. It exchanges lines of JSON with its parent:

    configuration {"broker": URL, "nodes", "players" of each node, "squares" of the whole world,
                  "moves" a second of each player}
    worker        {"ready": true} once it receives what the real node asks
    parent        {"begin": true}: the nodes come, with their players, which stand
    worker        {"near": nodes that have players where the real node hears them, and "players":
                  how many these are}
    parent        {"walk": true}: the players walk; nothing is answered
    parent        {"count": true}
    worker        its counts since the start, see Others.counts
    worker        {"trouble": "a sentence"}, and exit status 1

As with --spread, the players of a node begin in one square after the other, from a random one on.
"""

import random
import sys
import time
from collections import Counter

from flatlands import compiled

# The modules that a server would use, compiled or not, pack the messages.
compiled.use()

import gevent
import numpy as np

from flatlands.brokers.base import Broker, BrokerClosed, Message
from flatlands.brokers.registry import open_broker
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.studies import parent
from flatlands.loadtest.studies.growth.messages import Config, Counts, Near
from flatlands.loadtest.studies.parent import Parent
from flatlands.server.game.loader import DEFAULT, GameMaker
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import DEFAULT_WORLD, Bus, Channels
from flatlands.server.messages.peer_protocol import ALIVE, ENTRIES, SYNC_REQUEST
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.players.spots import spread_square
from flatlands.server.runtime.loop import Loop
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.hub import flush_interval
from flatlands.server.squares.outbox import Outbox
from flatlands.server.squares.peers import HEARTBEAT_EVERY, HEARTBEATS_HEARD, NodeLoad, Peer, Peers
from flatlands.world.events import Player
from flatlands.world.grid import Grid, Square
from flatlands.world.terrain import Terrain
from flatlands.world.track import UNIT, Goal, leg, stand

#: The seed of the world, which is the server's own.
SEED = 2013

#: Units from a square's border within which no player has its goal, as in walkers.py.
BORDER = 2 * UNIT

#: Random places that are tried for one on which a player can stand.
TRIES = 32

#: Seconds that the subscriptions may take.
SUBSCRIBED = 1.0

#: ms within which a node publishes its full state of a square once, as a server does.
FULL_STATE_EVERY = 200

#: ms between flushes of a node with few clients.
EVERY = round(flush_interval(1))

#: What a node says of itself: bytes of memory.
MEMORY = 60_000_000


class Flushes:
    """What a node's outbox asks its hub: nodes with few clients flush every EVERY ms, each at
    different times."""

    interval = float(EVERY)

    def __init__(self, loop: Loop) -> None:
        self._loop, self._phase = loop, random.randrange(EVERY)

    @property
    def not_before(self) -> int:
        """The node time, in ms, of the next flush."""
        now = self._loop.now()
        return now + EVERY - (now + self._phase) % EVERY


class Other:
    """One of the other nodes. `near` are the squares in which the real node hears its players."""

    def __init__(self, all: "Others") -> None:
        self._all = all
        id = random.getrandbits(32)
        bus = Bus(id, all.channels, all.broker, all.loop)
        self._outbox = Outbox(bus, all.grid.span, Flushes(all.loop), {})
        self._peers = Peers(bus)
        self._peers.set_load(NodeLoad(MEMORY, all.players, len(all.asked)))
        self._peers.peers = all.known
        self._peers.state = ALIVE
        self._id, self._published = id, dict[Square, int]()
        begin = random.randrange(all.squares)
        self._inside = [
            spread_square((begin + turn) % all.squares, all.squares) for turn in range(all.players)
        ]
        self.near: set[Square] = set(self._inside) & all.asked

    def enter(self) -> list["Walker"]:
        """Add those of its players that the real node hears, and return them."""
        return [
            Walker(self._all, self._outbox, self._id, square, f"walker {number}")
            for number, square in enumerate(self._inside)
            if square in self.near
        ]

    def beat(self) -> None:
        """Publish a heartbeat if one is due."""
        self._peers.publish_due()

    def tell(self, square: Square) -> None:
        """Publish the full state of a square, which a sync request has asked for."""
        now = self._all.loop.now()
        if self._published.get(square, 0) + FULL_STATE_EVERY > now:
            return
        self._published[square] = now
        entries = self._outbox.entries(square, now)
        number = self._outbox.next_number(square)
        pages = [entries[at : at + ENTRIES] for at in range(0, len(entries), ENTRIES)]
        for page, some in enumerate(pages):
            self._all.broker.publish(
                self._all.channels.square(square),
                peer_protocol.pack(
                    peer_protocol.FullState(*square, self._id, number, now, page, len(pages), some)
                ),
            )


class Walker:
    """A player of one of the other nodes."""

    def __init__(self, all: "Others", outbox: Outbox, node: int, square: Square, name: str) -> None:
        self._all, self._outbox, self._square = all, outbox, square
        span = all.grid.span
        self._corner = square[0] * span, square[1] * span
        now = all.loop.now()
        id = random.randrange(FIRST_PERSON_ID, 2**52)
        for _ in range(TRIES):
            x, y = self._somewhere()
            if not all.terrain.blocked(x // UNIT, y // UNIT):
                break
        self._player = Player(node, id, 0, 0, name, False, stand(x, y, now))
        self._goal: Goal | None = None
        outbox.enter(self._player, square)

    def _somewhere(self) -> tuple[int, int]:
        span = self._all.grid.span
        x, y = (low + random.randint(BORDER, span - BORDER) for low in self._corner)
        return x, y

    def move(self, now: int) -> int | None:
        """Go to another place in the square; return when the next leg is due, if any is."""
        self._goal = Goal(*self._somewhere())
        self._player.ack += 1
        return self._follow(now)

    def go_on(self, now: int) -> int | None:
        """Continue to the same place, unless it is reached; return when the next leg is due."""
        return self._follow(now) if self._goal is not None else None

    def _follow(self, now: int) -> int | None:
        player = self._player
        x, y = player.track.at(now)
        track = leg(self._all.terrain, x, y, self._goal, now)
        if track is None:
            self._goal = None
            if player.track.end <= now:
                return None
        player.track = track or stand(x, y, now)
        self._outbox.track(player, self._square)
        goal = self._goal
        if track is None or goal is None:
            return None
        there = track.x + track.dx == goal.x and track.y + track.dy == goal.y
        return None if there else track.end


class Others:
    """All other nodes, and what they share. `asked` are the squares that the real node hears."""

    def __init__(
        self, broker: Broker, nodes: int, players: int, squares: int, moves: float
    ) -> None:
        self.broker = broker
        self.players, self.squares = players, squares
        self.loop = Loop(Counter())
        self.grid, self.terrain = Grid(), Terrain(SEED)
        fingerprint = GameMaker(DEFAULT, None, alone=True).fingerprint
        self.channels = Channels(DEFAULT_WORLD, SEED, self.grid.side, fingerprint)
        self.asked: set[Square] = set()
        self.nodes, self._moves = nodes, moves
        #: What each node knows of the others: how many they are says how often it sends heartbeats.
        self.known = dict.fromkeys(range(nodes), Peer(0, self.loop.now()))
        self._others: list[Other] = []
        #: Square -> the nodes that have players there, and all these players.
        self._there: dict[Square, list[Other]] = {}
        self._walkers: list[Walker] = []
        self._every = round(1000 / moves)
        self._beats = TimerQueue(self.loop, self._beat)
        self._turns = TimerQueue(self.loop, self._turn)
        self._legs = TimerQueue(self.loop, self._leg)
        self._counted: Counter[str] = Counter()
        self._late: list[int] = []
        self._by_channel = {
            self.channels.square(square): square
            for square in (spread_square(turn, squares) for turn in range(squares))
        }
        self._greenlet = gevent.spawn(self._listen)
        broker.subscribe(self.channels.nodes, *self._by_channel)
        gevent.sleep(SUBSCRIBED)

    def begin(self) -> Near:
        """Start the nodes: their heartbeats begin within a second, and their players stand."""
        self._others = [Other(self) for _ in range(self.nodes)]
        far = [name for name, square in self._by_channel.items() if square not in self.asked]
        self.broker.unsubscribe(*far)
        for other in self._others:
            for square in other.near:
                self._there.setdefault(square, []).append(other)
            self._walkers += other.enter()
        now = self.loop.now()
        # Their heartbeats, of which the first ones are known soon, never come all in one second.
        every = HEARTBEAT_EVERY * max(1, round(self.nodes / HEARTBEATS_HEARD))
        for other in self._others:
            self._beats.put(other, now + random.randrange(every))
        near = sum(bool(other.near) for other in self._others)
        return {"near": near, "players": len(self._walkers)}

    def walk(self) -> None:
        """Make all players walk, each at its own times."""
        now = self.loop.now()
        for walker in self._walkers:
            self._turns.put(walker, now + random.randrange(self._every))

    def counts(self) -> Counts:
        """Return what was published since the start, as it came back from the broker.

        "messages" and "bytes" count all messages, "heartbeats" and "heartbeat_bytes" those of the
        nodes' channel. "late_ms" is how late one move in a hundred was since the last count, "cpu"
        the seconds of CPU that this process has used, and "lost" counts losses.
        """
        histogram = Histogram()
        histogram.add(np.array(self._late, dtype=np.int64) * 1000)
        self._late = []
        broker = self.broker.counters
        return {
            "messages": self._counted["messages"],
            "bytes": self._counted["bytes"],
            "heartbeats": self._counted["heartbeats"],
            "heartbeat_bytes": self._counted["heartbeat_bytes"],
            "late_ms": histogram.percentile(99),
            "cpu": time.process_time(),
            "lost": broker.dropped + broker.errors + self._counted["resets"],
            "failed": self.loop.stats["errors"],
        }

    # What is due.

    def _beat(self, other: Other, due: int) -> None:
        self._beats.put(other, due + HEARTBEAT_EVERY)
        other.beat()

    def _turn(self, walker: Walker, due: int) -> None:
        now = self.loop.now()
        self._late.append(now - due)
        self._turns.put(walker, due + self._every)
        self._plan(walker, walker.move(now))

    def _leg(self, walker: Walker, _due: int) -> None:
        self._plan(walker, walker.go_on(self.loop.now()))

    def _plan(self, walker: Walker, due: int | None) -> None:
        if due is None:
            self._legs.drop(walker)
        else:
            self._legs.put(walker, due)

    # What comes.

    def _listen(self) -> None:
        while True:
            try:
                item = self.broker.receive()
            except BrokerClosed:
                return
            if isinstance(item, Message):
                self.loop.guarded(self._received, item.channel, item.payload)
            else:
                # The first resets come with the subscriptions, before anything could be lost.
                self._counted["resets"] += self._others != []

    def _received(self, channel: str, payload: bytes) -> None:
        counted = self._counted
        counted["messages"] += 1
        counted["bytes"] += len(payload)
        square = self._by_channel.get(channel)
        if square is None:
            counted["heartbeats"] += 1
            counted["heartbeat_bytes"] += len(payload)
        # A kind is the byte after the header of the array.
        elif payload[1] == SYNC_REQUEST:
            self.asked.add(square)
            for other in self._there.get(square, ()):
                other.tell(square)


def work(config: Config, parent: Parent) -> None:
    """Obey the parent's orders, for ever."""
    others = Others(
        open_broker(config["broker"]),
        config["nodes"],
        config["players"],
        config["squares"],
        config["moves"],
    )
    parent.send({"ready": True})
    while True:
        order = parent.wait(gevent.sleep)
        if "begin" in order:
            parent.send(others.begin())
        elif "walk" in order:
            others.walk()
        else:
            parent.send(others.counts())


if __name__ == "__main__":
    sys.exit(parent.work(work, (OSError, ValueError)))
