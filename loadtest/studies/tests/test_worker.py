"""What a worker does apart from publishing and hearing."""

import gevent
import pytest

from flatlands.loadtest.studies.two_queues import worker
from flatlands.loadtest.studies.two_queues.clients import SUBSCRIBERS, Client
from flatlands.loadtest.studies.two_queues.stamp import SECOND, STAMP
from flatlands.loadtest.studies.two_queues.worker import Subscribing, at_once

CONFIG = {"client": "again", "run": 7, "clients": 1, "size": STAMP.size}


def later(seconds, value):
    def task():
        gevent.sleep(seconds)
        return value

    return task


def test_answers_come_in_the_order_of_the_tasks_not_of_their_ends():
    assert at_once([later(0.02, "slow"), later(0, "quick")]) == ["slow", "quick"]


def test_a_task_that_fails_is_not_waited_out():
    def fail():
        raise ValueError("it fails")

    with gevent.Timeout(5), pytest.raises(ValueError, match="it fails"):
        at_once([later(60, None), fail])


class Again(Client):
    """A client that receives its first payload again and again, or only once."""

    def __init__(self, config):
        self.endless = True
        self._count = 0

    def subscribe(self, channels):
        raise AssertionError("it is subscribed")

    def receive(self, timeout):
        self._count += 1
        if self._count > 1 and not self.endless:
            gevent.sleep(timeout)
            return None
        return STAMP.pack(worker.clock(), 0, CONFIG["run"], 0)


@pytest.mark.parametrize("endless", [True, False])
def test_a_subscriber_that_still_receives_at_the_end_is_unfinished(endless, monkeypatch):
    monkeypatch.setitem(SUBSCRIBERS, "again", Again)
    monkeypatch.setattr(worker, "DRAIN_S", 0.6 if endless else 60.0)
    monkeypatch.setattr(worker, "QUIET_S", 0.3)
    monkeypatch.setattr(worker, "BATCH", 64)
    subscriber = Subscribing(0, CONFIG)
    subscriber.client.endless = endless
    now = worker.clock()
    report = subscriber.receive_all(now, now + SECOND, lambda: [2])
    assert report["delivered"] == [1]
    assert report["unfinished"] == endless
