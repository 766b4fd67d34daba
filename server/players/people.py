"""The people of the herd: computer players who wander near the plaza, so that the world is never
empty.

What they do is published like everything else. They never react to other players.
"""

import random
from collections.abc import Iterator

from server.players.movement import Movement
from server.players.resident import Resident
from server.players.residents import Residents
from world.track import UNIT, Goal

NAMES = (
    "Ash", "Birch", "Bramble", "Clover", "Fern", "Finch", "Hazel", "Heron", "Ivy", "Juniper",
    "Lark", "Linden", "Maple", "Moss", "Otter", "Pike", "Reed", "Robin", "Rook", "Rowan",
    "Sage", "Sorrel", "Teal", "Thistle", "Willow", "Wren",
)  # fmt: skip

SAYINGS = (
    "Lovely day for a walk.",
    "The paths go on for ever.",
    "Press G to see the grid!",
    "Anyone seen the lake?",
    "Hello there!",
    "I like it here.",
)

#: How far from the origin they walk along each axis, in tiles.
RANGE = 28

#: The least and the most ms for which they stand between two walks. With the most, and the time
#: that it takes other nodes to notice that theirs is dead (herd.py), nobody stands for over 6 s.
REST = (600, 1800)

#: Goals that are tried, since some cannot be reached from everywhere.
TRIES = 8

#: A computer player says something at the beginning of one in so many walks. If there are more of
#: them than this number, each says less, so that all together say no more.
SAYS_ONE_IN = 14


def name(number: int) -> str:
    """Return the name of person `number`, from 0. They differ as long as there are enough names."""
    return NAMES[number % len(NAMES)]


class Person:
    """A computer player who wanders about; `count` is how many there are in the world."""

    def __init__(
        self, resident: Resident, residents: Residents, movement: Movement, count: int
    ) -> None:
        self.resident = resident
        self._residents = residents
        self._movement = movement
        self._says_one_in = max(count, SAYS_ONE_IN)

    def act(self, now: int) -> int:
        """Walk to a random goal, and perhaps say something; return when the next walk is due."""
        self._movement.stroll(self.resident, self._goals())
        if random.randrange(self._says_one_in) == 0:
            self._residents.say(self.resident, random.choice(SAYINGS))
        return max(self.resident.track.end, now) + random.randint(*REST)

    def _goals(self) -> Iterator[Goal]:
        for _ in range(TRIES):
            yield Goal(random.randint(-RANGE, RANGE) * UNIT, random.randint(-RANGE, RANGE) * UNIT)
