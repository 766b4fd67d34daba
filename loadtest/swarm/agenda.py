"""What is due for the bots of a process, and when. Times are us of the run's clock."""

import heapq
from collections import deque
from collections.abc import Callable
from typing import Any

from loadtest.swarm.bot import Bot

#: Is told for whom it is done, when it was due, and what was put down with it.
Deed = Callable[[Bot, int, Any], None]


class Agenda:
    """Deeds in the order in which they are due."""

    def __init__(self) -> None:
        #: The second number keeps the order of what is due at the same moment.
        self._heap: list[tuple[int, int, Deed, Bot, Any]] = []
        self._order = 0
        self._queue: deque[tuple[int, Deed, Bot]] = deque()

    def put(self, due: int, what: Deed, bot: Bot, argument: Any = None) -> None:
        """Let something be done at a moment."""
        self._order += 1
        heapq.heappush(self._heap, (due, self._order, what, bot, argument))

    def append(self, due: int, what: Deed, bot: Bot) -> None:
        """The same, and cheaper, for what is due after all that was appended before."""
        self._queue.append((due, what, bot))

    def next(self, otherwise: int) -> int:
        """Return when the next deed is due, or a moment that is before it."""
        due = self._heap[0][0] if self._heap else otherwise
        return min(due, self._queue[0][0], otherwise) if self._queue else min(due, otherwise)

    def do(self, now: int) -> None:
        """Do all that is due."""
        while self._heap and self._heap[0][0] <= now:
            due, _, what, bot, argument = heapq.heappop(self._heap)
            what(bot, due, argument)
        while self._queue and self._queue[0][0] <= now:
            due, what, bot = self._queue.popleft()
            what(bot, due, None)
