"""Computer players: a part of Flatlands.

This module never decides what they do: herd.py has them.
"""

from typing import Any

from flatlands import Part
from flatlands.games.flatlands.walkers.herd import NOBODY, Herd, Sizes


class Walkers(Part):
    """See the module. Its `game` is Flatlands."""

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        node, options = self.node, game.options
        # Without a store the herd of one worker is enough for all.
        keeps = game.alone or node.keeper.store is not None
        sizes = Sizes(options.walkers, options.deer) if keeps else NOBODY
        self.herd = game.herd = Herd(node, sizes)
        if sizes.people:
            node.replicas.onlooker = self.herd

    def start(self) -> None:
        """Begin to keep the herd."""
        self.herd.start()

    def stop(self) -> None:
        """Let another node keep the herd."""
        self.herd.stop()

    @property
    def stopped(self) -> bool:
        """Whether another node may keep the herd."""
        return not self.herd.lease.kept
