"""Counts what the bots of a process receive, and how late they send their moves."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

import msgpack
import numpy as np

from loadtest.kit.histogram import Histogram
from loadtest.swarm import wire
from loadtest.swarm.hunter import Gem, Square

#: Batches whose moves are remembered. When there are more, half of them are forgotten.
REMEMBERED = 1_000_000


class Player(Protocol):
    """A bot, as far as a Tally knows it."""

    def moved(self, batch: wire.Batch, event: list[Any], now: int) -> None:
        """Note an event of its own that has just come."""


class Tally:
    """See the module. Times are in us of the run's clock."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.reader = wire.Reader(self._learn)
        self.bytes = self.events = self.snapshots = self.resyncs = 0
        #: Counts by name; errors and lost connections by their sentences.
        self.counted: Counter[str] = Counter()
        self.complaints: Counter[str] = Counter()
        self.cuts: Counter[str] = Counter()
        #: The pings that took long: (time of the ping, time of its pong).
        self.slow: list[tuple[int, int]] = []
        #: Id -> bot of this process.
        self.players: dict[int, Player] = {}
        #: us from the time at which a move was due until a bot read it, and until it was sent.
        self._latency, self._late = Histogram(), Histogram()
        #: us by which moves were sent late, for those that are not yet in `_late`.
        self.lateness: list[int] = []
        #: Player -> the newest move that came to this process; and for each batch (node, number),
        #: the moves that came first with it.
        self._newest: dict[int, int] = {}
        self._first_told: dict[tuple[int, int], list[int]] = {}
        #: All gems that any bot was ever shown, as (id, version).
        self.shown: set[tuple[str, int]] = set()
        #: What lies in a square, by the message that told it: those since the last `count`.
        self._things: dict[bytes, tuple[Square, dict[str, Gem]]] = {}

    def refused(self, rude: bool, code: str, sentence: str) -> None:
        """Count an error message of the server to a bot; `rude`: the bot breaks the rules."""
        if rude:
            self.counted["rude_refused"] += 1
        else:
            self.complaints[f"{code}: {sentence}"] += 1

    def things(self, payload: bytes, span: int) -> tuple[Square, dict[str, Gem]]:
        """Return the square that a message of things is about, and the gems that lie there.

        `span` is the length of a square's side in units.
        """
        found = self._things.get(payload)
        if found is None:
            _, column, row, things = msgpack.unpackb(payload)[:4]
            gems = {
                id: (version, x + column * span, y + row * span)
                for kind, id, version, x, y in (thing[:5] for thing in things)
                if kind == wire.GEM
            }
            found = self._things[payload] = (column, row), gems
            self.shown.update((id, version) for id, (version, _, _) in gems.items())
        return found

    def _learn(self, batch: wire.Batch) -> None:
        """Note the moves in a batch that has come to this process for the first time."""
        newest, own = self._newest, self.players
        key = batch.node, batch.number
        dues = self._first_told.get(key)
        if dues is not None:
            # It was decoded a while ago, and some bots receive it only now.
            batch.due = dues
            return
        due, now = batch.due, self._now()
        for event in batch.events:
            if event[0] > wire.TRACK:
                continue
            id, ack = event[1], event[3]
            if ack >= wire.FIRST_NUMBER and ack > newest.get(id, 0):
                newest[id] = ack
                due.append(ack)
            player = own.get(id)
            if player is not None:
                player.moved(batch, event, now)
        self._first_told[key] = due

    def count(self) -> None:
        """Add what came and was sent since the last call to the histograms.

        Chunks that more bots may receive are left for a later call.
        """
        for chunk in self.reader.turn():
            if len(chunk.due) and chunk.arrivals:
                arrivals = np.array(chunk.arrivals, dtype=np.int64)
                self._latency.add(arrivals[:, None] - chunk.due[None, :])
        self._late.add(np.array(self.lateness, dtype=np.int64))
        self.lateness = []
        self._things = {}
        if len(self._first_told) > REMEMBERED:
            self._first_told = dict(list(self._first_told.items())[REMEMBERED // 2 :])

    def progress(self) -> dict[str, Any]:
        """Return the counts since the start."""
        return {
            "moves": self.counted["moves"],
            "joins": self.counted["joins"],
            "deliveries": self._latency.total,
            "events": self.events,
            "bytes": self.bytes,
            "snapshots": self.snapshots,
            "resyncs": self.resyncs,
            "steps": self.counted["steps"],
            "latency": self._latency.sparse(),
            "late": self._late.sparse(),
            "counted": dict(self.counted),
            "complaints": dict(self.complaints),
            "cuts": dict(self.cuts),
        }
