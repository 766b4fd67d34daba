"""The tables that are printed: one for each series, and the laws below."""

from collections.abc import Mapping

from flatlands.loadtest.studies.growth import sizes
from flatlands.loadtest.studies.growth.points import Crowd, Law, Machines, Nodes, Point, Workers
from flatlands.loadtest.studies.study import Column

#: Name of a series -> the sentence above its table.
SENTENCES = {
    "workers": f"{sizes.BOTS} players in {sizes.SQUARES} squares on more and more workers, "
    f"broker {sizes.BROKER}",
    "machines": f"{sizes.MACHINES} machines without addresses and with, {sizes.PLAYERS} players "
    f"each, in {sizes.SQUARES} squares",
    "nodes": f"one node of more and more: {sizes.PLAYERS} players each, "
    f"{sizes.PLAYERS_A_SQUARE} in a square, {sizes.MOVES_A_SECOND:g} moves a second",
    "real": "each of them if all are real, and one real one if all others are made as above",
    "crowd": "more and more players in one square, "
    f"{sizes.CROWD_MOVES_A_SECOND:g} moves a second each",
}

_P99 = Column[Point]("p99, ms", "p99", ".0f", 7)

#: The columns of its table.
COLUMNS = {
    "workers": (
        Column("", "scenario", width=-8),
        Column("workers", "size", ",", 7),
        Column("us a delivery", "us", ".2f", 13),
        Column("times", "times", ".2f", 6),
        Column[Workers]("target", lambda row: sizes.TARGETS_WORKERS.get(row["size"]), ".2f", 6),
        Column("CPU", "cpu", ".0%", 6),
        Column("broker", "broker", ".1%", 6),
        Column("p50", "p50", ".0f", 6),
        _P99,
    ),
    "machines": (
        Column[Machines]("", lambda row: "addresses" if row["addresses"] else "none", width=-9),
        Column("squares heard", "heard", ".0f", 13),
        Column("at most", "most", ",", 7),
        Column("received/s", "received", ",.0f", 10),
        Column("batches/s", "batches", ",.0f", 9),
        Column("times", "times", ".2f", 6),
    ),
    "nodes": (
        Column("nodes", "size", ",", 8),
        Column("CPU", "cpu", ".1%", 8),
        Column("heartbeats", "heartbeats", ".1%", 10),
        Column("all else", "rest", ".1%", 8),
        Column[Nodes]("target", lambda row: sizes.TARGET_NODES.get(row["size"]), ".0%", 6),
        Column("received/s", "received", ",.0f", 10),
        Column("heartbeats", "beats", ",.0f", 10),
        Column[Nodes]("KB/s", lambda row: row["beats_bytes"] / 1024, ",.0f", 6),
        _P99,
    ),
    "real": (
        Column("nodes", "size", ",", 8),
        Column("CPU", "cpu", ".1%", 8),
        Column("others made", "made_cpu", ".1%", 11),
        Column("received/s", "received", ",.0f", 10),
        Column("others made", "made_received", ",.0f", 11),
        _P99,
    ),
    "crowd": (
        Column("players", "size", ",", 8),
        Column("CPU", "cpu", ".0%", 6),
        Column("p50", "p50", ".0f", 6),
        _P99,
        Column("told/s", "told", ",.0f", 8),
        Column("replaced/s", "replaced", ",.0f", 10),
        Column[Crowd]("KB/s to each", lambda row: row["bytes_each"] / 1024, ".1f", 12),
        Column("anew", "lagging", ",.0f", 6),
    ),
}


def told(found: Mapping[str, Law]) -> list[str]:
    """Return the lines that say which laws were found."""
    lines = ["", f"{'grows with the power of n':45}{'exponent':>10}  points"]
    for name, law in found.items():
        points = ", ".join(f"{x:,}: {y:.3g}" for x, y in law["points"])
        power = "-" if law["exponent"] is None else f"{law['exponent']:.2f}"
        lines.append(f"{name:45}{power:>10}  {points}")
    lines.append(
        f"targets: a crowd's CPU at most {sizes.TARGET_CROWD_EXPONENT:g}, and at most "
        f"{sizes.TARGET_CROWD_BYTES_A_SECOND / 1024:g} KB/s to each of {sizes.CROWDS[-1]:,}; "
        f"heartbeats of 1,000 nodes at most {sizes.TARGET_NODES[1000]:.0%} of a core"
    )
    return lines
