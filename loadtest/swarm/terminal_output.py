"""Shows runs in the terminal: their progress, and tables of their results."""

import contextlib
import re
import statistics
import time
from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from flatlands.loadtest.kit.machine import pinned
from flatlands.loadtest.kit.options import bare
from flatlands.loadtest.kit.terminal import Terminal
from flatlands.loadtest.swarm.oracle import FAULTS
from flatlands.loadtest.swarm.result import Options, Progress, Result, Show

#: Seconds between two lines of progress, if standard output is not a terminal.
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
#: The rows about actions. They are shown if there were any.
ACTIONS = (
    ("actions a second", "actions/s", "{:,.1f}"),
    ("of which were refused", "refusals/s", "{:,.1f}"),
    ("whose effect was seen", "effect seen", "{:.0%}"),
    ("events a second", "events/s", "{:,.0f}"),
    ("until the effect, ms: p50", "effect p50", "{:.1f}"),
    ("p95", "effect p95", "{:.1f}"),
    ("p99", "effect p99", "{:.1f}"),
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
#: Everything for which there may be a threshold.
VALUES = tuple(key for _, key, *_ in (*FIGURES, *ACTIONS, *ACCOUNT))
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
    """Return the heading of the run with this number, out of `of` runs."""
    server, swarm = (
        ((), ()) if options.url else pinned(options.pin, options.workers, options.processes)
    )
    cores = f"; server on {_cores(server)}, swarm on {_cores(swarm)}" if server else ""
    return f"{name(options)}{cores}" + (f" ({number} of {of})" if of > 1 else "")


def _cores(which: Sequence[int]) -> str:
    return f"core{'s' if len(which) > 1 else ''} {', '.join(map(str, which))}"


def praise(done: Sequence[Result]) -> str:
    """Return a sentence that says what was right in runs without a fault."""
    expected = sum(run.verdict.expected for run in done if run.verdict)
    actions, refusals = (
        sum(run.totals.get(name) or 0 for run in done) for name in ("actions", "refusals")
    )
    found = [f"{expected:,} of {expected:,} expected deliveries accounted for"]
    if actions:
        acted = f"{actions:,.0f} actions, of which {refusals:,.0f} were refused"
        found = [*found, acted] if expected else ["nobody walked", acted]
    return "; ".join(found)


def grouped(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return name -> runs with that name, without those that measured nothing."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        if result.measured:
            groups.setdefault(name(result.options), []).append(result)
    return groups


def values(result: Result) -> dict[str, float | None]:
    """Return everything for which there may be a threshold: a run's figures, and its account of
    deliveries; None stands for what is not known."""
    verdict = result.verdict
    counts = {key: getattr(verdict, key) if verdict else None for _, key in ACCOUNT}
    return {**result.figures, **counts}


def medians(rows: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    """Return the medians of each figure over several runs."""
    found: dict[str, float | None] = {}
    for key in rows[0]:
        known = [value for row in rows if (value := row[key]) is not None]
        found[key] = statistics.median(known) if known else None
    return found


def crossed(runs: Sequence[Result]) -> list[str]:
    """Return sentences about the thresholds that the medians of runs of one name cross: none if one
    of the runs is not valid."""
    found = medians([values(run) for run in runs])
    if any(run.invalid for run in runs):
        return []
    limits = runs[0].options.fail_if
    return [sentence for limit in limits if (sentence := limit.crossed(found))]


def shown(form: str, value: float | None) -> str:
    """Return a figure as tables show it."""
    return "-" if value is None else form.format(value)


def state(result: Result) -> str:
    """Return a run's verdict in a word or two."""
    if result.faults:
        return "failed"
    return "not valid" if result.invalid else "all right"


def unknown(done: Sequence[Result]) -> list[str]:
    """Return sentences that say why figures of runs are not known; none if all are."""
    found = []
    if any(run.options.url and run.measured and run.figures["server"] is None for run in done):
        found.append(
            "The server's CPU time and memory are unknown: it was already running, and reports "
            "them only with --admin-token."
        )
    if any(run.options.url or re.search("://[^,]", run.options.broker) for run in done):
        found.append("The broker's CPU time is unknown: it was already running.")
    return found


def generators(done: Sequence[Result]) -> list[str]:
    """Return sentences about the generators on other machines, and the latencies between them."""
    found = []
    for run in done:
        for it in run.generators:
            found.append(
                f"{it['name']}: {it['processes']} process(es). Its clock was compared by trips of "
                f"{it['trip_ms']:.2f} ms, and has moved by {it['moved_ms']:.2f} ms meanwhile: its "
                f"times are right to {it['uncertain_ms']:.2f} ms."
            )
        if run.generators and run.between:
            p50, p99 = run.between["p50"], run.between["p99"]
            off = sum(sorted(it["uncertain_ms"] for it in run.generators)[-2:])
            found.append(
                "The latencies above are within each generator, by its own clock. From one to "
                f"another, as observers were told: p50 {p50:.1f} ms, p99 {p99:.1f} ms, right to "
                f"{off:.2f} ms."
            )
    return found


def heading(runs: Sequence[Result]) -> str:
    """Return the heading of the column for runs of one name, in several lines."""
    options = runs[0].options
    lines = [options.scenario, f"{options.bots:,} bots", target(options)]
    if options.workers > 1:
        lines.append(f"{options.workers} workers")
    if len(runs) > 1:
        lines.append(f"median of {len(runs)}")
    if bad := sum(bool(run.invalid) for run in runs):
        lines.append(f"{bad} not valid" if len(runs) > 1 else "not valid")
    return "\n".join(lines)


class Display(Terminal):
    """A terminal that shows the progress of runs, and their results."""

    @contextlib.contextmanager
    def following(self, title: str, options: Options) -> Iterator[Show]:
        """Yield a function that shows a run's progress while the block runs."""
        self.say(title)
        if not self.console.is_terminal:
            yield self._lines()
            return
        with Live(console=self.console, transient=True, auto_refresh=False) as live:
            yield lambda progress: live.update(_board(progress), refresh=True)

    def _lines(self) -> Show:
        last, phase = 0.0, ""

        def line(progress: Progress) -> None:
            nonlocal last, phase
            now = time.monotonic()
            if progress.phase != phase:
                # The first moments of a phase have no figures yet.
                last, phase = now - LINE_EVERY + FIRST_LINE_AFTER, progress.phase
            if now - last < LINE_EVERY:
                return
            last = now
            figures = " ".join(f"{what} {value}" for what, value, _ in _lively(progress))
            self.say(
                f"  {progress.phase} {progress.seconds:.0f} s: {progress.bots:,} bots {figures}; "
                f"{so_far(progress)}"
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
        found = [medians([run.figures for run in runs]) for runs in groups.values()]
        for figures in (FIGURES, ACTIONS if any(row["actions/s"] for row in found) else ()):
            for what, key, form in figures:
                table.add_row(what, *(shown(form, row[key]) for row in found))
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
        for why in [*unknown(results), *generators(results)]:
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


def so_far(progress: Progress) -> str:
    """Return the verdict so far: what is wrong, or else that nothing is. What the oracle counts is
    known only at the end, when it judges."""
    result = progress.so_far
    wrong = [f"failed: {fault}" for fault in result.faults]
    if progress.phase in ("measuring", "settling", "reporting"):
        wrong += [f"not valid: {why}" for why in result.invalid]
        known = values(result)
        limits = [limit for limit in result.options.fail_if if known[limit.figure] is not None]
        wrong += [f"crossed: {why}" for limit in limits if (why := limit.crossed(known))]
    return "; ".join(wrong) or "all right so far"


#: The figures that are shown while a run goes on, by their names there.
LIVELY = {
    **{key: key for key in ("moves/s", "deliveries/s", "p50", "p90", "p99", "p99.9", "max")},
    "CPU server": "server",
    "broker": "broker",
    "swarm": "swarm",
}
_FORMS = {key: form for _, key, form in FIGURES}


def _lively(progress: Progress) -> list[tuple[str, str, str]]:
    """Return names and values, of the last second and so far."""
    then = progress.so_far.figures
    return [
        (name, shown(_FORMS[key], progress.now[key]), shown(_FORMS[key], then[key]))
        for name, key in LIVELY.items()
    ]


def _board(progress: Progress) -> Group:
    seconds, options = f"{progress.seconds:.0f} s", progress.so_far.options
    if progress.phase == "measuring":
        seconds += f" of {options.seconds:.0f}"
    table = Table.grid(padding=(0, 2))
    bots = f"{progress.bots:,} of {options.bots:,}"
    heads = (progress.phase, seconds, ""), ("bots", bots, ""), ("", "last second", "so far")
    for what, *cells in (*heads, *_lively(progress)):
        table.add_row(f"  {what}", *cells)
    return Group(table, Text(f"  {so_far(progress)}"))
