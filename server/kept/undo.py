"""What operators do with a layer of the ground: they wipe a square, and undo what one person wrote.

The store has, for each tile, who wrote there last, and the value from before that person came.
Nothing can be taken back under any rule but the last write or the sum.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from flatlands.server.kept.layer import Layer, merged, squares_of
from flatlands.server.kept.rows import NOBODY, Put
from flatlands.stores.base import BATCH_LIMIT
from flatlands.world.grid import Rect, Square
from flatlands.world.tiles import LAST, SUM

#: How many tiles are looked at in one turn of the loop.
READ = 2048


def wipe(layer: Layer, square: Square) -> None:
    """Write 0 on all tiles of a square that have another value. It waits for the store. Raises
    Away."""
    if layer.rule not in (LAST, SUM):
        return
    writes = b""
    if layer.store is not None:
        writes = layer.keeper.wait(lambda store: layer.load(store, [square]).get(square, b""))
    there = merged(layer, square, writes)
    for place, value in enumerate(there.values):
        if value:
            _, at = there.get(place)
            layer.write(square, place, -value if layer.rule == SUM else 0, after=at)


def writers(layer: Layer, squares: Rect) -> Counter[str]:
    """Return how many tiles of some squares each person was the last to change, as the store has
    it. It waits for the store. Raises Away."""
    found = Counter[str]()
    for some in _undoable(layer, squares):
        read = layer.keeper.wait(lambda store, some=some: list(layer.rows.read(store, some)))
        changed = (tile.who for _, tile in read if tile.is_changed and tile.who != NOBODY)
        found.update(who.hex() for who in changed)
    return found


def undo(layer: Layer, who: str, squares: Rect) -> int:
    """Put all tiles of some squares on which a person wrote last, as the store has it, back to what
    they were before that person came; return how many these are. It waits for the store. Raises
    Away: then some may be put back, and nothing is undone twice if it is called again."""
    undone, person = 0, bytes.fromhex(who)
    for some in _undoable(layer, squares):
        now = layer.loop.now()
        back: Put = layer.keeper.wait(
            lambda store, some=some, now=now: layer.rows.take_back(store, person, some, now)
        )
        for square in back:
            layer.need(square, now)
        layer.tell_all(back)
        undone += sum(map(len, back.values()))
    return undone


def _undoable(layer: Layer, squares: Rect) -> Iterator[list[Square]]:
    """Yield some squares, a few at a time, if the values from before a person came are known."""
    if layer.rule in (LAST, SUM) and layer.store is not None:
        left = iter(squares.squares())
        while some := list(islice(left, min(squares_of(READ, layer.side), BATCH_LIMIT))):
            yield some
