"""The contract of brokers/base.py, held against every backend that carries messages.

A new backend is one more line in BACKENDS.
"""

import random
import threading
import time
from contextlib import nullcontext
from functools import partial

import gevent
import pytest

from flatlands.brokers.base import BrokerClosed, Message
from flatlands.brokers.registry import open_broker
from tests.brokers import mosquitto_servers, nats_servers, redis_servers
from tests.brokers.faults import await_young
from tests.brokers.servers import PASSWORD, QUOTED, run_url, shared, three
from tests.brokers.zeromq_forwarders import forwarding_url


def shared_url(running, **how):
    """Return a context manager that yields the URL of a server that other tests use too."""
    return nullcontext(shared(running, **how).url)


#: Context managers, started once, that yield a broker's URL for as long as their block lasts.
BACKENDS = {
    "memory": lambda: nullcontext("memory://contract"),
    "redis": partial(shared_url, redis_servers.running, login=True),
    "rediss": partial(shared_url, redis_servers.running, tls=True, login=True),
    "rediscluster": redis_servers.rediscluster_url,
    "nats": partial(shared_url, nats_servers.running, login=True),
    "tls": partial(shared_url, nats_servers.running, tls=True),
    "mqtt": partial(shared_url, mosquitto_servers.running, login=True),
    "mqtts": partial(shared_url, mosquitto_servers.running, tls=True),
    "zeromq": forwarding_url,
    "zeromq+ipc": partial(forwarding_url, ipc=True),
    "ring of memory": lambda: nullcontext("memory://one,memory://two,memory://three"),
    "ring of redis": lambda: three(partial(run_url, redis_servers.Redis)),
    "ring of zeromq": lambda: three(forwarding_url),
}

#: Seconds that a message may take.
SOON = 20.0
#: Seconds for which no other message may come.
NEVER = 0.1

#: Channels that surely reach every server of a backend that spreads them.
EVERYWHERE = 32


#: Those that are also tested with seals, which messages within one process do not have.
SEALED = ("redis", "ring of zeromq")


def marked(name):
    """Return a parameter, marked unless all of its backend runs in this process."""
    return pytest.param(name, marks=() if "memory" in name else pytest.mark.process)


@pytest.fixture(
    scope="module", params=map(marked, [*BACKENDS, *(f"sealed {name}" for name in SEALED)])
)
def opening(request):
    """A function that opens a broker."""
    name = request.param.removeprefix("sealed ")
    secret = None if name == request.param else "a secret of tests"
    with BACKENDS[name]() as url, pytest.MonkeyPatch.context() as patch:
        # A broker that links late begins with a Reset.
        patch.setattr("flatlands.brokers.zeromq.broker.OPEN_S", SOON)
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
    """Return once all earlier subscriptions are in effect."""
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
    """Return the next message, if one comes in time, without what is left of `settle`'s own."""
    while (message := broker.receive(seconds)) and message.channel.startswith("settle "):
        pass
    return message


def received(broker, count):
    """Return the next `count` messages, and check that no others come."""
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


#: Channels whose names begin alike, some with what other brokers use as wildcard or separator.
NAMES = ["a", "b", "sq 1:1", "sq 1:10", "sq 11:1", "sq -1:1", "sq 1:-1", "sq 1:"]
NAMES += ["a/b", "a/+", "a/#", "#", "+/b", "a.b", "a.*", "a.>", ">", "*", "a//b", "/a/b", "a/b/"]
NAMES += ["$SYS/a", "a%2Fb", "a b", "a\tb", "\u00e9", "{a}b", "[a]?"]


@pytest.mark.parametrize("seed", range(3))
def test_each_subscriber_hears_once_in_order_only_what_it_subscribed_to_last(brokers, seed):
    chance = random.Random(seed)
    held = {brokers(): set() for _ in range(3)}
    for _ in range(4):
        for broker, names in held.items():
            # Most unsubscribed names were never subscribed, and some are subscribed twice.
            for _ in range(chance.choice((1, 1, 100))):
                some, others = (chance.sample(NAMES, chance.randint(1, 9)) for _ in "12")
                broker.unsubscribe(*some)
                broker.subscribe(*others, *others[:2])
                names.difference_update(some)
                names.update(others)
        settle(*held)
        told = {broker: [] for broker in held}
        for number in range(1000):
            publisher = chance.choice(list(held))
            name = chance.choice(NAMES[:2] if number % 2 else NAMES)
            payload = b"%d %d" % (id(publisher), number)
            assert publisher.publish(name, payload) is True
            for broker, names in held.items():
                told[broker] += [Message(name, payload)] if name in names else []
        for broker, expected in told.items():
            assert in_order(received(broker, len(expected))) == in_order(expected)


def in_order(messages):
    """Return messages by channel and publisher, each of which has its own order."""
    found = {}
    for message in messages:
        found.setdefault((message.channel, message.payload.split()[0]), []).append(message)
    return found


def test_a_payload_that_is_too_large_or_not_bytes_is_refused(brokers):
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


def test_a_closed_broker_gets_nothing_that_is_published(brokers):
    publisher, subscriber, closed = brokers(), brokers(), brokers()
    for broker in (subscriber, closed):
        broker.subscribe("a")
    settle(subscriber)
    closed.close()
    publisher.publish("a", b"1")
    assert received(subscriber, 1) == [Message("a", b"1")]


def test_messages_are_counted(brokers):
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
    await_young(broker, 3)
    for name, seconds, _ in broker.links():
        assert seconds >= 0
        assert QUOTED not in name and PASSWORD not in name


def test_no_backend_starts_a_thread_for_each_subscription(brokers):
    broker = brokers()
    before = threading.active_count()
    broker.subscribe(*(f"sq {n}:0" for n in range(1000)))
    settle(broker)
    assert threading.active_count() <= before + 1
