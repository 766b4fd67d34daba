"""A store in Redis or Valkey, in one server or a cluster.

Each call is one Lua script, so that all of it happens at once, by the server's clock. A queue has
three keys: a sorted set of ids by the ms from which they may be claimed, a hash of what they are,
and a sorted set by which the ids of a group are found. All keys of a world have the same hash tag,
so that one script may touch several queues and a board, in a cluster too. redis-py speaks to the
server, in the store's thread. It never sends a call twice: if a connection ends, nobody knows
whether the first one took effect. Each world has an id on the server. If that is gone or has
changed, the server has forgotten everything, or another server has its address.
"""

import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from redis import Redis, RedisCluster
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.commands.core import Script
from redis.exceptions import (
    AuthenticationError,
    ConnectionError,
    NoPermissionError,
    OutOfMemoryError,
    RedisClusterException,
    RedisError,
    TimeoutError,
)
from redis.retry import Retry

from flatlands.brokers.base import UNVERIFIED, VERIFIED, bare, short_hash
from flatlands.brokers.redis.wire import REDIS_KIND, REDIS_PORT, REPLICAS
from flatlands.brokers.stream import endpoints
from flatlands.stores.base import (
    Claimed,
    If,
    Item,
    ItemChange,
    Rank,
    Score,
    Size,
    Store,
    StoreError,
    Swap,
    Then,
)

#: A call waits so long for its answer.
ANSWER_SECONDS = 2.0

#: When the store is opened, a server that does not answer is tried for so long.
OPEN_SECONDS = 10.0
#: The pause between two such tries.
OPEN_PAUSE_SECONDS = 0.2

#: After so long a call first checks that the server is still what it was.
CHECK_EVERY_SECONDS = 2.0

#: A part of every TLS error about a certificate.
UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"

#: The key of the world's id, without the beginning that all keys have.
ID = "id"

#: Members of a key whose sizes are looked at, to estimate the size of all.
SAMPLES = 200

# Every script begins with this. An item in the hash is {group, holder, tries, body}.
_COMMON = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Somebody has deleted a part of the queue, or the server has forgotten it.
if KEYS[3] then
  local items = redis.call('HLEN', KEYS[2])
  if redis.call('ZCARD', KEYS[1]) ~= items or redis.call('ZCARD', KEYS[3]) ~= items then
    return redis.error_reply('LOST ' .. string.match(KEYS[2], '^.*/'))
  end
end

-- Put items: for each the place of its queue's keys, id, delay, group and body, from ARGV[at] on.
local function put(at)
  local new = 0
  while ARGV[at] do
    local key, id, group = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 3]
    local what = cmsgpack.pack({group, '', 0, ARGV[at + 4]})
    if redis.call('HSETNX', KEYS[key + 1], id, what) == 1 then
      redis.call('ZADD', KEYS[key], string.format('%.0f', now + tonumber(ARGV[at + 2])), id)
      redis.call('ZADD', KEYS[key + 2], 0, group .. '\\0' .. id)
      new = new + 1
    end
    at = at + 5
  end
  return new
end
"""

_PUT = "return put(1)"

_CLAIM = """
local most, lease, caller = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local found = {}
local ids = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
for _, id in ipairs(ids) do
  local what = cmsgpack.unpack(redis.call('HGET', KEYS[2], id))
  what[2], what[3] = caller, what[3] + 1
  redis.call('HSET', KEYS[2], id, cmsgpack.pack(what))
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + lease), id)
  found[#found + 1] = {id, what[4], what[3]}
end
return found
"""

_REMOVE = """
local count, found = tonumber(ARGV[1]), {}
for at = 6, 5 + count do
  local packed = redis.call('HGET', KEYS[2], ARGV[at])
  local what = packed and cmsgpack.unpack(packed)
  if what and (ARGV[2] == 'any' or what[2] == ARGV[3])
      and (ARGV[4] == 'any' or what[4] == ARGV[5]) then
    redis.call('ZREM', KEYS[1], ARGV[at])
    redis.call('HDEL', KEYS[2], ARGV[at])
    redis.call('ZREM', KEYS[3], what[1] .. '\\0' .. ARGV[at])
    found[#found + 1] = what[4]
  end
end
-- What follows: scores, for each the place of its board's key, id and points; and then items.
if #found > 0 then
  local at = 7 + count
  for _ = 1, tonumber(ARGV[at - 1]) do
    redis.call('ZINCRBY', KEYS[tonumber(ARGV[at])], ARGV[at + 2], ARGV[at + 1])
    at = at + 3
  end
  put(at)
end
return found
"""

_SWAP = """
local at, done = 1, {}
while ARGV[at] do
  local id, group, fresh = ARGV[at + 2], ARGV[at + 4], ARGV[at] == 'new'
  local packed = redis.call('HGET', KEYS[2], id)
  local what = packed and cmsgpack.unpack(packed)
  local fits = not packed
  if not fresh then fits = what and what[4] == ARGV[at + 1] end
  if fits then
    if what then redis.call('ZREM', KEYS[3], what[1] .. '\\0' .. id) end
    local due = string.format('%.0f', now + tonumber(ARGV[at + 3]))
    redis.call('HSET', KEYS[2], id, cmsgpack.pack({group, '', 0, ARGV[at + 5]}))
    redis.call('ZADD', KEYS[1], due, id)
    redis.call('ZADD', KEYS[3], 0, group .. '\\0' .. id)
  end
  done[#done + 1] = fits and 1 or 0
  local scores = tonumber(ARGV[at + 6])
  at = at + 7
  for _ = 1, scores do
    if fits then
      redis.call('ZINCRBY', KEYS[tonumber(ARGV[at])], ARGV[at + 2], ARGV[at + 1])
    end
    at = at + 3
  end
end
return done
"""

# For each item the place of its queue's keys, id, whether it was there, and its body; and what is
# done: 'stays', 'gone', or 'put' and its delay, group and body. Then the scores, as above.
_TRANSACT = """
local count, at = tonumber(ARGV[1]), 2
for _ = 1, count do
  local packed = redis.call('HGET', KEYS[tonumber(ARGV[at]) + 1], ARGV[at + 1])
  local was = packed and cmsgpack.unpack(packed)[4]
  if ARGV[at + 2] == 'new' and was or ARGV[at + 2] ~= 'new' and was ~= ARGV[at + 3] then
    return 0
  end
  at = at + 8
end
at = 2
for _ = 1, count do
  local key, id, deed = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 4]
  local packed = redis.call('HGET', KEYS[key + 1], id)
  if packed and deed ~= 'stays' then
    redis.call('ZREM', KEYS[key + 2], cmsgpack.unpack(packed)[1] .. '\\0' .. id)
  end
  if deed == 'gone' then
    redis.call('ZREM', KEYS[key], id)
    redis.call('HDEL', KEYS[key + 1], id)
  elseif deed == 'put' then
    local group = ARGV[at + 6]
    local what = cmsgpack.pack({group, '', 0, ARGV[at + 7]})
    redis.call('HSET', KEYS[key + 1], id, what)
    redis.call('ZADD', KEYS[key], string.format('%.0f', now + tonumber(ARGV[at + 5])), id)
    redis.call('ZADD', KEYS[key + 2], 0, group .. '\\0' .. id)
  end
  at = at + 8
end
while ARGV[at] do
  redis.call('ZINCRBY', KEYS[tonumber(ARGV[at])], ARGV[at + 2], ARGV[at + 1])
  at = at + 3
end
return 1
"""

_RENEW = """
local due, caller = string.format('%.0f', now + tonumber(ARGV[1])), ARGV[2]
local renewed = {}
for at = 3, #ARGV, 2 do
  local id = ARGV[at]
  local packed = redis.call('HGET', KEYS[2], id)
  local what = packed and cmsgpack.unpack(packed)
  if what and what[2] == caller then
    if ARGV[at + 1] ~= '' then
      what[4] = string.sub(ARGV[at + 1], 2)
      redis.call('HSET', KEYS[2], id, cmsgpack.pack(what))
    end
    redis.call('ZADD', KEYS[1], due, id)
    renewed[#renewed + 1] = id
  end
end
return renewed
"""

# What finds items begins with this.
_FOUND = """
local found = {}
local function add(id, what)
  local delay = math.max(tonumber(redis.call('ZSCORE', KEYS[1], id)) - now, 0)
  found[#found + 1] = {id, string.format('%.0f', math.min(delay, 2^50)), what[1], what[4]}
end
"""

_GET = f"""{_FOUND}
for _, id in ipairs(ARGV) do
  local packed = redis.call('HGET', KEYS[2], id)
  if packed then add(id, cmsgpack.unpack(packed)) end
end
return found
"""

_FIND = f"""{_FOUND}
for at = 2, #ARGV, 2 do
  local members = redis.call(
    'ZRANGE', KEYS[3], ARGV[at], ARGV[at + 1], 'BYLEX', 'LIMIT', 0, ARGV[1])
  for _, member in ipairs(members) do
    local id = string.match(member, '%z(.*)$')
    add(id, cmsgpack.unpack(redis.call('HGET', KEYS[2], id)))
  end
end
return found
"""

_RANK = """
local n = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not n then return false end
return {redis.call('ZCOUNT', KEYS[1], '(' .. n, '+inf') + 1, redis.call('ZCARD', KEYS[1]), n}
"""

log = logging.getLogger("flatlands")

_T = TypeVar("_T")

_Client = Redis | RedisCluster

#: What a script may be given.
_Argument = str | bytes | int


class RedisStore(Store):
    """A store whose calls are Lua scripts in a Redis server or cluster. `tls` says how certificates
    are checked, as in brokers.open_broker."""

    def __init__(self, url: str, world: str, tls: str = VERIFIED) -> None:
        super().__init__(url, world)
        self._cluster = urlsplit(url).scheme.startswith("rediscluster")
        self._secure = urlsplit(url).scheme in ("rediss", "redisclusters")
        self._tls = tls
        # Raises ValueError, with a sentence for the user, when the URL names no server.
        self._hosts = endpoints(url, REDIS_KIND, REDIS_PORT, tls if self._secure else None)
        if len(self._hosts) > 1 and not self._cluster:
            raise ValueError("redis:// takes only one host; for a cluster write rediscluster://")
        self._client: _Client | None = None
        self._scripts: dict[str, Script] = {}
        #: The world's id on the server, None before it is known; and when to ask for it next.
        self._id: bytes | None = None
        self._look_at = 0.0

    # The connection.

    def _open(self) -> None:
        until = time.monotonic() + OPEN_SECONDS
        while True:
            try:
                return self._ask(lambda _client: None)
            except StoreError as error:
                cause = error.__cause__
                away = isinstance(cause, ConnectionError | TimeoutError | RedisClusterException)
                refused = isinstance(cause, AuthenticationError) or UNTRUSTED in str(cause)
                if not away or refused or time.monotonic() > until:
                    raise
            time.sleep(OPEN_PAUSE_SECONDS)

    def _ask(self, call: Callable[[Any], _T]) -> _T:
        """Return what the server answers. Raises StoreError."""
        try:
            if self._client is None:
                self._client, self._look_at = self._connect(), 0.0
            if time.monotonic() >= self._look_at:
                self._look(self._client)
                self._look_at = time.monotonic() + CHECK_EVERY_SECONDS
            return call(self._client)
        except (RedisError, RedisClusterException) as error:
            self._look_at = 0.0
            raise StoreError(_sentence(bare(self.url), error)) from error

    def _connect(self) -> _Client:
        options: dict[str, Any] = {
            "socket_timeout": ANSWER_SECONDS,
            "socket_connect_timeout": ANSWER_SECONDS,
            "retry": Retry(NoBackoff(), 0),
        }
        if self._secure and self._tls == UNVERIFIED:
            options |= {"ssl_cert_reqs": "none", "ssl_check_hostname": False}
        elif self._secure and self._tls != VERIFIED:
            options["ssl_ca_certs"] = self._tls
        # redis-py reads the rest of a URL of one host: the login, and options about certificates.
        parts = urlsplit(self.url)
        login, at, hosts = parts.netloc.rpartition("@")
        url = parts._replace(
            scheme="rediss" if self._secure else "redis",
            netloc=login + at + hosts.partition(",")[0],
        ).geturl()
        if self._cluster:
            nodes = [ClusterNode(one.host, one.port) for one in self._hosts]  # type: ignore[no-untyped-call]
            return RedisCluster.from_url(url, startup_nodes=nodes, **options)
        return Redis.from_url(url, **options)

    def _look(self, client: Any) -> None:
        """Check that the server is fit for a store, and still has the world. Raises StoreError and
        RedisError."""
        _refuse_replica(bare(self.url), client)
        _refuse_eviction(bare(self.url), client)
        key = f"{{{self.world}}}/{ID}"
        id = client.get(key)
        if self._id not in (None, id):
            self._id, self.identity = None, ""
            raise StoreError(
                f"Redis at {bare(self.url)} has lost the world {self.world!r}, or is a different "
                "Redis now: servers continue with what it has, or start afresh"
            )
        if id is None:
            client.set(key, f"{random.getrandbits(64):016x}", nx=True)
            id = client.get(key)
        self._id = id
        self.identity = short_hash(f"{bare(self.url)} {id.decode()}")

    def _run(self, script: str, keys: Sequence[str], arguments: Iterable[_Argument]) -> Any:
        def run(client: _Client) -> object:
            registered = self._scripts.get(script)
            if registered is None:
                registered = self._scripts[script] = client.register_script(_COMMON + script)
            return registered(keys=keys, args=list(arguments))

        return self._ask(run)

    # Keys.

    def _of(self, queue: str) -> list[str]:
        return [f"{{{self.world}}}/queue/{queue}/{part}" for part in ("due", "items", "groups")]

    def _keys(self, queue: str, then: Then) -> tuple[list[str], list[_Argument], list[_Argument]]:
        """Return the keys of a queue, and of all boards and queues in which something follows; and
        the arguments that add the scores, and those that put the items."""
        keys = self._of(queue)
        places = {queue: 1}
        scores = _scores(self.world, keys, {}, then.scores)
        items: list[_Argument] = []
        for other, item in then.items:
            if other not in places:
                places[other] = len(keys) + 1
                keys += self._of(other)
            items += (places[other], item.id, item.delay, item.group, item.body)
        return keys, scores, items

    # Calls.

    def _put(self, queue: str, items: Sequence[Item]) -> int:
        keys, _, arguments = self._keys(queue, Then([(queue, item) for item in items], ()))
        return int(self._run(_PUT, keys, arguments))

    def _claim(self, queue: str, most: int, lease: int) -> list[Claimed]:
        found = self._run(_CLAIM, self._of(queue), (most, lease, self._caller))
        return [Claimed(id.decode(), body, int(tries)) for id, body, tries in found]

    def _remove(self, queue: str, ids: Sequence[str], if_: If, then: Then) -> list[bytes]:
        keys, scores, items = self._keys(queue, then)
        wanted = [part for one in if_ for part in (("any", "") if one is None else ("", one))]
        following = len(then.scores), *scores, *items
        bodies: list[bytes] = self._run(_REMOVE, keys, (len(ids), *wanted, *ids, *following))
        return bodies

    def _swap(self, queue: str, swaps: Sequence[Swap]) -> list[bool]:
        keys, boards = self._of(queue), dict[str, int]()
        arguments: list[_Argument] = []
        for before, (id, delay, group, body), scores in swaps:
            was = ("new", "") if before is None else ("", before)
            arguments += (*was, id, delay, group, body, len(scores))
            arguments += _scores(self.world, keys, boards, scores)
        return list(map(bool, self._run(_SWAP, keys, arguments)))

    def _transact(self, changes: Sequence[ItemChange], scores: Sequence[Score]) -> bool:
        keys: list[str] = []
        places: dict[str, int] = {}
        arguments: list[Any] = [len(changes)]
        for queue, id, before, after, stays in changes:
            if queue not in places:
                places[queue] = len(keys) + 1
                keys += self._of(queue)
            was = ("new", "") if before is None else ("", before)
            arguments += (places[queue], id, *was)
            if after is None:
                arguments += ("stays" if stays else "gone", "", "", "")
            else:
                arguments += ("put", after.delay, after.group, after.body)
        arguments += _scores(self.world, keys, {}, scores)
        return bool(self._run(_TRANSACT, keys, arguments))

    def _renew(
        self, queue: str, items: Sequence[tuple[str, bytes | None]], lease: int
    ) -> list[str]:
        # A body comes after one byte, and nothing stands for None.
        pairs = [text for id, body in items for text in (id, b"" if body is None else b"=" + body)]
        return [
            id.decode() for id in self._run(_RENEW, self._of(queue), (lease, self._caller, *pairs))
        ]

    def _get(self, queue: str, ids: Sequence[str]) -> list[Item]:
        return _read(self._run(_GET, self._of(queue), ids))

    def _group(self, queue: str, names: Sequence[str]) -> list[Item]:
        # -1 stands for as many as there are.
        ranges = [end for name in names for end in (f"[{name}\0", f"({name}\1")]
        found = self._find(queue, -1, *ranges)
        return sorted(found, key=lambda item: (item.delay, item.id.encode()))

    def _find(self, queue: str, most: int, *ranges: str) -> list[Item]:
        """Return up to `most` items of each range of groups and ids: two ends, as ZRANGE has."""
        return _read(self._run(_FIND, self._of(queue), (most, *ranges)))

    def _count(self, queue: str) -> int:
        return int(self._ask(lambda client: client.zcard(self._of(queue)[0])))

    def _add(self, score: Score) -> int:
        board, id, n = score
        return int(self._ask(lambda client: client.zincrby(_board(self.world, board), n, id)))

    def _top(self, board: str, most: int, skip: int) -> list[tuple[str, int]]:
        key = _board(self.world, board)
        last = skip + most - 1
        found = self._ask(lambda client: client.zrevrange(key, skip, last, withscores=True))
        return [(id.decode(), int(n)) for id, n in found]

    def _rank(self, board: str, id: str) -> Rank | None:
        found = self._run(_RANK, [_board(self.world, board)], (id,))
        return None if found is None else Rank(*map(int, found))

    def _every_key(self) -> list[str]:
        """Return all keys of this world, without the beginning that they share."""
        beginning = f"{{{self.world}}}/"
        special = str.maketrans({letter: f"\\{letter}" for letter in "\\*?[]"})
        pattern = f"{beginning.translate(special)}*"

        def find(client: _Client) -> list[bytes]:
            return list(client.scan_iter(match=pattern, count=1000))

        return sorted({key.decode().removeprefix(beginning) for key in self._ask(find)} - {ID})

    def _names(self) -> tuple[set[str], set[str]]:
        queues, boards = set(), set()
        for key in self._every_key():
            kind, name = key.split("/", 1)
            if kind == "board":
                boards.add(name)
            elif name.endswith("/due"):
                queues.add(name.removesuffix("/due"))
        return queues, boards

    def _now(self) -> int:
        seconds, us = self._ask(lambda client: client.time())
        return int(seconds) * 1000 + int(us) // 1000

    def _sizes(self) -> list[Size]:
        return [self._size(name) for name in self._every_key()]

    def _size(self, name: str) -> Size:
        key = f"{{{self.world}}}/{name}"

        def ask(client: _Client) -> tuple[int, int]:
            rows = client.hlen(key) if name.endswith("/items") else client.zcard(key)
            # The key may be gone by now.
            return int(rows), int(client.memory_usage(key, samples=SAMPLES) or 0)

        return Size(name, *self._ask(ask))

    def _scan(self, queue: str, most: int, after: tuple[str, str] | None) -> list[Item]:
        first = "-" if after is None else "({}\0{}".format(*after)
        return self._find(queue, most, first, "+")

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _read(found: Sequence[tuple[bytes, bytes, bytes, bytes]]) -> list[Item]:
    """Return the items that a script has found."""
    return [Item(id.decode(), int(delay), group.decode(), body) for id, delay, group, body in found]


def _board(world: str, board: str) -> str:
    """Return the key of a board."""
    return f"{{{world}}}/board/{board}"


def _scores(
    world: str, keys: list[str], boards: dict[str, int], scores: Iterable[Score]
) -> list[_Argument]:
    """Return the arguments that add some scores. The keys of boards that are not among `boards` yet
    are added to `keys`, and their places there to `boards`."""
    arguments: list[_Argument] = []
    for board, id, n in scores:
        if board not in boards:
            keys.append(_board(world, board))
            boards[board] = len(keys)
        arguments += (boards[board], id, n)
    return arguments


def _refuse_replica(where: str, client: _Client) -> None:
    """Raise StoreError if the server says that it is a replica, and leave it: the next call goes to
    whoever has the address by then. In a cluster the client knows who is."""
    if isinstance(client, Redis) and client.execute_command("HELLO").get(b"role") in REPLICAS:  # type: ignore[no-untyped-call]
        client.close()
        raise StoreError(
            f"Redis at {where} is a replica, which accepts no writes: use the address of the"
            " primary, or let this one lead to it"
        )


def _refuse_eviction(where: str, client: _Client) -> None:
    """Raise StoreError if the server says that it may forget what it was given. With a policy for
    volatile keys it does not, since a store's keys never expire."""
    try:
        memory = client.info("memory") if isinstance(client, Redis) else {}
    except NoPermissionError:
        _warn_of_eviction(where)
        return
    policy = memory.get("maxmemory_policy", "noeviction")
    if memory.get("maxmemory") and policy.startswith("allkeys"):
        raise StoreError(
            f"Redis at {where} evicts keys when its memory is full ({policy}): set"
            " maxmemory-policy to noeviction, or use another store"
        )


@cache
def _warn_of_eviction(where: str) -> None:
    """Say, once, that nobody has looked."""
    log.warning(
        "the user of Redis at %s may not use INFO, so nobody sees whether Redis evicts keys when "
        "its memory is full: allow it (+info), or make sure that maxmemory-policy is noeviction",
        where,
    )


def _sentence(where: str, error: Exception) -> str:
    if isinstance(error, AuthenticationError):
        return f"Redis at {where} rejects the user or the password"
    if UNTRUSTED in str(error):
        return (
            f"this machine does not trust the certificate of Redis at {where}: set BROKER_TLS to"
            " 'unverified', or to the path of a file with that certificate"
        )
    if str(error).startswith("LOST "):
        return (
            f"Redis at {where} has lost some of a queue's keys: restore them, or delete all"
            f" keys that begin with {str(error).removeprefix('LOST ')}"
        )
    if isinstance(error, OutOfMemoryError):
        return f"Redis at {where} is out of memory: raise its maxmemory"
    return f"Redis at {where} does not answer as expected: {error}"
