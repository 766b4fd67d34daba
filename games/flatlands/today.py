"""Who has walked here within two days, by name: the newest NAMES_MOST people, for the title.

The names are one item in the store. Each node notes who comes, writes the new names a little later,
and reads those of other nodes while somebody looks at them. Without a store a node knows only its
own. A player that an operator sends away or mutes is taken out. This module never knows
connections.
"""

from typing import Final

import msgpack

from flatlands.server.game.game import RecentVisitors
from flatlands.server.game.game_node import GameNode
from flatlands.stores.base import NEVER_DUE_MS, Item, Store

#: The name of the queue in the store begins with it, and that of the ground follows.
TODAY_QUEUE: Final = "today"
#: The id of the only item in the queue, and the name of the item's group.
TODAY_ITEM: Final = "today"

#: Somebody is remembered for this long: who comes again the next day reads who was here too.
REMEMBER_MS: Final = 48 * 3600 * 1000
#: No more people are remembered.
NAMES_MOST: Final = 100

#: A new name is written after this long, and the names are read this often.
ASK_EVERY_MS: Final = 5000

#: So many people are named.
NAMES_SHOWN: Final = 3


#: Id -> (name, node time at which it came); the name "" takes somebody out.
_Names = dict[int, tuple[str, int]]


class Today:
    """The newest NAMES_MOST people."""

    def __init__(self, node: GameNode) -> None:
        self._queue = f"{TODAY_QUEUE} {node.channels.ground_id}"
        self._store_client, self._loop = node.store_client, node.loop
        self._orders = node.moderation
        self._known: _Names = {}
        #: What is not written yet.
        self._new: _Names = {}
        self._asking = False
        self._read_at = 0
        self._writing = self._loop.timer(self._ask)

    def note(self, id: int, name: str, owner: str) -> None:
        """Note that a player is here, under this name from now on."""
        if not self._orders.is_muted(id, owner):
            self._put(id, name)

    def take_out(self, id: int) -> None:
        """Forget a player's name."""
        self._put(id, "")

    def recent_visitors(self) -> RecentVisitors:
        """Return who has walked here, as far as this node has read it."""
        now = self._loop.now()
        if now >= self._read_at + ASK_EVERY_MS:
            self._ask()
        names = [name for name, _at in _merged(self._known, {}, now).values()]
        return RecentVisitors(names[: -NAMES_SHOWN - 1 : -1], len(names))

    def _put(self, id: int, name: str) -> None:
        now = self._loop.now()
        if not self._new:
            self._writing.set(now + ASK_EVERY_MS)
        self._new[id] = name, now
        self._known = _merged(self._known, {id: (name, now)}, now)

    def _ask(self) -> None:
        """Write the new names, and read the others."""
        new, self._read_at = dict(self._new), self._loop.now()

        def answered(known: _Names) -> None:
            for id in new:
                if self._new[id] == new[id]:
                    del self._new[id]
            self._known = _merged(known, self._new, self._loop.now())
            again()

        def again() -> None:
            self._asking = False
            if self._new and self._store_client.store is not None:
                self._writing.set(self._loop.now() + ASK_EVERY_MS)

        if not self._asking:
            self._asking = True
            self._store_client.ask(lambda store: self._write(store, new), answered, again)

    def _write(self, store: Store, new: _Names) -> _Names:
        """Add new names to the item, and return all that it then has. It waits for the store."""

        def add(item: Item | None) -> Item | None:
            names = _merged(_read(item), new, self._loop.now())
            body = msgpack.packb([(id, *rest) for id, rest in names.items()])
            return Item(TODAY_ITEM, NEVER_DUE_MS, TODAY_ITEM, body) if new else None

        return _read(store.change(self._queue, TODAY_ITEM, add))


def _read(item: Item | None) -> _Names:
    names = [] if item is None else msgpack.unpackb(item.body)
    return {id: (name, at) for id, name, at in names}


def _merged(known: _Names, new: _Names, now: int) -> _Names:
    """Return the names that still count, the newest last."""
    names = sorted({**known, **new}.items(), key=lambda one: one[1][1])
    return dict([one for one in names if one[1][0] and one[1][1] > now - REMEMBER_MS][-NAMES_MOST:])
