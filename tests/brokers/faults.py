"""Checks for brokers in trouble, for tests of any backend."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gevent

from flatlands.brokers.base import Broker, Message, Reset

#: Seconds that a recovery may take.
PATIENCE = 20.0

#: Seconds for which a connection is stalled without being closed.
STALL_S = 10.0

#: Seconds of CPU time that this process may use in each second of an outage.
SPIN = 0.1

#: Seconds of CPU time that it may use in addition, to reconnect.
SOME_WORK_S = 0.1


def make_live(broker: Broker, *channels: str) -> None:
    """Subscribe, and wait until every channel delivers messages and none is under way."""
    broker.subscribe(*channels)
    silent, deadline = set(channels), time.monotonic() + PATIENCE
    while silent:
        assert time.monotonic() < deadline, f"nothing ever comes on {silent}"
        for channel in silent:
            broker.publish(channel, b"?")
        while (item := broker.receive(0.05)) is not None:
            if isinstance(item, Message):
                silent.discard(item.channel)
    # Once the last message of a channel has come, so have all those published before it.
    silent = set(channels)
    for channel in channels:
        await_publish(broker, channel, b"the last one")
    while silent:
        assert time.monotonic() < deadline + PATIENCE, f"nothing more comes on {silent}"
        item = broker.receive(0.05)
        if isinstance(item, Message) and item.payload == b"the last one":
            silent.discard(item.channel)
    # A message counts as under way until the server has answered it, though it may have come back.
    while any(getattr(link, "_in_flight", 0) for link in getattr(broker, "_links", list)()):
        assert time.monotonic() < deadline + PATIENCE, "what was sent last is never answered"
        gevent.sleep(0.005)


def await_reset(broker: Broker, *channels: str) -> set[str]:
    """Wait until all these channels are reset; return them, and the others that were reset too.

    No message of a channel may come before its Reset.
    """
    reset: set[str] = set()
    deadline = time.monotonic() + PATIENCE
    while not reset.issuperset(channels):
        assert time.monotonic() < deadline, f"no Reset of {set(channels) - reset}: {broker.links()}"
        item = broker.receive(0.1)
        assert not isinstance(item, Message) or item.channel not in set(channels) - reset
        if isinstance(item, Reset):
            reset |= set(channels) if item.channels is None else item.channels
    return reset


def await_publish(broker: Broker, channel: str, payload: bytes) -> None:
    """Publish a message as soon as the broker accepts it."""
    deadline = time.monotonic() + PATIENCE
    while not broker.publish(channel, payload):
        assert time.monotonic() < deadline, f"the broker accepts no message for {channel}"
        gevent.sleep(0.02)


def await_refusal(broker: Broker, channel: str, payload: bytes) -> int:
    """Publish a message until the broker refuses it; return how often it did not."""
    accepted, deadline = 0, time.monotonic() + PATIENCE
    while broker.publish(channel, payload):
        assert time.monotonic() < deadline, f"the broker still accepts messages for {channel}"
        accepted += 1
        gevent.sleep(0.1)
    return accepted


def await_trouble(broker: Broker) -> None:
    """Wait until the broker knows of a link that does not work."""
    deadline = time.monotonic() + PATIENCE
    while not any(link.trouble for link in broker.links()):
        assert time.monotonic() < deadline, "the loss of a link is not noticed"
        gevent.sleep(0.02)


def await_log(caplog: Any, text: str, times: int = 1) -> None:
    """Wait until `times` log records contain the text."""
    deadline = time.monotonic() + PATIENCE
    while sum(text in record.getMessage() for record in caplog.records) < times:
        assert time.monotonic() < deadline, f"not logged: {text}"
        gevent.sleep(0.02)


def exchange(broker: Broker, *channels: str, stray: bytes | None = None) -> int:
    """Check that each channel delivers a message published on it, exactly once.

    Messages with the payload `stray` may come besides; return how many did.
    """
    for channel in channels:
        await_publish(broker, channel, channel.encode())
    got, strays = [], 0
    while len(got) < len(channels):
        item = broker.receive(PATIENCE)
        assert item is not None, f"only {got} of {channels}"
        if isinstance(item, Message):
            if item.payload == stray:
                strays += 1
            else:
                got.append(item)
    assert sorted(got) == sorted(Message(c, c.encode()) for c in channels)
    return strays


def oldest(broker: Broker) -> float:
    """Return the seconds since the least recent sign of life of any link, 0 without links."""
    return max((link.seconds for link in broker.links()), default=0.0)


def await_young(broker: Broker, seconds: float) -> None:
    """Wait until every link has given a sign of life within the last `seconds`."""
    deadline = time.monotonic() + PATIENCE
    while oldest(broker) >= seconds:
        assert time.monotonic() < deadline, f"a link is old: {broker.links()}"
        gevent.sleep(0.02)


def drain(broker: Broker, seconds: float) -> list[Message]:
    """Return the messages that come within some seconds."""
    messages, until = [], time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        item = broker.receive(left)
        if isinstance(item, Message):
            messages.append(item)
    return messages


@contextmanager
def little_work() -> Iterator[None]:
    """Check that this process uses nearly no CPU time while the block runs."""
    began, worked = time.monotonic(), time.process_time()
    yield
    lasted, worked = time.monotonic() - began, time.process_time() - worked
    assert worked < SPIN * lasted + SOME_WORK_S, f"{worked:.2f} s of CPU in {lasted:.2f} s"


class Ledger:
    """Counts what a lone broker publishes, receives and drops from now on."""

    def __init__(self, broker: Broker) -> None:
        self._counters = broker.counters
        self._before = self._now()

    def _now(self) -> list[int]:
        counters = self._counters
        return [counters.published, counters.received, counters.dropped]

    def missing(self) -> int:
        """Return how many messages were published, and neither received nor counted as dropped."""
        published, received, dropped = (
            now - before for now, before in zip(self._now(), self._before, strict=True)
        )
        return published - received - dropped
