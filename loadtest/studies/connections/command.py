"""The study behind `bots.py --scenario idle`: its options, and the table of its steps.

The exit code is that of every scenario: 0 if all was right, 1 if something failed, 3 if an open
loop measured its own clients, 99 if a threshold was crossed, 130 after Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from flatlands.loadtest.kit.brokers import broker
from flatlands.loadtest.kit.charts import Figure
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.machine import pinned
from flatlands.loadtest.kit.processes import raise_descriptor_limit
from flatlands.loadtest.studies.connections.measure import (
    LEVELS,
    Loop,
    Options,
    Step,
    check_room,
    is_redis,
    ramp,
)
from flatlands.loadtest.studies.connections.report import draw
from flatlands.loadtest.studies.connections.room import processes_for
from flatlands.loadtest.studies.study import Column, Measure, Study

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


class Row(Step, Loop):
    """A loop, with the figures of its step."""


def _late(row: Row) -> float | None:
    return row["late_ms"] if row["loop"] == "open" else None


def _spread(row: Row) -> str | None:
    workers = row["by_worker"]
    return f"{min(workers):,} to {max(workers):,}" if workers else None


def _busiest(row: Row) -> str:
    return f"{row['clients']:.0%}{'*' * row['bound']}"


class Idle(Study[Step, Row, Options]):
    """How late connections that mostly wait are answered. A point is a step of the ramp, and has a
    row for each loop."""

    program = "loadtest/bots.py"
    columns = {
        "": (
            Column("connections", "connections", ",", 11),
            Column[Row]("loop", lambda row: f"{row['request']} {row['loop']}", width=11),
            Column("a second", "per_second", ",.0f", 8),
            Column("p50 ms", "latency/p50", ",.2f", 7),
            Column("p90", "latency/p90", ",.2f"),
            Column("p99", "latency/p99", ",.2f", 7),
            Column("p99.9", "latency/p99.9", ",.2f", 7),
            Column("p99.99", "latency/p99.99", ",.2f", 7),
            Column("max", "latency/max", ",.2f", 7),
            Column("late", _late, ".1f", 5),
            Column("CPU server", "server", ".0%", 10),
            Column("clients", _busiest, width=7),
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

    def __init__(self, given: argparse.Namespace, chosen: Options, descriptors: int) -> None:
        super().__init__(given, chosen)
        self._descriptors = descriptors
        self._target = "Redis" if is_redis(chosen.url) else "Flatlands"
        self.title = f"{self._target}: latency against connections"
        self.note = (
            f"<p class=note>Open loop: {chosen.rate:,.0f} requests a second in all, whatever the "
            "number of connections; a latency counts from when its request was due. Closed loop: "
            "each connection has one request open, and sends the next one when the answer is "
            "there. Outlined: in an open loop the clients were too slow to be believed; in a "
            "closed loop one of their processes used all of a core (*), so that the rate is "
            "theirs.</p>"
        )

    def facts(self) -> dict[str, object]:
        return {
            "target": self._target,
            "seconds": self.chosen.seconds,
            "rate": self.chosen.rate,
            "workers": self.chosen.workers,
            "processes": self.chosen.processes,
            "levels": LEVELS,
        }

    def jobs(self) -> Iterator[tuple[str, Measure[Step]]]:
        """Yield the only job, which measures all steps."""
        yield NAME, partial(ramp, self.chosen, self._descriptors, self._say)

    def _say(self, sentence: str) -> None:
        if sys.stderr.isatty():
            self.note_progress(f"  {sentence}")
        else:
            print(f"  {sentence}", file=sys.stderr, flush=True)

    def rows(self, point: Step) -> list[Row]:
        return [{**point, **loop} for loop in point["loops"]]

    def name(self, row: Row) -> str:
        return f"{row['connections']:,} connections, {row['request']}, {row['loop']} loop"

    def faults(self, row: Row) -> Iterator[tuple[str, str]]:
        for why, number in row["lost"].items():
            yield "failed", f"{number:,} connections were lost: {why}"
        if row["unanswered"]:
            yield "failed", f"{row['unanswered']:,} requests without an answer"
        for why in row["invalid"]:
            yield "not valid", why

    def known(self, row: Row) -> Mapping[str, float | None] | None:
        return super().known(row) if row["loop"] == "open" and not row["invalid"] else None

    def end(self, code: int) -> int:
        if code == 0:
            most = self.points[-1]["connections"]
            print(f"all right: every request was answered, at up to {most:,} connections")
        return code

    def draw(self) -> Mapping[str, Figure]:
        return draw({"target": self._target, "levels": LEVELS, "points": self.points})


def main(
    given: argparse.Namespace, parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> int:
    """Measure what the command line asks for; return the exit code."""
    try:
        chosen = _chosen(given, parser)
    except (ValueError, argparse.ArgumentTypeError) as error:
        parser.error(str(error))
    descriptors = raise_descriptor_limit()
    if lacking := check_room(chosen, descriptors):
        parser.error(lacking)
    return Idle(given, chosen, descriptors).run(arguments)


def _chosen(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Options:
    """Return the options of a ramp. Raises ValueError with a sentence for the user."""
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
    if is_redis(given.url):
        broker(given.url)
    counts = given.ramp or [given.bots]
    fewest = processes_for(max(counts), raise_descriptor_limit())
    processes = given.processes or max(fewest, (os.cpu_count() or 1) // 2)
    rate = RATE if given.rate is None else given.rate
    if not rate:
        raise ValueError(f"--rate 0 asks for nothing: give --scenario {NAME} requests a second")
    if given.url and given.pin and not is_redis(given.url):
        raise ValueError("--url names a running server: --pin is for one that is started")
    pinned(given.pin, given.workers, processes)
    return Options(
        counts,
        given.seconds,
        rate,
        given.late,
        workers=given.workers,
        processes=processes,
        url=given.url,
        insecure=given.insecure,
        broker=given.broker,
        squares=given.squares,
        pin=given.pin,
    )
