"""Faults under a swarm, in short."""

import re

import pytest

from flatlands.loadtest.chaos.__main__ import Outcome, judge, main
from flatlands.loadtest.chaos.faults import FAULTS, SOAKING
from flatlands.loadtest.swarm.oracle import Verdict
from flatlands.loadtest.swarm.result import END, Options, Result
from flatlands.loadtest.swarm.screens import Returns, Screens
from flatlands.loadtest.swarm.truth import SECOND
from tests.processes import ROOT
from tests.quiet import tries


@pytest.mark.load
@pytest.mark.alone
@pytest.mark.parametrize("fault", ["stall", pytest.param("close-codes", marks=pytest.mark.outside)])
def test_a_promise_of_the_operators_page_is_kept(fault, monkeypatch, capsys):
    for name in ("BEFORE_SECONDS", "AFTER_SECONDS"):
        monkeypatch.setattr(f"flatlands.loadtest.chaos.__main__.{name}", 1.0)
    monkeypatch.setattr("flatlands.loadtest.swarm.run.WARM_UP_SECONDS", 1.0)
    for _ in tries():
        code = main(["--faults", fault, "--bots", "40"])
        said = capsys.readouterr().out
        if code != 3:
            break
    assert code == 0, said
    # In the line that follows the fault, and in the table.
    assert said.count("kept") == 2


def outcome(right=1.0, **what):
    """The outcome of a killed worker after which screens were wrong for `right` seconds."""
    found = Outcome("kill-worker", FAULTS["kill-worker"])
    moment = 10 * SECOND + round(right * SECOND)
    result = Result(
        Options(),
        verdict=Verdict(**what.pop("verdict", {})),
        returns=Returns(**what),
        screens=Screens(wrong={moment: {"ghosts": 1}}),
    )
    judge(found, result, [10 * SECOND])
    return found


def test_a_promise_that_is_kept():
    found = outcome(cuts=5, as_themselves=5)
    assert found.right == 1.0 and found.broken == []


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ({"right": 10.5}, "screens were wrong for 10.5 s"),
        ({"never": 1}, "1 bots never came back"),
        ({"as_others": 2}, "2 bots came back as somebody else"),
        ({"backwards": 3}, "3 bots came back with an older seq"),
        *(({"verdict": {name: 4}}, f"4 {name} at the end") for name in END),
    ],
)
def test_a_promise_that_is_broken(what, word):
    assert outcome(**what).broken == [word]


def test_nobody_may_be_cut_off_by_a_fault_that_gives_no_reason_to():
    found = Outcome("stall", FAULTS["stall"])
    result = Result(Options(), verdict=Verdict(), returns=Returns(cuts=1), screens=Screens())
    judge(found, result, [10 * SECOND])
    assert len(found.broken) == 1 and "1 bots were cut off" in found.broken[0]


def test_the_operators_page_promises_what_is_tried():
    page = (ROOT / "docs" / "operations.md").read_text()
    page = page.partition("\n## Faults\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| `([\w-]+)` \| ([\d.]+) \|", page, re.M)
    told = {name: (about, float(promise)) for about, name, promise in rows}
    assert told == {name: (fault.about, fault.promise) for name, fault in FAULTS.items()}
    assert set(SOAKING) <= set(FAULTS)
