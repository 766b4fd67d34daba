"""The gauges and counters of all workers: a report of each, added up for /stats and /metrics.

Every worker of a supervisor writes its report into one folder. The worker that is asked adds up the
reports of all. The supervisor keeps the counts of workers that have ended, so that no sum ever
falls. No process ever asks another one, and reports hold numbers only, nothing about players.
"""

import json
import logging
import os
import resource
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gevent

log = logging.getLogger("flatlands")

#: Time between two reports of a worker.
REPORT_EVERY_S = 0.5

#: How long at most a worker that is asked waits for newer reports of the others.
WAIT_FOR_OTHERS_S = 1.0

#: The file with the counts of workers that have ended.
ENDED_FILE = "ended.json"

#: The most names of such workers in that file. By the names a worker that adds up notices which
#: reports it has found in both places.
ENDED_NAMES = 256

#: How the names of reports end. A supervisor that replaces its workers reads them as the version
#: that it began with does: up to 0.3.0 that reads *.json, and fails at what it does not know.
ENDING = ".report"


class Gauge(NamedTuple):
    """A number that rises and falls, as a row of the table of all. `join` makes one number of those
    of several workers; `metric` is its name for Prometheus, and `scale` its factor there."""

    join: Callable[[list[float]], float]
    metric: str
    scale: float = 1


#: Name in /stats -> gauge. numbers.md explains each.
GAUGES = {
    "connections": Gauge(sum, "flatlands_connections"),
    "players": Gauge(sum, "flatlands_players"),
    "players_most": Gauge(sum, "flatlands_players_most"),
    "residents": Gauge(sum, "flatlands_residents"),
    "computer_players": Gauge(sum, "flatlands_computer_players"),
    "squares": Gauge(sum, "flatlands_squares"),
    "deaf": Gauge(sum, "flatlands_deaf"),
    "nodes": Gauge(max, "flatlands_nodes"),
    "clocks_apart_ms": Gauge(max, "flatlands_clocks_apart_seconds", 0.001),
    "ready": Gauge(min, "flatlands_ready"),
    "actions_in_force": Gauge(max, "flatlands_actions_in_force"),
    "maps": Gauge(sum, "flatlands_maps"),
    "strangers": Gauge(sum, "flatlands_strangers"),
    "store": Gauge(min, "flatlands_store"),
    "store_waiting": Gauge(sum, "flatlands_store_waiting"),
    "tiles": Gauge(max, "flatlands_tiles"),
    "flush_interval_ms": Gauge(max, "flatlands_flush_interval_seconds", 0.001),
    "lag_ms": Gauge(max, "flatlands_loop_lag_seconds", 0.001),
    "broker_age_s": Gauge(max, "flatlands_broker_age_seconds"),
    "uptime_s": Gauge(max, "flatlands_uptime_seconds"),
    "memory_bytes": Gauge(sum, "process_resident_memory_bytes"),
    "open_files": Gauge(sum, "process_open_fds"),
    "open_files_most": Gauge(sum, "process_max_fds"),
    "watchers": Gauge(sum, "flatlands_loop_watchers"),
}


class Report(NamedTuple):
    """The numbers of one worker, or of all together. `written` is a monotonic time in seconds.
    `about` says which worker it is and what it runs; it is empty for all together. `times` are the
    counts of histograms (histogram.py), and `lately` those of the last minute or two."""

    written: float
    gauges: dict[str, float]
    counted: dict[str, int]
    broker: dict[str, int]
    about: dict[str, str | int] = {}
    times: dict[str, list[int]] = {}
    lately: dict[str, list[int]] = {}


def memory() -> int:
    """Return this process's resident memory in bytes; 0 on systems other than Linux."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def of_process() -> dict[str, float]:
    """Return this process's memory in bytes, its open files, and how many it may open.

    Empty on systems other than Linux.
    """
    try:
        # Listing ten thousand descriptors takes 20 ms; newer kernels give their number as a size.
        files = os.stat("/proc/self/fd").st_size or len(os.listdir("/proc/self/fd"))
    except OSError:
        return {}
    return {
        "memory_bytes": memory(),
        "open_files": files,
        "open_files_most": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }


class Reports:
    """The reports of all workers, each a file in `folder`. Without a folder there is one worker.

    `own` returns this worker's report.
    """

    def __init__(self, folder: str | None, own: Callable[[], Report]) -> None:
        self._folder = None if folder is None else Path(folder)
        self._own = own
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}{ENDING}"
        self._failing = False
        self._parent = os.getppid()

    def keep_writing(self) -> None:
        """Write this worker's report again and again; return at once if there is one worker."""
        while self._folder is not None:
            self._write(self._folder)
            gevent.sleep(REPORT_EVERY_S)

    def total(self, sleep: Callable[[float], object] = gevent.sleep) -> tuple[list[Report], Report]:
        """Return the reports of all living workers, this one's first, and that of all together.

        It waits, by `sleep`, until the others have written new reports, but for WAIT_FOR_OTHERS_S
        at most; then their last reports count.
        """
        if self._folder is None:
            own = self._own()
            return [own], own
        begun = time.monotonic()
        # It is written first, so that counts which were once shown are never lost.
        own = self._write(self._folder)
        while True:
            living, ended = self._others(self._folder)
            stale = any(report.written < begun for report in living)
            if not stale or time.monotonic() - begun > WAIT_FOR_OTHERS_S:
                break
            sleep(REPORT_EVERY_S / 10)
        living = [own, *living]
        return living, _added(living, ended)

    def close(self) -> None:
        """Write the last report; remove the folder if the supervisor has ended."""
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
                log.warning("this worker cannot share its counters with the others: %s", error)
            self._failing = True
        return report

    def _others(self, folder: Path) -> tuple[list[Report], list[Report]]:
        """Return the reports of the other living workers, and of those that have ended."""
        reports = _read_all(folder, besides=self._name)
        # This is read after the files: a report that is moved there meanwhile is found in both.
        ended, names = _read_ended(folder)
        living: list[Report] = []
        dead = [ended]
        for name, report in reports.items():
            if name not in names:
                (living if _lives(name) else dead).append(report)
        return living, dead


def bury(folder: Path, running: Collection[int]) -> None:
    """Add the counts of workers that have ended to ENDED_FILE, and remove their files.

    `running` are the ids of the processes that have not ended. Only the supervisor calls this. A
    failure is logged, and the next call tries again.
    """
    try:
        for name, report in _read_all(folder).items():
            if _pid(name) not in running:
                _bury(folder, name, report)
    except OSError as error:
        log.warning("the counters of ended workers cannot be added up: %s", error)


def _bury(folder: Path, name: str, report: Report) -> None:
    ended, names = _read_ended(folder)
    if name not in names:
        names = [*names, name][-ENDED_NAMES:]
        ended = _added([], [ended, report])
        _replace(folder / ENDED_FILE, {**ended._asdict(), "names": names})
    (folder / name).unlink()


def _added(living: list[Report], ended: list[Report]) -> Report:
    """Return the sum of reports, but only the counts of workers that have ended."""
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
    times = _sums([report.times for report in living + ended])
    lately = _sums([report.lately for report in living])
    return Report(time.monotonic(), gauges, dict(counted), dict(broker), times=times, lately=lately)


def _sums(histograms: list[dict[str, list[int]]]) -> dict[str, list[int]]:
    names = dict.fromkeys(name for one in histograms for name in one)
    return {
        name: [*map(sum, zip(*(one[name] for one in histograms if name in one), strict=True))]
        for name in names
    }


def _read_all(folder: Path, besides: str = "") -> dict[str, Report]:
    reports = {}
    for path in folder.glob(f"[0-9]*{ENDING}"):
        if path.name != besides:
            try:
                reports[path.name] = _known(json.loads(path.read_text()))
            except FileNotFoundError:
                pass  # buried meanwhile
    return reports


def _read_ended(folder: Path) -> tuple[Report, list[str]]:
    try:
        kept = json.loads((folder / ENDED_FILE).read_text())
    except FileNotFoundError:
        return Report(0, {}, {}, {}), []
    names = kept.pop("names")
    return _known(kept), names


def _known(content: dict[str, Any]) -> Report:
    """Return the report with this content; that of another version may have more fields."""
    return Report(**{name: content[name] for name in Report._fields if name in content})


def _replace(path: Path, content: Mapping[str, object]) -> None:
    """Write a file atomically: readers get all of the old content or all of the new."""
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
