"""Node time, timers and guards on a real event loop."""

import time
from collections import Counter
from itertools import pairwise

import gevent
import pytest

from flatlands.server.runtime.loop import DEFERRAL_MOST_MS, Loop
from flatlands.server.runtime.timers import TimerQueue
from tests.processes import PATIENCE


@pytest.fixture
def loop():
    return Loop(Counter())


def test_node_time_starts_at_the_time_of_the_wall_clock_and_goes_on(loop):
    assert abs(loop.now() - time.time() * 1000) < 1000
    began, before = time.monotonic(), loop.now()
    time.sleep(0.02)
    passed = loop.now() - before
    assert 15 <= passed <= (time.monotonic() - began) * 1000 + 1


def test_a_timer_goes_off_once_each_time_it_is_set_and_never_if_it_is_set_to_none(loop):
    rung = []
    timer = loop.timer(lambda: rung.append(loop.now()))
    never = loop.timer(lambda: rung.append("never"))
    due = loop.now() + 20
    timer.set(due + 10_000)
    timer.set(due)
    never.set(due)
    never.set(None)
    gevent.sleep(0.08)
    assert len(rung) == 1 and rung[0] >= due
    timer.set(loop.now() - 100)
    gevent.sleep(0.02)
    assert len(rung) == 2


def test_a_repeated_call_goes_on_after_a_failure_until_its_timer_is_stopped(
    loop,
):
    rung = []

    def ring():
        rung.append(loop.now())
        raise ValueError("on purpose")

    timer = loop.every(10, ring)
    with gevent.Timeout(PATIENCE):
        while len(rung) < 3:
            gevent.sleep(0.001)
    timer.set(None)
    assert loop.stats["errors"] == len(rung)
    # One of the calls may have been late.
    assert max(b - a for a, b in pairwise(rung)) >= 10
    gevent.sleep(0.03)
    assert loop.stats["errors"] == len(rung)


def test_a_callback_that_fails_is_counted_and_harms_no_other(loop, caplog):
    done = []
    loop.call_soon(lambda: 1 / 0)
    loop.call_soon(lambda: done.append(1))
    gevent.sleep(0.01)
    assert done == [1] and loop.stats["errors"] == 1
    assert "ZeroDivisionError" in caplog.text


def test_a_timer_queue_goes_on_after_one_of_its_calls_failed(loop, caplog):
    done = []

    def do(key, due):
        if key == "bad":
            raise RuntimeError("as arranged")
        done.append((key, due))

    timers, now = TimerQueue(loop, do), loop.now()
    timers.put("bad", now + 1)
    timers.put("good", now + 2)
    timers.put("dropped", now + 3)
    timers.drop("dropped")
    timers.put("late", now + 30)
    with gevent.Timeout(PATIENCE):
        while len(done) < 2:
            gevent.sleep(0.01)
    assert done == [("good", now + 2), ("late", now + 30)]
    assert loop.stats["errors"] == 1


def test_a_greenlet_that_fails_runs_again_until_it_returns(monkeypatch, caplog):
    monkeypatch.setattr("flatlands.brokers.guard.RESTART_AFTER", 0.01)
    loop, runs = Loop(Counter()), []

    def run():
        runs.append(1)
        if len(runs) < 3:
            raise RuntimeError("as arranged")

    loop.keep_running("a test", run).join(timeout=5)
    assert len(runs) == 3 and loop.stats["errors"] == 2
    assert "a test failed" in caplog.text


def test_a_loop_that_stands_still_knows_for_how_long_and_for_a_while_afterwards(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr("flatlands.server.runtime.loop.time.monotonic", lambda: clock[0])
    loop = Loop(Counter())
    clock[0] += 100
    assert loop.recent_stall_ms() == 0
    loop.beat()
    for _ in range(5):
        clock[0] += 1.1
        assert loop.recent_stall_ms() == 0
        loop.beat()
    assert loop.stall_span() is None and loop.lag_ms == 100
    last = loop.now()
    clock[0] += 16
    # Before the next beat too: messages that are read first are not their senders' fault.
    woke = loop.now()
    assert loop.recent_stall_ms() == 15_000 and loop.stall_span() == (last, woke)
    loop.beat()
    for _ in range(4):
        clock[0] += 1
        assert loop.recent_stall_ms() == 15_000 and loop.stall_span() == (last, woke)
        loop.beat()
    assert loop.lag_ms == 0
    clock[0] += 1.1
    assert loop.recent_stall_ms() == 0 and loop.stall_span() is None
    assert loop.stats["stalls"] == 1


@pytest.mark.parametrize(("lag", "ms"), [(50, 0), (60, 600), (15_000, DEFERRAL_MOST_MS)])
def test_what_can_wait_is_put_off_while_the_loop_is_late(loop, lag, ms):
    loop.lag_ms = lag
    assert loop.deferral_ms() == ms
