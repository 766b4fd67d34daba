"""The longest: who has kept the ember for longest, within the last day and ever.

Each of the two is one item in the store. The node whose player has kept the ember for longer
changes it, unless another node is faster with a time that is longer still. The item of the day
counts as not there a day after it was put. This module never knows who carries the ember:
ember.py does, and says what counts.
"""

from typing import Final, NamedTuple

import msgpack

from flatlands.server.kept.keeper import Keeper
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
        def cleared(old: Item | None) -> Item | None:
            if old is None or _kept(old).name != name:
                return None
            return old._replace(body=msgpack.packb(_kept(old)._replace(name=instead)))

        for id in COUNTS_FOR:
            store.change(self._queue, id, cleared, GROUP)

    def read(self, store: Store) -> Best:
        """Return both. It waits for the store."""
        kept = {item.id: _kept(item) for item in store.group(self._queue, GROUP) if _counts(item)}
        return Best(kept.get(DAY), kept.get(EVER))

    def _count(self, store: Store, kept: Kept) -> None:
        for id, delay in COUNTS_FOR.items():
            item = Item(id, delay, GROUP, msgpack.packb(kept))

            def longer(old: Item | None, item: Item = item) -> Item | None:
                shorter = old is None or not _counts(old) or _kept(old).ms < kept.ms
                return item if shorter else None

            store.change(self._queue, id, longer, GROUP)


def _counts(item: Item) -> bool:
    """Say whether the time of an item is not over."""
    return item.delay > 0


def _kept(item: Item) -> Kept:
    return Kept(*msgpack.unpackb(item.body))
