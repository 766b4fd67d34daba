"""The benchmark of the brokers, run as users run it: with real brokers, for a second per point."""

import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import psutil
import pytest

from flatlands.loadtest.kit.processes import ROOT, children
from flatlands.loadtest.studies import compilers
from flatlands.loadtest.studies.two_queues.study import main
from tests.brokers.redis_servers import lent, running
from tests.brokers.servers import certify
from tests.brokers.zeromq_forwarders import forwarding

#: Seconds that a run may take to get somewhere, also on a machine that is busy with other things.
PATIENCE = 120

#: Words in the commands of children that do not take part: the guard, and Go's compiler.
APART = ("guard", "/bin/go", "go-build")

#: The rate of those runs that have one, messages a second, and what they are due to send in their
#: 1.1 seconds.
RATE = 500
DUE = 550


def points_of(path):
    run = json.loads(path.read_text())
    return {point["series"]: point for point in run["points"]}, run["troubles"]


def options(out, series, seconds=1):
    shortly = ["--num-clients", "1", "--num-seconds", str(seconds), "--warm-up", "0.1"]
    return ["--series", series, *shortly, "--json", str(out)]


def measure(out, series, *more):
    return main([*options(out, series), *more])


@contextmanager
def measuring(out, series, *more, seconds=1):
    """Run the benchmark as a process for as long as the block lasts; it may leave no child behind.

    Yields the process, and the list of its children that the test has seen, to be filled.
    """
    command = [sys.executable, "loadtest/two_queues.py", *options(out, series, seconds), *more]
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=ROOT, **told)
    seen = []
    try:
        yield process, seen
        assert seen and not psutil.wait_procs(seen, timeout=PATIENCE)[1]
    finally:
        process.kill()
        process.communicate()
        for one in seen:
            if one.is_running():
                one.kill()


def children_at_work(process, number, busy):
    """Return the children of a process, once there are `number` of them.

    The second one, which publishes or consumes, has then been busy for `busy` seconds: it takes a
    third of a second to start.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        found = [
            child
            for child, command in children(psutil.Process(process.pid)).items()
            if not any(word in part for part in command for word in APART)
        ]
        if len(found) == number and sum(found[1].cpu_times()[:2]) >= busy:
            return found
        time.sleep(0.05)
    # Its output is only there once it has ended, which may be in hours.
    process.kill()
    raise AssertionError(f"there are never {number} children: {process.communicate()}")


@pytest.mark.load
@pytest.mark.alone
def test_every_message_is_accounted_for_on_every_broker(out, tmp_path, capsys):
    series = "redis-unbuffered,redis-buffered,redis-2013,redis,redis-ring,zeromq,zeromq-2013,"
    series += "nats,mqtt,memory"
    status = measure(out, series, "--rate", str(RATE), "--report", str(tmp_path / "report"))
    assert (status, capsys.readouterr().err) == (0, "")
    points, troubles = points_of(out)
    assert list(points) == series.split(",") and not troubles
    for point in points.values():
        account = point["account"]
        assert account["delivered"] == account["due"] == account["sent"]
        # On a busy machine a publisher may miss its last messages.
        assert 0 < account["sent"] <= DUE and 0 < point["per_client"] < 1.3 * RATE
        assert 0 < point["latency_ms"]["p50"] <= point["latency_ms"]["pmax"]
    assert points["redis"]["cpu"]["brokers"] is not None
    assert points["memory"]["cpu"]["brokers"] is None
    page = (tmp_path / "report" / "index.html").read_text()
    assert page.count("<svg") == 1 and "Redis, as much as waits" in page


@pytest.mark.load
def test_a_redis_behind_tls_is_measured_with_every_client(out, monkeypatch):
    series = "redis-unbuffered,redis-buffered,redis-2013,redis,go-redis"
    monkeypatch.setenv("BROKER_TLS", str(certify()[1]))
    with lent(tls=True, login=True) as redis:
        url = redis.url.partition("?")[0]
        assert measure(out, series, "--broker", url, "--rate", str(RATE)) == 0
    points, troubles = points_of(out)
    assert list(points) == series.split(",") and not troubles
    assert all(point["account"]["delivered"] > 0 for point in points.values())


@pytest.mark.load
@pytest.mark.alone
@pytest.mark.parametrize("series", ["redis", "go-redis"])
def test_a_subscriber_that_the_broker_cuts_off_is_found_with_what_it_lost(series, out):
    with running("--client-output-buffer-limit", "pubsub 32kb 32kb 1") as redis:
        more = "--broker", f"redis://127.0.0.1:{redis.port}", "--message-size", "2000"
        with measuring(out, series, *more, seconds=12) as (process, seen):
            seen += children_at_work(process, 2, busy=0.5)
            # Without the subscriber, whichever it is, published messages pile up.
            for one in seen:
                one.suspend()
                time.sleep(0.7)
                one.resume()
            assert process.wait(timeout=PATIENCE) == 0
    points, _ = points_of(out)
    account = points[series]["account"]
    assert account["lost"] > 0 and account["resets"] > 0 and account["cuts"] > 0
    accounted = account["delivered"] + account["dropped"] + account["lost"]
    assert account["sent"] == account["due"] == accounted


@pytest.mark.load
def test_without_redis_and_go_the_rest_is_measured(out, capsys, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(compilers, "USUAL_GO", "/nowhere/go")
    assert measure(out, "redis,go-zeromq,memory") == 1
    points, troubles = points_of(out)
    assert list(points) == ["memory"] and len(troubles) == 2
    assert capsys.readouterr().err.splitlines() == [
        "redis: redis-server is not installed (Debian: apt-get install redis-server).",
        "go-zeromq: Go is not installed (Debian: apt-get install golang-go).",
    ]


@pytest.mark.load
def test_a_missing_broker_is_reported(out, capsys):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert measure(out, "redis-unbuffered", "--broker", f"redis://u:secret@127.0.0.1:{port}") == 1
    told = capsys.readouterr().err
    assert "Connection refused" in told and len(told.splitlines()) == 1
    assert "secret" not in told + out.read_text()


@pytest.mark.load
def test_a_running_forwarder_is_used_and_left_running(out):
    with forwarding() as forwarder:
        assert measure(out, "zeromq", "--broker", forwarder.url, "--rate", str(RATE)) == 0
        assert forwarder.process.poll() is None
    points, _ = points_of(out)
    assert points["zeromq"]["account"]["delivered"] > 0
    assert points["zeromq"]["cpu"]["brokers"] is None


@pytest.mark.load
def test_a_broker_that_dies_while_it_is_measured_is_reported(out):
    with measuring(out, "zeromq-2013", seconds=60) as (process, seen):
        seen += children_at_work(process, 3, busy=0.5)
        seen[0].kill()
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    sentence = "the broker of 2013 ended by signal 9"
    assert told == f"zeromq-2013: {sentence}.\n"
    assert points_of(out) == ({}, [{"series": "zeromq-2013", "trouble": sentence}])


@pytest.mark.load
def test_a_benchmark_that_is_stopped_reports_and_leaves_no_process(out):
    with measuring(out, "memory,redis-buffered", seconds=5) as (process, seen):
        seen += children_at_work(process, 3, busy=0.1)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert told == "Stopped. What was measured is reported.\n"
    assert list(points_of(out)[0]) == ["memory"]
