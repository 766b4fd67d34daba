"""The herd: the computer players that this node moves.

They are movers: the engine decides which node moves which, and lets them survive theirs. This
module lets each do something whenever something is due. It never decides what: people.py,
company.py and deer.py do.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from flatlands import Mover
from flatlands.games.flatlands.clockwork import Bearing
from flatlands.games.flatlands.walkers.company import Company
from flatlands.games.flatlands.walkers.deer import Grazer, meadow
from flatlands.games.flatlands.walkers.kinds import Deer
from flatlands.games.flatlands.walkers.people import RANGE_TILES, Errand, Person
from flatlands.games.flatlands.walkers.stage import Stage
from flatlands.server.game.game_node import GameNode
from flatlands.server.players.resident import Resident
from flatlands.server.players.spots import Position
from flatlands.server.runtime.timers import TimerQueue
from flatlands.world.events import Event
from flatlands.world.grid import Rect, Square
from flatlands.world.track import UNIT

#: The squares in which people walk are those within so many units of the origin.
_REACH: Final = RANGE_TILES * UNIT


class Beast(Protocol):
    """A computer player that this node moves."""

    resident: Resident

    def act(self, now: int) -> int:
        """Do what is due at the node time `now`, in ms, and return when something is due next."""


class Herd:
    """Lets the computer players of this node act. `bearings` are what people of the herd can carry
    for players."""

    def __init__(self, node: GameNode, bearings: Sequence[Bearing]) -> None:
        self._stage = stage = Stage(node, bearings)
        self._loop, self._residents = node.loop, node.residents
        #: The computer players that are here, by their numbers; some may be at another node by now.
        self._beasts: dict[int, Beast] = {}
        #: The middles of meadows, by their numbers.
        self._meadows: dict[int, Position] = {}
        self._stopped = False
        self._acts = TimerQueue(self._loop, self._act)
        #: What has happened in squares, until the company has heard it.
        self._news: list[Sequence[Event]] = []
        #: What they say to nobody, instead of what they otherwise say (SAYINGS in talk.py).
        self.quotes: list[str] = []
        self._company = Company(stage, self.person, self._begin_errand, self.quotes)

    def stop(self) -> None:
        """Let nobody begin anything, because another node is about to move them."""
        self._stopped = True

    @property
    def has_people(self) -> bool:
        """Whether this node moves the people of the herd."""
        return any(isinstance(one, Person) and self._is_here(one) for one in self._beasts.values())

    def begin(self, mover: Mover) -> None:
        """Let a mover of this node act from now on, if it does not do so yet."""
        number = mover.number
        resident = self._residents.by_id.get(number)
        known = self._beasts.get(number)
        if resident is None or (known is not None and known.resident is resident):
            return
        beast: Beast
        if isinstance(mover, Deer):
            beast = Grazer(self._stage, resident, self._middle(mover.meadow))
        else:
            beast = Person(self._stage, resident, self._company.mutter)
        self._beasts[number] = beast
        self._acts.put(number, self._loop.now())

    def _middle(self, number: int) -> Position:
        if number not in self._meadows:
            self._meadows[number] = meadow(self._stage.terrain, number)
        return self._meadows[number]

    def _act(self, number: int, _due: int) -> None:
        beast = self._beasts[number]
        if not self._is_here(beast):
            # Another node has it.
            del self._beasts[number]
        elif not self._stopped:
            self._acts.put(number, beast.act(self._loop.now()))

    def _is_here(self, beast: Beast) -> bool:
        return self._residents.by_id.get(beast.resident.id) is beast.resident

    # People.

    def person(self, number: int) -> Person | None:
        """Return a person that this node moves, or None."""
        beast = self._beasts.get(number)
        return beast if isinstance(beast, Person) and self._is_here(beast) else None

    def _begin_errand(self, person: Person, errand: Errand) -> None:
        person.begin(errand)
        self._acts.put(person.resident.id, self._loop.now())

    def attend(self) -> None:
        """Subscribe to the squares where people walk, and let them help, if they are here."""
        square = self._stage.grid.square
        here = Rect(*square(-_REACH, -_REACH), *square(_REACH, _REACH))
        has_people = self.has_people
        self._stage.subscriptions.follow(here.squares() if has_people else ())
        if has_people and not self._stopped:
            self._company.help()

    def events_applied(self, _square: Square, events: Sequence[Event]) -> None:
        """Take what has happened in a square, and react at the end of this turn of the loop:
        nothing may be added to batches while they are being published."""
        if not self._news:
            self._loop.call_soon(self._hear)
        self._news.append(events)

    def _hear(self) -> None:
        news, self._news = self._news, []
        if self.has_people:
            for events in news:
                self._company.heard(events)
