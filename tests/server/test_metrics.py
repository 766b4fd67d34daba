"""What workers count and hold, added up, even while some of them end."""

import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from flatlands.server.runtime.histogram import BUCKETS, MEASURED, Histogram, summarize
from flatlands.server.web.exposition import exposition
from flatlands.server.web.metrics import GAUGES, Report, Reports, bury
from tests.inside import inside
from tests.processes import PATIENCE, serving
from tests.server.servers import ask, stats, until
from tests.socket_client import SocketClient


def report(joins, connections=0):
    return Report(time.monotonic(), {"connections": connections}, {"joins": joins}, {"dropped": 1})


@pytest.fixture
def dead():
    """The id of a process that does not exist: Linux gives no id as large as this."""
    return 2**22 + 1


def write(folder, name, content):
    new = folder / "new"
    new.write_text(json.dumps(content._asdict()))
    new.replace(folder / name)


@pytest.fixture
def joined(tmp_path):
    """A function that returns how many joins the folder has; this worker has counted one."""
    mine = Reports(str(tmp_path), lambda: report(1))
    return lambda: mine.total()[1].counted["joins"]


def test_one_process_needs_no_folder():
    assert Reports(None, lambda: report(3)).total()[1].counted == {"joins": 3}
    assert Reports(None, lambda: report(3)).keep_writing() is None


def test_the_sum_has_all_of_living_workers_and_what_dead_ones_counted(tmp_path, dead):
    times = {"flush": [1] * (BUCKETS + 1)}
    other = report(10, connections=4)._replace(written=1e12, times=times)
    write(tmp_path, f"{os.getpid()}-a.report", other)
    write(tmp_path, f"{dead}-b.report", report(100, connections=50)._replace(times=times))
    mine = report(1, connections=2)._replace(times=times)
    living, total = Reports(str(tmp_path), lambda: mine).total()
    assert total.times == {"flush": [3] * (BUCKETS + 1)}
    assert [one.gauges["connections"] for one in living] == [2, 4]
    assert total.gauges == {"connections": 6} and total.counted == {"joins": 111}
    assert total.broker == {"dropped": 3}


def test_what_the_dead_have_counted_is_kept_and_their_files_are_not(tmp_path, dead, joined):
    for n in range(5):
        write(tmp_path, f"{dead}-{n}.report", report(10))
        before = joined()
        bury(tmp_path, [os.getpid()])
        assert joined() == before == 11 + 10 * n
    assert len(list(tmp_path.iterdir())) == 2


def test_workers_of_another_version_are_read_and_buried_and_an_older_one_does_not_find_ours(
    tmp_path, dead, joined
):
    written = {**report(10)._asdict(), "moods": {"glad": 1}}
    (tmp_path / f"{dead}-a.report").write_text(json.dumps(written))
    assert joined() == 11
    bury(tmp_path, [os.getpid()])
    assert joined() == 11
    assert [path.name for path in tmp_path.glob("[0-9]*.json")] == []


def test_a_worker_that_is_found_both_alive_and_buried_is_counted_once(tmp_path, dead, joined):
    write(tmp_path, f"{dead}-a.report", report(10))
    content = (tmp_path / f"{dead}-a.report").read_text()
    bury(tmp_path, [])
    # This is the state between the two steps of a burial.
    (tmp_path / f"{dead}-a.report").write_text(content)
    assert joined() == 11
    bury(tmp_path, [os.getpid()])
    assert joined() == 11


def test_a_burial_that_fails_is_reported_and_made_up_for(tmp_path, dead, joined, caplog):
    write(tmp_path, f"{dead}-a.report", report(10))
    (tmp_path / "ended.new").mkdir()
    bury(tmp_path, [])
    assert "cannot be added up" in caplog.text
    (tmp_path / "ended.new").rmdir()
    assert joined() == 11
    bury(tmp_path, [os.getpid()])
    assert joined() == 11 and len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("stands_still", [False, True])
def test_a_worker_that_is_asked_waits_for_newer_reports_but_not_for_ever(
    tmp_path, joined, stands_still, monkeypatch
):
    if not stands_still:
        monkeypatch.setattr("flatlands.server.web.metrics.WAIT_FOR_OTHERS_S", PATIENCE)
    name = f"{os.getpid()}-a.report"
    write(tmp_path, name, report(10))
    timer = threading.Timer(0.2, lambda: stands_still or write(tmp_path, name, report(20)))
    timer.start()
    counted = joined()
    timer.join()
    assert counted == (11 if stands_still else 21)


def test_a_folder_that_is_gone_is_reported_once_and_costs_only_the_others(tmp_path, caplog):
    mine = Reports(str(tmp_path / "gone"), lambda: report(1))
    assert {mine.total()[1].counted["joins"] for _ in range(3)} == {1}
    assert caplog.text.count("this worker cannot share its counters") == 1


def test_prometheus_can_read_what_it_is_shown():
    counted = {"cpu_ms": 1500, "joins": 2, "refused_flood": 3, "closed_1006": 4, "closed_other": 5}
    counted |= {"http_us": 2_500_000}
    slow = Histogram()
    for us in (0, 256, 257, 20_000_000):
        slow.add(us)
    times = {"flush": slow.counts}
    total = Report(0, dict.fromkeys(GAUGES, 2.0), counted, {"published": 6}, times=times)
    living = [total._replace(about={"game": "paint", "worker": number}) for number in (1, 2, 3)]
    text = exposition(living, total).decode()
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["flatlands_build_info", "paint", "3"] == 1
    assert samples["flatlands_http_seconds_total",] == 2.5
    assert samples["flatlands_workers",] == 3
    buckets = [samples["flatlands_flush_seconds_bucket", le] for le in ("0.000256", "0.000512")]
    assert [*buckets, samples["flatlands_flush_seconds_bucket", "+Inf"]] == [2, 3, 4]
    assert samples["flatlands_flush_seconds_count",] == 4
    assert samples["flatlands_flush_seconds_sum",] == 20.000513
    assert samples["flatlands_loop_lag_seconds",] == 0.002
    assert samples["process_cpu_seconds_total",] == 1.5
    assert samples["flatlands_joins_total",] == 2 and samples["flatlands_errors_total",] == 0
    assert samples["flatlands_refused_total", "flood"] == 3
    assert samples["flatlands_closed_total", "1006"] == 4
    assert samples["flatlands_closed_total", "other"] == 5
    assert samples["flatlands_broker_published_total",] == 6
    assert len(set(samples)) == len(samples)


def test_times_are_told_as_percentiles():
    spread = Histogram()
    assert summarize(spread.counts) == {"count": 0, "p50_ms": 0, "p99_ms": 0}
    for us in [900] * 98 + [-5] + [70_000_000]:
        spread.add(us)
    assert summarize(spread.counts) == {"count": 100, "p50_ms": 1.024, "p99_ms": 1.024}
    spread.add(30_000)
    assert summarize(spread.counts)["p99_ms"] == 32.768 and spread.counts[-1] == 70_118_200


def test_what_was_slow_an_hour_ago_is_not_in_the_present_percentiles(tmp_path):
    spread = Histogram()
    spread.add(1_000_000)
    for _ in range(2):
        assert summarize(spread.lately())["p99_ms"] == 1048.576
        spread.turn()
    spread.add(900)
    assert summarize(spread.lately()) == {"count": 1, "p50_ms": 1.024, "p99_ms": 1.024}
    assert summarize(spread.counts)["count"] == 2
    mine = report(1)._replace(lately={"flush": spread.lately()})
    write(tmp_path, f"{os.getpid()}-a.report", mine._replace(written=1e12))
    _, total = Reports(str(tmp_path), lambda: mine).total()
    assert summarize(total.lately["flush"])["count"] == 2


def test_a_server_measures_how_long_things_take_and_counts_what_it_sends():
    with inside("--store", "memory://", GAME="quiet") as server:
        client = SocketClient(server.port).hello("Anna")

        def measured():
            # One flush of 16 is measured.
            client.walk(1 - 2 * (client.number % 2), 0)
            return all(stats(server)["times"][name]["count"] for name in MEASURED)

        until(measured)
        counted = server.counted()
        assert counted["batches_sent"] >= 1 and counted["flushed_bytes"] > 10 * counted["writes"]
        assert counted["answered_101"] == 1 and counted["answered_200"] >= 1
        assert ask(server, "nowhere")[0] == 404 and server.counted()["answered_404"] == 1
        client.close(None)


def joins(server):
    found = re.search(r"^flatlands_joins_total ([\d.]+)$", server.get("metrics").decode(), re.M)
    return float(found[1])


@pytest.mark.process
def test_every_worker_tells_of_all_and_nothing_is_forgotten_when_one_dies():
    # Workers report at different moments: a player passed on in between counts once or twice.
    with serving("--workers", "2", "--gather", "0", SECRET_KEY="s") as server:
        clients = [SocketClient(server.port).hello(f"P{n}") for n in range(6)]
        nodes = set()

        def all_tell_of_six():
            """Return whether all answers have all players: a busy worker may report late."""
            shown = [stats(server) for _ in range(8)]
            nodes.update(told["node"] for told in shown)
            return all(
                told["workers"] == 2
                and told["connections"] == told["residents"] == told["counted"]["joins"] == 6
                for told in shown
            )

        until(all_tell_of_six)
        command = ["pgrep", "-P", str(server.process.pid), "-f", "--", "listen-fd"]
        found = subprocess.run(command, capture_output=True, text=True)
        victim = int(found.stdout.split()[0])
        os.kill(victim, signal.SIGKILL)
        least, deadline = 6.0, time.monotonic() + PATIENCE
        while (told := stats(server))["workers"] < 2 or told["node"] in nodes:
            now = joins(server)
            assert now >= least, "a counter went back"
            least = now
            assert time.monotonic() < deadline
        assert joins(server) == 6
        for client in clients:
            client.close(None)
