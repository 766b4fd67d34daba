import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatlands.testkit.ground import PatchedTerrain
from flatlands.world.terrain import Terrain
from flatlands.world.track import (
    DIAGONAL,
    GOAL_REACH,
    REACH,
    SPEED,
    UNIT,
    Goal,
    Heading,
    Track,
    leg,
    passing,
    stand,
)
from tests.vectors import load

LAND = Terrain(2013)
TILES = PatchedTerrain(LAND.blocked)
FAR = 2**40

positions = st.integers(-FAR, FAR)
lengths = st.integers(-REACH, REACH)
times = st.integers(0, 2**42)
near = st.integers(-400 * UNIT, 400 * UNIT)
goals = st.integers(-(2**19), 2**19)
headings = st.sampled_from([Heading(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b])


FREE = PatchedTerrain(lambda _x, _y: False)


def walls(*tiles):
    return PatchedTerrain(lambda x, y: (x, y) in tiles)


def walk(ground, x, y, intent, legs=400):
    """Return the tracks of a walk from time 0 until it ends, at most `legs` of them."""
    tracks, t = [], 0
    while len(tracks) < legs and (track := leg(ground, x, y, intent, t)) is not None:
        tracks.append(track)
        t = track.end
        x, y = track.at(t)
    return tracks


@pytest.mark.parametrize("vector", load("track"), ids=lambda v: str(v["start"]))
def test_a_walk_is_what_the_vectors_say(vector):
    x, y, t = vector["start"]
    [(kind, values)] = vector["intent"].items()
    intent = Heading(*values) if kind == "heading" else Goal(*values)
    for expected in vector["legs"]:
        track = leg(LAND, x, y, intent, t, vector["pace"])
        assert track is not None and list(track.numbers()) == expected["track"]
        for age, at_x, at_y in expected["at"]:
            assert track.at(t + age) == (at_x, at_y)
        t = track.end
        x, y = track.at(t)


@given(positions, positions, lengths, lengths, times, st.integers(1, 10_000))
def test_a_track_begins_and_ends_where_it_says(x, y, dx, dy, start, duration):
    track = Track(x, y, dx, dy, start, duration)
    assert track.at(start) == track.at(start - 99) == (x, y)
    assert track.at(track.end) == track.at(track.end + 99) == (x + dx, y + dy)


@given(positions, lengths, st.integers(1, 10_000), positions, st.integers(0, 20_000))
def test_a_border_is_passed_in_the_first_millisecond_beyond_it(x, dx, duration, border, other):
    for line in (border, x + dx * other // 20_000):
        track = Track(x, 0, dx, 0, 0, duration)
        after = passing(x, dx, duration, line)

        def beyond(t, line=line, track=track):
            return track.at(t)[0] >= line if dx > 0 else track.at(t)[0] < line

        if after is None:
            assert not beyond(duration)
        else:
            assert beyond(after)
            assert after == 0 or not beyond(after - 1)


@given(positions, positions, headings)
def test_a_free_walk_goes_as_far_as_a_leg_may(x, y, heading):
    track = leg(FREE, x, y, heading, 5)
    assert track == Track(x, y, heading.x * REACH, heading.y * REACH, 5, track.duration)
    assert track.renewable
    speed = DIAGONAL if heading.x and heading.y else SPEED
    assert (track.duration - 1) * speed < REACH * 1000 <= track.duration * speed


@given(positions, positions, lengths, lengths)
def test_a_goal_within_reach_is_reached_exactly(x, y, dx, dy):
    tracks = walk(FREE, x, y, Goal(x + dx, y + dy))
    assert len(tracks) == (1 if dx or dy else 0)
    if tracks:
        assert tracks[0].at(tracks[0].end) == (x + dx, y + dy)


def test_a_far_goal_is_walked_to_leg_by_leg_and_none_is_too_far():
    goal = Goal(-50 * REACH, 3 * REACH + 1)
    tracks = walk(FREE, 7, 7, goal)
    assert tracks[-1].at(tracks[-1].end) == (goal.x, goal.y)
    assert all(abs(t.dx) <= REACH and abs(t.dy) <= REACH for t in tracks)
    assert leg(FREE, 0, 0, Goal(2**60, 0), 0) == leg(FREE, 0, 0, Goal(GOAL_REACH, 0), 0)


def test_without_an_intent_there_is_no_leg():
    assert leg(FREE, 0, 0, None, 0) is None
    assert leg(FREE, 5, 5, Goal(5, 5), 0) is None


def test_a_blocked_walker_ends_on_the_last_unit_of_the_free_tile():
    assert leg(walls((3, 0)), 100, 100, Heading(1, 0), 0).at(10**6) == (3 * UNIT - 1, 100)
    assert leg(walls((-3, 0)), 100, 100, Heading(-1, 0), 0).at(10**6) == (-2 * UNIT, 100)
    assert leg(walls((0, 3)), 100, 100, Heading(0, 1), 0).at(10**6) == (100, 3 * UNIT - 1)
    assert leg(walls((0, -3)), 100, 100, Heading(0, -1), 0).at(10**6) == (100, -2 * UNIT)


@pytest.mark.parametrize("quarters", range(4))
def test_a_player_that_walks_straight_slides_along_a_slanted_railing(quarters):
    # Two railings that rise to the right, two tiles apart, turned by quarters.
    def turned(x, y):
        for _ in range(quarters):
            x, y = -1 - y, x
        return x, y

    rails = walls(*(turned(i, -i + gap) for i in range(-20, 20) for gap in (-2, 1)))
    heading = Heading(*[(1, 0), (0, 1), (-1, 0), (0, -1)][quarters])
    x, y = (place * UNIT + 500 for place in turned(0, 0))
    tracks = walk(rails, x, y, heading, 24)
    assert len(tracks) == 24
    end_x, end_y = tracks[-1].at(tracks[-1].end)
    ahead = (end_x - x) * heading.x + (end_y - y) * heading.y
    assert ahead > 8 * UNIT and abs(end_x - x) + abs(end_y - y) - ahead > 8 * UNIT


def test_a_player_that_is_barred_goes_to_the_nearer_gap_and_not_far():
    one = walls((1, 0))
    assert walk(one, UNIT - 1, 100, Heading(1, 0), 1)[0].dy == -101
    assert walk(one, UNIT - 1, 900, Heading(1, 0), 1)[0].dy == UNIT - 900
    wide = walls((1, -1), (1, 0), (1, 1), (1, 2))
    assert walk(wide, UNIT - 1, 900, Heading(1, 0), 1)[0].dy == -UNIT - 901
    assert leg(walls(*((1, row) for row in range(-2, 3))), UNIT - 1, 500, Heading(1, 0), 0) is None
    # Not through an obstacle beside it; a player with a diagonal heading or a goal stays put.
    assert leg(walls((1, 0), (0, -1), (0, 1)), UNIT - 1, 500, Heading(1, 0), 0) is None
    assert leg(walls((1, 0), (0, 1)), UNIT - 1, UNIT - 1, Heading(1, 1), 0) is None
    assert leg(one, UNIT - 1, 500, Goal(5 * UNIT, 500), 0) is None


def test_a_diagonal_walker_slides_along_a_wall_until_it_ends():
    wall = walls((1, 0), (1, 1), (1, 2))
    [straight, slide, on, *_] = walk(wall, 512, 100, Heading(1, 1), 4)
    assert straight.at(straight.end)[0] == UNIT - 1
    assert slide.dx == 0 and slide.at(slide.end)[1] == 3 * UNIT
    assert on.dx == REACH and on.dy == REACH


def test_a_corner_is_blocked_by_two_tiles_passed_beside_one_and_walked_round_before_one():
    x = y = UNIT // 2
    [track] = walk(walls((1, 0), (0, 1)), x, y, Heading(1, 1))
    assert track.at(track.end) == (UNIT - 1, UNIT - 1)
    assert leg(walls((1, 0)), x, y, Heading(1, 1), 0).renewable
    tracks = walk(walls((1, 1)), x, y, Heading(1, 1), 3)
    assert tracks[0].at(tracks[0].end) == (UNIT - 1, UNIT - 1)
    assert tracks[1].dy == 0 and tracks[1].dx == UNIT + 1
    assert tracks[2].renewable


@given(near, near, headings | st.builds(Goal, goals, goals))
def test_nobody_is_ever_on_a_blocked_tile_nor_too_fast(x, y, intent):
    if LAND.blocked(x // UNIT, y // UNIT):
        x = y = 0
    for track in walk(LAND, x, y, intent, 60):
        assert track.duration > 0
        for t in range(track.start, track.end + 1, max(track.duration // 50, 1)):
            at_x, at_y = track.at(t)
            assert not LAND.blocked(at_x // UNIT, at_y // UNIT)
        far = (track.dx**2 + track.dy**2) ** 0.5
        assert far <= SPEED * track.duration / 1000 + 2


@given(near, near, headings | st.builds(Goal, goals, goals))
def test_looking_at_boxes_first_changes_no_walk(x, y, intent):
    assert walk(LAND, x, y, intent, 20) == walk(TILES, x, y, intent, 20)


@given(st.integers(-300, 300), st.integers(-300, 300), st.integers(-300, 300), st.integers(-99, 99))
def test_every_walk_to_a_goal_ends(x, y, goal_x, goal_y):
    if LAND.blocked(x, y):
        x = y = 0
    goal = Goal(goal_x * UNIT, goal_y * UNIT)
    tracks = walk(LAND, x * UNIT + 7, y * UNIT + 9, goal, 3000)
    assert len(tracks) < 3000


def test_standing_is_a_track_without_length():
    assert stand(3, 4, 100).at(0) == stand(3, 4, 100).at(10**9) == (3, 4)
    assert stand(3, 4, 100).end == 100
