"""Schedules of what is due at which time. They are heaps, so no loop ever runs over all players.

A DeadlineHeap yields what is due to whoever asks; a TimerQueue has a timer of the event loop, and
calls a function for it.
"""

from collections.abc import Callable, Hashable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final

from flatlands.server.runtime.loop import Loop

#: The heap is rebuilt when its stale entries outnumber the keys by more than this.
SLACK: Final = 256


class DeadlineHeap:
    """Keys with the times, in ms, at which they are due, each key with one time; it yields those
    that are due."""

    def __init__(self) -> None:
        #: Key -> its time, and the number of its entry in the heap: others of it there are stale.
        self._due: dict[Hashable, tuple[int, int]] = {}
        self._heap: list[tuple[int, int, Hashable]] = []
        # Numbers the entries, so that the heap never compares keys.
        self._count = 0

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._due

    def put(self, key: Hashable, due: int) -> None:
        """Make a key due at the time `due`, and not at the time that it had before, if any."""
        before = self._due.get(key)
        if before is not None and before[0] == due:
            return
        self._count += 1
        self._due[key] = due, self._count
        heappush(self._heap, (due, self._count, key))
        if len(self._heap) > 2 * len(self._due) + SLACK:
            self._heap = [entry for entry in self._heap if self._stands(entry[1], entry[2])]
            heapify(self._heap)

    def drop(self, key: Hashable) -> bool:
        """Remove a key; return whether it was there."""
        return self._due.pop(key, None) is not None

    def next(self) -> int | None:
        """Return the earliest due time, or None."""
        heap = self._heap
        while heap:
            due, number, key = heap[0]
            if self._stands(number, key):
                return due
            heappop(heap)
        return None

    def _stands(self, number: int, key: Hashable) -> bool:
        """Return whether an entry of the heap is its key's latest one."""
        last = self._due.get(key)
        return last is not None and last[1] == number

    def pop_due(self, now: int) -> Iterator[tuple[int, Hashable]]:
        """Remove and yield each (due, key) that is due by `now`, the earliest first.

        Keys that are put in during the iteration are included.
        """
        while (due := self.next()) is not None and due <= now:
            key = heappop(self._heap)[2]
            del self._due[key]
            yield due, key


class TimerQueue(DeadlineHeap):
    """A heap that calls `do(key, due)` for each key at its time, the earliest first.

    It does so at multiples of `together` ms, since to wake up for each of many keys costs more than
    what is done then.
    """

    def __init__(self, loop: Loop, do: Callable[[Any, int], None], together: int = 1) -> None:
        super().__init__()
        self._loop = loop
        self._do = do
        self._together = together
        self._timer = loop.timer(self._run)
        #: When the timer goes off, or None. It may be too early: then nothing is due yet.
        self._wakes: int | None = None

    def put(self, key: Hashable, due: int) -> None:
        """Make a key due at the node time `due`, and not at the time that it had before, if any."""
        super().put(key, due)
        if self._wakes is None or due <= self._wakes - self._together:
            self._wake(due)

    def _run(self) -> None:
        try:
            for due, key in self.pop_due(self._loop.now()):
                self._do(key, due)
        finally:
            # This must happen even if one call failed, so that the others have their turn.
            self._wake(self.next())

    def _wake(self, at: int | None) -> None:
        self._wakes = None if at is None else at + -at % self._together
        self._timer.set(self._wakes)
