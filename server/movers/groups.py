"""The leases of the groups of movers: each group has one node at a time, which moves its movers.

The items of all groups are one queue of the store, and a node renews all that it holds by one call
a second. The body of an item says where the group's movers are: so nobody but the holder can write
that, and whoever claims a group gets it. Of n living nodes whose store answers each holds as many
groups, rounded up; one that holds more, since another node has come, gives up one a second.

Where there are many nodes, it takes up to minutes until a dead one is known. So a node also claims
what nobody else does, and holds that for as long.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import ceil
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from flatlands.server.messages.peer_protocol import HEARTBEAT_INTERVAL_MOST_MS, MOVER_GROUPS
from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.client import StoreClient
from flatlands.server.storage.lease import LEASE_MS, LEASE_RENEW_MS, LEASE_VALID_MS
from flatlands.stores.base import Item, Store

_Found = TypeVar("_Found")

#: If there have been as many nodes for this long, groups that are due are those of a dead one.
CALM_MS: Final = 20_000

#: By then a dead node is known, and nobody holds more than its share.
EXCESS_MS: Final = 3 * HEARTBEAT_INTERVAL_MOST_MS


class GroupClaim(NamedTuple):
    """A group that this node has claimed. `term` grows from each holder to the next, and `body` is
    what the last one has left."""

    group: int
    term: int
    body: bytes


class GroupHolder(Protocol[_Found]):
    """A part of a node that holds groups. `read` runs in the greenlet that asks the store, and may
    wait; the others run in the event loop, and may not."""

    def may_hold(self) -> bool:
        """Return whether this node may share: otherwise it neither claims nor renews."""

    def tell(self, shares: bool) -> None:
        """Tell the other nodes whether this node shares, as `living` counts those that do."""

    def bodies(self, groups: Collection[int], *, all: bool) -> Mapping[int, bytes | None]:
        """Return what the next holder of each of these groups needs, or None for those of which
        what the store has must stay: because it has not changed, or can wait unless `all` are asked
        for, or because this node has just claimed it."""

    def not_written(self) -> None:
        """Note that the store may not have got the last bodies."""

    def read(self, store: Store, claims: Sequence[GroupClaim]) -> _Found:
        """Return what there is of these groups in the store."""

    def begin(self, claims: Sequence[GroupClaim], found: _Found) -> None:
        """Note that this node holds these groups now, with what was read."""

    def lost(self, groups: Collection[int]) -> None:
        """Note that other nodes hold these groups, or are about to."""


class MoverGroups(Generic[_Found]):
    """The groups that this node holds, or asks for. `name` is that of their queue, and `living`
    returns how many nodes share them, this one included."""

    def __init__(
        self,
        name: str,
        store_client: StoreClient,
        loop: Loop,
        living: Callable[[], int],
        holder: GroupHolder[_Found],
    ) -> None:
        self._queue = name
        self._store_client = store_client
        self._loop = loop
        self._living = living
        self._holder = holder
        #: The groups that this node holds by the store's last answer -> their terms.
        self.terms: dict[int, int] = {}
        self._until = 0
        self._asking = self._stopped = False
        #: How many nodes share, and since when; and until when this node may hold each group that
        #: it has claimed beyond its share.
        self._sharing = self._since = 0
        self._excess: list[int] = []
        self._looks_further = False

    def valid(self, group: int) -> bool:
        """Return whether this node certainly holds a group now."""
        return group in self.terms and self._loop.now() < self._until

    def start(self) -> None:
        """Begin to claim groups, and to renew them."""
        self._loop.every(LEASE_RENEW_MS, self.renew)
        self.renew()

    def stop(self) -> None:
        """Release all groups for good: other nodes can have them at once."""
        self._stopped, self._until = True, 0
        if not self._asking:
            self._release()

    def renew(self) -> None:
        """Renew what this node holds, and claim or give up groups, unless the store is being
        asked."""
        may_hold = not self._stopped and self._holder.may_hold()
        self._holder.tell(may_hold and self._loop.now() < self._until)
        if self._asking or not may_hold:
            return
        asked, share = self._loop.now(), self._share()
        held, last = sorted(self.terms), dict[int, bytes | None]()
        if len(held) > share:
            given_up = held.pop()
            last.update(self._holder.bodies([given_up], all=True))
            del self.terms[given_up]
            self._holder.lost([given_up])
        bodies = self._holder.bodies(held, all=False)
        self._asking = True
        # Every other second: by then nodes with fewer groups have claimed what was given up.
        self._looks_further = not self._looks_further and asked >= self._since + CALM_MS
        looks_further = self._looks_further

        def operation(store: Store) -> tuple[set[int], list[GroupClaim], _Found | None]:
            kept = set[int]()
            if held:
                kept = set(map(int, store.renew(self._queue, _items(bodies), LEASE_MS)))
            elif not last:
                all = [Item(str(group), 0, "", b"") for group in range(MOVER_GROUPS)]
                store.put(self._queue, all)
            if last:
                store.renew(self._queue, _items(last), 1)
            claims = []
            most = MOVER_GROUPS if looks_further else share - len(kept)
            if most > 0 and not last:
                claimed = store.claim(self._queue, most, LEASE_MS)
                claims = [GroupClaim(int(one.id), one.tries, one.body) for one in claimed]
            return kept, claims, self._holder.read(store, claims) if claims else None

        self._store_client.ask(
            operation, lambda answer: self._answered(asked, *answer), self._not_answered
        )

    def _share(self) -> int:
        """Return how many groups this node may hold."""
        now, sharing = self._loop.now(), self._living()
        if sharing != self._sharing:
            self._sharing, self._since = sharing, now
            self._excess.clear()
        self._excess = [until for until in self._excess if until > now]
        return ceil(MOVER_GROUPS / sharing) + len(self._excess)

    def _answered(
        self, asked: int, kept: set[int], claims: list[GroupClaim], found: _Found | None
    ) -> None:
        self._asking = False
        lost = self.terms.keys() - kept
        # A group that was lost and claimed again in one turn may have been elsewhere in between.
        self.terms = {group: self.terms[group] for group in kept}
        self.terms |= {claim.group: claim.term for claim in claims}
        if claims and found is not None:
            self._holder.begin(claims, found)
        if self._stopped:
            self._release()
            return
        self._until = asked + LEASE_VALID_MS
        beyond = len(self.terms) - self._share()
        self._excess += [asked + EXCESS_MS] * min(beyond, len(claims))
        if lost := lost - self.terms.keys():
            self._holder.lost(lost)

    def _not_answered(self) -> None:
        self._asking = False
        self._holder.not_written()
        if self._stopped:
            self._release()

    def _release(self) -> None:
        bodies = self._holder.bodies(self.terms, all=True)

        def operation(store: Store) -> None:
            if bodies:
                # The items are only due, and not removed: so the numbers of claims go on.
                store.renew(self._queue, _items(bodies), 1)

        def gone(_none: None = None) -> None:
            self.terms = {}

        self._store_client.ask(operation, gone, gone)


def _items(bodies: Mapping[int, bytes | None]) -> list[tuple[str, bytes | None]]:
    return [(str(group), body) for group, body in bodies.items()]
