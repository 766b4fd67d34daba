"""What a node and its server know of the game that is played on them, and nothing else of it.

A game's module `game` has a class `Game` that inherits from this one, of which each node makes one
object when all its own parts are there. This class is the game in which there is nothing but
players.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from flatlands.server.kept.reader import Fetch
from flatlands.world.grid import Square


class Walked(NamedTuple):
    """The names of those who came last, the last one first, and how many came in all."""

    names: list[str]
    people: int


class Game:
    """See the module. `node` is the Node (node.py), and `options` the game's own object with the
    values of its options, or None. `alone` says whether this node may keep, without a store, what
    only one node of the machine may."""

    #: Kind of a client's message -> what obeys it, which is called with the session and the fields
    #: and may raise Refused.
    handlers: Mapping[int, Callable[..., None]] = {}

    #: What reads the things that lie in squares.
    fetches: Sequence[Fetch] = ()

    def __init__(self, node: Any, options: Any = None, alone: bool = True) -> None:
        self.node = node

    def start(self) -> None:
        """Begin, once the node hears others."""

    def stop(self) -> None:
        """End what other nodes can go on with, since the server stops."""

    @property
    def stopped(self) -> bool:
        """Whether other nodes may go on with all that."""
        return True

    def walked(self) -> Walked:
        """Return who has walked here today, as the title of the page tells it."""
        return Walked([], 0)

    def renamed(self, player: int, name: str, owner: str) -> None:
        """Take that a player of this node has another name. `owner` is the hash of its key."""

    def silenced(self, player: int) -> None:
        """Take that an operator has sent away or muted a player."""

    def clear(self, square: Square) -> None:
        """Remove what players have written in a square, because an operator wants it."""

    def clear_name(self, name: str) -> None:
        """Forget a name wherever it is kept, because an operator wants it."""


#: Makes the game of a node, which it is called with.
Make = Callable[[Any], Game]
