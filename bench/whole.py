"""The whole server under the swarm, briefly: the shapes that the targets are about.

Each is one run of loadtest/bots.py, whose oracle must find nothing.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

#: Seconds measured in each run.
SECONDS = 6

RUNS = {
    "50": ("--scenario", "mill", "--bots", "50", "--squares", "4"),
    "400": ("--scenario", "mill", "--bots", "400", "--squares", "20"),
    "2000": ("--scenario", "mill", "--bots", "2000", "--squares", "88"),
    "march": ("--scenario", "march", "--bots", "2000", "--squares", "88"),
    "crowd": ("--scenario", "crowd", "--bots", "500", "--rate", "1"),
    "idle": ("--rate", "0", "--bots", "8000", "--squares", "400", "--joins", "1500"),
}


def run(name: str) -> dict[str, Any]:
    """Return what bots.py keeps of one of RUNS. Raises RuntimeError where it has not run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.json"
        command = [sys.executable, "loadtest/bots.py", *RUNS[name]]
        done = subprocess.run(
            [*command, "--seconds", str(SECONDS), "--json", str(path)],
            cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip
        if not path.exists():
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        [result] = json.loads(path.read_text())["runs"]
        return dict(result)


def measure(say: Any) -> dict[str, float]:
    """Return the figures of all runs; `say` is told of each as it begins."""
    found: dict[str, float] = {}
    results = {}
    for name in RUNS:
        say(f"  bots.py {' '.join(RUNS[name])} ...")
        result = results[name] = run(name)
        for fault in (*result["faults"], *result["invalid"]):
            say(f"    ! {fault}")
    for name in ("400", "2000"):
        found[f"{name} players: deliveries a CPU second, k"] = (
            results[name]["figures"]["per CPU s"] / 1000
        )
    found["50 players: p50, ms"] = results["50"]["latency"]["p50"]
    found["400 players: p50, ms"] = results["400"]["latency"]["p50"]
    found["2000 players: p99, ms"] = results["2000"]["latency"]["p99"]
    found["2000 players: memory, MB"] = results["2000"]["figures"]["MB"]
    found["2000 players: CPU, %"] = results["2000"]["figures"]["server"] * 100
    found["crossings: CPU against none"] = (
        results["march"]["figures"]["server"] / results["2000"]["figures"]["server"]
    )
    found["500 in one square: p99, ms"] = results["crowd"]["latency"]["p99"]
    found["8000 idle players: CPU, %"] = results["idle"]["figures"]["server"] * 100
    found["8000 idle players: memory of each, KB"] = (
        (results["idle"]["figures"]["MB"] - results["50"]["figures"]["MB"]) * 1024 / 8000
    )
    return found
