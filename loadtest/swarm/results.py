"""What is kept of runs: a JSON file with everything, and a page with charts."""

import json
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from loadtest.swarm.run import Result
from loadtest.swarm.show import figures

#: Packages whose version may matter to a figure.
PACKAGES = ("gevent", "gevent-websocket", "msgpack", "hiredis", "redis", "pyzmq", "flask", "numpy")


def machine() -> dict[str, Any]:
    """Return what the figures depend on besides the options: machine and versions."""
    cpu = "unknown"
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                cpu = line.partition(":")[2].strip()
                break
    except OSError:
        cpu = platform.processor() or cpu
    versions = {name: metadata.version(name) for name in PACKAGES}
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "redis-server": _redis_version(),
        **versions,
    }


def _redis_version() -> str | None:
    try:
        said = subprocess.run(["redis-server", "--version"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        return None
    found = re.search(r"v=(\S+)", said)
    return found[1] if found else None


def as_dict(result: Result) -> dict[str, Any]:
    """Return a run as JSON takes it."""
    verdict = result.verdict
    return {
        **asdict(result),
        "verdict": verdict.as_dict() if verdict else None,
        "adds_up": verdict.adds_up if verdict else None,
        "faults": result.faults,
        "figures": {key: round(value, 4) for key, value in figures(result).items()},
    }


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
    """Write `index.html`, a page that needs nothing else, and `runs.json` into a folder."""
    # Only here: drawing takes a second to load.
    from loadtest.swarm.page import page

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "runs.json").write_text(as_json(done))
    (folder / "index.html").write_text(page(done, machine(), _command()))
