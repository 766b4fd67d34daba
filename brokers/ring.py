"""Several brokers as one: each channel lives on one member, found by consistent hashing.

    redis://a:6379,redis://b:6379      zeromq://a,zeromq://b,zeromq://c      memory://a,memory://b

A member has POINTS points on a circle of 64 bits, at the hashes of its URL, a space and a number. A
channel belongs to the member of the first point after the channel's own hash. A member that is
added to n others therefore takes over about 1/(n + 1) of the channels, and no other channel moves.
A hash is the first eight bytes of BLAKE2b. A URL is hashed as it is written, without user and
password, and the order of the members does not matter: nodes that write the URLs alike agree about
every channel.
"""

import hashlib
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial

from gevent.queue import Empty, Full, Queue

from flatlands.brokers.base import (
    CHANNELS_CACHED,
    Broker,
    BrokerClosed,
    LinkHealth,
    Message,
    Reset,
    SummedCounters,
    bare,
    short_hash,
)
from flatlands.brokers.guard import keep_running

#: Points of one member: enough that each of three members has 31 to 36 % of the channels.
POINTS = 512

#: Messages and Resets that may wait between the members and the receiver. Few, because it is better
#: that they wait at the members, whose queues are bounded too, and which count and report drops.
HANDOFF = 1024


def point(text: str) -> int:
    """Return the place of a text on the circle: its hash as a number of 64 bits."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


class HashRing:
    """Finds the member that a channel belongs to."""

    def __init__(self, members: Iterable[str]) -> None:
        points = sorted((point(f"{name} {n}"), name) for name in members for n in range(POINTS))
        self._points = [at for at, _ in points]
        self._names = [name for _, name in points]

    def member(self, channel: str) -> str:
        """Return the name of the member on which a channel lives."""
        return self._names[bisect(self._points, point(channel)) % len(self._names)]


def named(url: str, members: Sequence[str]) -> dict[str, str]:
    """Return the members of a ring by their names, which are their URLs without passwords. Raises
    ValueError, with a sentence for the user, if they make no ring."""
    found = {bare(member): member for member in members}
    if len(found) < len(members):
        raise ValueError(f"a ring must name each of its members once: {bare(url)}")
    if len({name.partition("://")[0] for name in found}) > 1:
        raise ValueError(f"all members of a ring must be of one kind: {bare(url)}")
    return found


class RingBroker(Broker):
    """A ring of brokers. A member that fails affects its own channels only."""

    def __init__(self, url: str, urls: list[str], open_member: Callable[[str], Broker]) -> None:
        super().__init__(url)
        members = named(url, urls)
        circle = HashRing(members)
        self._names = sorted(members)
        self.identity = short_hash(",".join(self._names))
        self._members: dict[str, Broker] = {}
        self._closed = False
        try:
            for name in self._names:
                self._members[name] = open_member(members[name])
        except BaseException:
            self._close_members()
            raise
        self._find = lru_cache(CHANNELS_CACHED)(
            lambda channel: self._members[circle.member(channel)]
        )
        self._held: dict[Broker, set[str]] = {member: set() for member in self._members.values()}
        own = self.counters
        self.counters = SummedCounters([own, *(member.counters for member in self._held)])
        self._handoff: Queue[Message | Reset | None] = Queue(HANDOFF)
        self._pumps = [
            keep_running(f"the ring's pump of {name}", own.count_error, partial(self._pump, member))
            for name, member in self._members.items()
        ]

    def subscribe(self, *channels: str) -> None:
        self._check_open()
        for member, some in self._by_member(channels).items():
            self._held[member].update(some)
            member.subscribe(*some)

    def unsubscribe(self, *channels: str) -> None:
        self._check_open()
        for member, some in self._by_member(channels).items():
            self._held[member].difference_update(some)
            member.unsubscribe(*some)

    def renew(self, channel: str) -> None:
        self._check_open()
        self._find(channel).renew(channel)

    def _by_member(self, channels: Iterable[str]) -> dict[Broker, list[str]]:
        parts: dict[Broker, list[str]] = {}
        for channel in channels:
            parts.setdefault(self._find(channel), []).append(channel)
        return parts

    def publish(self, channel: str, payload: bytes) -> bool:
        return self._find(channel).publish(channel, payload)

    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        self._check_open()
        try:
            item = self._handoff.get(timeout=timeout)
        except Empty:
            item = None
        self._check_open()
        return item

    def _pump(self, member: Broker) -> None:
        """Hand what one member receives to the greenlet that receives from all."""
        while not self._closed:
            try:
                item = member.receive()
            except BrokerClosed:
                return
            if isinstance(item, Reset) and item.channels is None:
                item = Reset(set(self._held[member]))
            if item is not None:
                self._handoff.put(item)

    def links(self) -> list[LinkHealth]:
        return [link for member in self._held for link in member.links()]

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            for pump in self._pumps:
                pump.kill(block=False)
            self._close_members()
            try:
                self._handoff.put_nowait(None)
            except Full:
                # A full queue means that no receiver is waiting for something to come.
                pass

    def _close_members(self) -> None:
        for member in self._members.values():
            member.close()

    def _check_open(self) -> None:
        if self._closed:
            raise BrokerClosed("the ring was closed")
