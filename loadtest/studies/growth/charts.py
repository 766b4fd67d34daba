"""The charts of a run: costs over sizes, with logarithms on both axes."""

from collections.abc import Mapping, Sequence
from functools import partial

from flatlands.loadtest.kit.charts import Figure, Line, line_chart
from flatlands.loadtest.studies.growth import sizes
from flatlands.loadtest.studies.growth.laws import FULL, NOISE
from flatlands.loadtest.studies.growth.points import Law, Point
from flatlands.loadtest.studies.study import number

#: Bytes become KB.
KB = 1 / 1024

BLUE = "#1d70a2"
RED = "#c8442f"
GREEN = "#2a9d8f"
PURPLE = "#7d5ba6"
GREY = "#85857f"


def draw(points: Sequence[Point], laws: Mapping[str, Law]) -> dict[str, Figure]:
    """Return the charts of a run: name of the file -> figure.

    Points that are not valid, or use a whole core, are drawn as outlines: the laws omit them.
    """
    curve = partial(_curve, points, laws)
    workers = [
        curve(of, colour, f"CPU of a delivery on n workers, {of}", "workers", "us", scenario=of)
        for of, colour in zip(sizes.SCENARIOS, (BLUE, RED), strict=False)
    ]
    nodes = [
        curve("one node", BLUE, "CPU of one node of n", "nodes", "cpu", 100),
        curve("heartbeats", RED, "the same, heartbeats", "nodes", "heartbeats", 100),
        curve("all else", GREEN, "the same, all else", "nodes", "rest", 100),
        curve("all real", PURPLE, "CPU of one node of n, all real", "real", "cpu", 100),
    ]
    crowd = [
        curve("CPU, %", BLUE, "CPU of a crowd of n, below a whole core", "crowd", "cpu", 100),
        curve("KB/s to each", RED, "bytes to each of a crowd of n", "crowd", "bytes_each", KB),
    ]
    alone = [p["us"] for p in points if p["series"] == "workers" and p["size"] == 1]
    times = {1: 1.0, **sizes.TARGETS_WORKERS}
    aims = [[us * n for n in times.values()] for us in alone[:1] if us]
    heartbeats, bytes_each = (
        sizes.TARGET_NODES[1000] * 100,
        sizes.TARGET_CROWD_BYTES_A_SECOND / 1024,
    )
    drawn: dict[str, tuple[Sequence[Line | None], Sequence[Line], Sequence[int], str, str, str]] = {
        "growth-workers": (
            workers,
            [_target("target", list(times), ys) for ys in aims],
            sizes.WORKERS,
            f"{sizes.BOTS} players on n workers",
            "workers",
            "us of CPU for each delivery",
        ),
        "growth-nodes": (
            nodes,
            [_level("target: heartbeats", sizes.NODES, heartbeats)],
            sizes.NODES,
            f"A node of {sizes.PLAYERS} players among n nodes",
            "nodes",
            "CPU, % of a core",
        ),
        "growth-crowd": (
            crowd,
            [_level("target: KB/s", sizes.CROWDS, bytes_each)],
            sizes.CROWDS,
            "A crowd of n in one square",
            "players",
            "CPU in % of a core; KB/s to each",
        ),
    }
    figures = {}
    for name, (curves, targets, ticks, title, x, y) in drawn.items():
        if found := [line for line in curves if line is not None]:
            lines = [*found, *targets]
            figures[name] = line_chart(lines, title, x, y, ticks, doubling=True, tenfold=True)
    return figures


def _curve(
    points: Sequence[Point],
    laws: Mapping[str, Law],
    label: str,
    colour: str,
    law: str,
    series: str,
    figure: str,
    times: float = 1,
    scenario: str = "",
) -> Line | None:
    """Return the curve of a figure of a series, with the exponent of its law; None if there is no
    point."""
    found = [
        (point, value)
        for point in points
        if point["series"] == series
        and (value := number(point, figure) or 0) > (NOISE if figure == "heartbeats" else 0)
        and scenario in ("", point.get("scenario"))
    ]
    if not found:
        return None
    power = laws[law]["exponent"] if law in laws else None
    return Line(
        label if power is None else f"{label}: n^{power:.2f}",
        colour,
        [point["size"] for point, _ in found],
        [value * times for _, value in found],
        marker="s" if series == "real" else "o",
        hollow=[
            bool(
                point["faults"]
                or point["invalid"]
                or (point["series"] == "crowd" and (point["cpu"] or 0) >= FULL)
            )
            for point, _ in found
        ],
    )


def _target(label: str, xs: Sequence[float], ys: Sequence[float]) -> Line:
    return Line(label, GREY, xs, ys, is_past=True)


def _level(label: str, among: Sequence[int], value: float) -> Line:
    return _target(label, [among[0], among[-1]], [value, value])
