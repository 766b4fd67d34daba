"""The items of a game in the store: things, which are in the world, and records, which have no
place.

Each is one item with the fields of its kind. Taking one, what follows it, and the points for it are
one step in the store. So of all who reach for an item, at any node, exactly one gets it, and
nothing is lost with a node. While a thing *lies* in a square, the group of its item is the square's
name. While it is *pending*, its item has no group, and is due when the thing is to appear
(upkeep.py). The group of a record is what stands before a slash in its id.
"""

import copy
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgpack

from flatlands.brokers.guard import Throttle
from flatlands.server.messages.peer_protocol import MOVER_GROUPS
from flatlands.server.messages.protocol import Refused
from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.subscriptions import Subscriptions
from flatlands.server.storage import schema
from flatlands.server.storage.boards import NO_NAME
from flatlands.server.storage.client import StoreClient, StoreUnavailable
from flatlands.server.storage.kinds import Mover, Record, Thing, declare, of_row, read, stored
from flatlands.server.storage.reach import name_of, square_of
from flatlands.stores.base import NEVER_DUE_MS, Item, Score, Store
from flatlands.world.grid import Grid, Square
from flatlands.world.things import PlacedThing as Row
from flatlands.world.track import UNIT, Tile

log = logging.getLogger("flatlands")

#: The names of the queues in the store begin with these: one of all things, one of each kind of
#: records.
THINGS_QUEUE: Final = "things"
RECORDS_QUEUE: Final = "records"

#: The most things that a game puts somewhere in one step.
THINGS_A_STEP: Final = 100

#: The most things in one message between nodes.
THINGS_A_MESSAGE: Final = 6

#: Players put no more into a square that has this many things.
CROWDED: Final = 500

#: An item whose id begins with QUOTA_PREFIX is a unit of quota. Each thing of a kind with limits
#: has one of the units that there are for its square, or for its owner.
QUOTA_PREFIX: Final = "of "

#: A unit of quota is free this long after it was taken if no thing has it: the node may have died
#: in between.
UNUSED_QUOTA_MS: Final = 5 * 60_000

#: A unit of quota is checked this long after its thing is over.
QUOTA_CHECK_MS: Final = 30_000

#: The names of the groups of movers in the store begin with it.
MOVER_GROUP: Final = "m "

#: The name under which an item in the store has, beside its fields, the number of the version of
#: its kind that put it there; no field can have this name. Without it, the number is 0.
SCHEMA_VERSION_KEY: Final = ""

#: The refusal of a player who may put nothing into a square.
NO_ROOM: Final = "there is no room for this here: walk on a little"

_T = TypeVar("_T")
_Thing = TypeVar("_Thing", bound=Thing)
_Record = TypeVar("_Record", bound=Record)


class _NumberedKind(NamedTuple):
    """A kind of things, and its number."""

    number: int
    kind: type[Thing]


class MoverListener(Protocol):
    """The movers of this node, as what is done to their items is told to them. Those of some kinds
    are in no store: `take` and `change` do there what those of Items do here."""

    def is_stored(self, kind: type[Mover]) -> bool:
        """Return whether movers of a kind are in the store."""

    def take(self, mover: Mover) -> bool:
        """Take away a mover that is in no store; return whether it was still there."""

    def change(self, mover: Any, how: Callable[[Any], Any]) -> Any:
        """Replace a mover that is in no store with what `how` makes of it, and return that."""

    def mover_changed(self, mover: Mover, *, gone: bool) -> None:
        """Note that a mover is in the store as given, or is gone from there."""

    def mover_outdated(self, mover: Mover) -> None:
        """Note that the store had something else of a mover than its node shows."""


class NewerVersion(StoreUnavailable):
    """A newer version of the game has put an item there, and this version cannot read it."""


class Items:
    """Reads, adds, changes and takes a game's things and records in the store.

    `fields` are those of its kinds, and `ground_id` is as in the names of channels. `things` are
    its kinds of things, by their numbers.
    """

    def __init__(
        self,
        fields: schema.GameSchema,
        ground_id: str,
        grid: Grid,
        store_client: StoreClient,
        subscriptions: Subscriptions,
        loop: Loop,
        things: Mapping[int, type[Thing]],
        records: Iterable[type[Record]],
    ) -> None:
        self._fields, self._grid = fields, grid
        self._store_client, self._subscriptions, self._loop = store_client, subscriptions, loop
        #: The kinds of things, by their numbers.
        self.numbered = things
        #: By their names.
        self._kinds = {kind.__name__: _NumberedKind(n, kind) for n, kind in things.items()}
        #: The queue of things, and those of records by their kinds.
        self.queue = f"{THINGS_QUEUE} {fields.game} {ground_id}"
        self.records = {
            kind: f"{RECORDS_QUEUE} {fields.game} {kind.__name__} {ground_id}" for kind in records
        }
        self._skips = Throttle()
        lying = {n: kind for n, kind in things.items() if not issubclass(kind, Mover)}
        subscriptions.declare_things({n: declare(kind) for n, kind in lying.items()})
        self._mover_listener: MoverListener

    def set_mover_listener(self, movers: MoverListener) -> None:
        """Tell `movers` what is done to movers; a game that has any calls this first of all."""
        self._mover_listener = movers

    # Operations on the store.

    def wait(self, operation: Callable[[Store], _T]) -> _T:
        """Call the store, once the versions of all kinds were read. It waits. Raises
        StoreUnavailable, and what the operation raises."""
        return self._store_client.wait(lambda store: self._learned(store, operation))

    def ask(self, operation: Callable[[Store], _T], answered: Callable[[_T], None]) -> None:
        """Do the same without waiting, and call `answered` with the answer."""
        self._store_client.ask(lambda store: self._learned(store, operation), answered)

    def _learned(self, store: Store, operation: Callable[[Store], _T]) -> _T:
        self.learn(store)
        return operation(store)

    def learn(self, store: Store) -> None:
        """Find out the versions of all kinds. It waits for the store. Raises StoreError."""
        self._fields.learn(store)

    # As it is in the store.

    def _place_of(self, one: Thing | Record) -> tuple[str, str]:
        """Return the queue and the group of something. Raises ValueError."""
        if isinstance(one, Mover):
            return self.queue, mover_group(one.number)
        if isinstance(one, Thing):
            return self.queue, name_of(self.square(one))
        queue = self.records.get(type(one))
        if queue is None:
            raise ValueError(f"{one!r}: the game has no Records of this class")
        return queue, group_of(one.id)

    def item(self, one: Thing | Record) -> tuple[str, Item]:
        """Return the queue and the item of something that was checked. The versions of all kinds
        must be known."""
        queue, group = self._place_of(one)
        if isinstance(one, Thing) and one.after:
            return queue, Item(one.id, one.after, "", self.pack(one, pending=True))
        lasts = type(one).lasts
        delay = NEVER_DUE_MS if lasts is None else round(lasts * 1000)
        return queue, Item(one.id, delay, group, self.pack(one))

    def pack(self, one: Thing | Record, pending: bool = False) -> bytes:
        """Return the body of the item of a thing or record. `pending`: it is a thing that does not
        lie yet."""
        number = self._fields.number(type(one))
        values = one.values | {SCHEMA_VERSION_KEY: number} if number else one.values
        if isinstance(one, Thing):
            return _pack((one.version, *one.tile, pending, values, *one.quota_ids))
        return _pack(values)

    def read_thing(self, id: str, body: bytes) -> tuple[Thing, bool] | None:
        """Return a thing as it is in the store, and whether it is pending; None if it is no thing,
        is of a kind that the game does not have, or is from a newer version of the game."""
        found = self._kinds.get(id.partition(":")[0])
        if found is None:
            return None
        version, column, row, pending, values, *quota_ids = msgpack.unpackb(body)
        try:
            values = self._values(found.kind, id, values)
        except NewerVersion:
            return None
        thing = read(found.kind, id, version, (column, row), values)
        thing.quota_ids = quota_ids
        return thing, pending

    def read_record(self, kind: type[_Record], item: Item | None) -> _Record | None:
        """Return a record as it is in the store; None if it is not there, or over. Raises
        NewerVersion."""
        if item is None or not item.delay:
            return None
        record = kind(item.id, **self._values(kind, item.id, msgpack.unpackb(item.body)))
        record.body = item.body
        return record

    def _values(
        self, kind: type[Thing] | type[Record], id: str, values: dict[str, Any]
    ) -> dict[str, object]:
        made, number = values.pop(SCHEMA_VERSION_KEY, 0), self._fields.number(kind)
        if made > number:
            raise NewerVersion(f"a newer version of the game put {id} there")
        return stored(kind, values, made < number)

    # The things in squares.

    def square(self, thing: Thing) -> Square:
        """Return the square of a thing."""
        column, row = thing.tile
        return column // self._grid.side, row // self._grid.side

    def fetch(self, store: Store, squares: list[Square]) -> Iterator[tuple[Square, Row]]:
        """Yield the things in some squares, as (square, row). It waits for the store. The versions
        of all kinds must have been read."""
        for item in store.group(self.queue, *map(name_of, squares)):
            found = self.read_thing(item.id, item.body)
            # Movers of a kind that was one of things before stay where they are.
            if found is not None and not isinstance(found[0], Mover):
                square = square_of(item.group)
                yield square, self._row(square, found[0])

    def things_in(self, square: Square) -> list[Thing]:
        """Return the things in a square; none where this node is not subscribed."""
        subscription = self._subscriptions.by_square.get(square)
        rows = [] if subscription is None else subscription.things.placed()
        return [self.thing_of(square, row) for row in rows]

    def thing_of(self, square: Square, row: Row) -> Thing:
        """Return the thing of which a square has the row."""
        return of_row(self.numbered[row.kind], row, square, self._grid.side)

    def _row(self, square: Square, thing: Thing) -> Row:
        """Return a thing as nodes publish it: in the middle of its tile."""
        number, kind = self._kinds[type(thing).__name__]
        x, y = (
            (at - first * self._grid.side) * UNIT + UNIT // 2
            for at, first in zip(thing.tile, square, strict=True)
        )
        row: Row = kind._row(number, thing.id, thing.version, x, y, *thing._shows())
        return row

    def publish(self, there: Iterable[Thing | Record], gone: Iterable[Thing] = ()) -> None:
        """Publish which things have appeared or changed, and which are gone."""
        # A thing that goes from one square to another comes first: it is never nowhere.
        changes: dict[Square, tuple[list[Row], list[str | int]]] = {}
        changed = set[str]()
        for one in there:
            if isinstance(one, Mover):
                changed.add(one.id)
                self._mover_listener.mover_changed(one, gone=False)
            elif isinstance(one, Thing) and not one.after:
                square = self.square(one)
                changes.setdefault(square, ([], []))[0].append(self._row(square, one))
        for thing in gone:
            if isinstance(thing, Mover):
                if thing.id not in changed:
                    self._mover_listener.mover_changed(thing, gone=True)
                continue
            changes.setdefault(self.square(thing), ([], []))[1].extend((thing.id, thing.version))
        for square, (come, away) in changes.items():
            # This many of the largest ones fit one message.
            for at in range(0, max(len(come), 1), THINGS_A_MESSAGE):
                some = come[at : at + THINGS_A_MESSAGE]
                self._subscriptions.publish_things(square, some, away if at == 0 else [])

    # What games do. All of this waits for the store, and raises StoreUnavailable if it does not
    # answer.

    def check_things(
        self, things: Iterable[_Thing], plot: Tile | None = None, *, by_player: bool = False
    ) -> list[_Thing]:
        """Check and return things that a game wants to put somewhere. Those that were nowhere yet
        get ids: by the `plot` that they are planted in and their numbers there, or at random.
        `by_player`: a player puts or changes them. Raises ValueError."""
        # The game may keep its objects, and use them again.
        some = [copy.copy(thing) for thing in islice(things, THINGS_A_STEP + 1)]
        if len(some) > THINGS_A_STEP:
            raise ValueError(f"put at most {THINGS_A_STEP} things at once")
        numbers = Counter[str]()
        for thing in some:
            kind = type(thing).__name__
            known = self._kinds.get(kind)
            if known is None or known.kind is not type(thing):
                raise ValueError(f"{thing!r}: the game's `things` do not list this class")
            if isinstance(thing, Mover) and not (by_player and thing.id):
                raise ValueError(f"{thing!r} walks: let it begin with spawn()")
            if not by_player:
                _check_put(thing)
            if plot not in (None, thing.plot):
                raise ValueError(f"{thing!r} was planted for plot {plot}, but lies in another")
            if not thing.id:
                name = f"{random.getrandbits(64):016x}"
                if plot is not None:
                    name = f"{plot[0]}:{plot[1]}:{numbers[kind]}"
                thing.id, thing.version = f"{kind}:{name}", self._loop.now()
                numbers[kind] += 1
        if len({thing.id for thing in some}) < len(some):
            raise ValueError("one thing cannot lie in two places")
        return some

    def _following(self, then: Iterable[Thing | Record]) -> list[Thing | Record]:
        """Check and return what follows something that is taken. Raises ValueError."""
        some = list(then)
        things = self.check_things(one for one in some if not isinstance(one, Record))
        return [*(one for one in some if isinstance(one, Record)), *things]

    def take(
        self,
        one: Thing | Record,
        then: Iterable[Thing | Record] = (),
        scores: Iterable[Score] = (),
        also: Sequence[tuple[str, Item]] = (),
    ) -> bool:
        """In one step, take away a thing, or a record that was read, if it has not changed since;
        put others, but for records with ids that are there; count points; and put the items `also`.
        Return whether this was done. Raises ValueError."""
        if not one.id:
            raise ValueError(f"{one!r} does not lie anywhere, so nobody can take it")
        queue = self._place_of(one)[0]
        following, points = self._following(then), list(scores)
        if isinstance(one, Mover) and not self.is_stored(type(one)):
            if following or points:
                raise ValueError(f"nothing can follow {one!r} in one step: it is in no store")
            return self._mover_listener.take(one)

        def operation(store: Store) -> bool:
            items = [*also, *map(self.item, following)]
            for body in self._bodies(store, one):
                if store.take(queue, one.id, items, points, only=body) is not None:
                    self.free(store, one, body)
                    self._log_skipped(store, following)
                    return True
            return False

        taken = self.wait(operation)
        gone = [one] if isinstance(one, Thing) else []
        if taken:
            self._loop.stats["things_taken"] += len(gone)
            self.publish(following, gone)
        elif gone:
            # This node has missed that another player took it.
            self._outdated(gone[0])
        return taken

    def is_stored(self, kind: type[Thing] | type[Record]) -> bool:
        """Return whether things of a kind are in the store, and not only at a node."""
        return not issubclass(kind, Mover) or self._mover_listener.is_stored(kind)

    def _outdated(self, thing: Thing) -> None:
        """Read a thing again, since the store has something else than this node shows."""
        if isinstance(thing, Mover):
            self._mover_listener.mover_outdated(thing)
        else:
            self._subscriptions.read(self.square(thing))

    def _log_skipped(self, store: Store, following: Iterable[Thing | Record]) -> None:
        """Log which records were not put, since the store had others with their ids."""
        put: dict[str, dict[str, Item]] = {}
        for queue, item in map(self.item, (one for one in following if isinstance(one, Record))):
            put.setdefault(queue, {})[item.id] = item
        for queue, items in put.items():
            for id, there in store.get(queue, items).items():
                if there.body != items[id].body and self._skips.allows(monotonic()):
                    log.warning("take() has not put the record %r: the store has one", id)

    def _bodies(self, store: Store, one: Thing | Record) -> Iterator[bytes]:
        """Yield the bodies that something may have in the store."""
        if isinstance(one, Record):
            yield one.body
            return
        if not isinstance(one, Mover):
            yield self.pack(one)
        # It is elsewhere than it was put, has fields that it does not show, or was put there by an
        # older version of the game.
        for item in store.get(self.queue, [one.id]).values():
            found = self.read_thing(item.id, item.body)
            if found is not None and not found[1] and found[0].version == one.version:
                yield item.body

    def change(self, thing: _Thing, how: Callable[[_Thing], _Thing]) -> _Thing | None:
        """Replace a thing in the world with what `how` makes of it; return that, or None if it is
        not there. Raises what `how` raises, and ValueError."""
        if isinstance(thing, Mover) and not self.is_stored(type(thing)):
            unstored: _Thing | None = self._mover_listener.change(thing, how)
            return unstored
        changed = list[_Thing]()

        def make(item: Item | None) -> Item | None:
            found = None if item is None else self.read_thing(item.id, item.body)
            changed.clear()
            if found is None or found[1]:
                return None
            before = found[0]
            assert isinstance(before, type(thing)), "its kind follows from its id"
            after = how(before)
            fits = isinstance(after, Thing) and not after.after
            if not fits or (after.id, after.tile) != (before.id, before.tile) or after is before:
                raise ValueError(
                    f"change {before!r} into what its again() returns, on the same tile"
                )
            changed.extend(self.check_things([after], by_player=True))
            return self.item(changed[0])[1]

        self.wait(lambda store: store.change(self.queue, thing.id, make))
        if not changed:
            self._outdated(thing)
            return None
        self.publish(changed)
        return changed[0]

    def put(
        self, things: Sequence[Thing], owner: str = "", done: list[Thing] | None = None
    ) -> None:
        """Put things on their tiles for an owner, or "" for none, one after the other, and add each
        that lies there to `done`. Raises Refused, and ValueError."""
        if any(isinstance(thing, Thing) and thing.id for thing in things):
            raise ValueError(
                "a thing that already lies somewhere must be taken first, and put in `then`"
            )
        some, done = self.check_things(things, by_player=True), [] if done is None else done

        def operation(store: Store) -> None:
            squares = {name_of(self.square(thing)) for thing in some}
            if any(len(store.group(self.queue, square)) >= CROWDED for square in squares):
                raise Refused("room", NO_ROOM, None)
            for thing in some:
                self._put(store, thing, owner)
                done.append(thing)

        try:
            self.wait(operation)
        finally:
            self._loop.stats["things_put"] += len(done)
            self.publish(done)

    def _put(self, store: Store, thing: Thing, owner: str) -> None:
        """Put a new thing into the store. Raises Refused."""
        kind, square = type(thing), name_of(self.square(thing))
        if kind.per_owner is not None:
            if not owner:
                raise Refused(
                    "key", "send a key first, so that the server can tell what is yours", None
                )
            if not self._take_quota(store, thing, owner, kind.per_owner):
                raise Refused("most", f"you already have {kind.per_owner} of these", None)
        if kind.per_square is not None and not self._take_quota(
            store, thing, square, kind.per_square
        ):
            for unit in thing.quota_ids:
                store.take(self.queue, unit)
            raise Refused("room", NO_ROOM, None)
        store.put(self.queue, [self.item(thing)[1]])

    def _take_quota(self, store: Store, thing: Thing, of: str, most: int) -> bool:
        """Take a unit of the quota of an owner or a square for a thing; return whether there was
        one."""
        kind, square = type(thing), name_of(self.square(thing))
        lasts = UNUSED_QUOTA_MS if kind.lasts is None else round(kind.lasts * 1000) + QUOTA_CHECK_MS
        for number in range(most):
            group = f"{QUOTA_PREFIX}{of} {kind.__name__}"
            id, delay = f"{group} {number}", min(lasts, UNUSED_QUOTA_MS)
            # Two may put something at two nodes at the same time: then one of them gets it.
            if store.put(self.queue, [Item(id, delay, group, square.encode())]):
                thing.quota_ids = [*thing.quota_ids, id]
                return True
        return False

    def free(self, store: Store, one: Thing | Record, body: bytes) -> None:
        """Free the quota of a thing that is not there any more, and had this body."""
        counted = isinstance(one, Thing) and not isinstance(one, Mover)
        for unit in msgpack.unpackb(body)[5:] if counted else ():
            store.take(self.queue, unit)

    # What operators do.

    def clear(self, square: Square) -> None:
        """Remove from a square what players may have written or left there: all that was not
        planted, or has a text."""
        gone: list[Thing] = []

        def operation(store: Store) -> None:
            for item in store.group(self.queue, name_of(square)):
                found = self.read_thing(item.id, item.body)
                if found is not None:
                    thing = found[0]
                    theirs = thing._wordy or thing.id.count(":") == 1
                    if theirs and store.take(self.queue, item.id, only=item.body) is not None:
                        gone.append(thing)
                        self.free(store, thing, item.body)

        try:
            self.wait(operation)
        finally:
            self.publish([], gone)

    def clear_name(self, name: str) -> None:
        """Replace a name in all things and records."""
        placed: list[Thing] = []

        def operation(store: Store) -> None:
            for queue, item, one, pending in self._all(store):
                if not (bad := one._named(name, NO_NAME)):
                    continue
                after = one.again(**bad)
                then = [(queue, item._replace(body=self.pack(after, pending)))]
                taken = store.take(queue, item.id, then, only=item.body)
                if taken is not None and isinstance(after, Thing) and not pending:
                    placed.append(after)

        try:
            self.wait(operation)
        finally:
            self.publish(placed)

    def _all(self, store: Store) -> Iterator[tuple[str, Item, Thing | Record, bool]]:
        """Yield all that this version of the game can read, with its queue and item, and whether it
        is a thing that is pending. Raises NewerVersion for records that it cannot."""
        for item in store.each(self.queue):
            if (found := self.read_thing(item.id, item.body)) is not None:
                yield self.queue, item, *found
        for kind, queue in self.records.items():
            for item in store.each(queue):
                if (record := self.read_record(kind, item)) is not None:
                    yield queue, item, record, False


def mover_group(number: int) -> str:
    """Return the name of the group in the store of the mover with a number."""
    return f"{MOVER_GROUP}{number % MOVER_GROUPS}"


def group_of(id: str) -> str:
    """Return the group of a record's id."""
    return id.partition("/")[0]


def _check_put(thing: Thing) -> None:
    """Raise ValueError if a thing cannot be planted, or cannot follow another one."""
    kind = type(thing)
    if kind._is_counted():
        raise ValueError(
            f"{thing!r}: only players can put or change a thing with per_square or per_owner"
        )
    if thing.id and kind.fields != kind._shown:
        raise ValueError(f"{thing!r} has hidden fields: use change(), which reads them")


def _pack(values: object) -> bytes:
    packed: bytes = msgpack.packb(values)
    return packed
