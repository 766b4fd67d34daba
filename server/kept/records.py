"""Records: what a game has in the store by an id, for whatever has no place in the world.

If several callers change one at the same time, no change is lost; if several add one with the same
id, or forget it, exactly one does. Nobody is shown a record: a game tells what is in it. This
module never keeps one in memory.
"""

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, Self, TypeVar

import msgpack

from flatlands.server.kept import schema
from flatlands.server.kept.boards import NO_NAME
from flatlands.server.kept.keeper import Away, Keeper
from flatlands.server.kept.lying import MADE
from flatlands.server.things import Record, Thing, stored
from flatlands.stores.base import BATCH_LIMIT, NEVER, Item, Store

_R = TypeVar("_R", bound=Record)

#: The name of the queue in the store begins with this.
QUEUE: Final = "records"

#: ms between two times at which a node removes what is over, and ms for which it claims that.
SWEEP_EVERY, LEASE = 60_000, 5000


class Records(Generic[_R]):
    """The records of a kind. A game or part declares them in its class, such as
    `best = Records(Run)`, and reads and changes them by its object: `self.best.read("north")`.

    All its methods wait for the store, and raise Away if it does not answer: what was asked may
    have been done or not.
    """

    #: Set at a node only, by `of`.
    _node: Any
    _keeper: Keeper
    _fields: schema.Fields
    _queue: str

    def __init__(self, kind: type[_R]) -> None:
        if not (isinstance(kind, type) and issubclass(kind, Record)):
            raise ValueError("write Records(Kind), with a class that inherits from Record")
        self.kind = kind

    def of(self, node: Any, game: str) -> Self:
        """Return these records at a node that plays a game."""
        here = copy.copy(self)
        here._node, here._keeper, here._fields = node, node.keeper, schema.Fields(game, [self.kind])
        here._queue = f"{QUEUE} {game} {self.kind.__name__} {node.channels.ground}"
        return here

    def read(self, id: str) -> _R | None:
        """Return the record of an id, or None if there is none. Raises Away."""
        found = self._ask(lambda store: store.group(self._queue, _group(id)))
        return next((one for one in self._read_all(found) if one.id == id), None)

    def all(self, group: str) -> list[_R]:
        """Return the records whose ids begin with a group and a slash, or are the group, in the
        order of their ids. All are read at once, so keep groups to a few hundred. Raises Away."""
        found = self._ask(lambda store: store.group(self._queue, group))
        return sorted(self._read_all(found), key=lambda one: one.id)

    def add(self, record: _R, most: int | None = None) -> bool:
        """Add a record, unless there is one with its id; return whether it was added. If its group
        has more than `most` then, the oldest go. Raises Away, and ValueError."""
        added = False

        def unless_there(item: Item | None) -> Item | None:
            nonlocal added
            added = self._read(item) is None
            return self._item(record) if added else None

        def question(store: Store) -> bool:
            # One that is over may still be there.
            if not store.put(self._queue, [self._item(record)]):
                store.change(self._queue, record.id, unless_there, _group(record.id))
                if not added:
                    return False
            if most is not None:
                for old in store.group(self._queue, _group(record.id))[:-most]:
                    store.take(self._queue, old.id, only=old.body)
            return True

        return bool(self._ask(question))

    def change(self, id: str, how: Callable[[_R | None], _R | None]) -> _R | None:
        """Replace the record of an id, or None if there is none, with what `how` makes of it;
        return what is there then. If `how` returns None, nothing changes.

        `how` is called again if somebody else was faster. It must not wait; what it raises, this
        method raises. Raises Away, and ValueError.
        """

        def make(item: Item | None) -> Item | None:
            before = self._read(item)
            after = how(before)
            if after is None or after is before:
                return None
            if not isinstance(after, self.kind) or after.id != id:
                raise ValueError(f"{after!r} cannot be the {self.kind.__name__} of {id!r}")
            return self._item(after)

        return self._read(self._ask(lambda store: store.change(self._queue, id, make, _group(id))))

    def forget(self, record: _R, then: Iterable[Record | Thing] = ()) -> bool:
        """Remove a record that was read, if it has not changed since; return whether this was done.
        In the same step add other records, of any kind that the game has, unless there are some
        with their ids, and put things where they lie. Raises Away, and ValueError."""
        body, play, some = record.body, self._node.play, list(then)
        following = followed_by(play.records, [one for one in some if isinstance(one, Record)])
        things = play.lying.checked(one for one in some if not isinstance(one, Record))

        def question(store: Store) -> bool:
            items = [*following(store), *play.lying.put(store, things)]
            return store.take(self._queue, record.id, items, only=body) is not None

        done = bool(self._ask(question))
        if done:
            play.lying.tell(things, [])
        return done

    def put(self, store: Store, record: _R) -> tuple[str, Item]:
        """Return the item of a record, as (queue, item). It waits for the store."""
        self._fields.learn(store)
        return self._queue, self._item(record)

    def clear_name(self, name: str) -> None:
        """Replace a name in all of them, because an operator wants it."""

        def question(store: Store) -> None:
            for item in store.each(self._queue):
                record = self._read(item)
                bad = {} if record is None else record.named(name, NO_NAME)
                if record is not None and bad:
                    body = self._item(record.again(**bad)).body
                    after = [(self._queue, item._replace(body=body))]
                    store.take(self._queue, item.id, after, only=item.body)

        self._ask(question)

    def _ask(self, question: Callable[[Store], Any]) -> Any:
        def learned(store: Store) -> Any:
            self._fields.learn(store)
            return question(store)

        return self._keeper.wait(learned)

    def _item(self, record: _R) -> Item:
        lasts, number = self.kind.lasts, self._fields.number(self.kind)
        values = record.values | ({MADE: number} if number else {})
        delay = NEVER if lasts is None else round(lasts * 1000)
        return Item(record.id, delay, _group(record.id), msgpack.packb(values))

    def _read(self, item: Item | None) -> _R | None:
        """Return a record as it is in the store; None if it is not there, or over. Raises Away if a
        newer version of the game has put it there."""
        if item is None or not item.delay:
            return None
        values = msgpack.unpackb(item.body)
        made, number = values.pop(MADE, 0), self._fields.number(self.kind)
        if made > number:
            raise Away(f"a newer version of the game has put {item.id} there")
        record = self.kind(item.id, **stored(self.kind, values, made < number))
        record.body = item.body
        return record

    def _read_all(self, items: list[Item]) -> list[_R]:
        return [record for record in map(self._read, items) if record is not None]

    def sweep(self) -> None:
        """Remove what is over, some time later."""

        def question(store: Store) -> None:
            over = store.claim(self._queue, BATCH_LIMIT, LEASE)
            store.done(self._queue, [one.id for one in over])

        self._keeper.ask(question, lambda _none: None)


def followed_by(
    kinds: Mapping[type[Record], Records[Any]], records: Iterable[Record]
) -> Callable[[Store], list[tuple[str, Item]]]:
    """Return a function that makes items of records to add in a step of the store, and waits for
    it. `kinds` are those that the game has. Raises ValueError."""
    some = list(records)
    if unknown := [one for one in some if type(one) not in kinds]:
        raise ValueError(f"{unknown[0]!r} is of no kind of which the game has Records")
    return lambda store: [kinds[type(one)].put(store, one) for one in some]


def _group(id: str) -> str:
    return id.partition("/")[0]
