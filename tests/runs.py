"""`python -m tests.runs`: run `make test` several times in a row, and write down how each went.

A line for each run is added to tests/output/runs.jsonl: the commit, when it began, how long it took
in seconds, whether another process kept a core busy, and the exit code. It stops at the first run
that fails. Runs of a commit at different times count together. It needs a tree without changes.
"""

import argparse
import json
import multiprocessing
import subprocess
import sys
import time
from datetime import UTC, datetime

from tests.processes import ROOT

RUNS = ROOT / "tests" / "output" / "runs.jsonl"


def take_a_core() -> None:
    """Keep a core busy until this process is ended."""
    while True:
        pass


def run(commit: str, busy: bool) -> int:
    """Run `make test` once, write down how it went, and return its exit code."""
    beside = multiprocessing.Process(target=take_a_core, daemon=True)
    if busy:
        beside.start()
    began, started = datetime.now(UTC), time.monotonic()
    code = subprocess.run(["make", "test"], cwd=ROOT).returncode
    took = round(time.monotonic() - started)
    if busy:
        beside.kill()
    found = {"commit": commit, "began": f"{began:%Y-%m-%d %H:%M}", "seconds": took}
    RUNS.parent.mkdir(parents=True, exist_ok=True)
    with RUNS.open("a") as file:
        file.write(json.dumps({**found, "busy": busy, "code": code}) + "\n")
    return code


def git(*command: str) -> str:
    """Return what a git command prints."""
    return subprocess.run(
        ["git", *command], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def main() -> int:
    """Run the tests as often as the options say; return the exit code of the last run."""
    options = argparse.ArgumentParser(
        prog="python -m tests.runs", description="Run make test several times in a row."
    )
    options.add_argument("--times", type=int, default=10, help="how often at most (default: 10)")
    options.add_argument("--busy", action="store_true", help="beside a process that takes a core")
    chosen = options.parse_args()
    if git("status", "--porcelain"):
        options.error("the tree has changes: commit them first, since runs are of a commit")
    commit, code = git("rev-parse", "--short", "HEAD"), 0
    for _ in range(chosen.times):
        code = run(commit, chosen.busy)
        if code:
            break
    for line in RUNS.read_text().splitlines():
        if json.loads(line)["commit"] == commit:
            print(line)
    return code


if __name__ == "__main__":
    sys.exit(main())
