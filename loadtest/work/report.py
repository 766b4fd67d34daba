"""Makes charts and a page from the JSON of a run. It never measures anything."""

from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from flatlands.loadtest.kit import charts
from flatlands.loadtest.kit.charts import COLOURS, FAINT, Bar, bar_chart, tint
from flatlands.loadtest.kit.page import opening, or_dash, page, table
from flatlands.loadtest.work.series import FIFOS, TAKEN, TAKES

TITLE = "Work queues"

#: Colours of what others measured, of ways without and with acknowledgement, and of sqlite.
_PAST, _REDIS, _ACKNOWLEDGED = FAINT, COLOURS["redis"], tint(COLOURS["redis"], -0.4)
_SQLITE = COLOURS["memory"]


def _colour(name: str) -> str:
    if name == "store-sqlite":
        return _SQLITE
    return _ACKNOWLEDGED if name in TAKES and TAKES[name].acknowledged else _REDIS


def _points(run: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [point for point in run["points"] if point["kind"] == kind]


def _label(point: dict[str, Any]) -> str:
    return {**TAKES, **FIFOS}[point["series"]].label


def _us(point: dict[str, Any]) -> Bar:
    """Return the bar of a point's CPU time."""
    used = {who: us for who, us in point["us"].items() if us is not None}
    text = " + ".join(f"{who} {charts.short(us)}" for who, us in used.items())
    return Bar(_label(point), _colour(point["series"]), sum(used.values()), text)


def _takes(points: list[dict[str, Any]]) -> list[Bar]:
    bars = []
    for point in points:
        ms, past = point["ms"], TAKES[point["series"]].past
        text = f"{ms['median']:.3f}, the fastest {ms['least']:.3f}"
        bars.append(Bar(_label(point), _colour(point["series"]), ms["median"], text))
        if past:
            bars.append(Bar(f"{_label(point)}, 2016", _PAST, past, f"{past:.3f} (mean)"))
    return bars


def _fifos(points: list[dict[str, Any]]) -> list[Bar]:
    bars = []
    for point in points:
        past = FIFOS[point["series"]].past
        rates = [(_label(point), _REDIS, (point["pushed"], point["pulled"]))]
        if past:
            rates.append((f"{_label(point)}, 2021", _PAST, past))
        for label, colour, (pushed, pulled) in rates:
            bars.append(Bar(label, colour, pulled, f"{pulled:,.0f}, pushed {pushed:,.0f}"))
    return bars


def draw(run: dict[str, Any]) -> dict[str, Figure]:
    """Return the charts of a run: name of the file -> figure. A run of deaths has none."""
    found = {}
    us = "microseconds of CPU time for each message"
    # Charts on one page need titles of their own: the ids in an SVG come from its title.
    for name, bars, title, x in (
        (
            "take",
            _takes(_points(run, "take")),
            f"To take {TAKEN} messages",
            "milliseconds; half of the takes were not slower",
        ),
        ("take-us", [*map(_us, _points(run, "take"))], f"CPU time to take {TAKEN} at a time", us),
        ("fifo", _fifos(_points(run, "fifo")), "Through a FIFO queue", "messages a second, pulled"),
        ("fifo-us", [*map(_us, _points(run, "fifo"))], "CPU time through a FIFO queue", us),
    ):
        if bars:
            found[f"work-queues-{name}"] = bar_chart(bars, title, x)
    return found


def write(run: dict[str, Any], folder: Path) -> None:
    """Write index.html, which needs no other file, and each chart as SVG and PNG, into a folder."""
    parts = opening(run)
    parts += [charts.save(figure, folder, name) for name, figure in draw(run).items()]
    parts += [_NOTE, "<h2>Figures</h2>", *_tables(run)]
    command = " ".join(run["command"])
    (folder / "index.html").write_text(page(TITLE, command, parts, run["machine"]))


_NOTE = """<p class=note>Dark: messages are acknowledged. Grey: the figures of 2016 and 2021, made
elsewhere. A series in which a message was lost, came twice or out of order is named at the top.
</p>"""

_COLUMNS = {
    "take": (
        "",
        "ms, median",
        "mean",
        "fastest",
        "spread",
        "2016 (mean)",
        "client &micro;s",
        "server",
    ),
    "fifo": (
        "",
        "messages",
        "pushed /s",
        "pulled",
        "2021: pushed",
        "pulled",
        "pusher &micro;s",
        "pullers",
        "server",
    ),
    "kill": ("", "deaths", "held by the dead", "handed out again", "done"),
}


def _tables(run: dict[str, Any]) -> list[str]:
    """Return a table for each kind of points that a run has."""
    found = []
    for kind, columns in _COLUMNS.items():
        if points := _points(run, kind):
            found.append(table(columns, [_row(point) for point in points]))
    return found


def _row(point: dict[str, Any]) -> list[str]:
    label, found = escape(_label(point)), point["account"]
    if point["kind"] == "kill":
        numbers = (len(point["held"]), *(found[n] for n in ("held_by_dead", "again", "done")))
        return [label, *(f"{n:,}" for n in numbers)]
    if point["kind"] == "take":
        ms, past = point["ms"], TAKES[point["series"]].past
        rates = [f"{ms[name]:.3f}" for name in ("median", "mean", "least")]
        rates += [or_dash(point.get("spread"), ".1%"), or_dash(past, ".3f")]
    else:
        old = FIFOS[point["series"]].past or (None, None)
        rates = [f"{point[name]:,.0f}" for name in ("messages", "pushed", "pulled")]
        rates += [or_dash(n, ",.0f") for n in old]
    return [label, *rates, *(or_dash(us, ".1f") for us in point["us"].values())]
