"""What is kept of runs: a JSON file with everything, and a page with charts."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

from loadtest.machine import machine
from loadtest.swarm.run import Result
from loadtest.swarm.show import figures


def as_dict(result: Result) -> dict[str, Any]:
    """Return a run as JSON takes it."""
    verdict = result.verdict
    return {
        **asdict(result),
        "verdict": verdict.as_dict() if verdict else None,
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


def _command() -> str:
    return shlex.join(["python", *sys.argv])


def as_json(done: Sequence[Result]) -> str:
    """Return all runs as JSON, with the command, the machine and the versions."""
    whole = {
        "command": _command(),
        "machine": machine(),
        "runs": [as_dict(result) for result in done],
    }
    return json.dumps(whole, indent=1) + "\n"


def write_report(folder: Path, done: Sequence[Result]) -> None:
    """Write into a folder: `index.html`, a page that needs nothing else; its charts, numbered, as
    PNG; and `runs.json`."""
    # Only here: drawing takes a second to load.
    from loadtest import charts
    from loadtest.swarm.page import page

    folder.mkdir(parents=True, exist_ok=True)
    drawn = count(1)

    def draw(figure: Any) -> str:
        charts.save_png(figure, folder / f"{next(drawn):02}.png")
        return charts.svg(figure)

    (folder / "runs.json").write_text(as_json(done))
    (folder / "index.html").write_text(page(done, machine(), _command(), draw))
