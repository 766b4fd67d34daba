"""Draws the figures of a ramp. It never measures anything.

`python -m loadtest.studies.connections.report FILE.json DIR` draws those of a ramp that was kept.
"""

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from flatlands.loadtest.kit import charts
from flatlands.loadtest.kit.charts import Figure, Line, line_chart
from flatlands.loadtest.studies.connections.measure import Loop, Step

if TYPE_CHECKING:
    from matplotlib.axis import Axis

#: A row for each percentile, and a column for each step.
Grid = NDArray[np.float64]

#: The percentiles that are drawn as lines, and their colours.
LINES = {50: "#8fb8cf", 90: "#4f93b8", 99: "#1d70a2", 99.9: "#7d5ba6", 99.99: "#c8442f"}

#: The colours of requests.
COLOURS = LINES[99], LINES[99.99]

#: The marks on the axis of percentiles.
MARKS = (0, 50, 90, 99, 99.9, 99.99)

#: The time at one end of the colours.
FASTEST_MS = 0.02
#: The time at their other end.
SLOWEST_MS = 5000


class Run(TypedDict):
    """What is drawn of a run: its `levels` are those of the percentiles of each loop."""

    target: str
    levels: Sequence[float]
    points: Sequence[Step]


def loops_of(run: Run) -> dict[tuple[str, str], list[Loop]]:
    """Return the loops of each request and kind, one for each step."""
    found: dict[tuple[str, str], list[Loop]] = {}
    for point in run["points"]:
        for loop in point["loops"]:
            found.setdefault((loop["request"], loop["loop"]), []).append(loop)
    return found


def grid_of(loops: Sequence[Loop]) -> Grid:
    """Return the ms of loops: a row for each percentile, and a column for each step."""
    return np.array([loop["percentiles"] for loop in loops], dtype=float).T


def nines(level: float) -> float:
    """Return where a percentile is on its axis: each further nine takes as much room as the last,
    and what is below 90 as much as three of them."""
    if level <= 90:
        return level / 30
    return 3 + float(np.log10(10 / (100 - level)))


def draw(run: Run) -> dict[str, Figure]:
    """Return the charts of a run: name of the file -> figure. One step alone has none."""
    counts, target = [point["connections"] for point in run["points"]], run["target"]
    if len(counts) < 2:
        return {}
    begin, rates, found = f"connections-{target.lower()}", [], {}
    ticks = counts[:: max(len(counts) // 8, 1)]
    every = sorted(loops_of(run).items())
    colours = dict(zip((request for (request, _), _ in every[::2]), COLOURS, strict=False))
    for (request, kind), loops in every:
        name, title = f"{begin}-{request.lower()}-{kind}", f"{target}, {request}, {kind} loop"
        grid = grid_of(loops)
        hollow = [bool(loop["invalid"] or loop["bound"]) for loop in loops]
        surface = _surface(counts, run["levels"], grid, f"{title}: all percentiles")
        found[f"{name}-surface"] = surface
        lines = [
            Line(f"p{level:g}", colour, counts, grid[run["levels"].index(level)], hollow=hollow)
            for level, colour in LINES.items()
        ]
        about = f"{title}: latency", "connections", "ms"
        found[name] = line_chart(lines, *about, ticks, doubling=True, tenfold=True)
        if kind == "closed":
            per_second = [loop["per_second"] for loop in loops]
            rates.append(Line(request, colours[request], counts, per_second, hollow=hollow))
    about = f"{target}, closed loop: answers against connections", "connections", "answers a second"
    return {**found, f"{begin}-rate": line_chart(rates, *about, ticks, doubling=True)}


def _surface(counts: Sequence[int], levels: Sequence[float], grid: Grid, title: str) -> Figure:
    from matplotlib import colormaps, rc_context
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d import Axes3D

    # Its points are equally far apart, as those of a ramp nearly are on a logarithmic axis.
    across, along = np.meshgrid(np.arange(len(counts)), [nines(level) for level in levels])
    heights = np.log10(np.maximum(grid, FASTEST_MS))
    # The slower, the darker.
    colours = colormaps["YlOrRd"](
        LogNorm(FASTEST_MS, SLOWEST_MS)(np.clip(grid, FASTEST_MS, SLOWEST_MS))
    )
    with rc_context(charts.STYLE):
        figure = Figure(figsize=(charts.SIZE[0], 5.6))
        figure.suptitle(title, x=0.012, ha="left", fontsize=12.5, fontweight="bold")
        axes = figure.add_axes((-0.02, 0.0, 1.0, 0.97), projection="3d")
        assert isinstance(axes, Axes3D)
        axes.plot_surface(
            across,
            along,
            heights,
            facecolors=colours,
            rcount=len(levels),
            ccount=len(counts),
            linewidth=0.25,
            edgecolor="#ffffff66",
            shade=False,
        )
        shown = range(0, len(counts), max(len(counts) // 8, 1))
        _marks(axes.xaxis, {float(n): charts.short(counts[n]) for n in shown})
        _marks(axes.yaxis, {nines(mark): f"{mark:g}" for mark in MARKS})
        _marks(axes.zaxis, {float(np.log10(ms)): f"{ms:g}" for ms in (0.1, 1, 10, 100, 1000)})
        axes.set_zlim(np.log10(FASTEST_MS), np.log10(SLOWEST_MS))
        axes.set_xlabel("connections", labelpad=8)
        axes.set_ylabel("percentile", labelpad=8)
        axes.set_zlabel("ms")
        axes.view_init(elev=24, azim=-128)
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.pane.set_facecolor(charts.PAPER)
        return figure


def _marks(axis: "Axis", marks: dict[float, str]) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(list(marks)))
    axis.set_major_formatter(FixedFormatter(list(marks.values())))
    axis.set_minor_locator(NullLocator())


def main(arguments: list[str]) -> int:
    """Draw a kept run again; return the exit status."""
    if len(arguments) != 2:
        print("python -m loadtest.studies.connections.report FILE.json[.gz] DIR", file=sys.stderr)
        return 2
    path, folder = map(Path, arguments)
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt") as file:
        run: Run = json.load(file)
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in draw(run).items():
        charts.save(figure, folder, name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
