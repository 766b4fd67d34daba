"""Computer players who wander near the plaza, so that the world is never empty.

They are ordinary residents: what they do is published like anyone's. They look at nothing.
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

#: Tiles from the origin within which they wander.
RANGE = 28

#: They stand between walks for so many ms.
REST = (800, 6000)

#: One in so many walks begins with something said; of many, no more than of so many.
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
        """Leave the game: nobody brings a computer player back."""
        self._alarm.set(None)
        self._residents.leave(self._resident)

    def _walk(self) -> None:
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
    """Let `count` computer players join, each with a name of its own as far as they go."""
    names = random.sample(NAMES, len(NAMES))
    says_one_in = max(count, SAYS_ONE_IN)
    return [
        Walker(loop, residents, movement, names[i % len(names)], says_one_in)
        for i in range(count)
    ]
