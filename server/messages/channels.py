"""The names of a world's channels, and what publishes on them.

    WORLD/VERSION/nodes                          what is for all nodes of the world
    WORLD/VERSION/node/ID                        what is for one node
    WORLD/VERSION/player/ID                      what is for the nodes that know a player
    WORLD/VERSION/owner/OWNER                    what is for the nodes at which a person plays
    WORLD/VERSION/SEED-SIDE-GAME/COLUMN:ROW      a square
    WORLD/VERSION/SEED-SIDE-GAME/GRAIN/COLUMN:ROW/MOST    how many are where in a part of the world

Worlds with other names, and servers of another version, can therefore share a broker. If servers of
one world have different seeds, sides or games by mistake, they notice it on the first channel, and
never share a square's.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from flatlands.brokers.base import Broker
from flatlands.server.runtime.loop import Loop
from flatlands.world.grid import Square

#: The version of the messages between nodes; it grows with GROUND of world/terrain.py too, so that
#: no node meets one that has other ground. Messages to clients have their own version.
PEER_VERSION: Final = 14

#: The default name of a world.
DEFAULT_WORLD: Final = "flatlands"

#: How many squares' channel names are cached: more than a node is subscribed to.
CHANNELS_CACHED: Final = 65536


def nodes_channel(world: str) -> str:
    """Return the name of the channel for all nodes of a world."""
    return f"{world}/{PEER_VERSION}/nodes"


class Channels:
    """The channels of one world.

    `nodes` is the channel for all nodes of the world. `ground_id` is the seed and the side, as the
    store has them, and `rules` is all on which nodes must agree: the ground and the game, which
    `game_fingerprint` names in a few letters.
    """

    def __init__(self, world: str, seed: int, side: int, game_fingerprint: str = "") -> None:
        self._prefix = f"{world}/{PEER_VERSION}"
        self.nodes = nodes_channel(world)
        self.ground_id = f"{seed}-{side}"
        self.rules = f"{self.ground_id}-{game_fingerprint}" if game_fingerprint else self.ground_id
        self._squares = squares = f"{self._prefix}/{self.rules}/"

        def name(square: Square) -> str:
            return f"{squares}{square[0]}:{square[1]}"

        #: Returns the name of a square's channel. It is cached because each batch needs one.
        self.square: Callable[[Square], str] = lru_cache(CHANNELS_CACHED)(name)

    def is_of_ground(self, channel: str) -> bool:
        """Return whether a channel is that of a square, or area, of this ground."""
        return channel.startswith(self._squares)

    def node(self, id: int) -> str:
        """Return the name of a node's channel."""
        return f"{self._prefix}/node/{id}"

    def player(self, id: int) -> str:
        """Return the name of a player's channel."""
        return f"{self._prefix}/player/{id}"

    def owner(self, owner: str) -> str:
        """Return the name of a person's channel."""
        return f"{self._prefix}/owner/{owner}"

    def area(self, area: tuple[int, int, int, int]) -> str:
        """Return the name of the channel of an area of the world (atlas/dots.py)."""
        grain, column, row, most = area
        return f"{self._squares}{grain}/{column}:{row}/{most}"


class Bus:
    """This node's access to the broker: publishes on the channels of the world, and finds what
    receives on each.

    A method that publishes returns False if the broker refuses the message.
    """

    def __init__(
        self, node: int, channels: Channels, broker: Broker | Any, loop: Loop | Any
    ) -> None:
        self.node = node
        self.channels = channels
        self.broker = broker
        self.loop = loop
        #: Channel -> what gets its messages, for those that one part of the node is subscribed to.
        self.receivers: dict[str, Callable[[bytes], None]] = {}

    def set_receiver(self, channel: str, receiver: Callable[[bytes], None]) -> None:
        """Let a part of the node receive what comes on a channel."""
        self.receivers[channel] = receiver

    def drop_receiver(self, channel: str) -> None:
        """Let nobody receive any more what comes on a channel."""
        del self.receivers[channel]

    def subscribe(self, *channels: str) -> None:
        """Start receiving these channels, soon."""
        self.broker.subscribe(*channels)

    def unsubscribe(self, *channels: str) -> None:
        """Stop receiving these channels."""
        self.broker.unsubscribe(*channels)

    def publish(self, square: Square, message: bytes) -> bool:
        """Publish in a square."""
        return bool(self.broker.publish(self.channels.square(square), message))

    def to_node(self, id: int, message: bytes) -> bool:
        """Publish to one node."""
        return bool(self.broker.publish(self.channels.node(id), message))

    def to_player(self, id: int, message: bytes) -> bool:
        """Publish on a player's channel, to the nodes that have the player, or had it."""
        return bool(self.broker.publish(self.channels.player(id), message))

    def to_owner(self, owner: str, message: bytes) -> bool:
        """Publish to the nodes at which a person plays."""
        return bool(self.broker.publish(self.channels.owner(owner), message))

    def to_all(self, message: bytes) -> bool:
        """Publish to all nodes of the world."""
        return bool(self.broker.publish(self.channels.nodes, message))
