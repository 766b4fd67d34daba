"""Computes the figures of a point from the reports of its workers: rates, losses, latencies.

It is pure arithmetic. Each message that a broker accepted is due at each subscriber:

    sent x subscribers = delivered + dropped + lost

`delivered` counts each message once, by its number; `dropped` are the drops that the brokers
counted; the rest is `lost`. A broker that cannot count the messages of a gap reports the gap by a
Reset: `silent` says that a subscriber lost messages and got no Reset. `unfinished` subscribers were
still receiving when they had to stop, so what they had not received may not be lost. `adds_up` says
that no message came that nobody sent, and that no broker counted more drops than there were.
"""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import TypedDict

from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.studies.two_queues.stamp import Counts


class Sent(TypedDict):
    """A publisher's report when it has stopped, see worker.Publishing.publish."""

    sent: int
    refused: int
    counted: int


class Since(TypedDict):
    """A publisher's report after the end: accepted messages that were lost, and lost links."""

    dropped: int
    cuts: int


class Received(Counts):
    """A subscriber's report after the end."""

    unfinished: bool
    dropped: int
    cuts: int
    resets: int


class Account(TypedDict):
    """What became of all messages, see the module."""

    sent: int
    refused: int
    due: int
    delivered: int
    dropped: int
    lost: int
    duplicates: int
    foreign: int
    impossible: int
    cuts: int
    resets: int
    unfinished: int
    silent: bool
    adds_up: bool


class Rates(TypedDict):
    """The figures of a point except its CPU. `latency_ms` is that of percentiles(), and `samples`
    has for each subscriber its messages in each second."""

    per_client: float
    per_client_least: float
    per_client_most: float
    deliveries: float
    publishes: float
    account: Account
    latency_ms: dict[str, float | None]
    samples: list[list[int]]


class Cpu(TypedDict):
    """The cores that each kind of process used, None for a kind without a process here."""

    publishers: float | None
    subscribers: float | None
    both: float | None
    brokers: float | None


class Costs(TypedDict):
    """The CPU time of one message, see costs()."""

    publishers: float | None
    subscribers: float | None
    brokers: float | None


class Point(Rates):
    """A series with a number of clients."""

    series: str
    clients: int
    cpu: Cpu
    cpu_us: Costs


def percentiles(latencies: Iterable[Mapping[int, int]]) -> dict[str, float | None]:
    """Return percentile -> milliseconds; None for each percentile if nothing was counted.

    `latencies` holds for each subscriber: class of a Histogram -> messages.
    """
    found = Histogram()
    for latency in latencies:
        found += Histogram.of([int(name) for name in latency], list(latency.values()))
    shown: dict[str, float | None] = {**found.summary()}
    shown["pmax"] = shown.pop("max")
    return shown if found.total else dict.fromkeys(shown)


def account(sending: list[Sent], since: list[Since], received: list[Received]) -> Account:
    """Return what became of all messages.

    `sending` and `since` have a report of each publisher: when it stopped, and after the end.
    `received` has a report of each subscriber.
    """
    subscribers = len(received)
    sent = sum(one["sent"] for one in sending)
    due = sent * subscribers
    delivered = sum(sum(one["delivered"]) for one in received)
    dropped_before = sum(one["dropped"] for one in since)
    dropped = sum(one["dropped"] for one in received) + subscribers * dropped_before
    impossible = sum(one["impossible"] for one in received)
    lost = due - delivered - dropped
    return {
        "sent": sent,
        "refused": sum(one["refused"] for one in sending),
        "due": due,
        "delivered": delivered,
        "dropped": dropped,
        "lost": lost,
        "duplicates": sum(one["duplicates"] for one in received),
        "foreign": sum(one["foreign"] for one in received),
        "impossible": impossible,
        "cuts": sum(one["cuts"] for one in (*since, *received)),
        "resets": sum(one["resets"] for one in received),
        "unfinished": sum(one["unfinished"] for one in received),
        "silent": any(
            sum(one["delivered"]) + one["dropped"] + dropped_before < sent and not one["resets"]
            for one in received
            if not one["unfinished"]
        ),
        "adds_up": lost >= 0 and impossible == 0,
    }


def figures(
    sending: list[Sent], since: list[Since], received: list[Received], seconds: int
) -> Rates:
    """Return all figures of a point except its CPU. Rates are in messages a second.

    The first three arguments are those of `account`; `seconds` is the length of the window.
    """
    samples = [count for one in received for count in one["per_second"]]
    each = [sum(one["per_second"]) / seconds for one in received]
    return {
        "per_client": median(samples),
        "per_client_least": min(each),
        "per_client_most": max(each),
        "deliveries": sum(each),
        "publishes": sum(one["counted"] for one in sending) / seconds,
        "account": account(sending, since, received),
        "latency_ms": percentiles(one["latency"] for one in received),
        "samples": [one["per_second"] for one in received],
    }


def costs(cpu: Cpu, rates: Rates) -> Costs:
    """Return the CPU time of one message in microseconds.

    For publishers and brokers it is that of a message that is published, for subscribers that of
    one that is delivered. It is None for kinds without a separate process.
    """

    def us(cores: float | None, messages: float) -> float | None:
        return 1e6 * cores / messages if cores is not None and messages else None

    return {
        "publishers": us(cpu["publishers"], rates["publishes"]),
        "subscribers": us(cpu["subscribers"], rates["deliveries"]),
        "brokers": us(cpu["brokers"], rates["publishes"]),
    }
