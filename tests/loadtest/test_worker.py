"""What a worker does besides publishing and hearing."""

import gevent
import pytest

from loadtest.queues.worker import at_once


def later(seconds, value):
    def task():
        gevent.sleep(seconds)
        return value

    return task


def test_tasks_answer_in_their_own_order_not_in_that_of_their_ends():
    assert at_once([later(0.02, "slow"), later(0, "quick")]) == ["slow", "quick"]


def test_a_task_that_fails_is_not_waited_out():
    def fail():
        raise ValueError("it fails")

    with gevent.Timeout(5), pytest.raises(ValueError, match="it fails"):
        at_once([later(60, None), fail])
