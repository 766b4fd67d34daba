"""Charts and page of a run, whole or in part."""

from types import SimpleNamespace

import pytest

from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.kit.thresholds import threshold
from flatlands.loadtest.queues.series import SERIES
from flatlands.loadtest.queues.study import Options, TwoQueues


def study(*points, limits=()):
    found = TwoQueues(SimpleNamespace(fail_if=limits), Options())
    found.jobs = lambda: [("redis", lambda: points)]
    return found


def point(series, clients, delivered=100):
    account = {"sent": 100, "due": 100, "delivered": delivered, "dropped": 0, "lost": 0, "cuts": 0}
    rates = dict.fromkeys(("per_client", "per_client_least", "per_client_most"), 1000.0)
    return {
        **{"series": series, "clients": clients, "account": account, **rates},
        **{"publishes": 1000.0, "deliveries": 1000.0 * clients},
        "latency_ms": {"p50": 1.5, "p99": 12.0},
        "cpu": {"publishers": 0.5, "subscribers": 0.5, "both": None, "brokers": None},
        "cpu_us": {"publishers": 5.0, "subscribers": 2.25, "brokers": None},
    }


def silent(series):
    account = {"sent": 100, "due": 100, "delivered": 90, "dropped": 0, "lost": 10, "cuts": 0}
    told = {"adds_up": True, "silent": True, "unfinished": 0}
    return {**point(series, 1), "account": {**account, **told}}


@pytest.mark.parametrize("series", [one.name for one in SERIES.values() if one.is_told])
def test_a_loss_in_silence_is_trouble(series):
    with pytest.raises(Trouble, match="10 messages were lost without a Reset"):
        list(study().faults(silent(series)))


@pytest.mark.parametrize("series", ["redis-2013", "zeromq-2013", "go-zeromq-2013"])
def test_a_loss_in_silence_is_no_trouble_where_nothing_else_is_promised(series, capsys):
    assert study(silent(series)).measure({}) == 0
    row = capsys.readouterr().out.splitlines()[1]
    assert row.split()[-7:] == ["5.0", "-", "2.2", "10.0%,", "and", "nobody", "told"]


@pytest.mark.parametrize("series", ["redis", "zeromq-2013"])
def test_who_has_not_finished_is_trouble_whatever_the_series_promises(series):
    late = silent(series)
    late["account"]["unfinished"] = 3
    with pytest.raises(Trouble, match=f"^{series} with 1 clients: 3 of the subscribers were still"):
        list(study().faults(late))


def test_a_point_that_crosses_a_threshold_is_told_and_the_next_one_is_measured(capsys):
    limits = [threshold(TwoQueues.figures)(text) for text in ("p50 > 1", "brokers > 1")]
    points, run = [point("redis", 2), point("redis", 3)], {}
    for one in points:
        one["account"] |= {"adds_up": True, "unfinished": 0, "silent": False}
    points[1]["latency_ms"]["p50"] = 0.5
    assert study(*points, limits=limits[:1]).measure(run) == 99 and run["points"] == points
    assert run["crossed"] == ["redis with 2 clients: p50 > 1: 1.5"]
    assert capsys.readouterr().err == "crossed: redis with 2 clients: p50 > 1: 1.5\n"
    study(points[1], limits=limits).measure(run)
    assert run["crossed"][1:] == ["redis with 3 clients: brokers > 1: brokers is not known"]
