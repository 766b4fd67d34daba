"""What becomes of a server whose core is not enough for its players.

A busy program on the server's core takes half of it away, so that one process of the swarm can
bring more players than the other half serves.
"""

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypedDict

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.machine import shared_out
from flatlands.loadtest.kit.processes import Program, Trouble
from flatlands.loadtest.studies.study import (
    Column,
    Judged,
    Measure,
    NoOptions,
    PlainStudy,
    judged,
)
from flatlands.loadtest.studies.swarm import measured
from flatlands.loadtest.swarm.result import Options, Result
from flatlands.loadtest.swarm.run import RunContext

#: Players that walk to and fro on half a core, in the runs that last.
PLAYERS = 2000, 3000, 4000

#: Players in each square, as in the runs of bench/whole.py: each hears 180 others.
SHARE = 22.6

#: The time that is measured with half a core.
MEASURED_SECONDS = 14.0
#: The first part of that time, which is left out.
LEFT_OUT_SECONDS = 4.0

# In one run half of the core is gone for a while.
#: The players of that run.
PASSING_PLAYERS = 2000
BEFORE_SECONDS = 5.0
DURING_SECONDS = 10.0
AFTER_SECONDS = 12.0

#: The server is well again when the 99th percentile is at most this many times the one before.
WELL = 1.5

#: Such a share of the deliveries a CPU second with a whole core should be left.
TARGET_SHARE = 0.7
#: The server should be well again after this long.
TARGET_WELL_SECONDS = 5.0


class Second(TypedDict):
    """What is used of a second of a run. Latencies are in ms."""

    second: float
    server_cpu: float
    deliveries: float
    p50: float
    p99: float


class Found(Judged):
    """Some seconds of a run, see found()."""

    series: str
    share: float
    per_cpu: float
    p50: float
    p99: float
    told: float | None


class Well(TypedDict, total=False):
    """How soon the server was well again, see well_after(), if its core was taken for a while."""

    well_after_s: float | None


class Point(Found, Well):
    """The same, compared with the best before."""

    of_best: float


def _options(players: int, seconds: float) -> Options:
    squares = max(round(players / SHARE), 1)
    return Options(players, seconds, "pace", squares=squares, joins=1000.0, late=500.0)


def _steal(after: float, seconds: float) -> Callable[[RunContext], None]:
    """Return a fault that after `after` seconds takes half the server's core for `seconds`."""

    def injection(_: RunContext) -> None:
        signals.sleep(after)
        cpus = shared_out()[0]
        thief = Program([sys.executable, "-c", "while True: pass"], "the thief", cpus=cpus)
        try:
            signals.sleep(seconds)
        finally:
            thief.end()

    return injection


def _seconds(result: Result) -> list[Second]:
    """Return the seconds of a run. All of this is known of a server that was started for it."""
    return [
        {
            "second": row["second"] or 0.0,
            "server_cpu": row["server_cpu"] or 0.0,
            "deliveries": row["deliveries"] or 0.0,
            "p50": row["p50"] or 0.0,
            "p99": row["p99"] or 0.0,
        }
        for row in result.series
    ]


def found(name: str, rows: Sequence[Second], result: Result) -> Found:
    """Sum up some seconds of a run. Raises Trouble if it ended before them.

    `share` is the part of a core that the server used; `told` the part of the moves that observers
    were told, instead of newer ones; None if that is not known. Latencies are in ms.
    """
    if not rows:
        raise Trouble(f"{name}: the run ended too early: {result.error}")
    cpu = sum(row["server_cpu"] for row in rows)
    verdict = result.verdict
    return {
        "series": name,
        "share": cpu / len(rows),
        "per_cpu": sum(row["deliveries"] for row in rows) / max(cpu, 0.001),
        "p50": statistics.median(row["p50"] for row in rows),
        "p99": statistics.median(row["p99"] for row in rows),
        "told": verdict.delivered / verdict.expected if verdict and verdict.expected else None,
        "faults": result.faults,
        "invalid": result.invalid,
    }


def well_after(series: Sequence[Second], begin: float, end: float) -> float | None:
    """Return after how many seconds the server was well again; None if it was not.

    `series` are rows for each second; the core was taken from `begin` to `end`, in seconds.
    """
    before = [row["p99"] for row in series if row["second"] < begin]
    if not before:
        return None
    usual = statistics.median(before)
    since = None
    for row in series:
        if row["second"] < end:
            continue
        if row["p99"] > WELL * usual:
            since = None
        elif since is None:
            since = row["second"] - end
    return since


class Overload(PlainStudy[Point, NoOptions]):
    """A server that has half of its core, for a while or for good."""

    program = "-m loadtest.studies overload"
    about = (
        "Measure what becomes of a server with more players than its core can serve; takes three "
        "minutes."
    )
    title = "A server that is overloaded"
    options = NoOptions
    columns = {
        "": (
            Column("", "series", width=-36),
            Column("core", "share", ".0%", 6),
            Column[Point]("k/CPU s", lambda row: row["per_cpu"] / 1000, ".0f", 7),
            Column("of best", "of_best", ".0%", 7),
            Column("p50", "p50", ".0f", 6),
            Column("p99, ms", "p99", ".0f", 7),
            Column("told", "told", ".0%", 6),
            Column[Point]("", lambda row: "missed" * (row["of_best"] < TARGET_SHARE), width=-6),
        )
    }

    def jobs(self) -> Iterator[tuple[str, Measure[Point]]]:
        """Yield the only job, since each row is compared with the best one before."""
        yield "a passing overload", self._points

    def _points(self) -> Iterator[Point]:
        if not shared_out()[0]:
            raise Trouble("the server needs a core of its own, and this machine has only one")
        best = 0.0
        for found, well in self._measured():
            best = max(best, found["per_cpu"])
            yield {**found, **well, "of_best": found["per_cpu"] / best}

    def _measured(self) -> Iterator[tuple[Found, Well]]:
        note, half = self.note_progress, "half a core"
        options = _options(PASSING_PLAYERS, BEFORE_SECONDS + DURING_SECONDS + AFTER_SECONDS)
        result = measured(
            options, f"{PASSING_PLAYERS} players", note, _steal(BEFORE_SECONDS, DURING_SECONDS)
        )
        series = _seconds(result)
        before = [row for row in series if row["second"] < BEFORE_SECONDS]
        during = [
            row
            for row in series
            if BEFORE_SECONDS + 2 < row["second"] < BEFORE_SECONDS + DURING_SECONDS
        ]
        yield found(f"{PASSING_PLAYERS} players, a whole core", before, result), {}
        point = found(f"{PASSING_PLAYERS} players, {half} for {DURING_SECONDS:g} s", during, result)
        well = well_after(series, BEFORE_SECONDS, BEFORE_SECONDS + DURING_SECONDS)
        yield point, {"well_after_s": well}
        for players in PLAYERS:
            name = f"{players} players, {half}"
            result = measured(
                _options(players, MEASURED_SECONDS), name, note, _steal(0.0, MEASURED_SECONDS)
            )
            series = [row for row in _seconds(result) if row["second"] > LEFT_OUT_SECONDS]
            yield found(name, series, result), {}

    def faults(self, row: Point) -> Iterator[tuple[str, str]]:
        return judged(row)

    def end(self, code: int) -> int:
        """Print how soon the server was well again."""
        for point in self.points:
            if "well_after_s" in point:
                well = point["well_after_s"]
                when = "not well again" if well is None else f"well again after {well:.0f} s"
                print(f"\nThe server is {when} (target: within {TARGET_WELL_SECONDS:g} s).")
        return code


main = Overload.main
