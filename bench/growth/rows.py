"""The rows that are printed: a table for each series, and the laws below."""

from typing import Any

from bench.growth import sizes
from bench.growth.laws import Point

#: Name of a series -> the sentence above its table, and the heading of the table.
HEADINGS = {
    "workers": (
        f"{sizes.BOTS} players in {sizes.SQUARES} squares on more and more workers, "
        f"broker {sizes.BROKER}",
        f"{'':20}{'workers':>8}{'us a delivery':>15}{'times':>8}{'target':>9}{'CPU':>8}"
        f"{'broker':>8}{'p50':>8}{'p99, ms':>9}",
    ),
    "nodes": (
        f"one node of more and more: {sizes.PLAYERS} players each, {sizes.TOGETHER} in a square, "
        f"{sizes.MOVES:g} moves a second",
        f"{'':20}{'nodes':>8}{'CPU, %':>10}{'heartbeats':>12}{'all else':>10}{'target':>9}"
        f"{'received/s':>12}{'heartbeats':>12}{'KB/s':>8}{'p99, ms':>9}",
    ),
    "real": (
        "each of them if all are real, and one real one if all others are made as above",
        f"{'':20}{'nodes':>8}{'CPU, %':>10}{'others made':>13}{'received/s':>12}{'others made':>13}"
        f"{'p99, ms':>9}",
    ),
    "crowd": (
        f"more and more players in one square, {sizes.CROWD_MOVES:g} moves a second each",
        f"{'':20}{'players':>8}{'CPU':>8}{'p50':>8}{'p99, ms':>9}{'told/s':>10}{'replaced/s':>12}"
        f"{'KB/s to each':>14}{'anew':>7}",
    ),
}


def _or_dash(value: float | None, width: int, form: str) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:>{width}{form}}"


def line(point: Point) -> str:
    """Return the row of a point in the table of its series, and what was wrong below it."""
    size = f"{point['size']:>8,}"
    if point["series"] == "workers":
        row = (
            f"{point['scenario']:20}{size}{_or_dash(point['us'], 15, '.2f')}"
            f"{_or_dash(point['times'], 8, '.2f')}"
            f"{_or_dash(sizes.TARGETS_WORKERS.get(point['size']), 9, '.2f')}{point['cpu']:>8.0%}"
            f"{point['broker']:>8.1%}{point['p50']:>8.0f}{point['p99']:>9.0f}"
        )
    elif point["series"] == "nodes":
        beats, target = point["heartbeats"], sizes.TARGET_NODES.get(point["size"])
        row = (
            f"{'':20}{size}{point['cpu'] * 100:>10.1f}"
            f"{_or_dash(None if beats is None else beats * 100, 12, '.1f')}"
            f"{point['rest'] * 100:>10.1f}"
            f"{_or_dash(None if target is None else target * 100, 9, 'g')}"
            f"{point['received']:>12,.0f}{point['beats']:>12,.0f}"
            f"{point['beats_bytes'] / 1024:>8,.0f}{point['p99']:>9.0f}"
        )
    elif point["series"] == "real":
        row = (
            f"{'':20}{size}{point['cpu'] * 100:>10.1f}{point['made_cpu'] * 100:>13.1f}"
            f"{point['received']:>12,.0f}{point['made_received']:>13,.0f}{point['p99']:>9.0f}"
        )
    else:
        row = (
            f"{'':20}{size}{point['cpu']:>8.0%}{point['p50']:>8.0f}{point['p99']:>9.0f}"
            f"{point['told']:>10,.0f}{point['replaced']:>12,.0f}"
            f"{point['bytes_each'] / 1024:>14.1f}{point['lagging']:>7,.0f}"
        )
    wrong = [f"    failed: {why}" for why in point["faults"]]
    return "\n".join([row, *wrong, *(f"    not valid: {why}" for why in point["invalid"])])


def told(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return the lines that say which laws were found."""
    lines = ["", f"{'grows with the power of n':45}{'exponent':>10}  points"]
    for name, law in found.items():
        points = ", ".join(f"{x:,}: {y:.3g}" for x, y in law["points"])
        lines.append(f"{name:45}{_or_dash(law['exponent'], 10, '.2f')}  {points}")
    lines.append(
        f"targets: a crowd's CPU at most {sizes.TARGET_CROWD_EXPONENT:g}, and at most "
        f"{sizes.TARGET_CROWD_BYTES / 1024:g} KB/s to each of {sizes.CROWDS[-1]:,}; "
        f"heartbeats of 1,000 nodes at most {sizes.TARGET_NODES[1000]:.0%} of a core"
    )
    return lines
