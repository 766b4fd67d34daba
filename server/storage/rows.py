"""The store's copy of what a game has written on the ground: a row for each part of a square.

A row has, for each tile that was written, its value and stamp, who wrote it last, and which value
it had before. Rows are read and replaced, many in one step of the store, and the same step counts
how many tiles have which value.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from flatlands.server.storage.reach import name_of, square_of
from flatlands.stores.base import CALL_ITEMS_MOST, NEVER_DUE_MS, Item, Score, Store, Swap
from flatlands.world.grid import Square
from flatlands.world.tiles import AHEAD, NODE_BITS, RULE_SUM, next_stamp, pack, wins

#: A tile in a row, which has them in order: the number of the tile in its square, row by row; the
#: value; the stamp; the value before its writer's first; and who that is.
TILE: Final = struct.Struct("<HBQB8s")

#: The most tiles of one row.
ROW_TILES: Final = 512

#: The most rows that are replaced in one step, and the most writes in each of them. One step of the
#: store adds some scores for each write, and all wait while rows are made.
ROWS_A_STEP: Final = 16
ROW_WRITES_A_STEP: Final = 200

#: A tile that has been 0 for this long is forgotten: until then it keeps older writes from
#: counting.
ZERO_FOR_MS: Final = AHEAD

#: How long a node claims rows that are due, to look at them.
ROWS_CLAIMED_MS: Final = 30_000

#: Stands for the game itself, and for a person without an owner.
NOBODY: Final = bytes(8)

#: How many values a tile can have.
TILE_VALUES: Final = 256


class Write(NamedTuple):
    """A write to a tile: the value, or what is added to it; its stamp; who wrote it; and in `after`
    what another person has written there, or added, just before, if that was not put into the
    store."""

    value: int
    at: int
    writer: bytes = NOBODY
    after: int | None = None


class StampRange(NamedTuple):
    """A range of stamps, from `first` up to, but not including, `last`. Writes with earlier ones
    are forgotten, and those with later ones are wrong."""

    first: int
    last: int


class StoredTile(NamedTuple):
    """A tile as a row has it: see TILE."""

    tile_index: int
    value: int
    at: int
    before: int
    writer: bytes

    @property
    def is_changed(self) -> bool:
        """Whether it has another value than before its writer came."""
        return self.value != self.before


#: Square -> the number of a tile there -> what is written on it.
Writes = Mapping[Square, dict[int, Write]]

#: Square -> the number of a tile there -> its value and stamp, as they are now.
Put = dict[Square, dict[int, tuple[int, int]]]


class _Row:
    """One row. `values` and `owners` count how many more tiles of each value, and of each person,
    there are than in the row as it was, and `has_zero` says whether one has become 0."""

    __slots__ = ("body", "values", "owners", "has_zero")

    def __init__(self, body: bytes) -> None:
        self.body = bytearray(body)
        self.values, self.owners = Counter[int](), Counter[bytes]()
        self.has_zero = False

    def find(self, index: int) -> tuple[int, StoredTile | None]:
        """Return where in the body a tile is, or belongs, and the tile, if it is there."""
        body, low, high = self.body, 0, len(self.body) // TILE.size
        while low < high:
            middle = (low + high) // 2
            at = middle * TILE.size
            if body[at] + body[at + 1] * 256 < index:
                low = middle + 1
            else:
                high = middle
        at = low * TILE.size
        there = StoredTile._make(TILE.unpack_from(body, at)) if at < len(body) else None
        return at, there if there is not None and there.tile_index == index else None

    def merge(
        self, rule: int, writes: Mapping[int, Write], valid: StampRange
    ) -> dict[int, tuple[int, int]]:
        """Write on tiles; return the values and stamps of those on which no other write counts."""
        newest = {}
        for index, write in writes.items():
            where, there = self.find(index)
            is_valid = there is not None and valid.first <= there.at < valid.last
            now = there if there and is_valid else StoredTile(index, 0, 0, 0, NOBODY)
            tile = _tile_after(rule, now, write)
            if tile is None:
                continue
            length = 0 if there is None else TILE.size
            self.body[where : where + length] = TILE.pack(*tile)
            if there is not None:
                self._count(there.value, there.writer, -1)
            self._count(tile.value, tile.writer, 1)
            newest[index] = tile.value, tile.at
        return newest

    def take_back(self, writer: bytes, valid: StampRange) -> dict[int, tuple[int, int]]:
        """Give all tiles on which a person wrote last the values from before that person came;
        return these, with stamps just after those of that person's writes, so that what others have
        written since counts."""
        restored = {}
        for n, tile in enumerate(_tiles(bytes(self.body))):
            if tile.writer == writer and tile.is_changed and valid.first <= tile.at < valid.last:
                at = _after(tile.at, tile.at)
                back = tile.tile_index, tile.before, at, tile.before, NOBODY
                TILE.pack_into(self.body, n * TILE.size, *back)
                self._count(tile.value, writer, -1)
                self._count(tile.before, NOBODY, 1)
                restored[tile.tile_index] = tile.before, at
        return restored

    def fade(self, valid: StampRange, forget: int, now: int) -> int:
        """Forget what is not valid, and what has been 0 for long; return in how many ms something
        is to be forgotten next, or NEVER_DUE_MS."""
        kept, due = bytearray(), NEVER_DUE_MS
        for tile in _tiles(self.body):
            until = (tile.at >> NODE_BITS) + (forget if tile.value else min(forget, ZERO_FOR_MS))
            if valid.first <= tile.at < valid.last and until > now:
                kept += TILE.pack(*tile)
                due = min(due, until - now)
            else:
                self._count(tile.value, tile.writer, -1)
        self.body = kept
        return due

    def _count(self, value: int, writer: bytes, n: int) -> None:
        self.has_zero |= n > 0 and not value
        if value:
            self.values[value] += n
            self.owners[writer] += n


class Rows:
    """Reads and replaces the rows of one layer.

    `queue` is the name of their queue, and of the board that counts how many tiles have which
    value; `rule` is as in world/tiles.py. `owners` says whether there is a board of how many tiles
    each person has written last. A tile on which nobody has written for `forget` ms is forgotten.
    """

    def __init__(self, queue: str, rule: int, forget: int, *, owners: bool) -> None:
        self.queue, self._rule, self._forget = queue, rule, forget
        self._owners = f"{queue} owners" if owners else ""

    def valid(self, now: int) -> StampRange:
        """Return which stamps count at a node time in ms."""
        return StampRange(max(now - self._forget, 0) << NODE_BITS, (now + AHEAD) << NODE_BITS)

    # All of these wait for the store; `now` is node time in ms.

    def load(self, store: Store, squares: list[Square], now: int) -> dict[Square, bytes]:
        """Return the writes that the store has in some squares, as `Tiles.apply` takes them."""
        found: dict[Square, bytes] = {}
        first, last = self.valid(now)
        for item in store.group(self.queue, *map(name_of, squares)):
            square = square_of(item.group)
            tiles = [tile[:3] for tile in _tiles(item.body) if first <= tile.at < last]
            found[square] = found.get(square, b"") + pack(tiles)
        return found

    def read(self, store: Store, squares: Sequence[Square]) -> Iterator[tuple[Square, StoredTile]]:
        """Yield the tiles that the store has in some squares, CALL_ITEMS_MOST at most."""
        for item in store.group(self.queue, *map(name_of, squares)):
            yield from ((square_of(item.group), tile) for tile in _tiles(item.body))

    def writers(self, store: Store, squares: Sequence[Square]) -> Counter[str]:
        """Return how many tiles of some squares, CALL_ITEMS_MOST at most, each person was the last
        to change."""
        tiles = [tile for _, tile in self.read(store, squares)]
        return Counter(t.writer.hex() for t in tiles if t.is_changed and t.writer != NOBODY)

    def give(self, store: Store, writes: Writes, counted: Put, now: int) -> None:
        """Add writes to what the store has, and remove them from `writes`, which keeps those that
        are left if the store fails. Those that count are added to `counted`, with values and stamps
        as the store has them. Nothing is lost if other nodes do the same."""
        valid = self.valid(now)
        for some in _in_pieces(_rows(writes)):
            # Rows that another node has replaced first are read again.
            while some:
                squares = dict.fromkeys(name_of(square) for square, _ in some)
                there = {item.id: item for item in store.group(self.queue, *squares)}
                swaps: dict[tuple[Square, int], Swap] = {}
                merged: dict[tuple[Square, int], dict[int, tuple[int, int]]] = {}
                for (square, part), written in some.items():
                    id = f"{name_of(square)}/{part}"
                    item = there.get(id)
                    row = _Row(b"" if item is None else item.body)
                    merged[square, part] = row.merge(self._rule, written, valid)
                    if item is None or row.body != item.body:
                        swaps[square, part] = self._swap(item, id, name_of(square), row)
                put = dict(zip(swaps, store.swap(self.queue, swaps.values()), strict=True))
                for square, part in [key for key in some if put.get(key, True)]:
                    counted.setdefault(square, {}).update(merged[square, part])
                    for index in some.pop((square, part)):
                        del writes[square][index]

    def take_back(self, store: Store, writer: bytes, squares: Sequence[Square], now: int) -> Put:
        """Give all tiles of some squares, CALL_ITEMS_MOST at most, on which a person wrote last the
        values from before that person came; return these, and their stamps."""
        back: Put = {}
        names = list(map(name_of, squares))
        while names:
            restored: list[tuple[Square, dict[int, tuple[int, int]]]] = []
            swaps: list[Swap] = []
            for item in store.group(self.queue, *names):
                row = _Row(item.body)
                if some := row.take_back(writer, self.valid(now)):
                    restored.append((square_of(item.group), some))
                    swaps.append(self._swap(item, item.id, item.group, row))
            names = []
            put = store.swap(self.queue, swaps)
            for (square, some), is_put in zip(restored, put, strict=True):
                if is_put:
                    back.setdefault(square, {}).update(some)
                else:
                    names.append(name_of(square))
        return back

    def fade(self, store: Store, most: int, now: int) -> bool:
        """Forget what is old in up to `most` rows that are due; return whether there may be
        more."""
        valid, swaps = self.valid(now), []
        claimed = store.claim(self.queue, most, ROWS_CLAIMED_MS)
        for id, body, _tries in claimed:
            row = _Row(body)
            due, group = row.fade(valid, self._forget, now), id.partition("/")[0]
            swap = self._swap(Item(id, due, group, body), id, group, row)
            if row.body:
                swaps.append(swap)
            else:
                store.take(self.queue, id, (), swap.scores, only=body)
        # What another node has replaced meanwhile is due again.
        store.swap(self.queue, swaps)
        return len(claimed) == most

    def values(self, store: Store) -> dict[int, int]:
        """Return how many tiles have which value above 0."""
        top = store.top(self.queue, TILE_VALUES)
        return {int(value): number for value, number in top if number > 0}

    def owners(self, store: Store, least: int) -> dict[bytes, int]:
        """Return on how many tiles each person has written last, if on at least `least`."""
        found: dict[bytes, int] = {}
        skip = 0
        while self._owners and (top := store.top(self._owners, CALL_ITEMS_MOST, skip)):
            found.update(
                (bytes.fromhex(writer), number) for writer, number in top if number >= least
            )
            if top[-1][1] < least:
                break
            skip += len(top)
        return found

    def _swap(self, item: Item | None, id: str, group: str, row: _Row) -> Swap:
        """Return the swap that puts a row in place of an item, or of none. The row is due when the
        item was, or when what is written now is to be forgotten."""
        scores = [Score(self.queue, str(value), n) for value, n in row.values.items() if n]
        if self._owners:
            people = [(writer, n) for writer, n in row.owners.items() if n and writer != NOBODY]
            scores += [Score(self._owners, writer.hex(), n) for writer, n in people]
        before, delay = (None, NEVER_DUE_MS) if item is None else (item.body, item.delay)
        delay = min(delay, self._forget, ZERO_FOR_MS if row.has_zero else NEVER_DUE_MS)
        return Swap(before, Item(id, delay, group, bytes(row.body)), scores)


def _tiles(body: bytes | bytearray) -> Iterator[StoredTile]:
    return map(StoredTile._make, TILE.iter_unpack(body))


def _after(at: int, before: int) -> int:
    """Return a stamp after `before`, by the time and node of the stamp `at`."""
    return next_stamp(at >> NODE_BITS, at, before)


def _tile_after(rule: int, tile: StoredTile, write: Write) -> StoredTile | None:
    """Return a tile after a write; None if the write does not count there."""
    index, old, old_at, before, writer = tile
    value, at = write.value, write.at
    if rule == RULE_SUM:
        value, at = _sum(old, value), _after(at, old_at)
    elif (value, at) != (old, old_at) and not wins(rule, (value, at), (old, old_at)):
        return None
    if value != old:
        if write.after is not None:
            before = _sum(old, write.after) if rule == RULE_SUM else write.after
        elif write.writer != writer:
            before = old
        writer = write.writer
    elif at == old_at and writer == NOBODY:
        # Another node adopted it before its own node, which has the writer, put it there.
        writer = write.writer
    return StoredTile(index, value, at, before, writer)


def _sum(value: int, more: int) -> int:
    return min(max(value + more, 0), TILE_VALUES - 1)


def _rows(writes: Writes) -> dict[tuple[Square, int], dict[int, Write]]:
    """Return writes by the square and the number of their row there."""
    rows: dict[tuple[Square, int], dict[int, Write]] = {}
    for square, some in writes.items():
        for index, write in some.items():
            rows.setdefault((square, index // ROW_TILES), {})[index] = write
    return rows


def _in_pieces(
    rows: dict[tuple[Square, int], dict[int, Write]],
) -> Iterator[dict[tuple[Square, int], dict[int, Write]]]:
    """Yield the writes to rows, some at a time, and remove them from `rows`."""
    while rows:
        piece = {}
        for key in list(islice(rows, ROWS_A_STEP)):
            indexes = rows[key]
            some = list(islice(indexes, ROW_WRITES_A_STEP))
            piece[key] = {index: indexes.pop(index) for index in some}
            if not indexes:
                del rows[key]
        yield piece
