"""A process of the benchmark: `python -m loadtest.queues.worker CONFIGURATION`.

It publishes, or hears, or both, for as long as its parent says. They talk by lines of JSON:

    configuration {"client", "url", "publishers": [..], "subscribers": [..], "clients", "run",
                   "channels", "size", "rate"}, all in one argument
    parent        {"begin", "start", "stop"}: publish from begin to stop, count from start to stop
    parent        {"sent": [..]}: what each publisher sent, now that all have said so
    worker        {"ready": true}, then what each publisher sent, then all that was counted;
                  or {"trouble": "a sentence"} instead of any of them, and exit status 1

`publishers` and `subscribers` are the numbers of those that live in this process, of `clients`
each. Times are nanoseconds of CLOCK_MONOTONIC. When its standard input ends, so does the process:
nobody is left behind by a parent that was killed. loadtest/go/ has a worker of the same kind.
"""

import json
import logging
import os
import queue
import random
import sys
import threading
import time
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

import gevent
import redis

from brokers import BrokerClosed
from brokers.base import bare
from loadtest.kit.processes import Trouble
from loadtest.queues.clients import PUBLISHERS, BrokerClient, Publisher
from loadtest.queues.stamp import HELLO, SECOND, STAMP, Tally

#: Messages that are published before others of the process have their turn.
BURST = 64

#: Seconds that a publisher waits when it was refused: its queue is full.
REFUSED_S = 0.001

#: Seconds between two looks at what is due, where the rate is given.
PACE_S = 0.0005

#: Seconds between two looks at what the parent says, and the longest wait for a message.
LOOK_S = 0.02

#: Messages that a subscriber takes before it counts them.
BATCH = 8192

#: Channels that a publisher chooses beforehand: to choose costs more than to publish.
CHOICES = 8192

#: Seconds: between two rounds of hellos, and until it is given up that one comes back.
HELLO_EVERY_S, HELLO_WITHIN_S = 0.25, 15.0

#: Seconds without a message after which nothing more is expected, and the most that is waited. The
#: forwarder of ZeroMQ tells of what it dropped within one second.
QUIET_S, DRAIN_S = 1.5, 15.0

clock = time.monotonic_ns


class Parent:
    """The other end of standard input and output."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        # A thread, because neither a publisher at full throttle nor gevent can wait for a pipe.
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._lines.put(line)
        os._exit(1)

    def heard(self) -> dict[str, Any] | None:
        """Return what the parent said next, if it did."""
        return None if self._lines.empty() else json.loads(self._lines.get())

    def wait(self, sleep: Callable[[float], None]) -> dict[str, Any]:
        """Return what the parent says next."""
        while (said := self.heard()) is None:
            sleep(LOOK_S)
        return said

    def tell(self, what: dict[str, Any]) -> None:
        """Say something to the parent."""
        print(json.dumps(what), flush=True)


class Publishing:
    """One publisher, from its connection to its report."""

    def __init__(self, number: int, told: dict[str, Any]) -> None:
        self.client: Publisher = PUBLISHERS[told["client"]](told["url"])
        self._number, self._told = number, told
        self._sent = self._refused = 0

    def publish(self, begin: int, start: int, stop: int) -> dict[str, int]:
        """Publish until `stop`; return what was sent in all, and from `start` on."""
        self._until(begin, begin)
        self._until(start, begin)
        before = self._sent
        self._until(stop, begin)
        return {"sent": self._sent, "refused": self._refused, "counted": self._sent - before}

    def _until(self, end: int, begin: int) -> None:
        """Publish until `end`: as much as is taken, or `rate` a second since `begin`."""
        publish, sleep, pack = self.client.publish, self.client.sleep, STAMP.pack
        number, run, rate = self._number, self._told["run"], self._told["rate"]
        padding = bytes(self._told["size"] - STAMP.size)
        names = [str(n) for n in range(self._told["channels"])]
        channels = cycle(random.choices(names, k=CHOICES))
        while (now := clock()) < end:
            burst = BURST
            if rate:
                burst = max(0, min(burst, (now - begin) * rate // SECOND - self._sent))
            for channel in islice(channels, burst):
                now = clock()
                if now >= end:
                    return
                # At a rate it is stamped with the time at which it was due, not with a later one.
                stamp = begin + (self._sent + 1) * SECOND // rate if rate else now
                if publish(channel, pack(stamp, number, run, self._sent) + padding):
                    self._sent += 1
                else:
                    self._refused += 1
                    sleep(REFUSED_S)
            sleep(0 if burst == BURST else PACE_S)

    def report(self) -> dict[str, Any]:
        """Return what has become known since: losses after a message was taken, lost links."""
        return {"dropped": self.client.dropped() - self._refused, "cuts": self.client.cuts()}


class Subscribing:
    """One subscriber to all channels, from its connection to its report."""

    def __init__(self, number: int, told: dict[str, Any]) -> None:
        self.client = BrokerClient(told["url"])
        self._number, self._told = number, told

    def prove(self) -> None:
        """Subscribe, and return when a message of our own has come back on every channel."""
        run, size = self._told["run"], self._told["size"]
        channels = [str(n) for n in range(self._told["channels"])]
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

    def hear(self, start: int, stop: int, sent_now: Callable[[], list[int] | None]) -> dict:
        """Count what comes until nothing more can; `sent_now` says what was sent, once known."""
        told, client = self._told, self.client
        tally = Tally(told["run"], told["clients"], told["size"], start, stop)
        before = client.dropped()
        receive, payloads, arrivals = client.receive, [], []
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
            quiet = now - quiet_since > QUIET_S * SECOND
            if not tally.missing(sent) or quiet or now > deadline:
                break
        return {
            **tally.report(sent),
            "dropped": client.dropped() - before,
            "cuts": client.cuts(),
            "resets": client.resets,
        }


def at_once(tasks: list[Callable[[], Any]]) -> list[Any]:
    """Return what these return, in their order; several take turns in this process."""
    if len(tasks) == 1:
        return [tasks[0]()]
    return results([gevent.spawn(task) for task in tasks])


def results(greenlets: list[Any]) -> list[Any]:
    """Return what greenlets return, in their order; one that fails ends the waiting for others."""
    # What joinall() returns is in the order in which they ended.
    gevent.joinall(greenlets, raise_error=True)
    return [greenlet.get() for greenlet in greenlets]


def work(told: dict[str, Any], parent: Parent) -> None:
    """Be what the configuration says, until all is reported."""
    publishers = [Publishing(number, told) for number in told["publishers"]]
    subscribers = [Subscribing(number, told) for number in told["subscribers"]]
    everybody = [*publishers, *subscribers]
    sleep = everybody[0].client.sleep
    at_once([subscriber.prove for subscriber in subscribers])
    parent.tell({"ready": True})
    when = parent.wait(sleep)
    sleep(max(0, (when["begin"] - clock()) / SECOND))
    final: list[int] = []

    def sent_now() -> list[int] | None:
        if not final and (said := parent.heard()) is not None:
            final.extend(said["sent"])
        return final or None

    hearing = [
        gevent.spawn(subscriber.hear, when["start"], when["stop"], sent_now)
        for subscriber in subscribers
    ]
    sending = at_once(
        [lambda p=p: p.publish(when["begin"], when["start"], when["stop"]) for p in publishers]
    )
    if sending:
        parent.tell({"publishers": sending})
    heard = results(hearing)
    while sent_now() is None:
        sleep(LOOK_S)
    report = {"publishers": [one.report() for one in publishers], "subscribers": heard}
    for one in everybody:
        if trouble := one.client.trouble():
            raise Trouble(trouble)
    parent.tell(report)
    # That a worker ends is trouble. The parent ends this one, or its reader thread does.
    threading.Event().wait()


def main(arguments: list[str]) -> int:
    """Work as the configuration in the one argument says; return the exit status."""
    # The counts tell of lost links, and the parent tells the user.
    logging.getLogger("flatlands").setLevel(logging.ERROR)
    told, parent = json.loads(arguments[0]), Parent()
    try:
        work(told, parent)
    except (OSError, ValueError, BrokerClosed, redis.RedisError, Trouble) as error:
        parent.tell({"trouble": f"{bare(told['url'])}: {error}"})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
