"""The limits: how many connections an address may have, and how often anybody may do anything.

This module counts, and says yes or no. It never touches a socket, never refuses a client itself,
and never waits.
"""

import math
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

#: The default number of connections that one address may have at a time. A classroom of sixty that
#: loads the page at once has 360, six each. All IPv6 addresses of a /64 count as one.
PER_ADDRESS: Final = 512

#: The largest share of all possible connections, and of all possible players, that one address
#: gets.
ADDRESS_SHARE: Final = 0.5

#: All addresses of an IPv6 /48, which one site or tunnel has to itself, may together do and have
#: this many times as much as one address, which is a /64 of it.
SITE: Final = 16

#: The number of players that one address may always have, for a classroom behind one address.
LEAST_SEATS = 60


class Rate:
    """A limit of how often something may be done: `burst` times at once, `rate` times a second."""

    __slots__ = ("name", "rate", "burst", "each", "depth")

    def __init__(self, name: str, rate: float, burst: float) -> None:
        self.name = name
        self.rate = rate
        self.burst = burst
        #: ms until it may be done once more, and until it may be done `burst` times again; the
        #: latter with 1 ms added, since sums of floats are rounded.
        self.each = 1000 / rate
        self.depth = burst * self.each + 1


#: The rates of an address that may have PER_ADDRESS connections; those of others are in proportion.
REQUESTS: Final = Rate("requests", 100, 6000)
HANDSHAKES: Final = Rate("handshakes", 10, 240)
JOINS: Final = Rate("joins", 2, 240)

#: The most ms for which a player waits for its turn, if its address is over this rate. So a client
#: that joins and drops, again and again, does not keep out the others of its address.
TURN_WITHIN: Final = 5000

#: The most addresses of which is remembered what they are, and what they count as.
KEYS_MOST: Final = 4096

#: The least burst of an address, however few connections it may have.
LEAST_BURST: Final = 10

#: The counts of an address: connections, seats of players, and places of spectators, who look at
#: the map of everybody without playing.
CONNECTIONS: Final = "connections"
SEATS: Final = "seats"
SPECTATORS: Final = "spectators"

#: How many places of spectators one address may hold.
SPECTATORS_EACH: Final = 50

#: How many people that this node has not met lately may come from one address, each by a new key,
#: so that nobody is many people. A classroom of sixty may come at once.
PEOPLE: Final = Rate("keys", 1 / 10, 60)

#: How many people a node remembers to have met: those that come back are not new.
MET_MOST: Final = 16_384

#: How often one player may come back with its token.
RETURNS: Final = Rate("returns", 0.5, 5)

#: How many chat messages the players of one node may send in one square, and how many of them those
#: of one address. A classroom of sixty in one square may all speak twice at once.
CHAT_MESSAGES: Final = Rate("sayings", 50, 250)
CHAT_MESSAGES_EACH: Final = Rate("sayings", 10, 120)

#: The same for events of games.
GAME_EVENTS: Final = Rate("happenings", 50, 250)
GAME_EVENTS_EACH: Final = Rate("happenings", 10, 120)

#: On how many tiles the players of one address may write, if what they write is kept.
WRITES_EACH: Final = Rate("writes", 100, 5000)

#: An address as some proxies write it, with a port: 192.0.2.1:4711 or [2001:db8::1]:4711.
_WITH_PORT: Final = re.compile(r"\[([^\]]*)\](?::\d+)?|([^:]*):\d+")

#: A path as a URL has it, without anything by which it would lead to another host.
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9._~%-]+)+")


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
        """Return whether the address of a peer is that of a trusted proxy."""
        return self._any or self._listed(_read(address))

    def client(self, peer: str, forwarded: str) -> str:
        """Return the address of the client that made a request.

        `peer` is the address that connected, `forwarded` the request's X-Forwarded-For or "". Each
        proxy adds its peer's address at the right end, and a client may have invented anything
        further left. So the rightmost entry that is not a trusted proxy counts. But no entry makes
        a client this machine, which has no limits: only the peer can be that.
        """
        address = _read(peer)
        if not forwarded or not self.trusts(peer):
            return str(address or peer)
        for entry in reversed(forwarded.split(",")):
            found = _read(entry)
            if found is None:
                break
            if not found.is_loopback:
                address = found
            if not self._listed(found):
                break
        return str(address or peer)

    def scheme(self, peer: str, forwarded: str) -> str:
        """Return the scheme by which a client came to the outermost proxy, "https" or "http"; "" if
        no trusted proxy says so.

        `peer` is the address that connected, `forwarded` the request's X-Forwarded-Proto or "".
        """
        scheme = forwarded.split(",")[0].strip().lower()
        return scheme if scheme in ("https", "http") and self.trusts(peer) else ""

    def prefix(self, peer: str, forwarded: str) -> str:
        """Return the path under which the outermost proxy serves this site, such as "/games/flat";
        "" if no trusted proxy says so.

        `peer` is the address that connected, `forwarded` the request's X-Forwarded-Prefix or "".
        """
        prefix = forwarded.split(",")[0].strip().rstrip("/")
        return prefix if _PREFIX.fullmatch(prefix) and self.trusts(peer) else ""

    def _listed(self, address: IPv4Address | IPv6Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


@lru_cache(KEYS_MOST)
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


def monotonic_ms() -> int:
    """Return a monotonic time in ms, for callers without a node's time."""
    return int(time.monotonic() * 1000)


class Rates:
    """The token buckets of one player or address: each thing that may be done has one, which is
    full until the thing is done. Times are in ms.

    `full_at` has the time at which each bucket that was used is full again, by the thing's key.
    """

    __slots__ = ("full_at",)

    def __init__(self) -> None:
        self.full_at: dict[Hashable, float] = {}

    def spend(self, key: Hashable, rate: Rate, now: int, count: float = 1, late: float = 0) -> bool:
        """Do a thing `count` times at the time `now`; return False, and do nothing, if that is over
        its rate.

        `late` is the ms for which this process has just stood still. What would have been done
        meanwhile may be done now.
        """
        depth = rate.depth + late
        full_at = self.full_at.get(key, 0.0)
        # What was done beyond the depth because of `late` does not count afterwards.
        if full_at < now or full_at > now + depth:
            full_at = float(now)
        full_at += count * rate.each
        if full_at - now > depth:
            return False
        self.full_at[key] = full_at
        return True

    def wait(self, key: Hashable, rate: Rate, now: int) -> int:
        """Return in how many ms all that was done will be within the rate, even what was `late`."""
        return max(math.ceil(self.full_at.get(key, 0) - now - rate.depth), 0)

    def refund(self, key: Hashable, rate: Rate) -> None:
        """Note that a thing was not done after all."""
        if key in self.full_at:
            self.full_at[key] -= rate.each

    def full(self, now: int) -> bool:
        """Return whether all buckets are full, so that these rates are no different from new
        ones."""
        return all(full_at <= now for full_at in self.full_at.values())

    def sweep(self, now: int) -> None:
        """Forget the buckets that are full."""
        for key in [key for key, full_at in self.full_at.items() if full_at <= now]:
            del self.full_at[key]


def _with_site(key: Hashable) -> list[tuple[Hashable, int]]:
    """Return a key, followed by that of its /48 if it is a /64, each with the number of times that
    it may do and have as much as one address."""
    if isinstance(key, tuple):
        return [(key, 1), (("/48", key[1] >> 16), SITE)]
    return [(key, 1)]


def _ended() -> bool:
    return False


class LimitedConnection:
    """A connection that the limits count, from its accept to its end.

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
        """Note that it belongs to a player now, so that its descriptor is no longer taken away."""
        self._limits.strangers.pop(self, None)

    def count(self, what: str) -> None:
        """Count something that it did, in the counter `what`."""
        self._limits.stats[what] += 1

    def leave(self) -> None:
        """Note that it has ended."""
        self._limits.connection_left(self)


class Limits:
    """The limits of one process: counts connections and requests by address, and says which are too
    many.

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
        now: Callable[[], int] = monotonic_ms,
    ) -> None:
        self.stats = stats
        self.proxies = proxies or Proxies()
        self.any_rate = any_rate
        self.connections = 0
        #: Connections that have not sent hello yet, the oldest first.
        self.strangers: dict[LimitedConnection, None] = {}
        self._factor = per_address / PER_ADDRESS
        self._most = most
        share = math.inf if most is None else max(int(most * ADDRESS_SHARE), 1)
        self._per_address = min(per_address, share)
        self._per_site = min(per_address * SITE, share)
        self._now = now
        #: (what, key of an address) -> how many it has.
        self._held: Counter[tuple[str, Hashable]] = Counter()
        self._rates = Rates()
        #: The keys of the addresses that were asked for lately.
        self._keys: dict[str, Hashable | None] = {}
        self._players: dict[int, Rates] = {}
        #: The owners of those that this node has met, the latest last.
        self._met: OrderedDict[str, None] = OrderedDict()
        #: The numbers of rates and of players at which those that are full are removed.
        self._rates_most = self._players_most = 1024

    # Addresses.

    def key(self, address: str) -> Hashable | None:
        """Return what an address counts as, or None if it is not limited.

        This machine itself is not limited, unless a trusted proxy runs on it.
        """
        if address not in self._keys:
            if len(self._keys) >= KEYS_MOST:
                self._keys.clear()
            self._keys[address] = self._key(address)
        return self._keys[address]

    def _key(self, address: str) -> Hashable | None:
        found = _read(address)
        if found is None or not self._factor:
            return None
        if found.is_loopback and not self.proxies.trusts(address):
            return None
        return str(found) if isinstance(found, IPv4Address) else ("/64", int(found) >> 64)

    def enter(
        self, address: str, close: Callable[[], bool], times: int | None = None
    ) -> LimitedConnection | None:
        """Admit a connection from an address; return None if the address has too many already.

        If there are too many connections in all, the oldest one that has not sent hello is closed.
        With `times`, another process has admitted the connection. Then `address` is that of the
        client, and this process admits `times` times as many of its connections as it would alone.
        """
        # The client behind a proxy is known only from its request: see LimitedConnection.settle.
        behind = times is None and self.proxies.trusts(address)
        key = None if behind else self.key(address)
        if not self.admit(key, times or 1):
            return None
        if self._most is not None and self.connections >= self._most and not self.make_room():
            self.stats["limited_descriptors"] += 1
            self._leave(key)
            return None
        limited = LimitedConnection(self, key, close)
        self.connections += 1
        self.strangers[limited] = None
        return limited

    def admit(self, key: Hashable | None, times: int = 1) -> bool:
        """Count one more connection for a key; return False if it may have no more than `times` the
        limit."""
        if key is None:
            return True
        counted = {
            each: self._per_site if n == SITE else self._per_address for each, n in _with_site(key)
        }
        if any(self._held[CONNECTIONS, each] >= n * times for each, n in counted.items()):
            self.stats["limited_connections"] += 1
            return False
        self._held.update((CONNECTIONS, each) for each in counted)
        return True

    def connection_left(self, limited: LimitedConnection) -> None:
        """Note that a connection has ended."""
        self.connections -= 1
        self.strangers.pop(limited, None)
        self._leave(limited.key)
        limited.key = None
        # Otherwise the connection and all that was made for it would refer to itself.
        limited.close = _ended

    def _leave(self, key: Hashable | None) -> None:
        """Count one connection less for a key."""
        for each, _ in () if key is None else _with_site(key):
            self._less(CONNECTIONS, each)

    def _less(self, what: str, key: Hashable) -> None:
        self._held[what, key] -= 1
        if not self._held[what, key]:
            del self._held[what, key]

    def has_seat(self, address: str, capacity: int) -> bool:
        """Return whether an address may have one more player; `capacity` is that of the node."""
        return self._has_room(SEATS, address, max(int(capacity * ADDRESS_SHARE), LEAST_SEATS))

    def _has_room(self, what: str, address: str, most: float) -> bool:
        key = self.key(address)
        if key is None or self._held[what, key] < most:
            return True
        self.stats[f"limited_{what}"] += 1
        return False

    def take(self, what: str, address: str, most: float = math.inf) -> bool:
        """Count one more of something that an address has; return False if it may not have it."""
        if not self._has_room(what, address, most):
            return False
        if (key := self.key(address)) is not None:
            self._held[what, key] += 1
        return True

    def let_go(self, what: str, address: str) -> None:
        """Count one less of something that an address has."""
        if (key := self.key(address)) is not None:
            self._less(what, key)

    def make_room(self) -> bool:
        """Close the oldest connection that has not sent hello; return False if there is none."""
        while self.strangers:
            limited = next(iter(self.strangers))
            del self.strangers[limited]
            if limited.close():
                self.stats["evicted"] += 1
                return True
        return False

    def allow_there(self, rate: Rate, each: Rate, address: str, square: Hashable) -> bool:
        """Note a message to everybody in a square; return whether that is within the rate of the
        square, and within that of the address there."""
        return self.allow_address(each, address, square) and self.allow(rate, square)

    def allow_address(
        self, rate: Rate, address: str, where: Hashable = None, count: int = 1
    ) -> bool:
        """Return whether an address may do something `count` times more, and count that it does.
        Each place `where` it does so has a count of its own."""
        some = self._of_address(rate, address)
        return all(self.allow(each, (key, where), count=count) for key, each in some)

    def wait(self, rate: Rate, address: str) -> int | None:
        """Count that an address does something once more; return in how many ms it may, which is at
        most TURN_WITHIN, or None if it may not."""
        wait = 0
        for key, each in self._of_address(rate, address):
            if not self.allow(each, (key, None), late=TURN_WITHIN):
                return None
            wait = max(wait, self._rates.wait((rate.name, (key, None)), each, self._now()))
        return wait

    def refund(self, rate: Rate, address: str) -> None:
        """Note that an address has not done something after all."""
        for key, each in self._of_address(rate, address):
            self._rates.refund((rate.name, (key, None)), each)

    def _of_address(self, rate: Rate, address: str) -> Iterator[tuple[Hashable, Rate]]:
        """Yield all that an address counts as, with the rate of each, in proportion to the
        connections that it may have."""
        key = self.key(address)
        for each, n in () if key is None else _with_site(key):
            burst = max(rate.burst * self._factor, LEAST_BURST) * n
            yield each, Rate(rate.name, rate.rate * self._factor * n, burst)

    def allow(self, rate: Rate, key: Hashable, late: int = 0, count: int = 1) -> bool:
        """Return whether a key may do something `count` times more, and count that it does. `late`
        is as in `Rates.spend`."""
        now = self._now()
        if len(self._rates.full_at) >= self._rates_most:
            self._rates.sweep(now)
            self._rates_most = max(2 * len(self._rates.full_at), 1024)
        if self._rates.spend((rate.name, key), rate, now, count, late):
            return True
        self.stats[f"limited_{rate.name}"] += 1
        return False

    # Players.

    def meet(self, owner: str, address: str) -> bool:
        """Note that a person, named by the hash of its key, plays from an address; return False if
        it is new to this node, and too many new people have come from there."""
        if owner not in self._met and not self.allow_address(PEOPLE, address):
            return False
        self._met[owner] = None
        self._met.move_to_end(owner)
        if len(self._met) > MET_MOST:
            self._met.popitem(last=False)
        return True

    def take_rates(self, id: int) -> Rates | None:
        """Remove and return the rates of a player that comes back, or None if there are none."""
        return self._players.pop(id, None)

    def keep_rates(self, id: int, rates: Rates) -> None:
        """Keep the rates of a player whose session has ended, in case it comes back."""
        self._players[id] = rates
        if len(self._players) >= self._players_most:
            now = self._now()
            self._players = {id: kept for id, kept in self._players.items() if not kept.full(now)}
            self._players_most = max(2 * len(self._players), 1024)
