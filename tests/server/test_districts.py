"""The plan of the districts: which worker has a square, and how the plan follows the loads."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatlands.server.cluster.districts import (
    COLUMNS,
    PLAYERS,
    ROWS,
    WORKERS_SETTLED_S,
    Districts,
    Line,
    WorkerLoad,
    line,
    pack_plan,
    read_plan,
    shard_of,
    shards,
)
from flatlands.server.workers.worker import pack_load, read_load


def test_lines_along_columns_rows_and_ids_decide_which_worker_has_a_player():
    plan = (COLUMNS, 3, (ROWS, -1, 0, 1), (PLAYERS, 0, 2, 3))
    assert shard_of(plan, (2, -2), 7) == 0
    assert shard_of(plan, (2, -1), 7) == 1
    assert shard_of(plan, (3, 9), 6) == 2
    assert shard_of(plan, (3, 9), 7) == 3
    # Workers get the plan in this form.
    assert read_plan(pack_plan(plan, [0, 2], 4, [2])) == (plan, {0, 2}, 4, {2})
    # An older supervisor, which an update does not replace, sends this one.
    assert read_plan(msgpack.packb([plan, [0], 4])) == (plan, {0}, 4, frozenset())


def test_players_are_divided_across_the_longer_side_of_where_they_are():
    wide = [(column, row) for column in range(10) for row in range(3)]
    assert line(wide) == Line(COLUMNS, 5)
    assert line([square[::-1] for square in wide]) == Line(ROWS, 5)


def test_no_line_divides_the_players_in_one_square():
    # Nor does a line divide a crowd if it leaves hardly anybody on one side.
    for squares in ([], [(4, 4)] * 100, [(4, 4)] * 100 + [(9, 9)] * 10):
        assert line(squares) is None


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=60))
def test_a_line_leaves_a_fair_part_on_either_side(squares):
    found = line(squares)
    if found is not None:
        below = sum(square[found.axis] < found.at for square in squares)
        assert 0.3 * len(squares) <= below <= 0.7 * len(squares)


def follow(plan, loads):
    """Return the plan that follows a plan under these loads."""
    districts = Districts(plan)
    districts.follow(loads, 0.0)
    return districts.plan


def test_nothing_is_divided_while_one_worker_can_bear_the_load():
    districts = Districts(0)
    for second in range(100):
        districts.follow({0: WorkerLoad(0.99), 1: WorkerLoad(0.0)}, float(second))
    assert districts.plan == 0


def test_half_of_a_busy_workers_players_go_to_the_quietest_free_worker():
    loads = {0: WorkerLoad(1.2, Line(ROWS, 7)), 1: WorkerLoad(0.2), 2: WorkerLoad(0.1)}
    assert follow(0, loads) == (ROWS, 7, 0, 2)


def test_a_change_is_judged_only_when_the_players_have_moved():
    districts = Districts(0)
    busy = {0: WorkerLoad(3.0, Line(ROWS, 7)), 1: WorkerLoad(0.2), 2: WorkerLoad(0.1)}
    districts.follow(busy, 0.0)
    districts.follow(busy, WORKERS_SETTLED_S - 1)
    assert shards(districts.plan) == [0, 2]
    districts.follow(busy, WORKERS_SETTLED_S)
    assert sorted(shards(districts.plan)) == [0, 1, 2]


def test_a_crowd_in_one_square_is_spread_evenly_over_all_workers():
    districts = Districts(0)
    crowd = range(1000, 3000)
    for step in range(10):
        number = {slot: 0 for slot in range(4)}
        for id in crowd:
            number[shard_of(districts.plan, (0, 0), id)] += 1
        loads = {slot: WorkerLoad(some / 400) for slot, some in number.items()}
        districts.follow(loads, step * WORKERS_SETTLED_S)
    assert all(some == 500 for some in number.values())


THREE = (ROWS, 0, (COLUMNS, 0, 0, 1), 2)


def test_two_quiet_districts_become_one_at_the_worker_that_has_more_to_do():
    assert follow(THREE, {0: WorkerLoad(0.1), 1: WorkerLoad(0.3), 2: WorkerLoad(0.9)}) == (
        ROWS,
        0,
        1,
        2,
    )


def test_two_quiet_districts_become_one_for_the_sake_of_a_busy_one():
    # They are not quiet enough to become one for their own sake.
    loads = {0: WorkerLoad(0.3), 1: WorkerLoad(0.4), 2: WorkerLoad(1.5, Line(ROWS, 5))}
    assert follow(THREE, loads) == (ROWS, 0, 1, (ROWS, 5, 2, 0))
    assert follow(THREE, {0: WorkerLoad(0.6), 1: WorkerLoad(0.7), 2: WorkerLoad(1.5)}) == THREE


def test_a_worker_that_has_ended_keeps_its_district_until_it_is_started_again():
    assert follow((ROWS, 0, 0, 1), {0: WorkerLoad(0.1), 2: WorkerLoad(0.0)}) == (ROWS, 0, 0, 1)


def test_a_worker_that_takes_nobody_gets_no_district_but_is_relieved():
    loads = {0: WorkerLoad(2.0, takes=False), 1: WorkerLoad(0.0, takes=False), 2: WorkerLoad(0.5)}
    plan = follow(0, loads)
    assert plan == (PLAYERS, 0, 0, 2)
    assert follow(plan, {slot: WorkerLoad(0.1, takes=slot != 2) for slot in loads}) == plan


LOADS = st.dictionaries(
    st.integers(0, 5),
    st.builds(
        WorkerLoad,
        st.floats(0, 4),
        st.none() | st.builds(Line, st.sampled_from([COLUMNS, ROWS]), st.integers(-5, 5)),
        st.booleans(),
    ),
)


@given(
    st.lists(LOADS, max_size=20),
    st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
    st.integers(0, 2**52),
)
def test_each_player_always_has_one_worker_and_each_worker_one_district(all_loads, square, id):
    districts = Districts(0)
    for step, loads in enumerate(all_loads):
        districts.follow(loads, step * WORKERS_SETTLED_S)
        some = shards(districts.plan)
        assert len(set(some)) == len(some)
        assert shard_of(districts.plan, square, id) in some


@pytest.mark.parametrize(
    "load", [WorkerLoad(0.25), WorkerLoad(1.5, Line(COLUMNS, -3)), WorkerLoad(0.0, Line(1, 0))]
)
def test_a_worker_tells_its_supervisor_how_busy_it_is(load):
    assert read_load(pack_load(load)) == load
    assert read_load("") is None


def test_the_district_of_a_worker_that_is_gone_goes_to_a_free_one_or_over_its_line():
    districts = Districts((COLUMNS, 3, (ROWS, -1, "a", "b"), "c"))
    quiet = {name: WorkerLoad(0.1) for name in "bce"}
    for gone, loads, plan in (
        ("a", quiet | {"d": WorkerLoad(0.2)}, (COLUMNS, 3, (ROWS, -1, "e", "b"), "c")),
        ("e", {"b": WorkerLoad(0.1), "c": WorkerLoad(0.1)}, (COLUMNS, 3, "b", "c")),
        ("c", {"b": WorkerLoad(0.1), "d": WorkerLoad(0.1, takes=False)}, "b"),
        # The last worker keeps everything: no other one is there.
        ("b", {}, "b"),
    ):
        districts.part_with(gone, loads)
        assert districts.plan == plan
