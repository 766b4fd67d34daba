"""Measures a server whose core is not enough for its players: python -m bench --overload.

A busy program on the server's core takes half of it away, so that one process of the swarm can
bring more players than the other half serves. It prints figures and never judges them.
"""

import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.machine import shared_out
from flatlands.loadtest.kit.processes import Program, Trouble
from flatlands.loadtest.swarm.result import Options, Progress, Result
from flatlands.loadtest.swarm.run import Field, run

#: Players that walk to and fro on half a core, in the runs that last.
PLAYERS = 2000, 3000, 4000

#: Players in each square, as in the runs of bench/whole.py: each hears 180 others.
SHARE = 22.6

#: Seconds that are measured with half a core, the first of them left out.
LASTS, FIRST = 14.0, 4.0

#: A run in which half of the core is gone for a while: players, and seconds before, during and
#: after.
PASSING, BEFORE, DURING, AFTER = 2000, 5.0, 10.0, 12.0

#: The server is well again when the 99th percentile is at most this many times the one before.
WELL = 1.5

#: The share of the deliveries a CPU second with a whole core that should be left, and the seconds
#: after which the server should be well again.
TARGET_SHARE, TARGET_WELL = 0.7, 5.0


class Found(NamedTuple):
    """What one run found. Latencies are in ms.

    `share` is the part of a core that the server used; `delivered` the part of the moves that
    observers were told, instead of newer ones; None if that is not known.
    """

    players: int
    thief: str
    share: float
    per_cpu: float
    p50: float
    p99: float
    delivered: float | None
    faults: list[str]


def _run(
    players: int, seconds: float, deed: Callable[[Field], None] | None, say: Callable[[str], None]
) -> Result:
    options = Options(
        bots=players,
        seconds=seconds,
        scenario="pace",
        squares=max(round(players / SHARE), 1),
        joins=1000.0,
        late=500.0,
    )
    result = run(options, _quiet, deed=deed)
    for fault in (*result.faults, *result.invalid):
        say(f"    ! {fault}")
    if not result.series:
        raise Trouble(f"{players} players: nothing was measured: {result.error}")
    return result


def _quiet(_: Progress) -> None:
    """Show nothing of a run's progress."""


def _steal(after: float, seconds: float) -> Callable[[Field], None]:
    """Return a deed that waits `after` seconds, then takes half the server's core for `seconds`."""

    def deed(_: Field) -> None:
        signals.sleep(after)
        cpus = shared_out()[0]
        thief = Program([sys.executable, "-c", "while True: pass"], "the thief", cpus=cpus)
        try:
            signals.sleep(seconds)
        finally:
            thief.end()

    return deed


def _found(players: int, thief: str, rows: Sequence[dict[str, float]], result: Result) -> Found:
    """Sum up some seconds of a run. Raises Trouble if it ended before them."""
    if not rows:
        raise Trouble(f"{players} players, {thief}: the run ended too early: {result.error}")
    cpu = sum(row["server_cpu"] for row in rows)
    verdict = result.verdict
    told = verdict is not None and verdict.expected
    return Found(
        players,
        thief,
        share=cpu / len(rows),
        per_cpu=sum(row["deliveries"] for row in rows) / max(cpu, 0.001),
        p50=statistics.median(row["p50"] for row in rows),
        p99=statistics.median(row["p99"] for row in rows),
        delivered=verdict.delivered / verdict.expected if verdict is not None and told else None,
        faults=[*result.faults, *result.invalid],
    )


def well_after(series: Sequence[dict[str, float]], begin: float, end: float) -> float | None:
    """Return after how many seconds the server was well again; None if it was not.

    `series` are rows for each second; the core was taken from `begin` to `end`, in seconds.
    """
    before = [row["p99"] for row in series if row["second"] < begin]
    if not before:
        return None
    usual = statistics.median(before)
    since = None
    for row in series:
        if row["second"] < end:
            continue
        if row["p99"] > WELL * usual:
            since = None
        elif since is None:
            since = row["second"] - end
    return since


def measure(say: Callable[[str], None]) -> dict[str, Any]:
    """Measure all runs; `say` prints a line for each. Raises Trouble and Interrupted."""
    if not shared_out()[0]:
        raise Trouble("the server needs a core of its own, and this machine has only one")
    found = []
    say(f"{'':40}{'core':>8}{'k/CPU s':>10}{'of best':>9}{'p50':>8}{'p99, ms':>9}{'told':>7}")

    def keep(one: Found) -> None:
        found.append(one)
        best = max(each.per_cpu for each in found)
        told = f"{one.delivered:7.0%}" if one.delivered is not None else f"{'-':>7}"
        what = f"{one.players} players, {one.thief}"
        mark = "  missed" if one.per_cpu < TARGET_SHARE * best else ""
        say(
            f"{what:40}{one.share:8.0%}{one.per_cpu / 1000:10.0f}{one.per_cpu / best:9.0%}"
            f"{one.p50:8.0f}{one.p99:9.0f}{told}{mark}"
        )

    result = _run(PASSING, BEFORE + DURING + AFTER, _steal(BEFORE, DURING), say)
    before = [row for row in result.series if row["second"] < BEFORE]
    during = [row for row in result.series if BEFORE + 2 < row["second"] < BEFORE + DURING]
    keep(_found(PASSING, "a whole core", before, result))
    keep(_found(PASSING, f"half a core for {DURING:g} s", during, result))
    well = well_after(result.series, BEFORE, BEFORE + DURING)
    say(
        f"  it is {'not well again' if well is None else f'well again after {well:.0f} s'} "
        f"(target: within {TARGET_WELL:g} s)"
    )
    for players in PLAYERS:
        result = _run(players, LASTS, _steal(0.0, LASTS), say)
        rows = [row for row in result.series if row["second"] > FIRST]
        keep(_found(players, "half a core", rows, result))
    return {"found": [one._asdict() for one in found], "well after, s": well}
