"""What a server's store has of gems and points, read by code of its own.

It reads the tables of the file, or the keys of the Redis, as an operator might, and imports nothing
of the game: what writes them wrongly would read them wrongly too. It never changes anything. Reads
of a Redis are several, so what is read of it while somebody takes gems may not fit together.
"""

import re
import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgpack
from redis import Redis, RedisCluster
from redis.cluster import ClusterNode
from redis.exceptions import RedisError

from flatlands.loadtest.kit.brokers import redis_options
from flatlands.loadtest.kit.processes import Trouble

#: The world of a server that is given no name for it, and the names of its queues and its board.
WORLD, GEMS, NAMES, BOARD = "flatlands", "gem ", "name", "gems"

#: The schemes of stores in Redis.
REDIS = ("redis", "rediss", "rediscluster")

#: Seconds to wait for a store.
PATIENCE = 10.0


@dataclass(frozen=True)
class StoredGem:
    """A gem as the store has it.

    `group` is the name of the square in which it lies, or "". `place` is its position in units, or
    None if it lies nowhere. `due` is when it may be claimed, in ms of the store's clock.
    """

    group: str
    version: int
    place: tuple[int, int] | None
    due: int


@dataclass
class Stored:
    """What a store has.

    `gems`: id -> gem. `points` and `names`: owner -> how many gems it ever took, and its name.
    `now` is the store's clock in ms. `torn` is the number of gems that are in one of the parts of a
    queue and not in the others.
    """

    gems: dict[str, StoredGem] = field(default_factory=dict)
    points: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    now: int = 0
    torn: int = 0


def can_be_read(url: str) -> bool:
    """Say whether `read` can read a store."""
    return _scheme(url) == "sqlite" or is_redis(url)


def is_redis(url: str) -> bool:
    """Say whether a broker's URL names only servers that can be a store too."""
    return all(_scheme(one) in REDIS for one in _each(url))


def _each(url: str) -> list[str]:
    return [one.strip() for one in re.split(r",(?=[a-z+]+://)", url)]


def _scheme(url: str) -> str:
    return url.partition("://")[0]


def read(url: str) -> Stored:
    """Return what the store at `url` has; of several Redis servers, what all of them have.

    Raises Trouble if it cannot be read.
    """
    try:
        if _scheme(url) == "sqlite":
            return _read_file(Path(url.removeprefix("sqlite:///")))
        found = Stored()
        for member in _members(url):
            _read_redis(member, found)
        return found
    except (sqlite3.Error, RedisError) as error:
        raise Trouble(f"the store cannot be read: {error}") from error


def _gem(group: str, due: int, body: bytes) -> StoredGem:
    version, *place = msgpack.unpackb(body)
    return StoredGem(group, version, (place[0], place[1]) if place else None, due)


def _named(body: bytes) -> str:
    _player, name = msgpack.unpackb(body)
    return str(name)


def _read_file(path: Path) -> Stored:
    found = Stored(now=time.time_ns() // 1_000_000)
    if not path.exists():
        return found
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", PATIENCE, uri=True)
    try:
        ask = connection.execute
        ask("BEGIN")
        if not ask("SELECT 1 FROM sqlite_schema").fetchone():
            return found  # The server has opened the file and is about to make its tables.
        items = ask(
            'SELECT queue, id, "group", due, body FROM item WHERE world = ?', (WORLD,)
        ).fetchall()
        scores = ask("SELECT id, n FROM score WHERE world = ? AND board = ?", (WORLD, BOARD))
        found.points = dict(scores.fetchall())
    finally:
        connection.close()
    for queue, id, group, due, body in items:
        if queue == NAMES:
            found.names[id] = _named(body)
        elif queue.startswith(GEMS):
            # Of two worlds in one store that differ in their ground, both would count.
            found.torn += id in found.gems
            found.gems[id] = _gem(group, due, body)
    return found


def _members(url: str) -> list[Any]:
    """Return a client for each server, or each cluster, that a URL names."""
    options: dict[str, Any] = {"socket_timeout": PATIENCE}
    if _scheme(url) == "rediscluster":
        hosts = [urlsplit(f"//{host}") for host in urlsplit(url).netloc.split(",")]
        nodes = [
            ClusterNode(host.hostname, host.port or 6379)  # type: ignore[no-untyped-call]
            for host in hosts
        ]
        return [RedisCluster(startup_nodes=nodes, **options)]
    return [Redis.from_url(one, **options, **redis_options(one)) for one in _each(url)]


def _read_redis(client: Any, found: Stored) -> None:
    try:
        seconds, micros = client.time()
        found.now = seconds * 1000 + micros // 1000
        of = f"{{{WORLD}}}"
        for key in client.scan_iter(match=f"{of}/queue/{GEMS}*/items"):
            queue = key.decode().removesuffix("/items")
            dues = {
                id.decode(): int(due)
                for id, due in client.zrange(f"{queue}/due", 0, -1, withscores=True)
            }
            groups = {
                tuple(member.decode().split("\0"))
                for member in client.zrange(f"{queue}/groups", 0, -1)
            }
            ids = set()
            for name, packed in client.hgetall(key).items():
                id = name.decode()
                group, _holder, _tries, body = msgpack.unpackb(packed, raw=True)
                ids.add((group.decode(), id))
                found.torn += id in found.gems
                found.gems[id] = _gem(group.decode(), dues.get(id, 0), body)
            found.torn += len(ids ^ groups) + len({id for _, id in ids} ^ dues.keys())
        scores = client.zrange(f"{of}/board/{BOARD}", 0, -1, withscores=True)
        found.points |= {owner.decode(): int(n) for owner, n in scores}
        for owner, packed in client.hgetall(f"{of}/queue/{NAMES}/items").items():
            found.names[owner.decode()] = _named(msgpack.unpackb(packed, raw=True)[3])
    finally:
        client.close()
