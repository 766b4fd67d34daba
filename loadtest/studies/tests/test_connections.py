"""Latency against concurrency, run as users run it: both loops, the figures and the sentences."""

import json
import threading
from types import SimpleNamespace

import msgpack
import numpy as np
import pytest
import redis

from flatlands import wire
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.thresholds import threshold
from flatlands.loadtest.studies.connections.command import Idle
from flatlands.loadtest.studies.connections.dialects import KEY, Game, Redis, Refused, Talk
from flatlands.loadtest.studies.connections.measure import LEVELS, Options, figures
from flatlands.loadtest.studies.connections.report import draw, grid_of, loops_of
from flatlands.loadtest.studies.connections.room import processes_for, sources, why_not
from flatlands.loadtest.swarm.command import main
from flatlands.server.net.frames import frame
from tests.brokers.redis_servers import running
from tests.brokers.servers import QUOTED, certify
from tests.quiet import tries

load = pytest.mark.load


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Shorten the warm-up: so few connections need no long one."""
    monkeypatch.setattr("flatlands.loadtest.studies.connections.measure.WARM_UP_SECONDS", 0.2)
    monkeypatch.setattr("flatlands.loadtest.studies.connections.measure.SETTLE", 0.2)


def measure(out, *options):
    # A busy machine may be late; how late does not matter here.
    few = ["--scenario", "idle", "--seconds", "1", "--rate", "200", "--late", "500"]
    for _ in tries():
        status = main([*few, "--json", str(out), *options])
        # A generator that stood still has measured nothing.
        if status != 3:
            break
    return status, json.loads(out.read_text())


# Whether there is room


@pytest.mark.parametrize(
    ("connections", "processes", "workers", "address_ports", "sentence"),
    [
        (65536, 4, 4, None, ""),
        (65536, 4, None, None, ""),
        (19936, 1, 1, None, ""),
        (19937, 1, 2, None, "here: give --processes 2, or raise the limit (ulimit -n)"),
        (65536, 4, 3, None, "here: give --workers 4, or raise the limit (ulimit -n)"),
        (28233, 2, None, 28232, "(net.ipv4.ip_local_port_range): ramp to 28,232 at most"),
        (28232, 2, None, 28232, ""),
    ],
)
def test_a_lack_of_room_for_the_connections_is_told_in_one_sentence(
    connections, processes, workers, address_ports, sentence
):
    found = why_not(connections, processes, workers, 20_000, address_ports)
    assert found.endswith(sentence) and found.startswith(f"{connections:,} " if sentence else "")
    assert bool(found) == bool(sentence)


def test_no_address_gives_more_than_half_of_its_ports():
    assert sources(1, 28_232) == ["127.0.0.1"]
    assert sources(14_116, 28_232) == ["127.0.0.1"]
    assert sources(14_117, 28_232) == ["127.0.0.1", "127.0.0.2"]
    assert len(sources(65_536, 28_232)) == 5
    assert processes_for(65_536, 20_000) == 4


# What is said on a connection


def from_server(*fields):
    return frame(msgpack.packb(fields))


ACCEPTED = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"


def said(reply):
    """Return the message in a client's frame."""
    key, masked = reply[2:6], reply[6:]
    return msgpack.unpackb(bytes(b ^ key[n % 4] for n, b in enumerate(masked)))


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_a_player_joins_acknowledges_and_is_answered_however_the_bytes_are_cut(cut):
    game, talk = Game("here:1", "/ws"), Talk()
    assert game.begin(talk).startswith(b"GET /ws HTTP/1.1\r\nHost: here:1\r\n")
    came = (
        ACCEPTED
        + from_server(wire.WELCOME, 2, 7)
        + from_server(wire.FLUSH, 3, 1000, [])
        + from_server(wire.PONG, 0, 9)
        + from_server(wire.PONG, 12345, 9)
        + b"\x89\x01x"
        + from_server(wire.PONG, 777, 9)
    )
    dues, replies = [], []
    for at in range(0, len(came), cut):
        some, reply = game.came(talk, came[at : at + cut])
        dues += some
        replies.append(reply)
    # The pong without a time answers the acknowledgement.
    assert dues == [12345, 777] and talk.ready and talk.rest == b""
    hello, pong = [reply for reply in replies if reply] if cut < 1000 else (replies[0][:-7], None)
    assert said(hello)[:2] == [wire.HELLO, 3]
    assert pong is None or pong[:2] == b"\x8a\x81"
    assert talk.owes
    assert said(game.acknowledge(talk)) == [wire.PING, 0, 3] and not talk.owes
    assert said(game.ask(talk, "ping", 5)) == [wire.PING, 5, 3]


@pytest.mark.parametrize(
    ("came", "sentence", "again"),
    [
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", "it answers '503 Service Unavailable'", True),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "it answers '404 Not Found'", False),
        (ACCEPTED + b"\x88\x06\x03\xf5full", r"it closes with 1013 \(full\)", True),
        (ACCEPTED + b"\x88\x02\x03\xf0", r"it closes with 1008 \(no reason\)", False),
        (ACCEPTED + from_server(wire.ERROR, "full", "no room"), "no room", True),
        (
            ACCEPTED + from_server(wire.WELCOME, 1) + from_server(wire.ERROR, "flood", "too many"),
            "too many; start the server with --any-rate 1",
            False,
        ),
    ],
)
def test_a_server_that_does_not_want_a_player_is_understood(came, sentence, again):
    with pytest.raises(Refused, match=sentence) as refused:
        Game("here:1", "/ws").came(Talk(), came)
    assert refused.value.again == again


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_a_redis_answers_in_order_however_the_bytes_are_cut(cut):
    client, talk = Redis("redis://somebody:s%21@here:1/3"), Talk()
    begin = client.begin(talk)
    assert b"$4\r\nAUTH\r\n$8\r\nsomebody\r\n$2\r\ns!\r\n" in begin and b"$1\r\n3\r\n" in begin
    assert client.came(talk, b"+OK\r\n+OK\r\n+PO") == ([], b"") and not talk.ready
    assert client.came(talk, b"NG\r\n") == ([], b"") and talk.ready
    for due in (5, 6, 7):
        assert KEY in client.ask(talk, "GET", due)
    came = b"$20\r\n%b\r\n" % (b"x" * 20) * 3
    dues = [
        due for at in range(0, len(came), cut) for due in client.came(talk, came[at : at + cut])[0]
    ]
    assert dues == [5, 6, 7]


@pytest.mark.parametrize(
    ("asked", "came", "sentence"),
    [
        (1, b"-ERR max number of clients reached\r\n", "it answers '-ERR max number of clients"),
        (1, b"+PONG\r\n+PONG\r\n", "it answers what was not asked"),
        (1, b"$-1\r\n", "it answers '\\$-1'"),
        (0, b"+PONG\r\n", "it answers what was not asked"),
    ],
)
def test_a_redis_that_answers_something_else_is_reported(asked, came, sentence):
    client, talk = Redis("redis://here"), Talk()
    client.came(talk, b"+PONG\r\n")
    for due in range(asked):
        client.ask(talk, "PING", due + 1)
    with pytest.raises(Refused, match=sentence):
        client.came(talk, came)


# The figures


def report_of(values, late=(), **other):
    latency, lateness = Histogram(), Histogram()
    latency.add(np.array(values))
    lateness.add(np.array(late, dtype=np.int64))
    listed = [[part.tolist() for part in h.sparse()] for h in (latency, lateness)]
    return {"latency": listed[0], "late": listed[1], "cpu": 0.5, "open": 0, "lost": {}, **other}


def test_the_surface_has_every_percentile_of_every_step():
    # 10,000 latencies from 1 to 10,000 us, in two processes; then all of them ten times as long.
    values = np.arange(1, 10_001)
    points = [
        {
            "connections": count,
            "loops": [
                figures("open", "ping", [report_of(v[::2]), report_of(v[1::2])], 2.0, 0.1, 50)
            ],
        }
        for count, v in ((1, values), (1000, values * 10))
    ]
    assert points[0]["loops"][0]["per_second"] == 5000
    levels, grid = list(LEVELS), grid_of(loops_of({"points": points})["ping", "open"])
    assert grid.shape == (118, 2)
    assert levels[0] == 0 and levels[99:101] == [99, 99.1] and levels[-1] == 99.99
    assert list(levels) == sorted(set(levels))
    for level, (short, long) in zip(levels, grid, strict=True):
        due = max(level * 100, 1) / 1000
        assert due * 0.999 <= short <= due * 1.009 + 0.001
        assert long == pytest.approx(10 * short, rel=0.02)


def test_a_run_that_measured_its_own_clients_says_so():
    late = report_of([1000] * 99, late=[10] * 98 + [60_000] * 2)
    found = figures("open", "ping", [report_of([1000]), late], 1.0, 0.2, 50)
    assert found["invalid"] == ["one request in a hundred was sent 60 ms late or more"]
    busy = report_of([1000], cpu=0.95, open=2, lost={"it hung up": 3})
    found = figures("open", "ping", [busy, report_of([1000])], 1.0, 0.2, 50)
    assert found["invalid"] == ["a process of the clients used 95% of a core"]
    assert (found["unanswered"], found["lost"]) == (2, {"it hung up": 3})
    # In a closed loop the clients are as busy as can be, and its rate is then theirs.
    found = figures("closed", "ping", [busy], 1.0, 0.2, 50)
    assert found["bound"] and found["invalid"] == []


def test_thresholds_come_from_open_loops_that_can_be_believed():
    loops = [
        figures(loop, "ping", [report_of([9000] * 99)], 1.0, None, 50)
        for loop in ("open", "closed", "open")
    ]
    loops[2]["invalid"] = ["it was late"]
    step = {"connections": 7, "memory_kb": None, "by_worker": [], "joined_s": 1.0}

    def judge(loops):
        study = Idle(SimpleNamespace(fail_if=limits), Options([7], 1.0, 1.0, 50.0), 99)
        study.jobs = lambda: [("idle", lambda: [{**step, "loops": loops}])]
        return study.measure(), study.crossed

    limits = [threshold(["p99", "server"])(text) for text in ("p99 > 5", "p99 > 50", "server > 1")]
    status, crossed = judge(loops[:2])
    name = "7 connections, ping, open loop"
    assert status == 99
    assert crossed == [
        f"{name}: p99 > 5: {loops[0]['latency']['p99']:.4g}",
        f"{name}: server > 1: server is not known",
    ]
    assert judge(loops[2:]) == (3, [])


# Runs


def check(points, counts, requests, workers):
    assert [point["connections"] for point in points] == counts
    for point in points:
        assert len(point["by_worker"]) == workers
        assert sum(point["by_worker"]) == point["connections"]
        loops = [(loop["request"], loop["loop"]) for loop in point["loops"]]
        assert loops == [(request, loop) for request in requests for loop in ("open", "closed")]
        for loop in point["loops"]:
            assert (loop["unanswered"], loop["lost"], loop["invalid"]) == (0, {}, [])
            assert 0 < loop["percentiles"][0] <= loop["latency"]["p50"] <= loop["latency"]["max"]
            # All that were due, and no more, whatever the number of connections.
            assert abs(loop["answered"] - 200) <= 2 or loop["loop"] == "closed"
            assert loop["answered"] >= 1


@load
def test_players_who_stand_are_answered_in_both_loops(out, capsys):
    more = ["--ramp", "1..40/2", "--workers", "2", "--processes", "2", "--report", str(out.parent)]
    status, run = measure(out, *more)
    assert status == 0, capsys.readouterr()
    check(run["points"], [1, 40], ["ping"], workers=2)
    assert "every request was answered, at up to 40 connections" in capsys.readouterr().out
    page = (out.parent / "index.html").read_text()
    assert page.count("<svg") == 5 == len(draw(run)) and "src=" not in page
    assert (out.parent / "connections-flatlands-ping-open-surface.png").exists()


@load
@pytest.mark.alone
def test_a_redis_is_asked_for_ping_and_get_in_both_loops_from_one_address(out, monkeypatch):
    # As many connections to a Flatlands server would come from several addresses.
    monkeypatch.setattr("flatlands.loadtest.studies.connections.measure.ports", lambda: 48)
    status, run = measure(out, "--bots", "40", "--url", "redis://", "--processes", "2")
    assert status == 0
    check(run["points"], [40], ["PING", "GET"], workers=1)


@load
def test_a_redis_behind_tls_that_takes_fewer_clients_ends_the_ramp_there(out, capsys, monkeypatch):
    monkeypatch.setenv("BROKER_TLS", str(certify()[1]))
    with running("--maxclients", "40", tls=True, login=True) as server:
        url = server.url.partition("?")[0]
        status, run = measure(out, "--ramp", "1..100/2", "--url", url)
        assert server.ask("EXISTS", KEY.decode()) == "0"
    assert status == 0 and QUOTED not in out.read_text()
    # This Redis was not started for the run.
    assert {loop["server"] for point in run["points"] for loop in point["loops"]} == {None}
    first, second = (point["connections"] for point in run["points"])
    assert first == 1 and 30 < second < 40
    sentence = f"takes {second} connections more (its maxclients), and not 100: the ramp ends there"
    assert sentence in capsys.readouterr().err


@load
def test_a_server_that_stands_still_delays_all_that_is_due_or_only_what_is_open(out):
    """The two loops report the same pause, each as it sees it."""
    over = threading.Event()
    with running() as server:

        def pause_now_and_then():
            with redis.Redis.from_url(f"redis://127.0.0.1:{server.port}") as client:
                # The server ends a pause at a tick of 100 ms.
                while not over.wait(1):
                    client.execute_command("CLIENT", "PAUSE", "700", "ALL")

        pausing = threading.Thread(target=pause_now_and_then)
        pausing.start()
        try:
            url = f"redis://127.0.0.1:{server.port}"
            status, run = measure(out, "--bots", "1", "--url", url, "--seconds", "4")
        finally:
            over.set()
            pausing.join()
    assert status == 0
    opened, closed = run["points"][0]["loops"][:2]
    assert opened["latency"]["max"] >= 600 and closed["latency"]["max"] >= 600
    # The open loop asks during the pause too, and all wait; the closed loop asks nothing then.
    assert opened["latency"]["p90"] >= 250 > closed["latency"]["p90"]
