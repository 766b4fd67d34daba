"""The broker of zeromq://, and its link.

By itself ZeroMQ restores connections in silence, so nobody would know that messages were lost. Here
it never does. A link is a pair of connections, one that publishes and one that is subscribed. When
either ends, or when probes that are sent through both no longer come back, both are replaced. A new
pair is proven by a probe on a topic that was subscribed after all those that were wanted when the
pair was opened. Only then, and after a Reset, are messages received. The proof says nothing about a
channel that is subscribed later, even if that is before the Reset: it is received soon.
"""

import secrets
import socket
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

import gevent.socket

from flatlands.brokers.base import Counters
from flatlands.brokers.inbox import Inbox
from flatlands.brokers.link import PROBE_EVERY, Link, LinkedBroker
from flatlands.brokers.zeromq.pair import Pair
from flatlands.brokers.zeromq.wire import (
    END,
    MESSAGE_PREFIX,
    Addresses,
    addresses_of,
    tcp_addresses,
)

#: A new pair must be proven within so long.
PROVE_S = 3.0
#: The first pause between the probes of a new pair. Each further pause is twice as long.
PROVE_PAUSE_S = 0.01

#: The most seconds that opening a broker waits for its first link.
OPEN_S = 1.0


class ZeroMQLink(Link):
    """A link to a forwarder, which publishes and is subscribed."""

    #: A link ends after three seconds without an echo. That is more than the forwarder's LATE_S, so
    #: messages that were sent on a dead link never arrive after its end.
    probes_limit = 2

    def __init__(self, url: str, counters: Counters, inbox: Inbox) -> None:
        self._addresses = addresses_of(url)
        super().__init__(url, counters, inbox)
        #: Topic -> channel: the desired subscriptions.
        self._topics: dict[bytes, str] = {}
        self._id = secrets.token_bytes(8)
        self._epoch = 0
        self._pair: Pair | None = None

    def add(self, channels: Iterable[str]) -> None:
        new = {_topic(channel): channel for channel in channels}
        added = [topic for topic in new if topic not in self._topics]
        self._topics.update(new)
        if added and self._pair is not None:
            self._pair.subscribe(added)

    def remove(self, channels: Iterable[str]) -> None:
        removed = [t for t in map(_topic, channels) if self._topics.pop(t, None) is not None]
        if removed and self._pair is not None:
            self._pair.unsubscribe(removed)

    def put(self, channel: str, payload: bytes) -> bool:
        topic, pair = _topic(channel), self._pair
        return pair is not None and pair.in_use and pair.send(topic, payload)

    def _open(self) -> None:
        self._epoch += 1
        pair = self._pair = Pair(
            self._resolved(),
            (self._id, self._epoch),
            self._topics,
            self._inbox,
            self._counters,
            self._echoed,
            self.fail,
        )
        until, pause = time.monotonic() + PROVE_S, PROVE_PAUSE_S
        while not pair.is_proven:
            if pair.has_failed or time.monotonic() >= until:
                raise ConnectionError("no forwarder answers")
            pair.news.clear()
            pair.probe()
            if not pair.news.wait(pause):
                pause = min(2 * pause, PROBE_EVERY)

    def _echoed(self, sent: float) -> None:
        """Note that the probe that was sent at this monotonic time has come back."""
        self.proven = max(self.proven, sent)
        self._unanswered = [probe for probe in self._unanswered if probe > sent]

    def _disconnect(self) -> None:
        if self._pair is not None:
            self._pair.close()
            self._pair = None

    def _probe(self) -> None:
        if self._pair is not None:
            self._pair.probe()

    def _begin(self, again: bool) -> None:
        super()._begin(again)
        if self._pair is not None:
            self._pair.in_use = True

    def _lost(self) -> None:
        # Nobody knows what ZeroMQ has not yet sent, so no drop is counted. The forwarder discards
        # what arrives too late.
        if self._pair is not None:
            self._pair.in_use = False

    def _resolved(self) -> Addresses:
        """Return the addresses with an IP address instead of the host's name.

        ZeroMQ would look the name up in the thread that serves all links, so a name server that
        does not answer would stop all of them.
        """
        host = urlsplit(self._addresses.pull).hostname
        if host is None:
            return self._addresses
        found = gevent.socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        hosts = sorted({(family, str(where[0])) for family, _, _, _, where in found})
        # IPv4 comes first; each new pair uses the next address.
        number = hosts[(self._epoch - 1) % len(hosts)][1]
        pull, pub = (int(address.rpartition(":")[2]) for address in self._addresses)
        return tcp_addresses(number, pull, pub)


class ZeroMQBroker(LinkedBroker):
    """A broker whose messages pass through a ZeroMQ forwarder."""

    @classmethod
    def check(cls, url: str, tls: str | None = None) -> None:
        addresses_of(url)

    def __init__(self, url: str) -> None:
        """Open the link; wait until the forwarder has answered, for OPEN_S at most."""
        super().__init__(url)
        link = ZeroMQLink(url, self.counters, self._inbox)
        self._start(link, OPEN_S)


def _topic(channel: str) -> bytes:
    """Return the bytes with which all frames of a channel begin."""
    if "\0" in channel:
        raise ValueError(f"a channel's name must not contain NUL: {channel!r}")
    return MESSAGE_PREFIX + channel.encode() + END
