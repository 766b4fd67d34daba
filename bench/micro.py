"""Measures the CPU time of one move, one leg, one flush and one snapshot, without sockets.

One process has a node, real sessions, the in-process broker, and a store in a file. This measures
the code and never sockets; bench/whole.py measures the whole server.
"""

import contextlib
import gc
import random
import statistics
import tempfile
import time
from collections import Counter
from typing import Any

import gevent
import msgpack

from flatlands.brokers.registry import open_broker
from flatlands.brokers.sealed import SealedBroker
from flatlands.games.flatlands.gems.gems import Gem
from flatlands.games.flatlands.options import Options
from flatlands.loadtest.kit import signals
from flatlands.server.game.loader import GameMaker
from flatlands.server.game.play import GameFactory
from flatlands.server.messages import protocol
from flatlands.server.net.frames import BINARY
from flatlands.server.node import Node
from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.items import THINGS_QUEUE
from flatlands.server.storage.kinds import middle_of
from flatlands.stores.base import NEVER_DUE_MS, Item
from flatlands.stores.registry import open_store
from flatlands.testkit.sessions import NoSocket, session_factory
from flatlands.world.batches import RECORD, BatchContent
from flatlands.world.grid import Grid, Square
from flatlands.world.terrain import Terrain
from flatlands.world.track import UNIT, Heading, leg

PLAYERS = 2000
#: The players are spread over so many squares. Each player holds some nine of them.
SQUARES = 100

#: Intents that a node gets in one turn of its loop, at 4,000 a second.
TURN = 4

#: Seconds within which players take the gems of one turn.
PATIENCE = 60

#: Seconds for which a node is watched while nobody takes anything.
REST = 1

REPEATS = 5

#: Gems that are taken in each repeat.
TAKES = 200

#: Walkers on fresh land.
WALKERS = 100
#: Each walker goes so many legs.
LEGS_EACH = 6
#: Walkers begin up to so far from the origin, along each axis.
FAR_TILES = 10**8

AROUND = [
    Heading(*at) for at in ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))
]

#: The content of a batch of three events, and the payload that is sealed, as long as such a batch.
CONTENT = BatchContent(bytes(3 * RECORD.size))
PAYLOAD = bytes(70)


class Bench:
    """A node with a number of players, whose store is a file in a folder. It plays Flatlands,
    unless `make` makes another game for it."""

    def __init__(self, players: int, folder: str, make: GameFactory | None = None) -> None:
        self.stats: Counter[str] = Counter()
        self.loop = Loop(self.stats)
        self.broker = open_broker("memory://bench")
        self.node = Node(
            grid=Grid(),
            terrain=Terrain(2013),
            broker=self.broker,
            loop=self.loop,
            spread=SQUARES,
            store=open_store(f"sqlite:///{folder}/store.db", "bench"),
            game=make or GameMaker("flatlands", Options(walkers=0, deer=0), alone=True),
        )
        self.listener = gevent.spawn(self.node.listen)
        speaks = session_factory(self.node, self.stats, 10_000)
        self.players = []
        for number in range(players):
            connection: Any = NoSocket()
            self.players.append((connection, speaks(connection)))
            hello = protocol.VERSION, f"p{number}", 24, 24, None, None, None, None
            self.say(connection, protocol.HELLO, *hello)
        self.number = 0
        # Meanwhile gems grow around the players, as they did long ago in a busy world.
        gevent.sleep(1.5)

    def close(self) -> None:
        """End the node: its gems, which are in no cell, must not ripen during other work."""
        self.loop.end()
        self.broker.close()
        self.listener.join()
        self.node.store_client.close()

    def say(self, connection: Any, *message: object) -> None:
        """Make the player on this connection send a message."""
        connection.on_message(BINARY, msgpack.packb(message))

    def moves(self, count: int, kind: str) -> float:
        """Return us of CPU for each of `count` moves, until they are at the hub.

        All players move in turn. `kind` is "walk" or "go".
        """
        messages = []
        for turn in range(count):
            connection, session = self.players[turn % len(self.players)]
            number = session.last_intent_number + 1 + turn // len(self.players)
            now = self.loop.now()
            resident = session.resident
            assert resident is not None
            if kind == "walk":
                heading = random.choice([(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, -1)])
                message: tuple[int, ...] = (protocol.WALK, number, now, *heading)
            else:
                span = self.node.grid.span
                low = resident.square[0] * span, resident.square[1] * span
                place = (edge + random.randrange(span // 8, span * 7 // 8) for edge in low)
                message = (protocol.GO, number, now, *place)
            messages.append((connection, msgpack.packb(message)))
        # The rate limits would refuse some of the moves.
        for _, session in self.players:
            session.rates.full_at.clear()
        gevent.sleep(0.2)
        before = time.process_time()
        for start in range(0, count, TURN):
            for connection, message in messages[start : start + TURN]:
                connection.on_message(BINARY, message)
            gevent.sleep(0)
        return (time.process_time() - before) / count * 1e6

    def pings(self, count: int) -> float:
        """Return us of CPU for each ping and its pong."""
        payload = msgpack.packb((protocol.PING, 123456789, 0))
        before = time.process_time()
        for turn in range(count):
            connection, session = self.players[turn % len(self.players)]
            session.rates.full_at.clear()
            connection.on_message(BINARY, payload)
        return (time.process_time() - before) / count * 1e6

    def takes(self, count: int) -> float:
        """Return us of CPU for each gem that a player takes, in the store's thread too, without
        what the node does meanwhile for players that stand still."""
        node, store, span = self.node, self.node.store_client.store, self.node.grid.span
        assert store is not None
        touches, kinds = node.movement.touches, node.square_context.things
        [kind] = [number for number, shown in kinds.items() if shown.make is Gem._row]
        assert touches is not None
        queue, items, gems = f"{THINGS_QUEUE} flatlands {node.channels.ground_id}", [], []
        stand, side = Counter[Square](), node.grid.side
        for _, session in self.players:
            resident = session.resident
            assert resident is not None
            # Each stands on a tile of its own, since of two beside a gem one would come too late.
            (column, row), n = resident.square, stand[resident.square]
            stand[resident.square] += 1
            tile = column * side + n % side, row * side + n // side % side
            node.movement.put(resident, middle_of(tile))
        for turn in range(count):
            _, session = self.players[turn % len(self.players)]
            resident = session.resident
            assert resident is not None
            self.number += 1
            square, (x, y) = resident.square, resident.track.at(self.loop.now())
            # Its cell has no gem of this number, so that it does not grow again.
            id, version = f"Gem:0:0:{1000 + self.number}", 1
            gem = Gem._row(kind, id, version, x - square[0] * span, y - square[1] * span)
            body = msgpack.packb((version, x // UNIT, y // UNIT, False, {}))
            items.append(Item(id, NEVER_DUE_MS, f"{square[0]}:{square[1]}", body))
            gems.append((square, gem))
            resident.owner = "0" * 32
        # The node may read some of them from the store before their turn comes.
        taken = self.stats["things_taken"]
        store.put(queue, items)
        gevent.sleep(0.2)
        idle, begun = -time.process_time(), time.monotonic()
        gevent.sleep(REST)
        idle = (idle + time.process_time()) / (time.monotonic() - begun)
        before, begun = time.process_time(), time.monotonic()
        for start in range(0, count, TURN):
            for square, gem in gems[start : start + TURN]:
                node.subscriptions.by_square[square].things.change([gem], [], self.loop.now())
                touches.things_changed(square)
            # A loop without pauses would use the CPU time for itself.
            until = time.monotonic() + PATIENCE
            while self.stats["things_taken"] - taken < min(start + TURN, count):
                if time.monotonic() > until:
                    raise RuntimeError("players have not taken the gems that lie beside them")
                gevent.sleep(0.001)
        spent = time.process_time() - before - idle * (time.monotonic() - begun)
        # Some may have come beside a gem that has grown.
        return spent / (self.stats["things_taken"] - taken) * 1e6

    def flushes(self, count: int) -> float:
        """Return us of CPU for each write of a flush with two batches of each square."""
        hub, written = self.node.hub, 0
        squares = list(self.node.outbox.players_by_square)
        body = protocol.body(CONTENT)
        hub.flush()
        before = time.process_time()
        for _ in range(count):
            now = self.loop.now()
            for square in squares:
                hub.deliver(square, 0, now, body)
                hub.deliver(square, 0, now, body)
            writes = self.stats["writes"]
            hub.flush()
            written += self.stats["writes"] - writes
            for _, session in self.players:
                session.acknowledge(session.sent)
        return (time.process_time() - before) / written * 1e6

    def snapshots(self, count: int) -> float:
        """Return us of CPU for each player in a new snapshot."""
        squares = list(self.node.outbox.players_by_square)
        players = 0
        before = time.process_time()
        for turn in range(count):
            square = squares[turn % len(squares)]
            now = self.loop.now()
            entries = self.node.outbox.entries(square, now)
            protocol.snapshot(square, now, [(*entry, 0) for entry in entries])
            players += len(entries)
        return (time.process_time() - before) / players * 1e6


def legs(walkers: int) -> tuple[float, float]:
    """Return us of CPU for each leg of walkers on land that is new, and for the same legs again.

    They begin far apart, and each keeps walking in about the same direction.
    """
    land, seed = Terrain(random.getrandbits(32)), random.getrandbits(32)
    starts: list[tuple[int, int]] = []
    while len(starts) < walkers:
        place = random.randrange(-FAR_TILES, FAR_TILES), random.randrange(-FAR_TILES, FAR_TILES)
        if not land.blocked(*place):
            starts.append(place)

    def walk() -> float:
        chance = random.Random(seed)
        before = time.process_time()
        for column, row in starts:
            x, y, ahead = column * UNIT, row * UNIT, chance.randrange(len(AROUND))
            for _ in range(LEGS_EACH):
                heading = AROUND[(ahead + chance.randint(-1, 1)) % len(AROUND)]
                track = leg(land, x, y, heading, 0)
                x, y = track.at(track.end) if track else (x, y)
        return (time.process_time() - before) / (walkers * LEGS_EACH) * 1e6

    return walk(), walk()


def seals(count: int) -> float:
    """Return us of CPU that a seal adds to a message that one broker publishes and receives."""
    spent = []
    for secret in (None, "a secret"):
        plain = open_broker("memory://seals")
        broker = SealedBroker(plain, secret) if secret else plain
        broker.subscribe("a square's channel")
        before = time.process_time()
        for _ in range(count):
            broker.publish("a square's channel", PAYLOAD)
            broker.receive(0)
        spent.append(time.process_time() - before)
        broker.close()
    return (spent[1] - spent[0]) / count * 1e6


def measure(players: int = PLAYERS, repeats: int = REPEATS) -> dict[str, float]:
    """Return name -> us of CPU: the medians of a number of repeats, with a number of players.

    Raises Interrupted.
    """
    random.seed(1)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(Bench(players, folder)) as bench,
    ):
        return _measure(bench, players, repeats)


def _measure(bench: Bench, players: int, repeats: int) -> dict[str, float]:
    gc.collect()
    gc.freeze()
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        signals.check()
        fresh, known = legs(WALKERS)
        for name, measured in (
            ("a leg on fresh land", fresh),
            ("a leg on known land", known),
            ("a walk", bench.moves(players, "walk")),
            ("a click", bench.moves(players, "go")),
            ("a ping", bench.pings(players)),
            ("a gem that is taken", bench.takes(TAKES)),
            ("a write of a flush, without the kernel", bench.flushes(5)),
            ("a player in a snapshot", bench.snapshots(200)),
            ("a message's seal, made and checked", seals(20_000)),
        ):
            found.setdefault(name, []).append(measured)
    return {name: round(statistics.median(values), 2) for name, values in found.items()}


if __name__ == "__main__":
    for what, figure in measure().items():
        print(f"{what:45} {figure:8.2f} us")
