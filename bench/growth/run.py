"""Measures how the cost of a world grows: python -m bench --growth.

Four series: the same players on more and more workers; one node of more and more nodes, of which
one process publishes all others (bench/others.py); the same beside real nodes only, as far as this
machine goes; and more and more players in one square. For each it says with which power of its size
the cost grows. It prints figures beside the targets and never judges them. docs/scale.md tells what
follows from them.
"""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.growth import rows
from bench.growth.laws import Point, laws
from bench.growth.nodes import nodes, real
from bench.growth.swarms import crowds, workers
from flatlands.loadtest.kit.machine import machine
from flatlands.loadtest.kit.points import measure_all
from flatlands.loadtest.kit.processes import raise_descriptor_limit

#: Name of a series -> what yields its points.
SERIES: dict[str, Callable[[Callable[[str], None]], Iterator[Point]]] = {
    "workers": workers,
    "nodes": nodes,
    "real": real,
    "crowd": crowds,
}


def measure(say: Callable[[str], None]) -> tuple[dict[str, Any], int]:
    """Measure all series; return what was found, with the machine, and the exit code.

    `say` prints sentences. A series in trouble ends early; after Ctrl-C what was measured is
    returned.
    """
    run: dict[str, Any] = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
        "series": list(SERIES),
    }

    def points(name: str) -> Iterator[Point]:
        sentence, heading = rows.HEADINGS[name]
        say(f"\n{sentence}\n{heading}")
        for point in SERIES[name](_note):
            _note("")
            yield point

    # The largest crowd has more sockets than a process usually may.
    raise_descriptor_limit()
    code = measure_all(SERIES, points, rows.line, run)
    run["laws"] = laws(run["points"])
    for text in rows.told(run["laws"]):
        say(text)
    if code == 0 and any(point["faults"] for point in run["points"]):
        code = 1
    if code == 0 and any(point["invalid"] for point in run["points"]):
        code = 3
    return run, code


def _note(text: str) -> None:
    """Show on a terminal what goes on, in place of what was shown before."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
