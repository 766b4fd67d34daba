"""What the reports of all workers of a point come to: rates, losses, latencies.

Pure arithmetic. Of the messages accepted, each is due at each subscriber; so

    sent x subscribers = delivered + counted drops + lost

where `delivered` counts each message once by its number, `counted drops` are those that a broker
itself counted, and what neither explains is `lost`. A broker that cannot count what a gap cost
tells of the gap by a Reset: `silent` says that a subscriber lost messages and was told of none.
`adds_up` says that no number came that nobody sent, and that no broker counted more drops than
there were.
"""

from collections.abc import Iterable
from statistics import median
from typing import Any

from loadtest.kit.histogram import Histogram


def percentiles(latencies: Iterable[dict[Any, int]]) -> dict[str, float | None]:
    """Return percentile -> milliseconds, of what several workers counted: class -> messages; None
    if they counted nothing."""
    found = Histogram()
    for latency in latencies:
        found += Histogram.of([int(name) for name in latency], list(latency.values()))
    shown: dict[str, float | None] = {**found.summary()}
    shown["pmax"] = shown.pop("max")
    return shown if found.total else dict.fromkeys(shown)


def account(
    sending: list[dict[str, int]], since: list[dict[str, int]], heard: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return where every message has gone.

    `sending` and `since` are of each publisher: what it said when it stopped, and after the end;
    `heard` is of each subscriber.
    """
    subscribers = len(heard)
    sent = sum(one["sent"] for one in sending)
    due = sent * subscribers
    delivered = sum(sum(one["delivered"]) for one in heard)
    dropped_before = sum(one["dropped"] for one in since)
    dropped = sum(one["dropped"] for one in heard) + subscribers * dropped_before
    impossible = sum(one["impossible"] for one in heard)
    lost = due - delivered - dropped
    return {
        "sent": sent,
        "refused": sum(one["refused"] for one in sending),
        "due": due,
        "delivered": delivered,
        "dropped": dropped,
        "lost": lost,
        "duplicates": sum(one["duplicates"] for one in heard),
        "foreign": sum(one["foreign"] for one in heard),
        "impossible": impossible,
        "cuts": sum(one["cuts"] for one in (*since, *heard)),
        "resets": sum(one["resets"] for one in heard),
        "silent": any(
            sum(one["delivered"]) + one["dropped"] + dropped_before < sent and not one["resets"]
            for one in heard
        ),
        "adds_up": lost >= 0 and impossible == 0,
    }


def figures(
    sending: list[dict[str, int]],
    since: list[dict[str, int]],
    heard: list[dict[str, Any]],
    seconds: int,
) -> dict[str, Any]:
    """Return all figures of a point but its CPU; rates are messages a second."""
    samples = [count for one in heard for count in one["per_second"]]
    each = [sum(one["per_second"]) / seconds for one in heard]
    return {
        "per_client": median(samples),
        "per_client_least": min(each),
        "per_client_most": max(each),
        "deliveries": sum(each),
        "publishes": sum(one["counted"] for one in sending) / seconds,
        "account": account(sending, since, heard),
        "latency_ms": percentiles(one["latency"] for one in heard),
        "samples": [one["per_second"] for one in heard],
    }
