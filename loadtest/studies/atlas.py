"""What the map of everybody costs a node with 10,000 players.

100 clients look at it. Only the map is measured, by doing all that it does in a second: the players
are counted, what has changed is published and received, and the clients are shown it. Between these
seconds a third of the players go to another square, and each square delivers. The players stand on
so many squares that the map is coarse. First all clients look at the whole world; then every other
one looks at a different part, in finer dots.
"""

import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import TypedDict

import msgpack

from flatlands import compiled
from flatlands.brokers.registry import open_broker
from flatlands.loadtest.kit import signals
from flatlands.loadtest.studies.study import Column, Measure, NoOptions, PlainStudy
from flatlands.server.atlas.counts import NO_ANSWERS_MS
from flatlands.server.messages import protocol
from flatlands.server.net.frames import BINARY
from flatlands.server.node import Node
from flatlands.server.runtime.loop import Loop
from flatlands.testkit.sessions import NoSocket, session_factory
from flatlands.world.grid import Grid, Square
from flatlands.world.terrain import Terrain

PLAYERS = 10_000
#: The players stand in a field so many squares wide and high.
SQUARES_WIDE = 45
VIEWERS = 100
MEASURED_SECONDS = 20

#: The same players in a field so many squares wide and high are far apart.
FAR_SQUARES_WIDE = 2000
#: Half of so many clients look at as many different parts as a node allows.
MANY_VIEWERS = 512

#: Name -> the most that it should be.
TARGETS = {
    "all see the whole world: CPU of a core, %": 1.0,
    "half of them see a part: CPU of a core, %": 1.0,
    "KB/s to a client that sees the whole world": 1.0,
    "KB/s to a client that sees a part": 1.0,
    "nobody looks: subscriptions and messages": 0.0,
    "players far apart, 256 parts: CPU of a core, %": 20.0,
}


class Point(TypedDict):
    """A figure, and what it is of."""

    series: str
    figure: float


class Viewers:
    """A node whose players stand in a large field, and clients that look at the map."""

    def __init__(self, parts: bool, wide: int, viewers: int) -> None:
        self.loop = Loop(Counter())
        self.broker = open_broker("memory://bench")
        self.node = Node(grid=Grid(), terrain=Terrain(2013), broker=self.broker, loop=self.loop)
        self.broker.subscribe(self.node.channels.nodes)
        self.chance = random.Random(1)
        span, low = self.node.grid.span, wide // 2
        for number in range(PLAYERS):
            place = [(self.chance.randrange(wide) - low) * span + span // 2 for _ in "xy"]
            self.node.residents.join(f"p{number}", (place[0], place[1]))
        self.node.outbox.publish_all()
        self.receive()
        self.idle = len(self.node.counts.channels) + self.loop.stats["counts"]
        speaks = session_factory(self.node, self.loop.stats, 20_000)
        self.connections: list[NoSocket] = []
        for number in range(viewers):
            connection = NoSocket()
            speaks(connection)
            self.connections.append(connection)
            rect = (-(2**31), -(2**31), 2**31, 2**31)
            if parts and number % 2:
                corner = [self.chance.randint(-low, low - 10) for _ in "xy"]
                rect = corner[0], corner[1], corner[0] + 10, corner[1] + 10
            connection.on_message(BINARY, msgpack.packb((protocol.WATCH, 0, *rect)))
        # The first pictures, without the loop's timers.
        for _ in range(20):
            self.node.views._show_all()
            self.receive()
            time.sleep(NO_ANSWERS_MS / 10_000)

    def close(self) -> None:
        """End the node."""
        self.loop.end()
        self.broker.close()

    def receive(self) -> None:
        """Take everything that the broker has."""
        while (item := self.broker.receive(0)) is not None:
            self.node.receive(item)

    def stir(self) -> None:
        """Move a third of the players to another square, and make each square deliver."""
        outbox, residents = self.node.outbox, list(self.node.residents.by_id.values())
        for resident in self.chance.sample(residents, PLAYERS // 3):
            column, row = resident.square
            to: Square = column + self.chance.choice((-1, 1)), row
            del outbox.players_by_square[resident.square][resident.id]
            if not outbox.players_by_square[resident.square]:
                del outbox.players_by_square[resident.square]
            resident.square = to
            outbox.players_by_square.setdefault(to, {})[resident.id] = resident
        assert outbox.batch_counts is not None
        outbox.batch_counts.update(dict.fromkeys(outbox.players_by_square, 5))

    def second(self) -> float:
        """Do what the map does in a second, and return the seconds of CPU that it took."""
        self.stir()
        began = time.process_time()
        self.node.census._count()
        self.receive()
        self.node.views._show()
        self.receive()
        return time.process_time() - began


def _points(name: str, parts: bool, wide: int, viewers: int) -> Iterator[Point]:
    """Yield the figures of clients that look at the map; `parts` is that of Viewers."""
    with closing(Viewers(parts, wide, viewers)) as all:
        all.second()
        before = [connection.bytes_out for connection in all.connections]
        cpu = statistics.median(all.second() for _ in range(MEASURED_SECONDS)) * 100
        found: dict[str, float] = {f"{name}: CPU of a core, %": cpu}
        if parts and wide == SQUARES_WIDE:
            sent = [
                (connection.bytes_out - was) / MEASURED_SECONDS / 1000
                for connection, was in zip(all.connections, before, strict=True)
            ]
            found["KB/s to a client that sees the whole world"] = max(sent[::2])
            found["KB/s to a client that sees a part"] = max(sent[1::2])
            found["nobody looks: subscriptions and messages"] = all.idle
            found["grains that are shown"] = len({v.grain for v in all.node.views._views.values()})
    signals.check()
    for what, figure in found.items():
        yield {"series": what, "figure": figure}


class Atlas(PlainStudy[Point, NoOptions]):
    """What the map of everybody costs."""

    program = "-m loadtest.studies atlas"
    about = f"Measure what the map of everybody costs a node with {PLAYERS:,} players."
    title = "The map of everybody"
    options = NoOptions
    columns = {
        "": (
            Column("", "series", width=-46),
            Column("", "figure", ".2f", 8),
            Column[Point]("at most", lambda row: TARGETS.get(row["series"]), "g", 7),
        )
    }

    def facts(self) -> dict[str, object]:
        return {"compiled": compiled.used()}

    def jobs(self) -> Iterator[tuple[str, Measure[Point]]]:
        """Yield what is measured with one node after the other."""
        for name, parts, wide, viewers in (
            ("all see the whole world", False, SQUARES_WIDE, VIEWERS),
            ("half of them see a part", True, SQUARES_WIDE, VIEWERS),
            ("players far apart, 256 parts", True, FAR_SQUARES_WIDE, MANY_VIEWERS),
        ):
            yield name, partial(_points, name, parts, wide, viewers)


main = Atlas.main
