"""The share of the loop that HTTP may take: which request waits, for how long, in which order."""

from collections import Counter

import gevent
import pytest

from flatlands.server.net import http_budget
from flatlands.server.net.http_budget import TimeBudget, Turn


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves; the loop's timers run by themselves."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(http_budget, "perf_counter", lambda: Clock.now)
    return Clock


def test_all_turns_together_take_no_more_than_their_share(clock):
    stats, used = Counter(), 0.0
    budget = TimeBudget(0.25, stats)
    start = clock.now
    while clock.now < start + 10:
        wait = budget.seconds_until_turn()
        if wait > 0:
            clock.now += wait
            continue
        clock.now += 0.001
        used += 0.001
        budget.pay(0.001)
    assert 2.4 < used < 2.51
    assert stats["http_us"] == pytest.approx(used * 1e6)


def test_after_a_rest_there_is_one_slice_at_once_and_no_more(clock):
    budget = TimeBudget(0.25, Counter())
    clock.now += 3600
    turns = 0
    while budget.seconds_until_turn() <= 0:
        budget.pay(0.0005)
        turns += 1
    assert turns * 0.0005 <= http_budget.SLICE_S + 0.0005


def test_a_stall_of_the_process_is_not_the_requests_doing(clock):
    budget = TimeBudget(0.25, Counter())
    budget.pay(30.0)
    assert budget.seconds_until_turn() <= http_budget.TURN_MOST_S / 0.25


def test_the_request_that_waits_longest_goes_first_and_the_loop_turns_in_between(monkeypatch):
    monkeypatch.setattr(http_budget, "SLICE_S", 0)
    stats, order, turns = Counter(), [], []
    budget = TimeBudget(0.01, stats)

    def work(name):
        turn = Turn(budget)
        for _ in range(3):
            turn.begin()
            order.append(name)
            turns.append(ticks[0])
            until = http_budget.perf_counter() + 0.0003
            while http_budget.perf_counter() < until:
                pass
            turn.end()

    ticks = [0]

    def tick():
        ticks[0] += 1

    watcher = gevent.get_hub().loop.check()
    watcher.start(tick)
    try:
        gevent.joinall([gevent.spawn(work, name) for name in "abc"], raise_error=True)
    finally:
        watcher.stop()
        watcher.close()
    # The first turn begins at once; all others wait, and nobody is overtaken.
    assert order == list("aabcabcbc")
    assert len(set(turns)) == 9
    assert stats["http_waits"] == 8


def test_a_deadline_ends_the_wait_and_harms_nobody_behind_it():
    budget = TimeBudget(0.01, Counter())
    budget.pay(0.01)
    gone, stays = [], []

    def impatient():
        with gevent.Timeout(0.01, False):
            Turn(budget, "slow").begin()
            gone.append(True)

    def patient():
        Turn(budget, "slow").begin()
        stays.append(True)

    gevent.joinall([gevent.spawn(impatient), gevent.spawn(patient)], raise_error=True)
    assert not gone and stays


def test_a_crowd_at_one_address_holds_up_only_itself(monkeypatch, clock):
    monkeypatch.setattr(http_budget, "SLICE_S", 0)
    budget, order = TimeBudget(0.5, Counter()), []
    budget.pay(0.02)

    def work(turn):
        turn.begin()
        order.append(turn.key)
        turn.end()

    crowd = [gevent.spawn(work, Turn(budget, "crowd")) for _ in range(50)]
    gevent.sleep(0)
    others = [gevent.spawn(work, Turn(budget, name)) for name in ("one", "other")]
    gevent.sleep(0)
    assert order == []
    clock.now += 0.05
    gevent.joinall(crowd + others, raise_error=True)
    assert order[:3] == ["crowd", "one", "other"]
    assert order[3:] == ["crowd"] * 49


def test_a_budget_is_crowded_until_some_have_given_up_or_had_their_turn(monkeypatch):
    monkeypatch.setattr(http_budget, "REQUESTS_WAITING_MOST", 2)
    budget = TimeBudget(0.5, Counter())
    budget.pay(0.1)
    waiting = [gevent.spawn(Turn(budget, key).begin) for key in ("a", "a", "b")]
    gevent.sleep(0)
    for gives_up, crowded in (0, True), (2, False):
        waiting[gives_up].kill()
        assert budget.crowded == crowded
    waiting[0] = gevent.spawn(Turn(budget, "b").begin)
    gevent.sleep(0)
    assert budget.crowded
    gevent.joinall(waiting[:2], raise_error=True)
    assert not budget.crowded
