"""A session that plays, as the modules know it that obey what its client asks."""

from typing import Protocol

from flatlands.server.limits import Limits
from flatlands.server.messages.protocol import Refused
from flatlands.server.node import Node
from flatlands.server.players.resident import Resident


class Asker(Protocol):
    """See the module.

    `owner` is whom its gems are counted for, by the hash of the client's key; "" before it has sent
    one.
    """

    node: Node
    limits: Limits
    resident: Resident | None
    owner: str

    @property
    def address(self) -> str:
        """The IP address of the client."""

    def answer(self, message: bytes) -> None:
        """Send a message, if the connection is still open."""

    def refuse_later(self, refused: Refused) -> None:
        """Refuse something that was asked a while ago, if the connection is still open."""
