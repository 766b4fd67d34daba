"""Flatlands: puts the parts of the game together, and keeps the names that the title shows.

A part is a folder beside this file, whose `part.py` lists its classes in PARTS. Without the
folder the game does without the part: nothing else imports it.
"""

from importlib import import_module
from pathlib import Path

from flatlands import Part
from flatlands.games.flatlands.clockwork import Accompanied
from flatlands.games.flatlands.emotes import Emotes
from flatlands.games.flatlands.options import Options
from flatlands.games.flatlands.search import Search
from flatlands.games.flatlands.today import Today
from flatlands.server.game.game import RecentVisitors
from flatlands.server.game.game_node import GameNode


def _found() -> list[type[Part]]:
    """Return the classes of the parts that there are, in the order of their folders' names."""
    names = sorted(path.parent.name for path in Path(__file__).parent.glob("*/part.py"))
    parts = [import_module(f"{__package__}.{name}.part") for name in names]
    return [kind for part in parts for kind in part.PARTS]


class Game(Accompanied):
    """See server/game/game.py."""

    page = "page"
    parts = (Emotes, *_found(), Search)

    def __init__(self, node: GameNode, options: Options, alone: bool) -> None:
        super().__init__(node, options, alone)
        self.today = Today(node)

    def _recent_visitors(self) -> RecentVisitors:
        """Return who has walked here within two days."""
        return self.today.recent_visitors()

    def _on_renamed(self, player: int, name: str, owner: str) -> None:
        """Give the title a player's present name, if the player has a key."""
        if owner:
            self.today.note(player, name, owner)

    def _on_silenced(self, player: int) -> None:
        """Take a player out of the title."""
        self.today.take_out(player)
