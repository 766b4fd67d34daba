"""A process of the benchmark, which publishes and receives.

It publishes, or receives, or both, for as long as its parent says. The two exchange lines of JSON:

    configuration {"client", "url", "publishers": [..], "subscribers": [..], "clients", "run",
                   "channels", "size", "rate", "buffer", "flush_ms"}, all in one argument
    parent        {"begin", "start", "stop"}: publish from begin to stop, count from start to stop
    parent        {"sent": [..]}: how many messages each publisher of all workers has sent
    worker        {"ready": true}, then what each publisher has sent, then all counts;
                  or {"trouble": "a sentence"} instead of any of them, and exit status 1

`publishers` and `subscribers` are the numbers of those that this process runs; of each there are
`clients` in all. Times are nanoseconds of CLOCK_MONOTONIC. The process ends when its standard input
ends, so it never outlives a parent that was killed. go/ has the same worker in Go.
"""

import logging
import random
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, islice
from typing import TypedDict, TypeVar

import gevent
import redis

from flatlands.brokers.base import BrokerClosed
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies import parent
from flatlands.loadtest.studies.parent import LOOK_S, Parent
from flatlands.loadtest.studies.two_queues.clients import (
    PUBLISHERS,
    SUBSCRIBERS,
    BrokerClient,
    Client,
    Config,
)
from flatlands.loadtest.studies.two_queues.figures import Received, Sent, Since
from flatlands.loadtest.studies.two_queues.stamp import HELLO, SECOND, STAMP, Tally

#: Messages that a publisher sends before others of the process have a turn.
BURST = 64

#: Seconds that a publisher waits after a message was refused because the queue is full.
REFUSED_S = 0.001

#: Seconds between two looks at how many messages are due, if a rate is given.
PACE_S = 0.0005

#: Messages that a subscriber gathers before it counts them.
BATCH = 8192

#: Channels that a publisher chooses in advance, since choosing costs more than publishing.
CHOICES = 8192

#: The time between two rounds of hellos.
HELLO_EVERY_S = 0.25
#: A hello must come back on every channel within this time.
HELLO_WITHIN_S = 15.0

#: After this long without a message no more are expected. The ZeroMQ forwarder reports its drops
#: within a second.
QUIET_S = 1.5
#: The longest wait for messages: a subscriber that still receives then is unfinished.
DRAIN_S = 15.0

clock = time.monotonic_ns

_T = TypeVar("_T")


class RunConfig(Config):
    """The part of the configuration that all workers of a point share, see the module."""

    clients: int
    run: int
    channels: int
    size: int
    rate: int


class WorkerConfig(RunConfig):
    """The configuration of a worker."""

    client: str
    publishers: list[int]
    subscribers: list[int]


class Published(TypedDict):
    """What each publisher of a worker has sent."""

    publishers: list[Sent]


class Report(TypedDict):
    """What a worker tells after the end."""

    publishers: list[Since]
    subscribers: list[Received]


class Publishing:
    """One publisher, from its connection to its report."""

    def __init__(self, number: int, config: WorkerConfig) -> None:
        self.client: Client = PUBLISHERS[config["client"]](config)
        self._number, self._config = number, config
        self._sent = self._refused = 0

    def publish(self, begin: int, start: int, stop: int) -> Sent:
        """Publish from `begin` to `stop`; return counts of messages.

        `sent` and `refused` are of the whole time, `counted` are those sent from `start` on.
        """
        self._until(begin, begin)
        self._until(start, begin)
        before = self._sent
        self._until(stop, begin)
        return {"sent": self._sent, "refused": self._refused, "counted": self._sent - before}

    def _until(self, end: int, begin: int) -> None:
        """Publish until `end`: as many messages as possible, or `rate` a second since `begin`."""
        publish, sleep, pack = self.client.publish, self.client.sleep, STAMP.pack
        number, run, rate = self._number, self._config["run"], self._config["rate"]
        padding = bytes(self._config["size"] - STAMP.size)
        names = [str(n) for n in range(self._config["channels"])]
        channels = cycle(random.choices(names, k=CHOICES))
        while (now := clock()) < end:
            burst = BURST
            if rate:
                burst = max(0, min(burst, (now - begin) * rate // SECOND - self._sent))
            for channel in islice(channels, burst):
                now = clock()
                if now >= end:
                    return
                # With a rate, a message is stamped with the time at which it was due.
                stamp = begin + (self._sent + 1) * SECOND // rate if rate else now
                if publish(channel, pack(stamp, number, run, self._sent) + padding):
                    self._sent += 1
                else:
                    self._refused += 1
                    sleep(REFUSED_S)
            sleep(0 if burst == BURST else PACE_S)

    def report(self) -> Since:
        """Return what is known after the end: accepted messages that were lost, and lost links."""
        return {"dropped": self.client.dropped() - self._refused, "cuts": self.client.cuts()}


class Subscribing:
    """One subscriber to all channels, from its connection to its report."""

    def __init__(self, number: int, config: WorkerConfig) -> None:
        self.client: Client = SUBSCRIBERS.get(config["client"], BrokerClient)(config)
        self._number, self._config = number, config

    def prove(self) -> None:
        """Subscribe, and wait until one of its messages has come back on every channel."""
        run, size = self._config["run"], self._config["size"]
        channels = [str(n) for n in range(self._config["channels"])]
        self.client.subscribe(channels)
        unheard = set(range(len(channels)))
        deadline, again = time.monotonic() + HELLO_WITHIN_S, 0.0
        while unheard:
            now = time.monotonic()
            if now >= deadline:
                raise Trouble(f"nothing comes back on {len(unheard)} of {len(channels)} channels")
            if now >= again:
                again = now + HELLO_EVERY_S
                for channel in unheard:
                    hello = STAMP.pack(clock(), HELLO, run, self._number << 32 | channel)
                    self.client.publish(str(channel), hello.ljust(size, b"\0"))
            payload = self.client.receive(LOOK_S)
            if payload is not None and len(payload) == size:
                _, publisher, of_run, which = STAMP.unpack_from(payload)
                if (publisher, of_run, which >> 32) == (HELLO, run, self._number):
                    unheard.discard(which & 0xFFFFFFFF)

    def receive_all(
        self, start: int, stop: int, sent_now: Callable[[], list[int] | None]
    ) -> Received:
        """Count messages until no more can come; return the counts.

        `sent_now` returns how many messages each publisher has sent, or None while it is unknown.
        """
        config, client = self._config, self.client
        tally = Tally(config["run"], config["clients"], config["size"], start, stop)
        before = client.dropped()
        receive = client.receive
        payloads: list[bytes] = []
        arrivals: list[int] = []
        sent, quiet_since, deadline = None, clock(), 0
        while True:
            payload = receive(LOOK_S)
            if payload is not None:
                payloads.append(payload)
                arrivals.append(clock())
                if len(payloads) < BATCH:
                    continue
            now = clock()
            if payloads:
                quiet_since = now
                tally.add(payloads, arrivals)
                payloads.clear()
                arrivals.clear()
            if sent is None:
                if (sent := sent_now()) is None:
                    continue
                quiet_since, deadline = now, now + int(DRAIN_S * SECOND)
            unfinished = now > deadline
            if not tally.missing(sent) or now - quiet_since > QUIET_S * SECOND or unfinished:
                break
        return {
            **tally.report(sent),
            "unfinished": unfinished,
            "dropped": client.dropped() - before,
            "cuts": client.cuts(),
            "resets": client.resets,
        }


def at_once(tasks: Sequence[Callable[[], _T]]) -> list[_T]:
    """Call all tasks as greenlets, and return their results in order; raise the first exception of
    any."""
    return results([gevent.spawn(task) for task in tasks])


def results(greenlets: "Sequence[gevent.Greenlet[..., _T]]") -> list[_T]:
    """Wait for greenlets, and return their results in order; raise the first exception of any."""
    # The list that joinall() returns is in the order in which they ended.
    gevent.joinall(greenlets, raise_error=True)
    return [greenlet.get() for greenlet in greenlets]


def work(config: WorkerConfig, parent: Parent) -> Report:
    """Publish and receive as the configuration says, and return the report of everything."""
    publishers = [Publishing(number, config) for number in config["publishers"]]
    subscribers = [Subscribing(number, config) for number in config["subscribers"]]
    clients = [
        *(publisher.client for publisher in publishers),
        *(subscriber.client for subscriber in subscribers),
    ]
    sleep = clients[0].sleep
    at_once([subscriber.prove for subscriber in subscribers])
    parent.send({"ready": True})
    when = parent.wait(sleep)
    sleep(max(0, (when["begin"] - clock()) / SECOND))
    final: list[int] = []

    def sent_now() -> list[int] | None:
        if not final and (message := parent.poll()) is not None:
            final.extend(message["sent"])
        return final or None

    receiving = [
        gevent.spawn(subscriber.receive_all, when["start"], when["stop"], sent_now)
        for subscriber in subscribers
    ]
    sending = at_once(
        [partial(p.publish, when["begin"], when["start"], when["stop"]) for p in publishers]
    )
    if sending:
        parent.send({"publishers": sending})
    counted = results(receiving)
    while sent_now() is None:
        sleep(LOOK_S)
    report: Report = {"publishers": [one.report() for one in publishers], "subscribers": counted}
    for client in clients:
        if trouble := client.trouble():
            raise Trouble(trouble)
    return report


if __name__ == "__main__":
    # The counts say how many links were lost, and the parent reports them.
    logging.getLogger("flatlands").setLevel(logging.ERROR)
    failures = OSError, ValueError, BrokerClosed, redis.RedisError
    sys.exit(parent.work(work, failures, where="url"))
