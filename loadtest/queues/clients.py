"""Those who publish and hear for the benchmark: the game's own brokers, and redis-py twice.

They count nothing and know nothing of stamps. A connection's error is raised by redis-py; the
game's brokers mend themselves, and tell by `dropped`, `cuts` and `trouble`.
"""

import time
from collections.abc import Callable, Iterable

import gevent
import redis

from brokers import Message, open_broker

#: What the buffered publisher sends in one go: so many messages, or those of so many seconds.
BUFFER_MESSAGES = 1000
BUFFER_S = 0.2

#: Seconds in which a broker of the game must take a message again, or it counts as gone.
GONE_S = 3.0


class Publisher:
    """What a publishing process needs of a broker."""

    #: Sends a payload on a channel, or leaves it to be sent; returns False where that cannot be.
    publish: Callable[[str, bytes], bool]

    def dropped(self) -> int:
        """Return how many messages it knows to be lost, those refused included."""
        return 0

    def cuts(self) -> int:
        """Return how often its link was lost and came back."""
        return 0

    def sleep(self, seconds: float) -> None:
        """Wait, and do meanwhile what else is to be done."""
        time.sleep(seconds)

    def trouble(self) -> str:
        """Return why it does not work any more, if so."""
        return ""


class BrokerClient(Publisher):
    """A broker of the game, used as a node would use it; it can also hear."""

    def __init__(self, url: str) -> None:
        self._broker = open_broker(url)
        # What is called for every message is the broker's own, so that nothing of ours is measured.
        self.publish = self._broker.publish
        self._receive = self._broker.receive
        #: How often it told of a gap.
        self.resets = 0

    def subscribe(self, channels: Iterable[str]) -> None:
        """Ask for the messages of these channels too."""
        self._broker.subscribe(*channels)

    def receive(self, timeout: float) -> bytes | None:
        """Return the next payload, or None after `timeout` seconds or at a Reset."""
        item = self._receive(timeout)
        if isinstance(item, Message):
            return item.payload
        if item is not None:
            self.resets += 1
        return None

    def sleep(self, seconds: float) -> None:
        gevent.sleep(seconds)

    def dropped(self) -> int:
        return self._broker.counters.dropped

    def cuts(self) -> int:
        return self._broker.counters.reconnects

    def trouble(self) -> str:
        # It never raises a connection's error, but it refuses what it cannot send.
        deadline = time.monotonic() + GONE_S
        while not self._broker.publish("two-queues:end", b""):
            if time.monotonic() > deadline:
                return "the broker is gone"
            gevent.sleep(0.05)
        return ""


class RedisPublisher(Publisher):
    """redis-py, one round trip a message."""

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(url)
        self._redis.ping()

    def publish(self, channel: str, payload: bytes) -> bool:
        self._redis.publish(channel, payload)
        return True


class BufferedRedisPublisher(Publisher):
    """redis-py with a pipeline: one round trip for BUFFER_MESSAGES, or for those of BUFFER_S."""

    def __init__(self, url: str) -> None:
        client = redis.Redis.from_url(url)
        client.ping()
        self._pipeline = client.pipeline(transaction=False)
        self._since = 0.0

    def publish(self, channel: str, payload: bytes) -> bool:
        waiting = len(self._pipeline)
        if not waiting:
            self._since = time.monotonic()
        self._pipeline.publish(channel, payload)
        if waiting + 1 >= BUFFER_MESSAGES:
            self._pipeline.execute()
        return True

    def sleep(self, seconds: float) -> None:
        if len(self._pipeline) and time.monotonic() - self._since >= BUFFER_S:
            self._pipeline.execute()
        super().sleep(seconds)


#: What a worker may be told to use -> what it is.
PUBLISHERS: dict[str, type[Publisher]] = {
    "broker": BrokerClient,
    "redis-py": RedisPublisher,
    "redis-py-buffered": BufferedRedisPublisher,
}
