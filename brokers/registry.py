"""The brokers, by the schemes of their URLs, and how one is opened.

A new backend is a module and a row of BROKER_BACKENDS; docs/changes.md lists what else it needs.
"""

import re
from functools import partial
from importlib import import_module
from urllib.parse import urlsplit

from flatlands.brokers.base import VERIFIED, Broker, bare
from flatlands.brokers.ring import RingBroker, named
from flatlands.brokers.sealed import SealedBroker

#: URL scheme -> module and class. A module is imported when its scheme is used, so only users of a
#: backend need its packages.
BROKER_BACKENDS = {
    "memory": "flatlands.brokers.memory:MemoryBroker",
    "mqtt": "flatlands.brokers.mqtt:MqttBroker",
    "mqtts": "flatlands.brokers.mqtt:MqttBroker",
    "nats": "flatlands.brokers.nats:NatsBroker",
    "null": "flatlands.brokers.memory:NullBroker",
    "redis": "flatlands.brokers.redis.broker:RedisBroker",
    "rediss": "flatlands.brokers.redis.broker:RedisBroker",
    "rediscluster": "flatlands.brokers.redis.cluster:RedisClusterBroker",
    "redisclusters": "flatlands.brokers.redis.cluster:RedisClusterBroker",
    "tls": "flatlands.brokers.nats:NatsBroker",
    "zeromq": "flatlands.brokers.zeromq.broker:ZeroMQBroker",
    "zeromq+ipc": "flatlands.brokers.zeromq.broker:ZeroMQBroker",
}

#: The schemes whose connections use TLS.
OVER_TLS = ("mqtts", "rediss", "redisclusters", "tls")

#: Alias of a scheme -> its usual name. Nodes whose URLs differ only in this have the same broker.
ALIASES = {"valkey": "redis", "valkeys": "rediss"}

#: The comma between the members of a ring. A comma between hosts belongs to the backend.
_NEXT_MEMBER = re.compile(r",(?=[a-z+]+://)")


def open_broker(url: str, tls: str = VERIFIED, secret: str | None = None) -> Broker:
    """Return the broker at `url`, connected or still connecting.

    Several URLs, separated by commas, make a ring (brokers/ring.py). `tls` says how the
    certificates of servers are checked: VERIFIED, UNVERIFIED, or the path of a file with the
    certificates to trust. With a `secret`, messages are sealed (brokers/sealed.py), unless they
    never leave this process. Raises ValueError, with a sentence for the user, when the URL names no
    broker or the file holds no certificates.
    """
    members = members_of(url)
    if len(members) > 1:
        broker: Broker = RingBroker(",".join(members), members, partial(_open, tls=tls))
    else:
        broker = _open(members[0], tls)
    return SealedBroker(broker, secret) if secret and broker.links() else broker


def members_of(url: str) -> list[str]:
    """Return the URLs of a ring's members, or the one URL, each with its scheme's usual name."""
    return [_usual(member) for member in _NEXT_MEMBER.split(url)]


def _usual(url: str) -> str:
    """Return a URL with the alias of its scheme replaced by the usual name."""
    scheme, separator, rest = url.partition("://")
    return ALIASES.get(scheme, scheme) + separator + rest


def check_broker(url: str, tls: str = VERIFIED) -> None:
    """Raise ValueError, as `open_broker` does, if a URL names no broker and no ring. Nothing is
    opened."""
    members = members_of(url)
    if len(members) > 1:
        named(url, members)
    for member in members:
        backend, options = _backend(member, tls)
        backend.check(member, **options)


def _open(url: str, tls: str) -> Broker:
    backend, options = _backend(url, tls)
    return backend(url, **options)


def _backend(url: str, tls: str) -> tuple[type[Broker], dict[str, str]]:
    """Return the class of the broker at a URL, and what its constructor gets besides the URL."""
    scheme = urlsplit(url).scheme
    if scheme not in BROKER_BACKENDS:
        known = ", ".join(f"{name}://" for name in sorted([*BROKER_BACKENDS, *ALIASES]))
        raise ValueError(
            f"no broker is called {bare(url)!r}: a broker's URL begins with one of {known}"
        )
    module, name = BROKER_BACKENDS[scheme].split(":")
    backend = getattr(import_module(module), name)
    assert issubclass(backend, Broker)
    return backend, {"tls": tls} if scheme in OVER_TLS else {}
