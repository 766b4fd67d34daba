"""The deeds that the bots of a process are to do, and when. Times are in us of the run's clock."""

import heapq
from collections import deque
from collections.abc import Callable
from typing import Any

from loadtest.swarm.bot import Bot

#: Called with the bot, the time at which the deed was due, and the argument given to `put`.
Deed = Callable[[Bot, int, Any], None]


class Agenda:
    """Deeds in the order in which they are due."""

    def __init__(self) -> None:
        #: (due, a rising number, deed, bot, argument). The number keeps deeds of one time in order.
        self._heap: list[tuple[int, int, Deed, Bot, Any]] = []
        self._order = 0
        self._queue: deque[tuple[int, Deed, Bot]] = deque()

    def put(self, due: int, what: Deed, bot: Bot, argument: Any = None) -> None:
        """Have a deed done for a bot at the time `due`."""
        self._order += 1
        heapq.heappush(self._heap, (due, self._order, what, bot, argument))

    def append(self, due: int, what: Deed, bot: Bot) -> None:
        """Do the same at a lower cost. The deed must be due after all that were appended before."""
        self._queue.append((due, what, bot))

    def next(self, otherwise: int) -> int:
        """Return the time at which the next deed is due, or `otherwise` if that is earlier."""
        due = self._heap[0][0] if self._heap else otherwise
        return min(due, self._queue[0][0], otherwise) if self._queue else min(due, otherwise)

    def do(self, now: int) -> None:
        """Do all deeds that are due at the time `now`."""
        while self._heap and self._heap[0][0] <= now:
            due, _, what, bot, argument = heapq.heappop(self._heap)
            what(bot, due, argument)
        while self._queue and self._queue[0][0] <= now:
            due, what, bot = self._queue.popleft()
            what(bot, due, None)
