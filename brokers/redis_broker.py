"""`redis://[[user]:password@]host[:port][/db]`: Redis publish-subscribe; `rediss://` is the same
over TLS.

Certificates are checked as `open_broker` is told. `?ssl_cert_reqs=none` in the URL takes any, and
`?ssl_ca_certs=PATH` those that the file vouches for. In
Redis a channel belongs to no db: whatever the URL says, brokers of one server hear each other.
"""

import time

import gevent

from brokers.base import VERIFIED, Broker, LinkAge, Message, Reset, check_payload
from brokers.guard import keep_running
from brokers.inbox import Inbox
from brokers.redis_connection import CONNECT_WITHIN, endpoints
from brokers.redis_link import PROBE_EVERY, PublishLink, SubscribeLink, await_links


class RedisBroker(Broker):
    """Two links to one server: one publishes, the other is subscribed."""

    def __init__(self, url: str, tls: str = VERIFIED) -> None:
        """Return once a server that answers has answered; it need not be there."""
        super().__init__(url)
        [endpoint, *others] = endpoints(url, "rediss", tls)
        if others:
            raise ValueError("redis:// names one host; several of a cluster are rediscluster://")
        self._inbox = Inbox(self.counters)
        self._subscriber = SubscribeLink(endpoint, self.counters, self._inbox)
        self._publisher = PublishLink(endpoint, self.counters, self._subscriber.reset)
        self._links = (self._publisher, self._subscriber)
        self._prober = keep_running("the probe of redis", self.counters, self._probe)
        await_links(self._links, CONNECT_WITHIN)

    def subscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        self._subscriber.add(channels)

    def unsubscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        self._subscriber.remove(channels)

    def publish(self, channel: str, payload: bytes) -> bool:
        self._inbox.check_open()
        check_payload(payload)
        self.counters.published += 1
        if self._publisher.put(channel, payload):
            return True
        self.counters.dropped += 1
        return False

    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        return self._inbox.get(timeout)

    def links(self) -> list[LinkAge]:
        proven = min(link.proven for link in self._links)
        return [LinkAge(str(self._publisher.endpoint), time.monotonic() - proven)]

    def close(self) -> None:
        self._inbox.close()
        self._prober.kill(block=False)
        for link in self._links:
            link.close()

    def _probe(self) -> None:
        while True:
            gevent.sleep(PROBE_EVERY)
            for link in self._links:
                link.probe()
