"""`redis://[[user]:password@]host[:port][/db]`: Redis publish-subscribe; `rediss://` is the same
over TLS; `valkey://` and `valkeys://` are other names of the two.

Certificates are checked as `open_broker` is told. `?ssl_cert_reqs=none` in the URL accepts any, and
`?ssl_ca_certs=PATH` those that the file vouches for. In Redis a channel belongs to no db: whatever
the URL says, brokers of one server hear each other.
"""

from brokers.link import LinkedBroker
from brokers.redis.links import PublishLink, SubscribeLink
from brokers.redis.wire import KIND, PORT
from brokers.stream import CONNECT_WITHIN, endpoints


class RedisBroker(LinkedBroker):
    """Two links to one server: one publishes, the other is subscribed."""

    def __init__(self, url: str, tls: str | None = None) -> None:
        """Return once a server that answers has answered; it need not be there."""
        super().__init__(url)
        [endpoint, *others] = endpoints(url, KIND, PORT, tls)
        if others:
            raise ValueError("redis:// names one host; several of a cluster are rediscluster://")
        subscriber = SubscribeLink(endpoint, self.counters, self._inbox)
        publisher = PublishLink(endpoint, self.counters, self._inbox, subscriber.reset)
        self._start(publisher, subscriber, CONNECT_WITHIN)
