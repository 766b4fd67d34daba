"""What all studies have: series in trouble, exit codes, and what is kept when one is stopped."""

import signal
import sys
from functools import partial

from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.kit.signals import Interrupted
from flatlands.loadtest.studies.study import Column, NoOptions, PlainStudy


class Numbers(PlainStudy):
    """A study whose points are given; an exception among them is raised."""

    options = NoOptions
    columns = {"": (Column("n", "n", width=-1),)}
    failures = (ZeroDivisionError,)

    def jobs(self):
        def points(outcomes):
            for outcome in outcomes:
                if isinstance(outcome, Exception):
                    raise outcome
                yield {"n": outcome, "series": "it"}

        for name, outcomes in enumerate(self.chosen):
            yield str(name), partial(points, outcomes)

    def faults(self, row):
        if row["n"] < 0:
            raise Trouble("a message is missing")
        if row["n"] > 7:
            yield ("failed" if row["n"] > 8 else "not valid"), "it is too many"


def measured(*outcomes):
    study = Numbers(None, outcomes)
    return study.measure(), study


def test_a_series_in_trouble_ends_and_the_next_one_is_measured(capsys):
    status, study = measured([1, Trouble("it is gone"), 2], [-3, 4], [5])
    assert (status, [point["n"] for point in study.points]) == (1, [1, -3, 5])
    assert [one["trouble"] for one in study.troubles] == ["it is gone", "a message is missing"]
    out, err = capsys.readouterr()
    assert (out, err) == ("n\n1\n5\n", "0: it is gone.\n1: a message is missing.\n")
    assert measured([1], [2])[0] == 0
    assert measured([ZeroDivisionError("by nothing")], [2])[1].troubles == [
        {"series": "0", "trouble": "by nothing"}
    ]


def test_the_exit_code_is_that_of_the_worst_failure(capsys):
    assert measured([1], [8])[0] == 3 and measured([9, 8])[0] == 1
    assert capsys.readouterr().err.splitlines()[:2] == [
        "not valid: it: it is too many",
        "failed: it: it is too many",
    ]


def test_an_interrupted_measurement_keeps_its_points(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, study = measured([1], [Interrupted(signal.SIGINT)], [2])
    assert (status, [point["n"] for point in study.points]) == (128 + signal.SIGINT, [1])
    assert study.troubles == [{"series": "", "trouble": "it was stopped before its end"}]
    stopped = "0 ...,,1 ...,Stopped. What was measured is reported.\n"
    assert capsys.readouterr().err.replace("\r\033[K", "").replace("\r", ",") == stopped
