"""Time and turns: the node's clock, timers of the event loop, and the guard of every greenlet.

It knows nothing of squares or players.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import gevent

log = logging.getLogger("flatlands")

#: Seconds that a failed greenlet waits before it runs again.
RESTART_AFTER = 0.5

#: ms between two beats, by which a loop that stands still is known; it does where one comes more
#: than STALL ms late. For FORGIVE_FOR ms afterwards its clients are not blamed for what has piled
#: up meanwhile.
BEAT, STALL, FORGIVE_FOR = 1000, 500, 5000


class Loop:
    """The event loop as the rest of the server sees it.

    Node time is whole milliseconds: a monotonic clock plus what the wall clock said at the start.
    It is never stepped.
    """

    def __init__(self, stats: Counter[str]) -> None:
        self.stats = stats
        self._offset = int(time.time() * 1000) - int(time.monotonic() * 1000)
        self._loop = gevent.get_hub().loop
        self._ended = False
        self._beat: int | None = None
        self._stood, self._forgiven = 0, 0

    def now(self) -> int:
        """Return node time in ms."""
        return int(time.monotonic() * 1000) + self._offset

    def at(self, monotonic: float) -> int:
        """Return the node time of a reading of time.monotonic()."""
        return int(monotonic * 1000) + self._offset

    def beat(self) -> None:
        """Note that the loop turns; to be called every BEAT ms from the first time on."""
        now = self.now()
        stood = self._standing(now)
        if stood:
            self._stood, self._forgiven = stood, now + FORGIVE_FOR
            self.stats["stalls"] += 1
        self._beat = now

    def late(self) -> int:
        """Return for how many ms the loop stood still until now, or just before; 0 if it did not.

        What it stands still for less than a beat may not be seen.
        """
        now = self.now()
        return self._standing(now) or (self._stood if now < self._forgiven else 0)

    def _standing(self, now: int) -> int:
        stood = 0 if self._beat is None else now - self._beat - BEAT
        return stood if stood > STALL else 0

    def seconds(self) -> float:
        """Return a time in seconds to measure durations with."""
        return time.perf_counter()

    def watchers(self) -> int:
        """Return how many timers and sockets the loop waits for, those of sleeping greenlets too:
        on an idle server it is always the same, or something leaks."""
        return int(self._loop.activecnt)

    def soon(self, callback: Callable[[], None]) -> None:
        """Call back at the end of this turn of the loop."""
        self._loop.run_callback(self.guarded, callback)

    def alarm(self, callback: Callable[[], None]) -> "Alarm":
        """Return a timer that calls back whenever it was set for."""
        return Alarm(self, callback)

    def guarded(self, callback: Callable[..., None], *arguments: Any) -> None:
        """Call back; an exception neither ends the process nor passes in silence."""
        if self._ended:
            return
        try:
            callback(*arguments)
        except Exception:
            self.failed()

    def failed(self) -> None:
        """Note the exception that is being handled: what failed is over, all else goes on."""
        self.stats["errors"] += 1
        log.exception("a callback failed")

    def end(self) -> None:
        """Do nothing any more of what is due, now or later: the server ends."""
        self._ended = True


class Alarm:
    """A timer for one moment at a time."""

    def __init__(self, loop: Loop, callback: Callable[[], None]) -> None:
        self._clock = loop
        self._callback = callback
        self._timer: Any = None
        self._at: int | None = None

    def set(self, at: int | None) -> None:
        """Go off at node time `at`, instead of when it was to; None is never."""
        if at == self._at:
            return
        self._cancel()
        self._at = at
        if at is not None:
            # Half a millisecond more: to go off too early would mean to go off twice.
            delay = max(at - self._clock.now() + 0.5, 0) / 1000
            self._timer = self._clock._loop.timer(delay)
            # The loop's own idea of now may be as old as this turn.
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


def keep_running(
    name: str, stats: Counter[str], run: Callable[[], None]
) -> "gevent.Greenlet[[], None]":
    """Run a greenlet for as long as the process lives, again whenever it fails.

    It ends only when `run` returns. Each failure is logged and counted.
    """

    def guarded() -> None:
        while True:
            try:
                return run()
            except Exception:
                stats["errors"] += 1
                log.exception("%s failed; it starts again in %s s", name, RESTART_AFTER)
                gevent.sleep(RESTART_AFTER)

    return gevent.spawn(guarded)
