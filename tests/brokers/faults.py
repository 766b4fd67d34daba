"""What is said of a broker in trouble, whatever the backend."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gevent

from brokers import Broker, Message, Reset

#: Seconds that a recovery may take.
PATIENCE = 20.0

#: Seconds for which a connection that is stalled, not closed, stays so.
STALL_S = 10.0

#: Seconds of this process's CPU that an outage may cost, of each second that it lasts.
SPIN = 0.1

#: Seconds of work that are no spinning at all: what mending a link takes.
SOME_WORK_S = 0.1


def make_live(broker: Broker, *channels: str) -> None:
    """Subscribe, and return when every channel has brought something, and nothing is under way."""
    broker.subscribe(*channels)
    silent, deadline = set(channels), time.monotonic() + PATIENCE
    while silent:
        assert time.monotonic() < deadline, f"never heard: {silent}"
        for channel in silent:
            broker.publish(channel, b"?")
        while (item := broker.receive(0.05)) is not None:
            if isinstance(item, Message):
                silent.discard(item.channel)
    # Of each channel what was published before comes before.
    silent = set(channels)
    for channel in channels:
        await_publish(broker, channel, b"the last one")
    while silent:
        assert time.monotonic() < deadline + PATIENCE, f"no more heard: {silent}"
        item = broker.receive(0.05)
        if isinstance(item, Message) and item.payload == b"the last one":
            silent.discard(item.channel)
    # Until the server has answered, what was sent last counts as under way, though it was heard.
    while any(getattr(link, "_in_flight", 0) for link in getattr(broker, "_links", list)()):
        assert time.monotonic() < deadline + PATIENCE, "what was sent last is never answered"
        gevent.sleep(0.005)


def await_reset(broker: Broker, *channels: str) -> set[str]:
    """Return all channels of the Resets that come until these are covered; no message may be."""
    told: set[str] = set()
    deadline = time.monotonic() + PATIENCE
    while not told.issuperset(channels):
        assert time.monotonic() < deadline, f"no Reset of {set(channels) - told}"
        item = broker.receive(0.1)
        assert not isinstance(item, Message) or item.channel not in set(channels) - told
        if isinstance(item, Reset):
            told |= set(channels) if item.channels is None else item.channels
    return told


def await_publish(broker: Broker, channel: str, payload: bytes) -> None:
    """Publish as soon as it can be."""
    deadline = time.monotonic() + PATIENCE
    while not broker.publish(channel, payload):
        assert time.monotonic() < deadline, f"{channel} is never published to again"
        gevent.sleep(0.02)


def await_log(caplog: Any, text: str, times: int = 1) -> None:
    """Return when something was logged so many times."""
    deadline = time.monotonic() + PATIENCE
    while sum(text in record.getMessage() for record in caplog.records) < times:
        assert time.monotonic() < deadline, f"not logged: {text}"
        gevent.sleep(0.02)


def exchange(broker: Broker, *channels: str) -> None:
    """Check that each channel brings what is published on it, once."""
    for channel in channels:
        await_publish(broker, channel, channel.encode())
    got = []
    while len(got) < len(channels):
        item = broker.receive(PATIENCE)
        assert item is not None, f"only {got} of {channels}"
        if isinstance(item, Message):
            got.append(item)
    assert sorted(got) == sorted(Message(c, c.encode()) for c in channels)


def oldest(broker: Broker) -> float:
    """Return for how many seconds the oldest link has not proved to be alive."""
    return max(seconds for _, seconds in broker.links())


def drain(broker: Broker, seconds: float) -> list[Message]:
    """Return the messages that come in some time."""
    messages, until = [], time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        item = broker.receive(left)
        if isinstance(item, Message):
            messages.append(item)
    return messages


@contextmanager
def little_work() -> Iterator[None]:
    """Check that this process did nearly nothing, however short the time was."""
    began, worked = time.monotonic(), time.process_time()
    yield
    lasted, worked = time.monotonic() - began, time.process_time() - worked
    assert worked < SPIN * lasted + SOME_WORK_S, f"{worked:.2f} s of CPU in {lasted:.2f} s"


class Ledger:
    """What a lone broker published, received and dropped since this was made."""

    def __init__(self, broker: Broker) -> None:
        self._counters = broker.counters
        self._before = self._now()

    def _now(self) -> list[int]:
        counters = self._counters
        return [counters.published, counters.received, counters.dropped]

    def missing(self) -> int:
        """Return how many were published, and neither received nor counted as dropped."""
        published, received, dropped = (
            now - before for now, before in zip(self._now(), self._before, strict=True)
        )
        return published - received - dropped
