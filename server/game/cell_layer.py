"""A layer of cells at a node: its writes are published, saved in the store, and forgotten in time.

The node that wrote saves its writes in the store within a second (storage/rows.py); or, if the game
prefers, before it publishes them, or never. A node that misses a write gets it from the others, as
it does players (squares/sync.py), or from the store.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from flatlands.server.game.game_node import GameNode
from flatlands.server.messages.protocol import Refused
from flatlands.server.squares.subscription import Subscription
from flatlands.server.storage.rows import NOBODY, TILE_VALUES, Put, Rows, Write
from flatlands.stores.base import NEVER_DUE_MS, Store
from flatlands.world.grid import Square
from flatlands.world.tiles import (
    NODE_BITS,
    RULE_LAST,
    RULE_SUM,
    WRITE,
    Tiles,
    next_stamp,
    pack,
    wins,
)

#: The names of the queues and boards in the store begin with this.
TILES_QUEUE: Final = "tiles"

#: Time between two times at which writes are put into the store.
SAVE_EVERY_MS: Final = 500

#: The same for writes that are not published before they are there.
WRITE_THROUGH_EVERY_MS: Final = 100

#: Time between two times at which the store is asked how many tiles have which value.
COUNT_TILES_EVERY_MS: Final = 2000

#: Writes that are older than this are in the store, unless this node still waits for that. Nodes
#: send each other what is newer: a node that asks may have read the store before it was there.
SETTLED_MS: Final = 15_000

#: A node receives a square for this long after it wrote there, so that it can answer whoever has
#: missed the write (KEEPALIVE_WAITS in squares/outbox.py).
NEEDED_FOR_MS: Final = 8000

#: Time between two times at which old writes are forgotten on the ground; or a twentieth of their
#: lifetime, if that is less.
FADE_EVERY_MS: Final = 5000

#: Time between two times at which old writes are forgotten in the store.
SWEEP_EVERY_MS: Final = 5000

#: How many rows of the store are looked at in one step, and how long the next step waits.
ROWS_SWEPT: Final = 20
SWEEP_PAUSE_MS: Final = 50

#: How many tiles are looked at in one turn of the loop when they fade.
TILES_FADED: Final = 8192

#: The refusal of a player who may write no more.
FULL_FOR_ALL: Final = "there is no room left for anything more on the ground"
FULL_FOR_ONE: Final = "you already have as many tiles as one person may have"


@dataclass(frozen=True)
class LayerOptions:
    """The options of a layer, as its game has declared them: see Cells.

    `rule` is the number of one of RULES, and `forget` is in ms, NEVER_DUE_MS if nothing is
    forgotten.
    """

    rule: int
    persist: bool | str
    most: int
    per_owner: int | None
    forget: int
    solid: int | None


#: How many tiles each value above 0 has in the store, and how many each person.
_Counts: TypeAlias = tuple[dict[int, int], dict[bytes, int]]

#: Stands for a write, (index, value, stamp), on a tile on which nobody has written.
_NOTHING: Final = 0, 0, 0


class _OwnWrites:
    """The writes of this node in a square, index -> (index, value, stamp), and when it last wrote
    there."""

    __slots__ = ("at", "tiles")

    def __init__(self) -> None:
        self.at = 0
        self.tiles: dict[int, tuple[int, int, int]] = {}


class CellLayer:
    """A layer of the ground at this node, a byte for each tile, on which a game writes. `name` is
    its name in the store."""

    def __init__(self, options: LayerOptions, node: GameNode, name: str) -> None:
        self.options, self.name = options, name
        self.rule, self.persist = options.rule, options.persist
        #: Whether a later write to a tile takes the place of one that is still to be published.
        self._replaces = self.rule in (RULE_LAST, RULE_SUM)
        self._node, self.loop, self.side = node, node.loop, node.grid.side
        self._subscriptions, self.store_client = node.subscriptions, node.store_client
        queue = f"{TILES_QUEUE} {name} {node.channels.ground_id}"
        owners = self.options.per_owner is not None
        self.rows = Rows(queue, self.rule, options.forget, owners=owners)
        self.number = node.square_context.layer_registry.add(self)
        #: The writes of this node since they were last put into the store.
        self._unsaved: dict[Square, dict[int, Write]] = {}
        #: The squares that this node receives because it has written there -> what it wrote.
        self._own_writes: dict[Square, _OwnWrites] = {}
        #: The node time, in ms, of the oldest write that the store may not have, among those that
        #: wait and among those that it is given now.
        self._oldest_unsaved = self._oldest_in_saving = NEVER_DUE_MS
        self._is_saving = False
        #: How many tiles each value above 0 has in the store, as of some seconds ago.
        self._tiles_by_value: dict[int, int] = {}
        #: How many tiles that is in all.
        self.tiles = 0
        #: How many tiles each person has in the store, if that is near what one may have.
        self._tiles_by_owner: dict[bytes, int] = {}
        #: Where each person has written here since the store was last asked for both of these.
        self._tiles_written_by: dict[bytes, set[tuple[Square, int]]] = {}
        #: The same, for what was written before that, while the answer is on its way.
        self._tiles_counted_of: dict[bytes, set[tuple[Square, int]]] = {}
        #: On how many tiles people have written, at most, that the store has not counted yet.
        self._new_tiles = 0
        #: When the store is asked again.
        self._count_at = 0
        #: Whether rows that are due are being looked at, and when the next ones are.
        self._is_sweeping, self._sweep_timer = False, self.loop.timer(self._sweep)
        self._save_every_ms = SAVE_EVERY_MS if self.persist is True else WRITE_THROUGH_EVERY_MS
        self._save_timer = self.loop.timer(self.save)
        self.loop.every(COUNT_TILES_EVERY_MS, self.save)
        if self.options.forget < NEVER_DUE_MS:
            self.loop.every(min(self.options.forget // 20, FADE_EVERY_MS), self._fade)
        if self.persist:
            self.loop.every(SWEEP_EVERY_MS, self._sweep, random.randrange(SWEEP_EVERY_MS))

    # What games do.

    def check_room(self, writer: bytes, indexes: Mapping[Square, Sequence[int]]) -> None:
        """Raise Refused if a person may not write on that many more tiles, by their squares, or if
        the layer is full and one of them has no value yet."""
        if self.store is None:
            return
        if self.options.per_owner is not None and writer != NOBODY:
            wanted = {
                *self._tiles_written_by.get(writer, ()),
                *self._tiles_counted_of.get(writer, ()),
                *_pairs(indexes),
            }
            if self._tiles_by_owner.get(writer, 0) + len(wanted) > self.options.per_owner:
                raise Refused("full", FULL_FOR_ONE, None)
        room = self.options.most - self.tiles - self._new_tiles
        if sum(map(len, indexes.values())) > room:
            empty = sum(not self.value(*pair) for pair in _pairs(indexes))
            if empty > max(room, 0):
                raise Refused("full", FULL_FOR_ALL, None)

    def counts(self) -> dict[int, int]:
        """Return how many tiles have which value above 0: see Cells."""
        if self.store is not None:
            return dict(self._tiles_by_value)
        found = Counter[int]()
        for square in self._subscriptions.by_square:
            if tiles := self.received_tiles(square):
                found.update(tiles.values)
        del found[0]
        return dict(found)

    @property
    def store(self) -> Store | None:
        """The store that has the layer, None if none has."""
        return self.store_client.store if self.persist else None

    def received_tiles(self, square: Square) -> Tiles | None:
        """Return the tiles of a square as this node has received them; None if nobody has written
        there, or if it does not receive the square."""
        subscription = self._subscriptions.by_square.get(square)
        if subscription is None or subscription.layers is None:
            return None
        return subscription.layers.tiles.get(self.number)

    def value(self, square: Square, index: int) -> int:
        """Return the value of a tile as this node has received it."""
        received = self.received_tiles(square)
        return 0 if received is None else received.values[index]

    def write(
        self,
        square: Square,
        indexes: Sequence[int],
        value: int,
        writer: bytes = NOBODY,
        after: int = 0,
    ) -> None:
        """Write a value on tiles of a square, by their numbers there, or add it to them. Stamps are
        after that of the tile at this node, and after the stamp `after`."""
        now, id, is_stored = self.loop.now(), self._node.id, self.store is not None
        own, received = self.need(square, now).tiles, self.received_tiles(square)
        stamps = bytes(self.side**2) if received is None else received.stamps
        # Mostly all tiles get the same stamp and the same value.
        fresh = next_stamp(now, id, after)
        first = fresh >> NODE_BITS << NODE_BITS
        is_plain = self.rule == RULE_LAST or (self.rule == RULE_SUM and is_stored)
        written: list[tuple[int, int, int]] = []
        for index in indexes:
            at, mine_at = fresh, own.get(index, _NOTHING)[2]
            if not stamps[index] < first > mine_at:
                at = next_stamp(now, id, max(stamps[index], mine_at))
            result = value if is_plain else self._result(square, index, own, value, at)
            if result is not None:
                own[index] = one = index, result, at
                written.append(one)
        if written:
            self._oldest_unsaved = min(self._oldest_unsaved, now)
            self._publish(square, written, writer, is_stored)

    def _result(
        self, square: Square, index: int, own: dict[int, tuple[int, int, int]], value: int, at: int
    ) -> int | None:
        """Return the value of a tile after a write, None if what is there counts: as this node has
        received it, or as it wrote it there, if that has not come back yet."""
        received, (_, there, there_at) = self.received_tiles(square), own.get(index, _NOTHING)
        if there_at >> NODE_BITS < self.forgotten_before():
            there = there_at = 0
        if received is not None and received.stamps[index] >= there_at:
            there, there_at = received.get(index)
        if self.rule == RULE_SUM:
            return min(max(there + value, 0), TILE_VALUES - 1)
        counted = not there_at or wins(self.rule, (value, at), (there, there_at))
        return value if counted else None

    def _publish(
        self, square: Square, written: list[tuple[int, int, int]], writer: bytes, is_stored: bool
    ) -> None:
        """Give what was written, (index, value, stamp), to the store and to the other nodes."""
        waiting = self._unsaved_in(square)
        write = Write(*written[0][1:], writer)
        for index, value, at in written:
            if at != write.at or value != write.value:
                write = Write(value, at, writer)
            if index in waiting:
                _queue(self.rule, waiting, index, write)
            else:
                waiting[index] = write
        if write.value > 0 and is_stored:
            self._new_tiles += len(written)
            if self.options.per_owner is not None:
                self._tiles_written_by.setdefault(writer, set()).update(
                    [(square, one[0]) for one in written]
                )
        if self.persist != "write-through" or not is_stored:
            self._node.outbox.write(square, self.number, written, self._replaces)

    def need(self, square: Square, now: int) -> _OwnWrites:
        """Let this node receive a square for a while; return what it has written there."""
        own = self._own_writes.get(square)
        if own is None:
            own = self._own_writes[square] = _OwnWrites()
            self._subscriptions.need((square,))
        own.at = now
        return own

    def publish_stored(self, put: Put) -> None:
        """Publish to all nodes what the store has put on tiles."""
        for square, tiles in put.items():
            written = [(index, value, at) for index, (value, at) in tiles.items()]
            self._node.outbox.write(square, self.number, written, self._replaces)

    def _unsaved_in(self, square: Square) -> dict[int, Write]:
        """Return the writes of a square that wait until the store is given them."""
        if not self._unsaved:
            self._save_timer.set(self.loop.now() + self._save_every_ms)
        return self._unsaved.setdefault(square, {})

    # What squares need of a layer.

    def tiles_changed(self, square: Square, indexes: Sequence[int]) -> None:
        """Note that tiles of a square, by their numbers there, have other values at this node."""
        if self.options.solid is not None:
            self._node.terrain.tiles_changed(square, indexes)

    def unsaved_since(self) -> int:
        """Return the node time, in ms, from which the store may not have what was written; 0 if
        there is no store."""
        if self.store is None:
            return 0
        now: int = self.loop.now()
        certain, lost = self._node.square_context.missed
        if now >= lost + SETTLED_MS:
            certain = now
        # Since then the others may have received nothing of this node, or the store got nothing.
        return min(certain, self._oldest_unsaved, self._oldest_in_saving) - SETTLED_MS

    def forgotten_before(self) -> int:
        """Return the node time, in ms, before which what was written is forgotten; 0 if nothing
        is."""
        return max(self.loop.now() - self.options.forget, 0)

    def stored_until(self) -> int:
        """Return the node time, in ms, before which all that this node wrote is in the store."""
        return min(self.loop.now(), self._oldest_unsaved, self._oldest_in_saving)

    @property
    def is_adopted(self) -> bool:
        """Whether other nodes put into the store what a node that died had not yet put there."""
        return self.store is not None and self.persist is True

    def adopt(self, square: Square, writes: bytes) -> None:
        """Put the writes of a node that has died into the store."""
        for index, value, at in WRITE.iter_unpack(writes):
            self._oldest_unsaved = min(self._oldest_unsaved, at >> NODE_BITS)
            _queue(self.rule, self._unsaved_in(square), index, Write(value, at))

    def _fade(self) -> None:
        """Forget on the ground what is old."""

        def fade(subscription: Subscription) -> None:
            if subscription.layers is not None:
                subscription.layers.fade(self.number, self.forgotten_before())

        some = list(self._subscriptions.by_square.values())
        self.loop.schedule_batches(some, squares_of(TILES_FADED, self.side), 5, fade)

    def _sweep(self) -> None:
        """Forget in the store what is old, as long as there is any."""

        def answered(more: bool) -> None:
            self._is_sweeping = False
            self._sweep_timer.set(self.loop.now() + SWEEP_PAUSE_MS if more else None)

        if self.store is not None and not self._is_sweeping:
            self._is_sweeping, now = True, self.loop.now()
            swept = partial(self.rows.fade, most=ROWS_SWEPT, now=now)
            self.store_client.ask(swept, answered, partial(answered, False))

    # What lasts.

    def load(self, store: Store, squares: list[Square]) -> dict[Square, bytes]:
        """Return the writes that the store has in some squares. It waits for the store."""
        return self.rows.load(store, squares, self.loop.now()) if self.persist else {}

    def apply_stored(self, square: Square, writes: bytes) -> None:
        """Take what the store had in a square. What it should have by now but has not, because the
        node that wrote it has died, is soon put there."""
        layers = self._subscriptions.by_square[square].layers
        if writes and layers is not None:
            layers.apply([self.number, writes])
        received = self.received_tiles(square)
        if received is None or self.persist is not True:
            return
        there = Tiles(len(received.values), self.rule)
        there.apply(writes)
        missing = there.apply(received.pack(before=self.unsaved_since()))
        self.adopt(square, pack((index, *received.get(index)) for index in missing))

    def save(self) -> None:
        """Put what was written into the store, and read the counts of tiles if it is time to."""
        now = self.loop.now()
        counts_due = self._are_counts_due(now)
        self._release_squares(now)
        if self._is_saving or not (self._unsaved or counts_due):
            return
        saving, self._unsaved = self._unsaved, {}
        if self.store is None:
            return
        if counts_due:
            self._count_at = now + COUNT_TILES_EVERY_MS
            self._tiles_counted_of, self._tiles_written_by = self._tiles_written_by, {}
        oldest, put, new = self._oldest_unsaved, Put(), self._new_tiles
        self._is_saving, self._oldest_in_saving, self._oldest_unsaved = True, oldest, NEVER_DUE_MS

        def operation(store: Store) -> _Counts | None:
            self.rows.give(store, saving, put, now)
            return self._read_counts(store) if counts_due else None

        def answered(counts: _Counts | None) -> None:
            self._end_saving(put)
            if counts is not None:
                self._set_counts(counts, new)

        def failed() -> None:
            self._end_saving(put)
            self._oldest_unsaved = min(self._oldest_unsaved, oldest)
            self._requeue(saving)

        self.store_client.ask(operation, answered, failed)

    def _end_saving(self, put: Put) -> None:
        """Let the next writes be saved, and publish what was `put`, if it was not published
        before."""
        self._is_saving, self._oldest_in_saving = False, NEVER_DUE_MS
        if self._unsaved:
            self._save_timer.set(self.loop.now() + self._save_every_ms)
        if self.persist == "write-through":
            self.publish_stored(put)

    def _requeue(self, saving: dict[Square, dict[int, Write]]) -> None:
        """Let writes that the store did not take wait once more, before those that came since."""
        for writer, indexes in self._tiles_counted_of.items():
            self._tiles_written_by.setdefault(writer, set()).update(indexes)
        # In the order in which they were written, so that each has the value before it.
        later, self._unsaved = self._unsaved, {}
        for some in (saving, later):
            for square, writes in some.items():
                for index, write in writes.items():
                    _queue(self.rule, self._unsaved_in(square), index, write)

    # How many tiles have which value.

    def _are_counts_due(self, now: int) -> bool:
        """Return whether to read the counts. A node that receives no square does not."""
        return (
            self.store is not None and bool(self._subscriptions.by_square) and now >= self._count_at
        )

    def _read_counts(self, store: Store) -> _Counts:
        """Return the counts that the store has. It waits for the store."""
        # People with less than a tenth of what one may have are not worth reading.
        owners = self.rows.owners(store, max((self.options.per_owner or 0) // 10, 1))
        return self.rows.values(store), owners

    def _set_counts(self, counts: _Counts, new_tiles: int) -> None:
        """Use counts that include what was written before them, on `new_tiles` tiles."""
        self._tiles_by_value, self._tiles_by_owner = counts
        self.tiles = sum(self._tiles_by_value.values())
        self._tiles_counted_of = {}
        self._new_tiles -= new_tiles

    # Its end.

    def finish(self) -> bool:
        """Put what is left into the store, since that is about to be closed; return whether nothing
        is left, or there is no store. Call it until it returns True."""
        if self._unsaved:
            self.save()
        return self.store is None or not (self._unsaved or self._is_saving)

    def _release_squares(self, now: int) -> None:
        """Stop needing squares in which this node wrote nothing for a while."""
        done = [square for square, own in self._own_writes.items() if own.at <= now - NEEDED_FOR_MS]
        for square in done:
            del self._own_writes[square]
        self._subscriptions.let_go(done)


def _queue(rule: int, waiting: dict[int, Write], index: int, write: Write) -> None:
    """Add a write to those of its square that wait, unless another one there counts."""
    before = waiting.get(index)
    if before is not None:
        value, at, writer, _ = write
        after = before.after if before.writer == writer else before.value
        if rule == RULE_SUM:
            value += before.value
        elif not wins(rule, (value, at), (before.value, before.at)):
            return
        write = Write(value, at, writer, after)
    waiting[index] = write


def _pairs(indexes: Mapping[Square, Sequence[int]]) -> Iterator[tuple[Square, int]]:
    return ((square, index) for square, some in indexes.items() for index in some)


def merged_tiles(layer: CellLayer, square: Square, writes: bytes) -> Tiles:
    """Return the tiles of a square: those in the store, and those that this node has received."""
    there = Tiles(layer.side**2, layer.rule)
    there.apply(writes)
    if received := layer.received_tiles(square):
        there.apply(received.pack())
    return there


def squares_of(tiles: int, side: int) -> int:
    """Return how many squares have this many tiles together, at least 1; `side` is that of one."""
    return max(tiles // side**2, 1)
