"""Cells: a byte for each tile of the world, on which a game writes. Nobody owns a tile.

A write is published on the channel of its square, and merged there by every node that receives the
square, by the same rule (world/tiles.py). The node that wrote puts its writes into the store within
some seconds, as one item for each square, which is replaced only as it was read; how many tiles
have which value is counted in the same step. A node that misses a write gets it from the others as
it gets players (squares/sync.py), or from the store. This module never knows what a value means.
"""

import copy
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from flatlands.server.kept.reach import name_of, square_of
from flatlands.server.things import check_tile
from flatlands.stores.base import NEVER, Item, Score, Store
from flatlands.world.grid import Square
from flatlands.world.tiles import LAST, RULES, Tiles, counts, next_stamp, pack
from flatlands.world.track import Tile

#: The names of the queues and boards in the store begin with it.
QUEUE: Final = "cells"

#: ms between two times at which writes are put into the store.
KEEP_EVERY: Final = 2000

#: What was written so many ms ago is in the store, if nothing of this node waits for that. Nodes
#: tell each other what is newer: whoever asks has perhaps read the store before it was there.
SETTLED: Final = 15_000

#: The most tiles of one item in the store.
PART: Final = 1024

#: How many values a cell can have.
VALUES: Final = 256


class Cells:
    """See the module. A game declares a layer of cells in its class, and writes on it by the
    attribute of its object.

    `merge` says which of two writes to a tile counts: the "last" one, the "first" one, or the one
    of the highest value ("most"). With `counted`, it is known how many tiles have which value.
    """

    def __init__(self, merge: str = "last", *, counted: bool = False) -> None:
        if merge not in RULES:
            raise ValueError(f"cells are merged by one of {', '.join(RULES)}, not by {merge!r}")
        self.rule = RULES.index(merge)
        self.counted = counted

    def of(self, node: Any, name: str) -> "Cells":
        """Return this layer at a node, as its next one; `name` is its name in the store."""
        layer = copy.copy(self)
        layer._begin(node, name)
        return layer

    def _begin(self, node: Any, name: str) -> None:
        self._node, self._loop, self._side = node, node.loop, node.grid.side
        self._replicas, self._keeper = node.replicas, node.keeper
        self._queue = f"{QUEUE} {name} {node.channels.ground}"
        self._layer = len(node.replicas.layers)
        node.replicas.layers.append(self)
        #: What this node wrote since the last time at which it was put into the store: square ->
        #: tile -> (value, stamp).
        self._written: dict[Square, dict[int, tuple[int, int]]] = {}
        #: The squares that this node receives since it has written there.
        self._needed: set[Square] = set()
        #: The node time, in ms, of the oldest write that the store may not have, among those that
        #: wait and among those that it is given now.
        self._oldest = self._giving = NEVER
        self._gives = False
        self._counts: dict[int, int] = {}
        self._loop.every(KEEP_EVERY, self.keep)

    # What games do.

    def __setitem__(self, tiles: Tile | Iterable[Tile], value: int) -> None:
        """Write a value, 0 to 255, on a tile (column, row) or on several. It is there when it comes
        back on the channel of the square, as for everybody. Raises ValueError, and then writes
        nothing."""
        if type(value) is not int or not 0 <= value <= 255:
            raise ValueError(f"a cell has a whole number from 0 to 255, and not {value!r}")
        some = [tiles] if isinstance(tiles, tuple) else tiles
        for square, place in [self._place(tile) for tile in some]:
            known = self._known(square)
            self._write(square, place, value, 0 if known is None else known.get(place)[1])

    def __getitem__(self, tile: Tile) -> int:
        """Return the value of a tile (column, row): 0 if nobody has written there, or if this node
        does not receive its square, which no player here is near."""
        square, place = self._place(tile)
        known = self._known(square)
        return 0 if known is None else known.values[place]

    def counts(self) -> dict[int, int]:
        """Return how many tiles of the world have which value above 0, as the store had it some
        seconds ago. Without a store, only squares that this node receives are counted. Raises
        ValueError unless the layer is `counted`."""
        if not self.counted:
            raise ValueError("these cells are not counted: declare them with counted=True")
        if self._keeper.store is not None:
            return dict(self._counts)
        known = Counter[int]()
        for square in self._replicas.squares:
            if tiles := self._known(square):
                known.update(tiles.values)
        del known[0]
        return dict(known)

    def _place(self, tile: Tile) -> tuple[Square, int]:
        """Return the square of a tile, and the tile's number there. Raises ValueError."""
        column, row = check_tile(tile)
        side = self._side
        return (column // side, row // side), row % side * side + column % side

    def _known(self, square: Square) -> Tiles | None:
        """Return the tiles of a square as this node knows them; None if nobody has written there,
        or if it does not receive the square."""
        heard = self._replicas.squares.get(square)
        return None if heard is None else heard.layers.tiles.get(self._layer)

    def _write(self, square: Square, place: int, value: int, known_at: int) -> None:
        """Write a value after what has the stamp `known_at`."""
        if square not in self._needed:
            self._needed.add(square)
            self._replicas.need((square,))
        now = self._loop.now()
        written = self._written.get(square, {})
        at = next_stamp(now, self._node.id, max(known_at, written.get(place, (0, 0))[1]))
        self._add(square, place, (value, at))
        self._oldest = min(self._oldest, now)
        instead = self.rule == LAST
        self._node.outbox.write(square, self._layer, place, value, at, instead)

    def _add(self, square: Square, place: int, write: tuple[int, int]) -> None:
        """Add a write to those that the store is given next, unless another one there counts."""
        written = self._written.setdefault(square, {})
        if counts(self.rule, write, written.get(place, (0, 0))):
            written[place] = write

    # What operators do.

    def wipe(self, square: Square) -> None:
        """Write 0 on all tiles of a square that have another value, because an operator wants it.
        Where another rule than the last write counts, nothing can be taken back."""

        def answered(writes: bytes) -> None:
            there = Tiles(self._side**2, self.rule)
            there.apply(writes)
            if known := self._known(square):
                there.apply(known.pack())
            for place, value in enumerate(there.values):
                if value:
                    self._write(square, place, 0, there.get(place)[1])

        if self.rule == LAST and self._keeper.store is None:
            answered(b"")
        elif self.rule == LAST:
            ask = self._keeper.ask
            ask(lambda store: self.load(store, [square]).get(square, b""), answered)

    # What squares need of a layer.

    def since(self) -> int:
        """Return the node time, in ms, from which on the store may not have what was written; 0 if
        there is none."""
        if self._keeper.store is None:
            return 0
        now: int = self._loop.now()
        certain, lost = self._replicas.missed
        if now >= lost + SETTLED:
            certain = now
        # Since then the others may have heard nothing of this node, or the store have got nothing.
        oldest: int = min(certain, self._oldest, self._giving)
        return oldest - SETTLED

    # What lasts.

    def load(self, store: Store, squares: list[Square]) -> dict[Square, bytes]:
        """Return the writes that the store has in some squares. It waits for the store."""
        found: dict[Square, bytes] = {}
        for item in store.group(self._queue, *map(name_of, squares)):
            square = square_of(item.group)
            found[square] = found.get(square, b"") + item.body
        return found

    def loaded(self, square: Square, writes: bytes) -> None:
        """Take what the store had in a square. What it should have by now and has not, because the
        node has died that wrote it, it gets soon."""
        if writes:
            self._replicas.squares[square].layers.apply([self._layer, writes])
        known = self._known(square)
        if known is None:
            return
        there = Tiles(len(known.values), self.rule)
        there.apply(writes)
        for place in there.apply(known.pack(before=self.since())):
            self._add(square, place, known.get(place))

    def keep(self) -> None:
        """Put what was written into the store, and read how many tiles have which value. That is
        done every KEEP_EVERY ms, too."""
        if self._gives or not (self._written or self.counted):
            return
        given, self._written = self._written, {}
        if self._keeper.store is None:
            self._let_go(given)
            return
        oldest = self._oldest
        self._gives, self._giving, self._oldest = True, oldest, NEVER

        def question(store: Store) -> list[tuple[str, int]]:
            for square, writes in given.items():
                self._put(store, square, writes)
            return store.top(self._queue, VALUES) if self.counted else []

        def answered(top: list[tuple[str, int]]) -> None:
            self._gives, self._giving = False, NEVER
            self._counts = {int(value): number for value, number in top if number > 0}
            self._let_go(given)

        def failed() -> None:
            self._gives, self._giving = False, NEVER
            self._oldest = min(self._oldest, oldest)
            # Not even while the store is away are squares received for ever.
            self._let_go(given)
            for square, writes in given.items():
                for place, write in writes.items():
                    self._add(square, place, write)

        self._keeper.ask(question, answered, failed)

    def finish(self) -> bool:
        """Put what is left into the store, since that is about to be closed; return whether nothing
        is left, or there is no store. Call it until it is done."""
        if self._written:
            self.keep()
        return self._keeper.store is None or not (self._written or self._gives)

    def _let_go(self, squares: Iterable[Square]) -> None:
        """Do without squares, except those in which something was written since."""
        done = self._needed.intersection(squares) - self._written.keys()
        self._needed -= done
        self._replicas.let_go(done)

    def _put(self, store: Store, square: Square, writes: dict[int, tuple[int, int]]) -> None:
        """Add writes in a square to what the store has. It waits for the store."""
        parts: dict[int, list[tuple[int, int, int]]] = {}
        for place, (value, at) in writes.items():
            parts.setdefault(place // PART, []).append((place, value, at))
        for part, some in parts.items():
            packed = pack(some)
            while not self._put_part(store, name_of(square), part, packed):
                pass

    def _put_part(self, store: Store, square: str, part: int, writes: bytes) -> bool:
        """Do so for one item; return False if another node was faster."""
        id = f"{square}/{part}"
        there = [item for item in store.group(self._queue, square) if item.id == id]
        if not there:
            # What it counts is added when it is replaced.
            store.put(self._queue, [Item(id, NEVER, square, b"")])
            return False
        tiles = Tiles(self._side**2, self.rule)
        tiles.apply(there[0].body)
        before = Counter(tiles.values)
        tiles.apply(writes)
        item = Item(id, NEVER, square, tiles.pack())
        if item.body == there[0].body:
            return True
        change = Counter(tiles.values)
        change.subtract(before)
        scores = [Score(self._queue, str(value), n) for value, n in change.items() if value and n]
        then = [(self._queue, item)]
        counted = scores if self.counted else ()
        return store.take(self._queue, id, then, counted, only=there[0].body) is not None
