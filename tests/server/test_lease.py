"""A lease: it is valid at one node at a time; soon after that one is gone, another one has it."""

import random
from collections import Counter
from functools import partial

import pytest

from flatlands.server.storage.client import StoreClient
from flatlands.server.storage.lease import LEASE_MS, LEASE_RENEW_MS, LEASE_VALID_MS, Lease
from flatlands.testkit.clock import Clock, ManualLoop
from flatlands.testkit.store import SimulatedStore, shared_stores
from tests.server.harness import Broken


class Node:
    """A node that shares a lease with others, and notes what it is told of it."""

    def __init__(self, clock, store):
        self.loop = ManualLoop(clock)
        #: Questions whose answers the test holds back, if it does.
        self.held_back = None
        self.store_client = StoreClient(store, self.loop, self.spawn)
        self.lease = Lease("thing", self.store_client, self.loop, self)
        self.may, self.losses, self.frozen = True, 0, False

    def spawn(self, call, *arguments):
        if self.held_back is None:
            call(*arguments)
        else:
            self.held_back.append(partial(call, *arguments))

    def answer(self):
        """Let the answer that is held back come, and later ones at once."""
        [deliver], self.held_back = self.held_back, None
        deliver()

    def may_hold(self):
        return self.may

    def read(self, store):
        return store.count("what the last one left")

    def write(self, store):
        store.put("what the last one left", [])

    def begin(self, found):
        """Do nothing."""

    def lost(self):
        self.losses += 1


class Nodes:
    """Some nodes that share a lease; the test moves their time."""

    def __init__(self, number=3):
        self.clock = Clock()
        opens = shared_stores(self.clock)
        self.all = [Node(self.clock, opens()) for _ in range(number)]
        for node in self.all:
            self.clock.time += 130
            node.lease.start()

    def run(self, ms, twice=0):
        """Let time pass; check that it is valid at two nodes for `twice` ms at most. Return
        the last node at which it was valid."""
        last, both = None, 0
        for _ in range(ms // 10):
            self.clock.time += 10
            for node in self.all:
                if not node.frozen:
                    node.loop.turn()
            valid = [node for node in self.all if node.lease.valid]
            both += 10 * (len(valid) > 1)
            last = valid[0] if valid else last
        assert both <= twice
        return last

    def holder(self):
        [node] = [node for node in self.all if node.lease.valid]
        return node


def test_a_node_that_stops_while_the_store_is_asked_gives_the_lease_back_afterwards():
    nodes = Nodes(1)
    [node] = nodes.all
    node.held_back = []
    nodes.run(LEASE_RENEW_MS)
    node.lease.stop()
    node.answer()
    assert not node.lease.held and not node.lease.valid


@pytest.mark.parametrize("may", [True, False])
def test_a_node_that_may_not_keep_a_lease_or_has_no_store_is_sure_for_a_while_and_told_later(may):
    nodes = Nodes()
    first = nodes.holder()
    store = first.store_client.store
    first.may, first.store_client.store = may, Broken() if may else store
    nodes.run(LEASE_VALID_MS)
    assert not first.lease.valid and first.lease.held
    nodes.run(LEASE_MS + LEASE_RENEW_MS - LEASE_VALID_MS)
    assert nodes.holder() is not first and not first.losses
    first.may, first.store_client.store = True, store
    nodes.run(LEASE_RENEW_MS)
    assert first.losses == 1


def test_a_slow_store_makes_nobody_sure_for_longer():
    nodes = Nodes(1)
    [node] = nodes.all
    node.held_back = []
    nodes.run(LEASE_RENEW_MS)
    asked = nodes.clock.time
    nodes.run(LEASE_VALID_MS - 500)
    node.answer()
    node.held_back = []
    assert node.lease.valid
    nodes.run(asked + LEASE_VALID_MS - nodes.clock.time)
    assert not node.lease.valid


@pytest.mark.parametrize("hours", [1, -1])
def test_a_step_of_the_stores_clock_gives_a_lease_to_two_for_no_longer_than_a_renewal(
    monkeypatch, hours
):
    nodes = Nodes()
    nodes.run(500)
    monkeypatch.setattr(SimulatedStore, "_now", lambda store: store._clock.time + hours * 3_600_000)
    nodes.run(2 * LEASE_RENEW_MS, twice=LEASE_RENEW_MS)
    nodes.run(LEASE_RENEW_MS)
    holder = nodes.holder()
    holder.frozen = True
    nodes.run(LEASE_MS + LEASE_RENEW_MS)
    assert nodes.holder() is not holder


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_no_two_are_sure_and_one_is_in_the_end(seed):
    chance, nodes = random.Random(seed), Nodes(4)
    stores = [node.store_client.store for node in nodes.all]
    for _ in range(300):
        node, at = chance.choice(nodes.all), chance.randrange(len(nodes.all))
        node.frozen = chance.random() < 0.3
        node.may = chance.random() < 0.7
        nodes.all[at].store_client.store = chance.choice((Broken(), stores[at], stores[at]))
        nodes.run(chance.randint(10, 2500))
    for node, store in zip(nodes.all, stores, strict=True):
        node.frozen, node.may, node.store_client.store = False, True, store
    nodes.run(LEASE_MS + LEASE_RENEW_MS)
    assert nodes.holder()
    assert sum(Counter(node.loop.stats)["errors"] for node in nodes.all) == 0
