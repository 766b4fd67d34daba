from contextlib import ExitStack

import gevent
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flatlands.brokers import inbox, ring
from flatlands.brokers.base import BrokerClosed, Message, Reset
from flatlands.brokers.registry import open_broker
from flatlands.brokers.ring import HashRing
from tests.brokers.faults import (
    PATIENCE,
    await_reset,
    await_trouble,
    await_young,
    drain,
    exchange,
    make_live,
)
from tests.brokers.zeromq_forwarders import forwarding

SQUARES = [f"sq {col}:{row}" for col in range(-50, 50) for row in range(-50, 50)]

THREE = ["memory://one", "memory://two", "memory://three"]

hosts = st.from_regex(r"[a-z0-9]{1,12}", fullmatch=True)


def ring_of(*urls):
    return open_broker(",".join(urls))


def one_on_each(urls):
    """Return one channel for each member, which lives on it."""
    circle = HashRing(urls)
    homes = {circle.member(name): name for name in SQUARES}
    return [homes[url] for url in urls]


@settings(max_examples=4, deadline=None)
@given(st.lists(hosts, min_size=4, max_size=4, unique=True))
def test_a_fourth_member_takes_about_a_quarter_and_nothing_else_moves(names):
    urls = [f"redis://{name}:6379" for name in names]
    before, after = HashRing(urls[:3]), HashRing(urls)
    moved = [square for square in SQUARES if before.member(square) != after.member(square)]
    assert {after.member(square) for square in moved} == {urls[3]}
    assert 0.19 < len(moved) / len(SQUARES) < 0.31


def test_three_members_have_about_a_third_each():
    circle = HashRing(THREE)
    homes = [circle.member(square) for square in SQUARES]
    assert all(0.27 < homes.count(url) / len(SQUARES) < 0.40 for url in THREE)


def test_the_home_of_a_channel_never_changes():
    # If this fails, nodes of different versions do not hear each other.
    assert ring.point("sq 0:0") == 11132852554227708148
    circle = HashRing(["redis://a:1", "redis://b:2", "redis://c:3"])
    assert [circle.member(f"sq {n}:0")[8] for n in range(12)] == list("bbcacabbccba")


def test_rings_agree_whatever_the_order_and_the_passwords():
    rings = [
        ring_of("memory://b", "memory://a"),
        ring_of("memory://a", "memory://b"),
        ring_of("memory://b", "memory://user:secret@a"),
        ring_of("memory://a", "memory://c"),
        open_broker("memory://a"),
    ]
    hashes = [each.identity for each in rings]
    assert hashes[0] == hashes[1] == hashes[2] and len(set(hashes)) == 3
    for each in rings:
        each.close()


def test_each_channel_lives_on_one_member_and_counts_are_sums():
    whole, names = ring_of(*THREE), one_on_each(THREE)
    parts = [open_broker(url) for url in THREE]
    whole.subscribe(*names)
    for part, name in zip(parts, names, strict=True):
        part.subscribe(*names)
        whole.publish(name, b"1")
        assert part.receive(1) == Message(name, b"1")
    heard = [whole.receive(PATIENCE) for _ in names]
    assert sorted(heard) == sorted(Message(name, b"1") for name in names)
    assert (whole.counters.published, whole.counters.received) == (3, 3)
    for part in parts:
        assert part.receive(0.05) is None
        part.close()
    whole.close()


def test_the_loss_of_a_member_is_reported_in_its_place_among_its_messages(monkeypatch):
    monkeypatch.setattr(inbox, "QUEUE_LIMIT", 3)
    whole, names = ring_of(*THREE), one_on_each(THREE)
    whole.subscribe(*names)
    for n in range(5):
        whole.publish(names[0], b"%d" % n)
    whole.publish(names[1], b"")
    got = [whole.receive(1) for _ in range(5)]
    assert [item for item in got if item != Message(names[1], b"")] == [
        *(Message(names[0], b"%d" % n) for n in range(3)),
        Reset({names[0]}),
    ]
    assert whole.counters.dropped == 2
    whole.close()


def test_a_receiver_that_is_slow_stops_the_pumps_and_loses_nothing(monkeypatch):
    monkeypatch.setattr(ring, "HANDOFF", 4)
    whole, names = ring_of(*THREE), one_on_each(THREE)
    whole.subscribe(*names)
    for n in range(100):
        for name in names:
            whole.publish(name, b"%d" % n)
        gevent.sleep(0)
    got = [whole.receive(PATIENCE) for _ in range(300)]
    for name in names:
        assert [int(m.payload) for m in got if m.channel == name] == list(range(100))
    whole.publish(names[0], b"more")
    whole.close()
    with pytest.raises(BrokerClosed):
        whole.receive()


def test_a_pump_that_fails_starts_again_and_is_counted(monkeypatch, caplog):
    monkeypatch.setattr("flatlands.brokers.guard.RESTART_AFTER", 0.01)
    whole, names = ring_of(*THREE), one_on_each(THREE)
    whole.subscribe(*names)
    member = whole._find(names[0])
    receive, fails = member.receive, iter([True])

    def fail_once():
        if next(fails, False):
            raise RuntimeError("a test")
        return receive()

    monkeypatch.setattr(member, "receive", fail_once)
    for n in range(2):
        whole.publish(names[0], b"%d" % n)
    assert [m.payload for m in drain(whole, 1)] == [b"0", b"1"]
    assert whole.counters.errors == 1 and "a test" in caplog.text
    whole.close()


@pytest.mark.process
def test_a_dead_member_harms_only_its_own_channels():
    with ExitStack() as stack:
        forwarders = [stack.enter_context(forwarding()) for _ in range(3)]
        urls = [forwarder.url for forwarder in forwarders]
        broker, names = ring_of(*urls), one_on_each(urls)
        make_live(broker, *names)
        dead, *others = names
        forwarders[0].kill()
        await_trouble(broker)
        assert broker.publish(dead, b"lost") is False
        exchange(broker, *others)
        assert [link.name for link in broker.links() if link.trouble] == [urls[0]]
        forwarders[0].start()
        assert await_reset(broker, dead) == {dead}
        exchange(broker, *names)
        await_young(broker, 3)
        assert (broker.counters.reconnects, broker.counters.errors) == (1, 0)
        broker.close()
