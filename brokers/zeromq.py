"""Brokers joined by a forwarder over ZeroMQ, and that forwarder: `python -m brokers.zeromq`.

    zeromq://HOST                      what is published goes to port 5561, and comes from 5562
    zeromq://HOST:7000                 to port 7000, from 7001
    zeromq://HOST:7000?pub=7005        to port 7000, from 7005
    zeromq+ipc:///path/prefix          to the socket /path/prefix.pull, from /path/prefix.pub

The forwarder's options have the same names: --pull and --pub are its ports, --ipc is its prefix.
There is neither a password nor encryption: whoever reaches these ports is trusted.

ZeroMQ mends connections in silence, so nobody would learn what was lost meanwhile. Here it may
not: a link is one connection to publish and one to hear, and when either ends, or when probes sent
through both come back no more, the link is replaced by another. A new link is proven by an echo on
a channel that was subscribed after all others; only then, and after a Reset, is anything received.
"""

import logging
import random
import secrets
import socket
import time
from urllib.parse import urlsplit

import gevent
import gevent.socket
from gevent.event import Event

from brokers.base import NEVER, Broker, LinkAge, Message, Reset, check_payload
from brokers.guard import keep_running
from brokers.inbox import Inbox
from brokers.zeromq_link import Link
from brokers.zeromq_wire import END, MESSAGE, Addresses, addresses_of, tcp_addresses

log = logging.getLogger("flatlands")

#: Seconds between probes.
PROBE_S = 1.0

#: A link is dead when its newest probe went out this many seconds after the newest that came back:
#: three seconds without an echo. It is counted in probes, so that a stall of this process's own
#: loop, in which none went out, kills no link.
ANSWER_S = 1.5 * PROBE_S

#: Seconds in which a new link must be proven; the first pause between its probes, which doubles.
PROVE_S, PROVE_PAUSE_S = 3.0, 0.01

#: The most seconds that the opening of a broker waits for its first link.
OPEN_S = 1.0

#: Seconds until a failed link is tried anew: the first pause, which doubles, and the longest. Each
#: is shortened by chance by up to a half, so that brokers do not come back in step.
RETRY_S, RETRY_LIMIT_S = 0.05, 1.0


class ZeroMQBroker(Broker):
    """See the module."""

    def __init__(self, url: str) -> None:
        """Return once a forwarder that answers has answered; it need not be there."""
        super().__init__(url)
        self._addresses = addresses_of(url)
        self._inbox = Inbox(self.counters)
        self._topics: dict[bytes, str] = {}
        self._id = secrets.token_bytes(8)
        self._epoch = 0
        self._link: Link | None = None
        self._answered = NEVER
        self._trouble = ""
        self._attempted = Event()
        self._keeper = keep_running(f"the link of {url}", self.counters, self._keep)
        self._attempted.wait(OPEN_S)

    def subscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        new = {_topic(channel): channel for channel in channels}
        added = [topic for topic in new if topic not in self._topics]
        self._topics.update(new)
        if added and self._link is not None:
            self._link.subscribe(added)

    def unsubscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        gone = []
        for topic in map(_topic, channels):
            if topic in self._topics:
                del self._topics[topic]
                gone.append(topic)
        if gone and self._link is not None:
            self._link.unsubscribe(gone)

    def publish(self, channel: str, payload: bytes) -> bool:
        self._inbox.check_open()
        check_payload(payload)
        self.counters.published += 1
        link = self._link
        if link is None or not link.up or not link.send(_topic(channel), payload):
            self.counters.dropped += 1
            return False
        return True

    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        return self._inbox.get(timeout)

    def links(self) -> list[LinkAge]:
        answered = max(self._answered, self._link.answered if self._link else NEVER)
        return [LinkAge(self.url, time.monotonic() - answered)]

    def close(self) -> None:
        self._inbox.close()
        self._keeper.kill(block=False)
        if self._link is not None:
            self._link.close()

    def _keep(self) -> None:
        """See to it that there is a link: the one greenlet of a broker, until it is killed."""
        pause = RETRY_S
        while True:
            if self._live():
                pause = RETRY_S
            gevent.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, RETRY_LIMIT_S)

    def _live(self) -> bool:
        """Open a link and keep it until it fails; return whether it was ever proven."""
        self._epoch += 1
        try:
            addresses = self._resolved()
        except OSError as error:
            self._complain(str(error))
            self._attempted.set()
            return False
        link = self._link = Link(
            addresses,
            (self._id, self._epoch),
            self._topics,
            self._inbox,
            self.counters,
            self._on_proven,
        )
        try:
            proven = self._prove(link)
            self._attempted.set()
            if not proven:
                self._complain("no forwarder answers")
                return False
            self._trouble = ""
            self._watch(link)
            log.warning("%s: the link to the forwarder is lost", self.url)
            return True
        finally:
            self._answered = max(self._answered, link.answered)
            self._link = None
            link.close()

    def _complain(self, trouble: str) -> None:
        """Say what is wrong, but not again at each attempt."""
        if trouble != self._trouble:
            self._trouble = trouble
            log.warning("%s: %s", self.url, trouble)

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

    def _prove(self, link: Link) -> bool:
        """Probe a new link until the first echo; return whether it came."""
        deadline = time.monotonic() + PROVE_S
        pause = PROVE_PAUSE_S
        while not link.up:
            if link.failed or time.monotonic() >= deadline:
                return False
            link.news.clear()
            link.probe()
            if not link.news.wait(pause):
                pause = min(2 * pause, PROBE_S)
        return True

    def _watch(self, link: Link) -> None:
        """Probe a link each second until it fails."""
        while not link.failed:
            link.news.clear()
            if link.news.wait(PROBE_S):
                continue
            if link.probed - link.answered > ANSWER_S:
                return
            link.probe()

    def _on_proven(self) -> None:
        # Also where it is the first, but not at the first attempt: others were heard all the while.
        if self._epoch > 1:
            self.counters.reconnects += 1
            self._inbox.reset(None)
            log.warning("%s: the link to the forwarder is restored", self.url)


def _topic(channel: str) -> bytes:
    """Return how frames of a channel begin."""
    if "\0" in channel:
        raise ValueError(f"a channel's name holds no NUL: {channel!r}")
    return MESSAGE + channel.encode() + END


if __name__ == "__main__":
    import sys

    from brokers.zeromq_forwarder import main

    sys.exit(main())
