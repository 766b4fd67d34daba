"""What the bots of a process do next, and when. Times are in us of the run's clock."""

import heapq
from collections import deque
from collections.abc import Callable
from typing import Any

from flatlands.loadtest.swarm.bot import Bot

#: Called with the bot, the time at which the event was due, and the argument given to `put`.
Event = Callable[[Bot, int, Any], None]


#: (due, event, bot, argument).
Entry = tuple[int, Event, Bot, object]


class EventQueue:
    """Events in the order in which they are due."""

    def __init__(self) -> None:
        #: (due, a rising number, event, bot, argument). The number keeps events of one time in
        #: order.
        self._heap: list[tuple[int, int, Event, Bot, object]] = []
        self._order = 0
        #: The same without the number, in order: the acks, and each bot's moves after its first.
        self.acks: deque[Entry] = deque()
        self.moves: deque[Entry] = deque()

    def put(self, due: int, what: Event, bot: Bot, argument: object = None) -> None:
        """Have an event done for a bot at the time `due`."""
        self._order += 1
        heapq.heappush(self._heap, (due, self._order, what, bot, argument))

    def append(
        self,
        queue: deque[Entry],
        due: int,
        what: Event,
        bot: Bot,
        argument: object = None,
    ) -> None:
        """Do the same at a lower cost, with one of the queues.

        If the last event in the queue is due later, this one goes into the heap nevertheless.
        """
        if queue and queue[-1][0] > due:
            self.put(due, what, bot, argument)
        else:
            queue.append((due, what, bot, argument))

    def next(self, otherwise: int) -> int:
        """Return the time at which the next event is due, or `otherwise` if that is earlier."""
        due = otherwise
        for first in (self._heap, self.acks, self.moves):
            if first and first[0][0] < due:
                due = first[0][0]
        return due

    def do(self, now: int) -> None:
        """Do all events that are due at the time `now`."""
        heap, moves, acks = self._heap, self.moves, self.acks
        # Each move puts the bot's next one at the end of its queue, if they are done in order.
        while True:
            if moves and not (heap and heap[0][0] < moves[0][0]):
                if moves[0][0] > now:
                    break
                due, what, bot, argument = moves.popleft()
            elif heap and heap[0][0] <= now:
                due, _, what, bot, argument = heapq.heappop(heap)
            else:
                break
            what(bot, due, argument)
        while acks and acks[0][0] <= now:
            due, what, bot, argument = acks.popleft()
            what(bot, due, argument)
