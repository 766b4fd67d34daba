"""Writes the reports of workers in the format of Prometheus, for /metrics. It counts nothing.

What each metric means is written once, in numbers.md: its HELP line is the sentence there.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from flatlands.server.web.metrics import GAUGES, Report

#: All counters with one of these prefixes are one metric; the rest of the name is its label `code`.
LABELLED = ("refused_", "closed_", "limited_", "answered_")

#: A counter that is none of them, for all its name.
ALONE = "refused_batches"

#: Counters that Prometheus gets from the start, as 0: it notices a counter's first rise only if it
#: has seen the counter before.
FROM_ZERO = (
    "admin_refused",
    "batches",
    "batches_sent",
    "errors",
    "events",
    "flushed_bytes",
    "lagged",
    "gaps",
    "given_up",
    "joins",
    "leaves",
    "malformed",
    "nodes_lost",
    "refused_batches",
    "refused_flood",
    "refused_full",
    "refused_hello",
    "store_errors",
    "overdue_batches",
)

#: The ends of names of counters of times -> their factor to seconds.
TO_SECONDS = {"_us": 1e-6, "_ms": 1e-3}

#: The shortest bucket of a histogram that is shown: it ends at 2**8 us.
FIRST_BUCKET = 8

#: The heading of the table of numbers that rise and fall.
NOW = "now"


def exposition(living: Sequence[Report], total: Report) -> bytes:
    """Return the reports of the living workers, and of all together, as Prometheus reads them."""
    registry = CollectorRegistry()
    registry.register(_Collector(living, total))
    return generate_latest(registry)


@cache
def sentences() -> dict[tuple[bool, str], str]:
    """Return what numbers.md says of each (whether it rises and falls, name), as plain text."""
    found: dict[tuple[bool, str], str] = {}
    now = False
    for line in Path(__file__).with_name("numbers.md").read_text().splitlines():
        if heading := re.match(r"\| (\w[^|]*) \|", line):
            now = heading[1] == NOW
        elif row := re.match(r"\| (`[^|]+) \| (.+) \|$", line):
            sentence = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", row[2]).replace("`", "")
            found |= {(now, name): sentence for name in re.findall("`([^`]+)`", row[1])}
    return found


def _help(name: str, now: bool = False) -> str:
    # A game that is not shipped may count what it likes.
    return sentences().get((now, name), f"What the game counts as {name}.")


def _counter(name: str, value: float) -> Metric:
    unit = name[-3:]
    seconds = f"{name.removesuffix(unit)}_seconds" if unit in TO_SECONDS else name
    metric = "process_cpu_seconds" if name == "cpu_ms" else f"flatlands_{seconds}"
    return CounterMetricFamily(metric, _help(name), value * TO_SECONDS.get(unit, 1))


class _Collector:
    """Yields the metrics of reports to the library of Prometheus."""

    def __init__(self, living: Sequence[Report], total: Report) -> None:
        self._living = living
        self._total = total

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily(
            "flatlands_build_info", _help("build_info", True), labels=[*self._living[0].about]
        )
        for report in self._living:
            build.add_metric([str(value) for value in report.about.values()], 1)
        yield build
        yield GaugeMetricFamily("flatlands_workers", _help("workers", True), len(self._living))
        for name, value in self._total.gauges.items():
            gauge = GAUGES[name]
            yield GaugeMetricFamily(gauge.metric, _help(name, True), value * gauge.scale)
        counted = {**dict.fromkeys(FROM_ZERO, 0), **self._total.counted}
        for prefix in LABELLED:
            help = _help(f"{prefix}*")
            family = CounterMetricFamily(f"flatlands_{prefix[:-1]}", help, labels=["code"])
            for name in [name for name in counted if name.startswith(prefix)]:
                if name != ALONE:
                    family.add_metric([name.removeprefix(prefix)], counted.pop(name))
            yield family
        for name, value in sorted(counted.items()):
            yield _counter(name, value)
        for name, value in self._total.broker.items():
            yield _counter(f"broker_{name}", value)
        for name, counts in self._total.times.items():
            *buckets, us = counts
            ends = range(FIRST_BUCKET, len(buckets) - 1)
            pairs = [(repr((1 << end) / 1e6), float(sum(buckets[: end + 1]))) for end in ends]
            pairs.append(("+Inf", float(sum(buckets))))
            yield HistogramMetricFamily(f"flatlands_{name}_seconds", _help(name), pairs, us / 1e6)
