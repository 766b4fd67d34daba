"""How busy this process is with its players, and where a line divides them.

It tells the supervisor (migration.py) and the other machines (router.py). It never decides what
follows from it.
"""

import time
from collections.abc import Callable
from typing import Final

from flatlands.server.districts import Line, line
from flatlands.server.node import Node
from flatlands.server.players.resident import Resident

#: A process bears this share of a core, or this many pairs of a player and somebody that it sees,
#: in case they all begin to walk, or this share of the players that it accepts.
CORE: Final = 0.6
PAIRS: Final = 500_000
SEATS: Final = 0.9

#: The share of the CPU time of the last second in what counts: shorter bursts move nobody.
SMOOTH: Final = 0.4


class Burden:
    """How busy this process is. `capacity` is the number of players that the node accepts."""

    def __init__(self, node: Node, capacity: int) -> None:
        self._node = node
        self._capacity = capacity
        #: At 1 it has as much to do as one should have.
        self.busy = 0.0
        #: The share of a core that this process has used lately; the CPU time that it had used when
        #: that was measured, and when that was.
        self._cpu = 0.0
        self._measured = time.process_time(), time.monotonic()

    def look(self) -> None:
        """Find out how busy it is. It should be called once a second."""
        (used, then), now = self._measured, time.monotonic()
        if now - then > 0.5:
            self._measured = time.process_time(), now
            self._cpu += ((self._measured[0] - used) / (now - then) - self._cpu) * SMOOTH
        seats = self._node.hub.screens_holding / self._capacity
        self.busy = max(self._cpu / CORE, self._pairs() / PAIRS, seats / SEATS)

    def _pairs(self) -> int:
        squares = self._node.replicas.squares
        number = {square: len(heard.replica.players) for square, heard in squares.items()}
        return sum(
            screens * sum(number.get(square, 0) for square in rect.squares())
            for rect, screens in self._node.hub.groups()
        )

    def line(self, belongs: Callable[[Resident], bool]) -> Line | None:
        """Return a line that divides its players that belong here; None if it is not busy, or there
        is none."""
        if self.busy <= 1:
            return None
        residents = self._node.residents.by_id.values()
        return line([r.square for r in residents if r.screen is not None and belongs(r)])
