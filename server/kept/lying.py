"""What lies in the world, as the store has it: plants it, lets players take it, lets it lie again.

Each thing is one item. While it *lies* in a square, the item's group is the square's name. While it
*waits*, the item has no group, and is due when it is to lie there: a node that claims it then lets
it lie, and publishes that. Taking a thing, what follows it, and the points for it are one step in
the store. So of all who reach for a thing, at any node, exactly one gets it, and no thing is lost
with a node.

A part of the ground is *planted* when somebody first comes near: an item without a body stands for
it; the node that claims this item asks the game what lies there, and puts that in its place in one
step. This module never knows connections.
"""

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgpack

from flatlands.server.kept import schema
from flatlands.server.kept.boards import NO_NAME
from flatlands.server.kept.keeper import Keeper
from flatlands.server.kept.reach import name_of, square_of
from flatlands.server.loop import Loop
from flatlands.server.messages.protocol import Refused
from flatlands.server.squares.replicas import Replicas
from flatlands.server.things import Thing, declare, of_row, read, stored
from flatlands.stores.base import NEVER, Claimed, Item, Score, Store
from flatlands.world.grid import Grid, Square
from flatlands.world.terrain import CELL
from flatlands.world.track import UNIT, Tile

#: The name of the queue in the store begins with this.
QUEUE: Final = "things"

#: How often a node looks for what is due, in ms; how much it claims at a time, and for how many ms.
GROW_EVERY, CLAIMED, LEASE = 1000, 10, 5000

#: ms for which a part of the ground counts as planted; after a failure it is tried again.
PLANTED_FOR, AFTER_FAILURE = 24 * 3600 * 1000, 60_000

#: The body of an item that stands for a part of the ground that is planted.
PLANTED: Final = b"planted"

#: The most things that a game puts somewhere in one step.
MOST: Final = 100

#: The most things in one message between nodes.
AT_ONCE: Final = 6

#: Players leave no more in a square where this many things lie.
CROWDED: Final = 500

#: An item whose id begins with OF is a place. Each thing of a kind with limits has one of the
#: places that there are for its square, or for its owner. A place is free LEFT_WITHIN ms after it
#: was taken if nothing was left for it: the node may have died in between. It is looked at
#: LOOK_AFTER ms after its thing is over, and once a day.
OF: Final = "of "
LEFT_WITHIN, LOOK_AFTER, LOOK_EVERY = 5 * 60_000, 30_000, 24 * 3600 * 1000

#: The name under which a thing in the store has, beside its fields, the number of the version of
#: its kind that put it there; no field can have this name. Without it, the number is 0.
MADE: Final = ""

#: What a player who may leave nothing in a square is told.
NO_ROOM: Final = "there is no room for this here: walk on a little"

#: Returns what is to lie in a cell; None if that failed.
Plant = Callable[[Tile], Sequence[Thing] | None]


class _Kind(NamedTuple):
    """A kind of things, and its number."""

    number: int
    kind: type[Thing]


class Lying:
    """What lies in the world, as the store has it: plants it, lets players take it, lets it lie
    again. `fields` are those of the game, and `ground` is as in the names of channels. `kinds` are
    those of its things, by their numbers, and `plant` is None if nothing is planted.
    """

    def __init__(
        self,
        fields: schema.Fields,
        ground: str,
        grid: Grid,
        keeper: Keeper,
        replicas: Replicas,
        loop: Loop,
        kinds: Mapping[int, type[Thing]],
        plant: Plant | None,
    ) -> None:
        self._fields, self._queue = fields, f"{QUEUE} {fields.game} {ground}"
        self._grid, self._keeper, self._replicas, self._loop = grid, keeper, replicas, loop
        self._plant = plant
        self._numbered = kinds
        #: By their names.
        self._kinds = {kind.__name__: _Kind(n, kind) for n, kind in kinds.items()}
        replicas.things.update({n: declare(kind) for n, kind in kinds.items()})
        self._growing = loop.every(GROW_EVERY, self._grow, 0)

    # What lies where, for the Reader.

    def fetch(self, store: Store, squares: list[Square]) -> Iterator[tuple[Square, Any]]:
        """Yield what lies in some squares, after putting down the cells they touch to be planted.
        It waits for the store."""
        self._fields.learn(store)
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
        """Return a thing as it is in the store, and whether it waits; None if it is no thing, is of
        a kind that the game does not have, or was put there by a newer version of the game."""
        known = self._kinds.get(id.partition(":")[0])
        if known is None:
            return None
        version, column, row, waits, values, *places = msgpack.unpackb(body)
        made, number = values.pop(MADE, 0), self._fields.number(known.kind)
        if made > number:
            return None
        values = stored(known.kind, values, made < number)
        thing = read(known.kind, id, version, (column, row), values)
        thing.places = places
        return thing, waits

    def _row(self, square: Square, thing: Thing) -> Any:
        """Return a thing as nodes tell each other of it: it lies in the middle of its tile."""
        number, kind = self._kinds[type(thing).__name__]
        x, y = (
            (at - first * self._grid.side) * UNIT + UNIT // 2
            for at, first in zip(thing.tile, square, strict=True)
        )
        return kind.row(number, thing.id, thing.version, x, y, *thing.shows())

    def _item(self, thing: Thing) -> Item:
        """Return the item of a thing, which lies at once or waits."""
        if thing.after:
            return Item(thing.id, thing.after, "", _pack(thing, self._fields, waits=True))
        lasts = type(thing).lasts
        delay = NEVER if lasts is None else round(lasts * 1000)
        return Item(thing.id, delay, name_of(self._square(thing)), _pack(thing, self._fields))

    def _square(self, thing: Thing) -> Square:
        column, row = thing.tile
        return column // self._grid.side, row // self._grid.side

    def checked(
        self, things: Iterable[Any], cell: Tile | None = None, *, left: bool = False
    ) -> list[Thing]:
        """Check and return things that a game wants to lie somewhere. Those that lay nowhere yet
        get ids: by the `cell` that they are planted in and their numbers there, or at random.
        `left`: a player leaves or changes them. Raises ValueError."""
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
            if not left:
                _check_put(thing)
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

    def things_in(self, square: Square) -> list[Thing]:
        """Return what lies in a square, as far as this node knows."""
        heard, side = self._replicas.squares.get(square), self._grid.side
        rows: list[Any] = [] if heard is None else heard.things.lying()
        return [of_row(self._numbered[row.kind], row, square, side) for row in rows]

    def take(
        self,
        thing: Thing,
        then: Iterable[Thing],
        scores: Iterable[Score],
        also: Callable[[Store], Iterable[tuple[str, Item]]] = lambda _store: (),
    ) -> bool:
        """In one step, take a thing away if it still lies there, put others, count points, and put
        what `also` returns, as (queue, item); return whether it was done. It waits for the store.
        Raises Away, and ValueError."""
        if not thing.id:
            raise ValueError(f"{thing!r} lies nowhere, so that nobody can take it")
        square, queue = self._square(thing), self._queue
        following, points = self.checked(then), list(scores)

        def question(store: Store) -> bool:
            self._fields.learn(store)
            lay = _pack(thing, self._fields)
            items = [*self.put(store, following), *also(store)]
            if store.take(queue, thing.id, items, points, only=lay) is not None:
                self._free(store, lay)
                return True
            # It has fields that it does not show, or was put there by an older version of the game.
            others = [
                item.body
                for item in store.group(queue, name_of(square))
                if item.id == thing.id and _is(item.body, thing, self._fields)
            ]
            for body in others:
                if store.take(queue, thing.id, items, points, only=body) is not None:
                    self._free(store, body)
                    return True
            return False

        taken = self._keeper.wait(question)
        if taken:
            self._loop.stats["things_taken"] += 1
            self.tell(following, [thing])
        else:
            # This node has missed that another player took it.
            self._replicas.read(square)
        return taken

    def put(self, store: Store, things: Iterable[Thing]) -> list[tuple[str, Item]]:
        """Return the items, as (queue, item), for things that were `checked`. It waits for the
        store. Call `tell` once they are there."""
        self._fields.learn(store)
        return [(self._queue, self._item(one)) for one in things]

    def leave(
        self, things: Sequence[Thing], owner: str = "", left: list[Thing] | None = None
    ) -> None:
        """Let things lie somewhere for an owner, or "" for none, one after the other, and add each
        that lies there to `left`. It waits for the store. Raises Away, Refused, and ValueError."""
        if any(isinstance(thing, Thing) and thing.id for thing in things):
            raise ValueError("what lies somewhere already is taken first, and put in `then`")
        some, left = self.checked(things, left=True), [] if left is None else left

        def question(store: Store) -> None:
            self._fields.learn(store)
            squares = {name_of(self._square(thing)) for thing in some}
            if any(len(store.group(self._queue, square)) >= CROWDED for square in squares):
                raise Refused("room", NO_ROOM, None)
            for thing in some:
                self._leave(store, thing, owner)
                left.append(thing)

        try:
            self._keeper.wait(question)
        finally:
            self._loop.stats["things_left"] += len(left)
            self.tell(left, [])

    def _leave(self, store: Store, thing: Thing, owner: str) -> None:
        """Put a thing that nobody has left yet into the store. Raises Refused."""
        kind, square = type(thing), name_of(self._square(thing))
        if kind.per_owner is not None:
            if not owner:
                raise Refused("key", "send a key first, by which it is known what is yours", None)
            if not self._take_place(store, thing, owner, kind.per_owner):
                raise Refused("most", f"you have {kind.per_owner} of these already", None)
        if kind.per_square is not None and not self._take_place(
            store, thing, square, kind.per_square
        ):
            for place in thing.places:
                store.take(self._queue, place)
            raise Refused("room", NO_ROOM, None)
        store.put(self._queue, [self._item(thing)])

    def _take_place(self, store: Store, thing: Thing, of: str, most: int) -> bool:
        """Take a place of an owner or a square for a thing; return whether one was free."""
        kind, square = type(thing), name_of(self._square(thing))
        lasts = LEFT_WITHIN if kind.lasts is None else round(kind.lasts * 1000) + LOOK_AFTER
        for number in range(most):
            group = f"{OF}{of} {kind.__name__}"
            id, delay = f"{group} {number}", min(lasts, LEFT_WITHIN)
            # Two may leave something at two nodes at the same time: then one of them gets it.
            if store.put(self._queue, [Item(id, delay, group, square.encode())]):
                thing.places = [*thing.places, id]
                return True
        return False

    def change(self, thing: Thing, how: Callable[[Thing], Thing]) -> Thing | None:
        """Replace a thing that lies somewhere with what `how` makes of it; return that, or None if
        it is not there. It waits for the store. Raises Away, what `how` raises, and ValueError."""
        square, changed = self._square(thing), list[Thing]()

        def make(item: Item | None) -> Item | None:
            found = None if item is None else self._read(item.id, item.body)
            changed.clear()
            if found is None or found[1]:
                return None
            before = found[0]
            after = how(before)
            fits = isinstance(after, Thing) and not after.after
            if not fits or (after.id, after.tile) != (before.id, before.tile) or after is before:
                raise ValueError(f"{before!r} becomes what its again() returns, where it lies")
            changed.extend(self.checked([after], left=True))
            return self._item(after)

        def question(store: Store) -> None:
            self._fields.learn(store)
            store.change(self._queue, thing.id, make, name_of(square))

        self._keeper.wait(question)
        if not changed:
            self._replicas.read(square)
            return None
        self.tell(changed, [])
        return changed[0]

    def clear(self, square: Square) -> None:
        """Remove from a square what players may have written or left there, because an operator
        wants it: all that was not planted, or has a text. It waits for the store. Raises Away."""

        def question(store: Store) -> list[Thing]:
            self._fields.learn(store)
            gone = []
            for item in store.group(self._queue, name_of(square)):
                found = self._read(item.id, item.body)
                if found is not None:
                    thing = found[0]
                    theirs = thing.wordy or thing.id.count(":") == 1
                    if theirs and store.take(self._queue, item.id, only=item.body) is not None:
                        self._free(store, item.body)
                        gone.append(thing)
            return gone

        self.tell([], self._keeper.wait(question))

    def clear_name(self, name: str) -> None:
        """Replace a name in all that lies anywhere, because an operator wants it. It waits for the
        store. Raises Away."""

        def question(store: Store) -> list[Thing]:
            self._fields.learn(store)
            cleared = []
            for item in store.each(self._queue):
                found = self._read(item.id, item.body)
                if found is None:
                    continue
                bad = found[0].named(name, NO_NAME)
                if bad:
                    thing = found[0].again(**bad)
                    body = _pack(thing, self._fields, waits=found[1])
                    then = [(self._queue, item._replace(body=body))]
                    taken = store.take(self._queue, item.id, then, only=item.body)
                    if taken is not None and not found[1]:
                        cleared.append(thing)
            return cleared

        self.tell(self._keeper.wait(question), [])

    def _free(self, store: Store, body: bytes) -> None:
        """Free the places of a thing that is not there any more."""
        for place in msgpack.unpackb(body)[5:]:
            store.take(self._queue, place)

    def _without_places(self, claimed: list[Claimed]) -> list[Claimed]:
        """Free the places among what is due if no thing has them any more; return the rest."""
        places = [each for each in claimed if each.id.startswith(OF)]
        if places:
            self._keeper.ask(lambda store: self._look(store, places), _nothing)
        return [each for each in claimed if each not in places]

    def _look(self, store: Store, places: list[Claimed]) -> None:
        for id, square, _tries in places:
            kept = [
                Item(id, min(item.delay + LOOK_AFTER, LOOK_EVERY), id.rpartition(" ")[0], square)
                for item in store.group(self._queue, square.decode())
                if not item.id.startswith(OF) and id in msgpack.unpackb(item.body)[5:]
            ]
            store.done(self._queue, [id], [(self._queue, item) for item in kept])

    def tell(self, things: Iterable[Thing], gone: Iterable[Thing]) -> None:
        """Publish which things lie somewhere now, and which do not any more."""
        news: dict[Square, tuple[list[Any], list[Any]]] = {}
        for thing in gone:
            news.setdefault(self._square(thing), ([], []))[1].extend((thing.id, thing.version))
        for thing in things:
            if not thing.after:
                square = self._square(thing)
                news.setdefault(square, ([], []))[0].append(self._row(square, thing))
        for square, (there, away) in news.items():
            # This many of the largest ones fit one message.
            for at in range(0, max(len(there), 1), AT_ONCE):
                some = there[at : at + AT_ONCE]
                self._replicas.publish_things(square, some, away if at == 0 else [])

    # What is due.

    def _grow(self) -> None:
        # A node at which nobody plays leaves this to the others.
        if self._replicas.squares:

            def question(store: Store) -> list[Claimed]:
                self._fields.learn(store)
                return store.claim(self._queue, CLAIMED, LEASE)

            self._keeper.ask(question, self._claimed)

    def _claimed(self, claimed: list[Claimed]) -> None:
        """Plant what is to be planted, let things lie whose time has come, and forget those whose
        time is over."""
        seeds: list[str] = []
        foreign: list[tuple[str, bytes]] = []
        for id, body, _tries in self._without_places(claimed):
            found = self._read(id, body) if body else None
            if not body:
                seeds.append(id)
            elif found is not None:
                thing, waits = found
                self._done(id, [thing] if waits else [], None if waits else thing)
            elif body == PLANTED:
                self._done(id)
            else:
                foreign.append((id, body))
        if foreign:
            # Another version of the game has them.
            self._keeper.ask(
                lambda store: store.renew(self._queue, foreign, AFTER_FAILURE), _nothing
            )
        if seeds:
            # Planting may take some ms for each, and must not wait.
            self._loop.soon(lambda: self._loop.in_turns(seeds, 1, 1, self._plant_cell))
        if len(claimed) == CLAIMED:
            self._growing.set(self._loop.now())

    def _plant_cell(self, id: str) -> None:
        i, j = map(int, id.split(":"))
        planted = None if self._plant is None else self._plant((i, j))
        lasts = AFTER_FAILURE if planted is None else PLANTED_FOR
        self._done(id, planted or [], also=[Item(id, lasts, "", PLANTED)])

    def _done(
        self,
        id: str,
        coming: Sequence[Thing] = (),
        over: Thing | None = None,
        also: Sequence[Item] = (),
    ) -> None:
        """Put things, and `also` items, in place of an item that this node has claimed, which may
        be a thing that is `over`. Publish what then lies there, and what no longer does."""
        items = list(map(self._item, coming))
        ended = [] if over is None else [over]
        squares = {name_of(self._square(thing)) for thing in (*coming, *ended) if not thing.after}

        def question(store: Store) -> set[tuple[str, bytes]]:
            then = [(self._queue, item) for item in (*items, *also)]
            # If this node was slow, another one has it, or a player has changed it.
            if store.done(self._queue, [id], then) and over is not None:
                self._free(store, _pack(over, self._fields))
            # A lease may have ended meanwhile, or something with the same id already lies there.
            return {(item.id, item.body) for item in store.group(self._queue, *squares)}

        def answered(there: set[tuple[str, bytes]]) -> None:
            lie = [thing for thing in coming if (thing.id, _pack(thing, self._fields)) in there]
            gone = [thing for thing in ended if (thing.id, _pack(thing, self._fields)) not in there]
            self._loop.stats["things_planted"] += len(lie)
            self.tell(lie, gone)

        self._keeper.ask(question, answered)


def _check_put(thing: Thing) -> None:
    """Raise ValueError if a thing cannot be planted, or cannot follow another one."""
    kind = type(thing)
    if kind.is_counted():
        raise ValueError(f"{thing!r} is of a kind with limits: players leave and change it")
    if thing.id and kind.fields != kind.shown:
        raise ValueError(f"{thing!r} has what it does not show: change() knows that")


def _nothing(_answer: object) -> None:
    """Do nothing."""


def _pack(thing: Thing, fields: schema.Fields, waits: bool = False) -> bytes:
    """Return the body of a thing's item."""
    number = fields.number(type(thing))
    values = thing.values | {MADE: number} if number else thing.values
    packed: bytes = msgpack.packb((thing.version, *thing.tile, waits, values, *thing.places))
    return packed


def _is(body: bytes, thing: Thing, fields: schema.Fields) -> bool:
    """Return whether an item is a thing, whatever else it has, of no newer version of the game."""
    version, _column, _row, _waits, values, *_places = msgpack.unpackb(body)
    return bool(version == thing.version and values.get(MADE, 0) <= fields.number(type(thing)))
