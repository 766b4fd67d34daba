import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatlands.testkit.ground import PatchedTerrain
from flatlands.world.grid import Grid, Rect, viewport
from flatlands.world.track import REACH, UNIT, Heading, Track, leg, stand
from tests.picture import screens

GRID = Grid()
SPAN = GRID.span
FREE = PatchedTerrain(lambda _x, _y: False)
positions, near = (st.integers(-(2**bits), 2**bits) for bits in (40, 30))
ways = st.integers(-REACH, REACH)
views = st.builds(viewport, st.integers(1, 200), st.integers(1, 200))


def touched(x, y, view, margin):
    """Return the rectangle of squares that a grown viewport touches."""
    return Rect(
        (x - view.half_width - margin) // SPAN,
        (y - view.half_height - margin) // SPAN,
        (x + view.half_width + margin) // SPAN,
        (y + view.half_height + margin) // SPAN,
    )


def inside(inner, outer):
    return (
        outer.c0 <= inner.c0 <= inner.c1 <= outer.c1
        and outer.r0 <= inner.r0 <= inner.r1 <= outer.r1
    )


def test_squares_are_floored_below_zero_too():
    assert GRID.square(0, 0) == (0, 0)
    assert GRID.square(SPAN - 1, -1) == (0, -1)
    assert GRID.square(-SPAN, -SPAN - 1) == (-1, -2)


def test_a_rectangle_holds_its_squares_and_no_others():
    rect = Rect(-1, 2, 1, 3)
    assert list(rect.squares()) == [(-1, 2), (0, 2), (1, 2), (-1, 3), (0, 3), (1, 3)]
    near = {(column, row) for column in range(-3, 5) for row in range(-1, 6)}
    assert {square for square in near if rect.holds(square)} == set(rect.squares())


def test_a_square_is_side_tiles_wide_and_its_margins_are_fractions_of_that():
    grid = Grid(16)
    assert grid.span == 16 * 1024
    assert 0 < grid.lead < grid.drop <= grid.span


@pytest.mark.parametrize("side", [7, 65, 0, -16])
def test_a_side_out_of_range_is_refused(side):
    with pytest.raises(ValueError, match="8 to 64"):
        Grid(side)


def test_viewports_are_clamped():
    assert viewport(1, 10**9) == (8 * UNIT // 2, 64 * UNIT // 2)
    most = viewport(10**9, 10**9)
    rect = GRID.held(None, 0, 0, most)
    assert len(list(rect.squares())) <= 64


@given(positions, positions, views, st.lists(st.tuples(positions, positions), max_size=4))
def test_the_screen_is_covered_and_nothing_far_is_held_whatever_was_held(x, y, view, before):
    held = None
    for at in [*before, (x, y)]:
        held = GRID.held(held, *at, view)
        assert inside(touched(*at, view, GRID.lead), held)
        assert inside(held, touched(*at, view, GRID.drop))


@given(positions, positions, views)
def test_holding_twice_changes_nothing(x, y, view):
    held = GRID.held(None, x, y, view)
    assert GRID.held(held, x, y, view) == held


@given(positions, positions, views, st.lists(st.integers(0, GRID.drop - GRID.lead), max_size=9))
def test_jitter_within_the_margins_changes_nothing_after_the_first_time(x, y, view, jitters):
    # Held at one end and then at the other: everything in between is held by then.
    held = GRID.held(GRID.held(None, x, y, view), x + GRID.drop - GRID.lead, y, view)
    for jitter in jitters:
        assert GRID.held(held, x + jitter, y, view) == held


def test_the_three_screens_of_the_picture_hold_their_squares():
    for name, screen in screens().items():
        assert GRID.held(None, *screen.at, viewport(*screen.size)) == screen.squares, name


def test_the_picture_is_that_of_the_article():
    squares = {name: set(screen.squares.squares()) for name, screen in screens().items()}
    assert {name: len(held) for name, held in squares.items()} == {"red": 9, "blue": 8, "green": 24}
    assert squares["red"] & squares["green"] == {(2, 4), (3, 4)}
    assert squares["blue"] & squares["green"] == {(5, 4), (6, 4)}
    assert not squares["red"] & squares["blue"]


@given(near, near, ways, ways, st.integers(1, 9000), views)
def test_the_next_change_is_the_first_millisecond_that_changes_anything(x, y, dx, dy, ms, view):
    track = Track(x, y, dx, dy, 1000, ms)
    square, held = GRID.square(x, y), GRID.held(None, x, y, view)

    def same(t):
        at = track.at(t)
        return GRID.square(*at) == square and GRID.held(held, *at, view) == held

    due = GRID.next_change(track, square, held, view)
    if due is None:
        assert same(track.end)
    else:
        assert not same(due) and same(due - 1)
    alone = GRID.next_change(track, square, None, None)
    assert (alone is None) == (GRID.square(*track.at(track.end)) == square)


def test_a_walk_of_a_thousand_squares_changes_hands_a_few_times_a_square():
    view, x, y, changes = viewport(40, 25), 100, 100, 0
    square, held, t = GRID.square(x, y), GRID.held(None, x, y, view), 0
    while square[0] < 1000:
        track = leg(FREE, x, y, Heading(1, 0), t)
        while (due := GRID.next_change(track, square, held, view)) is not None:
            at = track.at(due)
            assert (GRID.square(*at), GRID.held(held, *at, view)) != (square, held)
            square, held = GRID.square(*at), GRID.held(held, *at, view)
            changes += 1
        t = track.end
        x, y = track.at(t)
    # One crossing, one square gained, one lost.
    assert 2900 <= changes <= 3100


def test_a_player_that_stands_still_has_nothing_due():
    view = viewport(40, 25)
    held = GRID.held(None, 5, 5, view)
    assert GRID.next_change(stand(5, 5, 0), (0, 0), held, view) is None
