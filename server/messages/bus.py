"""How the parts of a node say something to other nodes: which channel a message goes to.

This module never packs or reads a message, and keeps nothing of what was said.
"""

from typing import Any

from flatlands.brokers.base import Broker
from flatlands.server.loop import Loop
from flatlands.server.messages.channels import Channels
from flatlands.world.grid import Square


class Bus:
    """What a part of a node needs to talk to other nodes: the `node`'s id, the broker, the names
    of the world's channels, and the event loop.

    Each method publishes a packed message, and returns False if the broker refuses it.
    """

    def __init__(
        self, node: int, channels: Channels, broker: Broker | Any, loop: Loop | Any
    ) -> None:
        self.node = node
        self.channels = channels
        self.broker = broker
        self.loop = loop

    def publish(self, square: Square, message: bytes) -> bool:
        """Publish in a square."""
        return bool(self.broker.publish(self.channels.square(square), message))

    def to_node(self, id: int, message: bytes) -> bool:
        """Publish to one node."""
        return bool(self.broker.publish(self.channels.node(id), message))

    def to_player(self, id: int, message: bytes) -> bool:
        """Publish to the nodes that know a player."""
        return bool(self.broker.publish(self.channels.player(id), message))

    def to_all(self, message: bytes) -> bool:
        """Publish to all nodes of the world."""
        return bool(self.broker.publish(self.channels.nodes, message))
