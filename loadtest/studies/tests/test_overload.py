"""A server whose core is not enough: what its seconds say, and a small run."""

import json

import pytest

from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies import overload
from flatlands.loadtest.swarm.result import Options, Result
from tests.quiet import tries


def test_a_server_has_recovered_once_it_stays_as_quick_as_before():
    def series(*latencies):
        return [{"second": n + 0.5, "p99": float(p99)} for n, p99 in enumerate(latencies)]

    late = (10, 10, 10, 500, 900)
    assert overload.well_after(series(*late, 10, 12, 10), 3.0, 5.0) == 0.5
    assert overload.well_after(series(*late, 500, 12, 16, 10, 15), 3.0, 5.0) == 3.5
    assert overload.well_after(series(*late, 500, 12, 16), 3.0, 5.0) is None
    assert overload.well_after([], 3.0, 5.0) is None


def test_a_run_that_ends_before_it_is_measured_gets_a_sentence():
    ended = Result(Options(), error="all bots have lost their connection")
    with pytest.raises(Trouble, match="60 players, half a core: the run ended too early: all bots"):
        overload.found("60 players, half a core", [], ended)


@pytest.mark.load
def test_the_fate_of_an_overloaded_server_can_be_measured(sets, out, capsys):
    sets(
        overload,
        PASSING_PLAYERS=40,
        PLAYERS=(60,),
        BEFORE_SECONDS=2.0,
        DURING_SECONDS=4.0,
        AFTER_SECONDS=2.0,
        MEASURED_SECONDS=3.0,
    )
    sets(overload, LEFT_OUT_SECONDS=1.0)
    for _ in tries(3):
        code = overload.main(["--json", str(out)])
        found = json.loads(out.read_text())
        # If the machine stood still, there is no row from before or during the overload.
        if not found["troubles"]:
            break
    assert not found["troubles"] and code in (0, 3)
    assert [one["series"] for one in found["points"]] == [
        "40 players, a whole core",
        "40 players, half a core for 4 s",
        "60 players, half a core",
    ]
    assert all(one["per_cpu"] > 0 and one["share"] > 0 for one in found["points"])
    said = capsys.readouterr().out
    assert "60 players, half a core" in said and "The server is " in said
