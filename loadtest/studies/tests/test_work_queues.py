"""The benchmark of work queues, run as users run it, and its account."""

from contextlib import closing

import pytest

from flatlands.loadtest.kit.brokers import open_redis
from flatlands.loadtest.studies.work_queues.account import account, fault
from flatlands.loadtest.studies.work_queues.measure import (
    due_of,
    fifo_figures,
    kill_figures,
    take_figures,
)
from flatlands.loadtest.studies.work_queues.series import (
    FIFOS,
    FILLED_MESSAGES,
    LASTING,
    REJECTS,
    TAKEN_AT_ONCE,
    TAKES,
)
from flatlands.loadtest.studies.work_queues.study import main
from flatlands.loadtest.studies.work_queues.ways import Delayed, Moved, OneByOne
from flatlands.loadtest.studies.work_queues.worker import (
    CLAIMED_AT_ONCE,
    message,
    rejected,
    take_all,
)
from loadtest.studies.tests.test_two_queues import points_of
from tests.brokers.redis_servers import lent
from tests.brokers.servers import QUOTED, certify

load = pytest.mark.load


def measure(out, series, *more):
    few = ["--repeat", "1", "--messages", "505"]
    return main(["--series", series, *few, "--json", str(out), *more])


@pytest.mark.parametrize(
    ("got", "waiting", "held", "sentence"),
    [
        ([0, 1, 2, 3], 0, 0, ""),
        ([0, 1, 3], 0, 0, "1 of 4 messages are missing"),
        ([0, 1, 2, 3], 1, 0, "1 of 4 messages are too many"),
        ([0, 1, 2, 2, 3], 0, 0, "1 messages came twice"),
        ([0, 2, 1, 3], 0, 0, "1 messages came after a later one"),
        ([0, 1, 2, 3, 9], 0, 0, "1 messages were never put"),
        ([0, 1, 2], 1, 0, "1 messages were left waiting"),
        ([0, 1, 2], 0, 1, "1 messages were never acknowledged"),
    ],
)
def test_the_account_reports_each_fault(got, waiting, held, sentence):
    assert fault(account(range(4), got, waiting, held)) == sentence


class Loses(OneByOne):
    def claim(self, most):
        claimed, bodies = super().claim(most)
        return claimed, bodies[1:]


class Forgets(Moved):
    def done(self, claimed):
        super().done(claimed[1:])


#: What is found in ways that do not do what they should. Messages that are held also came.
WRONG = {
    OneByOne: "",
    Loses: "2 of 100 messages are missing",
    Forgets: "2 of 100 messages are too many",
}


@load
def test_a_way_that_does_not_do_what_it_should_is_found():
    for way, sentence in WRONG.items():
        with lent() as server:
            queue = way(f"redis://127.0.0.1:{server.port}", "queue")
            queue.put([message(n) for n in range(100)])
            times, got = take_all(queue, 100, 50)
            waiting, held = queue.left()
            queue.redis.close()
        report = {"times": [times], "got": got, "waiting": waiting, "held": held}
        report |= {"rejects": 0, "cpu": {"client": 0.1, "server": None}}
        point = take_figures("lpop", 100, report)
        assert fault(point["account"]) == sentence, way
        assert point["us"] == {"client": 1000.0, "server": None}
        assert 0 < point["ms"]["least"] <= point["ms"]["median"]


def test_the_spread_of_a_way_is_that_of_its_turns():
    report = {"got": [], "rejects": 0, "waiting": 0, "held": 0, "cpu": {}}
    for turns, spread in (([[10, 30], [20, 20]], 0), ([[1, 2], [4, 5]], 0.5)):
        assert take_figures("lpop", 0, {**report, "times": turns})["spread"] == spread


def test_a_turn_far_from_the_mean_of_all_is_rejected():
    times = [[10, 10], [9, 11], [15, 17], [6, 6]]
    assert rejected(times, 0.2) == [2, 3] and rejected(times, 0.5) == [2]
    assert rejected(times, 0.7) == rejected(times, 0) == []


@load
def test_rejected_turns_are_repeated_and_counted_and_nothing_of_them_is_lost(out, capsys):
    # No two turns are expected to take the same time to the nanosecond.
    options = ["--repeat", "2", "--retry-threshold", "1e-9", "--json", str(out)]
    assert main(["--series", "lpop-count", *options]) == 0
    assert f" {2 * REJECTS} " in capsys.readouterr().out
    [point] = points_of(out)[0].values()
    assert (point["rejects"], len(point["takes"])) == (2 * REJECTS, 2)
    assert (
        point["account"]["put"] == point["account"]["done"] == (3 + 2 * REJECTS) * FILLED_MESSAGES
    )


@load
def test_a_delayed_message_comes_once_it_is_due_whoever_put_it():
    with lent() as server, closing(open_redis(f"redis://127.0.0.1:{server.port}")) as client:
        way = Delayed(f"redis://127.0.0.1:{server.port}", "queue")

        def now():
            seconds, us = client.time()
            return seconds * 1000 + us / 1000

        way.put([message(0)])
        soon, late = now() + 1000, now() + 3_600_000
        client.zadd(way.later, {message(2): late, message(1): soon})
        came = []
        while len(came) < 2:
            came += way.claim(50)[1]
            assert now() >= soon or len(came) < 2
        assert came == [message(0), message(1)] and way.left() == (1, 0)
        # More than Lua can unpack at once.
        client.zadd(way.later, {message(n): n for n in range(10, 10_010)})
        assert way.claim(50)[1] == [message(n) for n in range(10, 60)]
        assert way.left() == (9_951, 0)
        way.redis.close()


def test_a_fifo_queue_has_an_order_of_its_own():
    dues = list(due_of(FIFOS["1x5-by-50"], 500, "queue").values())
    assert [due[0] for due in dues] == [0, 50, 100, 150, 200]
    assert sorted(sum(dues, [])) == list(range(500))
    pushed = {"from": 0, "to": 10**9, "cpu": 0.5}

    def found(gots):
        pulled = [{"got": got, "to": 2 * 10**9, "cpu": 0.1} for got in gots]
        return fifo_figures("1x5-by-50", dues, pushed, pulled, [0] * 5, 0.25)

    point = found(dues)
    assert (point["pushed"], point["pulled"]) == (500, 250)
    assert point["us"] == {"push": 1000, "pull": 1000, "server": 500}
    assert fault(point["account"]) == ""
    # A message that went to the wrong queue is missing in its own.
    assert "missing" in fault(found([dues[1], dues[0], *dues[2:]])["account"])
    assert "after a later one" in fault(found([dues[0][::-1], *dues[1:]])["account"])


@load
def test_every_message_is_accounted_for_in_every_way_and_shape(out, capsys):
    status = measure(out, "all", "--report", str(out.parent))
    assert (status, capsys.readouterr().err) == (0, "")
    page = (out.parent / "index.html").read_text()
    assert page.count("<svg") == 4 and "src=" not in page and "<link" not in page
    for series in (*TAKES.values(), *FIFOS.values()):
        assert f">{series.label}</text>" in page
        assert (f">{series.label}, 20" in page) == bool(series.past)
    points, troubles = points_of(out)
    assert list(points) == [*TAKES, *FIFOS] and not troubles
    for name, point in points.items():
        found = point["account"]
        put = 505 if name in FIFOS else 2 * FILLED_MESSAGES
        assert (found["put"], found["done"], found["lost"]) == (put, put, 0)
        # A server that does not exist has used nothing.
        assert (point["us"]["server"] is None) == (name == "store-sqlite")
        assert all(us is None or us > 0 for us in point["us"].values())
    for name in TAKES:
        assert [len(turn) for turn in points[name]["takes"]] == [FILLED_MESSAGES // TAKEN_AT_ONCE]


#: Two consumers died: one held the messages 1 and 2, and the next one 2.
HELD = [[1, 2], [2]]


AGAIN = "{} messages were handed out again, and those who died held 3: {} are not the same"


@pytest.mark.parametrize(
    ("claims", "sentence"),
    [
        ([(0, 1), (1, 1), (2, 1), (1, 2), (2, 2), (2, 3)], ""),
        # The first consumer died before it could say what it had claimed.
        ([(0, 1), (1, 2), (2, 2), (2, 3)], ""),
        ([(0, 1), (1, 1), (2, 1), (2, 2), (2, 3)], AGAIN.format(2, 1)),
        ([(0, 2), (1, 1), (2, 3)], AGAIN.format(3, 2)),
        ([(0, 1), (1, 2)], AGAIN.format(1, 1)),
        ([(1, 2), (2, 3)], "1 of 3 messages are missing"),
    ],
)
def test_messages_handed_out_again_are_those_that_the_dead_held(claims, sentence):
    point = kill_figures("stream", 3, claims, HELD, (0, 0))
    assert fault(point["account"]) == sentence
    assert point["held"] == [2, 1] and point["account"]["held_by_dead"] == 3


@load
def test_messages_that_dead_consumers_held_are_handed_out_again_by_any_redis(
    out, capsys, monkeypatch
):
    monkeypatch.setenv("BROKER_TLS", str(certify()[1]))
    options = ["--kill", "2", "--json", str(out), "--report", str(out.parent)]
    with lent(tls=True, login=True) as server:
        url = server.url.partition("?")[0]
        assert measure(out, "1x5-by-5,script", "--redis", url) == 0
        assert (main([*options, "--redis", url]), capsys.readouterr().err) == (0, "")
        with closing(open_redis(url)) as client:
            assert client.keys() == []
    assert f"rediss://localhost:{server.port}" in out.read_text()
    assert QUOTED not in out.read_text() + (out.parent / "index.html").read_text()
    points, troubles = points_of(out)
    assert list(points) == LASTING and not troubles
    for point in points.values():
        found = point["account"]
        assert len(point["held"]) == 2 and found["put"] == found["done"] == 630
        assert 0 < found["again"] == found["held_by_dead"] <= 2 * CLAIMED_AT_ONCE
    assert "the game&#x27;s store in sqlite" in (out.parent / "index.html").read_text()
