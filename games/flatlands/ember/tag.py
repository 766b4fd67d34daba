"""Tag: what clockwork walkers do about the ember (ember.py): who carries it runs away from others,
and a few of the others run after it, but all of them rest now and then, since nobody is faster than
anybody.

This module never decides who carries it.
"""

import math
import random
from itertools import islice
from typing import Final

from flatlands.games.flatlands.ember.ember import Carried, Ember
from flatlands.games.flatlands.walkers.stage import Stage, is_clockwork, is_person
from flatlands.server.players.resident import Resident
from flatlands.world.events import Player
from flatlands.world.track import SPEED, UNIT, Goal

#: How far others see its carrier, and how near its carrier lets others come, in units.
SEES, SHY = 16 * UNIT, 5 * UNIT

#: They run after nobody who is farther from the origin, where they live.
HOME: Final = 32 * UNIT

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
    """See the module."""

    def __init__(self, stage: Stage, ember: Ember) -> None:
        self._stage = stage
        self._ember = ember

    def play(self, walker: Resident) -> int | None:
        """Let a clockwork walker run after the carrier, or away, if there is reason to; return when
        it has its next turn, or None if there is none."""
        carried = self._ember.carried
        if carried is None:
            return None
        if carried.id == walker.id:
            return self._flee(walker)
        return self._chase(walker, carried)

    def looks_round(self, walker: Resident) -> int | None:
        """Return when a walker looks round again whether the ember is near, or None if it does not
        see it."""
        carried = self._ember.carried
        carrier = None if carried is None else self._stage.replicas.player(carried.id)
        if self._stage.away(walker, carrier) > SEES:
            return None
        return self._stage.loop.now() + LOOKS_ROUND_EVERY

    def _chase(self, walker: Resident, carried: Carried) -> int | None:
        stage, now = self._stage, self._stage.loop.now()
        carrier = stage.replicas.player(carried.id)
        if carrier is None or carrier.dimmed or not self._runs_after(walker, carrier):
            return None
        if now < carried.since + WAITS:
            stage.movement.stop(walker)
            return carried.since + WAITS
        # It runs to where the carrier will be.
        here = stage.at(walker)
        ahead = round(stage.away(walker, carrier) * 1000 / SPEED) // 2
        there = carrier.track.at(now + ahead)
        part = min(random.randint(*RUN) / max(math.dist(here, there), 1), 1.0)
        x, y = (a + round((b - a) * part) for a, b in zip(here, there, strict=True))
        stage.stroll(walker, [Goal(x, y)])
        return max(walker.track.end, now) + random.randint(*REST)

    def _runs_after(self, walker: Resident, carrier: Player) -> bool:
        """Say whether a walker is one of the nearest to the carrier that may have the ember."""
        there, barred = self._stage.at(carrier), self._ember.barred(carrier)
        if math.hypot(*there) > HOME or walker.id in barred:
            return False
        nearest = (
            player.id
            for player in self._stage.near(there, SEES)
            if is_clockwork(player) and player.id not in (carrier.id, *barred)
        )
        return walker.id in islice(nearest, CHASERS)

    def _flee(self, walker: Resident) -> int | None:
        stage, here, barred = self._stage, self._stage.at(walker), self._ember.barred(walker)
        others = (
            player
            for player in stage.near(here, SHY)
            if (is_clockwork(player) or is_person(player)) and player.id not in (walker.id, *barred)
        )
        nearest = next(others, None)
        if nearest is None:
            return None
        far = random.randint(*RUN)
        stage.stroll(walker, stage.ways_out(here, stage.at(nearest), far, TURNS))
        return max(walker.track.end, stage.loop.now()) + random.randint(*REST)
