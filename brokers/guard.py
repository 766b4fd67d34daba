"""Guards for greenlets, which must not die in silence, and for logs, which others could flood."""

import logging
from collections.abc import Callable

import gevent

from flatlands.brokers.base import LONG_AGO

log = logging.getLogger("flatlands")

#: Seconds that a failed greenlet waits before it runs again.
RESTART_AFTER = 0.5

#: Seconds between two equal warnings about what others do, since they may do it all the time.
SELDOM = 60.0


def keep_running(
    name: str, count_error: Callable[[], None], run: Callable[[], None]
) -> "gevent.Greenlet[[], None]":
    """Call `run` in a new greenlet until it returns, and again whenever it raises an exception.

    Each exception is logged, and counted by a call of `count_error`.
    """

    def guarded() -> None:
        while True:
            try:
                return run()
            except Exception:
                count_error()
                log.exception("%s failed; restarting it in %s s", name, RESTART_AFTER)
                gevent.sleep(RESTART_AFTER)

    return gevent.spawn(guarded)


class Throttle:
    """Bounds how often something is done, such as to log a line: `times` in each period of
    `seconds`, which begins with the first time. Times are seconds on any clock that only rises.
    """

    def __init__(self, times: int = 1, seconds: float = SELDOM) -> None:
        self._times, self._seconds = times, seconds
        self._ends = LONG_AGO
        self._done = self._left_out = 0

    def allows(self, now: float) -> bool:
        """Return whether it may be done once more at the time `now`, and count it."""
        if now >= self._ends:
            self._ends = now + self._seconds
            self._done = 0
        if self._done >= self._times:
            self._left_out += 1
            return False
        self._done += 1
        return True

    def left_out(self, now: float) -> int:
        """Return, once, how often it was not allowed in periods that are over."""
        if now < self._ends:
            return 0
        left_out, self._left_out = self._left_out, 0
        return left_out
