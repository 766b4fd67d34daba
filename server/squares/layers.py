"""The bytes that a game has written on the ground, in the squares of this node.

Nothing is lost that a node wrote just before it died: a node saves its writes in the store a moment
later, and each of its heartbeats has the time up to which they are saved. Until then every other
node keeps the writes that it received, even when it no longer receives the square. If the writing
node dies, the others save the writes for it: it does not matter how many nodes do so.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, Final, Protocol

from flatlands.server.messages import protocol
from flatlands.server.messages.peer_protocol import Malformed
from flatlands.server.messages.protocol import CHANGED
from flatlands.server.net.frames import frame
from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.hub import Hub
from flatlands.server.squares.peers import Peers
from flatlands.world.batches import WRITES_MOST, Writes
from flatlands.world.grid import Square
from flatlands.world.tiles import AHEAD, WRITE, Tiles, between, fit

#: Bytes of the writes in one message.
PAGE_BYTES: Final = WRITES_MOST * WRITE.size

#: Received writes are checked after this: most of them are in the store by then.
RECEIVED_CHECKED_AFTER_MS: Final = 2000

#: Time between two checks.
LAYERS_CHECKED_EVERY_MS: Final = 1000

#: Later than any stamp, in ms.
_EVER: Final = 2**42 - 1


class LayerSpec(Protocol):
    """A layer of the ground on which a game writes, as the squares use it."""

    #: Which of two writes to a tile counts: see world/tiles.py.
    rule: int

    def tiles_changed(self, square: Square, indexes: Sequence[int]) -> None:
        """Note that tiles of a square, by their numbers there, have other values at this node."""

    def unsaved_since(self) -> int:
        """Return the node time, in ms, from which the store may not have what was written."""

    def forgotten_before(self) -> int:
        """Return the node time, in ms, before which what was written is forgotten; 0 if nothing
        is."""

    def stored_until(self) -> int:
        """Return the node time, in ms, before which all that this node wrote is in the store."""

    @property
    def is_adopted(self) -> bool:
        """Whether other nodes put into the store what a node that died had not yet put there."""

    def adopt(self, square: Square, writes: bytes) -> None:
        """Put the writes of a node that has died into the store."""


class LayerRegistry:
    """The layers of a node: checks the writes that come, and saves those of nodes that have died. A
    square has `tiles` tiles."""

    def __init__(self, loop: Loop, hub: Hub | Any, peers: Peers, tiles: int) -> None:
        self.hub, self.tiles = hub, tiles
        self._loop, self._peers = loop, peers
        #: The layers of the game, by their numbers.
        self.layers: list[LayerSpec] = []
        #: The received writes, the oldest first: (time, node, square, writes).
        self._received: deque[tuple[int, int, Square, Writes]] = deque()
        #: The writes that may not be in the store: node -> (layer, square) -> tiles.
        self._unstored: dict[int, dict[tuple[int, Square], Tiles]] = {}
        loop.every(LAYERS_CHECKED_EVERY_MS, self._check)

    def add(self, layer: LayerSpec) -> int:
        """Take a layer of the game, and return its number."""
        self.layers.append(layer)
        return len(self.layers) - 1

    def check(self, writes: Writes) -> None:
        """Raise Malformed unless writes are to layers and tiles that exist. A node without layers,
        such as one that only watches, accepts all."""
        for layer, some in zip(writes[::2], writes[1::2], strict=True):
            if self.layers and not (0 <= layer < len(self.layers) and fit(some, self.tiles)):
                raise Malformed("it writes on tiles that do not exist")

    def timely_writes(self, writes: Writes) -> Writes:
        """Return the writes that are neither forgotten nor ahead of all clocks."""
        latest = self._loop.now() + AHEAD
        timely: list[Any] = []
        for layer, some in zip(writes[::2], writes[1::2], strict=True):
            timely += (layer, between(some, self.layers[layer].forgotten_before(), latest))
            if late := len(some) - len(timely[-1]):
                self._loop.stats["writes_refused"] += late // WRITE.size
        return timely

    def note_received(self, node: int, square: Square, writes: Writes) -> None:
        """Keep the writes of a node in a square."""
        self._received.append((self._loop.now(), node, square, writes))

    def finish(self) -> None:
        """Save now all that the store may not have, since this node stops."""
        while self._received:
            self._keep_unsaved(*self._received.popleft()[1:])
        for node in list(self._unstored):
            self._adopt(node)
        self._publish_stored()

    def _publish_stored(self) -> None:
        now: int = self._loop.now()
        stored = [layer.stored_until() for layer in self.layers if layer.is_adopted]
        self._peers.set_stored(min(stored, default=now))

    def _check(self) -> None:
        self._publish_stored()
        received, peers = self._received, self._peers.peers
        while received and received[0][0] <= self._loop.now() - RECEIVED_CHECKED_AFTER_MS:
            self._keep_unsaved(*received.popleft()[1:])
        for node, unstored in list(self._unstored.items()):
            if node not in peers:
                self._adopt(node)
                continue
            for key in [key for key, it in unstored.items() if not it.pack(peers[node].stored)]:
                del unstored[key]
            if not unstored:
                del self._unstored[node]

    def _keep_unsaved(self, node: int, square: Square, writes: Writes) -> None:
        """Keep what may not be in the store: for each tile, the write that counts."""
        peer = self._peers.peers.get(node)
        since = 0 if peer is None else peer.stored
        for layer, some in zip(writes[::2], writes[1::2], strict=True):
            if self.layers[layer].is_adopted and (left := between(some, since, _EVER)):
                unstored, rule = self._unstored.setdefault(node, {}), self.layers[layer].rule
                tiles = unstored.get((layer, square)) or Tiles(self.tiles, rule)
                tiles.apply(left)
                unstored[layer, square] = tiles

    def _adopt(self, node: int) -> None:
        for (layer, square), tiles in self._unstored.pop(node).items():
            self.layers[layer].adopt(square, tiles.pack())


class Layers:
    """The layers of one square: applies writes, and makes messages of them."""

    def __init__(self, square: Square, registry: LayerRegistry) -> None:
        self._square = square
        self._registry = registry
        #: Number of a layer -> its tiles. Layers on which nobody has written are left out.
        self.tiles: dict[int, Tiles] = {}
        #: Number of a layer -> its tiles whose changes clients have not been sent yet.
        self._unsent: dict[int, set[int]] = {}
        #: The frames with all of it, or None if it has changed since they were made.
        self._frames: bytes | None = b""

    def apply_remote(self, node: int, writes: Writes) -> None:
        """Apply writes of another node, which have been checked."""
        if writes:
            timely = self._registry.timely_writes(writes)
            self.apply(timely)
            self._registry.note_received(node, self._square, timely)

    def apply(self, writes: Writes) -> None:
        """Apply writes, and send clients the changed tiles with the next flush."""
        for layer, some in zip(writes[::2], writes[1::2], strict=True):
            tiles = self.tiles.get(layer)
            if tiles is None:
                registry = self._registry
                tiles = self.tiles[layer] = Tiles(registry.tiles, registry.layers[layer].rule)
            self._send_changes(layer, tiles.apply(some))

    def fade(self, layer: int, until: int) -> None:
        """Forget what was written on a layer before a time in ms, and send clients the changed
        tiles."""
        if tiles := self.tiles.get(layer):
            self._send_changes(layer, tiles.fade(until))

    def _send_changes(self, layer: int, changed: Sequence[int]) -> None:
        if changed:
            self._registry.layers[layer].tiles_changed(self._square, changed)
            self._frames = None
            self._unsent.setdefault(layer, set()).update(changed)
            self._registry.hub.send(self._square, layer, lambda: self._news(layer))

    def _news(self, layer: int) -> bytes:
        """Return what has changed in a layer as a message, or all of it if that is shorter."""
        values, changed = self.tiles[layer].values, self._unsent.pop(layer)
        if len(changed) * CHANGED.size >= len(values):
            return self._whole(layer)
        packed = [CHANGED.pack(tile, values[tile]) for tile in changed]
        return protocol.cells(self._square, layer, False, b"".join(packed))

    def _whole(self, layer: int) -> bytes:
        return protocol.cells(self._square, layer, True, bytes(self.tiles[layer].values))

    def frames(self) -> bytes:
        """Return the WebSocket frames with all tiles of all layers."""
        if self._frames is None:
            self._frames = b"".join([frame(self._whole(layer)) for layer in self.tiles])
        return self._frames

    def pages(self) -> list[list[int | bytes]]:
        """Return the writes that the store may not have, in pages that each fit a message."""
        return [
            [layer, some[at : at + PAGE_BYTES]]
            for layer, tiles in self.tiles.items()
            for some in (tiles.pack(self._registry.layers[layer].unsaved_since()),)
            for at in range(0, len(some), PAGE_BYTES)
        ]
