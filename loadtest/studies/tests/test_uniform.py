"""Calls of sqlite, Redis and the game's store: what is counted and marked, and a small run."""

import json
import sqlite3

import pytest

from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies import uniform


def test_a_figure_beyond_a_factor_of_three_of_the_others_is_marked():
    assert uniform.beyond([1.0, 1.0, 1.0]) == [False, False, False]
    assert uniform.beyond([3.0, 1.0, 1.0]) == [False, False, False]
    assert uniform.beyond([3.1, 1.0, 1.0, 0.3]) == [True, False, False, True]


def test_a_call_that_fails_gives_no_figure():
    def broken(number):
        if number == 5:
            raise sqlite3.OperationalError("the disk is gone")

    with pytest.raises(Trouble, match="the disk is gone"):
        uniform.point([broken] * 3, 60, iter(range(100)))


def test_a_point_counts_the_calls_of_all_callers():
    numbers = []
    # Each call lets the others run, so that all callers call.
    point = uniform.point(
        [lambda n: (numbers.append(n), uniform.gevent.sleep(0))] * 10, 0.05, iter(range(10**9))
    )
    assert point["calls"] == len(numbers) >= 10 and numbers == list(range(len(numbers)))
    assert 0 < point["p50"] <= point["p99"] and point["rate"] > 0
    # On a busy machine the time may be over before the first caller begins.
    assert uniform.point([lambda n: None] * 100, 0.0, iter(range(10**9)))["calls"] == 100


@pytest.mark.process
def test_the_latency_of_every_operation_is_measured(tmp_path, capsys, monkeypatch, left):
    monkeypatch.setattr(uniform, "FILLED_ROWS", 2000)
    out = tmp_path / "uniform.json"
    assert uniform.main(["--seconds", "0.02", "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    operations = {one["series"]: one["callers"] for one in found["points"]}
    assert list(operations) == list(uniform.OPERATIONS)
    for name, points in operations.items():
        assert list(points) == ["1", "10", "100"], name
        for one in points.values():
            assert one["calls"] > 0 and 0 < one["p50"] <= one["p99"] and len(one["beyond"]) == 3
    shown = capsys.readouterr().out
    assert "110,000 a second" in shown and "blog post of September 2010" in shown
    assert not left("redis-server")
