"""Makes sure that nothing is lost that a node wrote on the ground just before it died.

A node puts its writes into the store a moment later, and says with each heartbeat up to when that
is done. Until then every node keeps what it hears of others, even when it no longer receives the
square. If the other node dies, it puts the writes into the store itself: it does not matter how
many nodes do so. This module never decides which nodes live.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, Final, Protocol

from flatlands.server.loop import Loop
from flatlands.server.squares.peers import Peers
from flatlands.world.grid import Square
from flatlands.world.tiles import Tiles, between

#: What was heard is looked at after this many ms: most of it is in the store by then.
LOOK_AFTER: Final = 2000

#: ms between two looks.
EVERY: Final = 1000

#: Later than any stamp, in ms.
_EVER: Final = 2**42 - 1


class Layer(Protocol):
    """A layer of the ground on which a game writes."""

    #: By which rule writes are merged, and whether other nodes adopt them.
    rule: int

    @property
    def is_adopted(self) -> bool: ...

    def adopt(self, square: Square, writes: bytes) -> None:
        """Put the writes of a node that has died into the store."""

    def stored(self) -> int:
        """Return the node time, in ms, before which all that this node wrote is in the store."""


class Adoption:
    """Makes sure that nothing is lost that a node wrote on the ground just before it died. `layers`
    are those of the game, by their numbers, and `tiles` is how many a square has.
    """

    def __init__(self, loop: Loop, peers: Peers, layers: Sequence[Layer], tiles: int) -> None:
        self._loop, self._peers, self._layers, self._tiles = loop, peers, layers, tiles
        #: What was received, the oldest first: when, from which node, where, and what.
        self._received: deque[tuple[int, int, Square, Sequence[Any]]] = deque()
        #: What may not be in the store: node -> (layer, square) -> its writes.
        self._held: dict[int, dict[tuple[int, Square], Tiles]] = {}
        loop.every(EVERY, self._look)

    def received(self, node: int, square: Square, writes: Sequence[Any]) -> None:
        """Keep what a node says was written in a square, as Content has it."""
        self._received.append((self._loop.now(), node, square, writes))

    def finish(self) -> None:
        """Put all that the store may not have there now, since this node stops."""
        while self._received:
            self._hold(*self._received.popleft()[1:])
        for node in list(self._held):
            self._adopt(node)
        self._say_stored()

    def _say_stored(self) -> None:
        now: int = self._loop.now()
        stored = [layer.stored() for layer in self._layers if layer.is_adopted]
        self._peers.stored = min(stored, default=now)

    def _look(self) -> None:
        self._say_stored()
        received, peers = self._received, self._peers.peers
        while received and received[0][0] <= self._loop.now() - LOOK_AFTER:
            self._hold(*received.popleft()[1:])
        for node, held in list(self._held.items()):
            if node not in peers:
                self._adopt(node)
                continue
            for key in [key for key, it in held.items() if not it.pack(peers[node].stored)]:
                del held[key]
            if not held:
                del self._held[node]

    def _hold(self, node: int, square: Square, writes: Sequence[Any]) -> None:
        """Keep what may not be in the store: for each tile, the write that counts."""
        peer = self._peers.peers.get(node)
        since = 0 if peer is None else peer.stored
        for layer, some in zip(writes[::2], writes[1::2], strict=True):
            if self._layers[layer].is_adopted and (left := between(some, since, _EVER)):
                held, rule = self._held.setdefault(node, {}), self._layers[layer].rule
                tiles = held.get((layer, square)) or Tiles(self._tiles, rule)
                tiles.apply(left)
                held[layer, square] = tiles

    def _adopt(self, node: int) -> None:
        for (layer, square), tiles in self._held.pop(node).items():
            self._layers[layer].adopt(square, tiles.pack())
