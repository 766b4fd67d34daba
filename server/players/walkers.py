"""Computer players who wander near the plaza, so that the world is never empty.

They are ordinary residents, and what they do is published like everything else. They have no
screen, and never react to other players.
"""

import random

from server.loop import Alarm, Loop
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

#: The least and the most ms for which they stand between two walks.
REST = (800, 6000)

#: A computer player says something at the beginning of one in so many walks. If there are more of
#: them than this number, each says less, so that all together say no more.
SAYS_ONE_IN = 14


class Walker:
    """One computer player."""

    def __init__(
        self, loop: Loop, residents: Residents, movement: Movement, name: str, says_one_in: int
    ) -> None:
        self._loop = loop
        self._residents = residents
        self._movement = movement
        self._says_one_in = says_one_in
        self._number = 0
        self._alarm: Alarm = loop.alarm(self._walk)
        self._resident: Resident = residents.join(name, residents.spot())
        self._walk()

    def leave(self) -> None:
        """Leave the game."""
        self._alarm.set(None)
        self._residents.leave(self._resident)

    def _walk(self) -> None:
        """Walk to a random goal, perhaps say something, and plan the next walk."""
        resident, now = self._resident, self._loop.now()
        self._number += 1
        goal = Goal(random.randint(-RANGE, RANGE) * UNIT, random.randint(-RANGE, RANGE) * UNIT)
        self._movement.act(resident, self._number, now, goal)
        if random.randrange(self._says_one_in) == 0:
            self._residents.say(resident, random.choice(SAYINGS))
        self._alarm.set(max(resident.track.end, now) + random.randint(*REST))


def start_walkers(
    loop: Loop, residents: Residents, movement: Movement, count: int
) -> list[Walker]:
    """Let `count` computer players join. Their names differ as long as there are enough names."""
    names = random.sample(NAMES, len(NAMES))
    says_one_in = max(count, SAYS_ONE_IN)
    return [
        Walker(loop, residents, movement, names[i % len(names)], says_one_in)
        for i in range(count)
    ]
