"""Charts and page of a run, whole or in part."""

import pytest

from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.queues import command, report
from flatlands.loadtest.queues.series import PAST, PAST_CLIENTS, SERIES


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


def run(points, rate=0, troubles=()):
    return {
        **{"when": "then", "command": ["python"], "options": {"rate": rate}},
        **{"machine": {"cores": 2}, "points": points, "troubles": list(troubles)},
    }


def test_the_page_needs_no_other_file(tmp_path):
    report.write(run([point(name, n) for name in SERIES for n in (1, 2)]), tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 4 and "src=" not in page and "<link" not in page
    for number in (1, 2, 3):
        assert (tmp_path / f"two-queues-{number}.png").exists()
        assert (tmp_path / f"two-queues-{number}.svg").read_text() in page
    for series in SERIES.values():
        assert f">{series.label}</text>" in page


def test_the_articles_curves_are_labelled_with_their_year(tmp_path):
    figure = report.draw(run([point("redis-2013", 1)]))["two-queues-3"]
    labels = {text.get_text() for text in figure.axes[0].texts}
    assert labels == {"Redis, buffered, as printed"} | {label for label, _ in PAST.values()}
    assert all(label.endswith(" 2013") for label, _ in PAST.values())
    assert all(len(curve) == len(PAST_CLIENTS) for _, curve in PAST.values())
    assert {one.past for one in SERIES.values() if one.past} == PAST.keys()


def test_a_point_that_lost_messages_is_hollow():
    lines = report._lines(
        run([point("redis", 1), point("redis", 2, delivered=90)]), ["redis"], "deliveries"
    )
    assert lines[0].hollow == [False, True]


def test_at_a_rate_there_are_latencies_to_see():
    figures = report.draw(run([point("redis", 1), point("redis", 2), point("memory", 2)], 1000))
    [bars] = figures.values()
    texts = [text.get_text() for text in bars.axes[0].texts]
    assert texts == ["1.5 ms, 99 % within 12 ms"] * 2


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


@pytest.mark.parametrize("rate", [0, 1000])
def test_a_run_in_trouble_before_its_first_point_is_a_report_too(rate, tmp_path):
    trouble = {"series": "redis", "trouble": "no <server>"}
    report.write(run([], rate, [trouble]), tmp_path)
    assert "redis: no &lt;server&gt;." in (tmp_path / "index.html").read_text()
