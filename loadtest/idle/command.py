"""The command `bots.py --scenario idle`: checks its options, prints each step, and writes files.

The exit code is that of every scenario: 0 if all was right, 1 if something failed, 3 if an open
loop measured its own clients, 99 if a threshold was crossed, 130 after Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from flatlands.loadtest.idle.measure import LEVELS, Options, check_room, is_redis, ramp
from flatlands.loadtest.idle.room import processes_for
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.machine import pinned
from flatlands.loadtest.kit.points import keep
from flatlands.loadtest.kit.processes import Trouble, raise_descriptor_limit
from flatlands.loadtest.kit.signals import Interrupted
from flatlands.loadtest.kit.terminal import Terminal
from flatlands.loadtest.kit.thresholds import CROSSED, Threshold, all_crossed

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

#: The columns of the table: heading and width.
_COLUMNS = (
    ("connections", 11),
    ("loop", 11),
    ("a second", 8),
    ("p50 ms", 7),
    ("p99", 7),
    ("p99.9", 7),
    ("p99.99", 7),
    ("max", 7),
    ("late", 5),
    ("CPU server", 10),
    ("clients", 7),
    ("KB each: rss", 12),
    ("pss", 5),
    ("kernel", 6),
)


def main(
    given: argparse.Namespace, parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> int:
    """Measure what the command line asks for; return the exit code."""
    try:
        options = _options(given, parser)
    except ValueError as error:
        parser.error(str(error))
    descriptors = raise_descriptor_limit()
    if lacking := check_room(options, descriptors):
        parser.error(lacking)
    facts = {
        "target": "Redis" if is_redis(options.url) else "Flatlands",
        "seconds": options.seconds,
        "rate": options.rate,
        "workers": options.workers,
        "processes": options.processes,
        "levels": LEVELS,
        "points": [],
        "troubles": [],
    }
    return keep(
        given,
        ["loadtest/bots.py", *arguments],
        facts,
        lambda run: _measure(options, descriptors, run, given.fail_if),
        "flatlands.loadtest.idle.report",
    )


def _measure(
    options: Options, descriptors: int, run: dict[str, Any], limits: Sequence[Threshold]
) -> int:
    """Measure into `run`, and print each step; return the exit code."""
    terminal = Terminal()
    shown = False

    def say(sentence: str) -> None:
        # What is joined and measured now is news for people who wait, and not for a file.
        if sys.stderr.isatty():
            print(f"\r\033[K  {sentence}", end="", file=sys.stderr, flush=True)
        else:
            print(f"  {sentence}", file=sys.stderr, flush=True)

    try:
        for point in ramp(options, descriptors, say):
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr, flush=True)
            if not shown:
                terminal.say("  ".join(name.rjust(width) for name, width in _COLUMNS))
                shown = True
            run["points"].append(point)
            for loop in point["loops"]:
                terminal.say(_row(point, loop))
    except Trouble as trouble:
        run["troubles"].append({"series": "", "trouble": str(trouble)})
        terminal.say(f"bots: {trouble}")
        return 1
    except Interrupted:
        run["troubles"].append({"series": "", "trouble": "it was stopped before its end"})
        terminal.say("bots: interrupted; what was measured is reported")
        return 130
    return judge(run, terminal, limits)


#: Figure that a threshold may be of -> the one of a loop. Closed loops are as slow as they can be.
FIGURES = {"server": "server", "swarm": "clients"}


def judge(run: dict[str, Any], terminal: Terminal, limits: Sequence[Threshold]) -> int:
    """Say what is wrong with a run, and which thresholds its open loops cross; return the exit
    code."""
    code, run["crossed"] = 0, []
    for point in run["points"]:
        for loop in point["loops"]:
            name = f"{point['connections']:,} connections, {loop['request']}, {loop['loop']} loop"
            for why, number in loop["lost"].items():
                terminal.say(f"failed: {name}: {number:,} connections were lost: {why}")
                code = 1
            if loop["unanswered"]:
                terminal.say(f"failed: {name}: {loop['unanswered']:,} requests without an answer")
                code = 1
            for why in loop["invalid"]:
                terminal.say(f"not valid: {name}: {why}")
                code = code or 3
            if loop["loop"] == "open" and not loop["invalid"]:
                known = {**loop["latency"], **{key: loop[of] for key, of in FIGURES.items()}}
                run["crossed"] += all_crossed(limits, known, name)
    for why in run["crossed"]:
        terminal.say(f"crossed: {why}")
        code = code or CROSSED
    if code == 0:
        most = run["points"][-1]["connections"]
        terminal.say(f"all right: every request was answered, at up to {most:,} connections")
    return code


def _row(point: dict[str, Any], loop: dict[str, Any]) -> str:
    latency, kb = loop["latency"], point["memory_kb"] or {}
    cells = [
        f"{point['connections']:,}",
        f"{loop['request']} {loop['loop']}",
        f"{loop['per_second']:,.0f}",
        *(f"{latency[p]:.2f}" for p in ("p50", "p99", "p99.9", "p99.99", "max")),
        f"{loop['late_ms']:.1f}" if loop["loop"] == "open" else "-",
        "-" if loop["server"] is None else f"{loop['server']:.0%}",
        f"{loop['clients']:.0%}" + ("*" if loop["bound"] else ""),
        *(f"{kb[name]:.1f}" if name in kb else "-" for name in ("rss", "pss", "slab")),
    ]
    return "  ".join(cell.rjust(width) for cell, (_, width) in zip(cells, _COLUMNS, strict=True))


def _options(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Options:
    """Return the options of the ramp. Raises ValueError with a sentence for the user."""
    for name in NOT_HERE:
        if getattr(given, name) != parser.get_default(name):
            option = {"returns": "no-return"}.get(name, name).replace("_", "-")
            raise ValueError(f"--scenario {NAME} does not know --{option}")
    known = [*FIGURES, *Histogram().summary()]
    for limit in given.fail_if:
        if limit.figure not in known:
            raise ValueError(
                f"--scenario {NAME} has no figure {limit.figure!r}: there are {', '.join(known)}"
            )
    if given.url and (given.broker or given.workers != 1 or given.squares):
        raise ValueError("--url names a server that runs: --broker, --workers, --squares start one")
    counts = given.ramp or [given.bots]
    fewest = processes_for(max(counts), raise_descriptor_limit())
    processes = given.processes or max(fewest, (os.cpu_count() or 1) // 2)
    rate = RATE if given.rate is None else given.rate
    if not rate:
        raise ValueError(f"--rate 0 asks for nothing: give --scenario {NAME} requests a second")
    if given.url and given.pin and not is_redis(given.url):
        raise ValueError("--url names a server that runs: --pin is for one started")
    pinned(given.pin, given.workers, processes)
    return Options(
        counts,
        given.url,
        given.broker,
        given.workers,
        processes,
        given.seconds,
        rate,
        given.squares,
        given.late,
        given.pin,
        given.insecure,
    )
