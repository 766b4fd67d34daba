"""What nodes tell each other besides batches, as docs/nodes.md gives it. Only packs and unpacks.

All of it comes from nodes of this world: it is trusted as far as the broker is.
"""

from typing import Any

import msgpack

from world.events import Event
from world.grid import Square

#: The channel that all nodes hear.
NODES = "nodes"

# On a square's channel, besides protocol.BATCH.
RESIDENTS, HAIL = 32, 33
# On NODES.
HEARTBEAT, CLAIM, GRANT = 34, 35, 36

#: What a heartbeat says of its node: it goes on; or it stops, and its residents come back.
ALIVE, DRAINING = 0, 1

#: Entries in one residents batch, and squares in one heartbeat: both fit a broker's payload.
ENTRIES, SQUARES = 400, 3000

_pack = msgpack.Packer(autoreset=True).pack


def read(payload: bytes) -> list[Any]:
    """Return a message as [kind, field ...]."""
    message = msgpack.unpackb(payload)
    assert isinstance(message, list)
    return message


def residents(
    square: Square, node: int, number: int, sent: int, page: int, pages: int, entries: list[Event]
) -> bytes:
    """A page of everything that a node has in a square; `number` is that of a batch."""
    return _pack([RESIDENTS, *square, node, number, sent, page, pages, entries])


def hail(square: Square, node: int, nonce: int) -> bytes:
    """Asks all nodes with residents in a square to tell them, and oneself whether one hears it."""
    return _pack([HAIL, *square, node, nonce])


def heartbeat(
    node: int, sent: int, ring: str, state: int, part: int, parts: int, squares: list[int]
) -> bytes:
    """A part of a heartbeat; `squares` is column, row, last batch number, and so on."""
    return _pack([HEARTBEAT, node, sent, ring, state, part, parts, squares])


def claim(node: int, id: int, incarnation: int | None) -> bytes:
    """Says that a node has a player, with an incarnation; or without one, that it asks for it."""
    return _pack([CLAIM, node, id, incarnation])


def grant(node: int, id: int, to: int, player: list[Any]) -> bytes:
    """Answers a claim and lets go; `player` is [name or nil, seq, x, y]."""
    return _pack([GRANT, node, id, to, player])
