"""The limits: how many connections an address may have, and how often anybody may do anything.

This module counts, and says yes or no. It never touches a socket, never refuses a client itself,
and never waits.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Final, NamedTuple

#: The default number of connections that one address may have at a time. A classroom of sixty that
#: loads the page at once has 360, six each. All IPv6 addresses of a /64 count as one.
PER_ADDRESS: Final = 512

#: The largest share of all possible connections, and of all possible players, that one address
#: gets.
ADDRESS_SHARE: Final = 0.5

#: All addresses of an IPv6 /48, which one site or tunnel has to itself, may do and have so many
#: times as much as one address, which is a /64 of it.
SITE: Final = 16

#: The number of players that one address may always have, for a classroom behind one address.
LEAST_SEATS = 60


class Rate(NamedTuple):
    """How often something may be done: `burst` times at once, `rate` times a second."""

    name: str
    rate: float
    burst: float


#: What one address may do if it may have PER_ADDRESS connections; otherwise in proportion.
REQUESTS: Final = Rate("requests", 100, 6000)
HANDSHAKES: Final = Rate("handshakes", 10, 240)
JOINS: Final = Rate("joins", 2, 240)

#: The most ms for which a player waits for its turn, if its address is over this rate. So one who
#: joins and drops, again and again, does not keep the others of its address out.
TURN_WITHIN: Final = 5000

#: How many cairns the players of one address may leave, in proportion too: with other keys they
#: would be other players.
BUILDS: Final = Rate("builds", 1 / 120, 20)

#: How many landmarks they may find, for the same reason.
FINDS: Final = Rate("finds", 1 / 10, 60)

#: The least burst of an address, however few connections it may have.
LEAST_BURST: Final = 10

#: How many clients of one address may look at the map of everybody without playing.
SPECTATORS: Final = 50

#: How often one player may come back with its token.
RETURNS: Final = Rate("returns", 0.5, 5)

#: How many chat messages, and how many emotes, the players of one node may send in one square; and
#: those of one address. A classroom of sixty in one square may all speak twice at once.
SAYINGS: Final = Rate("sayings", 50, 250)
SAYINGS_EACH: Final = Rate("sayings", 10, 120)
EMOTES: Final = Rate("emotes", 50, 250)
EMOTES_EACH: Final = Rate("emotes", 10, 120)

#: An address as some proxies write it, with a port: 192.0.2.1:4711 or [2001:db8::1]:4711.
_WITH_PORT: Final = re.compile(r"\[([^\]]*)\](?::\d+)?|([^:]*):\d+")


class Proxies:
    """The proxies whose X-Forwarded-For is believed.

    `text` is a list of addresses and networks with commas between. `*` stands for all peers that
    connect, but not for further proxies behind them. Raises ValueError for anything else.
    """

    def __init__(self, text: str = "") -> None:
        names = [name.strip() for name in text.split(",") if name.strip()]
        self._any = "*" in names
        self._networks = [ip_network(name, strict=False) for name in names if name != "*"]

    def trusts(self, address: str) -> bool:
        """Say whether the address of a peer is that of a trusted proxy."""
        return self._any or self._listed(_read(address))

    def client(self, peer: str, forwarded: str) -> str:
        """Return the address of the client that made a request.

        `peer` is the address that connected, `forwarded` the request's X-Forwarded-For or "". Each
        proxy adds its peer's address at the right end, and a client may have invented what is
        further left. So the rightmost entry that is no trusted proxy counts.
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

    def scheme(self, peer: str, forwarded: str) -> str:
        """Return the scheme by which a client came to the outermost proxy, "https" or "http", or ""
        if no trusted proxy says it.

        `peer` is the address that connected, `forwarded` the request's X-Forwarded-Proto or "".
        """
        scheme = forwarded.split(",")[0].strip().lower()
        return scheme if scheme in ("https", "http") and self.trusts(peer) else ""

    def _listed(self, address: IPv4Address | IPv6Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _read(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address in a text, without its port and zone, or None if there is none."""
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
    # A listener for IPv4 and IPv6 shows IPv4 clients as ::ffff:192.0.2.1.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def node_ms() -> int:
    """Return a monotonic time in ms, for callers without a node's time."""
    return int(time.monotonic() * 1000)


class Bucket:
    """A token bucket: it holds `burst` tokens when it is full, and gets `rate` tokens a second.

    `now` is a time in ms at which it is full.
    """

    __slots__ = ("full_at", "_each", "_depth")

    def __init__(self, rate: float, burst: float, now: int) -> None:
        #: ms until there is one token more, and until an empty bucket is full; the latter with 1 ms
        #: added, since sums of floats are rounded.
        self._each = 1000 / rate
        self._depth = burst * self._each + 1
        #: The time in ms at which it is full again.
        self.full_at = float(now)

    def spend(self, now: int, count: float = 1, late: int = 0) -> bool:
        """Spend `count` tokens at a time in ms; return False, and spend none, if there are fewer.

        `late` is the ms for which this process has just stood still. The tokens that would have
        been spent meanwhile may be spent now.
        """
        depth = self._depth + late
        if self.full_at > now + depth:
            # What was spent beyond the depth because of `late` does not count afterwards.
            self.full_at = float(now)
        full_at = max(self.full_at, now) + count * self._each
        if full_at - now > depth:
            return False
        self.full_at = full_at
        return True

    def wait(self, now: int) -> int:
        """Return in how many ms the bucket will have had all tokens that were spent, those with
        `late` too."""
        return max(math.ceil(self.full_at - now - self._depth), 0)

    def give_back(self) -> None:
        """Put a token back, since nothing was done with it."""
        self.full_at -= self._each

    def full(self, now: int) -> bool:
        """Say whether the bucket is full."""
        return self.full_at <= now


class Rates:
    """The buckets of one player: `buckets` by kind of message; `patience` for messages over their
    rate."""

    __slots__ = ("buckets", "patience")

    def __init__(self, patience: Bucket) -> None:
        self.buckets: dict[int, Bucket] = {}
        self.patience = patience

    def full(self, now: int) -> bool:
        """Say whether all buckets are full, and so no different from new ones."""
        return self.patience.full(now) and all(b.full(now) for b in self.buckets.values())


def _with_site(key: Hashable) -> list[tuple[Hashable, int]]:
    """Return a key, and that of its /48 if it is one of a /64, with how many times the limits of an
    address each has."""
    if isinstance(key, tuple):
        return [(key, 1), (("/48", key[1] >> 16), SITE)]
    return [(key, 1)]


def _ended() -> bool:
    return False


class Guest:
    """One connection, as the limits know it, from its accept to its end.

    `key` is what its address counts as, or None if it is not limited or not known yet. `close` ends
    the connection at once, if its descriptor is needed, and returns True; it returns False if the
    connection has become a player's.
    """

    __slots__ = ("key", "close", "_limits")

    def __init__(self, limits: "Limits", key: Hashable | None, close: Callable[[], bool]) -> None:
        self.key = key
        self.close = close
        self._limits = limits

    def settle(self, address: str) -> bool:
        """Count it for the address that a proxy has given; return False if that has too many."""
        if self.key is None:
            key = self._limits.key(address)
            if not self._limits.admit(key):
                return False
            self.key = key
        return True

    def stay(self) -> None:
        """Note that it is a player's now, so that its descriptor is no longer taken away."""
        self._limits.strangers.pop(self, None)

    def count(self, what: str) -> None:
        """Count something that it did, in the counter with this name."""
        self._limits.stats[what] += 1

    def leave(self) -> None:
        """Note that it has ended."""
        self._limits.left(self)


class Limits:
    """What one process allows, and its counts.

    `per_address` is the number of connections that one address may have; its other rates are in
    proportion to it, and 0 limits no address. `most` is the number of connections that there may be
    in all, or None. `any_rate` lets each player send as many messages as it likes. `now` returns a
    time in ms.
    """

    def __init__(
        self,
        stats: Counter[str],
        *,
        per_address: int = PER_ADDRESS,
        most: int | None = None,
        any_rate: bool = False,
        proxies: Proxies | None = None,
        now: Callable[[], int] = node_ms,
    ) -> None:
        self.stats = stats
        self.proxies = proxies or Proxies()
        self.any_rate = any_rate
        self.connections = 0
        #: Connections that have not sent hello yet, the oldest first.
        self.strangers: dict[Guest, None] = {}
        self._factor = per_address / PER_ADDRESS
        self._most = most
        share = math.inf if most is None else max(int(most * ADDRESS_SHARE), 1)
        self._per_address = min(per_address, share)
        self._per_site = min(per_address * SITE, share)
        self._now = now
        self._by_address: Counter[Hashable] = Counter()
        self._seats: Counter[Hashable] = Counter()
        self._spectators: Counter[Hashable] = Counter()
        self._buckets: dict[tuple[str, Hashable], Bucket] = {}
        self._players: dict[int, Rates] = {}
        #: id() of a table -> the number of entries at which full buckets are removed from it.
        self._sweep_at = {id(self._buckets): 1024, id(self._players): 1024}

    # Addresses.

    def key(self, address: str) -> Hashable | None:
        """Return what an address counts as, or None if it is not limited.

        This machine itself is not limited, unless a trusted proxy runs on it.
        """
        found = _read(address)
        if found is None or not self._factor:
            return None
        if found.is_loopback and not self.proxies.trusts(address):
            return None
        return str(found) if isinstance(found, IPv4Address) else ("/64", int(found) >> 64)

    def enter(self, peer: str, close: Callable[[], bool], times: int = 1) -> Guest | None:
        """Admit a connection from an address; return None if that has too many already.

        It may have `times` the limit, since other processes pass connections to this one. If there
        are too many connections in all, the oldest one that has not sent hello is closed.
        """
        # The client behind a proxy is known only from its request: see Guest.settle.
        key = None if self.proxies.trusts(peer) else self.key(peer)
        if not self.admit(key, times):
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

    def admit(self, key: Hashable | None, times: int = 1) -> bool:
        """Count one more connection for a key; return False if it may have no more than `times`
        the limit."""
        if key is None:
            return True
        counted = {
            each: self._per_site if n == SITE else self._per_address for each, n in _with_site(key)
        }
        if any(self._by_address[each] >= most * times for each, most in counted.items()):
            self.stats["limited_connections"] += 1
            return False
        self._by_address.update(counted.keys())
        return True

    def left(self, guest: Guest) -> None:
        """Note that a connection has ended."""
        self.connections -= 1
        self.strangers.pop(guest, None)
        if guest.key is not None:
            self._less(guest.key)
            guest.key = None
        # Otherwise the connection and all that was made for it would refer to itself.
        guest.close = _ended

    def _less(self, key: Hashable) -> None:
        for each, _ in _with_site(key):
            self._by_address[each] -= 1
            if not self._by_address[each]:
                del self._by_address[each]

    def has_seat(self, address: str, capacity: int) -> bool:
        """Say whether one more player may come from an address; `capacity` is that of the node."""
        key = self.key(address)
        if key is None or self._seats[key] < max(int(capacity * ADDRESS_SHARE), LEAST_SEATS):
            return True
        self.stats["limited_seats"] += 1
        return False

    def take_seat(self, address: str) -> Hashable | None:
        """Count one more player of an address; return its key, for `leave_seat`."""
        key = self.key(address)
        if key is not None:
            self._seats[key] += 1
        return key

    def leave_seat(self, key: Hashable | None) -> None:
        """Count one player less for a key."""
        if key is not None:
            self._seats[key] -= 1
            if not self._seats[key]:
                del self._seats[key]

    def begin_to_watch(self, address: str) -> bool:
        """Count one more spectator of an address; return False if there may be no more."""
        key = self.key(address)
        if key is None:
            return True
        if self._spectators[key] >= SPECTATORS:
            self.stats["limited_spectators"] += 1
            return False
        self._spectators[key] += 1
        return True

    def end_to_watch(self, address: str) -> None:
        """Count one spectator less."""
        key = self.key(address)
        if key is not None:
            self._spectators[key] -= 1
            if not self._spectators[key]:
                del self._spectators[key]

    def make_room(self) -> bool:
        """Close the oldest connection that has not sent hello; return False if there is none."""
        while self.strangers:
            guest = next(iter(self.strangers))
            del self.strangers[guest]
            if guest.close():
                self.stats["evicted"] += 1
                return True
        return False

    def allow_address(self, rate: Rate, address: str, where: Hashable = None) -> bool:
        """Say whether an address may do something once more, and count that it does. For each
        place `where` it does it there is another count."""
        return all(self.allow(each, (key, where)) for key, each in self._of_address(rate, address))

    def wait(self, rate: Rate, address: str) -> int | None:
        """Count that an address does something once more, and return in how many ms it may: at
        most TURN_WITHIN, or None if it may not."""
        wait = 0
        for key, each in self._of_address(rate, address):
            if not self.allow(each, (key, None), late=TURN_WITHIN):
                return None
            wait = max(wait, self._buckets[rate.name, (key, None)].wait(self._now()))
        return wait

    def give_back(self, rate: Rate, address: str) -> None:
        """Count that an address has not done something after all."""
        for key, _ in self._of_address(rate, address):
            bucket = self._buckets.get((rate.name, (key, None)))
            if bucket is not None:
                bucket.give_back()

    def _of_address(self, rate: Rate, address: str) -> Iterator[tuple[Hashable, Rate]]:
        """Yield all that an address counts as, with the rate of each, in proportion to the
        connections that it may have."""
        key = self.key(address)
        for each, n in () if key is None else _with_site(key):
            burst = max(rate.burst * self._factor, LEAST_BURST) * n
            yield each, Rate(rate.name, rate.rate * self._factor * n, burst)

    def allow(self, rate: Rate, key: Hashable, late: int = 0) -> bool:
        """Say whether a key may do something once more, and count that it does. `late` is as in
        `Bucket.spend`."""
        now = self._now()
        bucket = self._buckets.get((rate.name, key))
        if bucket is None:
            self._sweep(self._buckets, now)
            bucket = Bucket(rate.rate, rate.burst, now)
            self._buckets[rate.name, key] = bucket
        if bucket.spend(now, late=late):
            return True
        self.stats[f"limited_{rate.name}"] += 1
        return False

    # Players.

    def take_rates(self, id: int) -> Rates | None:
        """Remove and return the buckets of a player that comes back, or None if there are none."""
        return self._players.pop(id, None)

    def keep_rates(self, id: int, rates: Rates) -> None:
        """Keep the buckets of a player whose session has ended, in case it comes back."""
        self._sweep(self._players, self._now())
        self._players[id] = rates

    def _sweep(self, entries: dict[Any, Any], now: int) -> None:
        """Remove full buckets, once there are twice as many entries as were left last time."""
        if len(entries) >= self._sweep_at[id(entries)]:
            for key in [key for key, entry in entries.items() if entry.full(now)]:
                del entries[key]
            self._sweep_at[id(entries)] = max(2 * len(entries), 1024)
