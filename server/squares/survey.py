"""Answers the question in which squares this node has players: for programs that look at the world.

No server asks it. So it costs nothing unless an operator looks, and then each node the same,
however many look.
"""

from typing import Final

from flatlands.brokers.base import Broker
from flatlands.server.loop import Loop
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Channels
from flatlands.server.messages.peer_protocol import SURVEYED
from flatlands.server.squares.outbox import Outbox

#: A node answers at most once in so many ms.
ANSWER_EVERY: Final = 500


class Survey:
    """See the module."""

    def __init__(
        self, node: int, channels: Channels, broker: Broker, loop: Loop, outbox: Outbox
    ) -> None:
        self._node = node
        self._channels = channels
        self._broker = broker
        self._loop = loop
        self._outbox = outbox
        self._next = loop.now()

    def asked(self, _node: int) -> None:
        """Publish the squares in which this node has players, on the channel of surveys."""
        now = self._loop.now()
        if now < self._next:
            return
        self._next = now + ANSWER_EVERY
        flat = [number for square in self._outbox.present for number in square]
        for at in range(0, len(flat), 2 * SURVEYED):
            some = peer_protocol.squares(self._node, flat[at : at + 2 * SURVEYED])
            self._broker.publish(self._channels.survey, some)
