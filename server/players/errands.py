"""What a person of the herd does for another player: greets it, leads it to the lake, answers it,
returns its wave.

Each errand goes step by step, and yields when its next step is due. Whoever is looked after is
called the guest. An errand ends when the guest is not seen any more. This module never decides who
goes on an errand, nor when: company.py does.
"""

import math
import random
from collections.abc import Generator
from typing import Final

from server.loop import Loop
from server.players.lake import BEGINS, Lake
from server.players.movement import Movement
from server.players.people import Errand
from server.players.resident import Resident
from server.players.residents import Residents
from server.players.talk import ARRIVED, COME, GIVES_UP, GREETINGS, WAITING, way
from server.squares.replicas import Replicas
from world.events import Player
from world.track import UNIT, Goal

#: The number of the emote that is a wave, and of the one that asks: static/emotes.js has them all.
WAVE: Final = 1
WONDER: Final = 6

#: How near to its guest a greeter comes, in units, and for how many ms at least its words are left
#: alone: then it waves, and the page shows the wave in their place.
BESIDE: Final = 2 * UNIT
READ_FOR: Final = 2600

#: ms that a person stands after it has spoken, and for which it looks at whoever waved.
STANDS_FOR: Final = 2500
LOOKS_FOR: Final = 1200

#: A guest follows if it is within so many units when the leader looks back. The leader waits for
#: PATIENCE ms, looks again every LOOK_EVERY ms, and calls once.
FOLLOWS_WITHIN: Final = 7 * UNIT
PATIENCE: Final = 8000
LOOK_EVERY: Final = 800

#: ms until a search that is done a little at a time goes on.
SOON: Final = 10


class Errands:
    """See the module. Times are node time in ms."""

    def __init__(
        self, loop: Loop, residents: Residents, movement: Movement, replicas: Replicas, lake: Lake
    ) -> None:
        self._loop = loop
        self._residents = residents
        self._movement = movement
        self._replicas = replicas
        self._lake = lake
        #: How many are leading somebody.
        self.leading = 0

    def notice(self, person: Resident, guest: int) -> None:
        """Stop, and look at a player."""
        self._movement.stop(person)
        self._look(person, guest)

    def greet(self, person: Resident, guest: int, leads: bool) -> Errand:
        """Greet a newcomer by name, at once, so that others hear that it is greeted; walk up to it,
        wave, and lead it to the lake if `leads` and both are near the plaza."""
        player = self._replicas.player(guest)
        if player is None:
            return
        self._say_hello(person, player)
        self._walk_up(person, player)
        yield max(person.track.end, self._loop.now() + READ_FOR)
        self._look(person, guest)
        self._residents.emote(person, WAVE)
        yield self._loop.now() + LOOKS_FOR
        if leads and self._is_on_plaza(person) and self._away(person, guest) <= FOLLOWS_WITHIN:
            yield from self._lead(person, guest)

    def answer(self, person: Resident, guest: int, text: str) -> Errand:
        """Turn to a player that has spoken, and answer."""
        self.notice(person, guest)
        self._residents.say(person, text)
        yield self._loop.now() + STANDS_FOR

    def greet_in_passing(self, person: Resident, guest: int) -> None:
        """Greet a newcomer by name, on another errand."""
        player = self._replicas.player(guest)
        if player is not None:
            self._say_hello(person, player)

    def answer_in_passing(self, person: Resident, text: str) -> None:
        """Answer on another errand."""
        self._residents.say(person, text)

    def _say_hello(self, person: Resident, guest: Player) -> None:
        text = random.choice(GREETINGS).format(guest=guest.name, own=person.name)
        self._residents.say(person, text)

    def gesture(self, person: Resident, guest: int, emote: int) -> Errand:
        """Turn to a player that has waved or spoken, and make an emote."""
        self.notice(person, guest)
        self._residents.emote(person, emote)
        yield self._loop.now() + LOOKS_FOR

    def _lead(self, person: Resident, guest: int) -> Generator[int, None, None]:
        while not self._lake.look():
            yield self._loop.now() + SOON
        if self._lake.place is None:
            return
        self._residents.say(person, COME)
        self.leading += 1
        try:
            yield from self._go_ahead(person, guest, self._lake.place)
        finally:
            self.leading -= 1

    def _go_ahead(
        self, person: Resident, guest: int, lake: tuple[int, int]
    ) -> Generator[int, None, None]:
        for place in self._lake.way:
            self._movement.stroll(person, [Goal(*place)])
            yield person.track.end
            here = person.track.at(self._loop.now())
            # Something may have barred the way.
            if here != place or (yield from self._guest_stays_away(person, guest)):
                self._residents.say(person, GIVES_UP.format(lake=way(here, lake)))
                return
        self._look(person, guest)
        self._residents.say(person, ARRIVED)
        yield self._loop.now() + STANDS_FOR

    def _guest_stays_away(self, person: Resident, guest: int) -> Generator[int, None, bool]:
        """Wait for a guest that is far behind; return whether it did not come."""
        until, calls = self._loop.now() + PATIENCE, True
        while self._away(person, guest) > FOLLOWS_WITHIN:
            if self._loop.now() >= until:
                return True
            self._look(person, guest)
            if calls:
                self._residents.say(person, WAITING)
                calls = False
            yield self._loop.now() + LOOK_EVERY
        return False

    # Where the guest is.

    def _is_on_plaza(self, person: Resident) -> bool:
        return math.hypot(*person.track.at(self._loop.now())) <= BEGINS * UNIT

    def _away(self, person: Resident, guest: int) -> float:
        """Return the distance of a guest in units; it is infinite if the guest is not seen."""
        player, now = self._replicas.player(guest), self._loop.now()
        if player is None:
            return math.inf
        return math.dist(person.track.at(now), player.track.at(now))

    def _look(self, person: Resident, guest: int) -> None:
        """Let a person that stands look at its guest."""
        player, now = self._replicas.player(guest), self._loop.now()
        if player is not None:
            (x, y), (px, py) = person.track.at(now), player.track.at(now)
            self._movement.face(person, px - x, py - y)

    def _walk_up(self, person: Resident, guest: Player) -> None:
        """Walk to a place beside a guest, on this side of it."""
        now = self._loop.now()
        (x, y), (gx, gy) = person.track.at(now), guest.track.at(now)
        away = math.dist((x, y), (gx, gy))
        if away > BESIDE:
            part = BESIDE / away
            goal = Goal(gx + round((x - gx) * part), gy + round((y - gy) * part))
            self._movement.stroll(person, [goal])
        else:
            self.notice(person, guest.id)
