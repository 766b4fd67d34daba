"""The guard of every greenlet that a broker starts."""

import logging
from collections.abc import Callable

import gevent

from brokers.base import Counters

log = logging.getLogger("flatlands")

#: Seconds that a failed greenlet waits before it runs again.
RESTART_AFTER = 0.5


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
