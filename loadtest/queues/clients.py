"""The benchmark's publishers and subscribers: the game's own brokers, and redis-py in two ways.

They never count messages and never read stamps. redis-py raises errors of its connection. The
game's brokers reconnect by themselves; `dropped`, `cuts` and `trouble` say what it cost.
"""

import time
from collections.abc import Callable, Iterable

import gevent
import redis

from brokers import Message, open_broker

#: The buffered publisher sends after so many messages, or after so many seconds.
BUFFER_MESSAGES = 1000
BUFFER_S = 0.2

#: Seconds within which a broker of the game must accept a message, or it counts as gone.
GONE_S = 3.0


class Publisher:
    """A connection that publishes."""

    #: Sends or queues a payload on a channel; returns False if that is impossible now.
    publish: Callable[[str, bytes], bool]

    def dropped(self) -> int:
        """Return how many messages it knows to be lost, including those that it refused."""
        return 0

    def cuts(self) -> int:
        """Return how often its connection was lost and made again."""
        return 0

    def sleep(self, seconds: float) -> None:
        """Wait for some seconds, and send what is buffered for long enough."""
        time.sleep(seconds)

    def trouble(self) -> str:
        """Return a sentence that says why it no longer works, or an empty text."""
        return ""


class BrokerClient(Publisher):
    """A broker of the game, used as a node uses it. It can also subscribe."""

    def __init__(self, url: str) -> None:
        self._broker = open_broker(url)
        # These methods are called for each message, so no function of this module is in between.
        self.publish = self._broker.publish
        self._receive = self._broker.receive
        #: Number of Resets received.
        self.resets = 0

    def subscribe(self, channels: Iterable[str]) -> None:
        """Subscribe to these channels too."""
        self._broker.subscribe(*channels)

    def receive(self, timeout: float) -> bytes | None:
        """Return the next payload; None after `timeout` seconds, or for a Reset."""
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
        # It never raises errors of its connection, but refuses messages that it cannot send.
        deadline = time.monotonic() + GONE_S
        while not self._broker.publish("two-queues:end", b""):
            if time.monotonic() > deadline:
                return "the broker is gone"
            gevent.sleep(0.05)
        return ""


class RedisPublisher(Publisher):
    """redis-py with one round trip for each message."""

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(url)
        self._redis.ping()

    def publish(self, channel: str, payload: bytes) -> bool:
        self._redis.publish(channel, payload)
        return True


class BufferedRedisPublisher(Publisher):
    """redis-py with a pipeline: one round trip after BUFFER_MESSAGES, or after BUFFER_S."""

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


#: Name in a worker's configuration -> class of its publishers.
PUBLISHERS: dict[str, type[Publisher]] = {
    "broker": BrokerClient,
    "redis-py": RedisPublisher,
    "redis-py-buffered": BufferedRedisPublisher,
}
