"""When two players touch: the first moment is right to the millisecond, for random tracks."""

import random

import pytest

from flatlands.world.contact import first_contact
from flatlands.world.track import UNIT, Track, duration, stand

REACH = UNIT * 4 // 5


def walking(x, y, dx, dy, start):
    return Track(x, y, dx, dy, start, duration(dx, dy))


def away2(a, b, t):
    (ax, ay), (bx, by) = a.at(t), b.at(t)
    return (ax - bx) ** 2 + (ay - by) ** 2


def slowly(a, b, start, until):
    """Return the first contact, found by looking at every millisecond."""
    return next((t for t in range(start, until + 1) if away2(a, b, t) <= REACH**2), None)


def test_a_player_that_walks_towards_a_standing_one_touches_it_at_the_edge_of_reach():
    a, b = walking(0, 0, 10 * UNIT, 0, 1000), stand(5 * UNIT, 0, 0)
    found = first_contact(a, b, REACH, 1000, 10_000)
    assert found == slowly(a, b, 1000, 10_000)
    assert abs(found - 1000 - (5 * UNIT - REACH) * 1000 / 5120) <= 1


def test_a_player_that_passes_too_far_away_or_stops_short_touches_nobody():
    b = stand(5 * UNIT, UNIT, 0)
    assert first_contact(walking(0, 0, 10 * UNIT, 0, 0), b, REACH, 0, 10_000) is None
    assert first_contact(walking(0, UNIT, 4 * UNIT, 0, 0), b, REACH, 0, 10_000) is None
    assert first_contact(walking(0, UNIT, 9 * UNIT, 0, 0), b, REACH, 0, 500) is None


def test_a_player_that_is_near_already_touches_at_once():
    a, b = stand(0, 0, 0), stand(UNIT // 2, 0, 0)
    assert first_contact(a, b, REACH, 77, 78) == 77
    assert first_contact(a, b, REACH, 77, 77) == 77
    assert first_contact(a, stand(UNIT, 0, 0), REACH, 77, 77) is None


@pytest.mark.parametrize("seed", range(40))
def test_the_first_contact_is_that_of_a_look_at_every_millisecond(seed):
    chance = random.Random(seed)
    found = 0
    for _ in range(60):
        tracks = []
        for _ in range(2):
            x, y = (chance.randint(-2 * UNIT, 2 * UNIT) for _ in "xy")
            dx, dy = (chance.randint(-5 * UNIT, 5 * UNIT) for _ in "xy")
            begun = chance.randint(-800, 800)
            is_walking = chance.random() < 0.8
            tracks.append(walking(x, y, dx, dy, begun) if is_walking else stand(x, y, begun))
        a, b = tracks
        start, until = 0, chance.randint(300, 1500)
        fast, slow = first_contact(a, b, REACH, start, until), slowly(a, b, start, until)
        if fast is None:
            # Positions are rounded down: one a unit inside the edge may count as passing by.
            lowest = min(away2(a, b, t) for t in range(start, until + 1))
            assert lowest > (REACH - 3) ** 2
        else:
            # The distance falls evenly, except for rounding, which is a ms or so at the edge.
            assert slow is not None and 0 <= fast - slow <= 2
            assert away2(a, b, fast) <= REACH**2
            found += 1
    assert found > 3
