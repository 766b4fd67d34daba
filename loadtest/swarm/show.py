"""Shows runs in the terminal: their progress, and tables of their results."""

import contextlib
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rich.live import Live
from rich.table import Table

from flatlands.loadtest.kit.brokers import bare
from flatlands.loadtest.kit.machine import pinned
from flatlands.loadtest.kit.terminal import Terminal
from flatlands.loadtest.swarm.result import Options, Progress, Result, Show

#: Seconds between two lines of progress, if standard output is no terminal.
LINE_EVERY = 5.0

#: Seconds after which a phase has its first line.
FIRST_LINE_AFTER = 1.0

#: The rows of the table: the row's name, the figure's key, and its format.
FIGURES = (
    ("moves a second", "moves/s", "{:,.0f}"),
    ("deliveries a second", "deliveries/s", "{:,.0f}"),
    ("latency, ms: p50", "p50", "{:.1f}"),
    ("p90", "p90", "{:.1f}"),
    ("p99", "p99", "{:.1f}"),
    ("p99.9", "p99.9", "{:.1f}"),
    ("max", "max", "{:.1f}"),
    ("CPU, of a core: server", "server", "{:.0%}"),
    ("broker", "broker", "{:.0%}"),
    ("each process of the swarm", "swarm", "{:.0%}"),
    ("deliveries per server CPU second", "per CPU s", "{:,.0f}"),
    ("server memory, MB", "MB", "{:.0f}"),
)
ACCOUNT = (
    ("observers", "observers"),
    ("expected", "expected"),
    ("= delivered", "delivered"),
    ("+ replaced by a newer move", "replaced"),
    ("+ skipped for a slow client", "skipped"),
    ("+ in a square told of late", "unheld"),
    ("+ dropped and counted", "dropped"),
    ("+ missing", "missing"),
    ("heard besides, rightly", "extra"),
    ("late (over 2 s)", "late"),
    ("told of nobody", "lacking"),
    ("told from afar by a late server", "lingering"),
    ("squares on several screens", "squares"),
)
FAULTS = (
    ("heard from too far away", "foreign"),
    ("duplicate", "duplicate"),
    ("out of order", "reordered"),
    ("late, and nobody else", "stale"),
    ("ghosts at the end", "ghosts"),
    ("unseen at the end", "unseen"),
    ("wrong at the end", "wrong"),
    ("told in a wrong square", "misplaced"),
    ("stalled in lockstep", "stalled"),
    ("last move unanswered", "unanswered"),
    ("tiles and things that differ", "differ"),
)
#: The rows about bots that were cut off or sent away. They are shown if there were any.
RETURNS = (
    ("sent away, or cut off", "cuts"),
    ("back as themselves", "as_themselves"),
    ("back as somebody else", "as_others"),
    ("not back at the end", "never"),
    ("away, s: median", "median"),
    ("most", "most"),
)


def name(options: Options) -> str:
    """Return the name of a run: scenario, bots, broker or server, and workers."""
    workers = f", {options.workers} workers" if options.workers > 1 else ""
    return f"{options.scenario}, {options.bots:,} bots, {target(options)}{workers}"


def target(options: Options) -> str:
    """Return the broker of a server that is started, or the URL of a running server, without its
    password."""
    own = "its own forwarder" if options.workers > 1 else "memory://"
    return bare(options.url or options.broker or own)


def title(options: Options, number: int, of: int) -> str:
    """Return the heading of the run with this number, of so many."""
    server, swarm = (
        ((), ()) if options.url else pinned(options.pin, options.workers, options.processes)
    )
    cores = f"; server on {_cores(server)}, swarm on {_cores(swarm)}" if server else ""
    return f"{name(options)}{cores}" + (f" ({number} of {of})" if of > 1 else "")


def _cores(which: Sequence[int]) -> str:
    return f"core{'s' if len(which) > 1 else ''} {', '.join(map(str, which))}"


def figures(result: Result) -> dict[str, float]:
    """Return the figures of a run for tables and charts.

    Latencies are in ms, CPU in cores. `per CPU s` is the number of deliveries in each second of the
    server's CPU.
    """
    totals, seconds = result.totals, result.measured or 1
    cpu = totals.get("server_cpu", 0.0)
    deliveries = totals.get("deliveries", 0)
    return {
        "moves/s": totals.get("moves", 0) / seconds,
        "deliveries/s": deliveries / seconds,
        **{key: result.latency.get(key, 0.0) for key in ("p50", "p90", "p99", "p99.9", "max")},
        "server": cpu / seconds,
        "broker": totals.get("broker_cpu", 0.0) / seconds,
        "swarm": totals.get("swarm_cpu", 0.0) / seconds / result.options.processes,
        "per CPU s": deliveries / cpu if cpu else 0.0,
        "MB": totals.get("server_mb", 0.0),
    }


def praise(done: Sequence[Result]) -> str:
    """Return a sentence that says what was right in runs without a fault."""
    expected = sum(run.verdict.expected for run in done if run.verdict)
    return f"{expected:,} of {expected:,} expected deliveries accounted for"


def grouped(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return name -> runs with that name, without those that measured nothing."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        if result.measured:
            groups.setdefault(name(result.options), []).append(result)
    return groups


def medians(results: Sequence[Result]) -> dict[str, float]:
    """Return the medians of each figure over several runs."""
    rows = [figures(result) for result in results]
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def unknown(done: Sequence[Result]) -> list[str]:
    """Return sentences that say why figures of runs are not known; none if all are."""
    found = []
    if any(run.options.url and run.measured and not figures(run)["server"] for run in done):
        found.append(
            "CPU and memory of the server are not known: it was not started for the run, and tells "
            "them only with --admin-token."
        )
    if any(run.options.url or re.search("://[^,]", run.options.broker) for run in done):
        found.append("CPU of the broker is not known: it was not started for the run.")
    return found


def heading(runs: Sequence[Result]) -> str:
    """Return the heading of the column for runs of one name, in several lines."""
    options = runs[0].options
    lines = [options.scenario, f"{options.bots:,} bots", target(options)]
    if options.workers > 1:
        lines.append(f"{options.workers} workers")
    if len(runs) > 1:
        lines.append(f"median of {len(runs)}")
    return "\n".join(lines)


class Display(Terminal):
    """A terminal that shows the progress of runs, and their results."""

    @contextlib.contextmanager
    def following(self, title: str, options: Options) -> Iterator[Show]:
        """Yield a function that shows a run's progress while the block runs."""
        self.say(title)
        if not self.console.is_terminal:
            yield self._lines(options)
            return
        with Live(console=self.console, transient=True, auto_refresh=False) as live:
            yield lambda progress: live.update(_board(progress, options), refresh=True)

    def _lines(self, options: Options) -> Show:
        last = [0.0, ""]

        def line(progress: Progress) -> None:
            now = time.monotonic()
            if progress.phase != last[1]:
                # The first moments of a phase have no figures yet.
                last[:] = now - LINE_EVERY + FIRST_LINE_AFTER, progress.phase
            if now - last[0] < LINE_EVERY:
                return
            last[:] = now, progress.phase
            self.say(
                f"  {progress.phase} {progress.seconds:.0f} s: {progress.bots:,} bots, "
                f"{progress.moves:,.0f} moves/s, {progress.deliveries:,.0f} deliveries/s, "
                f"p99 {progress.p99:.0f} ms, CPU {_cpu(progress)}"
            )

        return line

    def table(self, results: Sequence[Result]) -> None:
        """Print the results of runs: speed, account of deliveries, faults, and returns."""
        groups = grouped(results)
        if not groups:
            return
        self.say("")
        table = Table(show_edge=False, pad_edge=False)
        table.add_column("")
        for runs in groups.values():
            table.add_column(heading(runs), justify="right")
        found = [medians(runs) for runs in groups.values()]
        for what, key, form in FIGURES:
            table.add_row(what, *(form.format(row[key]) if row[key] else "-" for row in found))
        table.add_section()
        if any(run.verdict for runs in groups.values() for run in runs):
            for rows in (ACCOUNT, FAULTS):
                for what, key in rows:
                    table.add_row(what, *(_sum(runs, key) for runs in groups.values()))
                table.add_section()
        if any(run.returns and run.returns.cuts for runs in groups.values() for run in runs):
            for what, key in RETURNS:
                table.add_row(what, *(_returned(runs, key) for runs in groups.values()))
            table.add_section()
        self.print(table)
        for why in unknown(results):
            self.say(why)


def _returned(runs: Sequence[Result], key: str) -> str:
    found = [run.returns for run in runs if run.returns is not None]
    away = sorted(seconds for one in found for seconds in one.away)
    if key == "median":
        return f"{statistics.median(away):.1f}" if away else "-"
    if key == "most":
        return f"{away[-1]:.1f}" if away else "-"
    return f"{sum(getattr(one, key) for one in found):,}" if found else "-"


def _sum(runs: Sequence[Result], key: str) -> str:
    verdicts = [run.verdict for run in runs if run.verdict is not None]
    return f"{sum(getattr(verdict, key) for verdict in verdicts):,}" if verdicts else "-"


def _cpu(progress: Progress) -> str:
    parts = ("server", progress.server), ("broker", progress.broker), ("swarm", progress.swarm)
    return " ".join(f"{what} {f'{cores:.0%}' if cores else '-'}" for what, cores in parts)


def _board(progress: Progress, options: Options) -> Any:
    table = Table.grid(padding=(0, 2))
    rows = (
        (
            progress.phase,
            f"{progress.seconds:.0f} s"
            + (f" of {options.seconds:.0f}" if progress.phase == "measuring" else ""),
        ),
        ("bots", f"{progress.bots:,} of {options.bots:,}"),
        ("moves/s", f"{progress.moves:,.0f}"),
        ("deliveries/s", f"{progress.deliveries:,.0f}"),
        ("p99", f"{progress.p99:.1f} ms"),
        ("CPU", _cpu(progress)),
    )
    for key, value in rows:
        table.add_row(f"  {key}", value)
    return table
