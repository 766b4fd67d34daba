"""`bots.py compare A.json B.json`: what differs between runs beyond their spread.

A figure differs if all runs of one file are above all runs of the other one, and their medians are
farther apart than the runs of either file among themselves, and than 1 %, since latencies are
counted in classes of 0.8 %. Fewer than five runs show no spread: then nothing is said to differ.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from flatlands.loadtest.kit.options import Parser
from flatlands.loadtest.kit.terminal import Terminal
from flatlands.loadtest.kit.thresholds import CROSSED
from flatlands.loadtest.swarm.terminal_output import ACTIONS, FIGURES, shown

#: The figures of which more is better.
MORE_IS_BETTER = ("per CPU s",)
#: The figures, set by the load, of which neither more nor less is better.
NEITHER = ("moves/s", "deliveries/s", "actions/s", "refusals/s", "events/s")

#: Facts about a machine that hold only at the moment.
_MOMENTARY = ("date", "load_before")

#: The fewest runs of each file that show a spread. Of three runs of the same thing one figure in 22
#: would differ by chance, of five one in 550.
RUNS_LEAST = 5
#: The least change, as a share.
CHANGE_LEAST = 0.01

#: What a figure was in each run.
Values = list[float]


def main(arguments: Sequence[str]) -> int:
    """Print what differs; return 0 if nothing is worse in the second file, and CROSSED if it is."""
    parser = Parser(
        "bots.py compare",
        "Say which figures differ between two files by more than they vary among the runs of\n"
        f"each file: --repeat {RUNS_LEAST} --json FILE keeps {RUNS_LEAST} runs. With fewer valid "
        "runs nothing is said\nto differ.",
        "A figure differs if all runs of one file are above all of the other, and the medians are\n"
        "farther apart than the runs of either file, and than 1 %. The exit code is 0 if nothing\n"
        "is worse, 99 if something is, 2 for bad files.",
    )
    for name in ("before", "after"):
        parser.add_argument(name, type=_kept, metavar=f"{name.upper()}.json")
    given = parser.parse_args(arguments)
    before, after = _groups(given.before), _groups(given.after)
    if not (both := [name for name in before if name in after]):
        parser.error(
            "the files have no valid runs with the same scenario, bots, broker and workers"
        )
    terminal, worse = Terminal(), False
    for what in _machines(given.before["machine"], given.after["machine"]):
        terminal.say(f"not the same machine: {what}")
    for name in both:
        terminal.say(f"{name}: {len(before[name])} and {len(after[name])} runs")
        rows = []
        acted = any(any(_values(runs, "actions/s")) for runs in (before[name], after[name]))
        for what, key, form in (*FIGURES, *(ACTIONS if acted else ())):
            pair = _values(before[name], key), _values(after[name], key)
            word = verdict(key, *pair)
            worse |= word == "worse"
            rows.append((what, *(_span(form, one) for one in pair), _change(*pair), word))
        _print(terminal, rows)
        if min(len(before[name]), len(after[name])) < RUNS_LEAST:
            terminal.say(
                f"Fewer than {RUNS_LEAST} valid runs show no spread, so nothing is said to differ: "
                f"use --repeat {RUNS_LEAST} or more."
            )
    left = sorted(set(before) ^ set(after))
    if left:
        terminal.say(f"in one file only: {'; '.join(left)}")
    return CROSSED if worse else 0


def verdict(figure: str, before: Values, after: Values) -> str:
    """Return "better", "worse", or "differs" for a figure that cannot be either; an empty text if
    it does not differ beyond the spread, or if that is not known."""
    if min(len(before), len(after)) < RUNS_LEAST:
        return ""
    more, middle = min(after) > max(before), statistics.median(before)
    apart = abs(statistics.median(after) - middle)
    spread = max(*(max(runs) - min(runs) for runs in (before, after)), CHANGE_LEAST * middle)
    if not (more or max(after) < min(before)) or apart <= spread:
        return ""
    if figure in NEITHER:
        return "differs"
    return "better" if more == (figure in MORE_IS_BETTER) else "worse"


def _kept(text: str) -> dict[str, Any]:
    """Return what --json has kept in a file."""
    try:
        found = json.loads(Path(text).read_text())
        assert found["machine"] and all("figures" in run for run in found["runs"])
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise argparse.ArgumentTypeError(f"{text} has no runs that bots.py has kept") from error
    return dict(found)


def _groups(kept: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return name -> the figures of each run of that name that was measured and is valid."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in kept["runs"]:
        options = run["options"]
        where = options["url"] or options["broker"] or "the server's own broker"
        name = f"{options['scenario']}, {options['bots']:,} bots, {where}"
        name += f", {options['workers']} workers" * (options["workers"] > 1)
        if run["measured"] and not run["invalid"]:
            groups.setdefault(name, []).append(run["figures"])
    return groups


def _values(runs: Sequence[dict[str, Any]], key: str) -> Values:
    return [run[key] for run in runs if run.get(key) is not None]


def _machines(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    names = [name for name in one if name not in _MOMENTARY and one[name] != other.get(name)]
    return [f"{name}: {one[name]} and {other.get(name)}" for name in names]


def _span(form: str, runs: Values) -> str:
    if not runs:
        return "-"
    median = shown(form, statistics.median(runs))
    ends = [shown(form, end) for end in (min(runs), max(runs))]
    return f"{median} ({ends[0]} to {ends[1]})" if len(runs) > 1 else median


def _change(before: Values, after: Values) -> str:
    if not (before and after and statistics.median(before)):
        return "-"
    return f"{statistics.median(after) / statistics.median(before) - 1:+.1%}"


def _print(terminal: Terminal, rows: Sequence[Sequence[str]]) -> None:
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("", "before", "after", "change", "beyond the spread"):
        table.add_column(heading, justify="right" if heading else "left")
    for row in rows:
        table.add_row(*row)
    terminal.print(table)
