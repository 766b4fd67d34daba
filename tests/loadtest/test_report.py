"""Charts and page of a run, whole or in part."""

import pytest

from flatlands.loadtest.kit.points import measure_all
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.kit.thresholds import threshold
from flatlands.loadtest.queues import command
from flatlands.loadtest.queues.series import SERIES


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
        command.check(silent(series))


@pytest.mark.parametrize("series", ["redis-2013", "zeromq-2013", "go-zeromq-2013"])
def test_a_loss_in_silence_is_no_trouble_where_nothing_else_is_promised(series):
    line = command.check(silent(series))
    assert "CPU 5.0 + - + 2.2 us  10.0% not delivered and nobody told" in line


@pytest.mark.parametrize("series", ["redis", "zeromq-2013"])
def test_who_has_not_finished_is_trouble_whatever_the_series_promises(series):
    late = silent(series)
    late["account"]["unfinished"] = 3
    with pytest.raises(Trouble, match=f"^{series} with 1 clients: 3 of the subscribers were still"):
        command.check(late)


def test_a_point_that_crosses_a_threshold_is_told_and_the_next_one_is_measured(capsys):
    limits = [threshold(command.FIGURES)(text) for text in ("p50 > 1", "brokers > 1", "lost > 1")]
    points, run = [point("redis", 2), point("redis", 3)], {}
    for one in points:
        one["latency_ms"] |= {"p90": 2.0, "p99.9": 20.0, "pmax": 30.0}
    points[1]["latency_ms"]["p50"] = 0.5
    done = measure_all(
        ["redis"], lambda _: points, str, run, lambda one: command.crossed(one, limits[::2])
    )
    assert done == 99 and run["crossed"] == ["redis with 2 clients: p50 > 1: 1.5"]
    assert "crossed: redis with 2 clients: p50 > 1: 1.5" in capsys.readouterr().err
    [unknown] = command.crossed(points[1], limits)
    assert unknown == "redis with 3 clients: brokers > 1: brokers is not known"
