"""The longest: of all times for which somebody kept the ember, at any node, the longest counts."""

import msgpack
import pytest

from flatlands.games.flatlands.ember.longest import (
    COUNTS_FOR,
    DAY,
    EVER,
    GROUP,
    QUEUE,
    Best,
    Kept,
    Longest,
)
from flatlands.server.kept.keeper import Keeper
from flatlands.stores.base import StoreError
from tests.server.harness import Clock, Harness, clock_stores
from tests.server.things import Broken

HERE = f"{QUEUE} 2013-16"
ADA, BOB = Kept(41_000, 70_000, "Ada"), Kept(123_000, 70_001, "Bob")


@pytest.fixture
def two():
    """Two nodes that share a store; its answers come at once."""
    clock = Clock()
    return Harness(nodes=2, clock=clock, stores=clock_stores(clock))


def read(harness, host=0):
    node = harness.hosts[host].node
    return node.game.longest.read(node.keeper.store)


def count(harness, kept, host=0):
    harness.hosts[host].node.game.longest.count(kept)


def test_the_longest_counts_at_both_nodes_and_is_stored_as_the_page_about_nodes_says(two):
    assert read(two) == Best(None, None)
    count(two, ADA)
    assert read(two) == read(two, 1) == Best(ADA, ADA)
    items = two.node.keeper.store.scan("longest 2013-16", 9)
    bodies = {item.id: msgpack.unpackb(item.body) for item in items}
    assert bodies == dict.fromkeys(("day", "ever"), [41_000, 70_000, "Ada"])
    count(two, BOB, 1)
    count(two, ADA)
    # Who keeps it for as long as another one did is not longer.
    count(two, BOB._replace(name="Cid"))
    assert read(two) == read(two, 1) == Best(BOB, BOB)
    other = Longest("7-16", two.node.keeper)
    assert other.read(two.node.keeper.store) == Best(None, None)
    assert not two.loop.stats["store_errors"] and not two.loop.stats["errors"]


def test_that_of_the_day_counts_for_a_day(two):
    count(two, BOB)
    items = {item.id: item for item in two.node.keeper.store.group(HERE, GROUP)}
    day = COUNTS_FOR[DAY]
    assert items[DAY].delay == day and items[EVER].delay > 1000 * 365 * day
    two.clock.time += day
    assert read(two) == Best(None, BOB)
    count(two, ADA)
    assert read(two) == Best(ADA, BOB)


def test_an_operator_clears_a_name(two):
    for kept in (ADA, BOB):
        count(two, kept)
    two.node.game.longest.clear("Ada", "?")
    assert read(two) == Best(BOB, BOB)
    two.clock.time += 1000
    two.node.game.longest.clear("Bob", "?")
    assert read(two) == Best(*2 * [BOB._replace(name="?")])
    [day] = [item for item in two.node.keeper.store.group(HERE, GROUP) if item.id == DAY]
    assert 0 < day.delay <= COUNTS_FOR[DAY] - 1000


def test_a_store_that_fails_loses_a_time_and_says_so(two):
    keeper = Keeper(Broken(), two.loop, lambda call, *arguments: call(*arguments))
    longest = Longest("2013-16", keeper)
    longest.count(ADA)
    assert keeper.trouble == "the disk is full" and two.loop.stats["store_errors"] == 1
    with pytest.raises(StoreError):
        longest.read(keeper.store)
