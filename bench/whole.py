"""Measures the whole server under the swarm in the situations that the targets name.

Each situation is a short run of loadtest/bots.py, whose oracle must find no fault.
"""

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flatlands.loadtest.swarm.result_files import run_apart

#: Each run is measured for so long.
MEASURED_SECONDS = 6
#: Each run of a full measurement is measured for so long.
FULL_SECONDS = 8
#: A full measurement has so many runs.
FULL_RUNS = 3

#: Seconds that a run may take in addition to these.
BESIDES = 180

_2000 = ("--scenario", "mill", "--bots", "2000", "--squares", "88", "--joins", "1000")

#: Players that walk, or paint, some four tiles a second, all in sight of each other.
_500 = ("--scenario", "crowd", "--bots", "500", "--rate", "2", "--store", "memory://")

#: Players beside many movers. They join slowly, while the movers are spawned.
_MOVERS = (
    *("--scenario", "mill", "--bots", "500", "--squares", "28", "--joins", "30"),
    *("--store", "memory://"),
)
_HORDE = (
    *("--scenario", "crowd", "--bots", "200", "--rate", "1", "--joins", "20"),
    *("--store", "memory://"),
)

RUNS = {
    "20": ("--scenario", "mill", "--bots", "20", "--squares", "2"),
    "50": ("--scenario", "mill", "--bots", "50", "--squares", "4"),
    "100": ("--scenario", "mill", "--bots", "100", "--squares", "6"),
    "400": ("--scenario", "mill", "--bots", "400", "--squares", "20"),
    "2000": _2000,
    "pace": ("--scenario", "pace", *_2000[2:]),
    "mixed": ("--scenario", "mixed", *_2000[2:]),
    "march": ("--scenario", "march", *_2000[2:]),
    "explore": ("--scenario", "explore", "--bots", "2000", "--joins", "1000"),
    "crowd": ("--scenario", "crowd", "--bots", "500", "--rate", "1"),
    "500": _MOVERS,
    "movers": (*_MOVERS, "--game", str(Path(__file__).with_name("moving.py"))),
    "200": _HORDE,
    "horde": (*_HORDE, "--game", str(Path(__file__).with_name("horde.py"))),
    "idle": ("--rate", "0", "--bots", "8000", "--squares", "400", "--joins", "1000"),
    "walkers": (*_500, "--game", "quiet"),
    "painters": (*_500, "--game", str(Path(__file__).with_name("painted.py"))),
}

#: The runs that only a full measurement has, or has in place of the others.
MORE = {
    "5000": ("--scenario", "mill", "--bots", "5000", "--squares", "222", "--joins", "1000"),
    "8000": ("--scenario", "mill", "--bots", "8000", "--squares", "356", "--joins", "1000"),
    "redis": (*_2000, "--broker", "redis://", "--workers", "2"),
    "zeromq": (*_2000, "--broker", "zeromq://", "--workers", "2"),
    "hurry": ("--scenario", "crowd", "--bots", "500", "--rate", "10"),
    "storm": ("--scenario", "storm", "--bots", "2000"),
    "idle": ("--rate", "0", "--bots", "10000", "--squares", "444", "--joins", "1000"),
}

#: The runs with the most players.
LARGE = "400", "2000", "5000", "8000"

#: The results of all runs of bots.py with the same options, as it writes them.
#: A run, as --json of the swarm keeps it.
Result = dict[str, Any]
Results = list[Result]


def measure(say: Callable[[str], None], full: bool) -> dict[str, Results]:
    """Return name -> results of its runs. `say` prints what begins, and what the oracle found.

    Results include runs that went wrong: see `good`. Raises Trouble and Interrupted.
    """
    results = {}
    seconds, times = (FULL_SECONDS, FULL_RUNS) if full else (MEASURED_SECONDS, 1)
    for name, options in (RUNS | MORE if full else RUNS).items():
        say(f"  bots.py {' '.join(options)} ...")
        command = (*options, "--seconds", str(seconds), "--repeat", str(times))
        results[name] = run_apart(command, times * (seconds + BESIDES))
        for result in results[name]:
            for fault in (*result["faults"], *result["invalid"]):
                say(f"    ! {fault}")
    return results


def good(results: Results) -> bool:
    """Return whether all these runs are valid and without faults, so that their figures count."""
    return not any(result["faults"] or result["invalid"] for result in results)


def _sent(result: Result) -> float:
    """Return the bytes a second to all players."""
    return float(result["totals"]["bytes"] / result["measured"])


def _event(result: Result) -> float:
    """Return the bytes of an event."""
    return float(result["totals"]["bytes"] / result["totals"]["events"])


#: The figures: a name, in which {} stands for a run; the runs; the figure of a run, or a function
#: that returns it; a factor; and the run by whose figure it is divided, if there is one.
FIGURES: tuple[tuple[str, tuple[str, ...], str | Callable[[Result], float], float, str], ...] = (
    ("{} players: deliveries a CPU second, k", LARGE, "per CPU s", 0.001, ""),
    ("{} players: p50, ms", ("20", "50", "100", "400"), "p50", 1, ""),
    ("{} players: p99, ms", LARGE[1:], "p99", 1, ""),
    ("{} players: CPU, %", LARGE[1:], "server", 100, ""),
    ("2000 players: memory, MB", ("2000",), "MB", 1, ""),
    ("2000 players, {}: deliveries a CPU second, k", ("pace", "mixed"), "per CPU s", 0.001, ""),
    ("2000 players, {}: p99, ms", ("pace", "mixed"), "p99", 1, ""),
    ("2000 players: bytes an event", ("2000",), _event, 1, ""),
    ("2000 players: KB/s to each", ("2000",), _sent, 1 / 2000 / 1024, ""),
    (
        *("{}, 2 workers: share of the figure of one, %", ("redis", "zeromq")),
        *("per CPU s", 100, "2000"),
    ),
    ("{}, 2 workers: CPU of the broker, %", ("redis", "zeromq"), "broker", 100, ""),
    ("crossings: CPU against none", ("march",), "server", 1, "2000"),
    ("2000 explorers: CPU, %", ("explore",), "server", 100, ""),
    ("2000 explorers: p99, ms", ("explore",), "p99", 1, ""),
    ("200 and 1000 movers in one square: KB/s to each", ("horde",), _sent, 1 / 200 / 1024, ""),
    ("200 in one square: KB/s to each", ("200",), _sent, 1 / 200 / 1024, ""),
    ("500 in one square: p99, ms", ("crowd",), "p99", 1, ""),
    ("500 painters: CPU against walkers", ("painters",), "server", 1, "walkers"),
    ("500 painters: bytes against walkers", ("painters",), _sent, 1, "walkers"),
    ("500 in one square, 10 moves a second: p99, ms", ("hurry",), "p99", 1, ""),
    (
        *("500 in one square, 10 moves a second: KB/s to each", ("hurry",)),
        *(_sent, 1 / 500 / 1024, ""),
    ),
    ("a join storm: p99 of all, ms", ("storm",), "p99", 1, ""),
    (
        *("a join storm: longest until complete, s", ("storm",)),
        *(lambda result: float(result["joining"]["max"]), 0.001, ""),
    ),
    ("idle players: CPU, %", ("idle",), "server", 100, ""),
)


def figures(measured: dict[str, Results]) -> dict[str, float]:
    """Return a figure's name -> its median over the runs. Figures of runs that are not good are
    left out."""
    results = {name: runs for name, runs in measured.items() if good(runs)}

    def median(name: str, of: str | Callable[[Result], float]) -> float:
        values = (of(one) if callable(of) else one["figures"][of] for one in results[name])
        return float(statistics.median(values))

    found = {
        figure.format(name): median(name, of) * times / (median(to, of) if to else 1)
        for figure, names, of, times, to in FIGURES
        for name in names
        if results.keys() >= {name, to or name}
    }
    if results.keys() >= {"movers", "500"}:
        for name, of, times in (("CPU, %", "server", 100), ("memory, MB", "MB", 1)):
            found[f"10000 movers: {name}"] = (median("movers", of) - median("500", of)) * times
    if results.keys() >= {"idle", "50"}:
        more = median("idle", "MB") - median("50", "MB")
        idle = results["idle"][0]["options"]["bots"]
        found["idle players: memory of each, KB"] = more * 1024 / idle
    return found
