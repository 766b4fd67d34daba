"""How players get to the worker or machine that the plan (districts.py) wants them at.

How a node learns the plan, and how a player goes from one place to another, is what the subclasses
in server/workers/migration.py and router.py add.
"""

import random
from collections.abc import Set
from typing import Final, Generic

from flatlands.server.cluster.districts import Partition, Shard, shard_of
from flatlands.server.players.resident import Resident
from flatlands.server.players.residents import Residents
from flatlands.server.runtime.loop import Loop
from flatlands.server.runtime.timers import TimerQueue
from flatlands.world.grid import Square

#: The squares around a player. The player stays while one of them is still served here, so that a
#: player that walks back and forth across a line is not moved back and forth.
SQUARES_AROUND: Final = (0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)

#: The most turns in which all players are looked at.
PLACE_TURNS: Final = 60


class Placement(Generic[Shard]):
    """Moves the players of this node to where a plan wants them: the base of Migration (workers)
    and Router (machines).

    `here` is the shard of this node. Each player is looked at within `within` ms of a change of the
    plan, and again after as many ms if it could not be moved.
    """

    def __init__(self, here: Shard, within: int, residents: Residents, loop: Loop) -> None:
        self.here: Shard = here
        #: The plan, None before there is one, and the shards that take players.
        self.plan: Partition[Shard] | None = None
        self.takes: Set[Shard] = frozenset()
        #: The shards that are full. Once that has lasted for a second, they take no players either.
        self.full: Set[Shard] = frozenset()
        self._within = within
        self._residents = residents
        self._loop = loop
        #: Players that could not be moved, until they are looked at again.
        self._again = TimerQueue(loop, lambda resident, _due: self.relocate_now(resident))

    def learn(self, plan: Partition[Shard] | None, takes: Set[Shard]) -> None:
        """Follow a plan and the shards that take players: look at all players if either is new."""
        if (plan, takes) != (self.plan, self.takes):
            self.plan, self.takes = plan, takes
            residents = list(self._residents.by_id.values())
            at_once = len(residents) // PLACE_TURNS + 1
            self._loop.schedule_batches(
                residents, at_once, self._within // PLACE_TURNS, self.relocate_now
            )

    def _shard_of(self, square: Square, id: int) -> Shard | None:
        """Return the shard that serves a player in a square, or None if there is no plan."""
        return None if self.plan is None else shard_of(self.plan, square, id)

    def elsewhere(self, square: Square, id: int) -> Shard | None:
        """Return the other shard that serves a player in a square and takes it, or None."""
        to = self._shard_of(square, id)
        return to if to != self.here and to in self.takes and to not in self.full else None

    def another(self) -> Shard | None:
        """Return any other shard that takes players and has room, or None."""
        others = sorted(self.takes - self.full - {self.here})
        return random.choice(others) if others else None

    def belongs(self, resident: Resident) -> bool:
        """Return whether a player is where the plan wants it."""
        return self._shard_of(resident.square, resident.id) in (None, self.here)

    def relocate_now(self, resident: Resident) -> None:
        """Move a player that has a session, if it belongs elsewhere."""
        to = self.elsewhere(resident.square, resident.id)
        if to is not None and resident.session is not None:
            self.move(resident, to)

    def relocate(self, resident: Resident) -> None:
        """Move a player that has a session, if it has walked well into another district. This
        should be called every few seconds."""
        column, row = resident.square
        if all(
            self.elsewhere((column + c, row + r), resident.id) is not None
            for c, r in SQUARES_AROUND
        ):
            self.relocate_now(resident)

    def move(self, resident: Resident, to: Shard) -> None:
        """Let a player go on at another shard; call `try_again` if that is impossible just now."""
        raise NotImplementedError

    def try_again(self, resident: Resident) -> None:
        """Place a player later, since it could not be moved just now."""
        self._again.put(resident, self._loop.now() + self._within)
