"""Writes the report of all workers in the format of Prometheus, for /metrics. It counts nothing."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric

from flatlands.server.web.metrics import GAUGES, Report

#: All counters with one of these beginnings are one metric; the rest of the name is its label
#: `code`.
LABELLED = ("refused_", "closed_", "limited_")

#: Counters that Prometheus gets from the start, as 0: it notices a counter's first rise only if it
#: has seen the counter before.
FROM_ZERO = (
    "errors",
    "lagged",
    "gaps",
    "given_up",
    "joins",
    "leaves",
    "nodes_lost",
    "refused_batches",
    "store_errors",
    "unheard_batches",
)


def exposition(game: str, workers: int, report: Report) -> bytes:
    """Return a report in the format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(_Collector(game, workers, report))
    return generate_latest(registry)


class _Collector:
    """Yields a report's metrics to the library of Prometheus."""

    def __init__(self, game: str, workers: int, report: Report) -> None:
        self._game = game
        self._workers = workers
        self._report = report

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("flatlands_game", _HELP, {"game": self._game})
        yield GaugeMetricFamily("flatlands_workers", _HELP, self._workers)
        for name, value in self._report.gauges.items():
            gauge = GAUGES[name]
            yield GaugeMetricFamily(gauge.metric, _HELP, value * gauge.scale)
        counted = dict(self._report.counted)
        cpu = counted.pop("cpu_ms") / 1000
        yield CounterMetricFamily("process_cpu_seconds", _HELP, cpu)
        for prefix in LABELLED:
            family = CounterMetricFamily(f"flatlands_{prefix[:-1]}", _HELP, labels=["code"])
            for name in [name for name in counted if name.startswith(prefix)]:
                if name not in FROM_ZERO:
                    family.add_metric([name.removeprefix(prefix)], counted.pop(name))
            yield family
        for name, value in sorted({**dict.fromkeys(FROM_ZERO, 0), **counted}.items()):
            yield CounterMetricFamily(f"flatlands_{name}", _HELP, value)
        for name, value in self._report.broker.items():
            yield CounterMetricFamily(f"flatlands_broker_{name}", _HELP, value)


_HELP = "See docs/operations.md."
