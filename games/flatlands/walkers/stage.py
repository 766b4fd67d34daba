"""What computer players act through, and what they see of others.

They see what this node hears: players in squares that it is subscribed to. This module never
decides what anybody does.
"""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Final

from flatlands import Event
from flatlands.games.flatlands.clockwork import Bearing, Walker
from flatlands.server.game.game_node import GameNode
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.players.resident import Resident
from flatlands.server.players.spots import Position
from flatlands.world.events import Player
from flatlands.world.grid import Square
from flatlands.world.track import Goal

#: The most players around it that one of them looks at: of a crowd that is close, some are enough.
LOOKS_AT: Final = 400


class Stage:
    """A node, as its computer players see it. Times are node time in ms, distances are in units."""

    def __init__(self, node: GameNode, bearings: Sequence[Bearing]) -> None:
        self.loop, self.grid, self.terrain = node.loop, node.grid, node.terrain
        self.residents, self.movement = node.residents, node.movement
        self.subscriptions = node.subscriptions
        self._node, self._bearings = node, bearings

    def bear(self, person: Resident, guest: int, tell: Callable[[bool], None]) -> None:
        """Let a person carry what a player carries; see Bearing."""
        for bearing in self._bearings:
            bearing(person.id, guest, tell)

    def emit(self, square: Square, player: int, event: Event) -> None:
        """Publish an event of a player in a square."""
        self._node.play.emit(square, player, event)

    def stroll(self, resident: Resident, goals: Iterable[Goal]) -> None:
        """Let a computer player walk to the first of some goals towards which it can move."""
        now = self.loop.now()
        for goal in goals:
            self.movement.act(resident, resident.ack + 1, now, goal)
            if resident.walks(now):
                return

    def is_clockwork(self, player: Player) -> bool:
        """Return whether a player is a person of the herd."""
        movers = self._node.play.movers
        assert movers is not None
        return player.id < FIRST_PERSON_ID and movers.hosting.kinds[player.values[0]] is Walker

    def at(self, player: Player) -> Position:
        """Return where a player is now."""
        return player.track.at(self.loop.now())

    def away(self, one: Player, other: Player | None) -> float:
        """Return the distance between two players; it is infinite if the other one is not seen."""
        return math.inf if other is None else math.dist(self.at(one), self.at(other))

    def near(self, place: Position, reach: int) -> list[Player]:
        """Return the players within `reach` of a place, the nearest first."""
        pairs = sorted(self._within(place, reach), key=itemgetter(0))
        return [player for _, player in pairs]

    def count_people(self, place: Position, reach: int, most: int) -> int:
        """Return how many people are within `reach` of a place, `most` at most."""
        people = (player for _, player in self._within(place, reach) if is_person(player))
        return sum(1 for _ in islice(people, most))

    def _within(self, place: Position, reach: int) -> Iterator[tuple[float, Player]]:
        now = self.loop.now()
        for player in islice(self.subscriptions.around(*place, reach), LOOKS_AT):
            away = math.dist(player.track.at(now), place)
            if away <= reach:
                yield away, player

    def ways_out(
        self, here: Position, there: Position, far: int, turns: Sequence[float]
    ) -> Iterator[Goal]:
        """Yield where to flee to from `here` if somebody is `there`: straight away, or else at
        these angles from that."""
        away = here[0] - there[0], here[1] - there[1]
        straight = math.atan2(away[1], away[0]) if any(away) else random.uniform(0, math.tau)
        for turn in turns:
            angle = straight + turn
            yield Goal(
                here[0] + round(far * math.cos(angle)), here[1] + round(far * math.sin(angle))
            )


def is_person(player: Player) -> bool:
    """Return whether a player is not a computer player."""
    return player.id >= FIRST_PERSON_ID
