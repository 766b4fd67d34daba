"""The study behind `bots.py --scenario idle`: its options, and the table of its steps.

The exit code is that of every scenario: 0 if all was right, 1 if something failed, 3 if an open
loop measured its own clients, 99 if a threshold was crossed, 130 after Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.machine import pinned
from flatlands.loadtest.kit.processes import raise_descriptor_limit
from flatlands.loadtest.studies.connections.measure import LEVELS, check_room, is_redis, ramp
from flatlands.loadtest.studies.connections.report import draw
from flatlands.loadtest.studies.connections.room import processes_for
from flatlands.loadtest.studies.study import Column, Measure, Point, Study

#: What the scenario is called, and what it does.
NAME = "idle"
ABOUT = "nobody moves: the latency of pings, from 1 to 65,536 connections (docs/connections.md)"

#: Requests a second of all connections together, in an open loop.
RATE = 1000.0

#: The options of bots.py that make no sense here.
NOT_HERE = (
    "admin_token",
    "compare",
    "repeat",
    "viewport",
    "sample",
    "joins",
    "returns",
    "seed",
    "csv",
    "prometheus",
)


def _late(row: Point) -> float | None:
    return row["late_ms"] if row["loop"] == "open" else None


def _spread(row: Point) -> str | None:
    workers = row["by_worker"]
    return f"{min(workers):,} to {max(workers):,}" if workers else None


class Idle(Study):
    """How late connections that mostly wait are answered. A point is a step of the ramp, and has a
    row for each loop."""

    program = "loadtest/bots.py"
    columns = {
        "": (
            Column("connections", "connections", ",", 11),
            Column("loop", lambda row: f"{row['request']} {row['loop']}", width=11),
            Column("a second", "per_second", ",.0f", 8),
            Column("p50 ms", "latency/p50", ",.2f", 7),
            Column("p90", "latency/p90", ",.2f"),
            Column("p99", "latency/p99", ",.2f", 7),
            Column("p99.9", "latency/p99.9", ",.2f", 7),
            Column("p99.99", "latency/p99.99", ",.2f", 7),
            Column("max", "latency/max", ",.2f", 7),
            Column("late", _late, ".1f", 5),
            Column("CPU server", "server", ".0%", 10),
            Column("clients", lambda row: f"{row['clients']:.0%}{'*' * row['bound']}", width=7),
            Column("KB each: rss", "memory_kb/rss", ".1f", 12),
            Column("pss", "memory_kb/pss", ".1f", 5),
            Column("kernel", "memory_kb/slab", ".1f", 6),
            Column("joined in, s", "joined_s", ".1f"),
            Column("in a worker", _spread),
        )
    }
    # Closed loops are always as slow as they can be, so thresholds are for open ones.
    figures = {
        **{"server": "server", "swarm": "clients"},
        **{name: f"latency/{name}" for name in Histogram().summary()},
    }

    def __init__(self, given: argparse.Namespace, descriptors: int) -> None:
        super().__init__(given, given)
        self._descriptors = descriptors
        self._target = "Redis" if is_redis(given.url) else "Flatlands"
        self.title = f"{self._target}: latency against connections"
        self.note = (
            f"<p class=note>Open loop: {given.rate:,.0f} requests a second in all, whatever the "
            "number of connections; a latency counts from when its request was due. Closed loop: "
            "each connection has one request open, and sends the next one when the answer is "
            "there. Outlined: in an open loop the clients were too slow to be believed; in a "
            "closed loop one of their processes used all of a core (*), so that the rate is "
            "theirs.</p>"
        )

    def facts(self) -> dict[str, Any]:
        names = "seconds", "rate", "workers", "processes"
        told = {name: getattr(self.chosen, name) for name in names}
        return {"target": self._target, **told, "levels": LEVELS}

    def jobs(self) -> Iterator[tuple[str, Measure]]:
        """Yield the only job, which measures all steps."""
        yield NAME, partial(ramp, self.chosen, self._descriptors, self._say)

    def _say(self, sentence: str) -> None:
        if sys.stderr.isatty():
            self.note_progress(f"  {sentence}")
        else:
            print(f"  {sentence}", file=sys.stderr, flush=True)

    def rows(self, point: Point) -> list[Point]:
        return [{**point, **loop} for loop in point["loops"]]

    def name(self, row: Point) -> str:
        return f"{row['connections']:,} connections, {row['request']}, {row['loop']} loop"

    def faults(self, row: Point) -> Iterator[tuple[str, str]]:
        for why, number in row["lost"].items():
            yield "failed", f"{number:,} connections were lost: {why}"
        if row["unanswered"]:
            yield "failed", f"{row['unanswered']:,} requests without an answer"
        yield from super().faults(row)

    def known(self, row: Point) -> Mapping[str, float | None] | None:
        return super().known(row) if row["loop"] == "open" and not row["invalid"] else None

    def end(self, run: dict[str, Any], code: int) -> int:
        if code == 0:
            most = run["points"][-1]["connections"]
            print(f"all right: every request was answered, at up to {most:,} connections")
        return code

    def draw(self, run: dict[str, Any]) -> dict[str, Any]:
        return draw(run)


def main(
    given: argparse.Namespace, parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> int:
    """Measure what the command line asks for; return the exit code."""
    try:
        _complete(given, parser)
    except ValueError as error:
        parser.error(str(error))
    descriptors = raise_descriptor_limit()
    if lacking := check_room(given, descriptors):
        parser.error(lacking)
    return Idle(given, descriptors).run(arguments)


def _complete(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Add to the options what a ramp needs. Raises ValueError with a sentence for the user."""
    for name in NOT_HERE:
        if getattr(given, name) != parser.get_default(name):
            option = {"returns": "no-return"}.get(name, name).replace("_", "-")
            raise ValueError(f"--scenario {NAME} does not know --{option}")
    for limit in given.fail_if:
        if limit.figure not in Idle.figures:
            known = ", ".join(Idle.figures)
            raise ValueError(f"--scenario {NAME} has no figure {limit.figure!r}: there are {known}")
    if given.url and (given.broker or given.workers != 1 or given.squares):
        raise ValueError(
            "--url names a running server: --broker, --workers and --squares are for one that is "
            "started"
        )
    given.counts = given.ramp or [given.bots]
    fewest = processes_for(max(given.counts), raise_descriptor_limit())
    given.processes = given.processes or max(fewest, (os.cpu_count() or 1) // 2)
    given.rate = RATE if given.rate is None else given.rate
    if not given.rate:
        raise ValueError(f"--rate 0 asks for nothing: give --scenario {NAME} requests a second")
    if given.url and given.pin and not is_redis(given.url):
        raise ValueError("--url names a running server: --pin is for one that is started")
    pinned(given.pin, given.workers, given.processes)
