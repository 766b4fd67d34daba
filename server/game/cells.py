"""Cells: a byte for each tile of the world, on which a game writes. Nobody owns a tile.

A write is published on the channel of its square, and merged there by every node that receives the
square, by the same rule (world/tiles.py); cell_layer.py does so, and saves it in the store.
Operators wipe squares, and undo what one person wrote (content_moderation.py).
"""

import copy
from collections.abc import Iterable, Sequence
from typing import Final

from flatlands.server.game.cell_layer import CellLayer, LayerOptions, merged_tiles
from flatlands.server.game.game_node import GameNode
from flatlands.server.storage.kinds import FAR, check_tile
from flatlands.server.storage.rows import NOBODY, TILE_VALUES
from flatlands.stores.base import NEVER_DUE_MS
from flatlands.world.grid import Square
from flatlands.world.tiles import NODE_BITS, RULE_SUM, RULES
from flatlands.world.track import Tile

#: How many tiles of a layer can be written on, if the game sets no limit.
TILES_MOST: Final = 10_000_000

#: The shortest time after which values that persist may be forgotten.
FORGET_LEAST_S: Final = 60

#: The same for values that do not persist.
FADE_LEAST_S: Final = 1


def writer_of(owner: str, player: int = 0) -> bytes:
    """Return what stands in the store for an owner, or for a player that has none, by its id."""
    return bytes.fromhex(owner[:16]) if owner else player.to_bytes(len(NOBODY), "big")


class Cells:
    """A layer of cells: a byte for each tile of the world. A game declares it in its class, such as
    `floor = Cells()`, and reads and writes it by its object: `self.floor[column, row] = 3`.

    `merge` says which of two writes to a tile counts: the "last" one, the "first" one, or the one
    with the highest value ("most"); with "sum" they are added up. With `persist` the store gets a
    write soon after it was shown, with "write-through" before that, as with every sum; with False
    it never does. `most` tiles of the layer may be written on, and `per_owner` by one person: from
    a tenth of that on, the tiles that it was last to write on are counted in the store every two
    seconds, so at several nodes there may be more. Writing 0 makes them one less. A tile on which
    nobody has written for `forget` seconds is 0 again, by the clocks of the nodes. Nobody can enter
    tiles with values from `solid` on. Without a store a layer lasts as long as a node has it.
    """

    #: The layer at a node.
    layer: "CellLayer"

    def __init__(
        self,
        merge: str = "last",
        *,
        persist: bool | str = True,
        most: int = TILES_MOST,
        per_owner: int | None = None,
        forget: float | None = None,
        solid: int | None = None,
    ) -> None:
        if merge == "sum" and persist is True:
            persist = "write-through"
        _check(merge, persist, [most, 1 if per_owner is None else per_owner], forget)
        if solid is not None and not (type(solid) is int and 0 < solid < TILE_VALUES):
            raise ValueError(f"solid must be 1 to 255, not {solid!r}")
        rule, ms = RULES.index(merge), NEVER_DUE_MS if forget is None else round(forget * 1000)
        self.options = LayerOptions(rule, persist, most, per_owner, ms, solid)

    def _of(self, node: GameNode, name: str) -> "Cells":
        """Return this layer at a node, as its next one; `name` is its name in the store."""
        cells = copy.copy(self)
        cells.layer = CellLayer(self.options, node, name)
        return cells

    def __setitem__(self, tiles: Tile | Iterable[Tile], value: int) -> None:
        """Write a value, 0 to 255, on a tile (column, row) or on several; to a sum it is added, and
        may be negative. The value is there, as for everybody, once it comes back on the square's
        channel. Raises ValueError, and Refused if the layer is full; then nothing is written."""
        self.write(tiles, value)

    def write(self, tiles: Tile | Iterable[Tile], value: int, writer: bytes = NOBODY) -> None:
        """Write as `cells[tiles] = value` does, in the name of a person: see Me.write."""
        least = 1 - TILE_VALUES if self.options.rule == RULE_SUM else 0
        if type(value) is not int or not least <= value < TILE_VALUES:
            raise ValueError(
                f"the value of a cell must be a whole number from 0 to 255, not {value!r}"
            )
        indexes = self._indexes([tiles] if isinstance(tiles, tuple) else list(tiles))
        if value > 0:
            self.layer.check_room(writer, indexes)
        for square, some in indexes.items():
            self.layer.write(square, some, value, writer)

    def __getitem__(self, tile: Tile) -> int:
        """Return the value of a tile (column, row): 0 if nobody has written there, or if this node
        does not receive the tile's square, because none of its players is near."""
        square, index = self._index(tile)
        return self.layer.value(square, index)

    def read(self, tile: Tile) -> int:
        """Return the value of a tile (column, row) as the store has it, even far from this node's
        players. It waits for the store. Raises StoreUnavailable."""
        (square, index), layer = self._index(tile), self.layer
        if layer.store is None:
            return layer.value(square, index)
        writes = layer.store_client.wait(lambda store: layer.load(store, [square]).get(square, b""))
        return merged_tiles(layer, square, writes).values[index]

    def renew(self, square: Square, older: float) -> None:
        """Treat what was not written for `older` seconds in a square as written now, with the same
        values and writers, so that it is not forgotten yet: not with "first" and "most"."""
        layer, received = self.layer, self.layer.received_tiles(square)
        old = layer.loop.now() - round(older * 1000)
        if received is None:
            return
        again: dict[int, list[int]] = {}
        for index, value in enumerate(received.values):
            if value and received.stamps[index] >> NODE_BITS < old:
                again.setdefault(0 if layer.rule == RULE_SUM else value, []).append(index)
        for value, indexes in again.items():
            layer.write(square, indexes, value)

    def counts(self) -> dict[int, int]:
        """Return how many tiles of the world have each value above 0, as the store had it some
        seconds ago. If cells do not persist, only squares that this node receives are counted."""
        return self.layer.counts()

    def _index(self, tile: Tile) -> tuple[Square, int]:
        """Return the square of a tile, and the tile's number there. Raises ValueError."""
        column, row = check_tile(tile)
        side = self.layer.side
        return (column // side, row // side), row % side * side + column % side

    def _indexes(self, tiles: Sequence[Tile]) -> dict[Square, list[int]]:
        """Return the numbers of tiles by their squares. Raises ValueError."""
        side = self.layer.side
        indexes: dict[Square, list[int]] = {}
        for tile in tiles:
            # It is checked here, and what is not plainly a tile once more, for the sentence.
            if type(tile) is not tuple or len(tile) != 2:
                check_tile(tile)
            column, row = tile
            if not (type(column) is type(row) is int and -FAR < column < FAR and -FAR < row < FAR):
                check_tile(tile)
            square = column // side, row // side
            some = indexes.get(square)
            if some is None:
                some = indexes[square] = []
            some.append(row % side * side + column % side)
        return indexes


def _check(merge: str, persist: bool | str, limits: list[int], forget: float | None) -> None:
    """Raise ValueError, with a sentence for its author, if there can be no such cells."""
    if merge not in RULES:
        raise ValueError(f"merge must be one of {', '.join(RULES)}, not {merge!r}")
    if not (type(persist) is bool or persist == "write-through"):
        raise ValueError(f"persist must be True, False or 'write-through', not {persist!r}")
    if merge == "sum" and not persist:
        raise ValueError("sums always persist")
    for limit in limits:
        if type(limit) is not int or limit < 1:
            raise ValueError(f"a limit of cells must be a whole number, 1 or more, not {limit!r}")
    _check_forget(persist, forget)


def _check_forget(persist: bool | str, forget: float | None) -> None:
    least = FORGET_LEAST_S if persist else FADE_LEAST_S
    if forget is not None and not (isinstance(forget, int | float) and forget >= least):
        what = "cells that persist" if persist else "cells that do not persist"
        raise ValueError(f"{what} must forget after {least} s or more, not after {forget!r}")
