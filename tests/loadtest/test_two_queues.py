"""The benchmark of the brokers, run as users run it: with real brokers, for a second a point."""

import json
import signal
import socket
import time
from contextlib import ExitStack

import psutil
import pytest

from flatlands.loadtest.kit import brokers, compilers
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.queues.command import main
from tests.brokers.redis_servers import running
from tests.brokers.servers import certify
from tests.brokers.zeromq_forwarders import forwarding
from tests.loadtest import watched
from tests.loadtest.watched import PATIENCE, children_at_work

#: The rate of those runs that have one, messages a second, and what they are due to send in their
#: 1.1 seconds.
RATE = 500
DUE = 550

#: The share of what is due that a publisher at least sends on a machine that is busy with other
#: things: what is due while it has no core is sent when it has one again, but not after the end.
LEAST = 0.7


def points_of(path):
    run = json.loads(path.read_text())
    return {point["series"]: point for point in run["points"]}, run["troubles"]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "run.json"


def options(out, series, seconds=1):
    shortly = ["--num-clients", "1", "--num-seconds", str(seconds), "--warm-up", "0.1"]
    return ["--series", series, *shortly, "--json", str(out)]


def measure(out, series, *more):
    return main([*options(out, series), *more])


def measuring(out, series, *more, seconds=1):
    return watched.measuring(["loadtest/two_queues.py", *options(out, series, seconds), *more])


@pytest.mark.load
@pytest.mark.alone
def test_every_message_is_accounted_for_on_every_broker(out, tmp_path, capsys):
    series = "redis-unbuffered,redis-buffered,redis-2013,redis,zeromq,zeromq-2013,nats,mqtt,memory"
    status = measure(out, series, "--rate", str(RATE), "--report", str(tmp_path / "report"))
    assert (status, capsys.readouterr().err) == (0, "")
    points, troubles = points_of(out)
    assert list(points) == series.split(",") and not troubles
    for point in points.values():
        account = point["account"]
        assert account["delivered"] == account["due"] == account["sent"]
        assert LEAST * DUE <= account["sent"] <= DUE
        assert point["per_client"] == pytest.approx(RATE, rel=1 - LEAST)
        assert 0 < point["latency_ms"]["p50"] <= point["latency_ms"]["pmax"]
    assert points["redis"]["cpu"]["brokers"] is not None
    assert points["memory"]["cpu"]["brokers"] is None
    page = (tmp_path / "report" / "index.html").read_text()
    assert page.count("<svg") == 1 and "Redis, as much as waits" in page


@pytest.mark.load
@pytest.mark.parametrize(
    ("accepts", "series"),
    [
        (lambda: "unverified", "redis-unbuffered,redis,go-redis"),
        (lambda: str(certify()[1]), "redis-buffered,redis-2013,redis,go-redis"),
    ],
)
def test_a_redis_behind_tls_is_measured_with_every_client(accepts, series, out, monkeypatch):
    monkeypatch.setenv("BROKER_TLS", accepts())
    with running(tls=True, login=True) as redis:
        url = redis.url.partition("?")[0]
        assert measure(out, series, "--redis", url, "--rate", str(RATE)) == 0
    points, troubles = points_of(out)
    assert list(points) == series.split(",") and not troubles
    assert all(point["account"]["delivered"] > 0 for point in points.values())


@pytest.mark.load
@pytest.mark.alone
def test_a_ring_shares_the_channels_and_loses_none(out):
    assert measure(out, "redis-ring", "--rate", str(RATE), "--message-size", "200") == 0
    points, _ = points_of(out)
    account = points["redis-ring"]["account"]
    assert account["delivered"] == account["due"] == account["sent"]
    assert LEAST * DUE <= account["sent"] <= DUE


@pytest.mark.load
@pytest.mark.alone
@pytest.mark.parametrize("series", ["redis", "go-redis"])
def test_a_subscriber_that_the_broker_cuts_off_is_found_with_what_it_lost(series, out):
    with running("--client-output-buffer-limit", "pubsub 32kb 32kb 1") as redis:
        more = "--redis", f"redis://127.0.0.1:{redis.port}", "--message-size", "2000"
        with measuring(out, series, *more, seconds=4) as (process, seen):
            seen += children_at_work(process, 2, busy=0.3)
            # Without the subscriber, whichever it is, what is published piles up.
            for one in seen:
                one.suspend()
                time.sleep(0.7)
                one.resume()
            assert process.wait(timeout=PATIENCE) == 0
    points, _ = points_of(out)
    account = points[series]["account"]
    assert account["lost"] > 0 and account["resets"] > 0 and account["cuts"] > 0
    assert (
        account["sent"]
        == account["due"]
        == (account["delivered"] + account["dropped"] + account["lost"])
    )


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (["--num-clients", "0"], "'0' should look like 4, 1-4 or 1,2,8"),
        (["--num-clients", "two"], "'two' should look like"),
        (["--num-seconds", "0"], "'0' is not a whole number, 1 to 3600"),
        (["--message-size", "19"], "'19' is not a whole number, 20 to 65536"),
        (["--buffer", "0"], "'0' is not a whole number, 1 to 1000000"),
        (["--flush-ms", "0.5"], "'0.5' is not a whole number, 1 to 60000"),
        (["--warm-up", "-1"], "'-1' is not a number from 0 to 3600"),
        (["--series", "rabbitmq"], "no series is called 'rabbitmq': there are redis-unbuffered"),
        (["--redis", "localhost"], "'localhost' does not begin with redis:// or rediss://"),
        (["--json", "/dev/null/x/run.json"], "nothing can be written to /dev/null/x"),
    ],
)
def test_options_that_make_no_sense_are_told(wrong, sentence, capsys):
    with pytest.raises(SystemExit) as end:
        main(wrong)
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err


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
def test_a_broker_that_is_not_there_is_told(out, capsys):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert measure(out, "redis-unbuffered", "--redis", f"redis://u:secret@127.0.0.1:{port}") == 1
    told = capsys.readouterr().err
    assert "Connection refused" in told and len(told.splitlines()) == 1
    assert "secret" not in told + out.read_text()


@pytest.mark.load
def test_a_running_forwarder_is_used_and_left_running(out):
    with forwarding() as forwarder:
        assert measure(out, "zeromq", "--zeromq", forwarder.url, "--rate", str(RATE)) == 0
        assert forwarder.process.poll() is None
    points, _ = points_of(out)
    assert points["zeromq"]["account"]["delivered"] > 0
    assert points["zeromq"]["cpu"]["brokers"] is None


@pytest.mark.load
@pytest.mark.parametrize("kind", ["redis", "zeromq"])
def test_a_taken_port_is_told(kind):
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(Trouble, match="does not start: .* in use"),
        ExitStack() as stack,
    ):
        port = listener.getsockname()[1]
        if kind == "redis":
            brokers.redis(stack, port=port)
        else:
            brokers.forwarder(stack, (port, port + 1))


@pytest.mark.load
@pytest.mark.parametrize(
    ("series", "name"),
    [
        ("redis", "redis-server"),
        ("zeromq-2013", "the broker of 2013"),
    ],
)
def test_a_broker_that_dies_while_it_is_measured_is_told(series, name, out):
    with measuring(out, series, seconds=60) as (process, seen):
        seen += children_at_work(process, 3, busy=0.5)
        seen[0].kill()
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    sentence = f"{name} ended by signal 9"
    assert told == f"{series}: {sentence}.\n"
    assert points_of(out) == ({}, [{"series": series, "trouble": sentence}])


@pytest.mark.load
@pytest.mark.parametrize(
    ("number", "series", "before"),
    [(signal.SIGINT, "redis-buffered", ["memory"]), (signal.SIGTERM, "zeromq", [])],
)
def test_whoever_stops_it_gets_what_was_measured_and_leaves_no_process(number, series, before, out):
    with measuring(out, ",".join([*before, series])) as (process, seen):
        seen += children_at_work(process, 3, busy=0.1)
        process.send_signal(number)
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert told == "Stopped. What was measured is reported.\n"
    assert list(points_of(out)[0]) == before


@pytest.mark.load
def test_workers_end_with_a_parent_that_is_killed(out):
    with measuring(out, "memory", seconds=60) as (process, seen):
        deadline = time.monotonic() + PATIENCE
        while not (found := psutil.Process(process.pid).children()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        seen += found
        process.kill()
