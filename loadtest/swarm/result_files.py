"""Keeps the results of runs: as JSON, CSV, text for Prometheus, and as a page; runs the swarm for
other programs."""

import csv
import json
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, TypedDict

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

from flatlands.loadtest.kit.machine import machine
from flatlands.loadtest.kit.options import bare
from flatlands.loadtest.kit.page import write_json
from flatlands.loadtest.kit.processes import END_SECONDS, ROOT, Program, Trouble
from flatlands.loadtest.swarm import terminal_output
from flatlands.loadtest.swarm.oracle import FAULTS
from flatlands.loadtest.swarm.result import Progress, Result, Show


class Document(TypedDict):
    """What --json keeps of all runs; `crossed` has sentences about thresholds, by names of runs."""

    command: str
    machine: dict[str, object]
    crossed: dict[str, list[str]]
    runs: list[dict[str, object]]


def as_dict(result: Result) -> dict[str, object]:
    """Return a run's result as a value for JSON, without passwords."""
    verdict, found = result.verdict, asdict(result)
    options = found["options"]
    for of, name in ((found, "broker"), (options, "broker"), (options, "url")):
        of[name] = of[name] and bare(of[name])
    return {
        **found,
        "screens": _screens(result),
        "adds_up": verdict.adds_up if verdict else None,
        "faults": result.faults,
        "figures": {key: n if n is None else round(n, 4) for key, n in result.figures.items()},
    }


def _screens(result: Result) -> dict[str, object] | None:
    screens = result.screens
    if screens is None:
        return None
    return {"looks": screens.looks, "lasting": screens.lasting, "longest": screens.longest}


def as_json(done: Sequence[Result], token: str = "") -> Document:
    """Return the results of all runs as a value for JSON, with the command and the machine. It
    contains no password, and not the admin `token` that the command has."""
    command = [bare(word).replace(token or "\0", "TOKEN") for word in sys.argv]
    return {
        "command": shlex.join(["python", *command]),
        "machine": machine(),
        "crossed": {
            name: terminal_output.crossed(runs)
            for name, runs in terminal_output.grouped(done).items()
        },
        "runs": [as_dict(result) for result in done],
    }


def _labels(result: Result) -> dict[str, str | int]:
    options = result.options
    return {
        "scenario": options.scenario,
        "bots": options.bots,
        "target": terminal_output.target(options),
        "workers": options.workers,
    }


def write_csv(path: Path, done: Sequence[Result]) -> None:
    """Write a row for each run, with its verdict, all figures, and the account of deliveries. What
    is not known is empty."""
    faults = [key for _, key in FAULTS]
    with path.open("w", newline="") as file:
        columns = ["scenario", "bots", "target", "workers", "seed", "verdict", "seconds"]
        rows = csv.DictWriter(file, [*columns, *terminal_output.VALUES, *faults])
        rows.writeheader()
        for result in done:
            found = {"seed": result.seed, "verdict": terminal_output.state(result)}
            found |= {
                "seconds": result.measured,
                **_labels(result),
                **terminal_output.values(result),
            }
            found |= {key: getattr(result.verdict, key, None) for key in faults}
            rows.writerow(found)


#: Figure -> its name for Prometheus, and the factor by which it is multiplied there.
METRICS = {
    "moves/s": ("moves_per_second", 1),
    "deliveries/s": ("deliveries_per_second", 1),
    "actions/s": ("actions_per_second", 1),
    "refusals/s": ("refusals_per_second", 1),
    "effect seen": ("effects_seen", 1),
    "events/s": ("events_per_second", 1),
    "server": ("server_cpu_cores", 1),
    "broker": ("broker_cpu_cores", 1),
    "swarm": ("process_cpu_cores", 1),
    "per CPU s": ("deliveries_per_server_cpu_second", 1),
    "MB": ("server_memory_bytes", 2**20),
    **{key: (f"deliveries_{key}", 1) for _, key in terminal_output.ACCOUNT},
}


#: What a figure's name has before its percentile -> its name for Prometheus, and what it is.
QUANTILES = {
    "": (
        "latency_seconds",
        "Seconds from when a move was due until a bot knew of it or a newer one.",
    ),
    "effect": ("effect_seconds", "Seconds from when an action was due until its effect was seen."),
}


def write_prometheus(path: Path, done: Sequence[Result]) -> None:
    """Write the figures of runs as Prometheus reads them; of several with one name, those of the
    last one. What is not known is left out. No reader ever sees a part of the file."""
    registry = CollectorRegistry()
    gauges: dict[str, Gauge] = {}

    def tell(name: str, about: str, value: float | None, labels: dict[str, str | int]) -> None:
        if name not in gauges:
            gauges[name] = Gauge(f"flatlands_swarm_{name}", about, labels, registry=registry)
        if value is not None:
            gauges[name].labels(**labels).set(value)

    for result in done:
        labels = _labels(result)
        tell("measured_seconds", "Seconds that were measured.", result.measured, labels)
        right = terminal_output.state(result) == "all right"
        tell("right", "Whether nothing is wrong, and the figures may be believed.", right, labels)
        for key, value in terminal_output.values(result).items():
            if key in METRICS:
                name, scale = METRICS[key]
                scaled = value if value is None else value * scale
                tell(name, f"What the swarm's table has as: {key}.", scaled, labels)
            elif value is not None:
                effect, _, percentile = key.rpartition(" ")
                part = 1 if key == "max" else float(percentile[1:]) / 100
                what, about = QUANTILES[effect]
                tell(what, about, value / 1000, {**labels, "quantile": f"{part:g}"})
    write_to_textfile(str(path), registry)


def telling(path: Path, further: Show) -> Show:
    """Return a function that writes a run's progress for Prometheus, and passes it to `further`."""

    def tell(progress: Progress) -> None:
        write_prometheus(path, [progress.so_far])
        further(progress)

    return tell


def write_report(folder: Path, done: Sequence[Result], token: str = "") -> None:
    """Write into a folder: `index.html`, which needs no other file, its charts as numbered SVG and
    PNG files, and `runs.json`. `token` is as in `as_json`."""
    # They are imported here because matplotlib takes a second to load.
    from flatlands.loadtest.kit import charts
    from flatlands.loadtest.swarm.page import page

    found = as_json(done, token)
    write_json(folder / "runs.json", found)
    drawn = count(1)

    def draw(figure: charts.Figure) -> str:
        return charts.save(figure, folder, f"{next(drawn):02}")

    (folder / "index.html").write_text(page(done, found["machine"], found["command"], draw))


def run_apart(
    options: Sequence[str],
    seconds: float,
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Run bots.py of the clone in a folder with these options; return the results of its runs, as
    `as_dict` makes them. `environment` is added to its variables.

    Raises Trouble if it has not ended after `seconds` or has measured nothing, and
    Interrupted.
    """
    with tempfile.TemporaryDirectory(prefix="flatlands-swarm-") as kept:
        path = Path(kept) / "runs.json"
        command = [sys.executable, "loadtest/bots.py", *options, "--json", str(path)]
        program = Program(command, "the swarm", folder=folder, environment=environment)
        try:
            if not program.wait(seconds):
                raise Trouble("the swarm has not ended in time")
            if not path.exists():
                raise Trouble(f"the swarm has measured nothing: {program.last_words()}")
            return list(json.loads(path.read_text())["runs"])
        finally:
            # It needs the time to end its own server.
            program.end(4 * END_SECONDS)
