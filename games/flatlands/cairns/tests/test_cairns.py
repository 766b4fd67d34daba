"""Cairns: players leave them, add stones to them, and they crumble."""

from flatlands.games.flatlands.cairns.cairns import CAIRNS_MOST, STONES_MOST
from flatlands.server.storage import items
from flatlands.server.storage.items import QUOTA_CHECK_MS, QUOTA_PREFIX
from flatlands.server.storage.upkeep import GROW_EVERY_MS
from flatlands.stores.base import StoreError
from flatlands.stores.sqlite import SqliteStore
from flatlands.testkit import World
from flatlands.world.track import UNIT
from games.flatlands.tests.conftest import world
from tests.server.harness import KEY

__all__ = ["world"]

#: ms after which the place of a cairn that has crumbled is looked at.
LATER = QUOTA_CHECK_MS + GROW_EVERY_MS


def keyed(harness, name, square, host=None, key=KEY):
    """Return a client that has sent a key, whose player stands in the middle of a square."""
    client = harness.place(name, square, host=host)
    harness.run(500)
    client.send(10, key)
    return client


def standing(client):
    """Return the cairns that a client knows: square -> (player, name, text, stones)."""
    return {
        square: tuple(thing[5:])
        for square, things in client.model.things.items()
        for thing in things
        if thing[1].startswith("Cairn:")
    }


def kept(harness):
    """Return how many cairns, and how many of their places, are in the store."""
    ids = [item.id for item in harness.node.store_client.store.each("things flatlands 2013-16")]
    return tuple(sum(id.startswith(begin) for id in ids) for begin in ("Cairn:", QUOTA_PREFIX))


def build(harness, client, text="the view from here"):
    client.send(35, "build", [text])
    harness.run(100)


def test_a_cairn_stands_where_it_was_left_for_everybody(world):
    harness = world(nodes=2)
    a = keyed(harness, "Wren", (2, 1))
    b = harness.place("B", (2, 1), host=harness.hosts[1])
    harness.run(500)
    build(harness, a, "  the  view from here ")
    assert standing(a) == standing(b) == {(2, 1): (a.id, "Wren", "the view from here", 1)}
    [thing] = [thing for thing in b.model.things[2, 1] if thing[1].startswith("Cairn:")]
    assert tuple(thing[3:5]) == (UNIT * 17 // 2, UNIT * 17 // 2)
    late = harness.place("Late", (3, 1), host=harness.hosts[1])
    harness.run(500)
    assert standing(late) == standing(a)


def test_a_square_has_one_cairn_a_player_three_and_the_plaza_none(world, caplog):
    caplog.set_level("INFO")
    harness = world()
    a = keyed(harness, "A", (2, 1))
    build(harness, a)
    build(harness, keyed(harness, "B", (2, 1), key=KEY + "b"))
    assert harness.clients[-1].model.errors == ["cairn"]
    for n in range(1, CAIRNS_MOST):
        build(harness, keyed(harness, "A", (2 + n, 1)))
        assert harness.clients[-1].model.errors == []
    build(harness, keyed(harness, "A", (9, 1)))
    assert harness.clients[-1].model.errors == ["cairn"]
    plaza = harness.stand("C", (0, 0), (40, 25))
    plaza.send(10, KEY + "c")
    build(harness, plaza)
    assert plaza.model.errors == ["cairn"] and plaza.connection.closed is None
    assert kept(harness) == (CAIRNS_MOST, 2 * CAIRNS_MOST)
    # The log shows an operator who left what stands there, and nothing else.
    left = [record.fields for record in caplog.records if record.getMessage() == "thing"]
    lie = {thing[1] for client in harness.clients for thing in client.model.things.get((2, 1), ())}
    assert len(left) == CAIRNS_MOST and left[0]["id"] in lie


def test_a_player_that_builds_on_two_nodes_at_once_has_no_more_than_others(world):
    harness = world(nodes=2)
    clients = [keyed(harness, "A", (n, 1), harness.hosts[n % 2]) for n in range(2, 4 + CAIRNS_MOST)]
    for client in clients:
        client.send(35, "build", ["the view from here"])
    harness.run(100)
    errors = [error for client in clients for error in client.model.errors]
    assert errors == ["cairn"] * 2 and kept(harness) == (CAIRNS_MOST, 2 * CAIRNS_MOST)


def test_each_player_adds_one_stone_and_only_from_close_by(world):
    harness = world(nodes=2)
    a = keyed(harness, "A", (2, 1))
    build(harness, a)
    b = keyed(harness, "B", (2, 1), harness.hosts[1], KEY + "b")
    b.send(35, "stone", [2, 1])
    harness.run(100)
    assert standing(a)[2, 1][3] == standing(b)[2, 1][3] == 2
    for client in (a, b):
        client.send(35, "stone", [2, 1])
        assert client.model.errors == ["cairn"]
    far = harness.stand("C", (40 * UNIT, 27 * UNIT), (40, 25))
    harness.run(500)
    far.send(10, KEY + "c")
    far.send(35, "stone", [2, 1])
    far.send(35, "stone", [3, 1])
    assert far.model.errors == ["far", "missed"]


def test_a_cairn_never_gets_more_stones_than_it_may_have(world):
    harness = world()
    a = keyed(harness, "A", (2, 1))
    build(harness, a)
    for n in range(1, STONES_MOST + 1):
        b = keyed(harness, "B", (2, 1), key=f"{KEY}{n}")
        b.send(35, "stone", [2, 1])
        harness.run(100)
    assert b.model.errors == ["cairn"] and standing(a)[2, 1][3] == STONES_MOST


def test_a_place_whose_cairn_was_never_built_is_free_again(world, monkeypatch):
    harness = world(nodes=2)
    first, second = harness.hosts
    a = keyed(harness, "A", (2, 1), first)
    store = first.node.store_client.store
    put = store.put

    def dies(queue, items):
        # Between the two steps the node dies, or its link to the store does.
        if [item.id for item in items][0].startswith("Cairn:"):
            raise StoreError("it is away")
        return put(queue, items)

    store.put = dies
    build(harness, a)
    assert a.model.errors == ["store"] and kept(harness) == (0, 2)
    del store.put
    harness.run(2000)
    build(harness, a)
    assert a.model.errors == ["store", "cairn"] and standing(a) == {}
    now = SqliteStore._now
    monkeypatch.setattr(SqliteStore, "_now", lambda store: now(store) + items.UNUSED_QUOTA_MS)
    harness.run(2 * GROW_EVERY_MS)
    assert kept(harness) == (0, 0)
    build(harness, a)
    assert (2, 1) in standing(a)


def test_an_operator_removes_a_cairn(world):
    harness = world(nodes=2)
    a = keyed(harness, "A", (2, 1))
    build(harness, a)
    harness.hosts[1].node.play.content.clear((2, 1))
    harness.hosts[1].node.play.content.clear((3, 1))
    harness.run(100)
    assert standing(a) == {}
    assert kept(harness) == (0, 0)


def test_a_player_that_may_leave_no_more_cairns_leaves_none():
    world = World("flatlands", nodes=1)
    ada = world.join("Ada", at=(30, 30))
    for _ in range(3):
        ada.do("build", "here")
        world.run(3)
    assert len(ada.things("Cairn")) == 1 and len(ada.errors()) == 2
    world.check()
