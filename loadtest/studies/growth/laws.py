"""The laws by which costs grow: powers of the size, found in the points that were measured."""

import math
import statistics
from collections.abc import Sequence

from flatlands.loadtest.studies.growth import sizes
from flatlands.loadtest.studies.growth.points import Law, Point
from flatlands.loadtest.studies.study import number

#: The share of a core by which two measurements of one process differ anyway.
NOISE = 0.005

#: The share of a core above which a process cannot use more: its growth no longer follows a law.
FULL = 0.95


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the power of x with which y grows: the slope of the line through the logarithms of
    points (x, y), by least squares.

    What is not above 0 has no logarithm and is left out. Returns None if fewer than two different x
    are left.
    """
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    return statistics.linear_regression(*zip(*logs, strict=True)).slope


def laws(points: Sequence[Point]) -> dict[str, Law]:
    """Return name of a law -> the law.

    Points that are not valid are left out, and so are
    crowds that have a whole core, and heartbeats whose cost is no more than noise.
    """
    good = [point for point in points if not point["invalid"] and not point["faults"]]

    def of(series: str, figure: str, scenario: str = "") -> list[tuple[float, float]]:
        return [
            (point["size"], value)
            for point in good
            if point["series"] == series
            and (value := number(point, figure)) is not None
            and scenario in ("", point.get("scenario"))
        ]

    found = {
        **{
            f"CPU of a delivery on n workers, {scenario}": of("workers", "us", scenario=scenario)
            for scenario in sizes.SCENARIOS
        },
        "CPU of one node of n": of("nodes", "cpu"),
        "the same, heartbeats": [(x, y) for x, y in of("nodes", "heartbeats") if y > NOISE],
        "the same, all else": of("nodes", "rest"),
        "CPU of one node of n, all real": of("real", "cpu"),
        "CPU of a crowd of n, below a whole core": [
            (x, y) for x, y in of("crowd", "cpu") if y < FULL
        ],
        "bytes to each of a crowd of n": of("crowd", "bytes_each"),
    }
    return {
        name: {"points": some, "exponent": exponent(some)} for name, some in found.items() if some
    }
