import time

import gevent
import pytest

from flatlands.brokers.base import Message, Reset
from flatlands.brokers.link import Link
from flatlands.brokers.redis.cluster import slot_of
from tests.brokers.faults import (
    PATIENCE,
    STALL_S,
    Ledger,
    await_log,
    await_refusal,
    await_reset,
    await_young,
    drain,
    exchange,
    little_work,
    make_live,
    oldest,
)
from tests.brokers.redis_servers import free_port, running, running_cluster
from tests.brokers.servers import shared

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def cluster():
    with running_cluster() as cluster:
        yield cluster


def channels_of(cluster, each=1):
    """Return `each` channels of every master."""
    found = {master: [] for master in cluster.masters}
    number = 0
    while any(len(names) < each for names in found.values()):
        name = f"sq {number}:0"
        names = found[cluster.master_of(slot_of(name.encode()))]
        if len(names) < each:
            names.append(name)
        number += 1
    return list(found.values())


def test_slots_are_those_of_the_server(cluster):
    for name in "a", "sq -1:10", "é", "{a}b", "x{a}", "x{}a", "{", "}{a", "{a", "{{a}}", "a{b}{c}":
        assert slot_of(name.encode()) == int(cluster.nodes[0].ask("CLUSTER", "KEYSLOT", name))


@pytest.mark.parametrize("seconds", [2.0, STALL_S], ids=["dead", "stalled"])
def test_a_master_in_trouble_costs_only_its_own_channels(cluster, opened, monkeypatch, seconds):
    monkeypatch.setattr(Link, "probes_limit", 2)
    stalls, master = seconds == STALL_S, cluster.masters[1]
    broker = opened(cluster.url)
    first, lost, third = (names[0] for names in channels_of(cluster))
    make_live(broker, first, lost, third)
    ledger = Ledger(broker)
    (master.stall if stalls else master.kill)()
    try:
        with little_work():
            if stalls:
                # Nobody can know yet.
                assert broker.publish(lost, b"under way") is True
            else:
                await_refusal(broker, lost, b"under way")
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                for name in (first, third):
                    assert broker.publish(name, b"1") is True
                got = [broker.receive(PATIENCE), broker.receive(PATIENCE)]
                assert sorted(got) == sorted([Message(first, b"1"), Message(third, b"1")])
                assert broker.receive(0.2) is None
        assert broker.publish(lost, b"lost") is False
        troubled = [link.name for link in broker.links() if link.trouble]
        assert troubled == [f"redis 127.0.0.1:{master.port}"]
    finally:
        (master.resume if stalls else master.start)()
    assert await_reset(broker, lost) == {lost}
    exchange(broker, first, lost, third)
    await_young(broker, 3)
    assert ledger.missing() == 0


def test_a_slot_that_moves_is_followed(cluster, opened):
    broker, watcher, late = (opened(cluster.url) for _ in range(3))
    staying, moving, _ = channels_of(cluster, each=8)
    make_live(broker, *staying, *moving)
    _, source, target = cluster.masters
    try:
        for name in moving:
            cluster.move(slot_of(name.encode()), source, target)
        with little_work():
            assert await_reset(broker, *moving) == set(moving)
        ledger = Ledger(broker)
        exchange(broker, *staying, *moving)
        assert ledger.missing() == 0
        assert broker.counters.reconnects == 0
        # A broker that only publishes has not heard of it: the old master refuses, and says where.
        lost = Ledger(watcher)
        for name in moving:
            watcher.publish(name, b"to the old one")
        with gevent.Timeout(PATIENCE):
            while lost.missing():
                gevent.sleep(0.02)
        assert watcher.counters.dropped == len(moving)
        assert drain(broker, 0.5) == []
        for name in moving:
            assert watcher.publish(name, b"to the new one") is True
        assert all(isinstance(broker.receive(PATIENCE), Message) for _ in moving)
        # Nor has a broker that only subscribes now.
        make_live(late, *moving)
    finally:
        for name in moving:
            cluster.move(slot_of(name.encode()), target, source)
    # A slot that moves away and back keeps its subscriptions.
    held = opened(cluster.url)
    make_live(held, moving[0])
    cluster.move(slot_of(moving[0].encode()), source, target)
    cluster.move(slot_of(moving[0].encode()), target, source)
    assert await_reset(held, moving[0]) == {moving[0]}
    exchange(held, moving[0])


def test_a_replica_that_takes_over_is_followed(opened):
    with running_cluster(replicas=3) as cluster:
        broker = opened(cluster.url)
        first, dead, third = (names[0] for names in channels_of(cluster))
        make_live(broker, first, dead, third)
        ledger = Ledger(broker)
        cluster.masters[1].kill()
        with little_work():
            assert await_reset(broker, dead) == {dead}
        exchange(broker, first, dead, third)
        assert ledger.missing() == 0
        await_young(broker, 3)
        # The old master comes back as a replica of the new one, and disturbs no one.
        cluster.masters[1].start()
        assert drain(broker, 1.5) == []
        exchange(broker, first, dead, third)


def test_a_link_over_tls_to_a_master_comes_back_with_a_reset_of_its_channels(opened):
    with running_cluster(tls=True) as cluster:
        broker = opened(cluster.url)
        channels = channels_of(cluster, each=3)
        everything = [name for names in channels for name in names]
        make_live(broker, *everything)
        cluster.masters[1].ask("CLIENT", "KILL", "TYPE", "pubsub")
        assert await_reset(broker, *channels[1]) == set(channels[1])
        exchange(broker, *everything)


def test_a_cluster_may_start_after_its_nodes(opened):
    with running_cluster(masters=2) as cluster:
        for master in cluster.masters:
            master.kill()
        broker = opened(cluster.url)
        names = [names[0] for names in channels_of(cluster)]
        broker.subscribe("gone", *names)
        broker.unsubscribe("gone")
        assert broker.publish(names[0], b"early") is False
        for master in cluster.masters:
            master.start()
        assert await_reset(broker, *names) == set(names)
        exchange(broker, *names)


def test_a_server_that_is_not_a_cluster_is_logged(opened, caplog):
    server = shared(running)
    broker = opened(f"rediscluster://127.0.0.1:{server.port}")
    with little_work():
        assert broker.publish("a", b"") is False
        await_log(caplog, "cluster support disabled")
        assert drain(broker, 1.5) == []
    assert oldest(broker) > 1
    assert caplog.text.count("cluster support disabled") == 1


def test_a_broker_that_resubscribes_loses_nothing_and_hardly_works_while_idle(cluster, opened):
    # One live host in the URL is enough.
    url = f"rediscluster://127.0.0.1:{free_port()},127.0.0.1:{cluster.masters[2].port}"
    broker = opened(url)
    make_live(broker, "a", *(names[0] for names in channels_of(cluster)))
    for _ in range(5):
        broker.unsubscribe("a")
        gevent.sleep(0)
        broker.subscribe("a")
        gevent.sleep(0)
    item = broker.receive(0.2)
    assert not isinstance(item, Reset), item
    with little_work():
        assert broker.receive(2) is None
    await_young(broker, 2)
