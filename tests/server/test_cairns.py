"""Cairns: players leave them, add stones to them, and they crumble."""

import gevent
import msgpack
import pytest

from flatlands.games.flatlands.cairns import cairns
from flatlands.games.flatlands.cairns.cairns import CRUMBLE_EVERY, MOST, PLACES, QUEUE, STONES
from flatlands.server.players.orders import MUTE
from flatlands.stores.base import StoreError
from flatlands.world.track import UNIT
from tests.server.things import KEY, Broken, worlds

GROUND = "2013-16"

#: So many are left from one address at once.
BUILDS = 20


@pytest.fixture
def world(tmp_path):
    with worlds(f"sqlite:///{tmp_path / 'store.db'}") as start:
        yield start


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
        if thing[0] == 1
    }


def build(harness, client, text="the view from here"):
    client.send(35, "build", [text])
    harness.run(100)


def test_a_cairn_stands_where_it_was_left_for_everybody(world):
    harness = world(nodes=2)
    a = keyed(harness, "Wren", (2, 1))
    b = harness.place("B", (2, 1), host=harness.hosts[1])
    harness.run(500)
    build(harness, a, "  the  view\tfrom here ".replace("\t", " "))
    assert standing(a) == standing(b) == {(2, 1): (a.id, "Wren", "the view from here", 1)}
    [thing] = [thing for thing in b.model.things[2, 1] if thing[0] == 1]
    assert thing[1] == "2:1" and tuple(thing[3:5]) == (8 * UNIT, 8 * UNIT)
    late = harness.place("Late", (3, 1), host=harness.hosts[1])
    harness.run(500)
    assert standing(late) == standing(a)


def test_there_is_one_in_a_square_three_of_a_player_and_none_on_the_plaza(world, caplog):
    caplog.set_level("INFO")
    harness = world()
    a = keyed(harness, "A", (2, 1))
    build(harness, a)
    build(harness, keyed(harness, "B", (2, 1), key=KEY + "b"))
    assert harness.clients[-1].model.errors == ["cairn"]
    for n in range(1, MOST):
        build(harness, keyed(harness, "A", (2 + n, 1)))
        assert harness.clients[-1].model.errors == []
    build(harness, keyed(harness, "A", (9, 1)))
    assert harness.clients[-1].model.errors == ["cairn"]
    plaza = harness.stand("C", (0, 0), (40, 25))
    plaza.send(10, KEY + "c")
    build(harness, plaza)
    assert plaza.model.errors == ["cairn"] and plaza.connection.closed is None
    store = harness.node.keeper.store
    assert store.count(f"{QUEUE} {GROUND}") == store.count(f"{PLACES} {GROUND}") == MOST
    # By the log an operator finds who built what stands there, and only that.
    built = [record for record in caplog.records if record.getMessage() == "build"]
    assert len(built) == MOST


def test_who_builds_at_two_nodes_at_once_has_no_more_than_the_others(world):
    harness = world(nodes=2)
    first, second = harness.hosts
    store = second.node.keeper.store
    group = store.group
    clients = [keyed(harness, "A", (n, 1), first) for n in range(2, 2 + MOST)]
    late = keyed(harness, "A", (9, 1), second)
    # The second node has read what there is before the first one builds.
    store.group = lambda *names: [] if names[0].startswith(PLACES) else group(*names)
    for client in clients:
        build(harness, client)
    build(harness, late)
    assert late.model.errors == ["cairn"] and store.count(f"{QUEUE} {GROUND}") == MOST


def test_a_line_is_cleaned_and_refused_as_what_is_said(world):
    harness = world()
    a = keyed(harness, "A", (2, 1))
    harness.node.orders.give(MUTE, str(a.id), 60)
    build(harness, a)
    assert a.model.errors == ["muted"] and standing(a) == {}
    harness.node.orders.give(MUTE, str(a.id), 0)
    build(harness, a, "\u200b")
    assert a.model.errors == ["muted", "say"] and a.connection.closed is None


def test_an_address_leaves_only_so_many_whatever_keys_it_has(world):
    harness = world()
    for n in range(BUILDS + 1):
        client = harness.place("A", (2 + n, 1))
        client.connection.address = "192.0.2.1"
        client.send(10, f"{KEY}{n}")
        build(harness, client)
        assert client.model.errors == ([] if n < BUILDS else ["crowded"])
    other = keyed(harness, "B", (2, 4), key=KEY + "b")
    other.connection.address = "192.0.2.2"
    build(harness, other)
    assert other.model.errors == []


def test_a_cairn_that_is_refused_is_paid_for_by_nobody(world):
    harness = world()
    keyless, on_one = harness.place("N", (2, 1)), keyed(harness, "O", (2, 2))
    build(harness, on_one)
    store = harness.node.keeper.store
    for client in (keyless, on_one):
        client.connection.address = "192.0.2.1"
    for _ in range(BUILDS):
        build(harness, keyless)
        build(harness, on_one)
        harness.node.keeper.store = Broken()
        build(harness, on_one)
        harness.node.keeper.store = store
        harness.run(4100)
    assert set(keyless.model.errors) == {"cairn"}
    assert set(on_one.model.errors) == {"cairn", "store"}
    good = keyed(harness, "G", (2, 4))
    good.connection.address = "192.0.2.1"
    build(harness, good)
    assert good.model.errors == []


def test_stones_are_added_one_by_each_from_close_by(world):
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


def test_a_cairn_has_no_more_stones_than_it_can(world):
    harness = world()
    a = keyed(harness, "A", (2, 1))
    build(harness, a)
    store = harness.node.keeper.store
    body = msgpack.unpackb(store.take(f"{QUEUE} {GROUND}", "2:1"))
    body[-1] = [str(n) for n in range(STONES)]
    item = cairns.Item("2:1", 10**6, "2:1", msgpack.packb(body))
    store.put(f"{QUEUE} {GROUND}", [item])
    b = keyed(harness, "B", (2, 1), key=KEY + "b")
    b.send(35, "stone", [2, 1])
    assert b.model.errors == ["cairn"]


def test_a_cairn_crumbles_and_its_player_may_build_again(world, monkeypatch):
    monkeypatch.setattr(cairns, "STANDS_FOR", 300)
    monkeypatch.setattr(cairns, "BUILT_WITHIN", 300)
    harness = world(nodes=2)
    a = keyed(harness, "A", (2, 1))
    build(harness, a)
    other = keyed(harness, "A", (8, 1))
    monkeypatch.setattr(cairns, "STANDS_FOR", 10**7)
    build(harness, other)
    gevent.sleep(0.4)
    harness.run(CRUMBLE_EVERY + 100)
    assert (2, 1) not in standing(a) and (8, 1) in standing(other)
    store = harness.node.keeper.store
    assert store.count(f"{QUEUE} {GROUND}") == 1
    # The owner's place is looked at again when the cairn's time is over, or a little later.
    assert store.count(f"{PLACES} {GROUND}") == 1
    build(harness, a, "once more")
    assert standing(a)[2, 1][2:] == ("once more", 1)


def test_a_place_whose_cairn_was_never_built_is_free_again(world, monkeypatch):
    harness = world(nodes=2)
    first, second = harness.hosts
    a = keyed(harness, "A", (2, 1), first)
    monkeypatch.setattr(cairns, "BUILT_WITHIN", 300)
    store = first.node.keeper.store
    put = store.put

    def dies(queue, items):
        # The node dies, or its link to the store, between the two steps.
        if queue.startswith(QUEUE + " "):
            raise StoreError("it is away")
        return put(queue, items)

    store.put = dies
    for _ in range(MOST):
        build(harness, a)
        harness.run(2000)
    assert a.model.errors == ["store"] * MOST
    del store.put
    assert store.count(f"{PLACES} {GROUND}") == MOST and standing(a) == {}
    gevent.sleep(0.4)
    harness.run(CRUMBLE_EVERY + 100)
    assert store.count(f"{PLACES} {GROUND}") == 0
    build(harness, a)
    assert (2, 1) in standing(a)


def test_an_operator_clears_a_builders_name_on_all_screens(world):
    harness = world(nodes=2)
    bad, good = keyed(harness, "Bad", (2, 1)), keyed(harness, "Good", (3, 1), key=KEY + "g")
    far = harness.place("Far", (2, 2), host=harness.hosts[1])
    for client in (bad, good):
        build(harness, client)
    harness.run(3000)
    harness.hosts[1].node.play.clear_name("Bad")
    harness.run(100)
    for client in (good, far):
        assert {name for _, name, *_ in standing(client).values()} == {"?", "Good"}
    # It stands for as long as before, and takes stones.
    good.go(bad.at()[0] + UNIT, bad.at()[1])
    harness.run(6000)
    good.send(35, "stone", [2, 1])
    harness.run(100)
    assert standing(far)[2, 1][3] == 2 and standing(far)[2, 1][1] == "?"
    harness.run(CRUMBLE_EVERY)
    assert (2, 1) in standing(far)


def test_a_stone_lets_a_cairn_stand_longer(world, monkeypatch):
    monkeypatch.setattr(cairns, "STANDS_FOR", 300)
    harness = world()
    a = keyed(harness, "A", (2, 1))
    build(harness, a)
    monkeypatch.setattr(cairns, "STANDS_FOR", 10**7)
    b = keyed(harness, "B", (2, 1), key=KEY + "b")
    b.send(35, "stone", [2, 1])
    gevent.sleep(0.4)
    harness.run(CRUMBLE_EVERY + 100)
    assert standing(a)[2, 1][3] == 2
    # It stands, so its player still has a place less.
    assert harness.node.keeper.store.count(f"{PLACES} {GROUND}") == 1


def test_an_operator_removes_a_cairn(world):
    harness = world(nodes=2)
    a = keyed(harness, "A", (2, 1))
    build(harness, a)
    harness.hosts[1].node.play.clear((2, 1))
    harness.hosts[1].node.play.clear((3, 1))
    harness.run(100)
    assert standing(a) == {}
    assert harness.hosts[1].loop.stats["cairns_gone"] == 1
    assert harness.node.keeper.store.count(f"{PLACES} {GROUND}") == 0


def test_a_store_that_fails_leaves_no_cairn_and_says_so(world):
    harness = world()
    a = keyed(harness, "A", (2, 1))
    build(harness, a)
    b = keyed(harness, "B", (2, 1), key=KEY + "b")
    harness.node.keeper.store = Broken()
    b.send(35, "stone", [2, 1])
    c = keyed(harness, "C", (5, 1), key=KEY + "c")
    build(harness, c)
    assert b.model.errors == ["store"] and c.model.errors == ["store"]
    assert standing(b)[2, 1][3] == 1 and c.connection.closed is None
