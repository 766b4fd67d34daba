"""Shows an author, in the page, what has failed in the game, and where. It exists only in a server
that was started for an author."""

import logging
from collections import deque
from typing import Final

from flatlands.server.game import loader

#: How many of the latest faults are shown.
FAULTS_SHOWN: Final = 5


class _Faults(logging.Handler):
    """Keeps the latest exceptions that were logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.latest: deque[tuple[str, str]] = deque(maxlen=FAULTS_SHOWN)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep an exception that is logged."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Exception):
            self.latest.append((record.getMessage(), loader.where(error)))


def collect() -> deque[tuple[str, str]]:
    """Return the latest exceptions that are logged from now on: what has failed, and where in the
    author's code."""
    faults = _Faults()
    logging.getLogger("flatlands").addHandler(faults)
    return faults.latest
