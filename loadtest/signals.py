"""Ctrl-C and its kin: SIGINT, SIGTERM and SIGHUP mean the same to every program here.

Where an exception out of nowhere would leave files, children and sums half done, they are
remembered, and looked at where it is safe to stop; everywhere else they are KeyboardInterrupt.
"""

import signal
from typing import Any

_ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def like_ctrl_c() -> None:
    """Let all of them raise KeyboardInterrupt."""
    for number in _ALL:
        signal.signal(number, signal.default_int_handler)


def leave_to_parent() -> None:
    """Let what a terminal sends to all its processes not end this one: its parent does."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


class Interrupted(Exception):
    """The user wants it to stop."""


class Signals:
    """Remembers that SIGINT, SIGTERM or SIGHUP came, for those who look."""

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        for number in _ALL:
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
