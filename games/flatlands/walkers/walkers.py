"""Computer players: a part of Flatlands.

This module decides how many there are. herd.py lets them act.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from flatlands import Mover, Part, Records, every
from flatlands.games.flatlands.clockwork import Walker
from flatlands.games.flatlands.notes import DAY, Entry
from flatlands.games.flatlands.walkers import deer, people
from flatlands.games.flatlands.walkers.herd import Herd
from flatlands.games.flatlands.walkers.kinds import Deer
from flatlands.games.flatlands.walkers.talk import quotes
from flatlands.world.track import UNIT

#: The ms after which it is checked again whether all of them are there.
CHECK_AGAIN_MS: Final = 10_000

#: How many are spawned in one step.
AT_ONCE: Final = 100


class Walkers(Part):
    """The part of the game with computer players. Its `game` is Flatlands."""

    things = [Walker, Deer]
    entries = Records(Entry)

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        self.herd = game.herd = Herd(self.node, game.bearings)
        options = game.options
        #: Whether this node has any: without a store those of one worker are enough for all.
        self._has_any = game.alone or self.has_store
        self._people, self._deer = options.walkers, options.deer
        self._check_at = 0
        if self._has_any and self._people:
            self.node.square_context.set_observer(self.herd)

    @every(1, once=True, waits=True)
    def fill(self) -> None:
        """Spawn those that are missing, and take away those that are too many."""
        if not self._has_any or self.now() < self._check_at:
            return
        names = [people.NAMES[at % len(people.NAMES)] for at in range(self._people)]
        self._fill(Walker, "name", names)
        self._fill(Deer, "meadow", [deer.group(at) for at in range(self._deer)])
        self._check_at = self.now() + CHECK_AGAIN_MS

    def _fill(self, kind: type[Mover], field: str, wanted: Iterable[Any]) -> None:
        """Let there be one mover of a kind for each of the wanted values of its field."""
        missing = Counter(wanted)
        for mover in self.store.movers(kind):
            value = getattr(mover, field)
            if missing[value] > 0:
                missing[value] -= 1
            else:
                self.store.take(mover)
        values = list(missing.elements())
        for at in range(0, len(values), AT_ONCE):
            some = [
                kind(self._tile(value), **{field: value}) for value in values[at : at + AT_ONCE]
            ]
            self.spawn(some)

    def _tile(self, value: str | int) -> tuple[int, int]:
        """Return where a new one begins."""
        if isinstance(value, int):
            x, y = deer.meadow(self.node.terrain, value)
        else:
            x, y = self.node.residents.choose_spot()
        return x // UNIT, y // UNIT

    def on_arrive(self, mover: Mover) -> None:
        """Let a mover act that this node moves."""
        self._begin(mover)

    def on_adopt(self, mover: Mover) -> None:
        """Let a mover act that another node has moved."""
        self._begin(mover)

    def _begin(self, mover: Mover) -> None:
        if isinstance(mover, Walker | Deer):
            self.herd.begin(mover)

    @every(1)
    def attend(self) -> None:
        """See what happens around the people of the herd."""
        self.herd.attend()

    @every(60, waits=True)
    def read(self) -> None:
        """Give the herd, if it is here, the almanac of today, if anybody has asked for it."""
        if self.herd.has_people and self.has_store:
            self.herd.quotes[:] = quotes(self.entries.all(str(self.now() // DAY)))

    def _on_stop(self) -> None:
        """Let another node have the herd."""
        self.herd.stop()
