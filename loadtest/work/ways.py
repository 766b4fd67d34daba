"""The ways to take messages from a queue: how each speaks to Redis, or to a store of the game.

A way claims messages, and says when they are done. Where it has no acknowledgement, a message is
gone when it is claimed, and `done` does nothing. Ways never count messages and never read a clock.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import redis

from flatlands.stores.base import Item
from flatlands.stores.registry import open_store

#: The name of the queue, of the list of messages that are held, and of a stream's group.
QUEUE, HELD, GROUP = "queue", "queue:held", "consumers"

#: ms of a lease that ends in no measurement.
LEASE = 600_000

#: Seconds that BLMOVE waits for a message.
WAIT_S = 1

#: What `claim` returns: by what each message is acknowledged, and the messages.
Claim = tuple[Sequence[Any], Sequence[bytes]]


class Way:
    """A queue, and one connection to it."""

    def put(self, bodies: Sequence[bytes]) -> None:
        """Add messages, at most 1,000, at the end of the queue."""
        raise NotImplementedError

    def claim(self, most: int) -> Claim:
        """Claim up to so many messages."""
        raise NotImplementedError

    def done(self, claimed: Sequence[Any]) -> None:
        """Acknowledge messages by the first part of what `claim` has returned."""

    def left(self) -> tuple[int, int]:
        """Return how many messages wait, and how many are held."""
        raise NotImplementedError


class Lasting(Way):
    """A queue that hands out again what somebody held who died, and counts how often."""

    def claim_for(self, most: int, lease: int) -> list[tuple[Any, bytes, int]]:
        """Claim messages, also those that others have held for at least so many ms.

        Return for each by what it is acknowledged, the message, and how often it was handed out.
        """
        raise NotImplementedError

    def held(self) -> list[bytes]:
        """Return the messages that are held."""
        raise NotImplementedError


class Popped(Way):
    """A Redis list. A message is gone when it is claimed."""

    def __init__(self, url: str) -> None:
        self.redis: Any = redis.Redis.from_url(url)

    def put(self, bodies: Sequence[bytes]) -> None:
        self.redis.rpush(QUEUE, *bodies)

    def claim(self, most: int) -> Claim:
        bodies = self.pop(most)
        return bodies, bodies

    def pop(self, most: int) -> list[bytes]:
        """Remove and return up to so many messages."""
        raise NotImplementedError

    def left(self) -> tuple[int, int]:
        return self.redis.llen(QUEUE), 0


class OneByOne(Popped):
    """LPOP with a round trip for each message."""

    def pop(self, most: int) -> list[bytes]:
        found = (self.redis.lpop(QUEUE) for _ in range(most))
        return [body for body in found if body is not None]


class Pipelined(Popped):
    """As many LPOPs in one round trip."""

    def pop(self, most: int) -> list[bytes]:
        pipeline = self.redis.pipeline(transaction=False)
        for _ in range(most):
            pipeline.lpop(QUEUE)
        return [body for body in pipeline.execute() if body is not None]


class Scripted(Popped):
    """LRANGE and LTRIM in a script, as in 2016."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._script = self.redis.register_script(
            "local found = redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)"
            " redis.call('LTRIM', KEYS[1], ARGV[1], -1)"
            " return found"
        )

    def pop(self, most: int) -> list[bytes]:
        return self._script(keys=[QUEUE], args=[most])


class Counted(Popped):
    """LPOP with a count, which Redis has had since 6.2."""

    def pop(self, most: int) -> list[bytes]:
        return self.redis.lpop(QUEUE, most) or []


class Multiple(Popped):
    """LMPOP, which Redis has had since 7.0."""

    def pop(self, most: int) -> list[bytes]:
        found = self.redis.lmpop(1, QUEUE, direction="LEFT", count=most)
        return found[1] if found else []


class Moved(Popped):
    """BLMOVE to a second list, and LREM from there: a round trip each, for each message."""

    def pop(self, most: int) -> list[bytes]:
        found: list[bytes] = []
        while len(found) < most:
            body = self.redis.blmove(QUEUE, HELD, WAIT_S, "LEFT", "RIGHT")
            if body is None:
                break
            found.append(body)
        return found

    def done(self, claimed: Sequence[Any]) -> None:
        for body in claimed:
            self.redis.lrem(HELD, 1, body)

    def left(self) -> tuple[int, int]:
        return self.redis.llen(QUEUE), self.redis.llen(HELD)


class Streamed(Lasting):
    """A stream with a group of consumers: XREADGROUP, then XACK and XDEL in one round trip."""

    def __init__(self, url: str) -> None:
        self._redis: Any = redis.Redis.from_url(url)
        #: Who claims: this object.
        self._name = f"{random.getrandbits(64):016x}"
        if not self._redis.exists(QUEUE):
            self._redis.xgroup_create(QUEUE, GROUP, "0", mkstream=True)

    def put(self, bodies: Sequence[bytes]) -> None:
        pipeline = self._redis.pipeline(transaction=False)
        for body in bodies:
            pipeline.xadd(QUEUE, {"body": body})
        pipeline.execute()

    def claim(self, most: int) -> Claim:
        found = self._redis.xreadgroup(GROUP, self._name, {QUEUE: ">"}, count=most)
        entries = found[0][1] if found else []
        return [id for id, _ in entries], [fields[b"body"] for _, fields in entries]

    def done(self, claimed: Sequence[Any]) -> None:
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.xack(QUEUE, GROUP, *claimed)
        pipeline.xdel(QUEUE, *claimed)
        pipeline.execute()

    def left(self) -> tuple[int, int]:
        held = self._redis.xpending(QUEUE, GROUP)["pending"]
        return self._redis.xlen(QUEUE) - held, held

    def claim_for(self, most: int, lease: int) -> list[tuple[Any, bytes, int]]:
        _, entries, _ = self._redis.xautoclaim(QUEUE, GROUP, self._name, lease, count=most)
        bodies = {id: fields[b"body"] for id, fields in entries}
        if not bodies:
            bodies = dict(zip(*self.claim(most), strict=True))
        pending = self._redis.xpending_range(QUEUE, GROUP, "-", "+", most, self._name)
        return [(p["message_id"], bodies[p["message_id"]], p["times_delivered"]) for p in pending]

    def held(self) -> list[bytes]:
        pending = self._redis.xpending_range(QUEUE, GROUP, "-", "+", 1000)
        ids = [one["message_id"] for one in pending]
        return [self._redis.xrange(QUEUE, id, id)[0][1][b"body"] for id in ids]


class Stored(Lasting):
    """A store of the game: a claim with a lease, and an acknowledgement."""

    def __init__(self, url: str) -> None:
        self._store = open_store(url, "work-queues")
        self._put = 0

    def put(self, bodies: Sequence[bytes]) -> None:
        # Of items that are due in the same ms the store gives the one with the least id first.
        first, self._put = self._put, self._put + len(bodies)
        self._store.put(
            QUEUE, [Item(f"{first + n:09}", 0, "", body) for n, body in enumerate(bodies)]
        )

    def claim(self, most: int) -> Claim:
        found = self._store.claim(QUEUE, most, LEASE)
        return [one.id for one in found], [one.body for one in found]

    def done(self, claimed: Sequence[Any]) -> None:
        self._store.done(QUEUE, claimed)

    def left(self) -> tuple[int, int]:
        held = len(self.held())
        return self._store.count(QUEUE) - held, held

    def claim_for(self, most: int, lease: int) -> list[tuple[Any, bytes, int]]:
        found = self._store.claim(QUEUE, most, lease)
        return [(one.id, one.body, one.tries) for one in found]

    def held(self) -> list[bytes]:
        # Messages are put without delay, so one that is not due yet is held.
        return [item.body for item in self._store.group(QUEUE, "") if item.delay > 0]


#: Name of a series -> how it takes.
WAYS: dict[str, Callable[[str], Way]] = {
    "lpop": OneByOne,
    "pipeline": Pipelined,
    "script": Scripted,
    "lpop-count": Counted,
    "lmpop": Multiple,
    "blmove": Moved,
    "stream": Streamed,
    "store-redis": Stored,
    "store-sqlite": Stored,
}
