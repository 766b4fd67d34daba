"""The record of what a class needs to ask other nodes about players, and to answer them.

It never asks or answers anything itself.
"""

from collections.abc import Callable
from typing import NamedTuple

from server.loop import Loop
from server.players.residents import Residents
from server.squares.peers import Peers


class AmongNodes(NamedTuple):
    """`node` is this node's id. `publish` sends a packed message to all nodes, also to this one."""

    node: int
    loop: Loop
    publish: Callable[[bytes], object]
    residents: Residents
    peers: Peers
