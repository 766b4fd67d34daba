"""Deer: they graze on a meadow, flee from players, and gather again."""

import math

import pytest

from flatlands.games.flatlands.clockwork import Walker
from flatlands.games.flatlands.walkers import deer
from flatlands.games.flatlands.walkers.deer import (
    CALM_AFTER_MS,
    DEER_PER_MEADOW,
    FLIGHT_UNITS,
    MEADOW_TILES,
    SHY_UNITS,
    meadow,
)
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.testkit.ground import PatchedTerrain
from flatlands.world.terrain import BLOCKED, GRASS, Terrain
from flatlands.world.track import UNIT
from games.flatlands.tests.harness import Harness, Sizes

#: ms after which a deer that was frightened is calm again, and has walked home.
BACK_AFTER = CALM_AFTER_MS + 8000


@pytest.fixture
def grazing():
    """Return a harness with the deer of one meadow, and the middle of the meadow."""
    harness = Harness(sizes=Sizes(deer=DEER_PER_MEADOW))
    harness.run(3000)
    return harness, meadow(harness.node.terrain, 0)


def residents(harness):
    """Return the deer of the first node."""
    by_id = harness.node.residents.by_id
    return [resident for id, resident in by_id.items() if id < FIRST_PERSON_ID]


def places(harness):
    return [resident.track.at(harness.loop.now()) for resident in residents(harness)]


def farthest(harness, home):
    """Return how far from home the farthest deer is, in tiles: within MEADOW_TILES along each axis
    means at home."""
    return max(math.dist(place, home) for place in places(harness)) / (UNIT * math.sqrt(2))


def test_deer_stay_on_their_meadow_and_move_now_and_then(grazing):
    harness, home = grazing
    seen = [set() for _ in range(DEER_PER_MEADOW)]
    for _ in range(60):
        harness.run(500)
        assert farthest(harness, home) <= MEADOW_TILES + 0.0006
        for mine, place in zip(seen, places(harness), strict=True):
            mine.add(place)
    assert all(len(some) > 20 for some in seen)
    assert all(one.name == "Deer" for one in residents(harness))


def test_meadows_are_grass_near_the_plaza_and_the_same_for_all_nodes():
    for seed in (2013, 1, 99):
        found = {meadow(Terrain(seed), group) for group in range(8)}
        assert found == {meadow(Terrain(seed), group) for group in range(8)} and len(found) == 8
        for x, y in found:
            assert Terrain(seed).kind(x // UNIT, y // UNIT) == GRASS
            assert math.dist((x, y), (0, 0)) < 64 * UNIT


def test_five_deer_share_a_meadow_and_there_are_always_enough_meadows():
    assert [deer.group(number) for number in range(11)] == [0] * 5 + [1] * 5 + [2]
    assert {deer.group(number) for number in range(10_000)} == set(range(deer.MEADOWS))


def test_without_any_meadow_they_graze_on_the_plaza():
    terrain = PatchedTerrain(lambda _x, _y: True)
    terrain.kind = lambda _x, _y: min(BLOCKED)
    assert math.dist(meadow(terrain, 0), (0, 0)) < UNIT


def test_deer_flee_from_a_player_that_comes_and_gather_once_it_is_gone(grazing):
    harness, home = grazing
    a = harness.stand("A", (home[0] - 12 * UNIT, home[1]), (60, 40))
    harness.run(2000)
    assert farthest(harness, home) <= MEADOW_TILES + 0.0006
    a.go(*home)
    harness.run(6000)
    # The player stands where the deer stood, and none of them is near it.
    assert a.at() == home
    assert min(math.dist(place, home) for place in places(harness)) > SHY_UNITS
    # Everybody sees the same.
    harness.check()
    # They try to come back, and flee again: between two looks they get at most two tiles closer.
    for _ in range(BACK_AFTER // 100):
        harness.run(100)
        assert min(math.dist(place, home) for place in places(harness)) > SHY_UNITS - 3 * UNIT
    a.connection.lose(1000)
    harness.run(BACK_AFTER)
    assert farthest(harness, home) <= MEADOW_TILES + 0.0006


def test_a_deer_flees_directly_away_for_six_to_nine_tiles():
    harness = Harness(sizes=Sizes(deer=1))
    home = meadow(harness.node.terrain, 0)
    harness.run(3000)
    [one] = residents(harness)
    x, y = one.track.at(harness.loop.now())
    harness.stand("A", (x - 2 * UNIT, y), (60, 40))
    harness.run(deer.LOOK_EVERY_MS)
    while not one.track.duration or one.track.end - one.track.start < 1000:
        harness.run(10)
    dx, dy = one.track.dx, one.track.dy
    assert FLIGHT_UNITS[0] - 2 <= math.hypot(dx, dy) <= FLIGHT_UNITS[1] + 2
    # The deer may have taken a step meanwhile.
    assert abs(math.atan2(dy, dx)) < 1.2
    assert math.dist(home, (x, y)) < 6 * UNIT


def test_a_deer_whose_way_is_barred_flees_another_way():
    harness = Harness(sizes=Sizes(deer=1))
    harness.run(3000)
    [one] = residents(harness)
    while one.walks(harness.loop.now()):
        harness.run(10)
    x, y = one.track.at(harness.loop.now())
    column = x // UNIT
    # A wall right behind it, which it cannot pass.
    harness.node.terrain._blocked = lambda c, _row: c == column + 1
    harness.stand("A", (x - 2 * UNIT, y), (60, 40))
    farthest = 0
    for _ in range(40):
        harness.run(100)
        place = one.track.at(harness.loop.now())
        farthest = max(farthest, math.dist(place, (x - 2 * UNIT, y)))
        assert place[0] // UNIT <= column
    assert farthest > SHY_UNITS


def test_deer_flee_from_players_of_other_nodes_but_not_from_people_of_the_herd():
    harness = Harness(skew=7000, sizes=Sizes(deer=1), ready=True)
    home = meadow(harness.node.terrain, 0)
    harness.run(3000)
    harness.sizes = Sizes()
    other = harness.host()
    harness.run(3000)
    walker = Walker((home[0] // UNIT, home[1] // UNIT), name="Ash")
    other.node.spawn(other.node.game.spawn, walker)
    harness.run(3000)
    assert len(other.node.game.movers_here(Walker)) == 1
    assert farthest(harness, home) <= MEADOW_TILES + 0.0006
    harness.stand("A", home, (60, 40), other)
    harness.run(4000)
    assert math.dist(*places(harness), home) > SHY_UNITS


def test_a_chased_deer_runs_on_and_turns_once_a_second(grazing):
    harness, home = grazing
    x, y = home
    a = harness.stand("A", (x - 5 * UNIT, y), (60, 40))
    tracks = {resident.id: set() for resident in residents(harness)}
    for step in range(40):
        a.go(x + step * UNIT, y)
        harness.run(200)
        for resident in residents(harness):
            tracks[resident.id].add(resident.track.numbers())
        assert min(math.dist(place, a.at()) for place in places(harness)) > UNIT // 2
    assert max(len(some) for some in tracks.values()) <= 16
    assert deer.TURN_AFTER_MS == 1000
