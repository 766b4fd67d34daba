"""What counts as a fault of a broker's point, and what is told of it."""

from types import SimpleNamespace

import pytest

from flatlands.loadtest.kit.charts import PAPER, tint
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.kit.thresholds import threshold
from flatlands.loadtest.studies.two_queues.series import SERIES
from flatlands.loadtest.studies.two_queues.study import Options, TwoQueues, _lines


def study(*points, limits=()):
    found = TwoQueues(SimpleNamespace(fail_if=limits), Options())
    found.jobs = lambda: [("redis", lambda: points)]
    return found


def point(series="redis", clients=1, delivered=100, p50=1.5, **account):
    lost = {"lost": 100 - delivered, "silent": delivered < 100, "adds_up": True, "unfinished": 0}
    found = {"sent": 100, "due": 100, "delivered": delivered, "dropped": 0, "cuts": 0}
    return {
        **{"series": series, "clients": clients, "account": {**found, **lost, **account}},
        **{"per_client": 1000.0, "publishes": 1000.0, "deliveries": 1000.0 * clients},
        "latency_ms": {"p50": p50, "p99": 12.0},
        "cpu": {"publishers": 0.5, "subscribers": 0.5, "both": None, "brokers": None},
        "cpu_us": {"publishers": 5.0, "subscribers": 2.25, "brokers": None},
    }


@pytest.mark.parametrize("series", SERIES)
def test_a_silent_loss_is_trouble_where_a_reset_is_promised(series, capsys):
    measured = study(point(series, delivered=90))
    status = measured.measure()
    if SERIES[series].is_told:
        assert status == 1 and "10 messages were lost without a Reset" in str(measured.troubles)
    else:
        row = capsys.readouterr().out.splitlines()[1]
        assert status == 0 and row.split()[-7:] == "5.0 - 2.2 10.0%, and nobody told".split()


@pytest.mark.parametrize("series", ["redis", "zeromq-2013"])
def test_a_subscriber_that_has_not_finished_is_trouble_whatever_the_series_promises(series):
    with pytest.raises(Trouble, match=f"^{series} with 1 clients: 3 of the subscribers were still"):
        list(study().faults(point(series, delivered=90, unfinished=3)))


def test_a_point_that_used_all_cores_or_did_not_end_is_pale(monkeypatch):
    points = [point(), point(clients=2), point(clients=16, delivered=90, unfinished=1)]
    points[1]["cpu"]["subscribers"] = 1.4
    [line] = _lines(points, ["redis"], "per_client", 2)
    assert (line.pale, line.hollow) == ([False, True, True], [False, False, True])
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    drawn = study()
    drawn.points = points
    _, *marks = drawn.draw()["two-queues-all"].axes[0].lines
    pale = tint(SERIES["redis"].colour, 0.65)
    assert [(mark.get_color(), mark.get_markerfacecolor()) for mark in marks] == [
        (pale, pale),
        (pale, PAPER),
    ]


def test_a_point_that_crosses_a_threshold_is_told_and_the_next_one_is_measured(capsys):
    limits = [threshold(TwoQueues.figures)(text) for text in ("p50 > 1", "brokers > 1")]
    points = [point(clients=2), point(clients=3, p50=0.5)]
    measured = study(*points, limits=limits[:1])
    assert measured.measure() == 99 and measured.points == points
    assert measured.crossed == ["redis with 2 clients: p50 > 1: 1.5"]
    assert capsys.readouterr().err == "crossed: redis with 2 clients: p50 > 1: 1.5\n"
    measured = study(points[1], limits=limits)
    measured.measure()
    assert measured.crossed == ["redis with 3 clients: brokers > 1: brokers is not known"]
