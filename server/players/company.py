"""The company that people of the herd keep: whom they greet, whom they answer, whose wave they
return.

It hears what happens in the squares that this node is subscribed to, and looks only at players
near by. Of all people of the herd, at whichever nodes, the nearest one in the player's square
reacts, or else the nearest one of the player's own node: so each node that hears of something finds
out who that is for itself, from tracks that it knows. If two nodes should disagree, the one that
reacts later hears the other one first, and keeps silent. A newcomer is greeted also if its nearest
neighbour's node has not heard of it: then the next one does it. This module never moves anybody:
errands.py does.
"""

import math
import random
import re
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from flatlands.server.agenda import Agenda
from flatlands.server.loop import Loop
from flatlands.server.messages.protocol import DEER_FROM, OTHERS_FROM
from flatlands.server.players.errands import COMPANY, WAVE, WONDER, Errands
from flatlands.server.players.people import Errand, Person
from flatlands.server.players.resident import INCARNATION, Resident
from flatlands.server.players.spots import Place
from flatlands.server.players.talk import SAYINGS, Facts, answer
from flatlands.server.squares.replicas import Replicas
from flatlands.world.events import EmoteEvent, EnterEvent, Event, Player, SayEvent
from flatlands.world.grid import Grid, Rect, Square
from flatlands.world.landmarks import Landmarks
from flatlands.world.things import GEM
from flatlands.world.track import UNIT

#: How near somebody is greeted, and answered, and how near its wave is returned, in units.
GREETS_WITHIN: Final = 24 * UNIT
HEARS_WITHIN: Final = 8 * UNIT
WAVES_WITHIN: Final = 10 * UNIT

#: How far they look for a gem that they tell of, in units.
SEES: Final = 24 * UNIT

#: An enter with at most so many events before it in its incarnation is that of a player who has
#: just come into the world.
NEW: Final = 8

#: ms until they react, and how many more for each that is nearer and might do it instead, but for
#: two of them at most. Who is not in the player's square waits so many more as well: its node may
#: just have begun to hear that square, and not know yet who is there.
REACTS_AFTER: Final = 400
LATER: Final = 400

#: So many ms more for each node with people around whose number is lower, for two of them at most:
#: no two nodes react at the same time, also if they disagree about who is nearest.
STAGGERED: Final = 130

#: So many newcomers are remembered, and for so many ms: none of them is greeted again.
REMEMBERED: Final = 2000
REMEMBERED_FOR: Final = 30 * 60_000

#: With more people than this around somebody they keep silent, and no more players are looked at
#: than these.
CROWD, LOOKS_AT = 40, 400

#: How many greetings, and how many answers and emotes, the people of this node make in a minute.
GREETINGS_A_MINUTE, ANSWERS_A_MINUTE = 30, 40
MINUTE: Final = 60_000

#: So many lead somebody at a time.
LEADERS: Final = 4

#: With a person beside who waves, clockwork returns the wave only after so many ms, which is as
#: long as a page lets a wave be returned, and only if nobody has.
WAITS_FOR_PEOPLE: Final = 3000

#: ms after anything that clockwork has said until one of them says something to nobody.
QUIET: Final = 60_000

#: A wave within so many ms after a person has begun to greet somebody near by is the answer to the
#: wave of the greeting.
RETURNED_WITHIN: Final = 8000


class _Budget:
    """Says whether something may be done that is done at most so many times a minute."""

    def __init__(self, most: int) -> None:
        self._done: deque[int] = deque(maxlen=most)

    def spend(self, now: int) -> bool:
        """Return whether it may be done now, and count it then."""
        done = self._done
        if len(done) == done.maxlen and now - done[0] < MINUTE:
            return False
        done.append(now)
        return True


class _Plan(NamedTuple):
    """What person `id` is about to do; `greets` and `waves` say what kind of errand it is."""

    id: int
    errand: Callable[[Person], Errand | None]
    greets: bool = False
    waves: bool = False


class _Around(NamedTuple):
    """The people of the herd around a player who may react to it: first those in its square, and
    then those of its node, each time the nearest first. And the ids of all others."""

    square: Square
    clockwork: list[Player]
    people: list[int]


class Company:
    """See the module. `person` returns a person that this node hosts, by its id, or None; `begin`
    lets it begin an errand now."""

    def __init__(
        self,
        loop: Loop,
        grid: Grid,
        replicas: Replicas,
        errands: Errands,
        landmarks: Landmarks,
        person: Callable[[int], Person | None],
        begin: Callable[[Person, Errand], None],
    ) -> None:
        self._loop = loop
        self._grid = grid
        self._replicas = replicas
        self._errands = errands
        self._landmarks = landmarks
        self._person = person
        self._begin = begin
        #: Who came into the world near somebody, and until when that is remembered.
        self._met: dict[int, int] = {}
        #: Player -> what somebody is about to do for it.
        self._plans: dict[int, _Plan] = {}
        self._due = Agenda(loop, lambda guest, _due: self._carry_out(guest))
        self._greetings = _Budget(GREETINGS_A_MINUTE)
        self._answers = _Budget(ANSWERS_A_MINUTE)
        #: When people of this node have begun to greet somebody last, by their ids.
        self._waved: dict[int, int] = {}
        #: Whose wave no other person has returned yet, and when it was.
        self._waves: dict[int, int] = {}
        #: When clockwork has said something last, or somebody has come whom it greets.
        self._said = 0

    def heard(self, square: Square, events: Sequence[Event]) -> None:
        """Take what has happened in a square, after it was applied to the replica."""
        for event in events:
            if isinstance(event, EnterEvent):
                if event.id >= OTHERS_FROM and event.seq % INCARNATION <= NEW:
                    self._came(event.id, event.seq >= INCARNATION)
            elif isinstance(event, SayEvent):
                if event.id >= OTHERS_FROM:
                    self._spoke(event.id, event.text)
                    continue
                self._said = self._loop.now()
                if event.text not in SAYINGS:
                    self._another_reacted(event.id, event.text)
            elif isinstance(event, EmoteEvent):
                if event.id < OTHERS_FROM:
                    self._another_reacted(event.id, None)
                elif event.emote == WAVE:
                    self._was_waved_to(event.id)

    # What they react to.

    def _came(self, guest: int, again: bool) -> None:
        now = self._loop.now()
        while self._met and (
            len(self._met) >= REMEMBERED or self._met[next(iter(self._met))] <= now
        ):
            del self._met[next(iter(self._met))]
        if guest in self._met:
            return
        around = self._look_around(guest, GREETS_WITHIN)
        if around is None:
            return
        self._met[guest] = now + REMEMBERED_FOR
        self._said = now
        if self._errands.people_around(guest) >= COMPANY:
            return
        planned = {plan.id for plan in self._plans.values()}
        # How many of other nodes are nearer than each of this node.
        nearer, own = 0, list[tuple[bool, int, int]]()
        for player in around.clockwork:
            person = self._person(player.id)
            if person is None:
                nearer += 1
            else:
                is_busy = person.errand is not None or player.id in planned
                own.append((is_busy, nearer, player.id))
        if own:
            # The nearest one, but rather one that has nothing else to do.
            _, nearer, id = min(own, key=lambda one: one[:2])
            plan = _Plan(id, lambda person: self._greeting(person, guest, again), greets=True)
            self._put(guest, plan, around, nearer)

    def _greeting(self, person: Person, guest: int, again: bool) -> Errand | None:
        now = self._loop.now()
        if not self._greetings.spend(now):
            return None
        if person.errand is not None:
            self._errands.greet_in_passing(person.resident, guest, again)
            return None
        self._waved[person.resident.id] = now
        leads = not again and self._errands.leading < LEADERS
        return self._errands.greet(person.resident, guest, again, leads)

    def _spoke(self, guest: int, text: str) -> None:
        around = self._look_around(guest, HEARS_WITHIN)
        if around is None or len(around.people) > CROWD or not around.clockwork:
            return
        words = set(re.findall(r"\w+", text.lower()))
        named = [player for player in around.clockwork if player.name.lower() in words]
        if around.people and not named:
            # The others may be meant.
            return
        nearest = (named or around.clockwork)[0]
        plan = _Plan(nearest.id, lambda person: self._answer(person, guest, text, around))
        self._put(guest, plan, around)

    def _answer(self, person: Person, guest: int, text: str, around: _Around) -> Errand | None:
        now = self._loop.now()
        if not self._answers.spend(now):
            return None
        resident, player = person.resident, self._replicas.player(guest)
        if player is None:
            return None
        here = resident.track.at(now)
        facts = Facts(
            player.name,
            resident.name,
            here,
            self._nearest_gem(*here),
            self._nearest_landmark(here),
            len(around.people) + 1,
            len(around.clockwork),
        )
        said = answer(text, facts)
        if person.errand is not None:
            if said is not None:
                self._errands.answer_in_passing(resident, said)
            return None
        if said is None:
            return self._errands.gesture(resident, guest, WONDER)
        return self._errands.answer(resident, guest, said)

    def _was_waved_to(self, guest: int) -> None:
        around = self._look_around(guest, WAVES_WITHIN)
        if around is None or len(around.people) > CROWD or self._is_return(guest, around.people):
            return
        now = self._loop.now()
        for player in around.clockwork:
            if now - self._waved.get(player.id, 0) < RETURNED_WITHIN:
                # It waved first, and this is the answer.
                del self._waved[player.id]
                return
        if around.clockwork:
            nearest = around.clockwork[0].id
            plan = _Plan(nearest, lambda person: self._wave_back(person, guest), waves=True)
            self._put(guest, plan, around, wait=WAITS_FOR_PEOPLE if around.people else 0)

    def _is_return(self, guest: int, beside: list[int]) -> bool:
        """Say whether a wave returns that of somebody `beside`: then clockwork returns neither."""
        now, waves = self._loop.now(), self._waves
        while waves and now - waves[next(iter(waves))] > WAITS_FOR_PEOPLE:
            del waves[next(iter(waves))]
        other = next((id for id in beside if id in waves), None)
        if other is not None:
            del waves[other]
            if other in self._plans and self._plans[other].waves:
                self._give_up(other)
            return True
        waves.pop(guest, None)
        waves[guest] = now
        return False

    def _wave_back(self, person: Person, guest: int) -> Errand | None:
        if person.errand is not None or not self._answers.spend(self._loop.now()):
            return None
        return self._errands.gesture(person.resident, guest, WAVE)

    # Who reacts, and when.

    def _put(
        self, guest: int, plan: _Plan, around: _Around, nearer: int = 0, wait: int = 0
    ) -> None:
        """Let a person of this node carry out a plan soon, but not within `wait` ms; those of other
        nodes are left alone. `nearer` is how many of those are nearer."""
        person = self._person(plan.id)
        if person is not None:
            self._plans[guest] = plan
            own = person.resident.node
            lower = len({player.node for player in around.clockwork if player.node < own})
            before = min(nearer, 2) + (person.resident.square != around.square)
            later = REACTS_AFTER + LATER * before + STAGGERED * min(lower, 2)
            due = self._loop.now() + wait + later
            if person.errand is None and not wait:
                # It stays in the square in which others may react too, so that they hear it.
                self._errands.notice(person.resident, guest)
                person.stand(due)
            self._due.put(guest, due)

    def _carry_out(self, guest: int) -> None:
        plan = self._plans.pop(guest)
        person = self._person(plan.id)
        errand = None if person is None else plan.errand(person)
        if person is not None and errand is not None:
            self._begin(person, errand)

    def _another_reacted(self, id: int, text: str | None) -> None:
        """Give up what another node's person does already: it has said `text`, or waved."""
        if not self._plans or self._person(id) is not None:
            return
        speaker, now = self._replicas.player(id), self._loop.now()
        for guest, plan in list(self._plans.items()):
            player = self._replicas.player(guest)
            if speaker is None or player is None or plan.waves != (text is None):
                continue
            if plan.greets and player.name not in (text or ""):
                continue
            if math.dist(speaker.track.at(now), player.track.at(now)) <= GREETS_WITHIN:
                self._give_up(guest)

    def _give_up(self, guest: int) -> None:
        del self._plans[guest]
        self._due.drop(guest)

    # What they say to nobody.

    def mutter(self, resident: Resident) -> str | None:
        """Return what a person of this node says to nobody now, or None: it does so if there is
        somebody to hear it, but not many, and if nobody has said anything for long."""
        now = self._loop.now()
        if now - self._said < QUIET or not 0 < self._errands.people_around(resident.id) < COMPANY:
            return None
        self._said = now
        return random.choice(SAYINGS)

    # What they see.

    def _look_around(self, guest: int, reach: int) -> _Around | None:
        """Return who is within `reach` units of a player, or None if that is not seen."""
        player, now = self._replicas.player(guest), self._loop.now()
        if player is None:
            return None
        here = player.track.at(now)
        square = self._grid.square(*here)
        found: list[tuple[bool, int, int, Player]] = []
        people: list[int] = []
        for other in islice(self._replicas.around(*here, reach), LOOKS_AT):
            if other.id == guest or DEER_FROM <= other.id < OTHERS_FROM:
                continue
            x, y = other.track.at(now)
            away = (x - here[0]) ** 2 + (y - here[1]) ** 2
            if away <= reach * reach:
                if other.id < DEER_FROM:
                    is_beyond = self._grid.square(x, y) != square
                    if not is_beyond or other.node == player.node:
                        found.append((is_beyond, away, other.id, other))
                else:
                    people.append(other.id)
        clockwork = [one[-1] for one in sorted(found, key=lambda one: one[:3])]
        return _Around(square, clockwork, people)

    def _nearest_landmark(self, here: Place) -> Place | None:
        """Return where the nearest landmark stands of those in the parts of the world around the
        plaza, in units, or None if they have none."""
        tiles = [self._landmarks.of(i, j) for i in (-1, 0) for j in (-1, 0)]
        places = [(x * UNIT, y * UNIT) for x, y in filter(None, tiles)]
        return min(places, key=lambda place: math.dist(place, here), default=None)

    def _nearest_gem(self, x: int, y: int) -> Place | None:
        """Return where the nearest gem lies that is seen from (x, y), in units, or None."""
        grid, gems = self._grid, []
        box = Rect(*grid.square(x - SEES, y - SEES), *grid.square(x + SEES, y + SEES))
        for column, row in box.squares():
            heard = self._replicas.squares.get((column, row))
            if heard is not None:
                gems += [
                    (column * grid.span + thing.x, row * grid.span + thing.y)
                    for thing in heard.things.all()
                    if thing.kind == GEM
                ]
        return min(gems, key=lambda place: math.dist(place, (x, y)), default=None)
