"""How busy this process is with its players, and where a line would divide them.

migration.py passes it to the supervisor, router.py to the other machines.
"""

import time
from collections.abc import Callable
from typing import Final

from flatlands.server.cluster.districts import Line, line
from flatlands.server.node import Node
from flatlands.server.players.resident import Resident
from flatlands.server.squares.peers import NodeLoad
from flatlands.server.web.metrics import memory

#: The share of a core that a process can bear.
CORE_SHARE: Final = 0.6

#: The pairs of a player and somebody that it sees that a process can bear, in case all of them
#: begin to walk.
PAIRS_MOST: Final = 500_000

#: The share of the players that it accepts that a process can bear.
SEATS_SHARE: Final = 0.9

#: The weight of the last second in the mean of the CPU time, so that short bursts move nobody.
SMOOTH_SHARE: Final = 0.4


class LoadMeter:
    """Measures how busy this process is. `capacity` is the number of players that the node
    accepts."""

    def __init__(self, node: Node, capacity: int) -> None:
        self._node = node
        self._capacity = capacity
        #: How busy it is: at 1 it has as much to do as a process should have.
        self.busy = 0.0
        #: The share of a core that this process has used lately; the CPU time that it had used when
        #: that was measured, and when that was.
        self._cpu = 0.0
        self._measured = time.process_time(), time.monotonic()

    def measure(self) -> None:
        """Measure how busy it is. This should be called once a second."""
        (used, then), now = self._measured, time.monotonic()
        if now - then > 0.5:
            self._measured = time.process_time(), now
            self._cpu += ((self._measured[0] - used) / (now - then) - self._cpu) * SMOOTH_SHARE
        seats = self._node.hub.sessions_holding / self._capacity
        self.busy = max(self._cpu / CORE_SHARE, self._pairs() / PAIRS_MOST, seats / SEATS_SHARE)

    def _pairs(self) -> int:
        squares = self._node.subscriptions.by_square
        number = {
            square: len(subscription.replica.players) for square, subscription in squares.items()
        }
        return sum(
            sessions * sum(number.get(square, 0) for square in rect.squares())
            for rect, sessions in self._node.hub.groups()
        )

    def line(self, belongs: Callable[[Resident], bool]) -> Line | None:
        """Return a line that divides those of its players that belong here; None if it is not busy,
        or if there is no such line."""
        if self.busy <= 1:
            return None
        residents = self._node.residents.by_id.values()
        return line([r.square for r in residents if r.session is not None and belongs(r)])

    def of_node(self, sessions: int) -> NodeLoad:
        """Return the load of this process, which has this many sessions, for its heartbeats."""
        router = self._node.router
        machine = router.machine(self.busy, self.line(router.belongs))
        return NodeLoad(memory(), sessions, len(self._node.subscriptions.by_square), machine)
