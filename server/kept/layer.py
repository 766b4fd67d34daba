"""A layer of the ground on which a game writes, as a node has it: a byte for each tile.

A write is published on the channel of its square, and merged there by every node that receives the
square, by the same rule (world/tiles.py). The node that wrote puts its writes into the store within
a second (rows.py); or, if the game prefers, before it publishes them, or never. A node that misses
a write gets it from the others, as it does players (squares/sync.py), or from the store. This
module never knows what a value means.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from flatlands.server.kept.rows import NOBODY, VALUES, Put, Rows, Write
from flatlands.server.messages.protocol import Refused
from flatlands.stores.base import NEVER, Store
from flatlands.world.grid import Square
from flatlands.world.tiles import (
    FIRST,
    LAST,
    MOST,
    NODE_BITS,
    SUM,
    WRITE,
    Tiles,
    counts,
    next_stamp,
    pack,
)

#: The names of the queues and boards in the store begin with this.
QUEUE: Final = "tiles"

#: ms between two times at which writes are put into the store; and the same for those that nobody
#: is told of before they are there.
KEEP_EVERY, KEEP_FIRST_EVERY = 500, 100

#: ms between two times at which the store is asked how many tiles have which value.
COUNT_EVERY: Final = 2000

#: What was written this many ms ago is in the store, unless this node still waits for that. Nodes
#: tell each other what is newer: a node that asks may have read the store before it was there.
SETTLED: Final = 15_000

#: A node receives a square for this many ms after it wrote there, so that it can answer whoever has
#: missed the write (WAITS in squares/outbox.py).
NEEDED_FOR: Final = 8000

#: ms between two times at which old writes are forgotten on the ground (or a twentieth of their
#: lifetime, if less), and in the store; there, rows looked at in a step, and ms between two steps.
FADE_EVERY, SWEEP_EVERY, SWEPT, SWEEP_PAUSE = 5000, 5000, 20, 50

#: How many tiles are looked at in one turn of the loop when they fade.
FADED: Final = 8192

#: What a player who may write no more is told.
FULL: Final = "there is no room left: nothing more can be put on the ground"
FULL_FOR_ONE: Final = "you have as many tiles as one person may have"


@dataclass(frozen=True)
class Declared:
    """What a game has declared of a layer: see Cells. `rule` is the number of one of RULES, and
    `forget` is in ms, NEVER if nothing is forgotten."""

    rule: int
    kept: bool | str
    most: int
    per_owner: int | None
    forget: int
    solid: int | None


class _Own:
    """What this node wrote in a square, place -> value and stamp, and when it last did so."""

    __slots__ = ("at", "tiles")

    def __init__(self) -> None:
        self.at = 0
        self.tiles: dict[int, tuple[int, int]] = {}


class Layer:
    """A layer of the ground on which a game writes, as a node has it: a byte for each tile. `name`
    is its name in the store. It gets the node's next number.
    """

    def __init__(self, declared: Declared, node: Any, name: str) -> None:
        self.declared, self.name = declared, name
        self.rule, self.kept = declared.rule, declared.kept
        self._node, self.loop, self.side = node, node.loop, node.grid.side
        self._replicas, self.keeper = node.replicas, node.keeper
        queue = f"{QUEUE} {name} {node.channels.ground}"
        owners = self.declared.per_owner is not None
        self.rows = Rows(queue, self.rule, declared.forget, owners=owners)
        self.number = len(node.replicas.layers)
        node.replicas.layers.append(self)
        #: What this node has written since its writes were last put into the store.
        self._written: dict[Square, dict[int, Write]] = {}
        #: The squares that this node receives because it has written there -> what it wrote.
        self._own: dict[Square, _Own] = {}
        #: The node time, in ms, of the oldest write that the store may not have, among those that
        #: wait and among those that it is given now.
        self._oldest = self._giving = NEVER
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
        self._sweeps, self._sweep_again = False, self.loop.alarm(self._sweep)
        self._keep_every = KEEP_EVERY if self.kept is True else KEEP_FIRST_EVERY
        self._keep_at = self.loop.alarm(self.keep)
        self.loop.every(COUNT_EVERY, self.keep)
        if self.declared.forget < NEVER:
            self.loop.every(min(self.declared.forget // 20, FADE_EVERY), self._fade)
        if self.kept:
            self.loop.every(SWEEP_EVERY, self._sweep, random.randrange(SWEEP_EVERY))

    # What games do.

    def check_room(self, who: bytes, places: Sequence[tuple[Square, int]]) -> None:
        """Raise Refused if a person may not write on that many more tiles, or if the layer is full
        and one of these places has no value yet."""
        if self.store is None:
            return
        if self.declared.per_owner is not None and who != NOBODY:
            wanted = {*self._since.get(who, ()), *self._asked.get(who, ()), *places}
            if self._owners.get(who, 0) + len(wanted) > self.declared.per_owner:
                raise Refused("full", FULL_FOR_ONE, None)
        room = self.declared.most - self.tiles - self._new
        if len(places) > room:
            empty = sum(not self.value(*place) for place in places)
            if empty > max(room, 0):
                raise Refused("full", FULL, None)

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
        store: Store | None = self.keeper.store
        return store if self.kept else None

    def known(self, square: Square) -> Tiles | None:
        """Return the tiles of a square as this node knows them; None if nobody has written there,
        or if it does not receive the square."""
        heard = self._replicas.squares.get(square)
        return None if heard is None else heard.layers.tiles.get(self.number)

    def value(self, square: Square, place: int) -> int:
        """Return the value of a tile as this node knows it."""
        known = self.known(square)
        return 0 if known is None else known.values[place]

    def write(
        self, square: Square, place: int, value: int, who: bytes = NOBODY, after: int = 0
    ) -> None:
        """Write a value on a tile, by its number in the square, or add it there. Its stamp is after
        what this node knows of the tile, and after the stamp `after`."""
        now, lasts = self.loop.now(), self.store is not None
        own = self.need(square, now)
        there, known_at = self._latest(square, place, own)
        at = next_stamp(now, self._node.id, max(after, known_at))
        if self.rule == SUM and not lasts:
            value = min(max(there + value, 0), VALUES - 1)
        elif self.rule in (FIRST, MOST) and known_at:
            if not counts(self.rule, (value, at), (there, known_at)):
                return
        own.tiles[place] = value, at
        if value > 0 and lasts:
            self._new += 1
            if self.declared.per_owner is not None:
                self._since.setdefault(who, set()).add((square, place))
        self._oldest = min(self._oldest, now)
        self._add(square, place, Write(value, at, who))
        if self.kept != "first" or not lasts:
            self._tell(square, place, value, at)

    def _latest(self, square: Square, place: int, own: _Own) -> tuple[int, int]:
        """Return the value and stamp of a tile as this node knows it, or as it wrote it there, if
        that has not come back yet."""
        known, mine = self.known(square), own.tiles.get(place)
        if mine is not None and mine[1] >> NODE_BITS < self.until():
            mine = None
        there = (0, 0) if known is None else known.get(place)
        return there if mine is None or mine[1] <= there[1] else mine

    def need(self, square: Square, now: int) -> _Own:
        """Let this node receive a square for a while; return what it has written there."""
        own = self._own.get(square)
        if own is None:
            own = self._own[square] = _Own()
            self._replicas.need((square,))
        own.at = now
        return own

    def _tell(self, square: Square, place: int, value: int, at: int) -> None:
        self._node.outbox.write(square, self.number, place, value, at, self.rule in (LAST, SUM))

    def tell_all(self, put: Put) -> None:
        """Tell all nodes what the store has put on tiles."""
        for square, tiles in put.items():
            for place, (value, at) in tiles.items():
                self._tell(square, place, value, at)

    def _add(self, square: Square, place: int, write: Write) -> None:
        """Add a write to those that the store is given next, unless another one there counts."""
        if not self._written:
            self._keep_at.set(self.loop.now() + self._keep_every)
        written = self._written.setdefault(square, {})
        before = written.get(place)
        if before is not None:
            value, at, who, _ = write
            after = before.after if before.who == who else before.value
            if self.rule == SUM:
                value += before.value
            elif not counts(self.rule, (value, at), (before.value, before.at)):
                return
            write = Write(value, at, who, after)
        written[place] = write

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
        certain, lost = self._replicas.missed
        if now >= lost + SETTLED:
            certain = now
        # Since then the others may have heard nothing of this node, or the store got nothing.
        oldest: int = min(certain, self._oldest, self._giving)
        return oldest - SETTLED

    def until(self) -> int:
        """Return the node time, in ms, before which what was written is forgotten; 0 if nothing
        is."""
        return max(int(self.loop.now()) - self.declared.forget, 0)

    def stored(self) -> int:
        """Return the node time, in ms, before which all that this node wrote is in the store."""
        return min(int(self.loop.now()), self._oldest, self._giving)

    @property
    def is_adopted(self) -> bool:
        """Whether other nodes put into the store what a node that died had not yet put there."""
        return self.store is not None and self.kept is True

    def adopt(self, square: Square, writes: bytes) -> None:
        """Put the writes of a node that has died into the store."""
        for place, value, at in WRITE.iter_unpack(writes):
            self._oldest = min(self._oldest, at >> NODE_BITS)
            self._add(square, place, Write(value, at))

    def _fade(self) -> None:
        """Forget on the ground what is old."""

        def fade(heard: Any) -> None:
            heard.layers.fade(self.number, self.until())

        some = list(self._replicas.squares.values())
        self.loop.in_turns(some, squares_of(FADED, self.side), 5, fade)

    def _sweep(self) -> None:
        """Forget in the store what is old, as long as there is any."""

        def answered(more: bool) -> None:
            self._sweeps = False
            self._sweep_again.set(self.loop.now() + SWEEP_PAUSE if more else None)

        if self.store is not None and not self._sweeps:
            self._sweeps, now = True, self.loop.now()
            swept = partial(self.rows.fade, most=SWEPT, now=now)
            self.keeper.ask(swept, answered, partial(answered, False))

    # What lasts.

    def load(self, store: Store, squares: list[Square]) -> dict[Square, bytes]:
        """Return the writes that the store has in some squares. It waits for the store."""
        return self.rows.load(store, squares, self.loop.now()) if self.kept else {}

    def loaded(self, square: Square, writes: bytes) -> None:
        """Take what the store had in a square. What it should have by now but has not, because the
        node that wrote it has died, is soon put there."""
        layers = self._replicas.squares[square].layers
        if writes:
            layers.apply([self.number, writes])
        known = self.known(square)
        if known is None or self.kept is not True:
            return
        there = Tiles(len(known.values), self.rule)
        there.apply(writes)
        missing = there.apply(known.pack(before=self.since()))
        self.adopt(square, pack((place, *known.get(place)) for place in missing))

    def keep(self) -> None:  # noqa: C901
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
            self._count_at = now + COUNT_EVERY
            self._asked, self._since = self._since, {}
        oldest, put, new = self._oldest, Put(), self._new
        self._gives, self._giving, self._oldest = True, oldest, NEVER

        def question(store: Store) -> Any:
            self.rows.give(store, given, put, now)
            if not counted:
                return None
            # People with less than a tenth of what one may have are not worth reading.
            owners = self.rows.owners(store, max((self.declared.per_owner or 0) // 10, 1))
            return self.rows.values(store), owners

        def tell() -> None:
            self._gives, self._giving = False, NEVER
            if self._written:
                self._keep_at.set(self.loop.now() + self._keep_every)
            if self.kept == "first":
                self.tell_all(put)

        def answered(counts: Any) -> None:
            tell()
            if counts is not None:
                self._counts, self._owners = counts
                self.tiles = sum(self._counts.values())
                self._asked = {}
                self._new -= new

        def failed() -> None:
            tell()
            for who, places in self._asked.items():
                self._since.setdefault(who, set()).update(places)
            self._oldest = min(self._oldest, oldest)
            # In the order in which they were written, so that each has the value before it.
            later, self._written = self._written, {}
            for some in (given, later):
                for square, writes in some.items():
                    for place, write in writes.items():
                        self._add(square, place, write)

        self.keeper.ask(question, answered, failed)

    def finish(self) -> bool:
        """Put what is left into the store, since that is about to be closed; return whether nothing
        is left, or there is no store. Call it until it returns True."""
        if self._written:
            self.keep()
        return self.store is None or not (self._written or self._gives)

    def _let_go(self, now: int) -> None:
        """Stop needing squares in which this node wrote nothing for a while."""
        done = [square for square, own in self._own.items() if own.at <= now - NEEDED_FOR]
        for square in done:
            del self._own[square]
        self._replicas.let_go(done)


def merged(layer: Layer, square: Square, writes: bytes) -> Tiles:
    """Return the tiles of a square: what the store has there, and what this node knows."""
    there = Tiles(layer.side**2, layer.rule)
    there.apply(writes)
    if known := layer.known(square):
        there.apply(known.pack())
    return there


def squares_of(tiles: int, side: int) -> int:
    """Return how many squares have this many tiles together, at least 1; `side` is that of one."""
    return max(tiles // side**2, 1)
