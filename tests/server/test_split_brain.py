"""Servers that share a store but hear different brokers."""

import logging

import pytest

from flatlands.games.paint.game import Game as Paint
from flatlands.server.cluster.split_brain import ALIVE_EVERY_MS, COUNTS_FOR_MS
from flatlands.server.squares.peers import NODE_DEAD_MS, UNHEARD_NODE
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from tests.server.harness import Broken, Harness


def sharing(nodes):
    """Return a harness whose nodes have shared a store for a while."""
    clock = Clock()
    harness = Harness(nodes=nodes, clock=clock, stores=shared_stores(clock))
    harness.run(4 * ALIVE_EVERY_MS)
    return harness


def cut(harness, host):
    """Let a node hear a different broker from all others."""
    for other in harness.hosts:
        if other is not host:
            harness.network.cuts |= {(other.broker, host.broker), (host.broker, other.broker)}


def apart(harness):
    return [host.node.peers.split_brain for host in harness.hosts]


def test_servers_that_share_a_store_and_hear_different_brokers_say_so(caplog):
    two = sharing(2)
    client = two.place("A", (0, 0))
    assert apart(two) == [False, False]
    cut(two, two.hosts[1])
    # Until they say so, each believes that the other one is dead.
    two.run(10_000 + NODE_DEAD_MS + 2 * ALIVE_EVERY_MS)
    assert apart(two) == [True, True] and client.model.linked is False
    told = [r.message for r in caplog.records if r.levelno == logging.WARNING]
    assert told.count(UNHEARD_NODE) == 2
    # Players may join all the same: this is how a world leaves one broker for another.
    assert [host.node.peers.why_not_ready() for host in two.hosts] == [[], []]
    two.run(30_000)
    assert apart(two) == [True, True]
    two.stop(two.hosts[1])
    two.run(COUNTS_FOR_MS + ALIVE_EVERY_MS)
    assert apart(two) == [False] and client.model.linked is True


def test_a_server_that_dies_stands_still_or_hears_nothing_splits_nothing(caplog):
    three = sharing(3)
    first, second, third = three.hosts
    three.kill(third)
    second.freeze()
    three.run(60_000)
    second.thaw()
    three.run(4 * ALIVE_EVERY_MS)
    second.broker.fail()
    three.run(60_000)
    second.broker.restore(second.node)
    three.host()
    three.run(4 * ALIVE_EVERY_MS)
    assert UNHEARD_NODE not in caplog.text and apart(three) == [False, False, False]


def test_a_server_that_was_seen_before_the_store_failed_splits_nothing(caplog):
    two = sharing(2)
    first, second = two.hosts
    store, first.node.store_client.store = first.node.store_client.store, Broken()
    two.run(ALIVE_EVERY_MS)
    two.kill(second)
    two.run(60_000)
    first.node.store_client.store = store
    two.run(4 * ALIVE_EVERY_MS)
    assert UNHEARD_NODE not in caplog.text and apart(two) == [False]


def test_a_server_of_another_game_that_uses_the_same_store_splits_nothing(caplog):
    two = sharing(1)
    two.play, two.options = Paint, None
    cut(two, two.host())
    two.run(60_000)
    assert UNHEARD_NODE not in caplog.text and apart(two) == [False, False]


@pytest.mark.interpreted
def test_nothing_is_split_before_its_rare_heartbeat_could_come(caplog):
    harness = sharing(1)
    for _ in range(2):
        harness.host()
        for host in harness.hosts:
            host.node.peers.count = lambda: 3000
        harness.run(60_000)
    assert UNHEARD_NODE not in caplog.text and apart(harness) == [False] * 3
