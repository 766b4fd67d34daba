"""Hooks: the methods of a game that a node calls. One that fails or takes long harms nobody else.

It is logged with the hook's name, and counted. A hook runs in the event loop, so it may not wait:
gevent lets whoever tries fail.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from flatlands.brokers.guard import LogLimit
from flatlands.server.loop import Loop

log = logging.getLogger("flatlands")

#: A hook that takes longer than so many ms is slow.
SLOW: Final = 5


class Hook:
    """A method `call` of a game, as the node calls it; `name` is for the log and for counters."""

    def __init__(self, loop: Loop, name: str, call: Callable[..., object]) -> None:
        self.name = name
        self._loop = loop
        self._call = call
        self._warnings = LogLimit()

    def __call__(self, *arguments: Any) -> None:
        begun = self._loop.seconds()
        try:
            self._call(*arguments)
        except Exception:
            self._loop.stats["hooks_failed"] += 1
            if self._warnings.allows(begun):
                log.exception("%s of the game failed", self.name)
            return
        ms = (self._loop.seconds() - begun) * 1000
        if ms > SLOW:
            self._loop.stats["hooks_slow"] += 1
            if self._warnings.allows(begun):
                log.warning("%s of the game took %.0f ms: all players wait for it", self.name, ms)
