"""Flatlands: puts its parts together, and passes them what the server asks of its game."""

from flatlands.games.flatlands import events
from flatlands.games.flatlands.cairns.cairns import Cairns
from flatlands.games.flatlands.ember.longest import Longest
from flatlands.games.flatlands.emotes import Emotes
from flatlands.games.flatlands.gems.gems import Gems
from flatlands.games.flatlands.landmarks.finders import Finders
from flatlands.games.flatlands.options import Options
from flatlands.games.flatlands.today import Today
from flatlands.games.flatlands.walkers.herd import NOBODY, Herd, Sizes
from flatlands.games.flatlands.walkers.stage import DEER_FROM
from flatlands.server import game
from flatlands.server.game import Walked
from flatlands.server.kept.boards import NO_NAME
from flatlands.server.node import Node


class Game(game.Game):
    """See server/game.py."""

    parts, wild_from = (Gems, Cairns, Finders, Emotes), DEER_FROM
    events = (events.Emote, events.Ember)

    def __init__(self, node: Node, options: Options, alone: bool) -> None:
        super().__init__(node, options, alone)
        self.longest = Longest(node.channels.ground, node.keeper)
        self.today = Today(node)
        # Without a store the herd of one worker is enough for all.
        keeps = alone or node.keeper.store is not None
        sizes = Sizes(options.walkers, options.deer) if keeps else NOBODY
        self.herd = Herd(node, self.longest, sizes)
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

    def walked(self) -> Walked:
        """Return who has walked here today."""
        return self.today.walked()

    def renamed(self, player: int, name: str, owner: str) -> None:
        """Let the title have a player's present name."""
        if owner:
            self.today.note(player, name)

    def silenced(self, player: int) -> None:
        """Take a player out of the title."""
        self.today.take_out(player)

    def clear_name(self, name: str) -> None:
        """Remove a name from the longest."""
        self.longest.clear(name, NO_NAME)
