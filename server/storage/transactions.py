"""Transactions of games: several things and records are read, and all are changed or none is.

The changes are a function of what was read. If somebody else was faster, it is called again with
what is there now.
"""

from collections.abc import Callable, Sequence, Set
from typing import Final, NamedTuple

from flatlands.server.messages.protocol import Refused
from flatlands.server.storage.items import Items
from flatlands.server.storage.kinds import Key, Mover, Record, Thing
from flatlands.stores.base import Item, ItemChange, Score, Store

#: How often a transaction is tried if others change what it has read.
TRIES: Final = 8


class Transaction(NamedTuple):
    """A change of several things, records and scores in one step of the store: what is put, new or
    instead of what had the same id; what is removed; and points, as (owner, board, points)."""

    put: Sequence[Thing | Record] = ()
    remove: Sequence[Thing | Record] = ()
    scores: Sequence[tuple[str, str, int]] = ()


class _Where(NamedTuple):
    """The place of a thing or record in the store, whether or not it is there."""

    kind: type[Thing] | type[Record]
    queue: str
    id: str


class _Read(NamedTuple):
    """An item that was read, and the thing or record that it stands for; None: there is none."""

    where: _Where
    item: Item | None
    what: Thing | Record | None


class _Plan(NamedTuple):
    """The changes of a transaction in the store, beginning with what was read; and the things that
    lie in the world after them, or no longer do."""

    changes: list[ItemChange]
    there: list[Thing]
    gone: list[Thing]


def transact(
    items: Items,
    some: Sequence[Thing | Record | Key],
    how: Callable[..., Transaction | None],
    score: Callable[[str, str, int], Score],
    names: Callable[[Set[str]], Sequence[tuple[str, Item]]],
) -> bool:
    """Read things and records, and do what `how` makes of them; return False if that is None. It
    waits for the store. `score` makes a score of a board of the game, an owner and points; `names`
    returns what is put, if it is not there, for owners who get points. Raises what `how` raises,
    StoreUnavailable, Refused, and ValueError."""
    if isinstance(some, Key) or not isinstance(some, list | tuple):
        raise ValueError(f"a transaction reads a list of things, records and keys, not {some!r}")
    wanted = [_where(items, one) for one in some]
    if len({each[1:] for each in wanted}) < len(wanted):
        raise ValueError("a transaction reads each thing and record once")

    def operation(store: Store) -> _Plan | None:
        for _ in range(TRIES):
            read = _read_all(items, store, wanted)
            transaction = how(*[each.what for each in read])
            if transaction is None:
                return None
            _check(transaction)
            plan = _plan(items, read, transaction)
            scores = [score(board, owner, n) for owner, board, n in transaction.scores if owner]
            if store.transact(plan.changes, scores):
                for queue, item in names({each.id for each in scores}):
                    store.put(queue, [item])
                _free_removed(items, store, read, plan)
                return plan
            for queue, id, *_ in plan.changes[len(read) :]:
                if store.get(queue, [id]):
                    raise Refused("exists", f"there is a {id} already", None)
        raise Refused("busy", "too many want to change this at once: try again", None)

    done = items.wait(operation)
    if done is not None:
        items.publish(done.there, done.gone)
    return done is not None


def _free_removed(items: Items, store: Store, read: Sequence[_Read], plan: _Plan) -> None:
    """Free the quotas of things that a transaction has removed."""
    for each, change in zip(read, plan.changes, strict=False):
        removed = not (change.stays or change.after)
        if removed and isinstance(each.what, Thing) and each.item is not None:
            items.free(store, each.what, each.item.body)


def _check(transaction: object) -> None:
    """Raise ValueError if a function of a game has returned something else than a transaction."""
    if not isinstance(transaction, Transaction):
        raise ValueError(f"return a Transaction or None, not {transaction!r}")
    for some in (transaction.put, transaction.remove):
        if not isinstance(some, list | tuple) or not all(
            isinstance(one, Thing | Record) for one in some
        ):
            raise ValueError(
                f"a Transaction puts and removes lists of things and records, not {some!r}"
            )


def _where(items: Items, one: Thing | Record | Key) -> _Where:
    if not isinstance(one, Thing | Record | Key):
        raise ValueError(f"a transaction reads things, records and keys, not {one!r}")
    if not items.is_stored(one.kind if isinstance(one, Key) else type(one)):
        raise ValueError(f"{one!r} is in no store, so no transaction can read it")
    if isinstance(one, Thing):
        if not one.id:
            raise ValueError(f"{one!r} does not lie anywhere: put it, without reading it")
        return _Where(type(one), items.queue, one.id)
    kind = one.kind if isinstance(one, Key) else type(one)
    if issubclass(kind, Thing):
        return _Where(kind, items.queue, one.id)
    queue = items.records.get(kind)
    if queue is None:
        raise ValueError(f"the game has no Records of the class {kind.__name__}")
    return _Where(kind, queue, one.id)


def _read_all(items: Items, store: Store, wanted: Sequence[_Where]) -> list[_Read]:
    ids: dict[str, list[str]] = {}
    for _, queue, id in wanted:
        ids.setdefault(queue, []).append(id)
    found = {queue: store.get(queue, some) for queue, some in ids.items()}
    read = []
    for each in wanted:
        item = found[each.queue].get(each.id)
        read.append(_Read(each, item, _what(items, each.kind, item)))
    return read


def _what(
    items: Items, kind: type[Thing] | type[Record], item: Item | None
) -> Thing | Record | None:
    """Return what an item stands for; None if it is over, is a thing of another kind, or one that
    does not lie yet."""
    if issubclass(kind, Record):
        return items.read_record(kind, item)
    found = None if item is None else items.read_thing(item.id, item.body)
    return None if found is None or found[1] or type(found[0]) is not kind else found[0]


def _plan(items: Items, read: Sequence[_Read], transaction: Transaction) -> _Plan:
    """Return what a transaction changes. Raises ValueError."""
    known = {each.where[1:]: each for each in read}
    old = {each.what.id: each.what for each in read if isinstance(each.what, Thing)}
    after: dict[tuple[str, str], Item | None] = {}
    for one in transaction.remove:
        key = _where(items, one)[1:]
        if key not in known or known[key].what is None:
            raise ValueError(f"{one!r} was not read: a transaction removes what it has read")
        after[key] = None
    things = [one for one in transaction.put if isinstance(one, Thing)]
    for thing in things:
        _check_follows(thing, old.get(thing.id))
    there = [
        *items.check_things([one for one in things if one.id in old], by_player=True),
        *items.check_things([one for one in things if one.id not in old]),
    ]
    put: list[Thing | Record] = [*there]
    put += [one for one in transaction.put if isinstance(one, Record)]
    for one in put:
        queue, item = items.item(one)
        if (queue, item.id) in after:
            raise ValueError(f"{one!r} is put or removed twice")
        after[queue, item.id] = item
    changes = []
    for key in dict.fromkeys([*known, *after]):
        was = known[key].item if key in known else None
        before = None if was is None else was.body
        changes.append(ItemChange(*key, before, after.get(key), stays=key not in after))
    gone = [thing for thing in old.values() if (items.queue, thing.id) in after]
    return _Plan(changes, there, gone)


def _check_follows(thing: Thing, old: Thing | None) -> None:
    """Raise ValueError if a thing cannot take the place of the one with its id that was read."""
    if old is None:
        return
    if thing.version <= old.version:
        raise ValueError(f"change {old!r} into what its again() returns, and not into {thing!r}")
    if isinstance(thing, Mover) and (thing.tile != old.tile or thing.after):
        raise ValueError(f"{thing!r} walks: let it go elsewhere by go()")
    if thing._is_counted() and (thing.tile != old.tile or thing.after):
        raise ValueError(f"{thing!r}: a thing with per_square or per_owner stays where it lies")
