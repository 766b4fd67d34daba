"""The benchmark's publishers and subscribers: the game's own brokers, redis-py in two ways, and the
clients that the article of 2013 describes.

They never count messages and never read stamps. redis-py raises errors of its connection. The
game's brokers reconnect by themselves; `dropped`, `cuts` and `trouble` say what it cost. The
clients of 2013 know of no loss.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import TypedDict

import gevent
import redis
import zmq

from flatlands.brokers.base import VERIFIED, Message
from flatlands.brokers.registry import open_broker
from flatlands.brokers.zeromq.wire import addresses_of
from flatlands.loadtest.kit.brokers import open_redis

#: Seconds within which a broker of the game must accept a message, or it counts as gone.
GONE_S = 3.0


class Config(TypedDict):
    """What a worker's configuration says to its clients, see worker.py."""

    url: str
    buffer: int
    flush_ms: int


class Client:
    """A connection that publishes, and may also subscribe. It is made from a worker's
    configuration, see worker.py, and is then connected."""

    #: Sends or queues a payload on a channel; returns False if that is impossible now.
    publish: Callable[[str, bytes], bool]

    #: Number of times that it was told of a loss.
    resets = 0

    def __init__(self, config: Config) -> None:
        raise NotImplementedError

    def subscribe(self, channels: Iterable[str]) -> None:
        """Subscribe to these channels too."""
        raise NotImplementedError

    def receive(self, timeout: float) -> bytes | None:
        """Return the next payload; None after `timeout` seconds, or if something else came."""
        raise NotImplementedError

    def dropped(self) -> int:
        """Return how many messages it knows to be lost, including those that it refused."""
        return 0

    def cuts(self) -> int:
        """Return how often its connection was lost and made again."""
        return 0

    def sleep(self, seconds: float) -> None:
        """Wait for some seconds, and send what has been buffered for long enough."""
        time.sleep(seconds)

    def trouble(self) -> str:
        """Return a sentence that says why it no longer works, or an empty text."""
        return ""


class BrokerClient(Client):
    """A broker of the game, used as a node uses it."""

    def __init__(self, config: Config) -> None:
        self._broker = open_broker(config["url"], os.environ.get("BROKER_TLS", VERIFIED))
        # These methods are called for each message, so no function of this module is in between.
        self.publish = self._broker.publish
        self._receive = self._broker.receive

    def subscribe(self, channels: Iterable[str]) -> None:
        self._broker.subscribe(*channels)

    def receive(self, timeout: float) -> bytes | None:
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


class RedisPublisher(Client):
    """redis-py with one round trip for each message."""

    def __init__(self, config: Config) -> None:
        self._redis = open_redis(config["url"])
        self._redis.ping()

    def publish(self, channel: str, payload: bytes) -> bool:
        self._redis.publish(channel, payload)
        return True


class BufferedRedisPublisher(Client):
    """redis-py with a pipeline: one round trip for `buffer` messages, or after `flush_ms`."""

    def __init__(self, config: Config) -> None:
        client = open_redis(config["url"])
        client.ping()
        self._pipeline = client.pipeline(transaction=False)
        self._most, self._longest = config["buffer"], config["flush_ms"] / 1000
        self._since = 0.0

    def publish(self, channel: str, payload: bytes) -> bool:
        waiting = len(self._pipeline)
        if not waiting:
            self._since = time.monotonic()
        self._pipeline.publish(channel, payload)
        if waiting + 1 >= self._most:
            self._pipeline.execute()
        return True

    def sleep(self, seconds: float) -> None:
        if len(self._pipeline) and time.monotonic() - self._since >= self._longest:
            self._pipeline.execute()
        super().sleep(seconds)


class Redis2013(Client):
    """redis-py at both ends, as the article describes it.

    Messages wait in a pipeline, which is a transaction. A thread sends them every `flush_ms`, the
    publisher itself once there are `buffer`, and a lock keeps the two apart. The subscriber is
    redis-py's own, which reconnects by itself and tells nobody.
    """

    def __init__(self, config: Config) -> None:
        # The article's redis.Redis(host) tries again after an error; from_url() alone does not.
        client = open_redis(config["url"], retry=redis.Redis().get_retry())
        client.ping()
        self._pubsub = client.pubsub(ignore_subscribe_messages=True)
        self._pipeline = client.pipeline()
        self._most = config["buffer"]
        self._lock = threading.Lock()
        self._failed = ""
        arguments = (config["flush_ms"] / 1000,)
        threading.Thread(target=self._send_regularly, args=arguments, daemon=True).start()

    def _send_regularly(self, pause: float) -> None:
        try:
            while True:
                time.sleep(pause)
                with self._lock:
                    self._pipeline.execute()
        except redis.RedisError as error:
            # The worker reports it at its end; until then its own calls fail in the same way.
            self._failed = str(error)

    def publish(self, channel: str, payload: bytes) -> bool:
        with self._lock:
            self._pipeline.publish(channel, payload)
            if len(self._pipeline) >= self._most:
                self._pipeline.execute()
        return True

    def subscribe(self, channels: Iterable[str]) -> None:
        self._pubsub.subscribe(*channels)

    def receive(self, timeout: float) -> bytes | None:
        # listen() does the same for each message, but could not be left when the run ends.
        message = self._pubsub.get_message(timeout=timeout)
        return message["data"] if message else None

    def trouble(self) -> str:
        return self._failed


class ZeroMQ2013(Client):
    """ZeroMQ as the article describes it, for the broker in broker_2013.py.

    A message is one frame: the channel's name, a space, the payload. So a subscription to "1" also
    receives "10". All queues have the library's limits: messages that do not fit into a queue to a
    subscriber are dropped, and nobody is told.
    """

    def __init__(self, config: Config) -> None:
        addresses = addresses_of(config["url"])
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._push, self._sub = context.socket(zmq.PUSH), context.socket(zmq.SUB)
        self._push.connect(addresses.pull)
        self._sub.connect(addresses.pub)
        self._timeout = -1.0

    def publish(self, channel: str, payload: bytes) -> bool:
        self._push.send(b"%s %s" % (channel.encode(), payload))
        return True

    def subscribe(self, channels: Iterable[str]) -> None:
        for channel in channels:
            self._sub.setsockopt(zmq.SUBSCRIBE, channel.encode())

    def receive(self, timeout: float) -> bytes | None:
        if timeout != self._timeout:
            self._timeout = timeout
            self._sub.rcvtimeo = round(1000 * timeout)
        try:
            return self._sub.recv().partition(b" ")[2]
        except zmq.Again:
            return None


#: Name in a worker's configuration -> class of its publishers.
PUBLISHERS: dict[str, type[Client]] = {
    "broker": BrokerClient,
    "redis-py": RedisPublisher,
    "redis-py-buffered": BufferedRedisPublisher,
    "redis-2013": Redis2013,
    "zeromq-2013": ZeroMQ2013,
}

#: The same for its subscribers. Clients that are not named here have the game's.
SUBSCRIBERS: dict[str, type[Client]] = {
    "redis-2013": Redis2013,
    "zeromq-2013": ZeroMQ2013,
}
