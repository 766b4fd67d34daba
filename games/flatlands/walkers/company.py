"""The company that people of the herd keep: whom they greet, whom they answer, whose wave they
return, with whom they dance, whom they help.

It hears what happens in the squares that the herd's holder is subscribed to, and looks only at
players nearby. Of all people of the herd, the nearest one reacts. They never come between people:
where others are near they wait, and in a crowd they keep silent. A player that comes in a later
incarnation than its first has been here before: it is greeted as such, and not led. This module
never moves anybody: errands.py does.
"""

import math
import random
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from flatlands.games.flatlands.events import DANCE, WAVE, WONDER, Emote
from flatlands.games.flatlands.ground.landmarks import Landmarks
from flatlands.games.flatlands.treasure import ON_STONE_TILES, STONE_TILES
from flatlands.games.flatlands.walkers.errands import COMPANY, Errands
from flatlands.games.flatlands.walkers.people import Errand, Person
from flatlands.games.flatlands.walkers.sight import Sights
from flatlands.games.flatlands.walkers.stage import Stage, is_person
from flatlands.games.flatlands.walkers.talk import SAYINGS, Facts, answer
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.players.resident import INCARNATION, Resident
from flatlands.server.players.spots import Position
from flatlands.server.runtime.timers import TimerQueue
from flatlands.world.events import EnterEvent, Event, SayEvent
from flatlands.world.grid import Rect, Square
from flatlands.world.track import UNIT

#: How near a player is greeted, is answered, and has its wave or its dance returned, in units.
GREETS_WITHIN: Final = 24 * UNIT
HEARS_WITHIN: Final = 8 * UNIT
WAVES_WITHIN: Final = 10 * UNIT

#: The names of the kinds of things that are gems, and gems between twin stones, if the game has
#: them.
GEM: Final = "Gem"
TWIN: Final = "Twin"

#: How far they look for a gem that they speak of, in units.
SEES: Final = 24 * UNIT

#: An enter event that is this early in its incarnation, by its seq, is that of a player that has
#: just come into the world.
NEW: Final = 8

#: ms until they react.
REACTS_AFTER: Final = 400

#: How many newcomers are remembered, and for how many ms: none of them is greeted again.
REMEMBERED: Final = 2000
REMEMBERED_FOR: Final = 30 * 60_000

#: With more people than this around a player they keep silent.
CROWD: Final = 40

#: How many greetings they make in a minute.
GREETINGS_A_MINUTE: Final = 30
#: How many answers and emotes they make in a minute.
ANSWERS_A_MINUTE: Final = 40
MINUTE: Final = 60_000

#: How many of them may lead somebody at the same time.
LEADERS: Final = 4

#: If another person is near the one that waves, clockwork returns the wave only after this many ms,
#: which is as long as a page lets a wave be returned, and only if nobody has.
WAITS_FOR_PEOPLE: Final = 3000

#: A person waits at twin stones once it has stood on one of them for so many ms, and is alone there
#: if nobody else is within so many units of the gem.
WAITS_AT_STONE: Final = 2500
ALONE_WITHIN: Final = 10 * UNIT
#: From how far clockwork comes to help, in units; how many may do so at the same time; and the ms
#: after which one comes to the same person again.
HELPS_WITHIN: Final = 40 * UNIT
HELPERS: Final = 4
HELPS_AGAIN: Final = 60_000

#: ms after anything that clockwork has said until one of them says something to nobody.
QUIET: Final = 60_000

#: A wave within this many ms after a person nearby has begun to greet somebody is the answer to the
#: wave of that greeting.
RETURNED_WITHIN: Final = 8000


class _Budget:
    """Limits how many times a minute something is done."""

    def __init__(self, most: int) -> None:
        self._done: deque[int] = deque(maxlen=most)

    def spend(self, now: int) -> bool:
        """Return whether it may be done now; count it if so."""
        done = self._done
        if len(done) == done.maxlen and now - done[0] < MINUTE:
            return False
        done.append(now)
        return True


class _Plan(NamedTuple):
    """What person `id` is about to do; `waves` says whether that is to wave back."""

    id: int
    errand: Callable[[Person], Errand | None]
    waves: bool = False


class _Lone(NamedTuple):
    """A player that waits alone at twin stones, and the middle of the free stone, in units."""

    guest: int
    stone: Position


class _Around(NamedTuple):
    """The people of the herd around a player, who may react to it, the nearest first; and the ids
    of all other people."""

    clockwork: list[Person]
    people: list[int]


class Company:
    """Chooses whom the people of the herd greet and answer. `person` returns a person that this
    node hosts, by its id, or None; `begin` lets it begin an errand now, and `quotes` is what they
    say to nobody rather than SAYINGS."""

    def __init__(
        self,
        stage: Stage,
        person: Callable[[int], Person | None],
        begin: Callable[[Person, Errand], None],
        quotes: Sequence[str],
    ) -> None:
        self._stage = stage
        self._quotes = quotes
        self._loop, self._grid, self._subscriptions = stage.loop, stage.grid, stage.subscriptions
        self._landmarks = Landmarks(stage.terrain)
        self._errands = Errands(stage, Sights(stage.terrain, self._landmarks))
        self._person = person
        self._begin = begin
        #: Who came into the world near somebody, and until when that is remembered.
        self._met: dict[int, int] = {}
        #: Player -> what somebody is about to do for it.
        self._plans: dict[int, _Plan] = {}
        self._due = TimerQueue(self._loop, lambda guest, _due: self._carry_out(guest))
        self._greetings = _Budget(GREETINGS_A_MINUTE)
        self._answers = _Budget(ANSWERS_A_MINUTE)
        #: When people of the herd last began to greet somebody, by their ids.
        self._waved: dict[int, int] = {}
        #: Players whose waves no other person has returned yet, and when they waved.
        self._waves: dict[int, int] = {}
        #: When clockwork last said something, or somebody came whom it greets.
        self._said = 0
        #: Players to whom somebody went to help, and when.
        self._helped: dict[int, int] = {}

    def heard(self, events: Sequence[Event]) -> None:
        """Take what has happened in a square, after it was applied to the replica."""
        for event in events:
            if event[1] < FIRST_PERSON_ID:
                if isinstance(event, SayEvent):
                    self._said = self._loop.now()
            elif isinstance(event, EnterEvent):
                if event.seq % INCARNATION <= NEW:
                    self._came(event.id, event.seq >= INCARNATION)
            elif isinstance(event, SayEvent):
                self._spoke(event.id, event.text)
            elif isinstance(event, Emote._row):
                if event.emote == WAVE:
                    self._has_waved(event.id)
                elif event.emote == DANCE:
                    self._has_danced(event.id)

    # What they react to.

    def _came(self, guest: int, again: bool) -> None:
        now = self._loop.now()
        while self._met and (
            len(self._met) >= REMEMBERED or self._met[next(iter(self._met))] <= now
        ):
            del self._met[next(iter(self._met))]
        if guest in self._met:
            return
        people = self._errands.people_around(guest)
        if not people:
            # It is not seen.
            return
        self._met[guest] = now + REMEMBERED_FOR
        self._said = now
        around = self._look_around(guest, GREETS_WITHIN) if people < COMPANY else None
        if around is None or not around.clockwork:
            return
        planned = {plan.id for plan in self._plans.values()}

        def is_busy(person: Person) -> bool:
            return person.errand is not None or person.resident.id in planned

        # The nearest one with nothing else to do, or else the nearest one.
        greeter = min(around.clockwork, key=is_busy)
        self._put(guest, greeter, lambda person: self._greeting(person, guest, again))

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
        named = [one for one in around.clockwork if one.resident.name.lower() in words]
        if around.people and not named:
            # The others may be meant.
            return
        nearest = (named or around.clockwork)[0]
        self._put(guest, nearest, lambda person: self._answer(person, guest, text, around))

    def _answer(self, person: Person, guest: int, text: str, around: _Around) -> Errand | None:
        now = self._loop.now()
        if not self._answers.spend(now):
            return None
        resident, player = person.resident, self._subscriptions.player(guest)
        if player is None:
            return None
        here = self._stage.at(resident)
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
                self._stage.residents.say(resident, said)
            return None
        if said is None:
            return self._errands.gesture(resident, guest, WONDER)
        return self._errands.answer(resident, guest, said)

    def _has_waved(self, guest: int) -> None:
        around = self._look_around(guest, WAVES_WITHIN)
        if around is None or len(around.people) > CROWD or self._is_return(guest, around.people):
            return
        now = self._loop.now()
        for id in (one.resident.id for one in around.clockwork):
            if now - self._waved.get(id, 0) < RETURNED_WITHIN:
                # It waved first, and this is the answer.
                del self._waved[id]
                return
        if around.clockwork:
            wait = WAITS_FOR_PEOPLE if around.people else 0
            self._put(
                guest,
                around.clockwork[0],
                lambda person: self._wave_back(person, guest),
                wait,
                waves=True,
            )

    def _is_return(self, guest: int, beside: list[int]) -> bool:
        """Return whether a wave returns one from `beside`: then clockwork returns neither."""
        now, waves = self._loop.now(), self._waves
        while waves and now - waves[next(iter(waves))] > WAITS_FOR_PEOPLE:
            del waves[next(iter(waves))]
        other = next((id for id in beside if id in waves), None)
        if other is not None:
            del waves[other]
            if other in self._plans and self._plans[other].waves:
                del self._plans[other]
                self._due.drop(other)
            return True
        waves.pop(guest, None)
        waves[guest] = now
        return False

    def _wave_back(self, person: Person, guest: int) -> Errand | None:
        if person.errand is not None or not self._answers.spend(self._loop.now()):
            return None
        return self._errands.come_along(person.resident, guest)

    def _has_danced(self, guest: int) -> None:
        around = self._look_around(guest, WAVES_WITHIN)
        if around is not None and around.clockwork and not around.people:
            nearest = around.clockwork[0]
            self._put(guest, nearest, lambda person: self._dance_along(person, guest))

    def _dance_along(self, person: Person, guest: int) -> Errand | None:
        if person.errand is not None or not self._answers.spend(self._loop.now()):
            return None
        return self._errands.dance(person.resident, guest)

    # Who reacts, and when.

    def _put(
        self,
        guest: int,
        person: Person,
        errand: Callable[[Person], Errand | None],
        wait: int = 0,
        *,
        waves: bool = False,
    ) -> None:
        """Let a person go on an errand soon, but not within `wait` ms."""
        self._plans[guest] = _Plan(person.resident.id, errand, waves)
        due = self._loop.now() + wait + REACTS_AFTER
        if person.errand is None and not wait:
            self._errands.notice(person.resident, guest)
            person.stand(due)
        self._due.put(guest, due)

    def _carry_out(self, guest: int) -> None:
        plan = self._plans.pop(guest)
        person = self._person(plan.id)
        errand = None if person is None else plan.errand(person)
        if person is not None and errand is not None:
            self._begin(person, errand)

    # Whom they help.

    def help(self) -> None:
        """Let somebody help each player that waits alone at twin stones."""
        now = self._loop.now()
        while self._helped and now - self._helped[next(iter(self._helped))] >= HELPS_AGAIN:
            del self._helped[next(iter(self._helped))]
        for twin in list(self._things(TWIN, self._subscriptions.by_square)):
            lone = self._lone_at(twin)
            if lone is None or lone.guest in self._helped or len(self._helped) >= HELPERS:
                continue
            helper = self._free_near(twin, HELPS_WITHIN)
            if helper is not None:
                self._helped[lone.guest] = now
                self._help(helper, twin, lone)

    def _help(self, helper: Person, twin: Position, lone: _Lone) -> None:
        def waits() -> bool:
            return self._is_there(TWIN, twin) and self._lone_at(twin) == lone

        self._begin(helper, self._errands.step_on(helper.resident, *lone, waits))

    def _lone_at(self, twin: Position) -> _Lone | None:
        """Return who waits alone at a gem between twin stones, or None."""
        people = [*filter(is_person, self._stage.near(twin, ALONE_WITHIN))]
        if len(people) != 1 or people[0].track.end > self._loop.now() - WAITS_AT_STONE:
            return None
        [one], aside = people, STONE_TILES * UNIT
        at = self._stage.at(one)
        both = [(twin[0] - aside, twin[1]), (twin[0] + aside, twin[1])]
        for stone, other in (both, both[::-1]):
            if math.dist(at, stone) <= ON_STONE_TILES * UNIT:
                return _Lone(one.id, other)
        return None

    def _free_near(self, place: Position, reach: int) -> Person | None:
        """Return the nearest person of the herd that has nothing else to do, or None."""
        planned = {plan.id for plan in self._plans.values()}
        near = filter(self._stage.is_clockwork, self._stage.near(place, reach))
        people = (self._person(one.id) for one in near if one.id not in planned)
        return next((one for one in people if one is not None and one.errand is None), None)

    # What they say to nobody.

    def mutter(self, resident: Resident) -> str | None:
        """Return what a person of this node says to nobody now, or None. It speaks only if there is
        somebody to hear it, but not many, and if clockwork has long been silent."""
        now = self._loop.now()
        if now - self._said < QUIET or not 0 < self._errands.people_around(resident.id) < COMPANY:
            return None
        self._said = now
        return random.choice(self._quotes or SAYINGS)

    # What they see.

    def _look_around(self, guest: int, reach: int) -> _Around | None:
        """Return who is within `reach` units of a player, or None if the player is not seen."""
        player = self._subscriptions.player(guest)
        if player is None:
            return None
        near = self._stage.near(self._stage.at(player), reach)
        clockwork = [self._person(one.id) for one in near if self._stage.is_clockwork(one)]
        people = [one.id for one in near if is_person(one) and one.id != guest]
        return _Around([one for one in clockwork if one is not None], people)

    def _nearest_landmark(self, here: Position) -> Position | None:
        """Return the place, in units, of the nearest landmark in the parts of the world around the
        plaza, or None if they have none."""
        tiles = [self._landmarks.of(i, j) for i in (-1, 0) for j in (-1, 0)]
        places = [(x * UNIT, y * UNIT) for x, y in filter(None, tiles)]
        return min(places, key=lambda place: math.dist(place, here), default=None)

    def _nearest_gem(self, x: int, y: int) -> Position | None:
        """Return the place of the nearest gem that is seen from (x, y), in units, or None."""
        square = self._grid.square
        box = Rect(*square(x - SEES, y - SEES), *square(x + SEES, y + SEES))
        gems = self._things(GEM, box.squares())
        return min(gems, key=lambda place: math.dist(place, (x, y)), default=None)

    def _things(self, kind: str, squares: Iterable[Square]) -> Iterator[Position]:
        """Yield the places of all things of a kind in some squares, in units."""
        span = self._grid.span
        for column, row in squares:
            subscription = self._subscriptions.by_square.get((column, row))
            for thing in [] if subscription is None else subscription.things.all():
                if type(thing).__name__ == kind:
                    yield column * span + thing.x, row * span + thing.y

    def _is_there(self, kind: str, place: Position) -> bool:
        """Return whether a thing of a kind lies at a place."""
        return place in self._things(kind, [self._grid.square(*place)])
