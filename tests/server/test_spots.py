"""Where players begin."""

import math
from collections import Counter

import pytest

from flatlands.server.players.spots import (
    GUEST_FARTHEST_TILES,
    GUEST_NEAREST_TILES,
    Spots,
    spread_square,
)
from flatlands.testkit.ground import PatchedTerrain
from flatlands.world.grid import Grid
from flatlands.world.terrain import BLOCKED, HIGH, PLAZA_WITHIN, Terrain
from flatlands.world.track import UNIT

GRID = Grid(16)
TERRAIN = Terrain(2013)


def kinds(places):
    """Return the kinds of the ground at places in units."""
    return {TERRAIN.kind(x // UNIT, y // UNIT) for x, y in places}


def test_newcomers_begin_on_the_plaza():
    spots = Spots(GRID, TERRAIN, 0)
    for _ in range(200):
        x, y = spots.newcomer()
        assert x * x + y * y <= (PLAZA_WITHIN * UNIT) ** 2


@pytest.mark.parametrize("spread", [1, 2, 9, 100])
def test_newcomers_are_spread_evenly_over_squares_on_free_ground(spread):
    spots = Spots(GRID, TERRAIN, spread)
    places = [spots.newcomer() for _ in range(5 * spread)]
    assert not kinds(places) & BLOCKED
    squares = Counter(GRID.square(*place) for place in places)
    assert set(squares) <= {spread_square(turn, spread) for turn in range(spread)}
    # A square that is nearly all water may pass its turns on.
    assert len(squares) > 0.9 * spread and max(squares.values()) <= 10


@pytest.mark.interpreted
def test_newcomers_for_whom_no_square_of_a_spread_is_free_begin_on_the_plaza():
    class Sea(Terrain):
        def blocked(self, column, row):
            return column > 1000 or super().blocked(column, row)

    x, y = Spots(GRID, Sea(2013), 1, 8000).newcomer()
    assert x * x + y * y <= (PLAZA_WITHIN * UNIT) ** 2


def test_the_squares_of_a_spread_are_one_block_around_the_origin():
    squares = {spread_square(turn, 100) for turn in range(100)}
    assert squares == {(column, row) for column in range(-5, 5) for row in range(-5, 5)}
    assert spread_square(0, 1) == (0, 0)


@pytest.mark.parametrize("ring", [1000, 100_000, 50_000_000])
def test_newcomers_may_begin_on_a_circle_far_from_each_other(ring):
    spots = Spots(GRID, TERRAIN, 100, ring)
    places = [spots.newcomer() for _ in range(100)]
    assert not kinds(places) & BLOCKED
    # They begin somewhere in a square, and a square that is nearly all water is passed over.
    assert all(abs(math.hypot(x, y) / UNIT - ring) < 2 * GRID.side for x, y in places)
    assert len({GRID.square(*place) for place in places}) > 60
    # They are on all sides.
    assert {(x > 0, y > 0) for x, y in places} == {(a, b) for a in (0, 1) for b in (0, 1)}


def test_a_guest_begins_beside_a_friend():
    spots = Spots(GRID, TERRAIN, 0)
    for _ in range(50):
        x, y = spots.beside(1000, -5000)
        assert (
            GUEST_NEAREST_TILES * UNIT - 1
            <= math.hypot(x - 1000, y + 5000)
            <= GUEST_FARTHEST_TILES * UNIT + 1
        )


def test_newcomers_do_not_begin_on_high_ground():
    spots = Spots(GRID, TERRAIN, 100)
    places = [spots.newcomer() for _ in range(500)]
    squares = {GRID.square(*place) for place in places}
    tiles = [(16 * c + i % 16, 16 * r + i // 16) for c, r in squares for i in range(256)]
    # A part of some squares is on a plateau.
    assert {TERRAIN.kind(*tile) for tile in tiles} & HIGH
    assert not kinds(places) & (BLOCKED | HIGH)


def test_a_guest_begins_where_the_friend_can_go():
    spots = Spots(GRID, PatchedTerrain(lambda x, _y: x == 51), 0)
    there = 50 * UNIT + 500, 50 * UNIT + 500
    assert all(spots.beside(*there)[0] < 51 * UNIT for _ in range(100))


def test_a_guest_begins_where_the_friend_is_if_all_around_is_blocked_or_else_on_the_plaza():
    spots = Spots(GRID, PatchedTerrain(lambda x, y: (x, y) != (50, 50)), 0)
    there = 50 * UNIT + 500, 50 * UNIT + 500
    assert spots.beside(*there) == there
    x, y = spots.beside(80 * UNIT, 80 * UNIT)
    assert math.hypot(x, y) < PLAZA_WITHIN * UNIT
