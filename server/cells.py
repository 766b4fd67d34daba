"""Cells: a byte for each tile of the world, on which a game writes. Nobody owns a tile.

This module knows what a game declares and does; kept/layer.py carries it out.
"""

import copy
from collections.abc import Iterable
from typing import Any, Final

from flatlands.server.kept.layer import Declared, Layer, merged
from flatlands.server.kept.rows import NOBODY, VALUES
from flatlands.server.things import check_tile
from flatlands.stores.base import NEVER
from flatlands.world.grid import Square
from flatlands.world.tiles import NODE_BITS, RULES, SUM
from flatlands.world.track import Tile

#: How many tiles of a layer can be written on, if the game does not say; and the fewest seconds
#: after which values that are kept, or that are not kept, may be forgotten.
MOST: Final = 10_000_000
FORGET_LEAST: Final = 60
FADE_LEAST: Final = 1


def writer_of(owner: str, player: int = 0) -> bytes:
    """Return what stands in the store for an owner, or for a player that has none, by its id."""
    return bytes.fromhex(owner[:16]) if owner else player.to_bytes(len(NOBODY), "big")


class Cells:
    """A layer of cells: a byte for each tile of the world. A game declares it in its class, such as
    `floor = Cells()`, and reads and writes it by its object: `self.floor[column, row] = 3`.

    `merge` says which of two writes to a tile counts: the "last" one, the "first" one, or the one
    with the highest value ("most"); with "sum" they are added up. They are `kept` in the store:
    True, "first" for before anybody is told, as sums always are, or False. `most` tiles of the
    layer may be written on, and `per_owner` by one person: from a tenth of that on, the tiles that
    it was last to write on are counted in the store every two seconds, so at several nodes there
    may be more. Writing 0 makes them one less. A tile on which nobody has written for `forget`
    seconds is 0 again, by the clocks of the nodes. Nobody can enter tiles with values from `solid`
    on. Without a store a layer lasts as long as a node that knows it.
    """

    #: The layer at a node.
    layer: Layer

    def __init__(
        self,
        merge: str = "last",
        *,
        kept: bool | str = True,
        most: int = MOST,
        per_owner: int | None = None,
        forget: float | None = None,
        solid: int | None = None,
    ) -> None:
        if merge == "sum" and kept is True:
            kept = "first"
        _check(merge, kept, [most, 1 if per_owner is None else per_owner], forget)
        if solid is not None and not (type(solid) is int and 0 < solid < VALUES):
            raise ValueError(f"values are solid from 1 to 255 on, and not from {solid!r} on")
        rule, ms = RULES.index(merge), NEVER if forget is None else round(forget * 1000)
        self.declared = Declared(rule, kept, most, per_owner, ms, solid)

    def of(self, node: Any, name: str) -> "Cells":
        """Return this layer at a node, as its next one; `name` is its name in the store."""
        cells = copy.copy(self)
        cells.layer = Layer(self.declared, node, name)
        return cells

    def __setitem__(self, tiles: Tile | Iterable[Tile], value: int) -> None:
        """Write a value, 0 to 255, on a tile (column, row) or on several; to a sum it is added, and
        may be negative. The value is there, as for everybody, once it comes back on the square's
        channel. Raises ValueError, and Refused if the layer is full; then nothing is written."""
        self.write(tiles, value)

    def write(self, tiles: Tile | Iterable[Tile], value: int, who: bytes = NOBODY) -> None:
        """Write as `cells[tiles] = value` does, in the name of a person: see Me.write."""
        least = 1 - VALUES if self.declared.rule == SUM else 0
        if type(value) is not int or not least <= value < VALUES:
            raise ValueError(f"a cell has a whole number from 0 to 255, and not {value!r}")
        some = [tiles] if isinstance(tiles, tuple) else tiles
        places = [self._place(tile) for tile in some]
        if value > 0:
            self.layer.check_room(who, places)
        for square, place in places:
            self.layer.write(square, place, value, who)

    def __getitem__(self, tile: Tile) -> int:
        """Return the value of a tile (column, row): 0 if nobody has written there, or if this node
        does not receive the tile's square, because none of its players is near."""
        square, place = self._place(tile)
        return self.layer.value(square, place)

    def read(self, tile: Tile) -> int:
        """Return the value of a tile (column, row) as the store has it, even far from this node's
        players. It waits for the store. Raises Away."""
        (square, place), layer = self._place(tile), self.layer
        if layer.store is None:
            return layer.value(square, place)
        writes: bytes = layer.keeper.wait(
            lambda store: layer.load(store, [square]).get(square, b"")
        )
        return merged(layer, square, writes).values[place]

    def renew(self, square: Square, older: float) -> None:
        """Treat what was not written for `older` seconds in a square as written now, with the same
        values and writers, so that it is not forgotten yet: not with "first" and "most"."""
        layer, known = self.layer, self.layer.known(square)
        old = layer.loop.now() - round(older * 1000)
        if known is None:
            return
        for place, value in enumerate(known.values):
            if value and known.get(place)[1] >> NODE_BITS < old:
                layer.write(square, place, 0 if layer.rule == SUM else value)

    def counts(self) -> dict[int, int]:
        """Return how many tiles of the world have each value above 0, as the store had it some
        seconds ago. If cells are not kept, only squares that this node receives are counted."""
        return self.layer.counts()

    def _place(self, tile: Tile) -> tuple[Square, int]:
        """Return the square of a tile, and the tile's number there. Raises ValueError."""
        column, row = check_tile(tile)
        side = self.layer.side
        return (column // side, row // side), row % side * side + column % side


def _check(merge: str, kept: bool | str, limits: list[int], forget: float | None) -> None:
    """Raise ValueError, with a sentence for its author, if there can be no such cells."""
    if merge not in RULES:
        raise ValueError(f"cells are merged by one of {', '.join(RULES)}, not by {merge!r}")
    if not (type(kept) is bool or kept == "first") or (merge == "sum" and not kept):
        raise ValueError(f"cells are kept=True, False or 'first', sums always: not {kept!r}")
    for limit in limits:
        if type(limit) is not int or limit < 1:
            raise ValueError(f"a limit of cells is a whole number from 1 on, and not {limit!r}")
    _check_forget(kept, forget)


def _check_forget(kept: bool | str, forget: float | None) -> None:
    least = FORGET_LEAST if kept else FADE_LEAST
    if forget is not None and not (isinstance(forget, int | float) and forget >= least):
        what = "cells that are kept" if kept else "cells that are not kept"
        raise ValueError(f"{what} forget after {least} s or more, and not after {forget!r}")
