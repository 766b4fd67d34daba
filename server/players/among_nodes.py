"""What the classes that ask the other nodes about players, and answer them, work with.

It is only a record: it asks and answers nothing itself.
"""

from collections.abc import Callable
from typing import NamedTuple

from server.loop import Loop
from server.players.residents import Residents
from server.squares.peers import Peers


class AmongNodes(NamedTuple):
    """`node` is this node's id; `publish` brings a message to all nodes, this one included."""

    node: int
    loop: Loop
    publish: Callable[[bytes], object]
    residents: Residents
    peers: Peers
