"""The benchmarks give no figures for runs that went wrong; and small runs of each of them."""

import json
import re
import time
from collections import Counter

import pytest

from bench import hooks, server, whole
from bench.server import Form, Pair
from flatlands.loadtest.kit.processes import Trouble

FIGURES = {"per CPU s": 1e6, "p50": 1.0, "p99": 2.0, "server": 0.5, "MB": 50.0}
TOTALS = {"bytes": 4_608_000, "events": 100_000}


def run(**what):
    right = {"figures": FIGURES, "totals": TOTALS, "measured": 2.0, "faults": [], "invalid": []}
    return [{**right, "options": {"bots": 8000}, **what}]


def shapes(**changed):
    return {**{name: run() for name in whole.RUNS}, **changed}


def test_every_run_that_went_well_has_figures():
    found = whole.figures(shapes())
    assert found["idle players: memory of each, KB"] == 0.0
    assert found["crossings: CPU against none"] == 1.0 and len(found) == 27
    assert found["2000 players: bytes an event"] == 46.08
    assert found["2000 players: KB/s to each"] == 1.125


def test_figures_of_a_run_that_failed_or_was_not_valid_are_left_out():
    for wrong in ({"faults": ["joining has not ended"]}, {"invalid": ["the swarm itself ..."]}):
        failed = run(**wrong)
        assert not whole.good(failed)
        found = whole.figures(shapes(idle=failed))
        assert not [name for name in found if name.startswith("idle")] and len(found) == 25
        found = whole.figures(shapes(**{"2000": failed}))
        assert "crossings: CPU against none" not in found and "50 players: p50, ms" in found


THREE = Form(("400", "gem"), pairs=3, attempts=20, limit=0.06)


def pairs(*ratios, run="400", **more):
    """Return pairs of runs, in which the machine itself is faster each time."""
    return [
        Pair(run, {"a move": 100.0 * 2**n}, {"a move": ratio * 100 * 2**n}, **more)
        for n, ratio in enumerate(ratios)
    ]


def test_the_median_of_the_ratios_says_whether_something_became_dearer():
    gems = pairs(1.0, 1.0, 1.0, run="gem")
    code, sentence = server.verdict(THREE, pairs(1.05, 1.061, 1.2) + gems)
    assert (code, sentence) == (1, "regression: a move costs 6.1% more")
    # One pair says nothing, and what became cheaper hides nothing.
    assert server.verdict(THREE, pairs(0.9, 1.059, 2.0) + gems)[0] == 0
    # If pairs disagree, it may be chance, but that is no verdict that nothing became dearer.
    code, sentence = server.verdict(THREE, pairs(0.99, 1.1, 1.2) + gems)
    assert code == 3 and "a move costs 10.0% more, but not in all pairs" in sentence
    assert server.verdict(THREE, pairs(0.5, 0.5, 0.5) + pairs(1.1, 1.1, 1.1, run="gem"))[0] == 1
    # Pairs that were spoiled do not count.
    spoiled = pairs(2.0, 2.0, 2.0, 2.0, spoiled="others used 9% of a core")
    assert server.verdict(THREE, spoiled + pairs(1.0, 1.0, 1.0) + gems)[0] == 0
    assert server.verdict(THREE, spoiled + pairs(1.1, 1.1, 1.1) + gems)[0] == 1
    told = server.table(THREE, spoiled + pairs(1.05, 1.061, 1.2) + gems)
    assert re.fullmatch(r"a move +200.0 +212.2 +1.061  1.050 to 1.200 \(3 pairs\)", told[1])


@pytest.mark.process
def test_costs_are_compared_in_units_of_a_loop_on_the_same_core(monkeypatch):
    [pair] = pairs(1.2, loop=(800.0, 1000.0))
    assert pair.ratios() == {"a move": pytest.approx(0.96)}
    with server.timed_loop() as times:
        time.sleep(0.2)
    assert len(times) > 1 and min(times) > 0
    monkeypatch.setattr(server, "LOOP", "raise SystemExit('MemoryError')")
    with pytest.raises(Trouble, match=r"loop on the server's core does not start: MemoryError"):
        with server.timed_loop():
            pass


def test_there_is_no_verdict_without_enough_pairs_that_were_undisturbed():
    few = pairs(2.0, 2.0) + pairs(2.0, 2.0, spoiled="others used 9% of a core")
    code, sentence = server.verdict(THREE, few + pairs(2.0, 2.0, 2.0, run="gem"))
    assert code == 3 and "of 20 pairs of the run 400 only 2 were undisturbed" in sentence
    assert server.verdict(THREE, [])[0] == 3


@pytest.mark.process
def test_a_server_that_goes_wrong_undisturbed_has_failed(monkeypatch, tmp_path):
    there, here = (server.Side(tmp_path / name, "no") for name in ("there", "here"))
    fine = run(
        totals={"server_cpu": 1.0, "moves": 2000, "joins": 9}, server={"cpu_ms": 1000, "writes": 0}
    )
    results, used = {there.folder: fine, here.folder: run(faults=["screens differ"])}, []
    monkeypatch.setattr(server, "run_apart", lambda _words, _within, folder, _: results[folder])
    monkeypatch.setattr(server, "_used", lambda: (0.0, 0.0, float(len(used.append(1) or used))))
    form = Form(("400",), pairs=1, attempts=3)
    tried = server.gather(form, lambda *of: server.measure(there, here, *of), str)
    told = "failed: of the run 400, the run here went wrong: screens differ"
    assert server.verdict(form, tried) == (1, told)
    # The swarm was too slow: this says nothing of the server.
    results[here.folder] = run(invalid=["the swarm itself ..."])
    tried = server.gather(form, lambda *of: server.measure(there, here, *of), str)
    assert server.verdict(form, tried)[0] == 3


def test_pairs_that_were_disturbed_are_repeated_and_begin_with_each_side_in_turn():
    asked = []
    noisy = iter([True, False, True, True] + [False] * 20)

    def measure(run, here_first):
        asked.append((run, here_first))
        spoiled = run == "400" and next(noisy)
        return pairs(1.0, run=run, spoiled="others used 9% of a core" * spoiled)[0]

    said = []
    tried = server.gather(THREE, measure, said.append)
    moves = [here_first for run, here_first in asked if run == "400"]
    # A pair that is repeated begins as it did before.
    assert moves == [False, False, True, True, True, False]
    assert [here_first for run, here_first in asked if run == "gem"] == [False, True, False]
    assert server.verdict(THREE, tried)[0] == 0 and len(tried) == len(said) == 9
    assert sum("repeated, since others used 9% of a core" in line for line in said) == 3


def test_pairs_are_not_repeated_for_ever():
    tried = server.gather(THREE, lambda run, _: pairs(1.0, run=run, spoiled="noise")[0], str)
    assert len(tried) == 40 and server.verdict(THREE, tried)[0] == 3


def test_figures_are_those_of_the_time_that_the_swarm_has_measured():
    # The server has counted for a tenth longer.
    counted = {"cpu_ms": 1100, "writes": 11_000, "things_taken": 110}
    [result] = run(totals={"server_cpu": 1.0, "moves": 2000, "joins": 400}, server=counted)
    moves = server.figures("400", result)
    assert moves == pytest.approx(
        {"a move, 400 players": 500.0, "a move, 400 players, without sends": 465.0}
    )
    assert server.figures("hello", result) == pytest.approx({"a hello": 2500.0})
    assert server.figures("gem", result) == pytest.approx({"a gem": 10_000.0})
    with pytest.raises(Trouble, match="nothing has happened"):
        server.figures("gem", {**result, "server": {"cpu_ms": 1100}})
    with pytest.raises(Trouble, match="did not tell its numbers"):
        server.figures("gem", {**result, "server": {}})
    for wrong in ("faults", "invalid"):
        with pytest.raises(Trouble, match="what went wrong"):
            server.figures("gem", {**result, wrong: ["what went wrong"]})


@pytest.mark.outside
@pytest.mark.load
def test_a_commit_is_compared_with_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(server, "COMMITS", tmp_path / "commits")
    # Others run tests here.
    monkeypatch.setattr(server, "OTHERS", 2.0)
    monkeypatch.setattr(server, "MEASURED_SECONDS", 1)
    monkeypatch.setattr(server, "FULL", Form(tuple(server.RUNS), attempts=3))
    small = "--bots", "60", "--squares", "6"
    for name in ("400", "2000"):
        monkeypatch.setitem(server.RUNS, name, ("--scenario", "mill", *small))
    monkeypatch.setitem(server.RUNS, "hello", ("--scenario", "churn", "--rate", "0", *small))
    out = tmp_path / "pairs.json"
    code = server.main(["HEAD", "--sources", "--pairs", "1", "--json", str(out)])
    found = json.loads(out.read_text())
    assert code == found["code"] and found["verdict"] in capsys.readouterr().out
    [clone] = (tmp_path / "commits").iterdir()
    assert clone.name == found["commit"] and (clone / "loadtest" / "bots.py").is_file()
    counting = {pair["run"]: pair for pair in found["pairs"] if not pair["spoiled"]}
    assert code == 3 or counting.keys() == server.RUNS.keys()
    for pair in counting.values():
        assert pair["there"].keys() == pair["here"].keys()
        assert all(cost > 0 for cost in pair["here"].values())


@pytest.mark.process
def test_a_commit_that_is_not_in_the_clone_gives_no_verdict(capsys):
    assert server.main(["0" * 40]) == 3
    said = capsys.readouterr().out
    assert re.fullmatch(r"not valid: the commit 0{40} is not in this clone; .*\n", said)


def test_the_cost_of_hooks_is_measured_by_calling_each_of_them(monkeypatch, capsys):
    called: Counter[str] = Counter()

    def counting(name):
        monkeypatch.setattr(hooks.Game, name, lambda *_: called.update([name]))

    counting("on_step")
    counting("on_enter")
    counting("look")
    costs = hooks.measure(players=30, repeats=2)
    assert called == {"on_step": 60, "on_enter": 60, "look": 2}
    assert len(costs) == 3
    assert min(costs.values()) >= 0
    assert capsys.readouterr().err == ""
