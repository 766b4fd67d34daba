"""Notices when movers of this node come near things and other movers, for games that ask.

All that stand or walk in the squares of those movers are looked at a few times a second. Movers are
compared by their tracks, so what happens between two looks is seen too, unless one of the two has
turned meanwhile.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.movers.hosting import Hosting
from flatlands.server.players.meetings import PARTED_UNITS
from flatlands.server.players.resident import Resident
from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.subscription import Subscription
from flatlands.server.storage.kinds import Mover, Thing
from flatlands.world.contact import first_contact
from flatlands.world.events import Player
from flatlands.world.grid import Square
from flatlands.world.things import PlacedThing as Row
from flatlands.world.track import PACE_USUAL, SPEED, Track, stand

#: Time between two looks.
ENCOUNTERS_EVERY_MS: Final = 200

#: How many pairs may be compared in one look. With n times as many, the next one comes n times as
#: late.
ENCOUNTERS_A_LOOK: Final = 10_000

#: One that may be near: its id, where it is now, its track, and what makes of it what the game
#: gets.
_Other = tuple[str | int, int, int, Track, Callable[[], Thing]]

#: A cell -> all that are in it.
_Cells = dict[tuple[int, int], list[_Other]]


class Encounters:
    """Looks for what movers of some kinds come near to: `reaches` are those of the kinds, in units,
    by their numbers, and `span` is the side of a square. `thing_of` returns the thing of which a
    square has the row. `came_near` is called with a mover and the other one; it returns whether the
    game took the call."""

    def __init__(
        self,
        loop: Loop,
        squares: Mapping[Square, Subscription],
        hosting: Hosting,
        span: int,
        reaches: Mapping[int, int],
        thing_of: Callable[[Square, Row], Thing],
        came_near: Callable[[Mover, Thing], bool],
    ) -> None:
        self._loop, self._squares, self._hosting, self._span = loop, squares, hosting, span
        self._reaches, self._thing_of, self._came_near = reaches, thing_of, came_near
        #: Number of a mover of this node -> the ids of those that it is near.
        self._near: dict[int, set[str | int]] = {}
        self._looked = loop.now()
        self._pairs = 0
        self._next = loop.timer(self._check)
        self._next.set(self._looked + ENCOUNTERS_EVERY_MS)

    def _check(self) -> None:
        try:
            self._compare(self._loop.now())
        finally:
            later = ENCOUNTERS_EVERY_MS * (1 + self._pairs // ENCOUNTERS_A_LOOK)
            self._next.set(self._loop.now() + later)

    def _compare(self, now: int) -> None:
        self._pairs = 0
        since, self._looked = max(self._looked, now - 2 * ENCOUNTERS_EVERY_MS), now
        decided = [one.resident for one in self._hosting.decided()]
        own = [one for one in decided if one.values[0] in self._reaches]
        before, self._near = self._near, {}
        if not own:
            return
        squares = {one.square for one in own}
        around = {(c + dc, r + dr) for c, r in squares for dc in (-1, 0, 1) for dr in (-1, 0, 1)}
        known = [one for one in map(self._squares.get, around) if one is not None]
        walking = _walking(known)
        # How far any of them can have come since the last look.
        pace = max([one.pace for one in (*own, *walking)])
        step = SPEED * pace * (now - since) // (1000 * PACE_USUAL)
        far = max(self._reaches.values()) + PARTED_UNITS + 2 * step
        cells: _Cells = {}
        thing_of, view = self._thing_of, self._hosting.view
        for square in known:
            left, top = (at * self._span for at in square.square)
            for row in square.things.placed():
                x, y = left + row.x, top + row.y
                other: _Other = row.id, x, y, stand(x, y, 0), partial(thing_of, square.square, row)
                cells.setdefault((x // far, y // far), []).append(other)
                self._pairs += 1
        for player in walking:
            x, y = player.track.at(now)
            other = player.id, x, y, player.track, partial(view, player)
            cells.setdefault((x // far, y // far), []).append(other)
        for resident in own:
            near = self._look(resident, cells, far, since, now, before.get(resident.id, set()))
            if near:
                self._near[resident.id] = near

    def _look(
        self,
        resident: Resident,
        cells: _Cells,
        far: int,
        since: int,
        now: int,
        before: set[str | int],
    ) -> set[str | int]:
        """Report what a mover has come near to since the last look; return all that it is near."""
        x, y = resident.track.at(now)
        reach, near = self._reaches[resident.values[0]], set[str | int]()
        beside = [(x // far + i, y // far + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        for there in filter(None, map(cells.get, beside)):
            self._pairs += len(there)
            for id, at_x, at_y, track, view in there:
                away_x, away_y = at_x - x, at_y - y
                if id == resident.id or abs(away_x) > far or abs(away_y) > far:
                    continue
                if id in before:
                    if away_x**2 + away_y**2 <= (reach + PARTED_UNITS) ** 2:
                        near.add(id)
                    continue
                # Where they were before these tracks is not stored any more.
                begun = min(max(since, resident.track.start, track.start), now)
                if first_contact(resident.track, track, reach, begun, now) is not None:
                    if self._came_near(self._hosting.view(resident), view()):
                        near.add(id)
        return near


def _walking(squares: Iterable[Subscription]) -> list[Player]:
    """Return the movers in some squares."""
    found: dict[int, Player] = {}
    for square in squares:
        for id, player in square.replica.players.items():
            # One that has just crossed a border may be in both squares.
            if id < FIRST_PERSON_ID and (id not in found or found[id].seq < player.seq):
                found[id] = player
    return list(found.values())
