"""The longest: of all times for which somebody kept the ember, at any node, the longest counts."""

import random

import gevent
import msgpack
import pytest

from flatlands.server.loop import Loop
from flatlands.server.things.keeper import Keeper
from flatlands.server.things.longest import COUNTS_FOR, DAY, EVER, GROUP, QUEUE, Best, Kept, Longest
from flatlands.stores.base import StoreError
from flatlands.stores.registry import open_store
from tests.brokers.redis_servers import Redis
from tests.brokers.servers import run_url
from tests.server.harness import Harness
from tests.server.things import Broken

GROUND = "2013-16"
ADA, BOB = Kept(41_000, 70_000, "Ada"), Kept(123_000, 70_001, "Bob")


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.process)])
def url(request, tmp_path):
    if request.param == "redis":
        with run_url(Redis) as started:
            yield started
    else:
        yield f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def node(url):
    """A function that begins what a node has of the longest: (it, its keeper, its store)."""
    stores = []

    def begin(loop):
        store = open_store(url, "longest")
        stores.append(store)
        keeper = Keeper(store, loop)
        return Longest(GROUND, keeper), keeper, store

    yield begin
    for store in stores:
        store.close()


@pytest.fixture
def loop() -> Loop:
    return Harness().loop


def wait(*keepers):
    while any(keeper.waiting for keeper in keepers):
        gevent.sleep(0.005)


def test_an_operator_clears_a_name(node, loop):
    longest, keeper, store = node(loop)
    for kept in (ADA, BOB):
        longest.count(kept)
        wait(keeper)
    longest.clear("Ada", "?")
    wait(keeper)
    assert longest.read(store) == Best(BOB, BOB)
    longest.clear("Bob", "?")
    wait(keeper)
    assert longest.read(store) == Best(*2 * [BOB._replace(name="?")])
    [day] = [item for item in store.group(f"{QUEUE} {GROUND}", GROUP) if item.id == DAY]
    assert 0 < day.delay <= COUNTS_FOR[DAY]


def test_the_longest_counts_and_outlives_the_node(node, loop):
    longest, keeper, store = node(loop)
    assert longest.read(store) == Best(None, None)
    longest.count(ADA)
    wait(keeper)
    assert longest.read(store) == Best(ADA, ADA)
    longest.count(BOB)
    wait(keeper)
    longest.count(ADA)
    wait(keeper)
    # Who keeps it for as long as another one did is not longer.
    longest.count(BOB._replace(name="Cid"))
    wait(keeper)
    keeper.close()
    again, _keeper, store = node(loop)
    assert again.read(store) == Best(BOB, BOB)
    assert keeper.trouble is None and not loop.stats["store_errors"]


def test_that_of_the_day_counts_for_a_day(node, loop):
    longest, keeper, store = node(loop)
    longest.count(BOB)
    wait(keeper)
    items = {item.id: item for item in store.group(f"{QUEUE} {GROUND}", GROUP)}
    day = COUNTS_FOR[DAY]
    assert day - 60_000 < items[DAY].delay <= day and items[EVER].delay > 1000 * 365 * day
    # A day later.
    due = items[DAY]._replace(delay=0)
    assert store.take(f"{QUEUE} {GROUND}", DAY, [(f"{QUEUE} {GROUND}", due)]) == due.body
    assert longest.read(store) == Best(None, BOB)
    longest.count(ADA)
    wait(keeper)
    assert longest.read(store) == Best(ADA, BOB)


@pytest.mark.parametrize("seed", range(3))
def test_of_many_that_count_at_once_at_two_nodes_the_longest_stays(node, loop, seed):
    chance = random.Random(seed)
    nodes = [node(loop), node(loop)]
    times = chance.sample(range(1000, 100_000), 60)
    for at, ms in enumerate(times):
        nodes[at % 2][0].count(Kept(ms, 70_000 + at, f"P{at}"))
    wait(*(keeper for _, keeper, _ in nodes))
    most = max(times)
    best = Kept(most, 70_000 + times.index(most), f"P{times.index(most)}")
    for longest, keeper, store in nodes:
        assert longest.read(store) == Best(best, best)
        assert keeper.trouble is None and store.count(f"{QUEUE} {GROUND}") == 2
    assert not loop.stats["store_errors"] and not loop.stats["errors"]


def test_another_ground_has_its_own(node, loop):
    longest, keeper, store = node(loop)
    longest.count(ADA)
    wait(keeper)
    assert Longest("7-16", keeper).read(store) == Best(None, None)


def test_a_store_that_fails_loses_a_time_and_says_so(loop):
    keeper = Keeper(Broken(), loop)
    longest = Longest(GROUND, keeper)
    longest.count(ADA)
    wait(keeper)
    assert keeper.trouble == "the disk is full" and loop.stats["store_errors"] == 1
    with pytest.raises(StoreError):
        longest.read(keeper.store)


def test_the_items_are_as_the_page_about_nodes_says(node, loop):
    longest, keeper, store = node(loop)
    longest.count(ADA)
    wait(keeper)
    items = store.scan("longest 2013-16", 9)
    bodies = {item.id: msgpack.unpackb(item.body) for item in items}
    assert bodies == dict.fromkeys(("day", "ever"), [41_000, 70_000, "Ada"])
