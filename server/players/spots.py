"""Where players begin: on the plaza, beside a friend, or spread over squares for a load test.

It looks at the ground, and of the players on it only at those that it is given.
"""

import math
import random
from collections.abc import Collection
from typing import Any

from flatlands.world.grid import Grid, Square
from flatlands.world.terrain import PLAZA_WITHIN
from flatlands.world.track import UNIT, Goal, Land, leg

#: The distances from a friend at which a guest begins: the two do not overlap, and see each other.
GUEST_NEAREST_TILES = 1.2
GUEST_FARTHEST_TILES = 2.5

#: A guest begins at least this far from all others, as far as this node has them.
GUEST_APART_TILES = 0.9

#: How many random places are tried in a square before the next square, and around a friend before
#: the friend's own place.
SPOT_TRIES = 32

#: A position (x, y) in units.
Position = tuple[int, int]


class Spots:
    """Chooses places for players to begin: they are not blocked, and one can go on from there.

    If `spread` is 0, newcomers begin on the plaza. Otherwise it is a number of squares around the
    origin, in rows of ceil(sqrt(spread)), and each newcomer begins in the next one of them. With a
    `ring`, these squares lie on a circle instead, that many tiles from the origin.
    """

    def __init__(self, grid: Grid, terrain: Land, spread: int, ring: int = 0) -> None:
        self._grid = grid
        self._ring = ring
        self.terrain: Any = terrain
        self._spread = spread
        self._turn = random.randrange(spread) if spread else 0

    def set_terrain(self, terrain: Land) -> None:
        """Choose places on another ground from now on."""
        self.terrain = terrain

    def newcomer(self) -> Position:
        """Return a place for a player that is new to the world."""
        for _ in range(self._spread):
            self._turn = (self._turn + 1) % self._spread
            column, row = self._square(self._turn)
            span = self._grid.span
            place = self._free(column * span, row * span, span - 1, span - 1)
            if place is not None:
                return place
        return self.plaza()

    def _square(self, turn: int) -> Square:
        if not self._ring:
            return spread_square(turn, self._spread)
        angle, away = math.tau * turn / self._spread, self._ring * UNIT
        return self._grid.square(round(away * math.cos(angle)), round(away * math.sin(angle)))

    def plaza(self) -> Position:
        """Return a place on the plaza at the origin."""
        reach = (PLAZA_WITHIN - 2) * UNIT
        while True:
            x, y = random.randint(-reach, reach), random.randint(-reach, reach)
            if x * x + y * y <= reach * reach:
                return x, y

    def beside(self, x: int, y: int, others: Collection[Position] = ()) -> Position:
        """Return a place beside a player that is, or was, at (x, y), and away from `others`.

        The player could go straight there. In a crowd it is the place that is farthest from all of
        them. If no such place is found around (x, y) it is (x, y) itself, or a place on the plaza
        if that is blocked.
        """
        best, most = None, -1.0
        for _ in range(SPOT_TRIES):
            angle = random.uniform(0, math.tau)
            away = random.uniform(GUEST_NEAREST_TILES, GUEST_FARTHEST_TILES) * UNIT
            place = x + round(away * math.cos(angle)), y + round(away * math.sin(angle))
            room = min((math.dist(place, other) for other in others), default=math.inf)
            if room > most and self._is_free(place) and is_straight(self.terrain, (x, y), place):
                if room >= GUEST_APART_TILES * UNIT:
                    return place
                best, most = place, room
        if best is not None:
            return best
        return (x, y) if self._is_free((x, y)) else self.plaza()

    def _free(self, x: int, y: int, width: int, height: int) -> Position | None:
        """Return a free place from (x, y) to (x + width, y + height), or None if none is found.

        It is not on high ground, from which there may be no way down.
        """
        for _ in range(SPOT_TRIES):
            place = x + random.randint(0, width), y + random.randint(0, height)
            if self._is_free(place) and not self.terrain.high(place[0] // UNIT, place[1] // UNIT):
                return place
        return None

    def _is_free(self, place: Position) -> bool:
        return not self.terrain.blocked(place[0] // UNIT, place[1] // UNIT)


def is_straight(terrain: Land, start: Position, end: Position) -> bool:
    """Return whether a player can go straight from one place to another; both are in units."""
    track = leg(terrain, *start, Goal(*end), 0)
    return track is not None and (track.x + track.dx, track.y + track.dy) == end


def spread_square(turn: int, spread: int) -> Square:
    """Return square number `turn` (0 to `spread` - 1) of those that newcomers are spread over."""
    side = math.isqrt(spread - 1) + 1
    row, column = divmod(turn, side)
    return column - side // 2, row - side // 2
