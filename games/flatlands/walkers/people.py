"""The people of the herd: computer players who live near the plaza, so that nobody is alone.

A person wanders about, and breaks off when there is something to do for another player: an errand.
It never decides which: company.py does.
"""

import random
from collections.abc import Callable, Generator, Iterator

from flatlands.games.flatlands.walkers.stage import Stage
from flatlands.server.players.resident import Resident
from flatlands.world.track import UNIT, Goal

NAMES = tuple(
    "Ash Birch Bramble Clover Fern Finch Hazel Heron Ivy Juniper Lark Linden Maple Moss Otter Pike "
    "Reed Robin Rook Rowan Sage Sorrel Teal Thistle Willow Wren".split()
)

#: Most walks go no farther from the origin, along each axis.
NEAR_TILES = 12
#: No walk goes farther from the origin, along each axis.
RANGE_TILES = 28
#: One walk in so many may go farther than NEAR_TILES.
FAR_ONE_IN = 4

#: The least and the most time for which they stand between two walks. With the most, and the time
#: until another node keeps the herd of a dead one (lease.py), nobody stands for over 6 s.
REST_MS = (600, 1800)

#: How many goals are tried, since some cannot be reached from everywhere.
GOAL_TRIES = 8

#: What a person does for others, step by step: it yields the node time in ms of its next step.
Errand = Generator[int, None, None]


def name(number: int) -> str:
    """Return the name of person `number`, from 0. They differ as long as there are enough names."""
    return NAMES[number % len(NAMES)]


class Person:
    """A computer player who wanders about; `mutter` returns what it says to nobody at the beginning
    of a walk, or None."""

    def __init__(
        self, stage: Stage, resident: Resident, mutter: Callable[[Resident], str | None]
    ) -> None:
        self.resident = resident
        self._stage = stage
        self._mutter = mutter
        #: What it does instead of wandering, or None.
        self.errand: Errand | None = None
        #: Until when it walks to its goal and stands there, in node time.
        self._until = 0
        #: Until when it stands still, whatever it was about to do, unless it is on an errand.
        self._stands = 0

    def begin(self, errand: Errand) -> None:
        """Go on an errand from the next step on, instead of the present one, if there is one."""
        if self.errand is not None:
            self.errand.close()
        self.errand = errand

    def stand(self, until: int) -> None:
        """Do nothing but an errand before a node time: one is about to begin."""
        self._stands = until

    def act(self, now: int) -> int:
        """Go on with the errand, or walk to a random goal and perhaps say something; return when
        something is due next."""
        if self.errand is not None:
            due = next(self.errand, None)
            if due is not None:
                return due
            self.errand = None
        if now < self._stands:
            return self._stands
        if now >= self._until:
            self._wander()
            self._until = max(self.resident.track.end, now) + random.randint(*REST_MS)
        return self._until

    def _wander(self) -> None:
        self._stage.stroll(self.resident, self._goals())
        text = self._mutter(self.resident)
        if text is not None:
            self._stage.residents.say(self.resident, text)

    def _goals(self) -> Iterator[Goal]:
        far = RANGE_TILES if random.randrange(FAR_ONE_IN) == 0 else NEAR_TILES
        for _ in range(GOAL_TRIES):
            yield Goal(random.randint(-far, far) * UNIT, random.randint(-far, far) * UNIT)
