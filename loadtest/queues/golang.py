"""Builds the worker that is written in Go."""

import math
import os
import shutil
from pathlib import Path

from loadtest.kit.processes import ROOT, Program, Trouble

#: Where Go's own installer puts the program, which is not on every PATH.
USUAL = "/usr/local/go/bin/go"


def find_go() -> str:
    """Return the path of the program `go`, or its name if it is not found."""
    return shutil.which("go") or (USUAL if os.access(USUAL, os.X_OK) else "go")


def build(folder: Path) -> str:
    """Build the worker into a folder; return its path. Raises Trouble and Interrupted."""
    worker = folder / "worker"
    # So it needs neither a C compiler nor git.
    command = [find_go(), "build", "-buildvcs=false", "-o", str(worker), "."]
    try:
        # The environment says where Go has its caches, and where it gets packages.
        building = Program(
            command, "go build", environment={**os.environ, "CGO_ENABLED": "0"},
            folder=ROOT / "loadtest" / "go",
        )  # fmt: skip
    except Trouble as trouble:
        raise Trouble("Go is not installed (Debian: apt-get install golang-go)") from trouble
    with building:
        building.wait(math.inf)
        if building.process.poll():
            raise Trouble(f"the worker in Go cannot be built: {building.last_words()}")
    return str(worker)
