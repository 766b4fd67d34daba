"""A store in the time of a harness, which its nodes share, and which can be away."""

import sqlite3
from collections.abc import Callable, Iterable
from typing import TypeVar

from flatlands.stores.base import Item, ItemChange, Score, StoreError
from flatlands.stores.sqlite import SqliteStore, prepare
from flatlands.testkit.clock import Clock

_T = TypeVar("_T")


class SimulatedStore(SqliteStore):
    """A store in memory and in a harness's time, which several nodes share.

    It answers without its own thread, and not at all while it is `away`.
    """

    away = False

    def __init__(self, clock: Clock, shared: sqlite3.Connection) -> None:
        super().__init__("memory://", "harness")
        self._clock = clock
        self._connection = shared
        self.identity = "harness"
        #: Called with the queue, id and body of what somebody has taken, or changed in a
        #: transaction; and with scores that were added.
        self.on_taken: Callable[[str, str, bytes], object] = lambda *_: None
        self.on_scored: Callable[[Iterable[Score]], object] = lambda _: None

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
            self.on_taken(queue, id, body)
            self.on_scored(points)
        return body

    def transact(self, changes: Iterable[ItemChange], scores: Iterable[Score] = ()) -> bool:
        some, points = list(changes), list(scores)
        done = super().transact(some, points)
        if done:
            for change in some:
                if change.before is not None and not change.stays:
                    self.on_taken(change.queue, change.id, change.before)
            self.on_scored(points)
        return done

    def add(self, score: Score) -> int:
        points = super().add(score)
        self.on_scored([score])
        return points

    def _now(self) -> int:
        return self._clock.time

    def _wait(self, call: Callable[..., _T], *arguments: object) -> _T:
        if self.away:
            raise StoreError("it is away")
        return call(*arguments)


class _SharedConnection(sqlite3.Connection):
    """A connection that is closed with the last of the stores that share it, in whichever thread
    that is noticed: Python 3.13 warns of one that is never closed."""

    def __del__(self) -> None:
        self.close()


def shared_stores(clock: Clock) -> Callable[[], SimulatedStore]:
    """Return a function that opens a node's store; all nodes share one, in a harness's time."""
    shared = sqlite3.connect(
        ":memory:", isolation_level=None, factory=_SharedConnection, check_same_thread=False
    )
    prepare(SimulatedStore(clock, shared)._path, shared)
    return lambda: SimulatedStore(clock, shared)
