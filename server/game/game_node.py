"""The interface of a node for its game: the types of `node` in games and parts.

The Node itself (server/node.py) imports games, and no game imports it. Here are only types.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from flatlands.server.game.delivery import Delivery
from flatlands.server.messages.channels import Bus, Channels
from flatlands.server.movers.movers import Movers
from flatlands.server.players.moderation import Moderation
from flatlands.server.players.movement import Movement
from flatlands.server.players.names import NameSearch
from flatlands.server.players.presence import Presence
from flatlands.server.players.residents import Residents
from flatlands.server.players.takeovers import Takeovers
from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.context import SquareContext
from flatlands.server.squares.outbox import Outbox
from flatlands.server.squares.peers import Peers
from flatlands.server.squares.subscriptions import Subscriptions
from flatlands.server.storage.boards import Boards
from flatlands.server.storage.client import StoreClient
from flatlands.server.storage.items import Items
from flatlands.server.storage.kinds import Event
from flatlands.server.storage.world_clock import WorldClock
from flatlands.world.grid import Grid, Square
from flatlands.world.track import Land


class GamePlay(Protocol):
    """The game that a node plays (play.py), as its parts may use it once all of them are made."""

    items: Items
    boards: Boards
    movers: Movers | None

    def check_message(self, name: str, fields: Sequence[object]) -> None:
        """Raise ValueError if the game declares that it does not send such a message."""

    def emit(self, square: Square, player: int, event: Event) -> None:
        """Publish an event of a player in a square. Raises ValueError."""


class GameNode(Protocol):
    """A node, as its game may use it. Where Game, Part and Me have a method for something, use
    that: what is here changes with the server."""

    id: int
    grid: Grid
    #: The ground that the game has made, with the walls of its layers.
    terrain: Any
    loop: Loop
    stats: Counter[str]
    spawn: Callable[..., object]
    channels: Channels
    bus: Bus
    store_client: StoreClient
    world_clock: WorldClock
    delivery: Delivery
    presence: Presence

    # Squares and other nodes.
    outbox: Outbox
    peers: Peers
    subscriptions: Subscriptions
    square_context: SquareContext

    # Players.
    movement: Movement
    residents: Residents
    takeovers: Takeovers
    moderation: Moderation
    names: NameSearch

    @property
    def play(self) -> GamePlay:
        """The game that is played on it: it is not there before all parts of the game are made."""

    def set_terrain(self, terrain: Land) -> None:
        """Use another ground, such as one with walls on it, for all walks from now on."""
