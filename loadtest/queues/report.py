"""Makes charts and a page from the JSON of a run. It never measures anything."""

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from flatlands.loadtest.kit import charts
from flatlands.loadtest.kit.charts import COLOURS, Bar, Line, tint
from flatlands.loadtest.kit.page import opening, or_dash, page, table
from flatlands.loadtest.queues.series import CHARTS, PAST, PAST_CLIENTS, SERIES

#: Series -> its colour and marker. Variants of one backend have tints of its colour.
LOOK = {
    "redis-unbuffered": (tint(COLOURS["redis"], 0.45), "s"),
    "redis-buffered": (tint(COLOURS["redis"], 0.15), "o"),
    "redis-2013": (tint(COLOURS["redis"], 0.3), "v"),
    "redis": (tint(COLOURS["redis"], -0.2), "o"),
    "redis-ring": (tint(COLOURS["ring"], -0.2), "D"),
    "zeromq": (COLOURS["zeromq"], "o"),
    "zeromq-2013": (tint(COLOURS["zeromq"], 0.35), "v"),
    "zeromq-ring": (tint(COLOURS["ring"], 0.25), "D"),
    "nats": (COLOURS["nats"], "o"),
    "mqtt": (COLOURS["mqtt"], "o"),
    "memory": (COLOURS["memory"], "o"),
    "go-redis": (tint(COLOURS["redis"], -0.5), "^"),
    "go-zeromq": (tint(COLOURS["zeromq"], -0.3), "^"),
    "go-zeromq-2013": (tint(COLOURS["zeromq"], -0.55), "^"),
}

CLIENTS = "clients: one process publishes, one hears all channels"
PER_CLIENT = "messages a second, per client"

#: A point is drawn hollow if a larger share of its messages was not delivered.
LOSSY = 0.01


def _lines(run: dict[str, Any], names: Iterable[str], figure: str) -> list[Line]:
    """Return a line of some figure for each of these series that has points."""
    lines = []
    for name in names:
        points = [point for point in run["points"] if point["series"] == name]
        if points:
            colour, marker = LOOK[name]
            xs = [point["clients"] for point in points]
            ys = [point[figure] for point in points]
            hollow = [_missing(point) > LOSSY for point in points]
            lines.append(Line(SERIES[name].label, colour, xs, ys, marker=marker, hollow=hollow))
    return lines


def _missing(point: dict[str, Any]) -> float:
    """Return the share of a point's messages that were not delivered."""
    return 1 - point["account"]["delivered"] / point["account"]["due"]


def _latencies(run: dict[str, Any]) -> list[Bar]:
    """Return a bar for each point that has the largest number of clients."""
    bars = []
    clients = max((point["clients"] for point in run["points"]), default=0)
    for point in run["points"]:
        name, half, most = (point["series"], *(point["latency_ms"][n] for n in ("p50", "p99")))
        if point["clients"] == clients and half is not None:
            text = f"{charts.short(half)} ms, 99 % within {charts.short(most)} ms"
            label = f"{SERIES[name].label}, {clients} clients"
            bars.append(Bar(label, LOOK[name][0], half, text))
    return bars


def _past(names: Iterable[str]) -> list[Line]:
    lines = []
    for name in names:
        if past := SERIES[name].past:
            label, thousands = PAST[past]
            ys = [1000 * number for number in thousands]
            lines.append(Line(label, LOOK[name][0], PAST_CLIENTS, ys, is_past=True))
    return lines


def draw(run: dict[str, Any]) -> dict[str, Figure]:
    """Return the charts of a run: name of the file -> figure.

    Without a rate, they are the three of the article and one of all series. With a rate, there is
    only a chart of latencies.
    """
    if run["options"]["rate"]:
        bars = _latencies(run)
        title = f"Latency at {run['options']['rate']:,} messages a second from each publisher"
        chart = charts.bar_chart(bars, title, "milliseconds until half of the messages are there")
        return {"two-queues-latency": chart} if bars else {}
    figures = {}
    for number, (title, names) in enumerate(CHARTS, 1):
        lines = _past(names) + _lines(run, names, "per_client")
        figures[f"two-queues-{number}"] = charts.line_chart(
            lines, title, CLIENTS, PER_CLIENT, ticks=(1, 2, 4, 8, 16), doubling=True
        )
    lines = _lines(run, SERIES, "deliveries")
    if lines:
        figures["two-queues-all"] = charts.line_chart(
            lines, "All that was delivered", CLIENTS, "messages a second, all clients together"
        )
    return figures


def write(run: dict[str, Any], folder: Path) -> None:
    """Write index.html, which needs no other file, and each chart as SVG and PNG, into a folder."""
    parts = opening(run)
    parts += [charts.save(figure, folder, name) for name, figure in draw(run).items()]
    parts += [_PAST_NOTE, "<h2>Figures</h2>", _table(run), _FIGURES_NOTE]
    command = " ".join(run["command"])
    (folder / "index.html").write_text(page("Two queues, again", command, parts, run["machine"]))


_PAST_NOTE = """<p class=note>Dashed: the article of 2013, read from its charts (8 hardware threads;
its clients reported over the broker, and losses were not counted). Hollow: more than 1 % was not
delivered.</p>"""

_FIGURES_NOTE = """<p class=note>Rates are messages a second. Sent &times; clients = delivered +
dropped (which a broker counted) + lost. At full throttle latency is the length of queues: for that
of a broker which is not full, give a rate. CPU is in cores, then in microseconds for each message:
at publisher and brokers for each that is published, at a subscriber for each that is
delivered.</p>"""

_COLUMNS = (
    "series",
    "clients",
    "per client (median)",
    "least",
    "most",
    "published",
    "delivered",
    "sent",
    "&times; clients",
    "delivered",
    "dropped",
    "lost",
    "links lost",
    "p50 ms",
    "p99 ms",
    "CPU publishers",
    "subscribers",
    "brokers",
    "CPU &micro;s publisher",
    "subscriber",
    "broker",
)


def _table(run: dict[str, Any]) -> str:
    rows = []
    for point in run["points"]:
        account, latency, cpu = point["account"], point["latency_ms"], point["cpu"]
        both = cpu["both"]
        rows.append(
            (
                escape(SERIES[point["series"]].label),
                point["clients"],
                *(
                    f"{point[name]:,.0f}"
                    for name in (
                        *("per_client", "per_client_least", "per_client_most"),
                        *("publishes", "deliveries"),
                    )
                ),
                *(f"{account[name]:,}" for name in ("sent", "due", "delivered", "dropped", "lost")),
                account["cuts"],
                *(or_dash(latency[name], ".3g") for name in ("p50", "p99")),
                or_dash(cpu["publishers"] if both is None else both, ".2f"),
                or_dash(cpu["subscribers"], ".2f"),
                or_dash(cpu["brokers"], ".2f"),
                *(
                    or_dash(point["cpu_us"][kind], ".1f")
                    for kind in ("publishers", "subscribers", "brokers")
                ),
            )
        )
    return table(_COLUMNS, rows)
