"""Ctrl-C: SIGINT, SIGTERM and SIGHUP mean the same to every program here.

An exception at an arbitrary place would leave files, programs and sums in a bad state. So a signal
is only remembered; `check`, which all loops that wait must call, raises it as Interrupted.
"""

import contextlib
import signal
import time
from collections.abc import Iterator

_ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: Seconds between two looks at whether a signal came.
LOOK = 0.02

#: The signal that came, or 0.
_came = 0


class Interrupted(Exception):
    """The user wants the program to stop; `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


@contextlib.contextmanager
def remembered() -> Iterator[None]:
    """Only remember signals while the block runs. To be used in the main thread."""
    global _came
    _came = 0
    before = {number: signal.signal(number, _note) for number in _ALL}
    try:
        yield
    finally:
        _came = 0
        for number, handler in before.items():
            signal.signal(number, handler)


def _note(number: int, _: object) -> None:
    global _came
    _came = number


def check() -> None:
    """Raise Interrupted if a signal came."""
    if _came:
        raise Interrupted(_came)


def sleep(seconds: float) -> None:
    """Wait for some seconds. Raises Interrupted."""
    until = time.monotonic() + seconds
    check()
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, LOOK))
        check()


def leave_to_parent() -> None:
    """Ignore the signals that a terminal sends to all its processes: the parent ends this one."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
