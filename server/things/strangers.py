"""Finds strangers: servers that share this node's store, but not its broker.

Each node puts its id into one item of the store every few seconds, and learns whose id was there.
If that is not its own, another node has put it there since: it lives, and hears itself. If no
heartbeat of it comes, it hears another broker, and each of the two has half of the world. Two URLs
may name one broker, so they are not compared. It reports to Peers, and stops nothing.
"""

from server.agenda import Agenda
from server.loop import Loop
from server.messages.peer_protocol import ALIVE
from server.squares.peers import Peers
from server.things.keeper import Keeper
from stores import Item, Store
from stores.base import NEVER

#: The name of the queue in the store begins with it, and that of the ground follows. It has one
#: item.
QUEUE, ITEM = "alive", "last"

#: ms between two looks; and for how long a stranger counts that was seen once.
EVERY, COUNTS_FOR = 5000, 15_000


class Strangers:
    """See the module. `ground` is the seed and the side, as in the names of channels."""

    def __init__(self, node: int, ground: str, keeper: Keeper, loop: Loop, peers: Peers) -> None:
        self._queue = f"{QUEUE} {ground}"
        self._id = str(node).encode()
        self._keeper = keeper
        self._loop = loop
        self._peers = peers
        #: When this node put its id there last, None if it never did.
        self._put_at: int | None = None
        #: The ids that no heartbeat has told of -> when each was seen first and last.
        self._seen: dict[int, tuple[int, int]] = {}
        self._turns = Agenda(loop, lambda _key, _due: self._turn())

    def start(self) -> None:
        """Begin to look for strangers, if there is a store."""
        if self._keeper.store is not None:
            self._turns.put("turn", self._loop.now())

    def _turn(self) -> None:
        now, peers = self._loop.now(), self._peers
        self._turns.put("turn", now + EVERY)
        # One that does not hear itself is no witness.
        if peers.state == ALIVE and peers.hears:
            self._keeper.ask(self._swap, self._swapped)
        self._seen = {
            id: (first, last) for id, (first, last) in self._seen.items()
            if now - last < COUNTS_FOR and not peers.knows(id)
        }  # fmt: skip
        # The heartbeat of a node that has just started may be still to come.
        peers.tell_apart(any(now - first >= peers.silence for first, _ in self._seen.values()))

    def _swap(self, store: Store) -> bytes | None:
        own = Item(ITEM, NEVER, "", self._id)
        body = store.take(self._queue, ITEM, [(self._queue, own)])
        if body is None:
            store.put(self._queue, [own])
        return body

    def _swapped(self, body: bytes | None) -> None:
        now, before = self._loop.now(), self._put_at
        self._put_at = now
        # What another one has put there since is new, but not if this one has stood still.
        if body not in (None, self._id) and before is not None and now - before < 2 * EVERY:
            first, _ = self._seen.get(int(body), (now, now))
            self._seen[int(body)] = first, now
