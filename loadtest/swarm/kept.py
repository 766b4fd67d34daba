"""Keeps the results of runs as JSON and as a page; runs the swarm for other programs."""

import json
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

from flatlands.loadtest.kit.brokers import bare
from flatlands.loadtest.kit.machine import machine
from flatlands.loadtest.kit.page import write_json
from flatlands.loadtest.kit.processes import PARTING, Program, Trouble
from flatlands.loadtest.swarm.result import Result
from flatlands.loadtest.swarm.show import figures


def as_dict(result: Result) -> dict[str, Any]:
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
        "figures": {key: round(value, 4) for key, value in figures(result).items()},
    }


def _screens(result: Result) -> dict[str, Any] | None:
    screens = result.screens
    if screens is None:
        return None
    return {"looks": screens.looks, "lasting": screens.lasting, "longest": screens.longest}


def as_json(done: Sequence[Result], token: str = "") -> dict[str, Any]:
    """Return the results of all runs as a value for JSON, with the command and the machine. No
    password is in it, nor an admin `token` that the command has."""
    command = [bare(word).replace(token or "\0", "TOKEN") for word in sys.argv]
    return {
        "command": shlex.join(["python", *command]),
        "machine": machine(),
        "runs": [as_dict(result) for result in done],
    }


def write_report(folder: Path, done: Sequence[Result], token: str = "") -> None:
    """Write into a folder: `index.html`, which needs no other file, its charts as numbered SVG and
    PNG files, and `runs.json`. `token` is as in `as_json`."""
    # They are imported here because matplotlib takes a second to load.
    from flatlands.loadtest.kit import charts
    from flatlands.loadtest.swarm.page import page

    found = as_json(done, token)
    write_json(folder / "runs.json", found)
    drawn = count(1)

    def draw(figure: Any) -> str:
        return charts.save(figure, folder, f"{next(drawn):02}")

    (folder / "index.html").write_text(page(done, found["machine"], found["command"], draw))


def run_apart(options: Sequence[str], seconds: float) -> list[dict[str, Any]]:
    """Run bots.py with these options; return the results of its runs, as `as_dict` makes them.

    Raises Trouble if it has not ended after so many seconds or has measured nothing, and
    Interrupted.
    """
    with tempfile.TemporaryDirectory(prefix="flatlands-swarm-") as folder:
        path = Path(folder) / "runs.json"
        command = [sys.executable, "loadtest/bots.py", *options, "--json", str(path)]
        program = Program(command, "the swarm")
        try:
            if not program.wait(seconds):
                raise Trouble("the swarm has not ended in time")
            if not path.exists():
                raise Trouble(f"the swarm has measured nothing: {program.last_words()}")
            return list(json.loads(path.read_text())["runs"])
        finally:
            # It needs the time to end its own server.
            program.end(4 * PARTING)
