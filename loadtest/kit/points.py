"""Measures the points of a benchmark, one series after the other, and keeps them as files.

It never knows what is measured. A point is a dictionary for the report.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.machine import machine
from flatlands.loadtest.kit.page import write_json
from flatlands.loadtest.kit.processes import Trouble, bare
from flatlands.loadtest.kit.signals import Interrupted
from flatlands.loadtest.kit.thresholds import CROSSED


def keep(
    given: argparse.Namespace,
    command: Sequence[str],
    facts: dict[str, Any],
    measure: Callable[[dict[str, Any]], int],
    report: str,
) -> int:
    """Let `measure` fill a run, and write it as the options `given` ask; return its exit status.

    `command` is the command line after "python", `facts` are kept with the run, and `report` is the
    module that writes its page.
    """
    run: dict[str, Any] = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": ["python", *map(bare, command)],
        **facts,
    }
    with signals.remembered():
        run["machine"] = machine()
        status = measure(run)
    if given.json:
        write_json(given.json, run)
    if given.report:
        # It is imported only now because matplotlib takes a second to load.
        import_module(report).write(run, given.report)
        print(f"The report is {given.report / 'index.html'}.")
    return status


def measure_all(
    names: Iterable[str],
    points: Callable[[str], Iterable[dict[str, Any]]],
    check: Callable[[dict[str, Any]], str],
    run: dict[str, Any],
    crossed: Callable[[dict[str, Any]], list[str]] = lambda point: [],
) -> int:
    """Measure one series after the other into `run`, and return the exit status.

    `points` measures the points of a series. `check` returns the line that is printed for a point,
    and raises Trouble if the point shows a fault. `crossed` returns sentences about the thresholds
    that a point crosses. `run` gets "points", "troubles" and "crossed". A series in trouble ends
    early, and the next one is measured.
    """
    run["points"], run["troubles"], run["crossed"] = [], [], []
    try:
        for name in names:
            if sys.stderr.isatty():
                # The line of its first point, which may take minutes, is written over it.
                print(f"{name} ...", end="\r", file=sys.stderr, flush=True)
            try:
                for point in points(name):
                    run["points"].append(point)
                    print(check(point), flush=True)
                    for why in crossed(point):
                        run["crossed"].append(why)
                        print(f"crossed: {why}", file=sys.stderr, flush=True)
            except Trouble as trouble:
                run["troubles"].append({"series": name, "trouble": str(trouble)})
                print(f"{name}: {trouble}.", file=sys.stderr, flush=True)
    except Interrupted as interrupted:
        run["troubles"].append({"series": "", "trouble": "it was stopped before its end"})
        print("Stopped. What was measured is reported.", file=sys.stderr)
        return 128 + interrupted.number
    if run["troubles"]:
        return 1
    return CROSSED if run["crossed"] else 0
