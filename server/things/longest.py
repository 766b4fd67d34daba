"""The longest: who has kept the ember for longest, within the last day and ever.

Each of the two is one item in the store. The node whose player has kept the ember for longer
changes it, unless another node is faster with a time that is longer still. The item of the day
counts as not there a day after it was put. This module never knows who carries the ember:
players/ember.py does, and says what counts.
"""

from typing import Final, NamedTuple

import msgpack

from flatlands.server.things.keeper import Keeper
from flatlands.stores.base import NEVER, Item, Store

#: The name of the queue in the store begins with it, and that of the ground follows. Its two items
#: are one group.
QUEUE, GROUP = "longest", "longest"
DAY, EVER = "day", "ever"

#: For how many ms each of the two counts.
COUNTS_FOR: Final = {DAY: 24 * 3600 * 1000, EVER: NEVER}


class Kept(NamedTuple):
    """Player `id`, whose name was `name`, has kept the ember for `ms`."""

    ms: int
    id: int
    name: str


class Best(NamedTuple):
    """The longest of the last 24 hours, and of all times; None where nobody has kept it."""

    day: Kept | None
    ever: Kept | None


class Longest:
    """See the module. `ground` is the seed and the side, as in the names of channels."""

    def __init__(self, ground: str, keeper: Keeper) -> None:
        self._queue = f"{QUEUE} {ground}"
        self._keeper = keeper

    def count(self, kept: Kept) -> None:
        """Let a time count, some time later. If the store fails, it is lost."""
        self._keeper.ask(lambda store: self._count(store, kept), lambda _none: None)

    def clear(self, name: str, instead: str) -> None:
        """Replace a name, because an operator wants it."""
        self._keeper.ask(lambda store: self._clear(store, name, instead), lambda _none: None)

    def _clear(self, store: Store, name: str, instead: str) -> None:
        for id, old in self._items(store).items():
            if _kept(old).name == name:
                body = msgpack.packb(_kept(old)._replace(name=instead))
                then = [(self._queue, old._replace(body=body))]
                store.take(self._queue, id, then, only=old.body)

    def read(self, store: Store) -> Best:
        """Return both. It waits for the store."""
        items = self._items(store)
        return Best(*(_kept(items[id]) if id in items else None for id in (DAY, EVER)))

    def _items(self, store: Store) -> dict[str, Item]:
        """Return those of the two that count, by their ids."""
        return {item.id: item for item in store.group(self._queue, GROUP) if item.delay > 0}

    def _count(self, store: Store, kept: Kept) -> None:
        body = msgpack.packb(kept)
        for id, delay in COUNTS_FOR.items():
            item = Item(id, delay, GROUP, body)
            # Whoever is faster has put another time, which is compared next.
            while not self._put(store, item, kept):
                pass

    def _put(self, store: Store, item: Item, kept: Kept) -> bool:
        """Put the item of a time if it is the longest. Return False if another node was faster."""
        found = [old for old in store.group(self._queue, GROUP) if old.id == item.id]
        if not found:
            return store.put(self._queue, [item]) == 1
        [old] = found
        if old.delay > 0 and _kept(old).ms >= kept.ms:
            return True
        then = [(self._queue, item)]
        return store.take(self._queue, item.id, then, only=old.body) is not None


def _kept(item: Item) -> Kept:
    return Kept(*msgpack.unpackb(item.body))
