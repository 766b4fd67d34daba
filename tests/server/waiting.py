"""Waiting for what a server, or another greenlet of this process, does in its own time."""

from collections.abc import Callable

import gevent

from tests.processes import PATIENCE


def until(condition: Callable[[], object], what: str = "it never came") -> None:
    """Wait until `condition()` is true; after PATIENCE seconds fail with the sentence `what`."""
    with gevent.Timeout(PATIENCE, AssertionError(what)):
        while not condition():
            gevent.sleep(0.02)
