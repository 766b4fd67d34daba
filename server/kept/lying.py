"""What lies in the world by the store: plants it, lets players take it, and lets it lie again.

Each thing is one item. While it *lies* in a square, the item's group is the square's name. While it
*waits*, the item has no group, and is due when it is to lie there: a node that claims it then lets
it lie, and publishes that. Taking a thing, what follows it, and the points for it are one step in
the store. So of all who reach for a thing, at whichever nodes, exactly one has it, and none is lost
with a node.

A part of the ground is *planted* when somebody first comes near: an item without a body stands for
it, whoever claims that asks the game what lies there, and puts it in its place in one step. This
module never knows connections.
"""

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgpack

from flatlands.server.kept.keeper import Keeper
from flatlands.server.kept.reach import name_of, square_of
from flatlands.server.loop import Loop
from flatlands.server.squares.replicas import Replicas
from flatlands.server.things import Thing, declare, read
from flatlands.stores.base import NEVER, Claimed, Item, Score, Store
from flatlands.world.grid import Grid, Square
from flatlands.world.terrain import CELL
from flatlands.world.track import UNIT, Tile

#: The name of the queue in the store begins with it.
QUEUE: Final = "things"

#: How often a node looks for what is due, in ms; how much it claims at a time, and for how many ms.
GROW_EVERY, CLAIMED, LEASE = 1000, 10, 5000

#: ms for which a part of the ground counts as planted; after a failure it is tried again.
PLANTED_FOR, AFTER_FAILURE = 24 * 3600 * 1000, 60_000

#: The body of an item that stands for a part of the ground that is planted.
PLANTED: Final = b"planted"

#: The most things that a game puts somewhere in one step.
MOST: Final = 100

#: So many things are told of in one message between nodes.
AT_ONCE: Final = 6

#: Returns what is to lie in a cell; None if that failed.
Plant = Callable[[Tile], Sequence[Thing] | None]


class _Kind(NamedTuple):
    """A kind of things, and its number."""

    number: int
    kind: type[Thing]


class Lying:
    """See the module. `name` is that of the game, and `ground` as in the names of channels. `kinds`
    are those of its things, by their numbers, and `plant` is None if none is planted."""

    def __init__(
        self,
        name: str,
        ground: str,
        grid: Grid,
        keeper: Keeper,
        replicas: Replicas,
        loop: Loop,
        kinds: Mapping[int, type[Thing]],
        plant: Plant | None,
    ) -> None:
        self._queue = f"{QUEUE} {name} {ground}"
        self._grid, self._keeper, self._replicas, self._loop = grid, keeper, replicas, loop
        self._plant = plant
        #: By their names.
        self._kinds = {kind.__name__: _Kind(n, kind) for n, kind in kinds.items()}
        replicas.things.update({n: declare(kind) for n, kind in kinds.items()})
        self._growing = loop.every(GROW_EVERY, self._grow, 0)

    # What lies where, for the Reader.

    def fetch(self, store: Store, squares: list[Square]) -> Iterator[tuple[Square, Any]]:
        """Yield what lies in some squares, after the cells around were put down to be planted. It
        waits for the store."""
        if self._plant is not None:
            cells = {cell for square in squares for cell in self._cells(square)}
            seeds = [Item(f"{i}:{j}", 0, "", b"") for i, j in cells]
            parts = [seeds[at : at + 1000] for at in range(0, len(seeds), 1000)]
            if sum(store.put(self._queue, part) for part in parts):
                self._growing.set(self._loop.now())
        for item in store.group(self._queue, *map(name_of, squares)):
            if (found := self._read(item.id, item.body)) is not None:
                square = square_of(item.group)
                yield square, self._row(square, found[0])

    def _cells(self, square: Square) -> Iterator[Tile]:
        """Yield the cells that a square touches."""
        left, top = square[0] * self._grid.side, square[1] * self._grid.side
        last = self._grid.side - 1
        for i in range((left + CELL // 2) // CELL, (left + last + CELL // 2) // CELL + 1):
            for j in range((top + CELL // 2) // CELL, (top + last + CELL // 2) // CELL + 1):
                yield i, j

    def _read(self, id: str, body: bytes) -> tuple[Thing, bool] | None:
        """Return a thing as it is in the store, and whether it waits; None for what is none, or of
        a kind that the game does not have."""
        known = self._kinds.get(id.partition(":")[0])
        if known is None:
            return None
        version, column, row, waits, values = msgpack.unpackb(body)
        return read(known.kind, id, version, (column, row), values), waits

    def _row(self, square: Square, thing: Thing) -> Any:
        """Return a thing as nodes tell each other of it: it lies in the middle of its tile."""
        number, kind = self._kinds[type(thing).__name__]
        x, y = (
            (at - first * self._grid.side) * UNIT + UNIT // 2
            for at, first in zip(thing.tile, square, strict=True)
        )
        return kind.row(number, thing.id, thing.version, x, y, *thing.values.values())

    def _item(self, thing: Thing) -> Item:
        """Return the item of a thing, which lies at once or waits."""
        if thing.after:
            return Item(thing.id, thing.after, "", _pack(thing, waits=True))
        lasts = type(thing).lasts
        delay = NEVER if lasts is None else round(lasts * 1000)
        return Item(thing.id, delay, name_of(self._square(thing)), _pack(thing))

    def _square(self, thing: Thing) -> Square:
        column, row = thing.tile
        return column // self._grid.side, row // self._grid.side

    def checked(self, things: Iterable[Any], cell: Tile | None = None) -> list[Thing]:
        """Return things that a game wants to lie somewhere. Those that lay nowhere yet get ids: by
        the `cell` that they are planted in and their numbers there, or at random. Raises
        ValueError."""
        # The game may keep its objects, and use them again.
        some = [copy.copy(thing) for thing in islice(things, MOST + 1)]
        if len(some) > MOST:
            raise ValueError(f"{MOST} things at most are put somewhere at once")
        numbers = Counter[str]()
        for thing in some:
            kind = type(thing).__name__
            known = self._kinds.get(kind)
            if known is None or known.kind is not type(thing):
                raise ValueError(f"{thing!r} is of no kind that the game has in its `things`")
            if cell not in (None, thing.cell):
                raise ValueError(f"{thing!r} is to be planted in cell {cell}, and is in another")
            if not thing.id:
                name = f"{random.getrandbits(64):016x}"
                if cell is not None:
                    name = f"{cell[0]}:{cell[1]}:{numbers[kind]}"
                thing.id, thing.version = f"{kind}:{name}", self._loop.now()
                numbers[kind] += 1
        if len({thing.id for thing in some}) < len(some):
            raise ValueError("one thing cannot lie at two places")
        return some

    # What games do.

    def take(self, thing: Thing, then: Iterable[Thing], scores: Iterable[Score], also: Any) -> bool:
        """Take a thing away, if it lies there still, put others, count points, and put `also`
        somewhere, as (queue, item), in one step; say whether it was done. It waits for the store.
        Raises Away, and ValueError."""
        if not thing.id:
            raise ValueError(f"{thing!r} lies nowhere, so that nobody can take it")
        square, lay, queue = self._square(thing), _pack(thing), self._queue
        following = self.checked(then)
        items, points = [*[(queue, self._item(one)) for one in following], *also], list(scores)

        def question(store: Store) -> bool:
            if store.take(queue, thing.id, items, points, only=lay) is not None:
                return True
            # Whoever plays an older version of the game has put it there with other fields.
            others = [
                item.body
                for item in store.group(queue, name_of(square))
                if item.id == thing.id and msgpack.unpackb(item.body)[0] == thing.version
            ]
            return any(
                store.take(queue, thing.id, items, points, only=body) is not None for body in others
            )

        taken = self._keeper.wait(question)
        if taken:
            self._loop.stats["things_taken"] += 1
            self._tell(following, [thing])
        else:
            # This node has missed that another player took it.
            self._replicas.read(square)
        return taken

    def leave(self, things: Sequence[Thing]) -> None:
        """Let things lie somewhere. It waits for the store. Raises Away, and ValueError."""
        if any(isinstance(thing, Thing) and thing.id for thing in things):
            raise ValueError("what lies somewhere already is taken first, and put in `then`")
        some = self.checked(things)
        self._keeper.wait(lambda store: store.put(self._queue, map(self._item, some)))
        self._tell(some, [])

    def clear(self, square: Square) -> None:
        """Remove from a square what players may have written or left there, because an operator
        wants it: all that was not planted, or has a text."""

        def question(store: Store) -> list[Thing]:
            gone = []
            for item in store.group(self._queue, name_of(square)):
                found = self._read(item.id, item.body)
                if found is not None:
                    thing = found[0]
                    texts = any(field.type is str for field in thing.fields)
                    theirs = texts or thing.id.count(":") == 1
                    if theirs and store.take(self._queue, item.id, only=item.body) is not None:
                        gone.append(thing)
            return gone

        self._keeper.ask(question, lambda gone: self._tell([], gone))

    def _tell(self, things: Iterable[Thing], gone: Iterable[Thing]) -> None:
        """Publish which things lie somewhere now, and which do not any more."""
        news: dict[Square, tuple[list[Any], list[Any]]] = {}
        for thing in gone:
            news.setdefault(self._square(thing), ([], []))[1].extend((thing.id, thing.version))
        for thing in things:
            if not thing.after:
                square = self._square(thing)
                news.setdefault(square, ([], []))[0].append(self._row(square, thing))
        for square, (there, away) in news.items():
            # Of the largest ones so many fit one message.
            for at in range(0, max(len(there), 1), AT_ONCE):
                some = there[at : at + AT_ONCE]
                self._replicas.publish_things(square, some, away if at == 0 else [])

    # What is due.

    def _grow(self) -> None:
        # A node that nobody plays at leaves it to the others.
        if self._replicas.squares:
            self._keeper.ask(lambda store: store.claim(self._queue, CLAIMED, LEASE), self._claimed)

    def _claimed(self, claimed: list[Claimed]) -> None:
        """Plant what is to be planted, let things lie whose time has come, and forget those whose
        time is over."""
        seeds: list[str] = []
        over: list[Thing] = []
        ended: list[str] = []
        foreign: list[tuple[str, bytes]] = []
        for id, body, _tries in claimed:
            found = self._read(id, body) if body else None
            if not body:
                seeds.append(id)
            elif found is not None and found[1]:
                # Each in a step of its own: if this node was slow, another may have some of them.
                self._done([id], [found[0]], [], [])
            elif found is not None or body == PLANTED:
                ended.append(id)
                over += () if found is None else (found[0],)
            else:
                foreign.append((id, body))
        if ended:
            self._done(ended, [], over, [])
        if foreign:
            # Another version of the game has them.
            self._keeper.ask(
                lambda store: store.renew(self._queue, foreign, AFTER_FAILURE), _nothing
            )
        if seeds:
            # To plant may take some ms for each, and may not wait.
            self._loop.soon(lambda: self._loop.in_turns(seeds, 1, 1, self._plant_cell))
        if len(claimed) == CLAIMED:
            self._growing.set(self._loop.now())

    def _plant_cell(self, id: str) -> None:
        i, j = map(int, id.split(":"))
        planted = None if self._plant is None else self._plant((i, j))
        lasts = AFTER_FAILURE if planted is None else PLANTED_FOR
        self._done([id], planted or [], [], [Item(id, lasts, "", PLANTED)])

    def _done(
        self, ids: list[str], coming: Sequence[Thing], over: list[Thing], also: list[Item]
    ) -> None:
        """Put things, and `also` items, in place of items that this node has claimed, some of which
        are things that are `over`. Publish what lies there then, and what does not."""
        items = list(map(self._item, coming))
        squares = {name_of(self._square(thing)) for thing in (*coming, *over) if not thing.after}

        def question(store: Store) -> set[tuple[str, bytes]]:
            then = [(self._queue, item) for item in (*items, *also)]
            store.done(self._queue, ids, then)
            # A lease may have ended meanwhile; or something with such an id lies there already.
            return {(item.id, item.body) for item in store.group(self._queue, *squares)}

        def answered(there: set[tuple[str, bytes]]) -> None:
            lie = [thing for thing in coming if (thing.id, _pack(thing)) in there]
            gone = [thing for thing in over if (thing.id, _pack(thing)) not in there]
            self._loop.stats["things_planted"] += len(lie)
            self._tell(lie, gone)

        self._keeper.ask(question, answered)


def _nothing(_answer: object) -> None:
    """Do nothing."""


def _pack(thing: Thing, waits: bool = False) -> bytes:
    packed: bytes = msgpack.packb([thing.version, *thing.tile, waits, thing.values])
    return packed
