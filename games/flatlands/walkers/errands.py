"""What a person of the herd does for another player: greets it, leads it to a sight, answers it,
returns its wave, dances or walks with it, helps it.

Each errand goes step by step, and yields when its next step is due. The other player is called the
guest. An errand ends when the guest is no longer seen. This module never decides who goes on an
errand, nor when: company.py does.
"""

import math
import random
from collections.abc import Callable, Generator
from typing import Final

from flatlands.games.flatlands.events import DANCE, WAVE, Emote
from flatlands.games.flatlands.walkers.people import Errand
from flatlands.games.flatlands.walkers.sight import BEGINS_TILES, Sights
from flatlands.games.flatlands.walkers.stage import Stage
from flatlands.games.flatlands.walkers.talk import (
    AGAIN,
    CLICK_ME,
    COME,
    GIVES_UP,
    GREETINGS,
    HELPS,
    IS_BARRED,
    OFFERS,
    SIGHTS,
    TAKES,
    WAITING,
    way,
)
from flatlands.server.players.movement import face
from flatlands.server.players.resident import Resident
from flatlands.server.players.spots import Position
from flatlands.world.events import Player
from flatlands.world.track import UNIT, Goal

#: How near a greeter comes to its guest, in units, and the least ms for which its words can be read
#: before it waves: the page shows the wave in their place.
BESIDE: Final = 2 * UNIT
READ_FOR: Final = 2600

#: ms that a person stands after it has spoken, and for which it looks at whoever waved.
STANDS_FOR: Final = 2500
LOOKS_FOR: Final = 1200

#: ms of a dance.
DANCES_FOR: Final = 2500

#: How far people see what others do, in units, and how many of them are company enough: where that
#: many see it, the herd greets and leads nobody, and says nothing to nobody.
SEES: Final = 24 * UNIT
COMPANY: Final = 5

#: ms that a leader stands after it has said where it leads, so that it can be clicked.
STANDS_BEFORE: Final = 4000

#: A guest follows if it is within so many units when the leader looks back.
FOLLOWS_WITHIN: Final = 7 * UNIT
#: The leader calls a guest that does not follow, and comes back to it after this long.
COMES_BACK_AFTER_MS: Final = 10_000
#: The next time that a guest does not follow, the leader gives up after this long.
GIVES_UP_AFTER_MS: Final = 15_000
#: The leader looks so often whether the guest follows.
LOOK_EVERY_MS: Final = 800

#: A guest farther away than this, in units, does not hear that the leader gives up.
HEARS_WITHIN: Final = 16 * UNIT

#: ms for which a player whose wave is returned has company, if it walks on.
COMES_ALONG_FOR: Final = 20_000

#: The most ms for which a person stands on a twin stone for somebody.
STANDS_ON_FOR: Final = 20_000

#: ms for which a person comes along after it has last heard that it or its guest carries something.
BEARS_FOR: Final = 3000

#: ms until a search that is done a little at a time goes on.
SOON: Final = 10


class Errands:
    """The errands of all people of the herd. Times are node time in ms."""

    def __init__(self, stage: Stage, sights: Sights) -> None:
        self._stage = stage
        self._loop, self._residents, self._movement = stage.loop, stage.residents, stage.movement
        self._sights = sights
        #: How many people of the herd are leading somebody.
        self.leading = 0

    def notice(self, person: Resident, guest: int) -> None:
        """Stop, and look at a player."""
        self._movement.stop(person)
        self._look(person, guest)

    def greet(self, person: Resident, guest: int, again: bool, leads: bool) -> Errand:
        """Greet by name a player that has come, or come `again`, at once, so that others hear that
        it is greeted; walk up to it, wave, and lead it to a sight if `leads` and both are near the
        plaza."""
        player = self._player(guest)
        if player is None:
            return
        self.greet_in_passing(person, guest, again)
        self._walk_up(person, player)
        yield max(person.track.end, self._loop.now() + READ_FOR)
        self._look(person, guest)
        self._emote(person, WAVE)
        yield self._loop.now() + LOOKS_FOR
        if leads and self._is_on_plaza(person) and self._follows(person, guest):
            yield from self._lead(person, guest)

    def answer(self, person: Resident, guest: int, text: str) -> Errand:
        """Turn to a player that has spoken, and answer."""
        self.notice(person, guest)
        self._residents.say(person, text)
        yield self._loop.now() + STANDS_FOR

    def greet_in_passing(self, person: Resident, guest: int, again: bool) -> None:
        """Greet a player by name, without going to it."""
        self._say(person, guest, AGAIN if again else random.choice(GREETINGS))

    def _emote(self, person: Resident, emote: int) -> None:
        self._stage.emit(person.square, person.id, Emote(emote=emote))

    def gesture(self, person: Resident, guest: int, emote: int) -> Errand:
        """Turn to a player that has waved or spoken, and make an emote."""
        self.notice(person, guest)
        self._emote(person, emote)
        yield self._loop.now() + LOOKS_FOR

    def dance(self, person: Resident, guest: int) -> Errand:
        """Come beside a player that dances, and dance."""
        player = self._player(guest)
        if player is None:
            return
        self._walk_up(person, player)
        yield person.track.end
        self.notice(person, guest)
        self._emote(person, DANCE)
        yield self._loop.now() + DANCES_FOR

    def come_along(self, person: Resident, guest: int) -> Errand:
        """Return the wave of a player, and walk with it for a while if it walks on, or for as long
        as it carries something that the person can carry for it."""
        until, said = self._loop.now() + COMES_ALONG_FOR, set[str]()

        def tell(bears: bool) -> None:
            nonlocal until
            until = max(until, self._loop.now() + BEARS_FOR)
            text = TAKES if bears else OFFERS
            if text not in said:
                said.add(text)
                self._say(person, guest, text)

        yield from self.gesture(person, guest, WAVE)
        while self._away(person, guest) < SEES and self._loop.now() < until:
            player = self._player(guest)
            if player is not None and self._away(person, guest) > BESIDE:
                self._walk_up(person, player)
            self._stage.bear(person, guest, tell)
            yield self._loop.now() + LOOK_EVERY_MS

    def step_on(
        self, person: Resident, guest: int, stone: Position, waits: Callable[[], bool]
    ) -> Errand:
        """Go to a twin stone, and stand there, as long as a guest `waits` on the other one."""
        self._say(person, guest, HELPS)
        self._stage.stroll(person, [Goal(*stone)])
        while person.walks(self._loop.now()):
            yield self._loop.now() + LOOK_EVERY_MS
            if not waits():
                self._movement.stop(person)
                return
        if self._stage.at(person) != stone:
            self._say(person, guest, IS_BARRED)
            return
        self._look(person, guest)
        until = self._loop.now() + STANDS_ON_FOR
        while waits() and self._loop.now() < until:
            yield self._loop.now() + LOOK_EVERY_MS

    def _lead(self, person: Resident, guest: int) -> Generator[int, None, None]:
        while not self._sights.look():
            yield self._loop.now() + SOON
        sight = self._sights.best
        if sight is None or self.people_around(guest) >= COMPANY:
            return
        what, arrived = SIGHTS[sight.kind]
        self._say(person, guest, COME, sight=what)
        self.leading += 1
        try:
            yield self._loop.now() + STANDS_BEFORE
            if (yield from self._go_ahead(person, guest, sight.places)):
                self._look(person, guest)
                self._say(person, guest, arrived)
                yield self._loop.now() + STANDS_FOR
            elif self._away(person, guest) <= HEARS_WITHIN:
                there = way(self._stage.at(person), sight.places[-1])
                self._say(person, guest, GIVES_UP, way=there)
        finally:
            self.leading -= 1

    def _go_ahead(
        self, person: Resident, guest: int, places: list[Position]
    ) -> Generator[int, None, bool]:
        """Lead a guest over some places; return whether both have come to the last one."""
        at, has_come_back = 0, False
        while at < len(places):
            yield from self._walk(person, places[at])
            if self._stage.at(person) != places[at]:
                # Something has barred the way.
                return False
            at += 1
            if self._follows(person, guest):
                continue
            if not has_come_back:
                self._say(person, guest, WAITING)
            patience = GIVES_UP_AFTER_MS if has_come_back else COMES_BACK_AFTER_MS
            if (yield from self._wait(person, guest, patience)):
                continue
            if has_come_back or not 0 < self.people_around(guest) < COMPANY:
                return False
            has_come_back = True
            while at > 0 and not self._follows(person, guest):
                at -= 1
                yield from self._walk(person, places[at])
            player = self._player(guest)
            if player is None:
                return False
            self._walk_up(person, player)
            yield person.track.end
            self._say(person, guest, CLICK_ME)
            yield self._loop.now() + STANDS_FOR
        return True

    def _walk(self, person: Resident, place: Position) -> Generator[int, None, None]:
        self._stage.stroll(person, [Goal(*place)])
        yield person.track.end

    def _wait(self, person: Resident, guest: int, patience: int) -> Generator[int, None, bool]:
        """Wait up to `patience` ms for a guest that is far behind; return whether it came."""
        until = self._loop.now() + patience
        while not self._follows(person, guest):
            if self._loop.now() >= until or self.people_around(guest) >= COMPANY:
                return False
            self._look(person, guest)
            yield self._loop.now() + LOOK_EVERY_MS
        return True

    def _say(self, person: Resident, guest: int, text: str, **words: str) -> None:
        """Say something to a guest, by its name, with these words in it; but keep silent if many
        others would hear it."""
        player = self._player(guest)
        if player is not None and self.people_around(guest) < COMPANY:
            text = text.format(guest=player.name, own=person.name, **words)
            self._residents.say(person, text)

    # Who is near.

    def people_around(self, id: int) -> int:
        """Return how many people see what a player does, COMPANY at most, including itself if it
        is a person; 0 if it is not seen."""
        player = self._player(id)
        if player is None:
            return 0
        return self._stage.count_people(self._stage.at(player), SEES, COMPANY)

    def _player(self, id: int) -> Player | None:
        return self._stage.subscriptions.player(id)

    def _follows(self, person: Resident, guest: int) -> bool:
        return self._away(person, guest) <= FOLLOWS_WITHIN

    def _is_on_plaza(self, person: Resident) -> bool:
        return math.hypot(*self._stage.at(person)) <= BEGINS_TILES * UNIT

    def _away(self, person: Resident, guest: int) -> float:
        """Return the distance of a guest in units; it is infinite if the guest is not seen."""
        return self._stage.away(person, self._player(guest))

    def _look(self, person: Resident, guest: int) -> None:
        """Turn a person that stands towards its guest."""
        player = self._player(guest)
        if player is not None:
            (x, y), (px, py) = self._stage.at(person), self._stage.at(player)
            face(self._movement, person, px - x, py - y, self._loop.now())

    def _walk_up(self, person: Resident, guest: Player) -> None:
        """Walk to a place beside a guest, on the near side."""
        (x, y), (gx, gy) = self._stage.at(person), self._stage.at(guest)
        away = math.dist((x, y), (gx, gy))
        if away > BESIDE:
            part = BESIDE / away
            goal = Goal(gx + round((x - gx) * part), gy + round((y - gy) * part))
            self._stage.stroll(person, [goal])
        else:
            self.notice(person, guest.id)
