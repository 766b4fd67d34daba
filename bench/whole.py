"""Measures the whole server under the swarm in the situations that the targets name.

Each situation is a short run of loadtest/bots.py, whose oracle must find no fault.
"""

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flatlands.loadtest.swarm.kept import run_apart

#: Seconds measured in each run; for a full measurement, seconds and the number of runs.
SECONDS, FULL_SECONDS, FULL_TIMES = 6, 8, 3

#: Seconds that a run may take besides.
BESIDES = 180

_2000 = ("--scenario", "mill", "--bots", "2000", "--squares", "88", "--joins", "1000")

#: Who walk and paint some four tiles a second, all in sight of each other.
_500 = ("--scenario", "crowd", "--bots", "500", "--rate", "2", "--store", "memory://")

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

#: The results of all runs of bots.py with the same options, as it writes them.
Results = list[dict[str, Any]]


def measure(say: Callable[[str], None], full: bool) -> dict[str, Results]:
    """Return name -> results of its runs. `say` prints what begins, and what the oracle found.

    Results include runs that went wrong: see `good`. Raises Trouble and Interrupted.
    """
    results = {}
    seconds, times = (FULL_SECONDS, FULL_TIMES) if full else (SECONDS, 1)
    for name, options in (RUNS | MORE if full else RUNS).items():
        say(f"  bots.py {' '.join(options)} ...")
        command = (*options, "--seconds", str(seconds), "--repeat", str(times))
        results[name] = run_apart(command, times * (seconds + BESIDES))
        for result in results[name]:
            for fault in (*result["faults"], *result["invalid"]):
                say(f"    ! {fault}")
    return results


def good(results: Results) -> bool:
    """Say whether all these runs are valid and without faults, so that their figures count."""
    return not any(result["faults"] or result["invalid"] for result in results)


def figures(measured: dict[str, Results]) -> dict[str, float]:
    """Return figure's name -> median over its runs. Figures of runs that are not good are left
    out."""
    results = {name: runs for name, runs in measured.items() if good(runs)}

    def median(name: str, figure: str) -> float:
        return float(statistics.median(result["figures"][figure] for result in results[name]))

    found: dict[str, float] = {}
    for name in ("400", "2000", "5000", "8000"):
        if name in results:
            found[f"{name} players: deliveries a CPU second, k"] = median(name, "per CPU s") / 1000
    for name in ("20", "50", "100", "400"):
        if name in results:
            found[f"{name} players: p50, ms"] = median(name, "p50")
    for name in ("2000", "5000", "8000"):
        if name in results:
            found[f"{name} players: p99, ms"] = median(name, "p99")
            found[f"{name} players: CPU, %"] = median(name, "server") * 100
    if "2000" in results:
        found["2000 players: memory, MB"] = median("2000", "MB")
    for name in ("pace", "mixed"):
        if name in results:
            found[f"2000 players, {name}: deliveries a CPU second, k"] = (
                median(name, "per CPU s") / 1000
            )
            found[f"2000 players, {name}: p99, ms"] = median(name, "p99")
    if "2000" in results:
        totals = [(result["totals"], result["measured"]) for result in results["2000"]]
        found["2000 players: bytes an event"] = statistics.median(
            total["bytes"] / total["events"] for total, _ in totals
        )
        found["2000 players: KB/s to each"] = statistics.median(
            total["bytes"] / measured / 2000 / 1024 for total, measured in totals
        )
    for name in ("redis", "zeromq"):
        if results.keys() >= {name, "2000"}:
            found[f"{name}, 2 workers: share of the figure of one, %"] = (
                median(name, "per CPU s") / median("2000", "per CPU s") * 100
            )
            found[f"{name}, 2 workers: CPU of the broker, %"] = median(name, "broker") * 100
    if results.keys() >= {"march", "2000"}:
        found["crossings: CPU against none"] = median("march", "server") / median("2000", "server")
    if "explore" in results:
        found["2000 explorers: CPU, %"] = median("explore", "server") * 100
        found["2000 explorers: p99, ms"] = median("explore", "p99")
    if "crowd" in results:
        found["500 in one square: p99, ms"] = median("crowd", "p99")
    if results.keys() >= {"walkers", "painters"}:
        cpu, sent = (
            {name: statistics.median(map(of, results[name])) for name in ("walkers", "painters")}
            for of in (
                lambda result: result["figures"]["server"],
                lambda result: result["totals"]["bytes"] / result["measured"],
            )
        )
        found["500 painters: CPU against walkers"] = cpu["painters"] / cpu["walkers"]
        found["500 painters: bytes against walkers"] = sent["painters"] / sent["walkers"]
    if "hurry" in results:
        found["500 in one square, 10 moves a second: p99, ms"] = median("hurry", "p99")
        found["500 in one square, 10 moves a second: KB/s to each"] = statistics.median(
            result["totals"]["bytes"] / result["measured"] / 500 / 1024
            for result in results["hurry"]
        )
    if "storm" in results:
        found["a join storm: p99 of all, ms"] = median("storm", "p99")
        found["a join storm: longest until complete, s"] = statistics.median(
            result["joining"]["max"] / 1000 for result in results["storm"]
        )
    if "idle" in results:
        found["idle players: CPU, %"] = median("idle", "server") * 100
    if results.keys() >= {"idle", "50"}:
        idle = results["idle"][0]["options"]["bots"]
        found["idle players: memory of each, KB"] = (
            (median("idle", "MB") - median("50", "MB")) * 1024 / idle
        )
    return found
