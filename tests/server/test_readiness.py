"""When a node is ready for players, and what others can do about it: the one that comes later
yields."""

import logging

import pytest

from flatlands.brokers.base import LinkHealth
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.peer_protocol import HEARTBEAT_INTERVAL_MOST_MS
from flatlands.server.squares.peers import (
    DEAF,
    HEARTBEAT_EVERY,
    LISTENING,
    NODE_DEAD_MS,
    NODE_GONE_MS,
    NODES_LIMIT,
    OTHER_BROKERS,
    OTHER_CLOCK,
    OTHER_GROUND,
    RECENT_BEATS,
    UNREADABLE,
    NodeLoad,
    Peer,
)
from flatlands.server.squares.subscription import CHECK_AGAIN, SILENT_AFTER
from tests.server.harness import Harness


def reasons(host):
    return host.node.peers.why_not_ready()


def warned(caplog, sentence=""):
    """Return how many warnings have this sentence."""
    return sum(r.levelno >= logging.WARNING and sentence in r.message for r in caplog.records)


def forge(host, node, ground):
    """Publish somebody's heartbeat."""
    now, ring = host.loop.now(), host.broker.identity
    beat = peer_protocol.pack(
        peer_protocol.Heartbeat(node, now, ring, ground, 0, HEARTBEAT_EVERY, 0, False, *NodeLoad())
    )
    host.broker.publish(host.node.channels.nodes, beat)


@pytest.fixture
def one():
    """A harness whose one node has been ready for a while."""
    harness = Harness()
    harness.run(5000)
    assert reasons(harness.hosts[0]) == []
    return harness


def test_a_node_is_ready_when_it_has_heard_itself_and_listened_for_a_while():
    harness = Harness()
    [host] = harness.hosts
    assert reasons(host) == [LISTENING]
    harness.run(1400)
    assert reasons(host) == [LISTENING]
    harness.run(700)
    assert reasons(host) == []


def test_a_node_that_has_nobody_to_listen_to_is_ready_at_once():
    harness = Harness()
    harness.hosts[0].broker.ages = []
    host = harness.host()
    host.broker.ages = []
    host.node.peers._listen_for = 0
    harness.settle()
    assert reasons(host) == []


@pytest.mark.parametrize("before", [False, True], ids=["was never there", "was there"])
def test_a_node_is_not_ready_while_it_does_not_hear_itself(one, before):
    host = one.hosts[0] if before else one.host(down=True)
    assert reasons(host) == ([] if before else [DEAF])
    host.broker.down = True
    one.run(10_000)
    assert reasons(host) == [DEAF]
    host.broker.restore(host.node)
    one.run(1500 if before else 3000)
    assert reasons(host) == []


@pytest.mark.parametrize("other", [{"seed": 7}, {"side": 32}])
def test_a_stray_server_is_incompatible_and_nobody_else_is(one, other, caplog):
    [host] = one.hosts
    a = one.place("A", (0, 0))
    stray = one.host(**other)
    b = one.place("B", (0, 0), host=stray)
    one.run(30_000)
    assert reasons(host) == [] and reasons(stray) == [OTHER_GROUND]
    assert not a.sees(b) and not b.sees(a)
    assert not host.node.peers.peers
    assert warned(caplog, OTHER_GROUND) == 2
    assert host.loop.stats["incompatible"] >= 25
    # Another node that fits those that are ready joins them.
    late = one.host()
    one.run(3000)
    assert reasons(late) == [] and reasons(stray) == [OTHER_GROUND]
    for fit in (host, late):
        one.kill(fit)
    one.run(5000)
    assert reasons(stray) == []


def test_of_two_worlds_that_start_together_neither_is_ready_until_one_is_gone():
    harness = Harness()
    stray = harness.host(seed=7)
    harness.run(10_000)
    assert [reasons(host) for host in harness.hosts] == [[OTHER_GROUND], [OTHER_GROUND]]
    harness.kill(stray)
    harness.run(5000)
    assert reasons(harness.hosts[0]) == []


def test_a_server_with_other_brokers_is_incompatible(one):
    other = one.host()
    other.broker.identity = "another ring"
    one.run(5000)
    assert reasons(one.hosts[0]) == [] and reasons(other) == [OTHER_BROKERS]


def test_what_a_server_with_other_brokers_says_is_heard_but_not_believed(one, caplog):
    [host] = one.hosts
    other = one.host()
    one.run(5000)
    a, b = one.place("A", (0, 0)), one.place("B", (0, 0), host=other)
    one.run(3000)
    assert a.sees(b) and b.sees(a)
    # As with databases of one Redis, its messages come even so.
    other.broker.identity = "another ring"
    one.run(3000)
    late = one.place("C", (0, 0), host=other)
    late.walk(1, 0)
    one.run(3000)
    assert not (a.sees(b) or b.sees(a) or a.sees(late) or late.sees(a)) and b.sees(late)
    assert not host.node.peers.peers and not other.node.peers.peers
    assert warned(caplog, OTHER_BROKERS) == 2
    other.node.takeovers.ask(a.id, lambda _granted: None)
    one.run(1000)
    assert a.connection.closed is None and a.id in host.node.residents.by_id
    assert not host.loop.stats["malformed"] and a.model.linked


@pytest.mark.parametrize("forged", [False, True])
def test_the_first_of_a_world_that_cannot_read_what_it_hears_is_not_ready(one, forged):
    def hear_what_cannot_be_read(harness):
        [host, *_] = harness.hosts
        for _ in range(6):
            if forged:
                host.broker.counters.forged += 1
            else:
                host.broker.publish(host.node.channels.nodes, b"sealed, with another key")
            harness.run(1000)

    late = one.host(down=True)
    late.broker.down = False
    hear_what_cannot_be_read(one)
    # The late node hears one that is ready, so somebody else is incompatible.
    assert [reasons(host) for host in one.hosts] == [[], []]
    alone = Harness()
    hear_what_cannot_be_read(alone)
    assert reasons(alone.hosts[0]) == [UNREADABLE]
    alone.run(5000)
    assert reasons(alone.hosts[0]) == []


def test_a_silent_link_is_reported_by_name_and_with_a_banner_and_nobody_is_taken_for_dead(one):
    [host] = one.hosts
    other = one.host()
    a, b = one.place("A", (0, 0)), one.place("B", (0, 0), host=other)
    one.run(5000)
    host.broker.ages = [LinkHealth("redis one:6379", 0.3), LinkHealth("redis two:6379", 2.6)]
    one.run(1100)
    assert reasons(host) == ["redis two:6379 does not answer"] and reasons(other) == []
    assert not a.model.linked and b.model.linked
    assert one.place("C", (0, 0)).model.linked is False
    one.run(10_000)
    assert a.sees(b)
    # The node hears its own heartbeats, so it can tell when another one dies.
    one.kill(other)
    one.run(5000)
    assert not a.sees(b)
    host.broker.ages[0] = LinkHealth("redis one:6379", 3.0, "Connection refused")
    host.broker.ages[1] = LinkHealth("redis two:6379", 0.0)
    one.run(1100)
    assert reasons(host) == ["no link to redis one:6379: Connection refused"]
    host.broker.ages[0] = LinkHealth("redis one:6379", 0.3)
    one.run(1100)
    assert reasons(host) == [] and a.model.linked


def test_a_node_that_stood_still_does_not_blame_its_links(one):
    [host] = one.hosts
    host.broker.ages = [LinkHealth("redis", 5.0)]
    one.clock.time += 5000
    one.settle()
    assert host.node.peers.broken == []


def test_forged_heartbeats_flood_neither_the_log_nor_memory(one, caplog):
    [host] = one.hosts
    one.place("A", (0, 0))
    one.run(1000)
    for node in range(NODES_LIMIT + 500):
        forge(host, 10_000 + node, "2013-16" if node % 2 else "7-16")
    one.run(500)
    peers = host.node.peers
    assert len(peers.peers) + len(peers.incompatible) == NODES_LIMIT
    assert host.loop.stats["nodes_refused"] == 500
    one.run(HEARTBEAT_EVERY)
    assert warned(caplog) == 2
    one.run(NODE_DEAD_MS + 2 * HEARTBEAT_EVERY)
    assert not peers.peers and not peers.incompatible
    one.run(NODE_GONE_MS)
    assert reasons(host) == []


def test_pages_of_a_node_that_is_never_heard_again_are_not_kept(one):
    [host] = one.hosts
    one.place("A", (0, 0))
    square = host.node.channels.square((0, 0))
    for node in range(NODES_LIMIT + 100):
        page = peer_protocol.pack(peer_protocol.FullState(0, 0, node, 1, host.loop.now(), 0, 2, []))
        host.broker.publish(square, page)
    one.run(100)
    heard = host.node.subscriptions.by_square[0, 0]
    assert len(heard.cursors) == NODES_LIMIT
    one.run(SILENT_AFTER + CHECK_AGAIN)
    assert not heard.cursors and not host.node.square_context.squares_by_node
    assert len(host.node.peers.peers) == NODES_LIMIT
    one.run(3 * HEARTBEAT_INTERVAL_MOST_MS + 2 * HEARTBEAT_EVERY)
    assert not host.node.peers.peers


def test_a_takeover_of_an_incompatible_node_is_not_obeyed(one):
    [host] = one.hosts
    a = one.place("A", (0, 0))
    stray = one.host(seed=7)
    one.run(1500)
    stray.node.takeovers.ask(a.id, lambda _granted: None)
    one.run(1000)
    assert a.connection.closed is None and a.id in host.node.residents.by_id


@pytest.mark.parametrize("skew", [7000, -7000])
def test_clocks_that_differ_by_more_than_some_seconds_are_noticed_by_both_nodes(skew, caplog):
    harness = Harness(nodes=2, skew=skew, ready=True)
    first, second = harness.hosts
    harness.run(90_000)
    for host, other, by in ((first, second, skew), (second, first, -skew)):
        assert host.node.peers.clocks_apart == pytest.approx(7000, abs=100)
        assert host.node.peers.warnings() == [OTHER_CLOCK] and reasons(host) == []
        assert warned(caplog, f"{OTHER_CLOCK} (node {other.node.id}: {by // 1000:+} s)") == 2
    harness.kill(second)
    harness.run(NODE_DEAD_MS + 2000)
    assert first.node.peers.clocks_apart == 0 and first.node.peers.warnings() == []


def test_late_heartbeats_are_no_wrong_clock(caplog):
    harness = Harness(nodes=2, skew=4000, ready=True)
    first, second = harness.hosts
    # The first heartbeats of a node may be read late, after a pause of the reader.
    now = first.loop.now()
    peer = first.node.peers.peers[second.node.id] = Peer(9, now)
    for late in range(RECENT_BEATS - 1, 0, -1):
        peer.sample(now, second.loop.now() - 10_000 * late)
        first.node.peers._compare_clocks()
        assert first.node.peers.clocks_apart == 0
    harness.run(20_000)
    assert 3900 < first.node.peers.clocks_apart < 4100
    assert warned(caplog, OTHER_CLOCK) == 0 and first.node.peers.warnings() == []
