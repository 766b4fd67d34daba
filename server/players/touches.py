"""Notices when players of this node come within reach of things, for games that ask.

The moment is computed when a leg begins, when a player comes into another square, and when a thing
appears near its way, so nothing ever runs over all players. Players without a connection touch
nothing.
"""

from collections.abc import Callable, Collection, Mapping
from math import ceil, sqrt
from typing import Any, Final

from flatlands.server.players.resident import Resident
from flatlands.server.runtime.loop import Loop
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.subscription import Subscription
from flatlands.world.grid import Grid, Rect, Square
from flatlands.world.things import PlacedThing
from flatlands.world.track import NEVER_MS, UNIT, Track

#: A player has gone away from a thing once it is farther away than its reach by this much. An
#: intent may be late, and lead a player back by a tile.
WENT_AWAY_UNITS: Final = UNIT * 5 // 4

#: By how much a player may seem to be too far away from what it has just come near to, since
#: positions are whole numbers.
ROUNDED_UNITS: Final = 4

#: A thing that can be touched, with its square, its position in units from the origin, and from how
#: many units it is touched.
_Near = tuple[Square, PlacedThing, int, int, int]

#: If a walk is not certain yet, it is looked at again after this.
TOUCH_AGAIN_MS: Final = 50

#: If the game took no more calls, it is called again after this.
CALL_AGAIN_MS: Final = 1000


class Touches:
    """Computes when residents touch things, and reports it.

    `reaches` has from how many units each kind of thing is touched, and `on_touch` is called with a
    resident, a square and the thing there; it returns whether the game took the call. `present` has
    the ids of this node's players by their squares, and `residents` these players by their ids.
    `squares` are those that this node receives. `certain` returns the node time in ms up to which a
    resident's walk is certain.
    """

    def __init__(
        self,
        loop: Loop | Any,
        grid: Grid,
        present: Mapping[Square, Collection[int]],
        squares: dict[Square, Subscription],
        residents: dict[int, Resident],
        reaches: Mapping[int, int],
        on_touch: Callable[[Resident, Square, PlacedThing], bool],
        certain: Callable[[Resident], int],
    ) -> None:
        self._loop = loop
        self._span = grid.span
        self._present = present
        self._squares = squares
        self._residents = residents
        self._reaches = dict(reaches)
        self._most = max(self._reaches.values())
        self._on_touch = on_touch
        self._certain = certain
        #: The things that can be touched, by squares; squares without any are left out.
        self._there: dict[Square, list[_Near]] = {}
        #: Resident -> when it comes near to something next, and what that is.
        self._next: dict[Resident, tuple[int, list[_Near]]] = {}
        #: Resident -> id -> version of what it has touched, or then made itself, and is still near.
        #: Versions of a thing only grow.
        self._touched: dict[Resident, dict[str, int]] = {}
        self._due = TimerQueue(loop, self._come)

    def follow(self, resident: Resident, track: Track) -> None:
        """Note that a resident is about to follow a new track in place of its own."""
        if resident in self._next:
            self._settle(resident, track.start)
        self._plan(resident, track, track.start)

    def check(self, resident: Resident, since: int) -> None:
        """Note that from the time `since` on, there may be other things around a resident than when
        it was last checked."""
        self._settle(resident, since)
        self._plan(resident, resident.track, since)

    def ignore_own(self, resident: Resident, id: str, version: int) -> None:
        """Note that a resident itself has made this version of a thing. If it has touched the thing
        and is still near, it does not touch this version: so a hook that changes what is touched is
        not called again by its own change."""
        touched = self._touched.get(resident)
        if touched is not None and id in touched:
            touched[id] = version

    def _settle(self, resident: Resident, until: int) -> None:
        """Touch all that a resident has come near to on its track by a time."""
        while (following := self._next.get(resident)) is not None and following[0] <= until:
            due, near = following
            del self._next[resident]
            if resident.session is None:
                return
            x, y = resident.track.at(due)
            failed = False
            for square, thing, at_x, at_y, reach in near:
                subscription = self._squares.get(square)
                there = subscription is not None and subscription.things.get(thing.id) == thing
                if there and _is_within(x - at_x, y - at_y, reach + ROUNDED_UNITS):
                    touched = self._touched.setdefault(resident, {})
                    # It may have appeared before `ignore_own` was called.
                    if thing.version <= touched.get(thing.id, -1):
                        continue
                    touched[thing.id] = thing.version
                    if not self._on_touch(resident, square, thing):
                        touched.pop(thing.id, None)
                        failed = True
            # Each round is later than the one before, so there is a last one.
            self._plan(resident, resident.track, due + (CALL_AGAIN_MS if failed else 1))

    def _plan(self, resident: Resident, track: Track, since: int) -> None:
        """Find out what a resident comes near to first on a track, from a time in ms on."""
        beside = [] if resident.session is None else self._beside(track)
        if not beside:
            self.drop(resident)
            return
        x, y = track.at(since)
        dx, dy = track.x + track.dx - x, track.y + track.dy - y
        lasts = max(track.end - since, 0)
        soonest = NEVER_MS
        near: list[_Near] = []
        touched = self._touched.pop(resident, None)
        still: dict[str, int] | None = None
        for one in beside:
            _square, thing, at_x, at_y, reach = one
            away_x, away_y = x - at_x, y - at_y
            version = -1 if touched is None else touched.get(thing.id, -1)
            if version >= 0 and _is_within(away_x, away_y, reach + WENT_AWAY_UNITS):
                still = still or {}
                still[thing.id] = version
                if thing.version <= version:
                    continue
            ms = _comes_within(away_x, away_y, dx, dy, lasts, reach)
            if ms < soonest:
                soonest, near = ms, []
            if ms == soonest < NEVER_MS:
                near.append(one)
        if still is not None:
            self._touched[resident] = still
        if near:
            self._next[resident] = since + soonest, near
            self._due.put(resident, since + soonest)
        elif self._next.pop(resident, None) is not None:
            self._due.drop(resident)

    def _beside(self, track: Track) -> list[_Near]:
        """Return what can be touched in the squares around a track."""
        found: list[_Near] = []
        there, most, span = self._there, self._most, self._span
        x0, y0, x1, y1 = track.x, track.y, track.x + track.dx, track.y + track.dy
        first, last = (min(y0, y1) - most) // span, (max(y0, y1) + most) // span
        for column in range((min(x0, x1) - most) // span, (max(x0, x1) + most) // span + 1):
            for row in range(first, last + 1):
                if (some := there.get((column, row))) is not None:
                    found += some
        return found

    def things_changed(self, square: Square) -> None:
        """Note that the things in a square have changed, or that this node no longer receives
        it."""
        subscription, span = self._squares.get(square), self._span
        there: list[_Near] = [
            (square, thing, square[0] * span + thing.x, square[1] * span + thing.y, reach)
            for thing in (() if subscription is None else subscription.things.placed())
            if (reach := self._reaches.get(thing.kind)) is not None
        ]
        before = {thing.id: thing.version for _, thing, _, _, _ in self._there.get(square, ())}
        if there:
            self._there[square] = there
        else:
            self._there.pop(square, None)
        # Whoever comes to something that is gone notices that then.
        new = [near for near in there if before.get(near[1].id) != near[1].version]
        if new:
            self._come_to(new)

    def _come_to(self, new: list[_Near]) -> None:
        """Look again at the residents whose tracks may lead to something new. Others look when they
        come into one of the squares around it."""
        span = self._span
        left = min([x - reach for _, _, x, _, reach in new])
        right = max([x + reach for _, _, x, _, reach in new])
        top = min([y - reach for _, _, _, y, reach in new])
        bottom = max([y + reach for _, _, _, y, reach in new])
        around = Rect(left // span, top // span, right // span, bottom // span)
        for id in [id for square in around.squares() for id in self._present.get(square, ())]:
            resident = self._residents.get(id)
            if resident is None:
                continue
            track = resident.track
            x, y = track.x, track.y
            far_x, far_y = x + track.dx, y + track.dy
            beside = (x < left and far_x < left) or (x > right and far_x > right)
            if not (beside or (y < top and far_y < top) or (y > bottom and far_y > bottom)):
                self.check(resident, self._certain(resident))

    def drop(self, resident: Resident) -> None:
        """Forget a resident, which is not at this node any more."""
        self._touched.pop(resident, None)
        self._next.pop(resident, None)
        self._due.drop(resident)

    def _come(self, resident: Resident, due: int) -> None:
        certain = self._certain(resident)
        if certain < due:
            self._due.put(resident, self._loop.now() + TOUCH_AGAIN_MS)
        else:
            self._settle(resident, certain)


def _is_within(x: int, y: int, reach: int) -> bool:
    """Return whether (x, y) is within `reach` of (0, 0)."""
    return x * x + y * y <= reach * reach


def _comes_within(x: int, y: int, dx: int, dy: int, lasts: int, reach: int) -> int:
    """Return after how many ms a player at (x, y) that goes (dx, dy) units in `lasts` ms is within
    `reach` units of (0, 0); NEVER_MS if it never is.

    Its distance d is that of a straight line: d^2 = (x + dx s)^2 + (y + dy s)^2, for s from 0 to 1,
    and the smaller root of d^2 = reach^2 is when it comes.
    """
    c = x * x + y * y - reach * reach
    if c <= 0:
        return 0
    b = x * dx + y * dy
    if b >= 0:
        return NEVER_MS
    a = dx * dx + dy * dy
    inside = b * b - a * c
    if inside < 0:
        return NEVER_MS
    part = (-b - sqrt(inside)) / a
    return ceil(part * lasts) if part <= 1 else NEVER_MS
