"""World time: the clock of the store, which is the same at all nodes.

Node time is that of a node's machine, and what one node writes as node time another one may read
seconds off. World time can be compared anywhere.
"""

from typing import Final

from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.client import StoreClient
from flatlands.stores.base import Store

#: How often a node asks the store for its time.
ASKED_EVERY_MS: Final = 10_000

#: By how many ms in a second of node time the difference is corrected at most.
SLEW_MS: Final = 1


class WorldClock:
    """The clock of a node that tells world time. `ahead` is by how many ms it is ahead of node
    time: 0 without a store, and until the store has answered for the first time."""

    def __init__(self, store_client: StoreClient, loop: Loop) -> None:
        self._store_client = store_client
        self._loop = loop
        #: The store's last answer: node time and this give its time; None before it has answered.
        self._target: int | None = None
        self._ahead, self._since = 0.0, 0

    def start(self) -> None:
        """Begin to ask the store."""
        if self._store_client.store is not None:
            self._loop.every(ASKED_EVERY_MS, self._ask, 0)

    def now(self) -> int:
        """Return world time in ms. Once the store has answered it never goes back, and gains or
        loses at most SLEW_MS in a second."""
        return self._loop.now() + self.ahead

    @property
    def ahead(self) -> int:
        """By how many ms world time is ahead of node time now."""
        now = self._loop.now()
        if self._target is not None:
            most = (now - self._since) * SLEW_MS / 1000
            self._ahead += min(max(self._target - self._ahead, -most), most)
        self._since = now
        return round(self._ahead)

    def _ask(self) -> None:
        asked = self._loop.now()
        self._store_client.ask(Store.clock, lambda clock: self._answered(asked, clock))

    def _answered(self, asked: int, clock: int) -> None:
        # The store looked at its clock halfway through the call.
        target = clock - (asked + self._loop.now()) // 2
        if self._target is None:
            self._ahead = target
        self._target = target
