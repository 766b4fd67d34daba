"""Makes the tables and charts of a comparison from its rows. It never measures anything."""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table

from flatlands.loadtest.peers.rows import FLATLANDS, Row

#: The keys of the latencies that are shown.
SHOWN = ("p50", "p90", "p99", "max")

#: The colours of bars: Flatlands', and those of all peers.
OURS, THEIRS = "#5c8a3c", "#85857f"


def grouped(rows: Sequence[Row]) -> dict[tuple[int, str], list[Row]]:
    """Return (players, name) -> rows, in order."""
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.players, row.name), []).append(row)
    return groups


def median(rows: Sequence[Row]) -> Row:
    """Return a row with the medians of several rows, without those that were not measured."""
    done = [row for row in rows if row.per_second is not None]
    if not done:
        return rows[-1]

    def middle(name: str) -> float | None:
        values = [getattr(row, name) for row in done if getattr(row, name) is not None]
        return statistics.median(values) if values else None

    latency = {
        name: statistics.median(row.latency.get(name, 0.0) for row in done) for name in SHOWN
    }
    figures = ("share", "per_second", "per_cpu_second", "core", "mb")
    return Row(
        done[0].name, done[0].title, done[0].players, *(middle(name) for name in figures), latency
    )


def tables(rows: Sequence[Row]) -> Iterator[Table]:
    """Yield a table for each number of players.

    Its column `ratio` is Flatlands' deliveries in a CPU second, divided by those of the row.
    """
    groups = {key: median(runs) for key, runs in grouped(rows).items()}
    for players in dict.fromkeys(players for players, _ in groups):
        made = Table(box=None, header_style="bold", pad_edge=False)
        made.add_column(f"{players:,} players", no_wrap=True)
        for name in ("delivered", "deliveries/s", "per CPU s", "ratio", *SHOWN, "core", "MB"):
            made.add_column(name, justify="right", no_wrap=True)
        ours = groups.get((players, FLATLANDS))
        for (count, _), row in groups.items():
            if count == players:
                made.add_row(row.title, *_cells(row, ours))
        yield made


def _cells(row: Row, ours: Row | None) -> list[str]:
    if row.per_second is None:
        return ["-"]
    return [
        _percent(row.share),
        f"{row.per_second:,.0f}",
        _whole(row.per_cpu_second),
        ratio(ours, row),
        *(f"{row.latency.get(name, 0.0):,.1f}" for name in SHOWN),
        _percent(row.core),
        _whole(row.mb),
    ]


def ratio(ours: Row | None, row: Row) -> str:
    """Return how many times as much Flatlands delivers in the same CPU time, as text."""
    if ours is None or not ours.per_cpu_second or not row.per_cpu_second:
        return ""
    return f"{ours.per_cpu_second / row.per_cpu_second:.1f}"


def notes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield sentences about the tables: how to read them, and what went wrong."""
    yield (
        "latencies in ms, from the moment a move was due; core: of one, by the server; ratio: "
        "deliveries that Flatlands makes in the CPU time of one"
    )
    if any(row.name == FLATLANDS for row in rows):
        yield "Flatlands is measured by its own swarm (loadtest/bots.py --scenario mill)"
    if any(row.per_second is not None and row.core is None for row in rows):
        yield "CPU and memory of a server that was not started for the run are not known"
    for row in rows:
        for sentence in ([row.trouble] if row.trouble else []) + row.notes:
            yield f"{row.title}, {row.players:,} players: {sentence}"


def line(row: Row) -> str:
    """Return a row as a sentence, to be printed as soon as it is measured."""
    if row.per_second is None:
        return f"{row.title}, {row.players:,} players: not measured: {row.trouble}"
    return (
        f"{row.title}, {row.players:,} players: {row.per_second:,.0f} deliveries/s, "
        f"{_whole(row.per_cpu_second)} per CPU s, p50 {row.latency.get('p50', 0.0):,.1f} ms, "
        f"{_percent(row.share)} delivered"
    )


def draw(rows: Sequence[Row], folder: Path) -> None:
    """Write a chart for each number of players into a folder, as SVG and PNG."""
    # It is imported here because matplotlib takes a second to load.
    from flatlands.loadtest.kit import charts

    by_players: dict[int, list[Row]] = {}
    for (players, _), runs in grouped(rows).items():
        by_players.setdefault(players, []).append(median(runs))
    for players, found in by_players.items():
        bars = []
        for row in found:
            if row.per_cpu_second:
                text = charts.short(row.per_cpu_second)
                # A server that delivers nearly everything needs no remark.
                if row.share is not None and row.share < 0.99:
                    text += f", {_percent(row.share)} delivered"
                colour = OURS if row.name == FLATLANDS else THEIRS
                # What a row has notes of is not to be believed without them.
                hollow = bool(row.notes)
                bars.append(charts.Bar(row.title, colour, row.per_cpu_second, text, hollow))
        if bars:
            figure = charts.bar_chart(
                bars, f"{players:,} players, 20 a square", "deliveries per CPU second of the server"
            )
            charts.save(figure, folder, f"peers-{players}")


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}" if share < 0.9995 else "100%"
