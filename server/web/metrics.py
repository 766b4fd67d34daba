"""What workers count and hold: one report each, added up for /stats and for Prometheus.

Every worker of a supervisor writes its report into one folder, and whoever is asked adds up those
of all. The supervisor keeps what the dead have counted, so that no sum ever goes back. It never
asks another process anything, and no players are in it, only numbers.
"""

import json
import logging
import os
import resource
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gevent
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

log = logging.getLogger("flatlands")

#: A worker writes its report every so many seconds; who is asked waits so long at most for those of
#: the others that were written later than the question.
REPORT_EVERY, WAIT_FOR_OTHERS = 0.5, 1.0

#: The file of what workers that ended have counted, and the number of them that are remembered.
#: Somebody may be adding up while one is put there: who finds it in both must see that.
ENDED, REMEMBERED = "ended.json", 256


class Gauge(NamedTuple):
    """Something that rises and falls: how those of several workers become one, how Prometheus calls
    it, and by what it is multiplied for Prometheus."""

    join: Callable[[list[float]], float]
    metric: str
    scale: float = 1


#: By their names in /stats; docs/operations.md tells of each.
GAUGES = {
    "connections": Gauge(sum, "flatlands_connections"),
    "residents": Gauge(sum, "flatlands_residents"),
    "squares": Gauge(sum, "flatlands_squares"),
    "nodes": Gauge(max, "flatlands_nodes"),
    "ready": Gauge(min, "flatlands_ready"),
    "orders": Gauge(max, "flatlands_orders"),
    "flush_interval_ms": Gauge(max, "flatlands_flush_interval_seconds", 0.001),
    "lag_ms": Gauge(max, "flatlands_loop_lag_seconds", 0.001),
    "broker_age_s": Gauge(max, "flatlands_broker_age_seconds"),
    "uptime_s": Gauge(max, "flatlands_uptime_seconds"),
    "memory_bytes": Gauge(sum, "process_resident_memory_bytes"),
    "open_files": Gauge(sum, "process_open_fds"),
    "open_files_most": Gauge(sum, "process_max_fds"),
    "watchers": Gauge(sum, "flatlands_loop_watchers"),
}

#: Counters that begin with these are one metric, and the rest of the name is its label `code`.
LABELLED = ("refused_", "closed_", "limited_")

#: These are shown to Prometheus before they were ever counted: it tells of a rise from nothing only
#: where it has seen the nothing.
FROM_ZERO = (
    "errors", "lagged", "gaps", "given_up", "joins", "leaves", "nodes_lost",
    "refused_batches", "unheard_batches",
)  # fmt: skip


class Report(NamedTuple):
    """What one worker has, or all of them together. `written` is a monotonic time in seconds."""

    written: float
    gauges: dict[str, float]
    counted: dict[str, int]
    broker: dict[str, int]


def of_process() -> dict[str, float]:
    """Return what this process uses: memory in bytes, open files and how many it may open; on Linux
    only."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        # To list ten thousand descriptors would take 20 ms; newer kernels tell their number.
        files = os.stat("/proc/self/fd").st_size or len(os.listdir("/proc/self/fd"))
    except OSError:
        return {}
    return {
        "memory_bytes": pages * os.sysconf("SC_PAGE_SIZE"),
        "open_files": files,
        "open_files_most": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }


class Reports:
    """The reports of all workers: a file each in `folder`. Without a folder there is one worker.

    `own` makes this worker's report.
    """

    def __init__(self, folder: str | None, own: Callable[[], Report]) -> None:
        self._folder = None if folder is None else Path(folder)
        self._own = own
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}.json"
        self._failing = False
        self._parent = os.getppid()

    def keep_writing(self) -> None:
        """Write this worker's report again and again; returns at once where there is one worker."""
        while self._folder is not None:
            self._write(self._folder)
            gevent.sleep(REPORT_EVERY)

    def total(self, sleep: Callable[[float], object] = gevent.sleep) -> tuple[int, Report]:
        """Return the number of workers, and what they have together.

        Waits for the others by `sleep`, up to WAIT_FOR_OTHERS: then what they wrote last must do.
        """
        if self._folder is None:
            return 1, self._own()
        begun = time.monotonic()
        # First into its file: what was shown once must be remembered.
        own = self._write(self._folder)
        while True:
            living, ended = self._others(self._folder)
            stale = any(report.written < begun for report in living)
            if not stale or time.monotonic() - begun > WAIT_FOR_OTHERS:
                break
            sleep(REPORT_EVERY / 10)
        return 1 + len(living), _added([own, *living], ended)

    def close(self) -> None:
        """Write the last report; it goes with the folder where the supervisor is gone."""
        if self._folder is not None:
            self._write(self._folder)
            if os.getppid() != self._parent:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, folder: Path) -> Report:
        report = self._own()
        try:
            _replace(folder / self._name, report._asdict())
            self._failing = False
        except OSError as error:
            if not self._failing:
                log.warning("no other worker can see what this one counts: %s", error)
            self._failing = True
        return report

    def _others(self, folder: Path) -> tuple[list[Report], list[Report]]:
        """Return the reports of the other workers that live, and of those that have ended."""
        reports = _read_all(folder, besides=self._name)
        # After the files: one that is put there meanwhile is found in both.
        ended, names = _read_ended(folder)
        living: list[Report] = []
        dead = [ended]
        for name, report in reports.items():
            if name not in names:
                (living if _lives(name) else dead).append(report)
        return living, dead


def bury(folder: Path, running: Collection[int]) -> None:
    """Keep what workers have counted that have ended, and remove their files.

    `running` are the ids of the processes that have not ended. Only the supervisor calls it; where
    it cannot be done it is logged, and done the next time.
    """
    try:
        for name, report in _read_all(folder).items():
            if _pid(name) not in running:
                _bury(folder, name, report)
    except OSError as error:
        log.warning("what workers counted that have ended cannot be put together: %s", error)


def _bury(folder: Path, name: str, report: Report) -> None:
    ended, names = _read_ended(folder)
    if name not in names:
        names = [*names, name][-REMEMBERED:]
        ended = _added([], [ended, report])
        _replace(folder / ENDED, {**ended._asdict(), "names": names})
    (folder / name).unlink()


def _added(living: list[Report], ended: list[Report]) -> Report:
    """Return one report of several; of those that ended only what they counted."""
    gauges = {
        name: gauge.join([report.gauges[name] for report in living if name in report.gauges])
        for name, gauge in GAUGES.items()
        if any(name in report.gauges for report in living)
    }
    counted: Counter[str] = Counter()
    broker: Counter[str] = Counter()
    for report in living + ended:
        counted.update(report.counted)
        broker.update(report.broker)
    return Report(time.monotonic(), gauges, dict(counted), dict(broker))


def _read_all(folder: Path, besides: str = "") -> dict[str, Report]:
    reports = {}
    for path in folder.glob("[0-9]*.json"):
        if path.name != besides:
            try:
                reports[path.name] = Report(**json.loads(path.read_text()))
            except FileNotFoundError:
                pass  # buried meanwhile
    return reports


def _read_ended(folder: Path) -> tuple[Report, list[str]]:
    try:
        kept = json.loads((folder / ENDED).read_text())
    except FileNotFoundError:
        return Report(0, {}, {}, {}), []
    names = kept.pop("names")
    return Report(**kept), names


def _replace(path: Path, content: dict[str, Any]) -> None:
    """Write a file so that whoever reads it reads all of the old or all of the new one."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content))
    new.replace(path)


def _pid(name: str) -> int:
    return int(name.partition("-")[0])


def _lives(name: str) -> bool:
    try:
        os.kill(_pid(name), 0)
    except ProcessLookupError:
        return False
    return True


def exposition(workers: int, report: Report) -> bytes:
    """Return a report as Prometheus reads it."""
    registry = CollectorRegistry()
    registry.register(_Collector(workers, report))
    return generate_latest(registry)


class _Collector:
    """Shows a report to Prometheus' library."""

    def __init__(self, workers: int, report: Report) -> None:
        self._workers = workers
        self._report = report

    def collect(self) -> Iterator[Metric]:
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
