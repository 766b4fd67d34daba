"""Removes and restores, for operators, what players have made: tiles, things, names."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

from flatlands.server.game.cell_layer import CellLayer, merged_tiles, squares_of
from flatlands.server.storage.boards import Boards
from flatlands.server.storage.client import StoreClient
from flatlands.server.storage.items import THINGS_A_STEP, Items
from flatlands.stores.base import CALL_ITEMS_MOST
from flatlands.world.grid import Rect, Square
from flatlands.world.tiles import RULE_LAST, RULE_SUM

#: How many tiles are looked at in one turn of the loop when they are undone.
TILES_UNDONE: Final = 2048


class ContentModeration:
    """Carries out what operators do with the content of a game, whose tiles are in `layers`. All
    methods wait for the store."""

    def __init__(
        self,
        layers: Sequence[CellLayer],
        items: Items,
        boards: Boards,
        store_client: StoreClient,
    ) -> None:
        self._layers = layers
        self._items = items
        self._boards = boards
        self._store_client = store_client

    def clear(self, square: Square) -> None:
        """Remove what players have written in a square, because an operator wants it. It waits for
        the store. Raises StoreUnavailable."""
        for layer in self._layers:
            wipe(layer, square)
        if self._store_client.store is not None:
            self._items.clear(square)

    def undo(self, owner: str | None, squares: Rect) -> dict[str, int]:
        """Restore the tiles of some squares on which `owner` wrote last to what was there before;
        return how many, by owner. If `owner` is None, only count those of all people. It waits for
        the store. Raises StoreUnavailable."""
        found = Counter[str]()
        for layer in self._layers:
            if owner is None:
                found += writers(layer, squares)
            elif n := undo(layer, owner, squares):
                found[owner] += n
        return dict(found.most_common(THINGS_A_STEP))

    def clear_name(self, name: str) -> None:
        """Forget a name wherever it is kept, because an operator wants it. It waits for the store.
        Raises StoreUnavailable."""
        if self._store_client.store is not None:
            self._boards.clear(name)
            self._items.clear_name(name)


# What operators do with a layer. The store has, for each tile, who wrote there last, and the value
# from before that person came. Only the last write and the sum can be taken back.


def wipe(layer: CellLayer, square: Square) -> None:
    """Write 0 on all tiles of a square that have another value. It waits for the store. Raises
    StoreUnavailable."""
    if layer.rule not in (RULE_LAST, RULE_SUM):
        return
    writes = b""
    if layer.store is not None:
        writes = layer.store_client.wait(lambda store: layer.load(store, [square]).get(square, b""))
    there = merged_tiles(layer, square, writes)
    wiped: dict[int, list[int]] = {}
    for index, value in enumerate(there.values):
        if value:
            wiped.setdefault(-value if layer.rule == RULE_SUM else 0, []).append(index)
    for value, indexes in wiped.items():
        layer.write(square, indexes, value, after=max(there.stamps[index] for index in indexes))


def writers(layer: CellLayer, squares: Rect) -> Counter[str]:
    """Return how many tiles of some squares each person was the last to change, as the store has
    it. It waits for the store. Raises StoreUnavailable."""
    found = Counter[str]()
    for some in _undoable(layer, squares):
        found += layer.store_client.wait(partial(layer.rows.writers, squares=some))
    return found


def undo(layer: CellLayer, who: str, squares: Rect) -> int:
    """Put all tiles of some squares on which a person wrote last, as the store has it, back to what
    they were before that person came; return how many these are. It waits for the store. Raises
    StoreUnavailable: then some may be put back, and nothing is undone twice if it is called
    again."""
    undone, person = 0, bytes.fromhex(who)
    for some in _undoable(layer, squares):
        now = layer.loop.now()
        take_back = partial(layer.rows.take_back, writer=person, squares=some, now=now)
        back = layer.store_client.wait(take_back)
        for square in back:
            layer.need(square, now)
        layer.publish_stored(back)
        undone += sum(map(len, back.values()))
    return undone


def _undoable(layer: CellLayer, squares: Rect) -> Iterator[list[Square]]:
    """Yield some squares, a few at a time, if the values from before a person came were stored."""
    if layer.rule in (RULE_LAST, RULE_SUM) and layer.store is not None:
        left = iter(squares.squares())
        while some := list(
            islice(left, min(squares_of(TILES_UNDONE, layer.side), CALL_ITEMS_MOST))
        ):
            yield some
