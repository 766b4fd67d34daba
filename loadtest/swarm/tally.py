"""What the bots of a process are told, counted once for all of them; and how late they moved."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from loadtest.kit.histogram import Histogram
from loadtest.swarm import wire

#: Batches of which it is remembered what moves they told of; half of them are then forgotten.
REMEMBERED = 1_000_000


class Player(Protocol):
    """Who is told of itself."""

    def moved(self, batch: wire.Batch, event: list[Any], now: int) -> None:
        """An event of its own, told just now."""


class Tally:
    """See the module. Times are us of the run's clock."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.reader = wire.Reader(self._learn)
        self.bytes = self.events = self.snapshots = self.resyncs = 0
        #: How often what happened, and what of it nobody wanted: errors, and ends of connections.
        self.counted: Counter[str] = Counter()
        self.complaints: Counter[str] = Counter()
        self.cuts: Counter[str] = Counter()
        #: The pings that took long: when each was sent, and when its pong came.
        self.slow: list[tuple[int, int]] = []
        #: The players of this process, by their ids.
        self.players: dict[int, Player] = {}
        #: From the moment a move was due until a bot read it; and until it was sent.
        self._latency, self._late = Histogram(), Histogram()
        #: Of the moves that are not in the latter yet.
        self.lateness: list[int] = []
        #: The newest move of each player that this process has heard of, and of each batch
        #: (node, number) the moves that it was the first to tell.
        self._newest: dict[int, int] = {}
        self._told: dict[tuple[int, int], list[int]] = {}

    def refused(self, rude: bool, code: str, sentence: str) -> None:
        """The server did not obey a bot."""
        if rude:
            self.counted["rude_refused"] += 1
        else:
            self.complaints[f"{code}: {sentence}"] += 1

    def _learn(self, batch: wire.Batch) -> None:
        """Learn from a batch that this process has not seen before."""
        newest, own = self._newest, self.players
        key = batch.node, batch.number
        told = self._told.get(key)
        if told is not None:
            # Decoded before, a while ago: some bots receive it only now.
            batch.due = told
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
        self._told[key] = due

    def count(self) -> None:
        """Count what came and what was sent since the last time, but for what may come again."""
        for chunk in self.reader.turn():
            if len(chunk.due) and chunk.arrivals:
                arrivals = np.array(chunk.arrivals, dtype=np.int64)
                self._latency.add(arrivals[:, None] - chunk.due[None, :])
        self._late.add(np.array(self.lateness, dtype=np.int64))
        self.lateness = []
        if len(self._told) > REMEMBERED:
            self._told = dict(list(self._told.items())[REMEMBERED // 2 :])

    def progress(self) -> dict[str, Any]:
        """Return what was counted since the start."""
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
