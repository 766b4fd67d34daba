"""Flatlands: puts the parts of the game together, and keeps the names that the title shows."""

from flatlands.games.flatlands.blooms.blooms import Blooms
from flatlands.games.flatlands.book.almanac import Almanac
from flatlands.games.flatlands.book.book import Book
from flatlands.games.flatlands.cairns.cairns import Cairns
from flatlands.games.flatlands.echoes.echoes import Echoes
from flatlands.games.flatlands.ember.ember import Relay
from flatlands.games.flatlands.gardens.gardens import Gardens
from flatlands.games.flatlands.gardens.paths import Paths
from flatlands.games.flatlands.gems.gems import Gems
from flatlands.games.flatlands.landmarks.finders import Finders
from flatlands.games.flatlands.options import Options
from flatlands.games.flatlands.search import Search
from flatlands.games.flatlands.today import Today
from flatlands.games.flatlands.twins.twins import Twins
from flatlands.games.flatlands.walkers.herd import Herd
from flatlands.games.flatlands.walkers.stage import DEER_FROM
from flatlands.games.flatlands.walkers.walkers import Walkers
from flatlands.server import game
from flatlands.server.game import Walked
from flatlands.server.node import Node


class Game(game.Game):
    """See server/game.py."""

    page = "page"
    parts = (
        Gems,
        Cairns,
        Twins,
        Finders,
        Relay,
        Blooms,
        Book,
        Almanac,
        Walkers,
        Echoes,
        Paths,
        Gardens,
        Search,
    )
    wild_from = DEER_FROM
    #: All computer players, some of which this node may keep; set by the part Walkers.
    herd: Herd

    def __init__(self, node: Node, options: Options, alone: bool) -> None:
        super().__init__(node, options, alone)
        self.today = Today(node)

    def walked(self) -> Walked:
        """Return who has walked here today."""
        return self.today.walked()

    def renamed(self, player: int, name: str, owner: str) -> None:
        """Give the title a player's present name, if the player has a key."""
        if owner:
            self.today.note(player, name, owner)

    def silenced(self, player: int) -> None:
        """Take a player out of the title."""
        self.today.take_out(player)
