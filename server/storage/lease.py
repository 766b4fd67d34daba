"""A lease: of all nodes that share a store, one at a time keeps what the lease is for.

It is one item in the store. The node that has claimed the item keeps the lease, and renews it once
a second. One that is dead, stands still, or does not reach the store renews nothing, so that the
item is due within LEASE, and the next node that looks claims it: there is another holder within
four seconds. A node counts by its own clock for how long its lease is sure: for three quarters of
what it asked for, from before it asked. So no two nodes are sure of it at the same time, however
slow the store is. Without a store every node keeps what it would share.

This module never decides what a holder does, nor what one does that is no longer sure.
"""

import math
from collections.abc import Callable
from typing import Any, Final, Protocol

from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.client import StoreClient
from flatlands.stores.base import Item, Store

#: The name of a lease's queue in the store begins with the first; the second is its only item.
QUEUE, ITEM = "lease", "lease"

#: ms for which a lease is claimed or renewed; ms between two renewals or attempts to claim it; and
#: ms for which it is sure, from when it was asked for.
LEASE: Final = 3000
EVERY: Final = 1000
SURE_FOR: Final = LEASE * 3 // 4


class Duty(Protocol):
    """What a lease is for. The first three are called while the store is asked, and may wait."""

    def may_keep(self) -> bool:
        """Return whether this node takes part: otherwise it neither claims nor renews."""

    def read(self, store: Store) -> Any:
        """Return what the last holder has left in the store: that holder may still be going on."""

    def write(self, store: Store) -> None:
        """Leave in the store what the next holder needs, after each renewal and before the end."""

    def begin(self, found: Any) -> None:
        """Begin to keep it, with what was read; None without a store."""

    def lost(self) -> None:
        """Note that another node keeps it, or is about to."""


class Sole:
    """A Duty that hands nothing on: whoever has its lease asks whether that is sure."""

    def __init__(self, may_keep: Callable[[], bool]) -> None:
        self.may_keep = may_keep

    def read(self, store: Store) -> None:
        """See Duty."""

    def write(self, store: Store) -> None:
        """See Duty."""

    def begin(self, found: Any) -> None:
        """See Duty."""

    def lost(self) -> None:
        """See Duty."""


class Lease:
    """A lease: of all nodes that share a store, one at a time keeps what the lease is for. `name`
    is that of what is kept, in the whole store.
    """

    def __init__(self, name: str, store_client: StoreClient, loop: Loop, duty: Duty) -> None:
        self._queue = f"{QUEUE} {name}"
        self._store_client = store_client
        self._loop = loop
        self._duty = duty
        #: Whether this node keeps it, as the store last said.
        self.kept = False
        #: The number of this node's claim: it grows from each holder to the next, as long as the
        #: store forgets nothing.
        self.term = 0
        self._until: float = 0
        self._asking = self._stopped = False

    @property
    def sure(self) -> bool:
        """Whether nobody else can keep it now."""
        return self._loop.now() < self._until

    def start(self) -> None:
        """Begin to claim it, and to renew it."""
        if self._store_client.store is None:
            self.kept, self._until = True, math.inf
            self._duty.begin(None)
        else:
            self._loop.every(EVERY, self.renew)
            self.renew()

    def stop(self) -> None:
        """Give it back for good: another node can have it at once. When that is done, it is not
        `kept` any more."""
        self._stopped, self._until = True, 0
        if not self._asking:
            self._give_back()

    def renew(self) -> None:
        """Renew or claim it now, unless the store is being asked."""
        if self._asking or self._stopped or not self._duty.may_keep():
            return
        self._asking, asked = True, self._loop.now()
        self._store_client.ask(
            self._ask, lambda answer: self._answered(asked, *answer), self._not_answered
        )

    def _ask(self, store: Store) -> tuple[int, Any]:
        """Return the number of this node's claim, or 0, and what was read if the claim is new."""
        if self.kept and store.renew(self._queue, [(ITEM, b"")], LEASE):
            self._duty.write(store)
            return self.term, None
        if not store.count(self._queue):
            store.put(self._queue, [Item(ITEM, 0, "", b"")])
        claimed = store.claim(self._queue, 1, LEASE)
        return (claimed[0].tries, (self._duty.read(store),)) if claimed else (0, None)

    def _answered(self, asked: int, term: int, found: tuple[Any] | None) -> None:
        was_kept, self.kept = self.kept, term > 0
        if self._stopped:
            self._give_back()
            return
        self._asking = False
        self.term, self._until = term, asked + SURE_FOR if term else 0
        if found is not None:
            self._duty.begin(found[0])
        elif was_kept and not term:
            self._duty.lost()

    def _not_answered(self) -> None:
        self._asking = False
        if self._stopped:
            self._give_back()

    def _give_back(self) -> None:
        def question(store: Store) -> None:
            if self.kept:
                self._duty.write(store)
                # The item is only due, and not removed: so the numbers of claims go on.
                store.renew(self._queue, [(ITEM, b"")], 1)

        def gone(_none: None = None) -> None:
            self.kept = False

        self._store_client.ask(question, gone, gone)
