"""The broker of zeromq://, and its link.

ZeroMQ mends connections in silence, so nobody would learn what was lost meanwhile. Here it may
not: a link is one connection to publish and one to hear, and when either ends, or when probes sent
through both come back no more, both are replaced. They are proven by an echo on a channel that was
subscribed after all others; only then, and after a Reset, is anything received.
"""

import secrets
import socket
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

import gevent.socket

from brokers.base import Counters
from brokers.inbox import Inbox
from brokers.link import PROBE_EVERY, Link, LinkedBroker
from brokers.zeromq.pair import Pair
from brokers.zeromq.wire import END, MESSAGE, Addresses, addresses_of, tcp_addresses

#: Seconds in which a new link must be proven; the first pause between its probes, which doubles.
PROVE_S, PROVE_PAUSE_S = 3.0, 0.01

#: The most seconds that the opening of a broker waits for its first link.
OPEN_S = 1.0


class ZeroMQLink(Link):
    """A link to a forwarder, for both publishing and hearing."""

    #: Three seconds without an echo: more than the forwarder's LATE_S, so that what was sent on a
    #: dead link does not come after its end.
    probes_limit = 2

    def __init__(self, url: str, counters: Counters, inbox: Inbox) -> None:
        self._addresses = addresses_of(url)
        super().__init__(url, counters, inbox)
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
        gone = [
            topic for topic in map(_topic, channels) if self._topics.pop(topic, None) is not None
        ]
        if gone and self._pair is not None:
            self._pair.unsubscribe(gone)

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
        """A probe has come back, which was sent at this time: later ones may be lost."""
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
        # What ZeroMQ holds back is not known here: the forwarder passes nothing on that is late.
        if self._pair is not None:
            self._pair.in_use = False

    def _resolved(self) -> Addresses:
        """Return the addresses with a number for the host's name.

        ZeroMQ would look it up in the thread that serves all links, and a name server that does
        not answer would stop them all.
        """
        host = urlsplit(self._addresses.pull).hostname
        if host is None:
            return self._addresses
        found = gevent.socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        hosts = sorted({(family, str(where[0])) for family, _, _, _, where in found})
        # The older kind of address first, then each in its turn.
        number = hosts[(self._epoch - 1) % len(hosts)][1]
        pull, pub = (int(address.rpartition(":")[2]) for address in self._addresses)
        return tcp_addresses(number, pull, pub)


class ZeroMQBroker(LinkedBroker):
    """See the module."""

    def __init__(self, url: str) -> None:
        """Return once a forwarder that answers has answered; it need not be there."""
        super().__init__(url)
        link = ZeroMQLink(url, self.counters, self._inbox)
        self._start(link, link, OPEN_S)


def _topic(channel: str) -> bytes:
    """Return how frames of a channel begin."""
    if "\0" in channel:
        raise ValueError(f"a channel's name holds no NUL: {channel!r}")
    return MESSAGE + channel.encode() + END
