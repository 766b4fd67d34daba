"""Gems: they lie in the world, are taken once, and lie somewhere else later."""

from typing import Any, NamedTuple

import gevent
import pytest

from flatlands.games.flatlands.gems.gems import Gem, Gems
from flatlands.games.flatlands.treasure import BOARD
from flatlands.server.game.me import Me
from flatlands.server.storage.boards import board_name
from flatlands.server.storage.client import FAILS_FOR_MS
from flatlands.server.storage.items import THINGS_QUEUE
from flatlands.server.storage.reader import SQUARE_AGAIN_MS, SQUARE_FAILED_MS
from flatlands.server.storage.upkeep import GROW_CLAIMED_MS, GROW_EVERY_MS, PLANTED_FOR_MS
from flatlands.stores.base import Item
from flatlands.stores.registry import open_store
from flatlands.world.terrain import BLOCKED, HIGH, PLAZA_WITHIN, plot_index
from flatlands.world.track import UNIT
from games.flatlands.tests.conftest import world
from games.flatlands.tests.harness import QUICK, SLOW, Harness
from tests.server.harness import KEY, Broken

__all__ = ["world"]

THINGS = f"{THINGS_QUEUE} flatlands 2013-16"

#: So many plots are near the plaza.
CELLS = 9
#: The items in the store: each plot has its own, and three gems.
PLANTED = 36


class Seen(NamedTuple):
    """A gem as a client knows it; its place is (x, y) in units."""

    square: Any
    id: str
    version: int
    place: Any


def lying(client):
    """Return the gems that a client knows."""
    span = client.host.node.grid.span
    return [
        Seen(square, id, version, (x + square[0] * span, y + square[1] * span))
        for square, things in sorted(client.model.things.items())
        for _, id, version, x, y in things
        if id.startswith("Gem:")
    ]


def ids(*clients):
    """Return the ids of all gems that clients know."""
    return {gem.id for client in clients for gem in lying(client)}


def near(harness, name, place, host=None, key=""):
    """Return a client whose player stands two tiles beside a place, and sees what lies there."""
    client = harness.stand(name, (place[0] + 2 * UNIT, place[1]), (60, 40), host)
    if key:
        client.send(10, key)
    harness.run(500)
    return client


def go(harness, client, place):
    """Let a player go to a nearby place."""
    client.go(*place)
    harness.run(500)


def reach(harness, name="B", host=None, key=""):
    """Return a client beside the first gem that the first client knows, and that gem."""
    gem = lying(harness.clients[0])[0]
    return near(harness, name, gem.place, host, key), gem


def taken(harness, *given, **more):
    """Return a client that has taken the first gem that the first client knows, and that gem."""
    client, gem = reach(harness, *given, **more)
    go(harness, client, gem.place)
    assert client.model.found == [(gem.id, gem.version)] and client.model.errors == []
    return client, gem


def grown(harness, host=None, name="A"):
    """Return a client that sees the gems around the plaza, in a harness where they have grown."""
    client = harness.stand(name, (0, 0), (96, 64), host)
    harness.run(GROW_EVERY_MS * 5)
    assert len(lying(client)) >= 3
    return client


def found(client):
    """Return what a client was last sent of a gem that it found: its points, its place, of how
    many."""
    return client.model.messages["found"][2:]


def scores(harness, client):
    """Return what a client that asks for the board gets."""
    client.send(35, "scores", [])
    harness.run(10)
    return client.model.messages["board"]


def test_gems_lie_near_paths_on_ground_that_can_be_walked_on_and_not_on_the_plaza(world):
    harness = world(free=False)
    grown(harness)
    terrain, span = harness.node.terrain, harness.node.grid.span
    for subscription in harness.node.subscriptions.by_square.values():
        for thing in subscription.things.all():
            assert 0 <= thing.x < span and 0 <= thing.y < span
            column = (subscription.square[0] * span + thing.x) // UNIT
            row = (subscription.square[1] * span + thing.y) // UNIT
            assert not terrain.blocked(column, row) and column**2 + row**2 > (PLAZA_WITHIN + 2) ** 2
            i, j, _ = map(int, thing.id.split(":")[1:])
            assert (plot_index(column), plot_index(row)) == (i, j)
            around = ((column + dx, row + dy) for dx in range(-16, 17) for dy in range(-16, 17))
            assert {terrain.kind(*tile) for tile in around} & {6, 7, 8}
    assert harness.node.store_client.store.count(THINGS) == PLANTED


def test_no_gem_lies_on_high_ground_beside_the_path(world):
    harness = world(free=False)
    terrain, gems = harness.node.terrain, Gems(harness.node.game)
    # A path of this plot leads over a plateau, and so does the straight line.
    assert (67, -7, 41, 83) in terrain.edges(1, 1) and terrain.kind(47, 64) in HIGH
    places = [gem.tile for _ in range(40) for gem in gems.plant((1, 1))]
    assert len(places) > 50
    assert not {terrain.kind(*place) for place in places} & (BLOCKED | HIGH)


def test_a_gem_is_taken_by_a_player_that_walks_over_it_and_is_gone_for_everybody(world):
    harness = world(nodes=2)
    first = grown(harness)
    a, gem = reach(harness, "A")
    b = near(harness, "B", gem.place, harness.hosts[1])
    assert lying(a) == lying(b) and gem in lying(a)
    go(harness, a, gem.place)
    assert a.model.found == [(gem.id, gem.version)] and a.model.errors == []
    assert gem.id not in ids(a, b, first)
    go(harness, b, gem.place)
    assert b.model.found == [] and b.model.errors == []
    # The news came in a flush, after the batches.
    kinds = [message[0] for message in b.connection.messages]
    assert 21 in kinds[kinds.index(28) :]
    harness.check()


def test_a_gem_that_was_taken_lies_somewhere_else_later(world):
    harness = world(rules=QUICK)
    client = grown(harness)
    taker, gem = reach(harness)
    store = harness.node.store_client.store
    # The taker may have come near another part of the world, where gems then grow.
    gems = store.count(THINGS)
    go(harness, taker, gem.place)
    assert taker.model.found == [(gem.id, gem.version)]
    gevent.sleep(0.4)
    harness.run(GROW_EVERY_MS * 2)
    squares = [f"{column}:{row}" for column, row in harness.node.subscriptions.by_square]
    assert store.count(THINGS) == gems
    again = [one for one in lying(client) if one.id == gem.id]
    # The gem may lie where the client does not see it; then the node may know it.
    assert (gem.id in {item.id for item in store.group(THINGS, *squares)}) >= bool(again)
    for one in again:
        assert one.version == gem.version + 1 and one.place != gem.place


def test_where_fewer_gems_are_wanted_none_grows_back(tmp_path):
    stores = []

    def opens():
        stores.append(open_store(f"sqlite:///{tmp_path / 'store.db'}", "flatlands"))
        return stores[-1]

    grown(Harness(stores=opens, rules=QUICK))
    harness = Harness(stores=opens, rules=QUICK._replace(per_plot=0))
    client = harness.stand("A", (0, 0), (96, 64))
    harness.run(500)
    # The gems lie there until somebody takes them.
    many, takes = len(lying(client)), []
    while lying(client):
        taker, gem = reach(harness)
        go(harness, taker, gem.place)
        takes += taker.model.found
    assert len(takes) == many >= 3
    gevent.sleep(0.4)
    harness.run(GROW_EVERY_MS * 2)
    assert lying(client) == []
    gems = [item for item in stores[1].each(THINGS) if item.id.startswith("Gem:")]
    assert len(gems) == 27 - many
    for store in stores:
        store.close()


def test_gems_of_a_node_that_died_while_it_planted_them_are_planted_by_another(world):
    harness = world(nodes=2, rules=QUICK)
    first, second = harness.hosts
    dead = first.node.store_client.store
    # The node that is to die claims all of them, and then does nothing.
    second.node.store_client.store.claim = lambda *_: []
    client = harness.stand("A", (0, 0), (96, 64), second)
    harness.run(10)
    held = dead.claim(THINGS, 100, 600_000)
    assert len(held) == CELLS
    del second.node.store_client.store.claim
    harness.run(GROW_EVERY_MS * 3)
    assert lying(client) == []
    dead.renew(THINGS, [(one.id, one.body) for one in held], 1)
    gevent.sleep(0.01)
    harness.run(GROW_EVERY_MS * 5)
    assert len(lying(client)) >= 3 and GROW_CLAIMED_MS < 10_000
    assert dead.done(THINGS, [one.id for one in held]) == 0


def test_where_another_node_planted_first_only_what_lies_there_is_shown(world):
    harness = world(nodes=2)
    first, second = harness.hosts
    mine, others = first.node.store_client.store, second.node.store_client.store
    others.claim = lambda *_: []
    done, planted = mine.done, []

    def late(queue, claimed, then):
        # While the node stood still, another has planted the first plot.
        if not planted:
            planted.extend(item.id for _, item in then if item.group)
            there = Item(planted[0], 10**6, "90:90", b"\x90")
            assert others.take(queue, claimed[0], [(queue, there)]) is not None
        return done(queue, claimed, then)

    mine.done = late
    client = harness.stand("A", (0, 0), (96, 64), second)
    harness.stand("B", (0, 0), (96, 64), first)
    harness.run(GROW_EVERY_MS * 5)
    c0, r0, c1, r1 = client.model.held
    held = [f"{column}:{row}" for column in range(c0, c1 + 1) for row in range(r0, r1 + 1)]
    there = {item.id for item in mine.group(THINGS, *held)}
    assert ids(client) == there
    assert len(there) >= 3 and planted and planted[0] not in there


@pytest.mark.parametrize("lost", ["the news of it", "the link"])
def test_a_node_reads_what_it_has_not_heard_after_a_reset_or_within_a_minute(world, lost):
    harness = world(nodes=2)
    client = grown(harness)
    host = harness.hosts[1]
    other = harness.stand("B", (0, 0), (96, 64), host)
    harness.run(500)
    assert lying(other) == lying(client)
    # Only the news of the gem is lost: after a lost batch the square would be read at once.
    things, published = harness.node.play.items, []
    if lost == "the link":
        host.broker.fail()
    else:
        things.publish = lambda *news: published.append(news)
    taker, gem = taken(harness, "C")
    harness.run(1000)
    assert len(taker.model.found) == 1 and gem.id in ids(other)
    if lost == "the link":
        host.broker.restore(host.node)
        harness.run(1000)
    else:
        del things.publish
        harness.run(SQUARE_AGAIN_MS)
        assert len(published) == 1
    assert lying(other) == lying(client) and gem.id not in ids(other)


def test_a_player_sees_its_gem_go_even_while_the_broker_is_away(world):
    harness = world()
    grown(harness)
    taker, gem = reach(harness)
    harness.broker.down = True
    go(harness, taker, gem.place)
    assert len(taker.model.found) == 1 and gem.id not in ids(taker)


def test_a_client_that_lagged_or_came_back_sees_what_lies_there(world):
    harness = world()
    client = grown(harness)
    seen = lying(client)
    client.connection.stuck = True
    harness.place("B", (0, 0)).walk(1, 0)
    harness.run(3000)
    client.connection.drain()
    harness.run(3000)
    left = lying(client)
    assert client.model.resyncs == 1 and len(left) >= len(seen) - 1
    client.connection.lose()
    back = harness.client().hello("A", (96, 64), client.model.token)
    harness.run(100)
    assert lying(back) == left


def test_a_gem_that_nobody_takes_for_a_day_is_forgotten_until_somebody_comes(world):
    harness = world()
    client = grown(harness)
    store = harness.node.store_client.store
    gems = [item for item in store.each(THINGS) if item.group]
    seeds = [item for item in store.each(THINGS) if not item.group]
    assert {item.delay <= 24 * 3600 * 1000 for item in gems} == {True} and len(seeds) == CELLS
    # A day later.
    for item in (*gems, *seeds):
        assert PLANTED_FOR_MS - 60_000 < item.delay <= PLANTED_FOR_MS
        store.replace(THINGS, item._replace(delay=0)) if item.group else store.take(
            THINGS, item.id, [(THINGS, item._replace(delay=0))]
        )
    client.connection.lose(1000)
    harness.run(3000)
    watcher = harness.stand("B", (10**7, 0), (60, 40))
    harness.run(GROW_EVERY_MS * 8)
    assert watcher.model.held
    gone = {gem.id for gem in gems}
    assert not gone & {item.id for item in store.each(THINGS)}
    assert ids(grown(harness, name="C")) <= gone


# The board.


def test_gems_are_counted_for_the_key_that_a_player_shows_and_it_is_not_stored(world, tmp_path):
    harness = world(nodes=2)
    grown(harness)
    takers = [
        taken(harness, name, harness.hosts[host], key)[0]
        for name, host, key in (("Wren", 0, KEY), ("Tit", 1, KEY + "x"), ("Wren", 1, KEY))
    ]
    assert [found(client) for client in takers] == [[1, 1, 1], [1, 1, 2], [2, 1, 2]]
    harness.run(3000)
    assert scores(harness, takers[0]) == [2, 1, 2, [["Wren", 2, True], ["Tit", 1, False]]]
    assert scores(harness, takers[1]) == [1, 2, 2, [["Wren", 2, False], ["Tit", 1, True]]]
    for path in tmp_path.iterdir():
        assert KEY.encode() not in path.read_bytes(), path


def test_a_player_with_another_name_is_shown_under_it(world):
    harness = world()
    grown(harness)
    taken(harness, "Wren", key=KEY)
    again = harness.place("Jenny", (0, 0))
    again.send(10, KEY)
    harness.run(3000)
    assert scores(harness, again) == [1, 1, 1, [["Jenny", 1, True]]]
    # An operator clears a name, and nobody else's.
    for name, shown in (("Wren", "Jenny"), ("Jenny", "?")):
        harness.node.play.content.clear_name(name)
        assert scores(harness, again) == [1, 1, 1, [[shown, 1, True]]]


def test_without_a_key_a_gem_is_taken_and_counts_for_nobody(world):
    harness = world()
    grown(harness)
    taker, _ = taken(harness)
    assert found(taker) == [0, 0, 0] and scores(harness, taker) == [0, 0, 0, []]
    # Nor does anybody else have a point for it.
    assert harness.node.store_client.store.top(board_name("flatlands", BOARD), 10) == []


@pytest.mark.parametrize("key", ["0123456789 abcdef", "0123456789abcdefé", "0123456789abcdef\n"])
def test_a_key_with_other_characters_is_refused(world, key):
    client = world().place("A", (0, 0))
    client.send(10, key)
    assert client.model.errors == ["key"] and client.connection.closed[0] == 1008


# A store that fails.


def test_a_store_that_fails_stops_nothing_but_gems(world, caplog):
    harness = world()
    grown(harness)
    taker, gem = reach(harness)
    store_client = harness.node.store_client
    store, store_client.store = store_client.store, Broken()
    taker.send(10, KEY)
    go(harness, taker, gem.place)
    taker.send(35, "scores", [])
    harness.run(10)
    assert taker.model.errors == ["store", "store"] and taker.connection.closed is None
    newcomer = harness.stand("C", (10**6, 0), (60, 40))
    newcomer.walk(1, 0)
    harness.run(5000)
    assert newcomer.at()[0] > 10**6 + UNIT and newcomer.sees(newcomer)
    assert "the disk is full" in caplog.text and caplog.text.count("the disk is full") == 1
    assert harness.loop.stats["errors"] == 0 and store_client.trouble == "the disk is full"
    # The store answers again: the gem is still there, and the unread squares are read.
    store_client.store = store
    go(harness, taker, (gem.place[0] + 2 * UNIT, gem.place[1]))
    go(harness, taker, gem.place)
    assert taker.model.found == [(gem.id, gem.version)]
    harness.run(SQUARE_FAILED_MS + GROW_EVERY_MS * 5)
    assert lying(newcomer) and store_client.trouble is None
    lines = [(record.levelname, record.message) for record in caplog.records]
    assert ("WARNING", "store available again") in lines


def test_when_the_store_answers_again_everything_is_read(world):
    harness = world(nodes=2)
    client = grown(harness)
    taker, gem = reach(harness, host=harness.hosts[1])
    harness.run(SQUARE_AGAIN_MS)
    store_client = harness.node.store_client
    store, store_client.store = store_client.store, Broken()
    # This node does not hear of what another one takes meanwhile.
    harness.network.cuts.add((harness.hosts[1].broker, harness.hosts[0].broker))
    go(harness, taker, gem.place)
    harness.run(2000)
    assert taker.model.found and gem.id in ids(client)
    store_client.store = store
    harness.run(FAILS_FOR_MS + 2 * GROW_EVERY_MS)
    assert gem.id not in ids(client)


def test_a_store_that_only_reads_does_not_count_as_one_that_works(world, caplog, monkeypatch):
    # It may be long until the next failure.
    monkeypatch.setattr("flatlands.server.storage.client.FAILS_FOR_MS", 100)

    def recoveries():
        return caplog.text.count("store available again")

    harness = world()
    harness.run(5000)
    store_client = harness.node.store_client
    store = store_client.store

    def refuse_writes(yes):
        # As a full disk does, or a Redis that cannot save.
        store._thread.apply(lambda: store._connection.execute(f"PRAGMA query_only = {yes}"))

    refuse_writes(1)
    harness.run(10_000)
    assert store_client.trouble
    for _ in range(20):
        harness.run(500)
        assert (
            store_client.wait(lambda store: store.count("q")) == 0
            and store_client.trouble
            and not recoveries()
        )
    refuse_writes(0)
    harness.run(10_000)
    assert store_client.trouble is None and recoveries() == 1


def test_a_node_that_ends_does_not_say_that_its_store_fails(world, caplog):
    harness = world()
    [host] = harness.hosts
    asked = []
    host.spawn = lambda call, *more: asked.append((call, *more))
    host.node.store_client.ask(lambda store: store.put("q", []), lambda _none: None)
    host.node.store_client.close()
    for call, *more in asked:
        call(*more)
    assert caplog.text == "" and host.node.store_client.waiting == 0


def test_without_a_store_nothing_lies_in_the_world_and_all_else_goes_on():
    harness = Harness()
    client = harness.place("A", (0, 0))
    client.send(10, KEY)
    client.send(35, "scores", [])
    client.send(35, "build", ["the view from here"])
    client.send(35, "stone", [0, 0])
    client.walk(1, 0)
    harness.run(2000)
    assert client.model.errors == ["store", "store", "missed"]
    assert client.model.things == {}
    assert client.connection.closed is None and client.sees(client)


def test_news_from_another_store_is_ignored(tmp_path):
    urls = [f"sqlite:///{tmp_path / name}" for name in ("one.db", "other.db")]
    opened = []

    def opens():
        opened.append(open_store(urls[len(opened)], "flatlands"))
        return opened[-1]

    harness = Harness(nodes=2, rules=SLOW, stores=opens)
    here = harness.stand("A", (0, 0), (96, 64))
    there = harness.stand("B", (0, 0), (96, 64), harness.hosts[1])
    harness.run(GROW_EVERY_MS * 5)
    assert lying(here) and lying(there)
    assert not {gem[2:] for gem in lying(here)} & {gem[2:] for gem in lying(there)}
    assert harness.hosts[0].loop.stats["other_stores"] > 0
    for store in opened:
        store.close()


@pytest.mark.parametrize("id", ["x" * 60, "Gem:0:0:", "Gem:0:0:²"])
def test_a_gem_with_an_id_made_up_by_a_stranger_is_nobodys(world, id):
    harness = world()
    client = harness.place("A", (0, 0))
    harness.run(500)
    gem = Gem((8, 8))
    gem.id = id
    me = Me(harness.node, harness.node.residents.by_id[client.id])
    Gems(harness.game_of()).on_touch(me, gem)
    assert "found" not in client.model.messages and client.model.errors == []
