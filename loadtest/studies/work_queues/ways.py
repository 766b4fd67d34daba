"""The ways to take messages from a queue: how each speaks to Redis, or to a store of the game.

A way claims messages, and says when they are done. Where it has no acknowledgement, a message is
gone when it is claimed, and `done` does nothing. Ways never count messages, and never read a
clock but Redis's.
"""

import random
import time
from collections.abc import Sequence
from typing import Generic, TypeVar

from flatlands.loadtest.kit.brokers import certificates, open_redis
from flatlands.stores.base import Item
from flatlands.stores.registry import open_store

#: The name of a stream's group.
GROUP = "consumers"

#: ms of a lease that outlasts every measurement.
LEASE = 600_000

#: ms by which a message is delayed.
DELAY = 5

#: Seconds that BLMOVE waits for a message.
WAIT_S = 1

#: What acknowledges a message.
Ack = TypeVar("Ack")

#: What `claim` returns: what acknowledges each message, and the messages.
Claim = tuple[Sequence[Ack], Sequence[bytes]]


class Way(Generic[Ack]):
    """A queue, and one connection to it: to the server or file at `url`. All keys on a server begin
    with the name `queue`, or contain it."""

    def __init__(self, url: str, queue: str) -> None:
        raise NotImplementedError

    def put(self, bodies: Sequence[bytes]) -> None:
        """Add messages, at most 1,000, at the end of the queue."""
        raise NotImplementedError

    def claim(self, most: int) -> Claim[Ack]:
        """Claim up to `most` messages."""
        raise NotImplementedError

    def done(self, claimed: Sequence[Ack]) -> None:
        """Acknowledge messages by the first part of what `claim` has returned."""

    def left(self) -> tuple[int, int]:
        """Return how many messages wait, and how many are held."""
        raise NotImplementedError


class Lasting(Way[Ack]):
    """A queue that hands out again what a dead consumer held, and counts how often."""

    def claim_for(self, most: int, lease: int) -> list[tuple[Ack, bytes, int]]:
        """Claim messages, including those that others have held for at least `lease` ms.

        Returns for each what acknowledges it, the message, and how often it was handed out.
        """
        raise NotImplementedError

    def held(self) -> list[bytes]:
        """Return the messages that are held."""
        raise NotImplementedError


class Popped(Way[bytes]):
    """A Redis list. A message is gone when it is claimed."""

    def __init__(self, url: str, queue: str) -> None:
        self.redis, self.queue = open_redis(url), queue

    def put(self, bodies: Sequence[bytes]) -> None:
        self.redis.rpush(self.queue, *bodies)

    def claim(self, most: int) -> Claim[bytes]:
        bodies = self.pop(most)
        return bodies, bodies

    def pop(self, most: int) -> list[bytes]:
        """Remove and return up to `most` messages."""
        raise NotImplementedError

    def left(self) -> tuple[int, int]:
        return self.redis.llen(self.queue), 0


class OneByOne(Popped):
    """LPOP with a round trip for each message."""

    def pop(self, most: int) -> list[bytes]:
        found = (self.redis.lpop(self.queue) for _ in range(most))
        return [body for body in found if body is not None]


class Pipelined(Popped):
    """An LPOP for each message, all in one round trip."""

    def pop(self, most: int) -> list[bytes]:
        pipeline = self.redis.pipeline(transaction=False)
        for _ in range(most):
            pipeline.lpop(self.queue)
        return [body for body in pipeline.execute() if body is not None]


class Scripted(Popped):
    """LRANGE and LTRIM in a script, as in 2016."""

    text = (
        "local found = redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)"
        " redis.call('LTRIM', KEYS[1], ARGV[1], -1)"
        " return found"
    )

    def __init__(self, url: str, queue: str) -> None:
        super().__init__(url, queue)
        self.later = f"{queue}:later"
        self._script = self.redis.register_script(self.text)

    def pop(self, most: int) -> list[bytes]:
        found: list[bytes] = self._script(keys=[self.queue, self.later], args=[most])
        return found


class Delayed(Scripted):
    """The same, with the queue for delayed messages of 2016: a sorted set by the Unix ms at which
    each is due. ZADD puts messages there; a take first moves those that are due to the list."""

    # Lua cannot unpack more than some thousands at once.
    text = (
        "local now = redis.call('TIME')"
        " now = now[1] * 1000 + now[2] / 1000"
        " local due = redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, 1000)"
        " if #due > 0 then"
        " redis.call('RPUSH', KEYS[1], unpack(due))"
        " redis.call('ZREMRANGEBYRANK', KEYS[2], 0, #due - 1) end " + Scripted.text
    )

    def put(self, bodies: Sequence[bytes]) -> None:
        seconds, us = self.redis.time()
        due = seconds * 1000 + us / 1000 + DELAY
        # Of messages with the same score Redis gives the one with the least text first.
        self.redis.zadd(self.later, {body: due + n / 1000 for n, body in enumerate(bodies)})
        time.sleep((DELAY + 1) / 1000)

    def left(self) -> tuple[int, int]:
        return self.redis.llen(self.queue) + self.redis.zcard(self.later), 0


class Counted(Popped):
    """LPOP with a count, which Redis has had since 6.2."""

    def pop(self, most: int) -> list[bytes]:
        return self.redis.lpop(self.queue, most) or []


class Multiple(Popped):
    """LMPOP, which Redis has had since 7.0."""

    def pop(self, most: int) -> list[bytes]:
        found = self.redis.lmpop(1, self.queue, direction="LEFT", count=most)
        return found[1] if found else []


class Moved(Popped):
    """BLMOVE to a second list, and LREM from there: a round trip each, for each message."""

    def pop(self, most: int) -> list[bytes]:
        found: list[bytes] = []
        while len(found) < most:
            body = self.redis.blmove(self.queue, f"{self.queue}:held", WAIT_S, "LEFT", "RIGHT")
            if body is None:
                break
            found.append(body)
        return found

    def done(self, claimed: Sequence[bytes]) -> None:
        for body in claimed:
            self.redis.lrem(f"{self.queue}:held", 1, body)

    def left(self) -> tuple[int, int]:
        return self.redis.llen(self.queue), self.redis.llen(f"{self.queue}:held")


class Streamed(Lasting[bytes]):
    """A stream with a group of consumers: XREADGROUP, then XACK and XDEL in one round trip."""

    def __init__(self, url: str, queue: str) -> None:
        self._redis, self.queue = open_redis(url), queue
        #: The name by which this object claims.
        self._name = f"{random.getrandbits(64):016x}"
        if not self._redis.exists(self.queue):
            self._redis.xgroup_create(self.queue, GROUP, "0", mkstream=True)

    def put(self, bodies: Sequence[bytes]) -> None:
        pipeline = self._redis.pipeline(transaction=False)
        for body in bodies:
            pipeline.xadd(self.queue, {"body": body})
        pipeline.execute()

    def claim(self, most: int) -> Claim[bytes]:
        found = self._redis.xreadgroup(GROUP, self._name, {self.queue: ">"}, count=most)
        entries = found[0][1] if found else []
        return [id for id, _ in entries], [fields[b"body"] for _, fields in entries]

    def done(self, claimed: Sequence[bytes]) -> None:
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.xack(self.queue, GROUP, *claimed)
        pipeline.xdel(self.queue, *claimed)
        pipeline.execute()

    def left(self) -> tuple[int, int]:
        held = self._redis.xpending(self.queue, GROUP)["pending"]
        return self._redis.xlen(self.queue) - held, held

    def claim_for(self, most: int, lease: int) -> list[tuple[bytes, bytes, int]]:
        _, entries, _ = self._redis.xautoclaim(self.queue, GROUP, self._name, lease, count=most)
        bodies = {id: fields[b"body"] for id, fields in entries}
        if not bodies:
            bodies = dict(zip(*self.claim(most), strict=True))
        pending = self._redis.xpending_range(self.queue, GROUP, "-", "+", most, self._name)
        return [(p["message_id"], bodies[p["message_id"]], p["times_delivered"]) for p in pending]

    def held(self) -> list[bytes]:
        pending = self._redis.xpending_range(self.queue, GROUP, "-", "+", 1000)
        ids = [one["message_id"] for one in pending]
        return [self._redis.xrange(self.queue, id, id)[0][1][b"body"] for id in ids]


class Stored(Lasting[str]):
    """A store of the game: a claim with a lease, and an acknowledgement."""

    def __init__(self, url: str, queue: str) -> None:
        tls = certificates().get("BROKER_TLS", "verified")
        self._store, self.queue = open_store(url, queue, tls), "queue"
        self._put = 0

    def put(self, bodies: Sequence[bytes]) -> None:
        # Of items that are due in the same ms the store gives the one with the least id first.
        first, self._put = self._put, self._put + len(bodies)
        self._store.put(
            self.queue, [Item(f"{first + n:09}", 0, "", body) for n, body in enumerate(bodies)]
        )

    def claim(self, most: int) -> Claim[str]:
        found = self._store.claim(self.queue, most, LEASE)
        return [one.id for one in found], [one.body for one in found]

    def done(self, claimed: Sequence[str]) -> None:
        self._store.done(self.queue, claimed)

    def left(self) -> tuple[int, int]:
        held = len(self.held())
        return self._store.count(self.queue) - held, held

    def claim_for(self, most: int, lease: int) -> list[tuple[str, bytes, int]]:
        found = self._store.claim(self.queue, most, lease)
        return [(one.id, one.body, one.tries) for one in found]

    def held(self) -> list[bytes]:
        # Messages are put without delay, so one that is not due yet is held.
        return [item.body for item in self._store.group(self.queue, "") if item.delay > 0]
