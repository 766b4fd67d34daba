"""The record of what a class needs to ask other nodes about players, and to answer them.

It never asks or answers anything itself.
"""

from collections.abc import Callable
from typing import NamedTuple

from flatlands.server.loop import Loop
from flatlands.server.players.residents import Residents
from flatlands.server.squares.peers import Peers


class AmongNodes(NamedTuple):
    """`node` is this node's id. The last two send a packed message: to the node with an id, and to
    all nodes that know the player with an id."""

    node: int
    loop: Loop
    residents: Residents
    peers: Peers
    to_node: Callable[[int, bytes], object]
    to_player: Callable[[int, bytes], object]
