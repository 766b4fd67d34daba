"""Seals: what is heard from brokers that have the key, and from those that do not."""

import logging

import pytest

from flatlands.brokers.base import Message
from flatlands.brokers.registry import open_broker
from flatlands.brokers.sealed import SEAL_SIZE, SealedBroker

URL = "memory://sealed"


@pytest.fixture
def opened():
    """A function that opens a broker with or without a secret."""
    brokers = []

    def open_one(secret=None):
        broker = open_broker(URL)
        brokers.append(broker if secret is None else SealedBroker(broker, secret))
        return brokers[-1]

    yield open_one
    for broker in brokers:
        broker.close()


@pytest.mark.parametrize("secret", ["another key", None])
def test_messages_of_strangers_are_counted_logged_once_and_dropped(opened, secret, caplog):
    here, stranger = opened("key"), opened(secret)
    here.subscribe("a")
    for payload in (b"", b"1234567", b"12345678", b"x" * 1000):
        stranger.publish("a", payload)
    assert here.receive(0.01) is None
    opened("key").publish("a", b"good")
    assert here.receive(0) == Message("a", b"good")
    assert here.counters.forged == 4
    told = [r.message for r in caplog.records if r.levelno == logging.WARNING]
    assert len(told) == 1 and "a server has a different key" in told[0]


def test_a_seal_is_good_for_its_channel_and_its_payload_only(opened):
    here, sender, wire = opened("key"), opened("key"), opened()
    here.subscribe("b", "ab")
    wire.subscribe("a")
    sender.publish("a", b"b1")
    sealed = wire.receive(0).payload
    assert len(sealed) == 2 + SEAL_SIZE
    for channel, payload in (
        ("b", sealed),
        ("ab", sealed[1:]),
        ("ab", sealed),
    ):
        wire.publish(channel, payload)
    wire.subscribe("b")
    sender.publish("b", b"1")
    sealed = wire.receive(0).payload
    for at in range(len(sealed)):
        wire.publish("b", sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :])
    wire.publish("b", sealed[:-1])
    wire.publish("b", sealed + b"\0")
    assert here.receive(0) == Message("b", b"1")
    assert here.receive(0.01) is None
    assert here.counters.forged == 3 + len(sealed) + 2


def test_messages_that_do_not_leave_the_process_are_not_sealed(opened):
    assert not isinstance(open_broker("memory://alone", secret="key"), SealedBroker)
    assert not isinstance(open_broker("memory://a,memory://b", secret="key"), SealedBroker)
