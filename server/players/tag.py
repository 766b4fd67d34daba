"""Tag: what clockwork walkers do about the ember (ember.py): who carries it runs away from others,
and a few of the others run after it, but all of them rest now and then, since nobody is faster than
anybody.

This module never decides who carries it.
"""

import math
import random
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Final

from flatlands.server.loop import Loop
from flatlands.server.messages.protocol import DEER_FROM, OTHERS_FROM
from flatlands.server.players.ember import Carried
from flatlands.server.players.movement import Movement
from flatlands.server.players.resident import Resident
from flatlands.server.players.spots import Place
from flatlands.server.squares.replicas import Replicas
from flatlands.world.events import Player
from flatlands.world.track import SPEED, UNIT, Goal

#: How far others see its carrier, and how near its carrier lets others come, in units.
SEES, SHY = 16 * UNIT, 5 * UNIT

#: They run after nobody who is farther from the origin, where they live.
HOME: Final = 32 * UNIT

#: At how many players one of them looks at most.
LOOKS_AT: Final = 200

#: So many run after it at a time, those that are nearest.
CHASERS: Final = 2

#: ms for which they let its carrier run, after it was passed on.
WAITS: Final = 1200

#: The least and the most units of a run, and the ms of the rest after it.
RUN: Final = (3 * UNIT, 6 * UNIT)
REST: Final = (500, 1500)

#: The angles away from the straight way on which one flees in turn if that is barred.
TURNS: Final = (0.0, math.pi / 4, -math.pi / 4, math.pi / 2, -math.pi / 2)

#: With the ember in sight a walker looks round so often, in ms.
LOOKS_ROUND_EVERY: Final = 700


class Tag:
    """See the module. `seen` returns who carries the ember, as far as this node has heard of it,
    and `barred` who cannot have it next."""

    def __init__(
        self,
        loop: Loop,
        movement: Movement,
        replicas: Replicas,
        seen: Callable[[], Carried | None],
        barred: Callable[[Player], Collection[int]],
    ) -> None:
        self._loop = loop
        self._movement = movement
        self._replicas = replicas
        self._seen = seen
        self._barred = barred

    def play(self, walker: Resident) -> int | None:
        """Let a clockwork walker run after the carrier, or away, if there is reason to; return when
        it has its next turn, or None if there is none."""
        carried = self._seen()
        if carried is None:
            return None
        if carried.id == walker.id:
            return self._flee(walker)
        return self._chase(walker, carried)

    def looks_round(self, walker: Resident) -> int | None:
        """Return when a walker looks round again whether the ember is near, or None if it does not
        see it."""
        carried, now = self._seen(), self._loop.now()
        carrier = None if carried is None else self._replicas.player(carried.id)
        if carrier is None or math.dist(carrier.track.at(now), walker.track.at(now)) > SEES:
            return None
        return now + LOOKS_ROUND_EVERY

    def _chase(self, walker: Resident, carried: Carried) -> int | None:
        carrier, now = self._replicas.player(carried.id), self._loop.now()
        if carrier is None or carrier.dimmed or not self._runs_after(walker, carrier, now):
            return None
        if now < carried.since + WAITS:
            self._movement.stop(walker)
            return carried.since + WAITS
        # It runs to where the carrier will be.
        here = walker.track.at(now)
        ahead = round(math.dist(carrier.track.at(now), here) * 1000 / SPEED) // 2
        there = carrier.track.at(now + ahead)
        part = min(random.randint(*RUN) / max(math.dist(here, there), 1), 1.0)
        x, y = (a + round((b - a) * part) for a, b in zip(here, there, strict=True))
        self._movement.stroll(walker, [Goal(x, y)])
        return max(walker.track.end, now) + random.randint(*REST)

    def _runs_after(self, walker: Resident, carrier: Player, now: int) -> bool:
        """Say whether a walker is one of the nearest to the carrier that may have the ember."""
        there = carrier.track.at(now)
        away = math.dist(walker.track.at(now), there)
        barred = self._barred(carrier)
        if away > SEES or math.hypot(*there) > HOME or walker.id in barred:
            return False
        nearer = (
            player
            for player in islice(self._replicas.around(*there, SEES), LOOKS_AT)
            if player.id < DEER_FROM
            and player.id not in (walker.id, carrier.id, *barred)
            and math.dist(player.track.at(now), there) < away
        )
        return len(list(islice(nearer, CHASERS))) < CHASERS

    def _flee(self, walker: Resident) -> int | None:
        now = self._loop.now()
        here = walker.track.at(now)
        barred = self._barred(walker)
        others = (
            player.track.at(now)
            for player in islice(self._replicas.around(*here, SHY), LOOKS_AT)
            if (player.id < DEER_FROM or player.id >= OTHERS_FROM)
            and player.id not in (walker.id, *barred)
        )
        there = min(others, key=lambda place: math.dist(here, place), default=None)
        if there is None or math.dist(here, there) > SHY:
            return None
        self._movement.stroll(walker, self._ways_out(here, there))
        return max(walker.track.end, now) + random.randint(*REST)

    def _ways_out(self, here: Place, there: Place) -> Iterator[Goal]:
        straight = math.atan2(here[1] - there[1], here[0] - there[0])
        far = random.randint(*RUN)
        for turn in TURNS:
            angle = straight + turn
            yield Goal(
                here[0] + round(far * math.cos(angle)), here[1] + round(far * math.sin(angle))
            )
