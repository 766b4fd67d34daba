"""What a game has written on the tiles of one square: applies writes, and makes messages of them.

Writes are as in Content (world/batches.py). This module never decides when anything is sent.
"""

from collections.abc import Sequence
from typing import Any, Final

from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import CHANGED
from flatlands.server.squares.context import Context
from flatlands.server.websocket.frames import frame
from flatlands.world.batches import WRITES
from flatlands.world.grid import Square
from flatlands.world.tiles import WRITE, Tiles

#: Bytes of the writes in one message.
PAGE: Final = WRITES * WRITE.size


class Layers:
    """What a game has written on the tiles of one square: applies writes, and makes messages of
    them.
    """

    def __init__(self, square: Square, around: Context) -> None:
        self._square = square
        self._around = around
        #: Number of a layer -> its tiles. Layers on which nobody has written are left out.
        self.tiles: dict[int, Tiles] = {}
        #: Number of a layer -> its tiles that screens are still to be told of.
        self._changed: dict[int, set[int]] = {}
        #: The frames that tell screens all of it, or None if it has changed since they were made.
        self._frames: bytes | None = b""

    def hear(self, node: int, writes: Sequence[Any]) -> None:
        """Apply writes that another node tells of, which have been checked."""
        if writes:
            timely = self._around.timely(writes)
            self.apply(timely)
            self._around.adoption.received(node, self._square, timely)

    def apply(self, writes: Sequence[Any]) -> None:
        """Apply writes, and tell screens with the next flush what they have changed."""
        for layer, some in zip(writes[::2], writes[1::2], strict=True):
            tiles = self.tiles.get(layer)
            if tiles is None:
                around = self._around
                tiles = self.tiles[layer] = Tiles(around.tiles, around.layers[layer].rule)
            self._tell(layer, tiles.apply(some))

    def fade(self, layer: int, until: int) -> None:
        """Forget what was written on a layer before a time in ms, and tell screens."""
        if tiles := self.tiles.get(layer):
            self._tell(layer, tiles.fade(until))

    def _tell(self, layer: int, changed: Sequence[int]) -> None:
        if changed:
            self._around.layers[layer].changed(self._square, changed)
            self._frames = None
            self._changed.setdefault(layer, set()).update(changed)
            self._around.hub.tell(self._square, layer, lambda: self._news(layer))

    def _news(self, layer: int) -> bytes:
        """Return what has changed in a layer as a message, or all of it if that is shorter."""
        values, changed = self.tiles[layer].values, self._changed.pop(layer)
        if len(changed) * CHANGED.size >= len(values):
            return self._whole(layer)
        told = [CHANGED.pack(tile, values[tile]) for tile in changed]
        return protocol.cells(self._square, layer, False, b"".join(told))

    def _whole(self, layer: int) -> bytes:
        return protocol.cells(self._square, layer, True, bytes(self.tiles[layer].values))

    def frames(self) -> bytes:
        """Return the WebSocket frames that tell a screen everything."""
        if self._frames is None:
            self._frames = b"".join([frame(self._whole(layer)) for layer in self.tiles])
        return self._frames

    def pages(self) -> list[list[Any]]:
        """Return the writes that the store may not have, in pages of one message each."""
        return [
            [layer, some[at : at + PAGE]]
            for layer, tiles in self.tiles.items()
            for some in (tiles.pack(self._around.layers[layer].since()),)
            for at in range(0, len(some), PAGE)
        ]
