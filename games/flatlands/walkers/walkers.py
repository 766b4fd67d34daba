"""Computer players: a part of Flatlands.

This module never decides what they do: herd.py has them.
"""

from typing import Any

from flatlands import Part, Records, every
from flatlands.games.flatlands.notes import DAY, Entry
from flatlands.games.flatlands.walkers.herd import NOBODY, Herd, Sizes
from flatlands.games.flatlands.walkers.talk import quotes


class Walkers(Part):
    """The part of the game with computer players. Its `game` is Flatlands."""

    entries = Records(Entry)

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        node, options = self.node, game.options
        # Without a store the herd of one worker is enough for all.
        keeps = game.alone or self.has_store
        sizes = Sizes(options.walkers, options.deer) if keeps else NOBODY
        self.herd = game.herd = Herd(node, sizes)
        if sizes.people:
            node.square_context.set_observer(self.herd)

    @every(60, waits=True)
    def read(self) -> None:
        """Give the herd, if it is kept here, the almanac of today, if anybody has asked for it."""
        if self.herd.lease.held and self.has_store:
            self.herd.quotes[:] = quotes(self.entries.all(str(self.now() // DAY)))

    def _on_start(self) -> None:
        """Begin to keep the herd."""
        self.herd.start()

    def _on_stop(self) -> None:
        """Let another node keep the herd."""
        self.herd.stop()

    @property
    def _has_stopped(self) -> bool:
        """Whether another node may keep the herd."""
        return not self.herd.lease.held
