"""Builds the worker that is written in Go."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from loadtest.queues.children import LOOK_S, ROOT, Trouble
from loadtest.signals import Signals

#: Where Go's own installer puts it, which is not on every PATH.
USUAL = "/usr/local/go/bin/go"


def find_go() -> str:
    """Return the program, or just its name where there is none."""
    return shutil.which("go") or (USUAL if os.access(USUAL, os.X_OK) else "go")


def build(folder: Path, signals: Signals) -> str:
    """Return the worker's program, built into a folder; raises Trouble, Interrupted."""
    worker = folder / "worker"
    # Without cgo no C compiler is needed, and without the version control's stamp no git.
    command = [find_go(), "build", "-buildvcs=false", "-o", str(worker), "."]
    log = folder / "build.log"
    try:
        with log.open("wb") as errors:
            process = subprocess.Popen(
                command,
                cwd=ROOT / "loadtest" / "go",
                env={**os.environ, "CGO_ENABLED": "0"},
                stderr=errors,
                start_new_session=True,
            )
    except OSError as error:
        raise Trouble("Go is not installed (Debian: apt-get install golang-go)") from error
    try:
        while process.poll() is None:
            signals.check()
            time.sleep(LOOK_S)
    except BaseException:
        # With its compilers.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode:
        said = log.read_text(errors="replace").strip().rsplit("\n", 1)[-1]
        raise Trouble(f"the worker in Go cannot be built: {said}")
    return str(worker)
