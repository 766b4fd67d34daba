"""The contract of brokers/base.py, held against every backend that carries messages.

A new backend is one more line in BACKENDS.
"""

import threading
import time
from contextlib import nullcontext
from functools import partial

import gevent
import pytest

from flatlands.brokers.base import BrokerClosed, Message
from flatlands.brokers.registry import open_broker
from tests.brokers.mosquitto_servers import Mosquitto
from tests.brokers.nats_servers import Nats
from tests.brokers.redis_servers import Redis, rediscluster_url
from tests.brokers.servers import PASSWORD, QUOTED, run_url, three
from tests.brokers.zeromq_forwarders import forwarding_url

#: What is started once, and yields a broker's URL for as long as its block lasts.
BACKENDS = {
    "memory": lambda: nullcontext("memory://contract"),
    "redis": partial(run_url, Redis, login=True),
    "rediss": partial(run_url, Redis, tls=True, login=True),
    "rediscluster": rediscluster_url,
    "nats": partial(run_url, Nats, login=True),
    "tls": partial(run_url, Nats, tls=True),
    "mqtt": partial(run_url, Mosquitto, login=True),
    "mqtts": partial(run_url, Mosquitto, tls=True),
    "zeromq": forwarding_url,
    "zeromq+ipc": partial(forwarding_url, ipc=True),
    "ring of memory": lambda: nullcontext("memory://one,memory://two,memory://three"),
    "ring of redis": lambda: three(partial(run_url, Redis)),
    "ring of zeromq": lambda: three(forwarding_url),
}

#: Seconds that a message may take, and that nothing must come in.
SOON, NEVER = 20.0, 0.1

#: Channels that surely reach every server of a backend that spreads them.
EVERYWHERE = 32


#: Those that are held to it with seals too, which nothing has that stays in one process.
SEALED = ("redis", "ring of zeromq")


def marked(name):
    """Return a parameter, marked unless all of its backend is in this process."""
    return pytest.param(name, marks=() if "memory" in name else pytest.mark.process)


@pytest.fixture(
    scope="module", params=map(marked, [*BACKENDS, *(f"sealed {name}" for name in SEALED)])
)
def opening(request):
    """A function that opens a broker."""
    name = request.param.removeprefix("sealed ")
    secret = None if name == request.param else "a secret of tests"
    with BACKENDS[name]() as url:
        yield partial(open_broker, url, secret=secret)


@pytest.fixture
def brokers(opening):
    opened = []

    def open_one():
        opened.append(opening())
        return opened[-1]

    yield open_one
    for broker in opened:
        broker.close()


def settle(*subscribers):
    """Return once what each subscribed to before is in effect."""
    for broker in subscribers:
        silent = {f"settle {id(broker)} {time.monotonic()} {n}" for n in range(EVERYWHERE)}
        tokens = list(silent)
        broker.subscribe(*tokens)
        deadline = time.monotonic() + SOON
        while silent:
            assert time.monotonic() < deadline, "a subscription never took effect"
            for token in silent:
                broker.publish(token, b"?")
            while silent and (message := broker.receive(0.05)) is not None:
                silent.discard(message.channel)
        broker.unsubscribe(*tokens)


def receive(broker, seconds):
    """Return the next message, if one comes in time; of what `settle` published more may come."""
    while (message := broker.receive(seconds)) and message.channel.startswith("settle "):
        pass
    return message


def received(broker, count):
    """Return the next `count` messages, and check that no other comes."""
    messages = [receive(broker, SOON) for _ in range(count)]
    assert receive(broker, NEVER) is None
    return messages


def test_a_subscriber_hears_what_is_published_unchanged(brokers):
    publisher, subscriber = brokers(), brokers()
    subscriber.subscribe("a")
    settle(subscriber)
    largest = b"\0" * publisher.payload_limit
    for payload in (b"", b"x", bytes(range(256)), largest):
        assert publisher.publish("a", payload) is True
        assert receive(subscriber, SOON) == Message("a", payload)


def test_a_subscribed_publisher_hears_itself_once(brokers):
    broker = brokers()
    broker.subscribe("a", "a")
    broker.subscribe("a")
    settle(broker)
    broker.publish("a", b"1")
    assert received(broker, 1) == [Message("a", b"1")]


def test_channels_whose_names_begin_alike_are_different(brokers):
    publisher, subscriber = brokers(), brokers()
    names = ["sq 1:1", "sq 1:10", "sq 11:1", "sq -1:1", "sq 1:-1", "sq 1:"]
    for name in names:
        subscriber.subscribe(name)
        settle(subscriber)
        for other in names:
            publisher.publish(other, other.encode())
        assert received(subscriber, 1) == [Message(name, name.encode())]
        subscriber.unsubscribe(name)
        settle(subscriber)


def test_what_is_a_wildcard_or_a_separator_elsewhere_is_a_name_like_any_other(brokers):
    publisher, subscriber = brokers(), brokers()
    names = ["a/b", "a/+", "a/#", "#", "+/b", "a.b", "a.*", "a.>", ">", "*", "a//b", "/a/b", "a/b/"]
    names += ["$SYS/a", "a%2Fb", "a b", "a\tb", "é", "{a}b", "[a]?"]
    for some in names[::2], names[1::2]:
        subscriber.subscribe(*some)
        settle(subscriber)
        for name in names:
            publisher.publish(name, name.encode())
        expected = [Message(name, name.encode()) for name in some]
        assert sorted(received(subscriber, len(some))) == sorted(expected)
        subscriber.unsubscribe(*some)
        settle(subscriber)


def test_an_unsubscribed_channel_is_heard_no_more(brokers):
    publisher, subscriber = brokers(), brokers()
    subscriber.subscribe("a", "b")
    subscriber.unsubscribe("a")
    settle(subscriber)
    publisher.publish("a", b"1")
    publisher.publish("b", b"2")
    assert received(subscriber, 1) == [Message("b", b"2")]


def test_unsubscribing_an_unknown_channel_is_no_error(brokers):
    broker = brokers()
    broker.unsubscribe("never")
    broker.subscribe("a")
    broker.unsubscribe("a")
    broker.unsubscribe("a")
    settle(broker)
    broker.publish("a", b"1")
    assert received(broker, 0) == []


def test_order_is_kept_for_one_publisher_on_one_channel(brokers):
    publisher, subscriber = brokers(), brokers()
    subscriber.subscribe("a", "b")
    settle(subscriber)
    for n in range(1000):
        publisher.publish("ab"[n % 2], b"%d" % n)
    messages = received(subscriber, 1000)
    for channel in "ab":
        numbers = [int(m.payload) for m in messages if m.channel == channel]
        assert numbers == sorted(numbers) and len(numbers) == 500


def test_every_subscriber_hears_every_message(brokers):
    publisher, subscribers = brokers(), [brokers() for _ in range(4)]
    for subscriber in subscribers:
        subscriber.subscribe("a")
    settle(*subscribers)
    publisher.publish("a", b"1")
    for subscriber in subscribers:
        assert received(subscriber, 1) == [Message("a", b"1")]


def test_publishing_to_nobody_is_no_error_and_leaves_nothing(brokers):
    publisher, subscriber = brokers(), brokers()
    for n in range(100):
        assert publisher.publish(f"empty {n}", b"1") is True
    # What it hears itself was published after all of these.
    settle(publisher)
    subscriber.subscribe(*(f"empty {n}" for n in range(100)))
    settle(subscriber)
    assert received(subscriber, 0) == []


def test_subscriptions_that_come_and_go_leave_what_was_asked_last(brokers):
    publisher, subscriber = brokers(), brokers()
    for n in range(500):
        subscriber.subscribe(f"sq {n % 7}:0", f"sq {n % 5}:1")
        subscriber.unsubscribe(f"sq {(n + 3) % 7}:0")
    subscriber.unsubscribe(*(f"sq {n}:0" for n in range(7)), *(f"sq {n}:1" for n in range(5)))
    subscriber.subscribe("sq 2:0")
    settle(subscriber)
    for n in range(7):
        publisher.publish(f"sq {n}:0", b"0")
        publisher.publish(f"sq {n}:1", b"1")
    assert received(subscriber, 1) == [Message("sq 2:0", b"0")]


def test_anything_but_bytes_and_too_large_a_payload_is_refused(brokers):
    broker = brokers()
    for payload in ("text", bytearray(b"x"), memoryview(b"x"), None, 7):
        with pytest.raises(TypeError):
            broker.publish("a", payload)
    with pytest.raises(ValueError, match=str(broker.payload_limit)):
        broker.publish("a", b"x" * (broker.payload_limit + 1))


def test_receive_gives_up_after_its_timeout(brokers):
    broker = brokers()
    before = time.monotonic()
    assert broker.receive(0.05) is None
    assert time.monotonic() - before >= 0.04


def test_a_receiver_is_woken_by_close_and_nothing_works_afterwards(brokers):
    broker = brokers()
    waiting = gevent.spawn(broker.receive)
    gevent.sleep(0.05)
    broker.close()
    with pytest.raises(BrokerClosed):
        waiting.get(timeout=SOON)
    for call in (
        lambda: broker.publish("a", b""),
        lambda: broker.subscribe("a"),
        lambda: broker.unsubscribe("a"),
        lambda: broker.receive(0),
    ):
        with pytest.raises(BrokerClosed):
            call()
    broker.close()


def test_a_closed_broker_is_not_published_to(brokers):
    publisher, subscriber, closed = brokers(), brokers(), brokers()
    for broker in (subscriber, closed):
        broker.subscribe("a")
    settle(subscriber)
    closed.close()
    publisher.publish("a", b"1")
    assert received(subscriber, 1) == [Message("a", b"1")]


def test_what_happens_is_counted(brokers):
    publisher, subscriber = brokers(), brokers()
    subscriber.subscribe("a")
    settle(subscriber)
    assert received(subscriber, 0) == []
    before = subscriber.counters.received
    for _ in range(10):
        publisher.publish("a", b"1")
    received(subscriber, 10)
    assert publisher.counters.published == 10
    assert subscriber.counters.received == before + 10
    assert publisher.counters.dropped == subscriber.counters.dropped == 0


def test_a_link_that_works_is_young(brokers):
    broker = brokers()
    settle(broker)
    for name, seconds, _ in broker.links():
        assert 0 <= seconds < 3
        assert QUOTED not in name and PASSWORD not in name


def test_no_backend_starts_a_thread_for_each_subscription(brokers):
    broker = brokers()
    before = threading.active_count()
    broker.subscribe(*(f"sq {n}:0" for n in range(1000)))
    settle(broker)
    assert threading.active_count() <= before + 1
