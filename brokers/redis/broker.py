"""`redis://[[user]:password@]host[:port][/db]`: Redis publish-subscribe; `rediss://` is the same
over TLS; `valkey://` and `valkeys://` are aliases of the two.

Certificates are checked as `open_broker` describes, unless the URL says otherwise:
`?ssl_cert_reqs=none` accepts any certificate, and `?ssl_ca_certs=PATH` trusts those in the file. In
Redis, channels do not belong to a db: brokers of one server receive each other's messages whatever
`/db` their URLs name.
"""

from flatlands.brokers.link import LinkedBroker
from flatlands.brokers.redis.links import PublishLink, SubscribeLink
from flatlands.brokers.redis.wire import KIND, PORT
from flatlands.brokers.stream import CONNECT_WITHIN, endpoints


class RedisBroker(LinkedBroker):
    """A broker with two links to one server: one publishes, the other is subscribed."""

    def __init__(self, url: str, tls: str | None = None) -> None:
        """Open the links; wait until the server has answered, for CONNECT_WITHIN at most."""
        super().__init__(url)
        [endpoint, *others] = endpoints(url, KIND, PORT, tls)
        if others:
            raise ValueError("redis:// names one host; for a cluster write rediscluster://")
        subscriber = SubscribeLink(endpoint, self.counters, self._inbox)
        publisher = PublishLink(endpoint, self.counters, self._inbox, subscriber.reset)
        self._start(publisher, subscriber, CONNECT_WITHIN)
