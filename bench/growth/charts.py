"""The charts of a run: costs over sizes, with logarithms on both axes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.growth import sizes
from bench.growth.laws import FULL, NOISE
from flatlands.loadtest.kit import charts
from flatlands.loadtest.kit.charts import Line, line_chart


def draw(run: dict[str, Any], folder: Path) -> None:
    """Draw the charts of a run into a folder, each as PNG and as SVG, with logarithms on both axes.

    Points that are not valid, or use a whole core, are drawn as outlines: the laws omit them.
    """

    def curve(
        label: str,
        colour: str,
        law: str,
        series: str,
        figure: str,
        times: float,
        **where: Any,
    ) -> list[Line]:
        found = [
            point
            for point in run["points"]
            if point["series"] == series
            and (point[figure] or 0) > (NOISE if figure == "heartbeats" else 0)
            and all(point[name] == value for name, value in where.items())
        ]
        if not found:
            return []
        power = run["laws"].get(law, {"exponent": None})["exponent"]
        return [
            Line(
                label if power is None else f"{label}: n^{power:.2f}",
                colour,
                [point["size"] for point in found],
                [point[figure] * times for point in found],
                marker="s" if series == "real" else "o",
                hollow=[
                    bool(p["faults"] or p["invalid"] or (series == "crowd" and p["cpu"] >= FULL))
                    for p in found
                ],
            )
        ]

    def target(what: str, among: Sequence[int], value: float) -> Line:
        ends = [among[0], among[-1]]
        return Line(f"target: {what}", grey, ends, [value, value], is_past=True)

    blue, red, green, grey = "#1d70a2", "#c8442f", "#2a9d8f", "#85857f"
    alone = [
        point["us"]
        for point in run["points"]
        if point["series"] == "workers" and point["size"] == 1 and point["us"]
    ]
    drawn = {
        "growth-workers": (
            [
                line
                for scenario, colour in zip(sizes.SCENARIOS, (blue, red), strict=False)
                for line in curve(
                    scenario,
                    colour,
                    f"CPU of a delivery on n workers, {scenario}",
                    "workers",
                    "us",
                    1,
                    scenario=scenario,
                )
            ],
            [
                Line(
                    "target",
                    grey,
                    [1, *sizes.TARGETS_WORKERS],
                    [alone[0] * times for times in (1, *sizes.TARGETS_WORKERS.values())],
                    is_past=True,
                )
            ]
            if alone
            else [],
            f"{sizes.BOTS} players on n workers",
            "workers",
            "us of CPU for each delivery",
            sizes.WORKERS,
        ),
        "growth-nodes": (
            [
                *curve("one node", blue, "CPU of one node of n", "nodes", "cpu", 100),
                *curve("heartbeats", red, "the same, heartbeats", "nodes", "heartbeats", 100),
                *curve("all else", green, "the same, all else", "nodes", "rest", 100),
                *curve("all real", "#7d5ba6", "CPU of one node of n, all real", "real", "cpu", 100),
            ],
            [target("heartbeats", sizes.NODES, sizes.TARGET_NODES[1000] * 100)],
            f"A node of {sizes.PLAYERS} players among n nodes",
            "nodes",
            "CPU, % of a core",
            sizes.NODES,
        ),
        "growth-crowd": (
            [
                *curve(
                    "CPU, %", blue, "CPU of a crowd of n, below a whole core", "crowd", "cpu", 100
                ),
                *curve(
                    "KB/s to each",
                    red,
                    "bytes to each of a crowd of n",
                    "crowd",
                    "bytes_each",
                    1 / 1024,
                ),
            ],
            [target("KB/s", sizes.CROWDS, sizes.TARGET_CROWD_BYTES / 1024)],
            "A crowd of n in one square",
            "players",
            "CPU in % of a core; KB/s to each",
            sizes.CROWDS,
        ),
    }
    for name, (curves, aims, title, x, y, ticks) in drawn.items():
        if curves:
            lines = [*curves, *aims]
            charts.save(
                line_chart(lines, title, x, y, ticks, doubling=True, tenfold=True), folder, name
            )
