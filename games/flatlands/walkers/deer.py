"""Deer: computer players that graze on a meadow, flee from players, and gather again.

A deer looks only at squares that its node is subscribed to anyway, and only at the few around it.
People of the herd do not frighten it: they pass all the time.
"""

import math
import random
from collections.abc import Iterator

from flatlands.games.flatlands.walkers.kinds import MEADOWS
from flatlands.games.flatlands.walkers.stage import Stage, is_person
from flatlands.server.players.resident import Resident
from flatlands.server.players.spots import Position
from flatlands.world.terrain import GRASS, Terrain
from flatlands.world.track import UNIT, Goal

DEER_PER_MEADOW = 5
#: No meadow is nearer to the origin.
MEADOW_NEAREST_TILES = 10
#: The first meadow is no farther from the origin.
MEADOW_FARTHEST_TILES = 24
#: Each next meadow may be so much farther away than the one before.
MEADOW_FARTHER_TILES = 3
#: The tiles of grass to each side of a meadow's middle, on which its deer graze.
MEADOW_TILES = 3

#: So many places are tried to find a meadow.
MEADOW_TRIES = 400
#: So many goals are tried around each place to graze at.
GRAZE_TRIES = 4

#: The least and the most time for which a deer stands between two steps, as for people.
REST_MS = (600, 1800)

#: How often a deer looks around.
LOOK_EVERY_MS = 400

#: A deer flees if a player is so near.
SHY_UNITS = 4 * UNIT
#: The least and the most distance that a deer flees.
FLIGHT_UNITS = (6 * UNIT, 9 * UNIT)
#: While a deer flees it turns at most once in this time.
TURN_AFTER_MS = 1000

#: The angles to the straight way out that it tries, one after the other, if that is barred.
FLIGHT_ANGLES = (0.0, math.pi / 3, -math.pi / 3, math.pi * 2 / 3, -math.pi * 2 / 3)

#: A deer that has seen nobody close for this long is calm, and goes back to its meadow.
CALM_AFTER_MS = 5000


def group(number: int) -> int:
    """Return the group, from 0, of deer `number`, from 0: each group has its own meadow."""
    return number // DEER_PER_MEADOW % MEADOWS


def meadow(terrain: Terrain, group: int) -> Position:
    """Return the middle of the meadow of a group of deer; it is the same at all nodes."""
    chance = random.Random(f"meadow {terrain.seed} {group}")
    far = MEADOW_FARTHEST_TILES + group * MEADOW_FARTHER_TILES
    for _ in range(MEADOW_TRIES):
        column, row = chance.randint(-far, far), chance.randint(-far, far)
        if MEADOW_NEAREST_TILES**2 <= column * column + row * row <= far * far and all(
            terrain.kind(x, y) == GRASS
            for x in range(column - MEADOW_TILES, column + MEADOW_TILES + 1)
            for y in range(row - MEADOW_TILES, row + MEADOW_TILES + 1)
        ):
            return column * UNIT + UNIT // 2, row * UNIT + UNIT // 2
    # The plaza is always free.
    return UNIT // 2, UNIT // 2


class Grazer:
    """What a deer does. `home` is the middle of its meadow. Times are node time in ms."""

    def __init__(self, stage: Stage, resident: Resident, home: Position) -> None:
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
        danger = next(filter(is_person, stage.near(here, SHY_UNITS)), None)
        if danger is not None:
            self._calm = now + CALM_AFTER_MS
            if not resident.walks(now) or now >= self._fled + TURN_AFTER_MS:
                self._fled = now
                far = random.randint(*FLIGHT_UNITS)
                stage.stroll(resident, stage.ways_out(here, stage.at(danger), far, FLIGHT_ANGLES))
                track = resident.track
                self._refuge = track.x + track.dx, track.y + track.dy
                self._steps = track.end + random.randint(*REST_MS)
        elif not resident.walks(now) and now >= self._steps:
            middle = self._home if now >= self._calm else self._refuge
            stage.stroll(resident, self._steps_around(middle, here))
            self._steps = resident.track.end + random.randint(*REST_MS)
        return now + LOOK_EVERY_MS

    def _steps_around(self, middle: Position, here: Position) -> Iterator[Goal]:
        """Yield places to graze at, around `middle` and then around `here`: if the way to its
        meadow is barred, the deer goes some other way first."""
        reach = MEADOW_TILES * UNIT
        for x, y in (middle, here):
            for _ in range(GRAZE_TRIES):
                yield Goal(x + random.randint(-reach, reach), y + random.randint(-reach, reach))
