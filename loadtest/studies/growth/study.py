"""How the cost of a world grows.

Five series: the same players on more and more workers; players on machines with addresses and
without; one node of more and more nodes, of which one process publishes all others
(others.py); the same beside real nodes only, as far as this machine goes; and more and more
players in one square. It says with which power of its size the cost grows. docs/scale.md tells
what follows from the figures.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from flatlands.loadtest.kit.charts import Figure
from flatlands.loadtest.kit.processes import raise_descriptor_limit
from flatlands.loadtest.studies.growth import charts, rows
from flatlands.loadtest.studies.growth.laws import laws
from flatlands.loadtest.studies.growth.nodes import nodes, real
from flatlands.loadtest.studies.growth.points import Point
from flatlands.loadtest.studies.growth.swarms import crowds, machines, workers
from flatlands.loadtest.studies.study import Measure, NoOptions, PlainStudy, judged

#: Name of a series -> what yields its points.
SERIES: dict[str, Callable[[Callable[[str], None]], Iterator[Point]]] = {
    "workers": workers,
    "machines": machines,
    "nodes": nodes,
    "real": real,
    "crowd": crowds,
}


class Growth(PlainStudy[Point, NoOptions]):
    """How cost grows with players, nodes and squares."""

    program = "-m loadtest.studies growth"
    about = "Measure how cost grows with workers, nodes and crowds; takes ten minutes."
    title = "How cost grows"
    options = NoOptions
    note = """<p class=note>Grey: targets. Outlined: not valid, or a whole core was used.</p>"""
    columns = rows.COLUMNS
    sentences = rows.SENTENCES

    def facts(self) -> dict[str, object]:
        return {"series": list(SERIES)}

    def jobs(self) -> Iterator[tuple[str, Measure[Point]]]:
        """Yield all series to be measured."""
        # The largest crowd has more sockets than a process usually may.
        raise_descriptor_limit()
        for name, points in SERIES.items():
            yield name, partial(points, self.note_progress)

    def kind(self, row: Point) -> str:
        return row["series"]

    def name(self, row: Point) -> str:
        return f"{row['series']}, {row['size']:,}"

    def faults(self, row: Point) -> Iterator[tuple[str, str]]:
        return judged(row)

    def end(self, code: int) -> int:
        """Print the laws."""
        for text in rows.told(laws(self.points)):
            print(text)
        return code

    def results(self) -> dict[str, object]:
        return {"laws": laws(self.points)}

    def draw(self) -> Mapping[str, Figure]:
        return charts.draw(self.points, laws(self.points))


main = Growth.main
