"""Finders: a player that comes to a landmark is sent its number, and nobody counts twice."""

import pytest

from flatlands.games.flatlands.ground.landmarks import Landmarks
from flatlands.games.flatlands.landmarks import finders
from flatlands.games.flatlands.landmarks.finders import MARK, QUEUE
from flatlands.stores.base import NEVER_DUE_MS, Item
from flatlands.world.terrain import Terrain
from flatlands.world.track import UNIT
from games.flatlands.tests.conftest import world
from games.flatlands.tests.harness import Harness
from tests.server.harness import KEY, Broken

__all__ = ["world"]

QUEUE_HERE = f"{QUEUE} 2013-16"

#: How many finds one address may make at once.
FINDS = 60

#: The part of the world whose landmark is found.
PLACE = (0, 0)
TILE = Landmarks(Terrain(2013)).of(*PLACE)


def come(harness, name, away=(0, 0), host=None, key=None):
    """Return a client with a key, unless that is "", whose player stands some tiles from the
    landmark."""
    middle = [(tile + more) * UNIT + UNIT // 2 for tile, more in zip(TILE, away, strict=True)]
    client = harness.stand(name, tuple(middle), (40, 25), host)
    if key != "":
        client.send(10, key or KEY + name)
    return client


def places(client):
    """Return (place, of) for all that a client was sent of the landmark."""
    said = [m[1:] for m in client.connection.messages if m[0] == 45]
    return [tuple(of[2:4]) for name, of in said if name == "finders" and of[:2] == [*PLACE]]


def find(client):
    """Let a player find the landmark; return what it, and nobody else, is sent."""
    before = len(places(client))
    client.send(35, "find", [*PLACE])
    client.harness.run(100)
    [found] = places(client)[before:]
    return found


def test_each_player_on_any_node_is_sent_its_place_among_the_finders(world):
    harness = world(nodes=2)
    a, b = come(harness, "A"), come(harness, "B", (5, 3), harness.hosts[1])
    assert find(a) == (1, 1)
    assert find(b) == (2, 2)
    assert places(a) == [(1, 1)]
    # Coming again, even on another node and with another id, does not make another finder.
    harness.run(10_000)
    assert find(a) == (1, 2)
    again = come(harness, "Z", host=harness.hosts[1], key=KEY + "A")
    assert again.id != a.id and find(again) == (1, 2)
    assert a.model.errors == b.model.errors == again.model.errors == []


def test_the_first_name_is_carved_for_good(world):
    harness = world(nodes=2)
    for name, host, key in (("Ada", 0, None), ("Bob", 1, None), ("Ada", 0, KEY)):
        client = come(harness, name, host=harness.hosts[host], key=key)
        assert find(client) and client.model.messages["finders"][4] == "Ada"
    harness.node.play.content.clear_name("Ada")
    harness.run(100)
    late = come(harness, "Cid")
    assert find(late) == (4, 4) and late.model.messages["finders"][4] == "?"


def test_a_player_that_is_not_there_finds_nothing(world):
    harness = world()
    for number, away in enumerate(((23, 3), (0, 24), (400, 0))):
        client = come(harness, f"far{number}", away)
        client.send(35, "find", [*PLACE])
        assert client.model.errors == ["far"] and client.connection.closed is None
    near = come(harness, "near", (11, 3))
    near.send(35, "find", [PLACE[0] + 1, PLACE[1]])
    assert near.model.errors == ["far"]
    assert find(near) == (1, 1)


@pytest.mark.parametrize("lacks", ["a landmark", "a key"])
def test_without_a_landmark_or_a_key_nobody_is_counted(world, monkeypatch, lacks):
    client = come(world(), "A", key="" if lacks == "a key" else None)
    if lacks == "a landmark":
        monkeypatch.setattr(Landmarks, "of", lambda *_: None)
    client.send(35, "find", [*PLACE])
    assert client.model.errors == ["landmark"] and places(client) == []
    assert client.connection.closed is None


def test_finders_beyond_the_limit_get_no_place_and_are_not_kept(world, monkeypatch):
    monkeypatch.setattr(finders, "MOST", 3)
    harness = world()
    marks = b"".join(bytes([n] * MARK) for n in range(2))
    harness.node.store_client.store.put(QUEUE_HERE, [Item("0:0", NEVER_DUE_MS, "0:0", marks)])
    a, b = come(harness, "A"), come(harness, "B")
    assert [find(a), find(b), find(a)] == [(3, 3), (0, 3), (3, 3)]
    [item] = harness.node.store_client.store.group(QUEUE_HERE, "0:0")
    assert len(item.body) == 3 * MARK


#: Action -> how often a second, and how often at once, one address may ask for it.
RATES = {
    "build": (1 / 120, 20),
    "find": (1 / 10, FINDS),
    "take": (1 / 2, 20),
    "sow": (1 / 5, 60),
    "arrive": (1 / 10, 60),
    "seek": (10, 60),
    "stone": (1 / 10, 60),
    "spark": (1 / 5, 120),
    "book": (2, 120),
    "came": (1, 60),
    "crossed": (1, 60),
    "almanac": (2, 120),
}


def test_what_one_address_may_do_is_limited(world):
    actions = world().node.play.actions
    limited = {name: one.of_address for name, one in actions.items() if one.of_address}
    assert {name: (rate.rate, rate.burst) for name, rate in limited.items()} == RATES


def test_a_request_that_finds_nothing_new_uses_up_no_allowance(world):
    """Nor that of its address: far away, without a key, for a second time, or without a store."""
    harness = world()
    away, keyless = come(harness, "F", (18, 18)), harness.place("K", (1, 0))
    store, again = harness.node.store_client.store, come(harness, "A")
    for client in (away, keyless, again):
        client.connection.address = "192.0.2.1"
    for _ in range(FINDS):
        for client in (away, keyless, again):
            client.send(35, "find", [*PLACE])
        harness.node.store_client.store = Broken()
        again.send(35, "find", [*PLACE])
        harness.node.store_client.store = store
        harness.run(4100)
    assert set(away.model.errors) == {"far"} and set(keyless.model.errors) == {"landmark"}
    other = come(harness, "B")
    other.connection.address = "192.0.2.1"
    assert find(other) == (2, 2) and not again.model.errors


def test_a_store_that_fails_or_is_missing_answers_nothing_and_all_else_goes_on(world):
    harness = world()
    client = come(harness, "A")
    harness.node.store_client.store = Broken()
    client.send(35, "find", [*PLACE])
    harness.run(100)
    bare = Harness()
    other = come(bare, "A")
    other.send(35, "find", [*PLACE])
    bare.run(100)
    for one in (client, other):
        assert places(one) == [] and one.model.errors == [] and one.connection.closed is None
