"""The guard of every greenlet that a broker starts, and of logs that others could flood."""

import logging
from collections.abc import Callable

import gevent

from brokers.base import NEVER, Counters

log = logging.getLogger("flatlands")

#: Seconds that a failed greenlet waits before it runs again.
RESTART_AFTER = 0.5

#: Seconds between two warnings about what others do, at least: they may do it all the time.
SELDOM = 60.0


def keep_running(
    name: str, counters: Counters, run: Callable[[], None]
) -> "gevent.Greenlet[[], None]":
    """Run a greenlet until `run` returns or it is killed, again whenever it fails.

    Each failure is logged and counted.
    """

    def guarded() -> None:
        while True:
            try:
                return run()
            except Exception:
                counters.errors += 1
                log.exception("%s failed; it starts again in %s s", name, RESTART_AFTER)
                gevent.sleep(RESTART_AFTER)

    return gevent.spawn(guarded)


class Seldom:
    """Says when a warning is due again: at once, and then SELDOM seconds after the last."""

    def __init__(self) -> None:
        self._next = NEVER

    def due(self, now: float) -> bool:
        """Say whether to warn at time `now`, in seconds on any clock that only rises."""
        if now < self._next:
            return False
        self._next = now + SELDOM
        return True
