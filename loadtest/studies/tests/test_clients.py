"""The buffers of the benchmark's publishers, and what clients of 2013 do in trouble: with a real
Redis, and with a real broker of 2013."""

import time

import pytest

from flatlands.loadtest.studies.children import Children
from flatlands.loadtest.studies.two_queues.clients import (
    BufferedRedisPublisher,
    Redis2013,
    ZeroMQ2013,
)
from flatlands.loadtest.studies.two_queues.measure import open_brokers
from flatlands.loadtest.studies.two_queues.series import SERIES
from flatlands.loadtest.studies.two_queues.study import Options
from tests.brokers.redis_servers import running
from tests.brokers.servers import eventually
from tests.processes import PATIENCE

pytestmark = pytest.mark.load

BUFFERED = pytest.mark.parametrize("kind", [BufferedRedisPublisher, Redis2013])

#: A time so long that nothing is sent because it is over.
NEVER_MS = 60_000


@pytest.fixture
def redis():
    with running() as server:
        yield server


def client(kind, redis, buffer, flush_ms):
    url = f"redis://127.0.0.1:{redis.port}"
    return kind({"url": url, "buffer": buffer, "flush_ms": flush_ms})


def published(redis):
    """Return how many messages were published to Redis."""
    for line in redis.ask("INFO", "commandstats").splitlines():
        if line.startswith("cmdstat_publish:"):
            return int(line.partition("calls=")[2].partition(",")[0])
    return 0


@BUFFERED
def test_a_full_buffer_is_sent_at_once_and_another_after_a_time(kind, redis):
    publisher = client(kind, redis, 3, NEVER_MS)
    for number in range(1, 8):
        assert publisher.publish("1", b"x")
        assert published(redis) == number // 3 * 3
    # The messages that wait are sent once the time is over.
    publisher, before = client(kind, redis, 1000, 200), published(redis)
    began = time.monotonic()
    publisher.publish("1", b"x")
    while published(redis) == before:
        assert time.monotonic() - began < 60
        publisher.sleep(0.01)
    # The thread of 2013 has begun to count some time earlier.
    assert kind is Redis2013 or time.monotonic() - began >= 0.2


def test_a_thread_of_2013_that_has_lost_its_redis_is_reported_at_the_end(redis):
    publisher = client(Redis2013, redis, 1000, 1)
    publisher.publish("1", b"x")
    eventually(lambda: published(redis) == 1, "what waits is not sent")
    assert publisher.trouble() == ""
    redis.kill()
    publisher.publish("1", b"x")
    eventually(lambda: publisher.trouble() != "", "the thread does not tell of its end")
    assert "refused" in publisher.trouble()


def test_a_subscriber_of_2013_that_was_cut_off_goes_on_and_tells_nobody():
    with running("--client-output-buffer-limit", "pubsub 32kb 32kb 1") as redis:
        subscriber = client(Redis2013, redis, 1, NEVER_MS)
        subscriber.subscribe(["1"])
        subscriber.publish("1", b"first")
        eventually(lambda: subscriber.receive(0.1) == b"first", "nothing comes back")
        # More than the buffers of both ends can hold while nothing is read.
        publisher, sent = client(Redis2013, redis, 1, NEVER_MS), 400
        for _ in range(sent):
            publisher.publish("1", bytes(60_000))
        heard = []

        def at_the_end():
            subscriber.publish("1", b"last")
            heard.append(subscriber.receive(0.1))
            return heard[-1] == b"last"

        eventually(at_the_end, "it does not come back")
    assert heard.count(bytes(60_000)) < sent
    assert subscriber.resets == subscriber.dropped() == subscriber.cuts() == 0
    assert subscriber.trouble() == ""


def test_a_subscriber_of_2013_is_sent_what_begins_with_its_channels_name():
    with Children() as children:
        url, _ = open_brokers(SERIES["zeromq-2013"], Options(), children, "")
        one = ZeroMQ2013({"url": url})
        one.subscribe(["1"])

        def comes_back():
            one.publish("1", b"hello")
            return one.receive(0.1) == b"hello"

        eventually(comes_back, "nothing comes back")
        for channel, payload in (("2", b"two"), ("10", b"ten"), ("1", b"a b")):
            one.publish(channel, payload)
        heard = []
        # A message for the other channel would come first.
        while b"a b" not in heard:
            heard.append(one.receive(PATIENCE))
            assert heard[-1] is not None
        for socket in (one._push, one._sub):
            socket.close(linger=0)
    assert [payload for payload in heard if payload != b"hello"] == [b"ten", b"a b"]
