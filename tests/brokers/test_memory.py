import gevent
import pytest

from flatlands.brokers import inbox, memory
from flatlands.brokers.base import BrokerClosed, Message, Reset
from flatlands.brokers.registry import open_broker


@pytest.fixture
def pair():
    publisher, subscriber = open_broker("memory://pair"), open_broker("memory://pair")
    yield publisher, subscriber
    publisher.close()
    subscriber.close()


def test_brokers_of_different_names_do_not_hear_each_other(pair):
    stranger = open_broker("memory://other")
    stranger.subscribe("a")
    pair[0].publish("a", b"1")
    assert stranger.receive(0.05) is None
    stranger.close()


def test_a_full_queue_drops_counts_and_resets_before_any_later_message(pair, monkeypatch):
    monkeypatch.setattr(inbox, "QUEUE_LIMIT", 3)
    publisher, subscriber = pair
    subscriber.subscribe("a", "b", "c")
    for channel in "aaabab":
        publisher.publish(channel, b"")
    assert subscriber.counters.dropped == 3
    assert subscriber.receive(0) == Message("a", b"")
    assert subscriber.receive(0) == Message("a", b"")
    publisher.publish("c", b"later")
    got = [subscriber.receive(0) for _ in range(3)]
    assert got == [Message("a", b""), Reset({"a", "b"}), Message("c", b"later")]


def test_a_channel_nobody_hears_costs_nothing(pair):
    publisher, subscriber = pair
    for n in range(1000):
        subscriber.subscribe(f"sq {n}:0")
        publisher.publish(f"sq {n}:1", b"")
        subscriber.unsubscribe(f"sq {n}:0")
    assert memory._buses["memory://pair"] == {}


def test_the_null_broker_takes_all_and_gives_nothing():
    broker = open_broker("null://")
    broker.subscribe("a")
    assert broker.publish("a", b"1") is True
    assert broker.receive(0.01) is None
    assert broker.counters.published == 1 and broker.counters.received == 0
    waiting = gevent.spawn(broker.receive)
    gevent.sleep(0.02)
    broker.close()
    with pytest.raises(BrokerClosed):
        waiting.get(timeout=5)
