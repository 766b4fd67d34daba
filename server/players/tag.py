"""Tag: what clockwork walkers do about the ember (ember.py): who carries it runs after others, and
others run away, but rest now and then, since nobody is faster than anybody.

This module never decides who carries it.
"""

import math
import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from server.loop import Loop
from server.messages.protocol import DEER_FROM, OTHERS_FROM
from server.players.ember import NOT_BACK, Carried
from server.players.movement import Movement
from server.players.resident import INCARNATION, Resident
from server.players.spots import Place
from server.squares.replicas import Replicas
from world.events import Player
from world.track import SPEED, UNIT, Goal

#: How far its carrier sees others, and how near others let it come, in units.
SEES, SHY = 16 * UNIT, 5 * UNIT

#: How often its carrier looks where the others are, in ms, and at how many of them at most.
LOOK_EVERY, LOOKS_AT = 400, 200

#: It runs after nobody who has stood still for so many ms, as one does who is not at the game.
STANDS: Final = 15_000

#: ms for which its carrier stands before it runs, so that others can get away.
WAITS: Final = 1200

#: How much nearer people seem to it than others like itself.
PREFERS: Final = 2

#: Nor after anybody who has just come: with so few events in its incarnation, for so many ms.
NEW, LOOKS_ABOUT = 8, 8000

#: The least and the most units of a flight, and the ms of the rest after it.
FLIGHT: Final = (3 * UNIT, 6 * UNIT)
REST: Final = (500, 1500)

#: The angles away from the straight way on which one flees in turn if that is barred.
TURNS: Final = (0.0, math.pi / 4, -math.pi / 4, math.pi / 2, -math.pi / 2)

#: With the ember in sight a walker looks round so often, in ms.
LOOKS_ROUND_EVERY: Final = 700


class Tag:
    """See the module. `seen` returns who carries the ember, as far as this node has heard of it."""

    def __init__(
        self, loop: Loop, movement: Movement, replicas: Replicas,
        seen: Callable[[], Carried | None],
    ) -> None:  # fmt: skip
        self._loop = loop
        self._movement = movement
        self._replicas = replicas
        self._seen = seen

    def play(self, walker: Resident) -> int | None:
        """Let a clockwork walker run after somebody, or away, if there is reason to; return when it
        has its next turn, or None if there is none."""
        carried = self._seen()
        if carried is None:
            return None
        if carried.id == walker.id:
            return self._chase(walker, carried)
        return self._flee(walker, carried.id)

    def looks_round(self, walker: Resident) -> int | None:
        """Return when a walker looks round again whether the ember is near, or None if it does not
        see it."""
        carried, now = self._seen(), self._loop.now()
        carrier = None if carried is None else self._replicas.player(carried.id)
        if carrier is None or math.dist(carrier.track.at(now), walker.track.at(now)) > SEES:
            return None
        return now + LOOKS_ROUND_EVERY

    def _chase(self, walker: Resident, carried: Carried) -> int | None:
        now = self._loop.now()
        if now < carried.since + WAITS:
            self._movement.stop(walker)
            return carried.since + WAITS
        here = walker.track.at(now)
        best, least = None, float(SEES)
        for player in islice(self._replicas.around(*here, SEES), LOOKS_AT):
            if self._may_be_chased(player, walker, carried, now):
                away = math.dist(player.track.at(now), here)
                if player.id >= OTHERS_FROM:
                    away /= PREFERS
                if away <= least:
                    best, least = player, away
        if best is None:
            return None
        # It runs to where the other one will be.
        far = math.dist(best.track.at(now), here)
        ahead = round(far * 1000 / SPEED) // 2
        self._movement.stroll(walker, [Goal(*best.track.at(now + ahead))])
        return now + LOOK_EVERY

    def _may_be_chased(
        self, player: Player, walker: Resident, carried: Carried, now: int
    ) -> bool:
        if player.id == walker.id or player.dimmed or DEER_FROM <= player.id < OTHERS_FROM:
            return False
        if player.id == carried.before and now < carried.since + NOT_BACK:
            return False
        if player.id < DEER_FROM:
            return True
        is_new = player.seq % INCARNATION <= NEW and now < player.track.end + LOOKS_ABOUT
        return not is_new and now < player.track.end + STANDS

    def _flee(self, walker: Resident, carrier: int) -> int | None:
        player, now = self._replicas.player(carrier), self._loop.now()
        if player is None:
            return None
        here, there = walker.track.at(now), player.track.at(now)
        if math.dist(here, there) > SHY:
            return None
        self._movement.stroll(walker, self._ways_out(here, there))
        return max(walker.track.end, now) + random.randint(*REST)

    def _ways_out(self, here: Place, there: Place) -> Iterator[Goal]:
        straight = math.atan2(here[1] - there[1], here[0] - there[0])
        far = random.randint(*FLIGHT)
        for turn in TURNS:
            angle = straight + turn
            yield Goal(
                here[0] + round(far * math.cos(angle)), here[1] + round(far * math.sin(angle))
            )
