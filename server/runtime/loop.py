"""The event loop: the node's clock, timers, and the guards of every callback and greenlet."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import gevent
from gevent.event import AsyncResult
from gevent.lock import BoundedSemaphore

from flatlands.brokers import guard
from flatlands.server.runtime.histogram import histograms

log = logging.getLogger("flatlands")

#: Time between two beats.
BEAT_MS = 1000

#: A beat that comes later than this shows that the loop stood still.
STALL_MS = 500

#: After the loop stood still, clients are not blamed this long for what has piled up meanwhile.
FORGIVE_FOR_MS = 5000

#: If a beat comes later than LATE_MS, what can wait is deferred by DEFERRAL_FACTOR times its delay,
#: DEFERRAL_MOST_MS at most. What is repeated is deferred by DEFERRAL_INTERVALS of its intervals at
#: most, since a game may count on short ones.
LATE_MS = 50
DEFERRAL_FACTOR = 10
DEFERRAL_MOST_MS = 5000
DEFERRAL_INTERVALS = 4

_T = TypeVar("_T")


def clock_offset() -> int:
    """Return the ms by which node time is ahead of the monotonic clock, for a node that starts."""
    return int(time.time() * 1000) - int(time.monotonic() * 1000)


class Loop:
    """The event loop, as the rest of the server uses it. `stats` are the counters of the server.

    Node time is in whole milliseconds. It is the wall clock's time at the start, continued by the
    monotonic clock, and it never jumps. Workers of one supervisor are given the same `offset`, so
    that they all have the same time, and a player's times stay right at another worker.
    """

    def __init__(self, stats: Counter[str], offset: int | None = None) -> None:
        self.stats = stats
        #: How long things that a node does take, by their names.
        self.times = histograms()
        self._offset = clock_offset() if offset is None else offset
        self._loop = gevent.get_hub().loop
        self._ended = False
        self._beat: int | None = None
        #: The lateness of the last beat in ms.
        self.lag_ms = 0
        #: When timers of full seconds ring together: this many ms after each full second.
        self._phase = self.now() % 1000
        self._last_stall_ms, self._forgiven_until = 0, 0
        #: The node times of the beats before and after the last stall.
        self._stall_span = 0, 0

    def now(self) -> int:
        """Return node time in ms."""
        return int(time.monotonic() * 1000) + self._offset

    def at(self, monotonic: float) -> int:
        """Return the node time, in ms, of a reading of time.monotonic() in seconds."""
        return int(monotonic * 1000) + self._offset

    def beat(self) -> None:
        """Note that the loop turns. From its first call on it must be called every BEAT_MS."""
        now = self.now()
        self.lag_ms = 0 if self._beat is None else max(now - self._beat - BEAT_MS, 0)
        stood = self._stall_ms(now)
        if stood:
            assert self._beat is not None
            self._last_stall_ms, self._forgiven_until = stood, now + FORGIVE_FOR_MS
            self._stall_span = self._beat, now
            self.stats["stalls"] += 1
        self._beat = now

    def recent_stall_ms(self) -> int:
        """Return how long the loop stood still, in ms, if that ended less than FORGIVE_FOR_MS ago,
        or lasts; otherwise 0. A stall of less than a beat may go unnoticed."""
        now = self.now()
        return self._stall_ms(now) or (self._last_stall_ms if now < self._forgiven_until else 0)

    def stall_span(self) -> tuple[int, int] | None:
        """Return the node times of the beats before and after the stall of `recent_stall_ms`; None
        if there is none. The second is now if no beat has followed yet."""
        now = self.now()
        if self._stall_ms(now):
            assert self._beat is not None
            return self._beat, now
        return self._stall_span if now < self._forgiven_until else None

    def _stall_ms(self, now: int) -> int:
        stood = 0 if self._beat is None else now - self._beat - BEAT_MS
        return stood if stood > STALL_MS else 0

    def deferral_ms(self) -> int:
        """Return the ms by which to defer what can wait, such as hooks and the map: 0 unless the
        loop is late. What players do then comes first."""
        return min(DEFERRAL_FACTOR * self.lag_ms, DEFERRAL_MOST_MS) if self.lag_ms > LATE_MS else 0

    def seconds(self) -> float:
        """Return a clock's time in seconds, for measuring durations only."""
        return time.perf_counter()

    def observe(self, what: str, us: int) -> None:
        """Note that something, a name in `times`, took `us` microseconds."""
        self.times[what].add(us)

    def watchers(self) -> int:
        """Return how many timers and sockets the loop watches, those of sleeping greenlets too.

        On an idle server the number stays the same, unless something leaks.
        """
        return int(self._loop.activecnt)

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Call `callback` at the end of this turn of the loop."""
        self._loop.run_callback(self.guarded, callback)

    def result(self) -> "AsyncResult[Any]":
        """Return what a greenlet can wait for: its `get()` waits until `set(value)` was called, and
        returns that value."""
        return AsyncResult()

    def lock(self) -> BoundedSemaphore:
        """Return what only one greenlet at a time passes, by `with`; the others wait."""
        return BoundedSemaphore(1)

    def timer(self, callback: Callable[[], object]) -> "Timer":
        """Return a timer, not set yet, which calls `callback` when it goes off."""
        return Timer(self, callback)

    def every(
        self,
        ms: int,
        do: Callable[[], object],
        after: int | None = None,
        *,
        can_wait: bool = False,
    ) -> "Timer":
        """Call `do` in `ms`, or in `after` ms if that is given, and then every `ms`, until the
        timer that is returned is set to None; less often while the loop is late, if it `can_wait`.
        Timers of full seconds ring in the same turns, the first time up to a second earlier, so
        that an idle server seldom wakes up."""
        together = 1000 if ms % 1000 == 0 else 1

        def plan(ms: int) -> None:
            at = self.now() + ms
            timer.set(at - (at - self._phase) % together)

        def ring() -> None:
            plan(ms + min(self.deferral_ms(), DEFERRAL_INTERVALS * ms) if can_wait else ms)
            do()

        timer = self.timer(ring)
        plan(ms if after is None else after)
        return timer

    def schedule_batches(
        self, items: Sequence[_T], at_once: int, ms: int, do: Callable[[_T], object]
    ) -> None:
        """Call `do` with each item: with `at_once` of them now, and with as many again every `ms`.
        Return at once."""
        for item in items[:at_once]:
            self.guarded(do, item)
        if len(items) > at_once:
            later = self.timer(lambda: self.schedule_batches(items[at_once:], at_once, ms, do))
            later.set(self.now() + ms)

    def guarded(self, callback: Callable[..., object], *arguments: object) -> None:
        """Call `callback` now. An exception does not end the process: it is logged and counted."""
        if self._ended:
            return
        try:
            callback(*arguments)
        except Exception:
            self.failed()

    def failed(self) -> None:
        """Log and count the exception that is being handled."""
        self._count_error()
        log.exception("a callback failed")

    def keep_running(self, name: str, run: Callable[[], None]) -> "gevent.Greenlet[[], None]":
        """Call `run` in a new greenlet until it returns, and again whenever it fails.

        Each failure is logged and counted.
        """
        return guard.keep_running(name, self._count_error, run)

    def _count_error(self) -> None:
        self.stats["errors"] += 1

    def end(self) -> None:
        """Call nothing back from now on, because the server ends."""
        self._ended = True


def run_in_batches(
    items: Sequence[_T], at_once: int, pause: float, do: Callable[[_T], object]
) -> None:
    """Call `do` with each item, with `at_once` of them in one turn of the loop. This greenlet
    sleeps for `pause` seconds between two turns."""
    for start in range(0, len(items), at_once):
        if start:
            gevent.sleep(pause)
        for item in items[start : start + at_once]:
            do(item)


class Timer:
    """A timer that is set for one moment at a time."""

    def __init__(self, loop: Loop, callback: Callable[[], object]) -> None:
        self._clock = loop
        self._callback = callback
        self._timer: Any = None
        self._at: int | None = None

    def set(self, at: int | None) -> None:
        """Go off at the node time `at`, in ms, instead of the time set before; None stops it."""
        if at == self._at:
            return
        self._cancel()
        self._at = at
        if at is not None:
            # With half a millisecond more it never goes off too early, and so twice.
            delay = max(at - self._clock.now() + 0.5, 0) / 1000
            self._timer = self._clock._loop.timer(delay)
            # Without the update, the loop's own time may be that of the beginning of this turn.
            self._timer.start(self._ring, update=True)

    def _ring(self) -> None:
        self._cancel()
        self._clock.guarded(self._callback)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer.close()
            self._timer = None
        self._at = None
