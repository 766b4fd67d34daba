"""Ctrl-C and its kin, looked at where it is safe to stop.

An exception out of nowhere would leave files, children and sums half done.
"""

import signal
from typing import Any


class Interrupted(Exception):
    """The user wants it to stop."""


class Signals:
    """Remembers that SIGINT, SIGTERM or SIGHUP came, for those who look."""

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._came)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _came(self, number: int, _: object) -> None:
        self.number = number

    def check(self) -> None:
        """Raise Interrupted if one came."""
        if self.number:
            raise Interrupted
