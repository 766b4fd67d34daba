from collections import deque
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flatlands.world import terrain
from flatlands.world.terrain import (
    BLOCKED,
    CHUNK,
    DEEP,
    GRASS,
    GROUND,
    GROUND_LIMIT,
    PLATEAU,
    PLAZA,
    PLAZA_WITHIN,
    PLOT_SIDE,
    RAMP,
    ROCK,
    SAND,
    WATER,
    WOOD,
    Terrain,
    hash32,
)
from tests.vectors import load
from tests.vectors.make import RAMPS, tiles_of


@pytest.mark.parametrize("vector", load("terrain"), ids=lambda v: f"{v['seed']}@{v['chunk']}")
def test_a_chunk_is_what_the_vectors_say(vector):
    tiles = tiles_of(Terrain(vector["seed"]), *vector["chunk"])
    assert [list(tile) for tile in tiles[:8]] == vector["first"]
    for layer in range(4):
        sum_ = sum(place * tile[layer] for place, tile in enumerate(tiles, 1))
        assert sum_ == vector["sums"][layer]


def test_the_page_has_the_same_version_of_the_ground():
    page = (Path(__file__).parents[2] / "static/terrain.js").read_text()
    assert f"export const GROUND = {GROUND};" in page


def test_every_kind_of_ground_is_found_near_the_origin():
    land = Terrain(2013)
    near = sorted(product(range(-200, 200, 2), repeat=2), key=lambda at: max(map(abs, at)))
    kinds = set()
    for x, y in near:
        kinds.add(land.kind(x, y))
        if len(kinds) == 11:
            return
    raise AssertionError(f"only {kinds} are found")


def test_ramps_and_plateaus_are_high():
    land = Terrain(2013)
    tiles = list(product(range(-200, 200, 3), repeat=2))
    high = [tile for tile in tiles if land.high(*tile)]
    assert high == [tile for tile in tiles if land.kind(*tile) in (RAMP, PLATEAU)]
    assert {land.kind(*tile) for tile in high} == {RAMP, PLATEAU}


@pytest.mark.parametrize("seed", [2013, 0, 1, 99, 2**32 - 1])
def test_the_plaza_is_free_and_round(seed):
    land = Terrain(seed)
    for x, y in product(range(-PLAZA_WITHIN, PLAZA_WITHIN + 1), repeat=2):
        assert (land.kind(x, y) == PLAZA) == (x * x + y * y <= PLAZA_WITHIN**2)


def test_beyond_the_limit_is_deep_water():
    land = Terrain(5)
    for x, y in [
        (GROUND_LIMIT, 0),
        (-GROUND_LIMIT - 1, 0),
        (0, GROUND_LIMIT),
        (3, -GROUND_LIMIT - 1),
        (GROUND_LIMIT * 4, GROUND_LIMIT * 4),
    ]:
        assert land.kind(x, y) == DEEP


def test_a_seed_makes_its_own_land_and_counts_by_its_low_32_bits():
    first_row = {seed: [Terrain(seed).tile(x, 150) for x in range(150, 160)] for seed in range(10)}
    assert len(set(map(tuple, first_row.values()))) == 10
    assert Terrain(2**32 + 5).tile(150, 150) == Terrain(5).tile(150, 150)
    assert Terrain(-1).tile(150, 150) == Terrain(2**32 - 1).tile(150, 150)


SEEDS = st.one_of(st.sampled_from([0, 1, 2013, 2**32 - 1]), st.integers(-(2**40), 2**40))

# Chunks around the plaza, in its clearing and at its edge; anywhere; and at the limits.
PLACES = st.one_of(
    st.integers(-5, 5),
    st.integers(-2000, 2000),
    st.integers(-GROUND_LIMIT // CHUNK - 1, GROUND_LIMIT // CHUNK),
    st.sampled_from(
        [end + step for end in (-GROUND_LIMIT // CHUNK, GROUND_LIMIT // CHUNK) for step in (-1, 0)]
    ),
)


@settings(max_examples=40)
@given(SEEDS, PLACES, PLACES)
def test_a_tile_is_blocked_as_its_kind_says(seed, cx, cy):
    land = Terrain(seed)
    tiles = [(cx * CHUNK + x, cy * CHUNK + y) for x, y in product(range(CHUNK), repeat=2)]
    blocked = [tile for tile in tiles if land.blocked(*tile)]
    assert blocked == [tile for tile in tiles if land.kind(*tile) in BLOCKED]


@pytest.mark.parametrize("seed", [2013, 6])
@pytest.mark.parametrize("plot", [(0, 0), (1, 0), (-30, 17), (GROUND_LIMIT // PLOT_SIDE - 1, -5)])
def test_a_tile_where_paths_meet_is_blocked_as_its_kind_says(seed, plot):
    land = Terrain(seed)
    x, y = land.waypoint(*plot)
    for tile in product(range(x - 9, x + 10), range(y - 9, y + 10)):
        assert land.blocked(*tile) == (land.kind(*tile) in BLOCKED)


def _near(chunk):
    """Return the kinds of the tiles of a chunk and of those that touch it."""
    seed, cx, cy = chunk
    land = Terrain(seed)
    columns, rows = [range(c * CHUNK - 1, (c + 1) * CHUNK + 1) for c in (cx, cy)]
    return {(x, y): land.kind(x, y) for x in columns for y in rows}


def _beside(x, y):
    return (x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)


@pytest.mark.parametrize("chunk", RAMPS)
def test_a_ramp_leads_from_low_ground_to_a_plateau(chunk):
    kinds = _near(chunk)
    ramps = {tile for tile, kind in kinds.items() if kind == RAMP}
    inside = {(x, y) for x, y in ramps if x // CHUNK == chunk[1] and y // CHUNK == chunk[2]}
    assert inside
    while inside:
        seen = {inside.pop()}
        todo, ends = list(seen), set()
        while todo:
            for tile in _beside(*todo.pop()):
                if tile in ramps and tile not in seen:
                    seen.add(tile)
                    todo.append(tile)
                elif tile in kinds:
                    ends.add(kinds[tile])
        inside -= seen
        # A high tile that is neither plateau nor rim nor ramp is a path.
        assert PLATEAU in ends and ends - {PLATEAU, ROCK, RAMP}


@pytest.mark.parametrize("chunk", [*RAMPS, (2013, 2, 2), (2013, 2, 3)])
def test_a_chunk_with_ramps_or_beside_the_clearing_is_blocked_as_its_kinds_say(chunk):
    land = Terrain(chunk[0])
    for tile, kind in _near(chunk).items():
        assert land.blocked(*tile) == (kind in BLOCKED)


@pytest.mark.parametrize("chunk", RAMPS)
def test_a_rim_has_no_gap(chunk):
    kinds = _near(chunk)
    for tile, kind in kinds.items():
        if kind == PLATEAU:
            low = {DEEP, WATER, SAND, GRASS, WOOD}
            assert not low & {kinds[beside] for beside in _beside(*tile) if beside in kinds}


@given(*[st.integers(-150, 150)] * 2, *[st.integers(-40, 40)] * 2)
def test_a_box_is_free_if_none_of_its_tiles_is_blocked(x, y, right, down):
    land = Terrain(2013)
    columns = range(min(x, x + right), max(x, x + right) + 1)
    rows = range(min(y, y + down), max(y, y + down) + 1)
    blocked = any(land.blocked(*tile) for tile in product(columns, rows))
    assert land.free(x, y, x + right, y + down) is not blocked


def test_a_box_is_looked_at_from_its_first_corner_and_no_farther_than_a_blocked_tile():
    land = Terrain(2013)
    water = next(x for x in range(50_000) if land.blocked(x, 0))
    for first, last in ((water, water + 500), (water, water - 500)):
        fresh = Terrain(2013)
        assert not fresh.free(first, 0, last, 0)
        assert list(fresh._chunks) == [(water // CHUNK, 0)]


@pytest.mark.parametrize("seed", [2013, 3, 4])
def test_one_can_walk_from_the_plaza_to_the_waypoints_all_around_and_onto_plateaus(seed):
    land, reach = Terrain(seed), 200
    seen, todo = {(0, 0)}, deque([(0, 0)])
    while todo:
        x, y = todo.popleft()
        for tile in _beside(x, y):
            if tile not in seen and max(map(abs, tile)) <= reach and not land.blocked(*tile):
                seen.add(tile)
                todo.append(tile)
    # Bending moves a path by a few tiles: a tile close to each waypoint must be reachable.
    for i, j in product(range(-2, 3), repeat=2):
        wx, wy = land.waypoint(i, j)
        near = {(wx + a, wy + b) for a, b in product(range(-7, 8), repeat=2)}
        assert near & seen, f"waypoint {i}, {j} cannot be reached"
    # Most high ground can be climbed without leaving the area.
    high = [at for at in product(range(-reach, reach, 8), repeat=2) if land.kind(*at) == PLATEAU]
    climbed = [at for at in high if at in seen]
    assert len(climbed) > 20 and len(climbed) > 0.9 * len(high)


@pytest.mark.parametrize("far", [0, 5_000_000, -GROUND_LIMIT + 400])
def test_paths_are_never_blocked_and_run_on_without_a_gap(far):
    land = Terrain(11)
    # Of two rows of plots, at least one is joined across each border of plots, so every column of
    # tiles has a path tile not far away.
    plot = far // 64
    for x in range(far, far + 256):
        rows = range(plot * 64 - 100, plot * 64 + 100)
        assert any(land.kind(x, y) in (6, 7, 8) for y in rows), f"no path crosses column {x}"
    assert not BLOCKED & {6, 7, 8}


def test_the_ground_that_is_walked_on_stays_cached_and_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(terrain, "CACHED_CHUNKS", 64)
    land, made = Terrain(8), []
    function = land._chunks._function
    land._chunks._function = lambda chunk: made.append(chunk) or function(chunk)
    for far in range(2000):
        land.blocked(0, 0)
        land.blocked(10**6 + far * CHUNK, 0)
    assert made.count((0, 0)) == 1
    assert len(land._chunks) + len(land._chunks._older) <= 64


def test_neighbouring_tiles_have_similar_heights():
    land = Terrain(21)
    for y in range(48, 64):
        heights = [land.tile(x, y)[1] for x in range(-96, 96)]
        assert max(abs(one - other) for one, other in pairwise(heights)) < 3500


def test_hashing_takes_any_whole_number_and_spreads():
    assert hash32(0) == hash32(2**32)
    assert hash32(-1) == hash32(2**32 - 1)
    assert len({hash32(n) for n in range(10_000)}) == 10_000
