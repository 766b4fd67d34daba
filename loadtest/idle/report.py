"""Draws the figures of a ramp. It never measures anything.

`python -m loadtest.idle.report FILE.json DIR` draws those of a ramp that was kept.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from flatlands.loadtest.kit import charts
from flatlands.loadtest.kit.charts import Figure, Line, line_chart

#: The percentiles that are drawn as lines, and their colours.
LINES = {50: "#8fb8cf", 90: "#4f93b8", 99: "#1d70a2", 99.9: "#7d5ba6", 99.99: "#c8442f"}

#: The marks on the axis of percentiles.
MARKS = (0, 50, 90, 99, 99.9, 99.99)

#: ms at the ends of the colours.
FASTEST, SLOWEST = 0.02, 5000


def surface_of(
    run: dict[str, Any], request: str, loop: str
) -> tuple[list[int], list[float], np.ndarray]:
    """Return the surface of a loop: connections, percentiles, and ms with a row per percentile."""
    points = [(p["connections"], _loop(p, request, loop)) for p in run["points"]]
    grid = np.array([found["percentiles"] for _, found in points], dtype=float).T
    return [count for count, _ in points], list(run["levels"]), grid


def nines(level: float) -> float:
    """Return where a percentile is on its axis: each further nine takes as much room as the last,
    and what is below 90 as much as three of them."""
    if level <= 90:
        return level / 30
    return 3 + float(np.log10(10 / (100 - level)))


def _loop(point: dict[str, Any], request: str, loop: str) -> dict[str, Any]:
    return next(
        found for found in point["loops"] if (found["request"], found["loop"]) == (request, loop)
    )


def _loops(run: dict[str, Any]) -> list[tuple[str, str]]:
    return [(found["request"], found["loop"]) for found in run["points"][0]["loops"]]


def draw(run: dict[str, Any]) -> dict[str, Figure]:
    """Return the charts of a run: name of the file -> figure. One step alone has none."""
    if len(run["points"]) < 2:
        return {}
    target = run["target"]
    begin = f"connections-{target.lower()}"
    found = {}
    for request, loop in _loops(run):
        name, title = f"{request.lower()}-{loop}", f"{target}, {request}, {loop} loop"
        found[f"{begin}-{name}-surface"] = _surface(run, request, loop, f"{title}: all percentiles")
        found[f"{begin}-{name}"] = _lines(run, request, loop, f"{title}: latency")
    found[f"{begin}-rate"] = _rates(run, f"{target}, closed loop: answers against connections")
    return found


def _surface(run: dict[str, Any], request: str, loop: str, title: str) -> Figure:
    counts, levels, grid = surface_of(run, request, loop)
    # Its points are equally far apart, as those of a ramp nearly are on a logarithmic axis.
    across, along = np.meshgrid(np.arange(len(counts)), [nines(level) for level in levels])
    heights = np.log10(np.maximum(grid, FASTEST))
    from matplotlib import colormaps, rc_context
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    with rc_context(charts.STYLE):
        figure = Figure(figsize=(charts.SIZE[0], 5.6))
        figure.suptitle(title, x=0.012, ha="left", fontsize=12.5, fontweight="bold")
        axes: Any = figure.add_axes((-0.02, 0.0, 1.0, 0.97), projection="3d")
        axes.plot_surface(
            across,
            along,
            heights,
            # The slower, the darker.
            facecolors=colormaps["YlOrRd"](
                LogNorm(FASTEST, SLOWEST)(np.clip(grid, FASTEST, SLOWEST))
            ),
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
        axes.set_zlim(np.log10(FASTEST), np.log10(SLOWEST))
        axes.set_xlabel("connections", labelpad=8)
        axes.set_ylabel("percentile", labelpad=8)
        axes.set_zlabel("ms")
        axes.view_init(elev=24, azim=-128)
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.pane.set_facecolor(charts.PAPER)
        return figure


def _marks(axis: Any, marks: dict[float, str]) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(list(marks)))
    axis.set_major_formatter(FixedFormatter(list(marks.values())))
    axis.set_minor_locator(NullLocator())


def _lines(run: dict[str, Any], request: str, loop: str, title: str) -> Figure:
    counts, levels, grid = surface_of(run, request, loop)
    hollow = [not _trusted(_loop(point, request, loop)) for point in run["points"]]
    lines = [
        Line(f"p{level:g}", colour, counts, grid[levels.index(level)], hollow=hollow)
        for level, colour in LINES.items()
    ]
    ticks = counts[:: max(len(counts) // 8, 1)]
    return line_chart(lines, title, "connections", "ms", ticks, doubling=True, tenfold=True)


def _trusted(loop: dict[str, Any]) -> bool:
    return not (loop["invalid"] or loop["bound"])


def _rates(run: dict[str, Any], title: str) -> Figure:
    counts = [point["connections"] for point in run["points"]]
    requests = sorted({request for request, _ in _loops(run)})
    lines = []
    for request, colour in zip(requests, (LINES[99], LINES[99.99]), strict=False):
        found = [_loop(point, request, "closed") for point in run["points"]]
        rates = [loop["per_second"] for loop in found]
        hollow = [not _trusted(loop) for loop in found]
        lines.append(Line(request, colour, counts, rates, hollow=hollow))
    ticks = counts[:: max(len(counts) // 8, 1)]
    return line_chart(lines, title, "connections", "answers a second", ticks, doubling=True)


def main(arguments: list[str]) -> int:
    """Draw a kept run again; return the exit status."""
    if len(arguments) != 2:
        print("python -m loadtest.idle.report FILE.json[.gz] DIR", file=sys.stderr)
        return 2
    path, folder = map(Path, arguments)
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt") as file:
        run = json.load(file)
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in draw(run).items():
        charts.save(figure, folder, name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
