"""Who somebody is to the limits of this server, and how often anybody may do anything.

It keeps the counts and says yes or no. It never touches a socket, never refuses anybody itself, and
never waits.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Hashable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple

#: Connections that one address may have at a time, unless told. A classroom of sixty that loads the
#: page at once, six connections each, has 360. An IPv6 address counts with the rest of its /64.
PER_ADDRESS = 512

#: Of all the connections, and of all the players, that there can be, one address gets at most this
#: share.
ADDRESS_SHARE = 0.5

#: A classroom may play behind one address, however few players there may be.
LEAST_SEATS = 60


class Rate(NamedTuple):
    """How often something may be done: `burst` times at once, `rate` times a second."""

    name: str
    rate: float
    burst: float


#: What one address may do, where it may have PER_ADDRESS connections; in proportion elsewhere.
REQUESTS = Rate("requests", 100, 6000)
HANDSHAKES = Rate("handshakes", 10, 240)
JOINS = Rate("joins", 2, 240)

#: However few connections an address may have, it may do anything so many times at once.
LEAST_BURST = 10

#: How often one player may come back by its token.
RETURNS = Rate("returns", 0.5, 5)

#: How much may be said in one square by the players of one node.
SAYINGS = Rate("sayings", 50, 250)

#: An address as some proxies write it, with a port: 192.0.2.1:4711 or [2001:db8::1]:4711.
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d+)?|([^:]*):\d+")


class Proxies:
    """The proxies whose X-Forwarded-For is believed.

    `text` is a comma-separated list of addresses and networks; `*` stands for whoever connects, and
    trusts that one hop only. Raises ValueError for anything else.
    """

    def __init__(self, text: str = "") -> None:
        names = [name.strip() for name in text.split(",") if name.strip()]
        self._any = "*" in names
        self._networks = [ip_network(name, strict=False) for name in names if name != "*"]

    def trusts(self, address: str) -> bool:
        """Say whether an address that has connected is that of a trusted proxy."""
        return self._any or self._listed(_read(address))

    def client(self, peer: str, forwarded: str) -> str:
        """Return the address of who is behind a request.

        `peer` is the address that connected, `forwarded` the request's X-Forwarded-For or "". A
        proxy adds the address that it has seen at the right end, and what stands further left may
        be invented: the entry that counts is the rightmost one that is no proxy of ours.
        """
        address = _read(peer)
        if not forwarded or not self.trusts(peer):
            return str(address or peer)
        for entry in reversed(forwarded.split(",")):
            found = _read(entry)
            if found is None:
                break
            address = found
            if not self._listed(found):
                break
        return str(address or peer)

    def _listed(self, address: IPv4Address | IPv6Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _read(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address, without its port and zone, or None where it is none."""
    text = text.strip()
    try:
        address = ip_address(text.split("%")[0])
    except ValueError:
        found = _WITH_PORT.fullmatch(text)
        if found is None:
            return None
        try:
            address = ip_address(found[1] or found[2])
        except ValueError:
            return None
    # A listener for both versions shows the clients of the older one as ::ffff:192.0.2.1.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def node_ms() -> int:
    """Return a monotonic time in ms, for whoever has no node's time."""
    return int(time.monotonic() * 1000)


class Bucket:
    """A token bucket: `burst` at once, `rate` a second."""

    __slots__ = ("_full_at", "_each", "_depth")

    def __init__(self, rate: float, burst: float, now: int) -> None:
        #: ms until one more is there, and until all are; one more, for sums are rounded.
        self._each = 1000 / rate
        self._depth = burst * self._each + 1
        #: Time in ms at which all are there again.
        self._full_at: float = now

    def take(self, now: int, count: float = 1, late: int = 0) -> bool:
        """Take some at a time in ms; False, and none taken, when there are not so many.

        `late` is for how many ms nothing was taken because we stood still: what would have been
        taken meanwhile may be taken now.
        """
        depth = self._depth + late
        if self._full_at > now + depth:
            # More was taken when we were late, which nobody has to pay for now that we are not.
            self._full_at = now
        full_at = max(self._full_at, now) + count * self._each
        if full_at - now > depth:
            return False
        self._full_at = full_at
        return True

    def full(self, now: int) -> bool:
        """Say whether all are there."""
        return self._full_at <= now


class Rates:
    """The buckets of one player: `buckets` by the kind of message, `patience` for what is over."""

    __slots__ = ("buckets", "patience")

    def __init__(self, patience: Bucket) -> None:
        self.buckets: dict[int, Bucket] = {}
        self.patience = patience

    def full(self, now: int) -> bool:
        """Say whether new ones would be the same."""
        return self.patience.full(now) and all(b.full(now) for b in self.buckets.values())


class Guest:
    """One connection, from its accept to its end, as the limits see it.

    `close` ends it at once, where its descriptor is needed for somebody else, and returns True;
    False where it has become a player's.
    """

    __slots__ = ("key", "close", "_limits")

    def __init__(self, limits: "Limits", key: Hashable | None, close: Callable[[], bool]) -> None:
        self.key = key
        self.close = close
        self._limits = limits

    def settle(self, address: str) -> bool:
        """Count it for an address that a proxy has told; False where that has too many."""
        if self.key is None:
            key = self._limits.key(address)
            if not self._limits.admit(key):
                return False
            self.key = key
        return True

    def stay(self) -> None:
        """It is a player's now: its descriptor is not taken away any more."""
        self._limits.strangers.pop(self, None)

    def count(self, what: str) -> None:
        """Count something that it did."""
        self._limits.stats[what] += 1

    def leave(self) -> None:
        """It has ended."""
        self._limits.left(self)


class Limits:
    """What one process allows, and the counts for it.

    `per_address` is how many connections one address may have, and what its other rates are in
    proportion to; 0 limits no address. `most` is how many connections there may be at all, or None.
    `now` tells a time in ms.
    """

    def __init__(
        self,
        stats: Counter[str],
        *,
        per_address: int = PER_ADDRESS,
        most: int | None = None,
        proxies: Proxies | None = None,
        now: Callable[[], int] = node_ms,
    ) -> None:
        self.stats = stats
        self.proxies = proxies or Proxies()
        self.connections = 0
        #: Connections that have not said hello yet, the eldest first.
        self.strangers: dict[Guest, None] = {}
        self._factor = per_address / PER_ADDRESS
        self._per_address = per_address
        self._most = most
        if most is not None:
            self._per_address = min(per_address, max(int(most * ADDRESS_SHARE), 1))
        self._now = now
        self._by_address: Counter[Hashable] = Counter()
        self._seats: Counter[Hashable] = Counter()
        self._buckets: dict[tuple[str, Hashable], Bucket] = {}
        self._players: dict[int, Rates] = {}
        #: So many entries make a look at which of them are needed worth its time.
        self._sweep_at = {id(self._buckets): 1024, id(self._players): 1024}

    # Addresses.

    def key(self, address: str) -> Hashable | None:
        """Return what an address counts as, or None where it is not limited.

        This machine itself is not limited, unless a trusted proxy runs on it.
        """
        found = _read(address)
        if found is None or not self._factor:
            return None
        if found.is_loopback and not self.proxies.trusts(address):
            return None
        return str(found) if isinstance(found, IPv4Address) else ("/64", int(found) >> 64)

    def enter(self, peer: str, close: Callable[[], bool]) -> Guest | None:
        """Take in a connection from an address; None where that has too many already.

        Where there are too many at all, the eldest that has not said hello is closed.
        """
        # Who is behind a proxy is known only when the request is: see Guest.settle.
        key = None if self.proxies.trusts(peer) else self.key(peer)
        if not self.admit(key):
            return None
        if self._most is not None and self.connections >= self._most and not self.make_room():
            self.stats["limited_descriptors"] += 1
            if key is not None:
                self._less(key)
            return None
        guest = Guest(self, key, close)
        self.connections += 1
        self.strangers[guest] = None
        return guest

    def admit(self, key: Hashable | None) -> bool:
        """Count one more connection of an address, if it may have one."""
        if key is None:
            return True
        if self._by_address[key] >= self._per_address:
            self.stats["limited_connections"] += 1
            return False
        self._by_address[key] += 1
        return True

    def left(self, guest: Guest) -> None:
        """A connection has ended."""
        self.connections -= 1
        self.strangers.pop(guest, None)
        if guest.key is not None:
            self._less(guest.key)
            guest.key = None

    def _less(self, key: Hashable) -> None:
        self._by_address[key] -= 1
        if not self._by_address[key]:
            del self._by_address[key]

    def has_seat(self, address: str, capacity: int) -> bool:
        """Say whether one more player may come from an address, of so many that there can be."""
        key = self.key(address)
        if key is None or self._seats[key] < max(int(capacity * ADDRESS_SHARE), LEAST_SEATS):
            return True
        self.stats["limited_seats"] += 1
        return False

    def take_seat(self, address: str) -> Hashable | None:
        """Count one more player of an address; return what it counts as, for `leave_seat`."""
        key = self.key(address)
        if key is not None:
            self._seats[key] += 1
        return key

    def leave_seat(self, key: Hashable | None) -> None:
        """Count one player less of an address."""
        if key is not None:
            self._seats[key] -= 1
            if not self._seats[key]:
                del self._seats[key]

    def make_room(self) -> bool:
        """Close the eldest connection that has not said hello; False where there is none."""
        while self.strangers:
            guest = next(iter(self.strangers))
            del self.strangers[guest]
            if guest.close():
                self.stats["evicted"] += 1
                return True
        return False

    def allow_address(self, rate: Rate, address: str) -> bool:
        """Say whether an address may do something once more, and count it."""
        key = self.key(address)
        if key is None:
            return True
        name, each, burst = rate
        burst = max(burst * self._factor, LEAST_BURST)
        return self.allow(Rate(name, each * self._factor, burst), key)

    def allow(self, rate: Rate, key: Hashable) -> bool:
        """Say whether `key` may do something once more, and count it."""
        now = self._now()
        bucket = self._buckets.get((rate.name, key))
        if bucket is None:
            self._sweep(self._buckets, now)
            bucket = Bucket(rate.rate, rate.burst, now)
            self._buckets[rate.name, key] = bucket
        if bucket.take(now):
            return True
        self.stats[f"limited_{rate.name}"] += 1
        return False

    # Players.

    def take_rates(self, id: int) -> Rates | None:
        """Return the buckets of a player who comes back, if there are any worth keeping."""
        return self._players.pop(id, None)

    def keep_rates(self, id: int, rates: Rates) -> None:
        """Keep the buckets of a player whose session ends, in case it comes back."""
        self._sweep(self._players, self._now())
        self._players[id] = rates

    def _sweep(self, entries: dict[Any, Any], now: int) -> None:
        """Forget full buckets, once there are twice as many entries as were left last time."""
        if len(entries) >= self._sweep_at[id(entries)]:
            for key in [key for key, entry in entries.items() if entry.full(now)]:
                del entries[key]
            self._sweep_at[id(entries)] = max(2 * len(entries), 1024)

