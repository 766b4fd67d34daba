"""Measures how the cost of a world grows: python -m bench --growth.

Five series: the same players on more and more workers; players on machines with addresses and
without; one node of more and more nodes, of which one process publishes all others
(bench/others.py); the same beside real nodes only, as far as this machine goes; and more and more
players in one square. It says with which power of its size the cost grows. It prints figures
beside the targets and never judges them. docs/scale.md tells what follows from them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench.growth import charts, rows
from bench.growth.laws import Point, laws
from bench.growth.nodes import nodes, real
from bench.growth.swarms import crowds, machines, workers
from flatlands.loadtest.kit.processes import raise_descriptor_limit
from flatlands.loadtest.kit.study import Measure, Study

#: Name of a series -> what yields its points.
SERIES: dict[str, Callable[[Callable[[str], None]], Iterator[Point]]] = {
    "workers": workers,
    "machines": machines,
    "nodes": nodes,
    "real": real,
    "crowd": crowds,
}


class Growth(Study):
    """How cost grows with players, nodes and squares."""

    program = "-m bench"
    columns, sentences = rows.COLUMNS, rows.SENTENCES

    def facts(self) -> dict[str, Any]:
        return {"series": list(SERIES)}

    def jobs(self) -> Iterator[tuple[str, Measure]]:
        """Yield all series to be measured."""
        # The largest crowd has more sockets than a process usually may.
        raise_descriptor_limit()
        for name, points in SERIES.items():
            yield name, partial(points, self.note_progress)

    def kind(self, row: Point) -> str:
        return str(row["series"])

    def name(self, row: Point) -> str:
        return f"{row['series']}, {row['size']:,}"

    def faults(self, row: Point) -> Iterator[tuple[str, str]]:
        yield from (("failed", why) for why in row["faults"])
        yield from (("not valid", why) for why in row["invalid"])

    def end(self, run: dict[str, Any], code: int) -> int:
        """Find the laws, print and draw them."""
        run["laws"] = laws(run["points"])
        for text in rows.told(run["laws"]):
            print(text)
        if self.given.charts is not None:
            charts.draw(run, self.given.charts)
        return code
