"""A swarm on several machines: who may join, how clocks differ, and whose moves are whose."""

import contextlib
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, repeat

import numpy as np
import pytest

from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.swarm import control_channel, follower, leader, terminal_output
from flatlands.loadtest.swarm.command import main
from flatlands.loadtest.swarm.control_channel import SECRET, ControlChannel
from flatlands.loadtest.swarm.counters import Counters
from flatlands.loadtest.swarm.intent_times import IntentTimes, room
from flatlands.loadtest.swarm.measurement import ProgressTotals
from flatlands.loadtest.swarm.reader import Flush
from flatlands.loadtest.swarm.result import Options, Result
from flatlands.wire import TRACK
from tests.brokers.servers import free_port
from tests.loadtest.test_generator import PLAN


def ends():
    """Return both ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        return near, server.accept()[0]


@pytest.fixture
def lines(monkeypatch):
    """The leader's end of a line, and the generator's."""
    monkeypatch.delenv(SECRET, raising=False)
    near, far = ends()
    with ThreadPoolExecutor() as pool:
        there = pool.submit(ControlChannel, far, "the leader", leads=False)
        here = ControlChannel(near, "the generator box", leads=True)
        with contextlib.closing(here), contextlib.closing(there.result()) as there:
            yield here, there


def test_arrays_sets_and_keys_of_several_parts_arrive_unchanged(lines):
    near, far = lines
    rows = np.arange(-6, 6).reshape(4, 3)
    near.send(
        ("it", {("things", (1, -2)): {(1, 2.5), ("a", b"b")}, 7: [rows, rows[:0], rows[1, 1]]})
    )
    got = far.recv()[1]
    assert got["things", (1, -2)] == {(1, 2.5), ("a", b"b")}
    same, empty, one = got[7]
    assert (same == rows).all() and empty.shape == (0, 3) and one == -2
    same[0, 0] = 1


@pytest.mark.parametrize("content", [b"\xff\xff\xff\xff", b"\0\0\0\1\xc1", b"\0\0\0\x05\1"])
def test_a_message_that_is_too_long_or_broken_or_never_whole_ends_the_line(
    content, lines, monkeypatch
):
    near, far = lines
    os.write(far.fileno(), content)
    far.close()
    with pytest.raises(Trouble, match="the generator box ended during the run"):
        near.recv()


def test_a_generator_that_says_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr(control_channel, "PATIENCE_SECONDS", 1)
    near, far = ends()
    with far, pytest.raises(Trouble, match="somebody hung up or fell silent"):
        ControlChannel(near, "somebody", leads=True)


def led(joiners, count=1, patience=20.0):
    """Lead `count` generators, played by functions in threads; return what they did: the remotes
    or the trouble, what the leader said, and what each joiner got."""
    port, said, got = free_port(), [], []

    def knock(joiner):
        try:
            got.append(joiner(("127.0.0.1", port)))
        except (Trouble, OSError) as trouble:
            got.append(trouble)

    threads = [threading.Thread(target=knock, args=(joiner,)) for joiner in joiners]
    for thread in threads:
        thread.start()
    try:
        with leader.gathered(("127.0.0.1", port), count, said.append, patience) as remotes:
            found = [(remote.name, remote.processes) for remote in remotes]
    except Trouble as trouble:
        found = str(trouble)
    for thread in threads:
        thread.join()
    for one in got:
        if isinstance(one, ControlChannel):
            one.close()
    return found, said, got


def test_generators_with_the_secret_join_and_two_of_one_name_are_told_apart(monkeypatch):
    monkeypatch.setenv(SECRET, "geheim")
    found, said, _ = led([lambda at: follower.knock(at, "box", 2)] * 2, 2)
    assert found == [("box", 2), ("box'", 2)]
    assert "2 generators" in said[0] and "geheim" not in "".join(said)


def test_a_generator_with_another_secret_is_sent_away_with_a_sentence_and_holds_up_nobody(
    monkeypatch,
):
    known = threading.local()
    monkeypatch.setattr(control_channel, "secret", lambda: getattr(known, "secret", b"geheim"))

    def guess(at):
        known.secret = b"falsch"
        with pytest.raises(
            Trouble, match="the leader has another SWARM_SECRET: give both the same"
        ):
            follower.knock(at, "guesser", 1)
        known.secret = b"geheim"
        return follower.knock(at, "box", 1)

    found, said, _ = led([guess])
    assert found == [("box", 1)]
    assert any("sent away" in words and "another SWARM_SECRET" in words for words in said)


def test_a_leader_whom_nobody_joins_says_so():
    found, _, _ = led([], patience=0.1)
    assert "only 0 of 1 generators have joined" in found


def test_a_generator_of_another_version_ends_the_run_with_a_sentence(monkeypatch):
    monkeypatch.setattr(follower, "edition", lambda: "other")

    def follow(at):
        with contextlib.closing(follower.knock(at, "box", 1)) as knocked:
            follower.play(knocked)

    found, _, [trouble] = led([follow])
    assert str(trouble) == f"the leader says: {found}"
    assert found == "the generator box has another version of the swarm: give both the same"


def plan(**what):
    """Return a plan for one process of a generator."""
    return replace(PLAN, scenario="wander", dues=None, elsewhere=True, **what)


@pytest.fixture
def remote(lines, monkeypatch):
    """A function that returns a generator, played by a thread without processes; its clock is
    ahead by `before` us before its run, and by `after` us after it."""
    near, far = lines
    made = leader.RemoteGenerator.__new__(leader.RemoteGenerator)
    made.__dict__.update(near.__dict__, name="box", processes=1, _plays=False)
    monkeypatch.setattr(follower, "launch", lambda plans, stack: told.extend(plans) or [])
    told, troubles = [], []

    def obey():
        try:
            while follower.play(far):
                pass
        except Trouble as trouble:
            troubles.append(str(trouble))

    thread = threading.Thread(target=obey)

    def begun(before, after, playbook, **what):
        ahead = chain([before] * leader.TRIPS, repeat(after))
        monkeypatch.setattr(follower, "clock", lambda: leader.clock() + next(ahead))
        thread.start()
        made.begin([plan(**what)], playbook)
        return made

    begun.told, begun.troubles, begun.thread = told, troubles, thread
    yield begun
    near.close()
    thread.join()


WANDER = leader.book("wander", "")


def test_a_clock_is_compared_before_and_after_and_its_drift_is_reported(remote):
    made = remote(5_000_000, 5_007_000, WANDER, epoch=1000, indices=range(1, 9, 2))
    made.finish()
    made.finish()
    told, trip = made.told(), max(trip for _, trip in made.clocks)
    assert abs(made.clocks[0][0] - 5_000_000) <= trip and len(made.clocks) == 2
    assert abs(told["moved_ms"] - 7) <= 2 * trip / 1000 and told["trip_ms"] == 2 * trip / 1000
    assert told["uncertain_ms"] == pytest.approx(trip / 1000 + abs(told["moved_ms"]))
    [got] = remote.told
    assert got.indices == range(1, 9, 2) and len(got.dues) == 257 * got.bots
    assert abs(got.epoch - 5_001_000) <= trip


def test_a_generator_with_another_game_says_so_and_the_run_has_failed(remote):
    made = remote(0, 0, "another")
    with pytest.raises(Trouble) as trouble:
        made.recv()
    remote.thread.join()
    why = "wander is another one here than at the leader: give both the same"
    assert remote.troubles == [why] and str(trouble.value) == f"the generator box says: {why}"


def test_moves_of_bots_elsewhere_are_deliveries_without_a_latency():
    dues = IntentTimes(room(1), 1, elsewhere=True)
    dues.name(0, 7)
    dues.put(0, 3, 1000)
    assert [dues.get(7, 3), dues.get(8, 3), dues.get(8, 0)] == [1000, -3, 0]
    assert IntentTimes(room(1), 1).get(8, 3) == 0
    counters, flush = Counters(), Flush(1, [], 0, None, b"")
    flush.dues, flush.arrivals = [1000, -3], [5000, 7000]
    counters._ready = [flush]
    counters.count()
    assert counters.progress()["deliveries"] == 4
    counts = dict(zip(*counters.progress()["latency"], strict=True))
    assert sum(counts.values()) == 2


def life(id, welcomed, due, news=()):
    """Return what a bot did, and was told: rows of (time, id, due, row), of the bot 4 its enter."""
    rows = [(at, of, due, 0 if of == 4 else TRACK, row, 0) for at, of, due, row in news]
    observed = {"news": np.array(rows, dtype=np.int64).reshape(-1, 6)}
    observed["beliefs"] = observed["news"][:, [1, 0, 2]]
    kept = {"id": id, "welcomed": welcomed, "intents": np.array(due), "node": 5}
    return {**kept, "observed": observed if news else None}


def test_moves_that_observers_elsewhere_were_told_get_the_time_at_which_they_were_due():
    news = [(1000, 1, 900, 0), (2400, 2, -2, 0), (2500, 2, -2, 1), (9000, 2, -1, -1)]
    news += (9100, 2, -9, 0), (9200, 3, -1, 0), (9300, 4, -1, 0)
    mine = {"who": "a", "lives": [life(1, 10, [900], news), life(4, 10, [1500])]}
    theirs = {"who": "b", "lives": [life(2, 8000, [8500]), life(2, 50, [2000, 2100])]}
    took = leader.settle([mine, theirs], (1000, 8600))
    observed = mine["lives"][0]["observed"]
    assert observed["news"][:, 2].tolist() == [900, 2100, 2100, 8500, 0, 0, 1500]
    assert observed["beliefs"][:, 2].tolist() == [900, 0, 0, 8500, 0, 0, 1500]
    # Once, and without what a snapshot has shown.
    assert took.total == 1 and took.most == pytest.approx(0.3, rel=0.01)
    assert mine["lives"][0]["node"] == ("a", 5) != theirs["lives"][0]["node"]


def test_moves_elsewhere_that_newer_ones_have_replaced_count_until_those_came():
    # The sixth is shown by a snapshot, and when the eighth came, the player came into view.
    news = [(1100, 2, -1, 0), (1900, 2, -3, 1), (2100, 2, -5, 2), (2900, 2, -6, -1)]
    mine = {"who": "a", "lives": [life(1, 10, [900], news)]}
    entered = [[3000, 2, -8, 0, 3, 0], [3200, 2, -10, TRACK, 4, 0]]
    observed = mine["lives"][0]["observed"]
    observed["news"] = np.array([*observed["news"], *entered])
    intents = [1000, 1300, 1500, 1600, 2000, 2200, 2400, 2500, 2600, 2800]
    found = leader.settle([mine, {"who": "b", "lives": [life(2, 50, intents)]}], (1000, 8600))
    expected = Histogram()
    expected.add(np.array([100, 600, 400, 500, 100, 600, 400]))
    assert (found.counts == expected.counts).all()


def test_a_generator_that_is_too_slow_is_named_and_the_others_are_not():
    latest = ProgressTotals({"the generator a": 1, "the generator b": 2})
    before = latest.each()
    late = Histogram()
    late.add(np.full(10, 70_000))
    for who, number, cpu, sent in (("a", 0, 9.6, []), ("b", 0, 9.6, late), ("b", 1, 0.1, [])):
        told = {"cpu": cpu, "late": (sent or Histogram()).sparse(), "cuts": {"gone": 1}}
        latest.update(f"the generator {who}", number, told)
    result = Result(Options())
    latest.check(result, before, 10.0)
    assert result.invalid == [
        "the generator a used 96% of its cores",
        "one move in a hundred was sent 70 ms late by the generator b",
    ]
    assert latest.words("cuts") == {"the generator a: gone": 1, "the generator b: gone": 2}


def test_clock_differences_are_told_for_each_generator_and_for_each_pair():
    clocks = [("a", 0.1, 0.0, 0.05), ("b", 0.2, -0.3, 0.4), ("c", 0.1, 0.0, 0.1)]
    names = "name", "trip_ms", "moved_ms", "uncertain_ms"
    made = [{**dict(zip(names, clock, strict=True)), "processes": 2} for clock in clocks]
    said = terminal_output.generators(
        [Result(Options(), generators=made, between={"p50": 3.0, "p99": 9.0})]
    )
    assert (
        "b: 2 process(es). Its clock was compared by trips of 0.20 ms, and has moved by" in said[1]
    )
    assert said[3].endswith("p50 3.0 ms, p99 9.0 ms, right to 0.50 ms.") and len(said) == 4
    assert terminal_output.generators([Result(Options())]) == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "--lead needs a --url"),
        (["--url", "ws://h/ws", "--scenario", "life"], "cannot run bots in lockstep"),
        (["--url", "ws://h/ws", "--lead", "0.0.0.0:1"], f"set {SECRET} here"),
        (["--lead", "nowhere:99999"], "'nowhere:99999' is not like HOST:PORT"),
    ],
)
def test_a_leader_whom_nobody_could_follow_says_why(options, why, capsys, monkeypatch):
    monkeypatch.delenv(SECRET, raising=False)
    with pytest.raises(SystemExit):
        main(["--lead", "9", *options])
    assert why in capsys.readouterr().err
