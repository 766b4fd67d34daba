"""What the benchmarks make of runs that went wrong: no figures."""

from bench import micro, whole

FIGURES = {"per CPU s": 1e6, "p50": 1.0, "p99": 2.0, "server": 0.5, "MB": 50.0}


def run(**what):
    return [{"figures": FIGURES, "faults": [], "invalid": [], "options": {"bots": 8000}, **what}]


def shapes(**changed):
    return {**{name: run() for name in ("50", "400", "2000", "march", "crowd", "idle")}, **changed}


def test_all_that_went_well_has_figures():
    found = whole.figures(shapes())
    assert found["idle players: memory of each, KB"] == 0.0
    assert found["crossings: CPU against none"] == 1.0 and len(found) == 11


def test_what_needs_a_run_that_failed_or_was_not_valid_is_left_out():
    for wrong in ({"faults": ["joining has not ended"]}, {"invalid": ["the swarm itself ..."]}):
        failed = run(**wrong)
        assert not whole.good(failed)
        found = whole.figures(shapes(idle=failed))
        assert not [name for name in found if name.startswith("idle")] and len(found) == 9
        found = whole.figures(shapes(**{"2000": failed}))
        assert "crossings: CPU against none" not in found and "50 players: p50, ms" in found


def test_the_costs_of_one_move_and_the_like_can_be_measured():
    costs = micro.measure(players=60, repeats=1)
    assert len(costs) == 7
    assert all(cost > 0 for what, cost in costs.items() if "seal" not in what)
