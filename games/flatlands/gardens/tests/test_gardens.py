"""Paths that feet wear, roads on which players are faster, and gardens planted with gems."""

from dataclasses import replace

import pytest
from gevent import GreenletExit

from flatlands.games.flatlands.gardens import gardens
from flatlands.games.flatlands.gardens.gardens import (
    FROM_PATH,
    KINDS,
    LOOK_SECONDS,
    PLANT_SECONDS,
    SOIL,
    Gardens,
)
from flatlands.games.flatlands.gardens.paths import ROAD, WEEK, Paths
from flatlands.games.flatlands.ground.landmarks import Landmarks
from flatlands.games.flatlands.pace import FASTER
from flatlands.games.flatlands.treasure import BOARD
from flatlands.server.storage.boards import board_name
from flatlands.stores.base import Score
from flatlands.world.grid import Rect
from flatlands.world.terrain import GRASS, PATH, Terrain
from games.flatlands.tests.worlds import ask, lonely, noted, part, put, resident
from tests.processes import ROOT

TERRAIN = Terrain(2013)

#: A tile of a meadow, and for how many tiles the meadow goes on to the east.
LENGTH = 10


def meadow():
    for row in range(20, 200):
        for column in range(20, 200):
            tiles = [TERRAIN.tile(column + n, row) for n in range(-3, LENGTH + 3)]
            if all(kind == GRASS and path > 60 for kind, _, _, path in tiles):
                return column, row
    raise AssertionError("there is no meadow")


MEADOW = meadow()


@pytest.fixture
def world():
    return lonely()


@pytest.fixture
def two(world):
    """Two players on the meadow, each on a node of its own."""
    return world.join("Ada", 0, at=MEADOW), world.join("Bob", 1, at=east(2))


def east(n=0):
    return MEADOW[0] + n, MEADOW[1]


def give(world, player, gems):
    """Give a player `gems` gems, as if it had found them."""
    score = Score(board_name("flatlands", BOARD), resident(world, player).owner, gems)
    world.game(player.node).node.store_client.wait(lambda store: store.add(score))


def purse(world, player):
    """Return how many gems a player is shown that it can plant."""
    ask(world, player, "purse")
    return player.message("purse")[0]


def sow(world, player, n, kind=1):
    return ask(world, player, "sow", kind, *east(n))


def grows(world, n):
    """Return what grows on a tile, as all nodes know it and all players see it."""
    playing = [one for one in world.players if one.playing]
    known = {part(world, Gardens, one.node).plants[east(n)] for one in playing}
    return known | {one.cell("Gardens.plants", *east(n)) for one in playing}


def pace(world, player):
    return resident(world, player).pace


def walk(world, player, times):
    """Let a player walk back and forth on the meadow."""
    for _ in range(times):
        for end in (LENGTH, 0):
            player.go(MEADOW[0] + end + 0.5, MEADOW[1] + 0.5)
            world.run(LENGTH / 5 + 0.1)


# Paths.


def test_where_people_walk_a_road_appears_on_all_nodes_and_all_are_faster_on_it(world, two):
    ada, bob = two
    walk(world, ada, 1)
    assert 0 < sum(ada.tiles("Paths.worn").values()) <= 5 and pace(world, ada) == 100
    walk(world, ada, 60)
    worn = ada.tiles("Paths.worn")
    assert worn == bob.tiles("Paths.worn") and max(worn.values()) >= ROAD
    assert {row for _, row in worn} <= {MEADOW[1] - 1, MEADOW[1], MEADOW[1] + 1}
    # The ground wears where players walk, and not where they stand.
    world.run(20)
    assert ada.tiles("Paths.worn") == worn
    paces = set()
    for _ in range(20):
        walk(world, bob, 1)
        paces.add(pace(world, bob))
    assert round(100 * FASTER) in paces
    world.run(3)
    assert pace(world, bob) == 100
    world.check()


def test_only_soft_ground_wears_and_a_crowd_wears_no_more_than_four_tiles(world, monkeypatch):
    players = [world.join(f"P{n}", n % 2, at=(n - 5, 0)) for n in range(10)]
    for step in range(10):
        for player in players:
            player.walk((1, -1)[step % 2], 0)
        world.run(4)
    assert not players[0].tiles("Paths.worn"), "the plaza and the paths from it are built"
    for player in players:
        player.walk(0, 0)
    world.run(2)
    tiles = [east(n) for n in range(8)]
    paths = part(world, Paths)
    paths._trodden = list(tiles)
    before = dict(paths.worn.counts())
    paths.wear()
    world.run(3)
    assert sum(paths.worn.counts().values()) - sum(before.values()) == 4


def test_in_a_race_everybody_has_the_same_pace_even_on_a_road(world):
    ada = world.join("Ada", 0, at=MEADOW)
    part(world, Paths).worn[[east(n) for n in range(-2, LENGTH + 2)]] = ROAD
    world.run(1)
    ada.go(MEADOW[0] + LENGTH + 0.5, MEADOW[1] + 0.5)
    world.run(1.5)
    assert pace(world, ada) > 100
    assert "" == ask(world, ada, "race", 0, 0, 0)
    for end in (0, LENGTH, 0, LENGTH):
        ada.go(MEADOW[0] + end + 0.5, MEADOW[1] + 0.5)
        world.run(1.5)
        assert pace(world, ada) == 100
    world.run(60)
    assert pace(world, ada) == 100, "it may have waited at the start"
    world.run(60)
    walk(world, ada, 1)
    ada.go(MEADOW[0] + LENGTH + 0.5, MEADOW[1] + 0.5)
    world.run(1.5)
    assert pace(world, ada) > 100, "no race lasts longer"


def test_a_layer_that_is_full_of_paths_harms_nobody(world, monkeypatch):
    ada = world.join("Ada", 0, at=MEADOW)
    paths = part(world, Paths)
    monkeypatch.setattr(paths.worn.layer, "options", replace(paths.worn.options, most=0))
    walk(world, ada, 2)
    assert not ada.tiles("Paths.worn") and not world.game(0).node.stats["hooks_failed"]
    assert paths.worn.options.forget == WEEK * 1000


# Gardens.


def test_each_gem_plants_one_thing_and_everybody_sees_it(world, two):
    ada, bob = two
    assert sow(world, ada, 1) == "planting costs a gem, and you have none left: find one"
    give(world, ada, 2)
    assert purse(world, ada) == 2
    assert sow(world, ada, 1, 2) == "" and ada.message("sown") == [2, *east(1), 1]
    assert grows(world, 1) == {2}
    assert sow(world, ada, 0, KINDS) == "" and ada.message("sown") == [KINDS, *MEADOW, 0]
    assert "you have none left" in sow(world, ada, 2)
    assert purse(world, ada) == purse(world, bob) == 0
    world.run(60)
    assert sow(world, bob, 1, 1) == "something already grows there"
    # Who cannot pay keeps nobody else from planting.
    give(world, ada, 3)
    assert "you have none left" in sow(world, bob, 2) and sow(world, ada, 2) == ""
    # The book has a line for each garden and day.
    assert noted(world, ada) == [("plant", "", 2, *east(1))]
    world.check()


def test_a_player_that_has_planted_all_it_may_keeps_its_gems(world, monkeypatch):
    ada = world.join("Ada", 0, at=MEADOW)
    give(world, ada, 4)
    plants = part(world, Gardens).plants
    monkeypatch.setattr(plants.layer, "options", replace(plants.options, per_owner=1))
    assert sow(world, ada, 0) == ""
    world.run(5)
    for n in (1, 2, 1):
        assert "as one person may have" in sow(world, ada, n) and purse(world, ada) == 3
    monkeypatch.undo()
    assert sow(world, ada, 1) == "" and purse(world, ada) == 2


def test_nothing_is_planted_where_it_would_be_in_the_way(world):
    ada = world.join("Ada", 0, at=MEADOW)
    give(world, ada, 9)
    assert sow(world, ada, 4) == "you are too far away to plant there"
    assert ask(world, ada, "sow", 1, -(2**30), 2**30) == "you are too far away to plant there"
    far = [(x, y) for y in range(-60, 60) for x in range(-60, 60) if x * x + y * y > 400]
    path = next(tile for tile in far if TERRAIN.kind(*tile) == PATH)
    soil = (tile for tile in far if TERRAIN.kind(*tile) in SOIL)
    beside = next(tile for tile in soil if TERRAIN.tile(*tile)[3] < FROM_PATH)
    mark = Landmarks(TERRAIN).of(0, 0)
    refusals = {
        (8, 0): "you cannot plant on the plaza: walk on a little",
        path: "nothing grows there: plant on a meadow, on sand or in a wood",
        beside: "nothing grows there: plant on a meadow, on sand or in a wood",
        (mark[0] + 2, mark[1]): "you cannot plant so close to a landmark",
    }
    for tile, why in refusals.items():
        put(world, ada, tile)
        assert ask(world, ada, "sow", 1, *tile) == why
    # Also if that lies in the next square.
    border = -MEADOW[0] % world.game(0).side
    put(world, ada, east(border - 1))
    assert ask(world, ada, "build", "here") == ""
    assert sow(world, ada, border) == "something already lies there"
    assert sow(world, ada, border + 1) == ""
    assert purse(world, ada) == 8


def test_of_two_that_plant_on_one_tile_one_succeeds_and_the_other_keeps_its_gem(world, two):
    ada, bob = two
    give(world, ada, 1), give(world, bob, 1)
    ada.do("sow", 1, *east(1)), bob.do("sow", 2, *east(1))
    world.run(1)
    left = purse(world, ada), purse(world, bob)
    assert sorted(left) == [0, 1]
    assert grows(world, 1) == {1 if left == (0, 1) else 2}


def test_a_gem_that_was_paid_when_the_node_died_is_planted_on_the_next_request(
    world, two, monkeypatch
):
    ada, _bob = two
    give(world, ada, 1)

    def die(*_arguments):
        raise GreenletExit

    monkeypatch.setattr(gardens.Me, "write", die)
    with pytest.raises(GreenletExit):
        ada.do("sow", 2, *east(1))
        world.run(1)
    monkeypatch.undo()
    world.kill(0)
    ada.back(1)
    world.run(5)
    assert purse(world, ada) == 0 and grows(world, 1) == {0}
    assert sow(world, ada, 1, 1) == "planting costs a gem, and you have none left: find one"
    assert sow(world, ada, 1, 2) == "" and grows(world, 1) == {2}
    assert sow(world, ada, 0, 2) == "planting costs a gem, and you have none left: find one"
    world.check()


def test_without_its_store_nothing_is_planted_and_nothing_lost(world, two):
    ada, _bob = two
    give(world, ada, 1)
    world.lose_store()
    assert "cannot reach its store" in sow(world, ada, 1)
    world.heal()
    world.run(10)
    assert sow(world, ada, 1) == "" and grows(world, 1) == {1}


def test_a_garden_that_is_visited_lasts_and_an_operator_can_remove_it(world, two, monkeypatch):
    ada, bob = two
    give(world, ada, 1), give(world, bob, 1)
    sow(world, ada, 1), sow(world, bob, 2)
    monkeypatch.setattr(gardens, "RENEW_SECONDS", 30)
    layer = part(world, Gardens).plants.layer
    assert layer.options.forget == PLANT_SECONDS * 1000
    square, place = part(world, Gardens).plants._index(east(1))
    before = layer.received_tiles(square).get(place)[1]
    world.run(20 + 2 * LOOK_SECONDS)
    assert layer.received_tiles(square).get(place)[1] > before
    play = world.game(1).node.play
    owner = resident(world, ada).owner[:16]
    found = play.content.undo(None, Rect(*square, *square))
    assert found[owner] == 1 and len(found) == 2
    assert play.content.undo(owner, Rect(*square, *square)) == {owner: 1}
    world.run(1)
    assert grows(world, 1) == {0} and grows(world, 2) == {1}


def test_a_player_from_afar_plants_nothing_over_what_its_node_does_not_know_yet(world, monkeypatch):
    ada, bob = world.join("Ada", 0, at=MEADOW), world.join("Bob", 1, at=(-900, 0))
    give(world, ada, 1), give(world, bob, 1)
    assert sow(world, ada, 1, 2) == ""
    put(world, ada, (900, 0))
    world.run(120)
    # The store has not yet answered what the node asked about all of its squares.
    monkeypatch.setattr(part(world, Gardens, 1).plants.layer, "apply_stored", lambda *_: None)
    put(world, bob, MEADOW)
    assert grows(world, 1) == {0}
    assert sow(world, bob, 1, 1) == "something already grows there"
    put(world, ada, east(3))
    assert ada.cell("Gardens.plants", *east(1)) == 2
    assert purse(world, bob) == 1


def test_a_person_that_plays_twice_plants_a_gem_once(world, two):
    ada, twin = two
    resident(world, twin).owner = resident(world, ada).owner
    give(world, ada, 1)
    ada.do("sow", 1, *east(1)), twin.do("sow", 2, *east(3))
    world.run(1)
    assert sorted(map(str, ada.errors() + twin.errors())) == [
        "planting costs a gem, and you have none left: find one"
    ]
    assert sorted([*grows(world, 1), *grows(world, 3)]) in ([0, 1], [0, 2])


def test_the_page_draws_roads_where_they_are_and_all_that_is_planted():
    page = (ROOT / "games/flatlands/gardens/page/looks.js").read_text()
    assert f"ROAD = {ROAD};" in page and page.count("prop: '") == KINDS
