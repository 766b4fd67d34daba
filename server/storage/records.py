"""Records: what a game keeps in the store under an id, without a place in the world.

If several callers change one at the same time, no change is lost; if several add one with the same
id, or forget it, exactly one does. No page gets a record: a game sends what is in it. None is kept
in memory.
"""

import copy
from collections.abc import Callable, Iterable
from typing import Generic, Self, TypeVar

from flatlands.server.storage.items import Items, group_of
from flatlands.server.storage.kinds import Record, Thing
from flatlands.stores.base import Item, Store

_R = TypeVar("_R", bound=Record)


class Records(Generic[_R]):
    """The records of a kind. A game or part declares them in its class, such as `best =
    Records(Run)`, and reads and changes them by its object: `self.best.read("north")`.

    All its methods wait for the store, and raise StoreUnavailable if it does not answer: what was
    asked may have been done or not.
    """

    #: Returns what the game has in the store. Set at a node only, by `_of`.
    _found: Callable[[], Items]

    def __init__(self, kind: type[_R]) -> None:
        if not (isinstance(kind, type) and issubclass(kind, Record)):
            raise ValueError("write Records(Kind), with a class that inherits from Record")
        self.kind = kind

    def _of(self, items: Callable[[], Items]) -> Self:
        """Return these records at a node. `items` returns what its game has in the store, once all
        parts of the game are made."""
        here = copy.copy(self)
        here._found = items
        return here

    @property
    def _items(self) -> Items:
        return self._found()

    @property
    def _queue(self) -> str:
        return self._items.records[self.kind]

    def read(self, id: str) -> _R | None:
        """Return the record of an id, or None if there is none. Raises StoreUnavailable."""
        return self._read(self._items.wait(lambda store: store.get(self._queue, [id])).get(id))

    def all(self, group: str) -> list[_R]:
        """Return the records whose ids begin with a group and a slash, or are the group, in the
        order of their ids. All are read at once, so keep groups to a few hundred. Raises
        StoreUnavailable."""
        items = self._items.wait(lambda store: store.group(self._queue, group))
        found = [one for one in map(self._read, items) if one is not None]
        return sorted(found, key=lambda one: one.id)

    def add(self, record: _R, most: int | None = None) -> bool:
        """Add a record, unless there is one with its id; return whether it was added. If its group
        has more than `most` then, the oldest go. Raises StoreUnavailable, and ValueError."""
        added = False

        def unless_there(item: Item | None) -> Item | None:
            nonlocal added
            added = self._read(item) is None
            return self._item(record) if added else None

        def operation(store: Store) -> bool:
            # One that is over may still be there.
            if not store.put(self._queue, [self._item(record)]):
                store.change(self._queue, record.id, unless_there)
                if not added:
                    return False
            if most is not None:
                for old in store.group(self._queue, group_of(record.id))[:-most]:
                    store.take(self._queue, old.id, only=old.body)
            return True

        return self._items.wait(operation)

    def change(self, id: str, how: Callable[[_R | None], _R | None]) -> _R | None:
        """Replace the record of an id, or None if there is none, with what `how` makes of it;
        return what is there then. If `how` returns None, nothing changes.

        `how` is called again if somebody else was faster. It must not wait; what it raises, this
        method raises. Raises StoreUnavailable, and ValueError.
        """

        def make(item: Item | None) -> Item | None:
            before = self._read(item)
            after = how(before)
            if after is None or after is before:
                return None
            if not isinstance(after, self.kind) or after.id != id:
                raise ValueError(f"{after!r} cannot replace the {self.kind.__name__} {id!r}")
            return self._item(after)

        return self._read(self._items.wait(lambda store: store.change(self._queue, id, make)))

    def forget(self, record: _R, then: Iterable[Record | Thing] = ()) -> bool:
        """Remove a record that was read, if it has not changed since; return whether this was done.
        In the same step add other records, of any kind that the game has, unless there are some
        with their ids, and put things where they lie. Raises StoreUnavailable, and ValueError."""
        return self._items.take(record, then)

    def _item(self, record: _R) -> Item:
        return self._items.item(record)[1]

    def _read(self, item: Item | None) -> _R | None:
        return self._items.read_record(self.kind, item)
