"""Notices that players of this node come near to what lies there, for a game that wants to know.

The moment is computed when a leg begins, and when other things lie in a square, so nothing ever
runs over all players. Players without a connection touch nothing. This module never decides what
follows.
"""

from collections.abc import Callable, Mapping
from math import ceil, sqrt
from typing import Any, Final

from flatlands.server.agenda import Agenda
from flatlands.server.loop import Loop
from flatlands.server.players.resident import Resident
from flatlands.server.squares.hub import Hub
from flatlands.server.squares.square import HeardSquare
from flatlands.world.grid import Grid, Square
from flatlands.world.things import Thing
from flatlands.world.track import NEVER, UNIT, Track

#: A player has gone away from a thing once it is so many units farther away than its reach.
AWAY: Final = UNIT // 4

#: ms after which is looked again whether a walk is certain.
LOOK_AGAIN: Final = 50


class Touches:
    """See the module. `reaches` has from how many units each kind of things is touched, and
    `on_touch` is called with a resident, a square and the thing there. `squares` are those that
    this node receives, and `residents` its players by their ids. `certain` returns the node time in
    ms up to which a resident's walk is certain."""

    def __init__(
        self,
        loop: Loop | Any,
        grid: Grid,
        hub: Hub,
        squares: dict[Square, HeardSquare],
        residents: dict[int, Resident],
        reaches: Mapping[int, int],
        on_touch: Callable[[Resident, Square, Thing], object],
        certain: Callable[[Resident], int],
    ) -> None:
        self._loop = loop
        self._span = grid.span
        self._hub = hub
        self._squares = squares
        self._residents = residents
        self._reaches = dict(reaches)
        self._most = max(self._reaches.values())
        self._on_touch = on_touch
        self._certain = certain
        #: Resident -> what it comes near to next, and the square in which that lies.
        self._next: dict[Resident, tuple[Square, Thing]] = {}
        #: Resident -> the ids and versions of what it is near to, and has touched.
        self._touched: dict[Resident, set[tuple[str, int]]] = {}
        self._due = Agenda(loop, self._come)

    def follow(self, resident: Resident, track: Track, since: int) -> None:
        """Find out what a resident comes near to first on a track, from a time in ms on."""
        if resident.screen is None:
            return
        x, y = track.at(since)
        dx, dy = track.x + track.dx - x, track.y + track.dy - y
        lasts = max(track.end - since, 0)
        soonest = NEVER
        touched, still = self._touched.pop(resident, None), set()
        for square, thing in self._beside(x, y, x + dx, y + dy):
            away_x = x - thing.x - square[0] * self._span
            away_y = y - thing.y - square[1] * self._span
            reach = self._reaches[thing.kind]
            key = thing.id, thing.version
            if touched is not None and key in touched:
                left = reach + AWAY
                if away_x * away_x + away_y * away_y <= left * left:
                    still.add(key)
                    continue
            ms = _comes_within(away_x, away_y, dx, dy, lasts, reach)
            if ms < soonest:
                soonest = ms
                self._next[resident] = square, thing
        if still:
            self._touched[resident] = still
        if soonest == NEVER:
            self._due.drop(resident)
        else:
            self._due.put(resident, since + soonest)

    def _beside(self, x0: int, y0: int, x1: int, y1: int) -> list[tuple[Square, Thing]]:
        """Return what can be touched in the squares around a box."""
        most, span, found = self._most, self._span, []
        rows = range((min(y0, y1) - most) // span, (max(y0, y1) + most) // span + 1)
        for column in range((min(x0, x1) - most) // span, (max(x0, x1) + most) // span + 1):
            for row in rows:
                heard = self._squares.get((column, row))
                if heard is not None and heard.things.any:
                    for thing in heard.things.lying():
                        if thing.kind in self._reaches:
                            found.append(((column, row), thing))
        return found

    def changed(self, square: Square) -> None:
        """Take that other things lie in a square now."""
        now, span, most = self._loop.now(), self._span, self._most
        left, top = square[0] * span - most, square[1] * span - most
        right, bottom = left + span + 2 * most, top + span + 2 * most
        for screen in self._hub.screens((square,)):
            resident = self._residents.get(screen.player or 0)
            if resident is None:
                continue
            track = resident.track
            x, y = track.at(now)
            far_x, far_y = track.x + track.dx, track.y + track.dy
            beside = max(x, far_x) < left or min(x, far_x) > right
            if not (beside or max(y, far_y) < top or min(y, far_y) > bottom):
                self.follow(resident, track, now)

    def drop(self, resident: Resident) -> None:
        """Forget a resident, which is not at this node any more."""
        self._touched.pop(resident, None)
        self._next.pop(resident, None)
        self._due.drop(resident)

    def _come(self, resident: Resident, due: int) -> None:
        square, thing = self._next[resident]
        if resident.screen is None:
            return
        if self._certain(resident) < due:
            self._due.put(resident, self._loop.now() + LOOK_AGAIN)
            return
        heard = self._squares.get(square)
        if heard is not None and heard.things.get(thing.id) == thing:
            self._touched.setdefault(resident, set()).add((thing.id, thing.version))
            self._on_touch(resident, square, thing)
        self.follow(resident, resident.track, due)


def _comes_within(x: int, y: int, dx: int, dy: int, lasts: int, reach: int) -> int:
    """Return after how many ms who is at (x, y), and goes by (dx, dy) units within `lasts` ms, is
    within `reach` units of (0, 0); NEVER if it never is.

    Its distance d is that of a straight line: d^2 = (x + dx s)^2 + (y + dy s)^2, for s from 0 to 1,
    and the smaller root of d^2 = reach^2 is when it comes.
    """
    c = x * x + y * y - reach * reach
    if c <= 0:
        return 0
    b = x * dx + y * dy
    if b >= 0:
        return NEVER
    a = dx * dx + dy * dy
    inside = b * b - a * c
    if inside < 0:
        return NEVER
    part = (-b - sqrt(inside)) / a
    return ceil(part * lasts) if part <= 1 else NEVER
