"""What a subscriber concludes from its messages, and what the reports of all add up to."""

import pytest

from flatlands.loadtest.studies.two_queues.figures import account, costs, percentiles
from flatlands.loadtest.studies.two_queues.stamp import HELLO, SECOND, STAMP, Tally

RUN = 7
SIZE = 20


def message(number, publisher=0, run=RUN, sent=0, size=SIZE):
    return STAMP.pack(sent, publisher, run, number).ljust(size, b"\0")


def tally(payloads, arrivals=None, publishers=2, seconds=2, size=SIZE):
    found = Tally(RUN, publishers, size, 0, seconds * SECOND)
    found.add(payloads, arrivals or [1] * len(payloads))
    return found


def test_a_message_of_the_articles_size_has_room_for_the_stamp():
    assert STAMP.size == 20


@pytest.mark.parametrize("size", [20, 1000])
def test_missing_messages_are_counted_by_number(size):
    kept = [message(n, size=size) for n in range(1000) if n % 10]
    kept += [message(n, 1, size=size) for n in range(500) if n not in (0, 77, 499)]
    found = tally(kept, size=size)
    assert found.missing([1000, 500]) == 103
    assert found.report([1000, 500])["delivered"] == [900, 497]


def test_a_message_that_comes_twice_hides_no_loss():
    found = tally([message(0), message(1), message(1)])
    report = found.report([3, 0])
    assert (report["duplicates"], found.missing([3, 0])) == (1, 1)


def test_far_numbers_are_counted_too():
    found = tally([message(n) for n in (0, 100_000, 400_000)])
    assert found.missing([400_001, 0]) == 399_998


def test_a_message_of_another_run_is_foreign():
    strangers = [b"", b"x" * SIZE, message(1, run=8), message(1, publisher=2), message(10**12)]
    report = tally([*strangers, message(0)]).report([1, 0])
    assert (report["foreign"], report["delivered"], report["received"]) == (5, [1, 0], 1)


def test_a_hello_counts_for_nothing():
    report = tally([message(3, publisher=HELLO)]).report([0, 0])
    assert (report["foreign"], report["received"]) == (0, 0)


def test_a_number_that_nobody_sent_is_impossible():
    assert tally([message(5)]).report([5, 0])["impossible"] == 1


def test_rates_and_latencies_cover_the_window_only():
    at = [-1, 0, SECOND - 1, SECOND, 2 * SECOND]
    report = tally([message(n) for n in range(5)], at).report([5, 0])
    assert report["per_second"] == [2, 1]
    assert sum(report["latency"].values()) == 3
    assert report["delivered"] == [5, 0]


def test_percentiles_are_within_two_hundredths():
    arrivals = [n * 1000 for n in range(1, 10_001)]
    report = tally([message(n) for n in range(10_000)], arrivals).report([10_000, 0])
    found = percentiles([report["latency"]])
    for name, milliseconds in (("p50", 5.0), ("p90", 9.0), ("p99", 9.9), ("pmax", 10.0)):
        assert found[name] == pytest.approx(milliseconds, rel=0.02)


def test_without_messages_there_are_no_percentiles():
    assert set(percentiles([{}, {}]).values()) == {None}


def publisher(sent, refused=0, dropped=0):
    return {"sent": sent, "refused": refused, "counted": sent}, {"dropped": dropped, "cuts": 0}


def subscriber(*delivered, dropped=0, resets=0, impossible=0, unfinished=False):
    return {
        **{"delivered": list(delivered), "dropped": dropped, "resets": resets, "cuts": 0},
        **{"impossible": impossible, "duplicates": 0, "foreign": 0, "unfinished": unfinished},
    }


def accounted(publishers, subscribers):
    sending, since = zip(*publishers, strict=True)
    return account(list(sending), list(since), subscribers)


def test_a_lossy_subscriber_is_found_with_the_right_count():
    found = accounted([publisher(100), publisher(50)], [subscriber(100, 50), subscriber(90, 45)])
    assert (found["due"], found["delivered"], found["dropped"], found["lost"]) == (300, 285, 0, 15)
    assert found["adds_up"] and found["silent"]


def test_a_message_that_a_broker_counted_as_dropped_is_not_lost():
    publishers = [publisher(100, refused=9, dropped=10)]
    found = accounted(publishers, [subscriber(90), subscriber(85, dropped=5)])
    assert (found["due"], found["dropped"], found["lost"]) == (200, 25, 0)
    assert found["adds_up"] and not found["silent"]
    assert found["refused"] == 9


def test_a_loss_that_was_reported_is_not_silent():
    found = accounted([publisher(100)], [subscriber(60, resets=1)])
    assert found["lost"] == 40 and not found["silent"]


def test_a_message_that_an_unfinished_subscriber_has_not_received_is_not_lost_in_silence():
    heard = [subscriber(60, unfinished=True), subscriber(100), subscriber(50, unfinished=True)]
    found = accounted([publisher(100)], heard)
    assert (found["lost"], found["unfinished"], found["silent"]) == (90, 2, False)
    assert accounted([publisher(100)], [*heard, subscriber(99)])["silent"]


@pytest.mark.parametrize(
    "heard", [subscriber(100, dropped=1), subscriber(100, impossible=1)], ids=["drop", "number"]
)
def test_an_account_with_too_much_in_it_does_not_add_up(heard):
    assert not accounted([publisher(100)], [heard])["adds_up"]


def test_the_cost_of_a_message_is_told_for_publishers_and_subscribers():
    cpu = {"publishers": 0.5, "subscribers": 0.8, "brokers": 0.1, "both": None}
    found = costs(cpu, {"publishes": 100_000, "deliveries": 400_000})
    assert found == pytest.approx({"publishers": 5.0, "subscribers": 2.0, "brokers": 1.0})
    alone = {**dict.fromkeys(cpu), "both": 0.7}
    assert set(costs(alone, {"publishes": 1, "deliveries": 1}).values()) == {None}
    nothing = costs(cpu, {"publishes": 0, "deliveries": 0})
    assert set(nothing.values()) == {None}
