"""Where bots go next."""

import math
from types import SimpleNamespace

import pytest

from flatlands.loadtest.swarm import wire
from flatlands.loadtest.swarm.scenarios import AROUND, RING, SCENARIOS, TILE


@pytest.mark.parametrize("angle", range(0, 360, 7))
def test_an_explorer_walks_away_from_the_plaza_and_each_move_is_a_new_one(angle):
    x = round(RING * TILE * math.cos(math.radians(angle)))
    y = round(RING * TILE * math.sin(math.radians(angle)))
    course = SimpleNamespace(position=(x, y, TILE, 0, 0, 200))
    bot = SimpleNamespace(turn=0, course=course, at=lambda _now: (x, y))
    before = None
    for now in range(5):
        kind, dx, dy = SCENARIOS["explore"].move(bot, now)
        assert kind == wire.WALK and (dx, dy) in AROUND and (dx, dy) != before
        assert x * dx + y * dy > 0
        before = dx, dy


def test_an_explorer_whose_way_is_blocked_tries_other_ways():
    course = SimpleNamespace(position=(0, 0, 0, 0, 0, 0))
    bot = SimpleNamespace(turn=0, course=course, at=lambda _now: (RING * TILE, 0))
    tried = {SCENARIOS["explore"].move(bot, now)[1:] for now in range(300)}
    assert tried == set(AROUND)
