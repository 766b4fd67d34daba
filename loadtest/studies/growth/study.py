"""How the cost of a world grows.

Five series: the same players on more and more workers; players on machines with addresses and
without; one node of more and more nodes, of which one process publishes all others
(others.py); the same beside real nodes only, as far as this machine goes; and more and more
players in one square. It says with which power of its size the cost grows. docs/scale.md tells
what follows from the figures.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from flatlands.loadtest.kit.processes import raise_descriptor_limit
from flatlands.loadtest.studies.growth import charts, rows
from flatlands.loadtest.studies.growth.laws import laws
from flatlands.loadtest.studies.growth.nodes import nodes, real
from flatlands.loadtest.studies.growth.swarms import crowds, machines, workers
from flatlands.loadtest.studies.study import Measure, Point, Study

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

    program = "-m loadtest.studies growth"
    about = "Measure how cost grows with workers, nodes and crowds; takes ten minutes."
    title = "How cost grows"
    note = """<p class=note>Grey: targets. Outlined: not valid, or a whole core was used.</p>"""
    columns = rows.COLUMNS
    sentences = rows.SENTENCES

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

    def end(self, run: dict[str, Any], code: int) -> int:
        """Find the laws, and print them."""
        run["laws"] = laws(run["points"])
        for text in rows.told(run["laws"]):
            print(text)
        return code

    def draw(self, run: dict[str, Any]) -> dict[str, Any]:
        return charts.draw(run)


main = Growth.main
