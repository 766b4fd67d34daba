"""Cells: a byte for each tile of the world, on which a game writes. Nobody owns a tile.

A write is published on the channel of its square, and merged there by every node that receives the
square, by the same rule (world/tiles.py). The node that wrote puts its writes into the store within
a second (storage/rows.py); or, if the game prefers, before it publishes them, or never. A node that
misses a write gets it from the others, as it does players (squares/sync.py), or from the store.
Operators wipe squares, and undo what one person wrote.
"""

import copy
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from flatlands.server.game.node import GameNode
from flatlands.server.messages.protocol import Refused
from flatlands.server.squares.subscription import Subscription
from flatlands.server.storage.rows import NOBODY, TILE_VALUES, Put, Rows, Write
from flatlands.server.storage.things import FAR, check_tile
from flatlands.stores.base import NEVER_DUE_MS, Store
from flatlands.world.grid import Square
from flatlands.world.tiles import (
    NODE_BITS,
    RULE_LAST,
    RULE_SUM,
    RULES,
    WRITE,
    Tiles,
    counts,
    next_stamp,
    pack,
)
from flatlands.world.track import Tile

#: How many tiles of a layer can be written on, if the game does not say.
TILES_MOST: Final = 10_000_000

#: The shortest time after which values that persist may be forgotten.
FORGET_LEAST_S: Final = 60

#: The same for values that do not persist.
FADE_LEAST_S: Final = 1

#: The names of the queues and boards in the store begin with this.
TILES_QUEUE: Final = "tiles"

#: Time between two times at which writes are put into the store.
KEEP_EVERY_MS: Final = 500

#: The same for writes that nobody is told of before they are there.
KEEP_FIRST_EVERY_MS: Final = 100

#: Time between two times at which the store is asked how many tiles have which value.
COUNT_TILES_EVERY_MS: Final = 2000

#: What was written this long ago is in the store, unless this node still waits for that. Nodes
#: tell each other what is newer: a node that asks may have read the store before it was there.
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

#: What a player who may write no more is told.
FULL_FOR_ALL: Final = "there is no room left for anything more on the ground"
FULL_FOR_ONE: Final = "you already have as many tiles as one person may have"


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
    tiles with values from `solid` on. Without a store a layer lasts as long as a node knows it.
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
        self.declared = Declared(rule, persist, most, per_owner, ms, solid)

    def of(self, node: GameNode, name: str) -> "Cells":
        """Return this layer at a node, as its next one; `name` is its name in the store."""
        cells = copy.copy(self)
        cells.layer = CellLayer(self.declared, node, name)
        return cells

    def __setitem__(self, tiles: Tile | Iterable[Tile], value: int) -> None:
        """Write a value, 0 to 255, on a tile (column, row) or on several; to a sum it is added, and
        may be negative. The value is there, as for everybody, once it comes back on the square's
        channel. Raises ValueError, and Refused if the layer is full; then nothing is written."""
        self.write(tiles, value)

    def write(self, tiles: Tile | Iterable[Tile], value: int, who: bytes = NOBODY) -> None:
        """Write as `cells[tiles] = value` does, in the name of a person: see Me.write."""
        least = 1 - TILE_VALUES if self.declared.rule == RULE_SUM else 0
        if type(value) is not int or not least <= value < TILE_VALUES:
            raise ValueError(
                f"the value of a cell must be a whole number from 0 to 255, not {value!r}"
            )
        places = self._places([tiles] if isinstance(tiles, tuple) else list(tiles))
        if value > 0:
            self.layer.check_room(who, places)
        for square, some in places.items():
            self.layer.write(square, some, value, who)

    def __getitem__(self, tile: Tile) -> int:
        """Return the value of a tile (column, row): 0 if nobody has written there, or if this node
        does not receive the tile's square, because none of its players is near."""
        square, place = self._place(tile)
        return self.layer.value(square, place)

    def read(self, tile: Tile) -> int:
        """Return the value of a tile (column, row) as the store has it, even far from this node's
        players. It waits for the store. Raises StoreUnavailable."""
        (square, place), layer = self._place(tile), self.layer
        if layer.store is None:
            return layer.value(square, place)
        writes = layer.store_client.wait(lambda store: layer.load(store, [square]).get(square, b""))
        return merged(layer, square, writes).values[place]

    def renew(self, square: Square, older: float) -> None:
        """Treat what was not written for `older` seconds in a square as written now, with the same
        values and writers, so that it is not forgotten yet: not with "first" and "most"."""
        layer, known = self.layer, self.layer.known(square)
        old = layer.loop.now() - round(older * 1000)
        if known is None:
            return
        again: dict[int, list[int]] = {}
        for place, value in enumerate(known.values):
            if value and known.stamps[place] >> NODE_BITS < old:
                again.setdefault(0 if layer.rule == RULE_SUM else value, []).append(place)
        for value, places in again.items():
            layer.write(square, places, value)

    def counts(self) -> dict[int, int]:
        """Return how many tiles of the world have each value above 0, as the store had it some
        seconds ago. If cells do not persist, only squares that this node receives are counted."""
        return self.layer.counts()

    def _place(self, tile: Tile) -> tuple[Square, int]:
        """Return the square of a tile, and the tile's number there. Raises ValueError."""
        column, row = check_tile(tile)
        side = self.layer.side
        return (column // side, row // side), row % side * side + column % side

    def _places(self, tiles: Sequence[Tile]) -> dict[Square, list[int]]:
        """Return the numbers of tiles by their squares. Raises ValueError."""
        side = self.layer.side
        places: dict[Square, list[int]] = {}
        for tile in tiles:
            # It is checked here, and what is not plainly a tile once more, for the sentence.
            if type(tile) is not tuple or len(tile) != 2:
                check_tile(tile)
            column, row = tile
            if not (type(column) is type(row) is int and -FAR < column < FAR and -FAR < row < FAR):
                check_tile(tile)
            square = column // side, row // side
            some = places.get(square)
            if some is None:
                some = places[square] = []
            some.append(row % side * side + column % side)
        return places


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


@dataclass(frozen=True)
class Declared:
    """What a game has declared of a layer: see Cells. `rule` is the number of one of RULES, and
    `forget` is in ms, NEVER_DUE_MS if nothing is forgotten."""

    rule: int
    persist: bool | str
    most: int
    per_owner: int | None
    forget: int
    solid: int | None


#: Stands for a write, (place, value, stamp), on a tile on which nobody has written.
_NOTHING: Final = 0, 0, 0


class _Own:
    """What this node wrote in a square, place -> (place, value, stamp), and when it last did so."""

    __slots__ = ("at", "tiles")

    def __init__(self) -> None:
        self.at = 0
        self.tiles: dict[int, tuple[int, int, int]] = {}


class CellLayer:
    """A layer of the ground on which a game writes, as a node has it: a byte for each tile. `name`
    is its name in the store. It gets the node's next number.
    """

    def __init__(self, declared: Declared, node: GameNode, name: str) -> None:
        self.declared, self.name = declared, name
        self.rule, self.persist = declared.rule, declared.persist
        #: Whether a later write to a tile takes the place of one that is still to be published.
        self._replaces = self.rule in (RULE_LAST, RULE_SUM)
        self._node, self.loop, self.side = node, node.loop, node.grid.side
        self._replicas, self.store_client = node.replicas, node.store_client
        queue = f"{TILES_QUEUE} {name} {node.channels.ground}"
        owners = self.declared.per_owner is not None
        self.rows = Rows(queue, self.rule, declared.forget, owners=owners)
        self.number = node.square_context.ground.add(self)
        #: What this node has written since its writes were last put into the store.
        self._written: dict[Square, dict[int, Write]] = {}
        #: The squares that this node receives because it has written there -> what it wrote.
        self._own: dict[Square, _Own] = {}
        #: The node time, in ms, of the oldest write that the store may not have, among those that
        #: wait and among those that it is given now.
        self._oldest = self._giving = NEVER_DUE_MS
        self._gives = False
        #: How many tiles have which value, and how many each person has; where people have written
        #: here since this was last asked, and just before that; on how many tiles that is at most
        #: in all; and when it is asked again.
        self._counts: dict[int, int] = {}
        #: How many tiles with a value above 0 the store had some seconds ago.
        self.tiles = 0
        self._owners: dict[bytes, int] = {}
        self._since: dict[bytes, set[tuple[Square, int]]] = {}
        self._asked: dict[bytes, set[tuple[Square, int]]] = {}
        self._new = self._count_at = 0
        #: Whether rows that are due are being looked at, and when the next ones are.
        self._sweeps, self._sweep_again = False, self.loop.timer(self._sweep)
        self._keep_every = KEEP_EVERY_MS if self.persist is True else KEEP_FIRST_EVERY_MS
        self._keep_at = self.loop.timer(self.keep)
        self.loop.every(COUNT_TILES_EVERY_MS, self.keep)
        if self.declared.forget < NEVER_DUE_MS:
            self.loop.every(min(self.declared.forget // 20, FADE_EVERY_MS), self._fade)
        if self.persist:
            self.loop.every(SWEEP_EVERY_MS, self._sweep, random.randrange(SWEEP_EVERY_MS))

    # What games do.

    def check_room(self, who: bytes, places: Mapping[Square, Sequence[int]]) -> None:
        """Raise Refused if a person may not write on that many more tiles, by their squares, or if
        the layer is full and one of them has no value yet."""
        if self.store is None:
            return
        if self.declared.per_owner is not None and who != NOBODY:
            wanted = {*self._since.get(who, ()), *self._asked.get(who, ()), *_pairs(places)}
            if self._owners.get(who, 0) + len(wanted) > self.declared.per_owner:
                raise Refused("full", FULL_FOR_ONE, None)
        room = self.declared.most - self.tiles - self._new
        if sum(map(len, places.values())) > room:
            empty = sum(not self.value(*place) for place in _pairs(places))
            if empty > max(room, 0):
                raise Refused("full", FULL_FOR_ALL, None)

    def counts(self) -> dict[int, int]:
        """Return how many tiles have which value above 0: see Cells."""
        if self.store is not None:
            return dict(self._counts)
        found = Counter[int]()
        for square in self._replicas.squares:
            if tiles := self.known(square):
                found.update(tiles.values)
        del found[0]
        return dict(found)

    @property
    def store(self) -> Store | None:
        """The store that has the layer, None if none has."""
        return self.store_client.store if self.persist else None

    def known(self, square: Square) -> Tiles | None:
        """Return the tiles of a square as this node knows them; None if nobody has written there,
        or if it does not receive the square."""
        heard = self._replicas.squares.get(square)
        if heard is None or heard.layers is None:
            return None
        return heard.layers.tiles.get(self.number)

    def value(self, square: Square, place: int) -> int:
        """Return the value of a tile as this node knows it."""
        known = self.known(square)
        return 0 if known is None else known.values[place]

    def write(
        self,
        square: Square,
        places: Sequence[int],
        value: int,
        who: bytes = NOBODY,
        after: int = 0,
    ) -> None:
        """Write a value on tiles of a square, by their numbers there, or add it to them. Stamps are
        after what this node knows of the tile, and after the stamp `after`."""
        now, id, lasts = self.loop.now(), self._node.id, self.store is not None
        own, known = self.need(square, now).tiles, self.known(square)
        stamps = bytes(self.side**2) if known is None else known.stamps
        # Mostly all tiles get the same stamp and the same value.
        fresh = next_stamp(now, id, after)
        first = fresh >> NODE_BITS << NODE_BITS
        is_plain = self.rule == RULE_LAST or (self.rule == RULE_SUM and lasts)
        told: list[tuple[int, int, int]] = []
        for place in places:
            at, mine_at = fresh, own.get(place, _NOTHING)[2]
            if not stamps[place] < first > mine_at:
                at = next_stamp(now, id, max(stamps[place], mine_at))
            result = value if is_plain else self._result(square, place, own, value, at)
            if result is not None:
                own[place] = one = place, result, at
                told.append(one)
        if told:
            self._oldest = min(self._oldest, now)
            self._pass_on(square, told, who, lasts)

    def _result(
        self, square: Square, place: int, own: dict[int, tuple[int, int, int]], value: int, at: int
    ) -> int | None:
        """Return the value of a tile after a write, None if what is there counts: as this node
        knows it, or as it wrote it there, if that has not come back yet."""
        known, (_, there, known_at) = self.known(square), own.get(place, _NOTHING)
        if known_at >> NODE_BITS < self.until():
            there = known_at = 0
        if known is not None and known.stamps[place] >= known_at:
            there, known_at = known.get(place)
        if self.rule == RULE_SUM:
            return min(max(there + value, 0), TILE_VALUES - 1)
        counted = not known_at or counts(self.rule, (value, at), (there, known_at))
        return value if counted else None

    def _pass_on(
        self, square: Square, told: list[tuple[int, int, int]], who: bytes, lasts: bool
    ) -> None:
        """Give what was written, (place, value, stamp), to the store and to the other nodes."""
        waiting = self._waiting(square)
        write = Write(*told[0][1:], who)
        for place, value, at in told:
            if at != write.at or value != write.value:
                write = Write(value, at, who)
            if place in waiting:
                _add(self.rule, waiting, place, write)
            else:
                waiting[place] = write
        if write.value > 0 and lasts:
            self._new += len(told)
            if self.declared.per_owner is not None:
                self._since.setdefault(who, set()).update([(square, one[0]) for one in told])
        if self.persist != "write-through" or not lasts:
            self._node.outbox.write(square, self.number, told, self._replaces)

    def need(self, square: Square, now: int) -> _Own:
        """Let this node receive a square for a while; return what it has written there."""
        own = self._own.get(square)
        if own is None:
            own = self._own[square] = _Own()
            self._replicas.need((square,))
        own.at = now
        return own

    def tell_all(self, put: Put) -> None:
        """Tell all nodes what the store has put on tiles."""
        for square, tiles in put.items():
            told = [(place, value, at) for place, (value, at) in tiles.items()]
            self._node.outbox.write(square, self.number, told, self._replaces)

    def _waiting(self, square: Square) -> dict[int, Write]:
        """Return the writes of a square that wait until the store is given them."""
        if not self._written:
            self._keep_at.set(self.loop.now() + self._keep_every)
        return self._written.setdefault(square, {})

    # What squares need of a layer.

    def changed(self, square: Square, places: Sequence[int]) -> None:
        """Note that tiles of a square, by their numbers there, have other values at this node."""
        if self.declared.solid is not None:
            self._node.terrain.changed(square, places)

    def since(self) -> int:
        """Return the node time, in ms, from which the store may not have what was written; 0 if
        there is no store."""
        if self.store is None:
            return 0
        now: int = self.loop.now()
        certain, lost = self._node.square_context.missed
        if now >= lost + SETTLED_MS:
            certain = now
        # Since then the others may have heard nothing of this node, or the store got nothing.
        return min(certain, self._oldest, self._giving) - SETTLED_MS

    def until(self) -> int:
        """Return the node time, in ms, before which what was written is forgotten; 0 if nothing
        is."""
        return max(self.loop.now() - self.declared.forget, 0)

    def stored(self) -> int:
        """Return the node time, in ms, before which all that this node wrote is in the store."""
        return min(self.loop.now(), self._oldest, self._giving)

    @property
    def is_adopted(self) -> bool:
        """Whether other nodes put into the store what a node that died had not yet put there."""
        return self.store is not None and self.persist is True

    def adopt(self, square: Square, writes: bytes) -> None:
        """Put the writes of a node that has died into the store."""
        for place, value, at in WRITE.iter_unpack(writes):
            self._oldest = min(self._oldest, at >> NODE_BITS)
            _add(self.rule, self._waiting(square), place, Write(value, at))

    def _fade(self) -> None:
        """Forget on the ground what is old."""

        def fade(heard: Subscription) -> None:
            if heard.layers is not None:
                heard.layers.fade(self.number, self.until())

        some = list(self._replicas.squares.values())
        self.loop.in_turns(some, squares_of(TILES_FADED, self.side), 5, fade)

    def _sweep(self) -> None:
        """Forget in the store what is old, as long as there is any."""

        def answered(more: bool) -> None:
            self._sweeps = False
            self._sweep_again.set(self.loop.now() + SWEEP_PAUSE_MS if more else None)

        if self.store is not None and not self._sweeps:
            self._sweeps, now = True, self.loop.now()
            swept = partial(self.rows.fade, most=ROWS_SWEPT, now=now)
            self.store_client.ask(swept, answered, partial(answered, False))

    # What lasts.

    def load(self, store: Store, squares: list[Square]) -> dict[Square, bytes]:
        """Return the writes that the store has in some squares. It waits for the store."""
        return self.rows.load(store, squares, self.loop.now()) if self.persist else {}

    def loaded(self, square: Square, writes: bytes) -> None:
        """Take what the store had in a square. What it should have by now but has not, because the
        node that wrote it has died, is soon put there."""
        layers = self._replicas.squares[square].layers
        if writes and layers is not None:
            layers.apply([self.number, writes])
        known = self.known(square)
        if known is None or self.persist is not True:
            return
        there = Tiles(len(known.values), self.rule)
        there.apply(writes)
        missing = there.apply(known.pack(before=self.since()))
        self.adopt(square, pack((place, *known.get(place)) for place in missing))

    def keep(self) -> None:
        """Put what was written into the store, and read how many tiles have which value."""
        now = self.loop.now()
        # A node that receives no square does not ask.
        asked = self.store is not None and bool(self._replicas.squares)
        counted = asked and now >= self._count_at
        self._let_go(now)
        if self._gives or not (self._written or counted):
            return
        given, self._written = self._written, {}
        if self.store is None:
            return
        if counted:
            self._count_at = now + COUNT_TILES_EVERY_MS
            self._asked, self._since = self._since, {}
        oldest, put, new = self._oldest, Put(), self._new
        self._gives, self._giving, self._oldest = True, oldest, NEVER_DUE_MS

        def question(store: Store) -> tuple[dict[int, int], dict[bytes, int]] | None:
            self.rows.give(store, given, put, now)
            if not counted:
                return None
            # People with less than a tenth of what one may have are not worth reading.
            owners = self.rows.owners(store, max((self.declared.per_owner or 0) // 10, 1))
            return self.rows.values(store), owners

        def tell() -> None:
            self._gives, self._giving = False, NEVER_DUE_MS
            if self._written:
                self._keep_at.set(self.loop.now() + self._keep_every)
            if self.persist == "write-through":
                self.tell_all(put)

        def answered(counts: tuple[dict[int, int], dict[bytes, int]] | None) -> None:
            tell()
            if counts is not None:
                self._counts, self._owners = counts
                self.tiles = sum(self._counts.values())
                self._asked = {}
                self._new -= new

        def failed() -> None:
            tell()
            self._oldest = min(self._oldest, oldest)
            self._keep_later(given)

        self.store_client.ask(question, answered, failed)

    def _keep_later(self, given: dict[Square, dict[int, Write]]) -> None:
        """Let writes that the store did not take wait once more, before those that came since."""
        for who, places in self._asked.items():
            self._since.setdefault(who, set()).update(places)
        # In the order in which they were written, so that each has the value before it.
        later, self._written = self._written, {}
        for some in (given, later):
            for square, writes in some.items():
                for place, write in writes.items():
                    _add(self.rule, self._waiting(square), place, write)

    def finish(self) -> bool:
        """Put what is left into the store, since that is about to be closed; return whether nothing
        is left, or there is no store. Call it until it returns True."""
        if self._written:
            self.keep()
        return self.store is None or not (self._written or self._gives)

    def _let_go(self, now: int) -> None:
        """Stop needing squares in which this node wrote nothing for a while."""
        done = [square for square, own in self._own.items() if own.at <= now - NEEDED_FOR_MS]
        for square in done:
            del self._own[square]
        self._replicas.let_go(done)


def _add(rule: int, waiting: dict[int, Write], place: int, write: Write) -> None:
    """Add a write to those of its square that wait, unless another one there counts."""
    before = waiting.get(place)
    if before is not None:
        value, at, who, _ = write
        after = before.after if before.who == who else before.value
        if rule == RULE_SUM:
            value += before.value
        elif not counts(rule, (value, at), (before.value, before.at)):
            return
        write = Write(value, at, who, after)
    waiting[place] = write


def _pairs(places: Mapping[Square, Sequence[int]]) -> Iterator[tuple[Square, int]]:
    return ((square, place) for square, some in places.items() for place in some)


def merged(layer: CellLayer, square: Square, writes: bytes) -> Tiles:
    """Return the tiles of a square: what the store has there, and what this node knows."""
    there = Tiles(layer.side**2, layer.rule)
    there.apply(writes)
    if known := layer.known(square):
        there.apply(known.pack())
    return there


def squares_of(tiles: int, side: int) -> int:
    """Return how many squares have this many tiles together, at least 1; `side` is that of one."""
    return max(tiles // side**2, 1)
