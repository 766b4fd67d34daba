from collections import deque
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors import load
from world.terrain import (
    BLOCKED,
    CACHED_CHUNKS,
    CHUNK,
    DEEP,
    LIMIT,
    PLAZA,
    PLAZA_WITHIN,
    Terrain,
    hash32,
)


@pytest.mark.parametrize("vector", load("terrain"), ids=lambda v: f"{v['seed']}@{v['chunk']}")
def test_a_chunk_is_what_the_vectors_say(vector):
    fields = list(Terrain(vector["seed"]).fields(*vector["chunk"]))
    assert [list(tile) for tile in fields[:8]] == vector["first"]
    for layer in range(4):
        sum_ = sum(place * tile[layer] for place, tile in enumerate(fields, 1))
        assert sum_ == vector["sums"][layer]


def test_every_kind_of_ground_is_found_near_the_origin():
    land, kinds = Terrain(2013), set()
    for cx, cy in sorted(product(range(-20, 20), repeat=2), key=lambda at: max(map(abs, at))):
        kinds |= set(land.chunk(cx, cy))
        if kinds == set(range(9)):
            return
    raise AssertionError(f"only {kinds} are found")


@pytest.mark.parametrize("seed", [2013, 0, 1, 99, 2**32 - 1])
def test_the_plaza_is_free_and_round(seed):
    land = Terrain(seed)
    for x in range(-PLAZA_WITHIN, PLAZA_WITHIN + 1):
        for y in range(-PLAZA_WITHIN, PLAZA_WITHIN + 1):
            within = x * x + y * y <= PLAZA_WITHIN**2
            assert (land.kind(x, y) == PLAZA) == within


def test_beyond_the_limit_is_deep_water():
    land = Terrain(5)
    for x, y in [(LIMIT, 0), (-LIMIT - 1, 0), (0, LIMIT), (3, -LIMIT - 1), (LIMIT * 4, LIMIT * 4)]:
        assert land.kind(x, y) == DEEP


def test_a_seed_makes_its_own_land_and_counts_by_its_low_32_bits():
    chunks = {Terrain(seed).chunk(9, 9) for seed in range(10)}
    assert len(chunks) == 10
    assert Terrain(2**32 + 5).chunk(9, 9) == Terrain(5).chunk(9, 9)
    assert Terrain(-1).chunk(9, 9) == Terrain(2**32 - 1).chunk(9, 9)


@given(*[st.integers(-150, 150)] * 2, *[st.integers(0, 40)] * 2)
def test_a_box_is_free_if_none_of_its_tiles_is_blocked(x, y, width, height):
    land = Terrain(2013)
    tiles = [(a, b) for a in range(x, x + width + 1) for b in range(y, y + height + 1)]
    blocked = any(land.blocked(*tile) for tile in tiles)
    assert land.free(x, y, x + width, y + height) is not blocked


@pytest.mark.parametrize("seed", [2013, 3, 4])
def test_one_can_walk_from_the_plaza_to_the_paths_waypoints_all_around(seed):
    land, reach = Terrain(seed), 200
    seen, todo = {(0, 0)}, deque([(0, 0)])
    while todo:
        x, y = todo.popleft()
        for tile in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if tile not in seen and max(map(abs, tile)) <= reach and not land.blocked(*tile):
                seen.add(tile)
                todo.append(tile)
    # Bending moves a path by a few tiles: somewhere close to each waypoint must be reached.
    for i in (-2, -1, 0, 1, 2):
        for j in (-2, -1, 0, 1, 2):
            wx, wy = land.waypoint(i, j)
            near = {(wx + a, wy + b) for a in range(-7, 8) for b in range(-7, 8)}
            assert near & seen, f"waypoint {i}, {j} cannot be reached"


@pytest.mark.parametrize("far", [0, 5_000_000, -LIMIT + 400])
def test_paths_are_never_blocked_and_run_on_without_a_gap(far):
    land = Terrain(11)
    # Along a row of waypoints, every column of tiles has a path tile not far from the row.
    cell = far // 64
    for x in range(far, far + 256):
        rows = range(cell * 64 - 60, cell * 64 + 60)
        assert any(land.kind(x, y) in (6, 7, 8) for y in rows), f"no path crosses column {x}"
    assert not BLOCKED & {6, 7, 8}


def test_the_cache_is_bounded_and_changes_nothing():
    land, first = Terrain(8), Terrain(8).chunk(0, 0)
    assert land.chunk(0, 0) == first
    land._chunks.update({(10**6, n): (b"", 0) for n in range(CACHED_CHUNKS)})
    land.chunk(1, 1)
    assert len(land._chunks) <= CACHED_CHUNKS + 1
    assert (0, 0) not in land._chunks
    assert land.chunk(0, 0) == first


def test_neighbouring_chunks_join_without_a_seam():
    land = Terrain(21)
    for cx in range(-6, 6):
        left, right = list(land.fields(cx, 3)), list(land.fields(cx + 1, 3))
        for row in range(CHUNK):
            step = abs(left[row * CHUNK + CHUNK - 1][1] - right[row * CHUNK][1])
            inside = max(
                abs(left[row * CHUNK + x][1] - left[row * CHUNK + x + 1][1]) for x in range(15)
            )
            assert step <= 4 * inside + 2500


def test_hashing_takes_any_whole_number_and_spreads():
    assert hash32(0) == hash32(2**32)
    assert hash32(-1) == hash32(2**32 - 1)
    assert len({hash32(n) for n in range(10_000)}) == 10_000
