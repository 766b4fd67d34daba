"""The stores, by the schemes of their URLs, and how one is opened.

A new backend is a module and a row of STORE_BACKENDS; docs/changes.md lists what else it needs.
"""

from importlib import import_module
from urllib.parse import urlsplit

from flatlands.brokers.base import VERIFIED, bare
from flatlands.brokers.registry import OVER_TLS, members_of
from flatlands.brokers.ring import HashRing
from flatlands.stores.base import Store

#: URL scheme -> module and class. A module is imported when its scheme is used.
REDIS_STORE = "flatlands.stores.redis:RedisStore"
STORE_BACKENDS = {
    "memory": "flatlands.stores.sqlite:SqliteStore",
    "redis": REDIS_STORE,
    "rediscluster": REDIS_STORE,
    "redisclusters": REDIS_STORE,
    "rediss": REDIS_STORE,
    "sqlite": "flatlands.stores.sqlite:SqliteStore",
}


def open_store(url: str, world: str, tls: str = VERIFIED) -> Store:
    """Return the store of a world at `url`; it connects when it is first used.

    Of several URLs, separated by commas as for a ring of brokers, the one that the world's name
    belongs to keeps the whole world. `tls` is as in brokers.open_broker. Raises ValueError, with a
    sentence for the user, when the URL names no store.
    """
    members = {bare(member): member for member in members_of(url)}
    url = members[HashRing(members).member(world)]
    scheme = urlsplit(url).scheme
    if scheme not in STORE_BACKENDS:
        known = ", ".join(f"{name}://" for name in sorted([*STORE_BACKENDS, "valkey", "valkeys"]))
        raise ValueError(
            f"no store is called {bare(url)!r}: a store's URL begins with one of {known}"
        )
    module, name = STORE_BACKENDS[scheme].split(":")
    options = {"tls": tls} if scheme in OVER_TLS else {}
    store = getattr(import_module(module), name)(url, world, **options)
    assert isinstance(store, Store)
    return store
