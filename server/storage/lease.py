"""A lease: of all nodes that share a store, one at a time holds it.

It is one item in the store. The node that has claimed the item holds the lease, and renews it once
a second. One that is dead, stands still, or does not reach the store renews nothing, so the item is
due within LEASE_MS, and the next node that looks claims it: there is another holder within four
seconds. A node counts by its own clock for how long its lease is valid: for three quarters of what
it asked for, from before it asked. So the lease is never valid at two nodes at the same time,
however slow the store is. Without a store each node holds its own.
"""

import math
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.client import StoreClient
from flatlands.stores.base import Item, Store

#: The name of a lease's queue in the store begins with this.
LEASE_QUEUE: Final = "lease"

#: The only item of that queue.
LEASE_ITEM: Final = "lease"

#: How long a lease is claimed or renewed.
LEASE_MS: Final = 3000

#: Time between two renewals, or attempts to claim it.
LEASE_RENEW_MS: Final = 1000

#: How long it is valid, from when it was asked for.
LEASE_VALID_MS: Final = LEASE_MS * 3 // 4


_Found = TypeVar("_Found")


class LeaseHolder(Protocol[_Found]):
    """A part of a node that holds a lease. `read` and `write` run in the greenlet that asks the
    store, and may wait; the others run in the event loop, and may not."""

    def may_hold(self) -> bool:
        """Return whether this node takes part: otherwise it neither claims nor renews."""

    def read(self, store: Store) -> _Found:
        """Return what the last holder has left in the store: that holder may still be going on."""

    def write(self, store: Store) -> None:
        """Leave in the store what the next holder needs, after each renewal and before the end."""

    def begin(self, found: _Found | None) -> None:
        """Note that this node holds it now, with what was read; None without a store."""

    def lost(self) -> None:
        """Note that another node holds it, or is about to."""


class StatelessHolder:
    """A LeaseHolder that hands nothing on to the next one."""

    def __init__(self, may_hold: Callable[[], bool]) -> None:
        self.may_hold = may_hold

    def read(self, store: Store) -> None:
        """See LeaseHolder."""

    def write(self, store: Store) -> None:
        """See LeaseHolder."""

    def begin(self, found: None) -> None:
        """See LeaseHolder."""

    def lost(self) -> None:
        """See LeaseHolder."""


class Lease(Generic[_Found]):
    """A lease with this name, in the whole store, which this node holds or asks for."""

    def __init__(
        self, name: str, store_client: StoreClient, loop: Loop, holder: LeaseHolder[_Found]
    ) -> None:
        self._queue = f"{LEASE_QUEUE} {name}"
        self._store_client = store_client
        self._loop = loop
        self._holder = holder
        #: Whether this node holds it, by the store's last answer.
        self.held = False
        #: The number of this node's claim: it grows from each holder to the next, as long as the
        #: store forgets nothing.
        self.term = 0
        self._until: float = 0
        self._asking = self._stopped = False

    @property
    def valid(self) -> bool:
        """Whether this node certainly holds it now."""
        return self._loop.now() < self._until

    def start(self) -> None:
        """Begin to claim it, and to renew it."""
        if self._store_client.store is None:
            self.held, self._until = True, math.inf
            self._holder.begin(None)
        else:
            self._loop.every(LEASE_RENEW_MS, self.renew)
            self.renew()

    def stop(self) -> None:
        """Release it for good: another node can have it at once. When that is done, it is not
        `held` any more."""
        self._stopped, self._until = True, 0
        if not self._asking:
            self._release()

    def renew(self) -> None:
        """Renew or claim it now, unless the store is being asked."""
        if self._asking or self._stopped or not self._holder.may_hold():
            return
        self._asking, asked = True, self._loop.now()
        self._store_client.ask(
            self._ask, lambda answer: self._answered(asked, *answer), self._not_answered
        )

    def _ask(self, store: Store) -> tuple[int, tuple[_Found] | None]:
        """Return the number of this node's claim, or 0, and what was read if the claim is new."""
        if self.held and store.renew(self._queue, [(LEASE_ITEM, b"")], LEASE_MS):
            self._holder.write(store)
            return self.term, None
        if not store.count(self._queue):
            store.put(self._queue, [Item(LEASE_ITEM, 0, "", b"")])
        claimed = store.claim(self._queue, 1, LEASE_MS)
        return (claimed[0].tries, (self._holder.read(store),)) if claimed else (0, None)

    def _answered(self, asked: int, term: int, found: tuple[_Found] | None) -> None:
        was_held, self.held = self.held, term > 0
        if self._stopped:
            self._release()
            return
        self._asking = False
        self.term, self._until = term, asked + LEASE_VALID_MS if term else 0
        if found is not None:
            self._holder.begin(found[0])
        elif was_held and not term:
            self._holder.lost()

    def _not_answered(self) -> None:
        self._asking = False
        if self._stopped:
            self._release()

    def _release(self) -> None:
        def operation(store: Store) -> None:
            if self.held:
                self._holder.write(store)
                # The item is only due, and not removed: so the numbers of claims go on.
                store.renew(self._queue, [(LEASE_ITEM, b"")], 1)

        def gone(_none: None = None) -> None:
            self.held = False

        self._store_client.ask(operation, gone, gone)
