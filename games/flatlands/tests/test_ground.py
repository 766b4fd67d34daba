import pytest

from flatlands.games.flatlands.ground.landmarks import EDGE, FROM_PLAZA, PART, Landmarks
from flatlands.world.terrain import GROUND_LIMIT, Terrain
from tests.vectors import load


@pytest.mark.parametrize("vector", load("landmarks"), ids=lambda v: f"{v['seed']}@{v['part']}")
def test_a_landmark_is_where_the_vectors_say_and_has_their_name(vector):
    landmarks = Landmarks(Terrain(vector["seed"]))
    found = landmarks.of(*vector["part"])
    assert (found and list(found)) == vector["tile"]
    assert landmarks.name(*vector["part"]) == vector["name"]


def test_most_parts_have_a_landmark_that_is_free_away_from_borders_and_the_plaza():
    land = Terrain(7)
    landmarks, count = Landmarks(land), 0
    for i in range(-4, 4):
        for j in range(-4, 4):
            tile = landmarks.of(i, j)
            if tile is None:
                continue
            x, y = tile
            count += 1
            assert EDGE <= x - i * PART < PART - EDGE and EDGE <= y - j * PART < PART - EDGE
            assert not land.blocked(x, y) and x * x + y * y > FROM_PLAZA**2
    assert count > 40


def test_beyond_the_ground_there_is_none():
    part = GROUND_LIMIT // PART + 1
    assert Landmarks(Terrain(7)).of(part, part) is None
    assert Landmarks(Terrain(7)).of(-part - 1, 0) is None
