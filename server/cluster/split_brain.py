"""Detects a split brain: servers that share this node's store, but not its broker.

One item of the store has the ids of the nodes that wrote it last. Every few seconds each node puts
its own id before the others. Those that it finds before its own were put there since: these nodes
live, and receive what they publish. If no heartbeat of one of them comes, it uses another broker,
and each of the two has half of the world. Two URLs may name one broker, so they are not compared.
This module reports to Peers, and stops nothing.
"""

import msgpack

from flatlands.server.messages.peer_protocol import ALIVE
from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.peers import Peers, silence_limit
from flatlands.server.storage.client import StoreClient
from flatlands.stores.base import NEVER_DUE_MS, Item, Store

#: The name of the queue in the store begins with this, and those of the game and of the ground
#: follow: nodes of other games do not count.
ALIVE_QUEUE = "alive"

#: The only item of the queue, which is a group.
LAST_ITEM = "last"

#: The most ids of nodes in the item.
IDS_MOST = 32

#: Time between two looks.
ALIVE_EVERY_MS = 5000

#: How long a node that was seen once counts.
COUNTS_FOR_MS = 15_000


class SplitBrainDetector:
    """Looks for living nodes whose heartbeats do not come. `game` is the name of the game in the
    store, and `ground_id` as in the names of channels."""

    def __init__(
        self,
        node: int,
        game: str,
        ground_id: str,
        store_client: StoreClient,
        loop: Loop,
        peers: Peers,
    ) -> None:
        self._queue = f"{ALIVE_QUEUE} {game} {ground_id}"
        self._id = node
        self._store_client = store_client
        self._loop = loop
        self._peers = peers
        #: When this node last put its id there, None if it never did.
        self._put_at: int | None = None
        #: The ids of which no heartbeat has come -> when each was first and last seen.
        self._seen: dict[int, tuple[int, int]] = {}
        loop.every(ALIVE_EVERY_MS, self._turn, 0)

    def _turn(self) -> None:
        now, peers = self._loop.now(), self._peers
        # A node that does not receive its own messages is no witness.
        if peers.state == ALIVE and peers.echoes_return:
            self._store_client.ask(self._write, self._wrote)
        self._seen = {
            id: (first, last)
            for id, (first, last) in self._seen.items()
            if now - last < COUNTS_FOR_MS and not peers.knows(id)
        }
        # The heartbeat of a node that has just started may be still to come.
        peers.note_split_brain(
            any(now - first >= silence_limit(peers.every) for first, _ in self._seen.values())
        )

    def _write(self, store: Store) -> list[int]:
        """Put this node's id there; return those that were before it."""
        ids: list[int] = []

        def add(item: Item | None) -> Item:
            nonlocal ids
            ids = [] if item is None else msgpack.unpackb(item.body)
            others = [id for id in ids if id != self._id]
            return Item(
                LAST_ITEM, NEVER_DUE_MS, LAST_ITEM, msgpack.packb([self._id, *others][:IDS_MOST])
            )

        store.change(self._queue, LAST_ITEM, add)
        return ids[: ids.index(self._id)] if self._id in ids else ids

    def _wrote(self, ids: list[int]) -> None:
        now, before = self._loop.now(), self._put_at
        self._put_at = now
        # What was put there since this node did is new, if that is not long ago.
        if before is not None and now - before < 2 * ALIVE_EVERY_MS:
            for id in ids:
                first, _ = self._seen.get(id, (now, now))
                self._seen[id] = first, now
