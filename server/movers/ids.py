"""The numbers of new movers, which no other mover of the world has ever had.

A number says the group of its mover: number modulo 32. For each group that it needs, a node takes
blocks of BLOCK numbers from a counter in the store. Movers in no store have numbers from
FIRST_UNSTORED_ID on: each node counts up from a random one.
"""

import random
from collections import deque
from collections.abc import Callable
from typing import Final

from flatlands.server.messages.peer_protocol import MOVER_GROUPS
from flatlands.server.messages.protocol import FIRST_PERSON_ID, FIRST_UNSTORED_ID, Refused
from flatlands.server.storage.client import StoreClient
from flatlands.stores.base import NEVER_DUE_MS, Item, Store

#: How many numbers of a group a node takes at a time.
BLOCK: Final = 100


class MoverIds:
    """Gives numbers to movers. `name` is that of the counters' queue."""

    def __init__(self, name: str, store_client: StoreClient) -> None:
        self._queue = name
        self._store_client = store_client
        #: Group -> its numbers that this node has taken and not given away.
        self._free: dict[int, deque[int]] = {group: deque() for group in range(MOVER_GROUPS)}
        self._unstored = random.randrange(FIRST_UNSTORED_ID, FIRST_PERSON_ID)

    def unstored(self, taken: Callable[[int], bool]) -> int:
        """Return a number for a mover that no store has, and that is not taken as far as this node
        knows."""
        while True:
            self._unstored += 1
            if self._unstored >= FIRST_PERSON_ID:
                self._unstored = FIRST_UNSTORED_ID
            if not taken(self._unstored):
                return self._unstored

    def take(self, group: int) -> int:
        """Return a number of a group. It may wait for the store. Raises StoreUnavailable, and
        Refused if there is none left."""
        free = self._free[group]
        while not free:
            # Others may take a block meanwhile, which does no harm.
            first = self._store_client.wait(lambda store: self._block(store, group))
            free += range(first, first + BLOCK * MOVER_GROUPS, MOVER_GROUPS)
        return free.popleft()

    def _block(self, store: Store, group: int) -> int:
        """Return the first number of a block that nobody else has."""
        first = 0

        def make(item: Item | None) -> Item:
            nonlocal first
            first = MOVER_GROUPS + group if item is None else int(item.body)
            after = first + BLOCK * MOVER_GROUPS
            if after >= FIRST_UNSTORED_ID:
                raise Refused("movers", "this world has no numbers for new movers any more", None)
            return Item(str(group), NEVER_DUE_MS, "", str(after).encode())

        store.change(self._queue, str(group), make)
        return first
