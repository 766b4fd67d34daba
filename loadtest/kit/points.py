"""Measures the points of a benchmark: one series after the other, each as far as it goes.

It never knows what is measured. A point is a dictionary for the report.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.kit.signals import Interrupted


def measure_all(
    names: Iterable[str],
    points: Callable[[str], Iterable[dict[str, Any]]],
    check: Callable[[dict[str, Any]], str],
    run: dict[str, Any],
) -> int:
    """Measure one series after the other into `run`, and return the exit status.

    `points` measures the points of a series. `check` returns the line that is printed for a point,
    and raises Trouble if the point shows a fault. `run` gets "points" and "troubles". A series in
    trouble ends early, and the next one is measured.
    """
    run["points"], run["troubles"] = [], []
    try:
        for name in names:
            if sys.stderr.isatty():
                # The line of its first point, which may take minutes, is written over it.
                print(f"{name} ...", end="\r", file=sys.stderr, flush=True)
            try:
                for point in points(name):
                    run["points"].append(point)
                    print(check(point), flush=True)
            except Trouble as trouble:
                run["troubles"].append({"series": name, "trouble": str(trouble)})
                print(f"{name}: {trouble}.", file=sys.stderr, flush=True)
    except Interrupted as interrupted:
        run["troubles"].append({"series": "", "trouble": "it was stopped before its end"})
        print("Stopped. What was measured is reported.", file=sys.stderr)
        return 128 + interrupted.number
    return 1 if run["troubles"] else 0
