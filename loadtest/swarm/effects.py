"""How long it takes from when a bot asks for an action until it learns what came of it.

The server does not say which action something came of. So what counts is the first news after it
that may have come of it: an error, a message, an event or other values of the bot's own player, or
a change of things or tiles. News of a kind that also comes when nobody has asked for anything do
not count. What others have caused does: where many act near each other, the true times are longer.
"""

from collections import defaultdict

import numpy as np

from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.swarm.slot_tables import NEVER

#: us after an action in which news may come of it.
WITHIN_US = 2_000_000
#: News come unasked if for this long nobody has asked for anything.
UNASKED_US = 1_000_000

#: A kind of news: what it is, and its name or number if there are several.
Kind = tuple[str, object]


class Effects:
    """The effects of the actions of a process's bots. Times are in us of the run's clock."""

    def __init__(self) -> None:
        self.actions = 0
        #: When somebody has last asked for an action.
        self._asked = 0
        self._begin, self._end = 1, NEVER
        #: How many of the actions are measured.
        self.measured = 0
        #: How long effects took, by the kinds of news that they were; and kinds that come unasked.
        self._took: defaultdict[Kind, Histogram] = defaultdict(Histogram)
        self._unasked: set[Kind] = set()

    def begin(self, now: int) -> None:
        """Measure only actions that are due from now on."""
        self._begin, self.measured = now, 0
        self._took.clear()

    def end(self, now: int) -> None:
        """Measure no actions that are due from now on."""
        self._end = now

    def ask(self, due: int, now: int) -> None:
        """Note that a bot asks for an action that was due at a time."""
        self.actions += 1
        self.measured += self._begin <= due < self._end
        self._asked = now

    def note(self, kind: Kind, due: int, now: int, since: int) -> None:
        """Note news for a bot whose last action was due at a time: 0 if that has had an effect. It
        has been in its place `since` a time: what it learns soon afterwards is how things stand
        there."""
        if now - max(self._asked, since) > UNASKED_US:
            self._unasked.add(kind)
        if self._begin <= due < self._end and now - due <= WITHIN_US:
            self._took[kind].add(np.array([now - due]))

    def took(self) -> Histogram:
        """Return how long effects took."""
        found = Histogram()
        for kind, took in self._took.items():
            if kind not in self._unasked:
                found += took
        return found
