"""Deer: computer players that graze on a meadow, flee from players, and gather again.

A deer looks only at squares that its node is subscribed to anyway, and only at the few around it.
People of the herd do not frighten it: they pass all the time.
"""

import math
import random
from collections.abc import Iterator

from flatlands.games.flatlands.walkers.stage import Stage, is_person
from flatlands.server.players.resident import Resident
from flatlands.server.players.spots import Place
from flatlands.world.terrain import GRASS, Terrain
from flatlands.world.track import UNIT, Goal

NAME = "Deer"

#: How many deer share a meadow, and how many meadows there are. More deer make meadows fuller.
TOGETHER, MEADOWS = 5, 16

#: The least and the most distance of the first meadow from the origin in tiles, and how much
#: farther away each next one may be.
NEAREST, FARTHEST, FARTHER = 10, 24, 3

#: The tiles of grass to each side of a meadow's middle, on which its deer graze.
WIDTH = 3

#: Places that are tried for a meadow, and goals that are tried around each place to graze at.
MEADOW_TRIES, TRIES = 400, 4

#: The least and the most ms for which a deer stands between two steps, as for people.
REST = (600, 1800)

#: How often a deer looks around, in ms.
LOOK_EVERY = 400

#: How near a player must be for a deer to flee, and the least and the most that it flees, in units.
#: While it flees it turns at most once in TURN_AFTER ms.
SHY, FLIGHT, TURN_AFTER = 4 * UNIT, (6 * UNIT, 9 * UNIT), 1000

#: The angles to the straight way out that it tries, one after the other, if that is barred.
TURNS = (0.0, math.pi / 3, -math.pi / 3, math.pi * 2 / 3, -math.pi * 2 / 3)

#: ms after which a deer that has seen nobody close is calm, and goes back to its meadow.
CALM_AFTER = 5000


def group(number: int) -> int:
    """Return the group, from 0, of deer `number`, from 0: each group has its own meadow."""
    return number // TOGETHER % MEADOWS


def meadow(terrain: Terrain, group: int) -> Place:
    """Return the middle of the meadow of a group of deer; it is the same at all nodes."""
    chance = random.Random(f"meadow {terrain.seed} {group}")
    far = FARTHEST + group * FARTHER
    for _ in range(MEADOW_TRIES):
        column, row = chance.randint(-far, far), chance.randint(-far, far)
        if NEAREST**2 <= column * column + row * row <= far * far and all(
            terrain.kind(x, y) == GRASS
            for x in range(column - WIDTH, column + WIDTH + 1)
            for y in range(row - WIDTH, row + WIDTH + 1)
        ):
            return column * UNIT + UNIT // 2, row * UNIT + UNIT // 2
    # The plaza is always free.
    return UNIT // 2, UNIT // 2


class Deer:
    """Deer: computer players that graze on a meadow, flee from players, and gather again. `home` is
    the middle of its meadow. Times are node time in ms.
    """

    def __init__(self, stage: Stage, resident: Resident, home: Place) -> None:
        self.resident = resident
        self._stage = stage
        self._home = home
        #: Where it grazes until it is calm.
        self._refuge = home
        #: When it will be calm, when it last began to flee, and when it takes the next step.
        self._calm = self._fled = self._steps = 0

    def act(self, now: int) -> int:
        """Flee if somebody is close, or else graze now and then; return when to look again."""
        resident, stage = self.resident, self._stage
        here = resident.track.at(now)
        danger = next(filter(is_person, stage.near(here, SHY)), None)
        if danger is not None:
            self._calm = now + CALM_AFTER
            if not resident.walks(now) or now >= self._fled + TURN_AFTER:
                self._fled = now
                far = random.randint(*FLIGHT)
                stage.stroll(resident, stage.ways_out(here, stage.at(danger), far, TURNS))
                track = resident.track
                self._refuge = track.x + track.dx, track.y + track.dy
                self._steps = track.end + random.randint(*REST)
        elif not resident.walks(now) and now >= self._steps:
            middle = self._home if now >= self._calm else self._refuge
            stage.stroll(resident, self._steps_around(middle, here))
            self._steps = resident.track.end + random.randint(*REST)
        return now + LOOK_EVERY

    def _steps_around(self, middle: Place, here: Place) -> Iterator[Goal]:
        """Yield places to graze at, around `middle` and then around `here`: if the way to its
        meadow is barred, the deer goes some other way first."""
        reach = WIDTH * UNIT
        for x, y in (middle, here):
            for _ in range(TRIES):
                yield Goal(x + random.randint(-reach, reach), y + random.randint(-reach, reach))
