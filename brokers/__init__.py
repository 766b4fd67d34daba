"""The link between nodes: channels and bytes, behind one small contract (brokers/base.py).

A broker knows nothing of squares or players, and a backend is one file and one line in BACKENDS.
"""

import re
from importlib import import_module
from urllib.parse import urlsplit

from brokers.base import Broker, BrokerClosed, Message, Reset, bare
from brokers.ring import Ring

__all__ = ["BACKENDS", "Broker", "BrokerClosed", "Message", "Reset", "open_broker"]

#: URL scheme -> where the class is. Imported on use, so a backend's packages are only needed by
#: those who name it.
BACKENDS = {
    "memory": "brokers.memory:MemoryBroker",
    "null": "brokers.null:NullBroker",
    "redis": "brokers.redis_broker:RedisBroker",
    "rediss": "brokers.redis_broker:RedisBroker",
    "rediscluster": "brokers.redis_cluster:RedisClusterBroker",
    "redisclusters": "brokers.redis_cluster:RedisClusterBroker",
    "zeromq": "brokers.zeromq:ZeroMQBroker",
    "zeromq+ipc": "brokers.zeromq:ZeroMQBroker",
}

#: The comma between the members of a ring. One between hosts is the backend's own.
_NEXT_MEMBER = re.compile(r",(?=[a-z+]+://)")


def open_broker(url: str) -> Broker:
    """Return the broker at `url`, connected or connecting; for several URLs, a ring of them.

    Raises ValueError, with a sentence for the user, when the URL names none.
    """
    members = _NEXT_MEMBER.split(url)
    if len(members) > 1:
        return Ring(url, members, open_broker)
    scheme = urlsplit(url).scheme
    if scheme not in BACKENDS:
        known = ", ".join(f"{name}://" for name in sorted(BACKENDS))
        raise ValueError(
            f"no broker is called {bare(url)!r}: a broker's URL begins with one of {known}"
        )
    module, name = BACKENDS[scheme].split(":")
    broker = getattr(import_module(module), name)(url)
    assert isinstance(broker, Broker)
    return broker
