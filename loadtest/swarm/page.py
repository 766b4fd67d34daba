"""Makes a page of the results of runs: charts and tables, in one file that needs no other."""

import math
import statistics
from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from matplotlib import rc_context
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from flatlands.loadtest.kit import charts
from flatlands.loadtest.kit import page as kit
from flatlands.loadtest.kit.charts import Bar, Line
from flatlands.loadtest.swarm.oracle import FAULTS, Verdict
from flatlands.loadtest.swarm.result import Result
from flatlands.loadtest.swarm.terminal_output import (
    ACCOUNT,
    ACTIONS,
    FIGURES,
    crossed,
    generators,
    grouped,
    heading,
    medians,
    name,
    praise,
    shown,
    target,
    unknown,
)

PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")

#: The colours of the percentiles, from the lowest to the highest.
SHADES = ("#8fb8cf", "#4f93b8", "#1d70a2", "#7d5ba6", "#c8442f")

#: A percentile that grows by more than this factor between two steps of a ramp is marked.
JUMP = 10

#: A function that takes a chart, and returns the HTML that shows it.
Draw = Callable[[Figure], str]


def page(done: Sequence[Result], machine: dict[str, object], command: str, draw: Draw) -> str:
    """Return the page as HTML. `machine` is described in it, and `command` is what made it."""
    groups = grouped(done)
    parts = [_judgement(done)]
    counts = {runs[0].options.bots for runs in groups.values()}
    brokers = {target(runs[0].options) for runs in groups.values()}
    if len(counts) > 1:
        for broker in sorted(brokers):
            steps = [g for g in groups.values() if target(g[0].options) == broker]
            parts.append(_ramp(broker, steps, draw))
    elif len(groups) > 1:
        parts.append(_comparison(groups, draw))
    if groups:
        parts += ["<h2>Figures</h2>", _table(groups)]
        parts += [f'<p class="note">{escape(why)}</p>' for why in unknown(done)]
        parts += [f'<p class="note">{escape(why)}</p>' for why in generators(done)]
    if len(counts) == 1:
        for kind, runs in groups.items():
            if len(runs[0].series) > 1:
                parts.append(_over_time(kind, runs[0], draw))
    return kit.page("Flatlands under a swarm", command, parts, machine)


def _judgement(done: Sequence[Result]) -> str:
    lines = []
    # Thresholds that the medians cross are shown with the last run of each group.
    limits = {id(runs[-1]): crossed(runs) for runs in grouped(done).values()}
    for result in done:
        whys = [("Failed", why) for why in result.faults]
        whys += [("Not valid", why) for why in result.invalid]
        whys += [("Crossed", why) for why in limits.get(id(result), ())]
        for word, why in whys:
            run = escape(name(result.options))
            lines.append(f'<p class="bad">{word}: {run}: {escape(why)}.</p>')
    if any(result.invalid for result in done):
        lines.append(
            '<p class="note">Runs that are not valid are drawn as outlines, and their '
            "lines broken.</p>"
        )
    if not lines:
        lines.append(f'<p class="good">All right: {escape(praise(done))}.</p>')
    return "\n".join(lines)


def _table(groups: dict[str, list[Result]]) -> str:
    headings = (escape(heading(runs)).replace("\n", "<br>") for runs in groups.values())
    found = [medians([run.figures for run in runs]) for runs in groups.values()]
    verdicts = [_verdict(runs) for runs in groups.values()]
    figures = (*FIGURES, *(ACTIONS if any(row["actions/s"] for row in found) else ()))
    rows = [(what, *(shown(form, row[key]) for row in found)) for what, key, form in figures]
    rows += [
        (what, *(f"{getattr(v, key):,}" if v else "–" for v in verdicts))
        for what, key in (*ACCOUNT, *FAULTS)
    ]
    return kit.table(("", *headings), rows)


def _verdict(runs: Sequence[Result]) -> Verdict | None:
    verdicts = [run.verdict for run in runs if run.verdict is not None]
    total = Verdict()
    for verdict in verdicts:
        total += verdict
    return total if verdicts else None


def _colour(broker: str) -> str:
    kind = "ring" if broker.count("://") > 1 else broker.partition("://")[0]
    kind = {"zeromq+ipc": "zeromq", "its own forwarder": "zeromq"}.get(kind, kind)
    if kind == "rediscluster":
        return charts.tint(charts.COLOURS["redis"], 0.4)
    return charts.COLOURS.get(kind, charts.FAINT)


def _comparison(groups: dict[str, list[Result]], draw: Draw) -> str:
    """Return charts with bars that compare brokers."""
    drawn = []
    for key, what, form in (
        ("per CPU s", "Deliveries for each second of the server's CPU", "{:,.0f}"),
        ("p50", "Latency, p50, ms", "{:.1f}"),
        ("p99", "Latency, p99, ms", "{:.1f}"),
        # Brokers use from a thousandth of a core to several.
        ("broker", "CPU of the broker, cores", "{:.2g}"),
    ):
        bars = []
        for runs in groups.values():
            spread = [n for run in runs if (n := run.figures[key]) is not None]
            if not spread:
                continue
            value = statistics.median(spread)
            own = target(runs[0].options)
            text = form.format(value)
            if len(spread) > 1:
                text += f"  ({form.format(min(spread))} to {form.format(max(spread))})"
            bars.append(Bar(own, _colour(own), value, text, _doubtful(runs)))
        if any(bar.value for bar in bars):
            drawn.append(draw(charts.bar_chart(bars, what, "")))
    return "<h2>Compared</h2>" + "".join(drawn)


def _doubtful(runs: Sequence[Result]) -> bool:
    return any(run.invalid for run in runs)


def _over_time(kind: str, result: Result, draw: Draw) -> str:
    seconds = [_known(row["second"]) for row in result.series]
    ticks = seconds[:: max(len(seconds) // 8, 1)]

    def lines(*wanted: tuple[str, str, str, float]) -> list[Line]:
        return [
            Line(
                label,
                colour,
                seconds,
                [_known(row[key]) * scale for row in result.series],
                is_past=bool(result.invalid),
                marker="",
            )
            for label, key, colour, scale in wanted
        ]

    latency = lines(*((p, p, c, 1.0) for p, c in zip(PERCENTILES[:4], SHADES, strict=False)))
    cpu = lines(("swarm", "cpu", charts.FAINT, 100.0))
    for what, shade in (("server", SHADES[2]), ("broker", SHADES[4])):
        if any(row[f"{what}_cpu"] for row in result.series):
            cpu += lines((what, f"{what}_cpu", shade, 100.0))
    deliveries = lines(("deliveries", "deliveries", SHADES[2], 1.0))
    return f"<h2>{escape(kind)}, over time</h2>" + "".join(
        draw(charts.line_chart(curves, what, "seconds", unit, ticks))
        for curves, what, unit in (
            (
                latency,
                "Latency, from when a move was due until a bot knew of it or a newer one",
                "ms",
            ),
            (deliveries, "Deliveries", "a second"),
            (cpu, "CPU", "% of a core"),
        )
    )


def _ramp(broker: str, steps: list[list[Result]], draw: Draw) -> str:
    """Return charts of rate, CPU and latency against the number of bots."""
    bots = [runs[0].options.bots for runs in steps]
    found = [medians([run.figures for run in runs]) for runs in steps]

    def line(label: str, key: str, colour: str, scale: float = 1.0) -> Line:
        return Line(
            label, colour, bots, [_known(row[key]) * scale for row in found], hollow=doubtful
        )

    colour, doubtful = _colour(broker), [_doubtful(runs) for runs in steps]
    cpu = [
        line(what, what, shade, 100)
        for what, shade in (("server", colour), ("broker", charts.FAINT))
        if any(row[what] for row in found)
    ]
    latency = [line(p, p, c) for p, c in zip(PERCENTILES, SHADES, strict=True)]
    drawn = [
        charts.line_chart(curves, f"{what} against concurrency", "bots", unit, bots, True)
        for curves, what, unit in (
            ([line("deliveries", "deliveries/s", colour)], "Rate", "deliveries a second"),
            (cpu, "CPU", "% of a core"),
            (latency, "Latency", "ms"),
        )
        if curves
    ]
    drawn.append(_surface(bots, found, doubtful))
    jumps = []
    for (before, less), (after, more) in zip(
        zip(bots, found, strict=True), list(zip(bots, found, strict=True))[1:], strict=False
    ):
        for p in PERCENTILES:
            low, high = less[p], more[p]
            if low and high and high / low > JUMP:
                jumps.append(
                    f"<p class='bad'>{p} grows {high / low:.0f}-fold "
                    f"from {before:,} to {after:,} bots.</p>"
                )
    return (
        f"<h2>{escape(broker)}: more and more bots</h2>"
        + "".join(jumps)
        + "".join(draw(figure) for figure in drawn)
    )


def _known(value: float | None) -> float:
    """Return a value for a line, which has a gap where it is not known."""
    return math.nan if value is None else value


def _surface(
    bots: list[int], found: list[dict[str, float | None]], doubtful: Sequence[bool]
) -> Figure:
    """Return a chart of latency by percentile and number of bots, as coloured cells; those of runs
    that are `doubtful` are labelled as not valid."""
    grid = np.array([[max(row[p] or 0, 0.1) for row in found] for p in PERCENTILES])
    with rc_context(charts.STYLE):
        figure, axes = charts.blank("Latency by percentile and concurrency", "ms")
        axes.pcolormesh(grid, norm=LogNorm(1, 1000), cmap="YlOrRd", edgecolors=charts.PAPER)
        for (row, column), ms in np.ndenumerate(grid):
            dark = ms > 200
            axes.text(
                column + 0.5,
                row + 0.5,
                charts.short(float(ms)),
                ha="center",
                va="center",
                color="white" if dark else charts.INK,
            )
        names = [f"{n:,}" + "\nnot valid" * bad for n, bad in zip(bots, doubtful, strict=True)]
        axes.set_xticks(np.arange(len(bots)) + 0.5, names)
        axes.set_yticks(np.arange(len(PERCENTILES)) + 0.5, PERCENTILES)
        axes.set_xlabel("bots")
        axes.spines[:].set_visible(False)
        return figure
