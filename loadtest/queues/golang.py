"""Builds the worker that is written in Go."""

import math
import os
import shutil
from pathlib import Path

from loadtest.kit.processes import ROOT, Program, Trouble

#: Where Go's own installer puts it, which is not on every PATH.
USUAL = "/usr/local/go/bin/go"


def find_go() -> str:
    """Return the program, or just its name where there is none."""
    return shutil.which("go") or (USUAL if os.access(USUAL, os.X_OK) else "go")


def build(folder: Path) -> str:
    """Return the worker's program, built into a folder. Raises Trouble and Interrupted."""
    worker = folder / "worker"
    # Without cgo no C compiler is needed, and without the version control's stamp no git.
    command = [find_go(), "build", "-buildvcs=false", "-o", str(worker), "."]
    try:
        # Where Go has its caches, and whom it asks for packages, stands in the environment.
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
