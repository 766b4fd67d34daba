"""Notices when players of this node come near other players, or movers, for games that ask.

All players in sight are looked at a few times a second, sorted into cells as large as they reach,
and less often where hundreds are in each other's reach. Without such a game nobody looks. Players
are compared by their tracks, so a meeting between two looks is seen too, unless one of the two has
turned meanwhile.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.players.resident import Resident
from flatlands.server.squares.subscription import Subscription
from flatlands.world.contact import first_contact
from flatlands.world.events import Player
from flatlands.world.grid import Square
from flatlands.world.track import PACE_USUAL, SPEED, UNIT

#: Time between two looks.
MEETINGS_EVERY_MS: Final = 100

#: How many pairs may be compared in one look. With n times as many, the next one comes n times as
#: late.
PAIRS_A_LOOK: Final = 20_000

#: Two players have gone apart once they are farther apart than they reach by this much.
PARTED_UNITS: Final = UNIT * 5 // 4

#: A cell, and where a player is in it, in units.
_Cells = dict[tuple[int, int], list[tuple[int, int, Player]]]


class Meetings:
    """Looks for players who meet others: who come within `reach` units of another player, or within
    those of `mover_reaches` of a mover, by the number of its kind. With 0, or without its kind,
    they do not meet it.

    `on_meet` is called with a resident and the other one; it returns whether the game took the
    call. `squares` are those that this node receives, and `residents` its players by their ids;
    players that have lost their connection meet nobody.
    """

    def __init__(
        self,
        loop: Any,
        squares: Mapping[Square, Subscription],
        residents: Mapping[int, Resident],
        reach: int,
        mover_reaches: Mapping[int, int],
        on_meet: Callable[[Resident, Player], bool],
    ) -> None:
        self._loop = loop
        self._squares = squares
        self._residents = residents
        self._reach, self._mover_reaches = reach, mover_reaches
        self._most = max(reach, *mover_reaches.values(), 0)
        self._on_meet = on_meet
        #: Id of a player of this node -> the ids of those that it has met and is still near.
        self._met: dict[int, set[int]] = {}
        self._looked = loop.now()
        self._pairs = 0
        self._next = loop.timer(self._check)
        self._next.set(self._looked + MEETINGS_EVERY_MS)

    def _check(self) -> None:
        try:
            self._compare(self._loop.now())
        finally:
            later = MEETINGS_EVERY_MS * (1 + self._pairs // PAIRS_A_LOOK)
            self._next.set(self._loop.now() + later)

    def _compare(self, now: int) -> None:
        self._pairs = 0
        since, self._looked = max(self._looked, now - 2 * MEETINGS_EVERY_MS), now
        own = [one for one in self._residents.values() if one.id in self._met or one.session]
        players = self._seen({one.square for one in own})
        before, self._met = self._met, {}
        if not players:
            return
        # How far any of them can have come since the last look.
        step = SPEED * max(player.pace for player in players.values()) * (now - since)
        far = self._most + PARTED_UNITS + 2 * step // (1000 * PACE_USUAL)
        cells: _Cells = {}
        for player in players.values():
            x, y = player.track.at(now)
            cells.setdefault((x // far, y // far), []).append((x, y, player))
        for resident in own:
            met = self._meet(resident, cells, far, since, now, before.get(resident.id, set()))
            if met:
                self._met[resident.id] = met

    def _seen(self, squares: set[Square]) -> dict[int, Player]:
        """Return the players and movers in squares and around them who can be met, by their ids."""
        around = {(c + dc, r + dr) for c, r in squares for dc in (-1, 0, 1) for dr in (-1, 0, 1)}
        found: dict[int, Player] = {}
        for square in around:
            subscription = self._squares.get(square)
            for id, player in {} if subscription is None else subscription.replica.players.items():
                # One that has just crossed a border may be in both squares.
                known = found.get(id)
                if (known is None or known.seq < player.seq) and self._reach_of(player):
                    found[id] = player
        return found

    def _reach_of(self, other: Player) -> int:
        """Return within how many units somebody meets a player or mover; 0: nobody does."""
        if other.id >= FIRST_PERSON_ID:
            return self._reach
        return self._mover_reaches.get(other.values[0], 0) if other.values else 0

    def _meet(
        self, resident: Resident, cells: _Cells, far: int, since: int, now: int, met: set[int]
    ) -> set[int]:
        """Report to the game whom a resident has met since the last look; return all it is near."""
        x, y = resident.track.at(now)
        near: set[int] = set()
        beside = [(x // far + dx, y // far + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
        for there in filter(None, map(cells.get, beside)):
            self._pairs += len(there)
            for at_x, at_y, other in there:
                away_x, away_y = at_x - x, at_y - y
                if other.id == resident.id or abs(away_x) > far or abs(away_y) > far:
                    continue
                if other.id in met:
                    if away_x**2 + away_y**2 <= (self._reach_of(other) + PARTED_UNITS) ** 2:
                        near.add(other.id)
                elif self._meets(resident, other, since, now) and self._on_meet(resident, other):
                    near.add(other.id)
        return near

    def _meets(self, resident: Resident, other: Player, since: int, now: int) -> bool:
        """Return whether a resident has come near another player from one time to another."""
        if other.dimmed or resident.session is None:
            return False
        a, b = resident.track, other.track
        # Where they were before these tracks is not stored any more.
        begun = min(max(since, a.start, b.start), now)
        return first_contact(a, b, self._reach_of(other), begun, now) is not None
