"""Benchmarks as processes whose children are seen, so that none is left behind."""

import subprocess
import sys
import time
from contextlib import contextmanager

import psutil

from flatlands.loadtest.kit.processes import ROOT, children

#: Seconds that a run may take to get somewhere, also on a machine that is busy with other things.
PATIENCE = 120

#: What is in the command of a child that does not take part: the guard, and Go's compiler.
APART = ("guard", "/bin/go", "go-build")


@contextmanager
def measuring(command):
    """Run a benchmark as a process for as long as the block lasts; nobody may be left behind.

    Yields the process, and the list of its children that the test has seen, to be filled.
    """
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    seen = []
    try:
        yield process, seen
        assert seen and not psutil.wait_procs(seen, timeout=PATIENCE)[1]
    finally:
        process.kill()
        process.communicate()
        for one in seen:
            if one.is_running():
                one.kill()


def children_at_work(process, number, busy):
    """Return the children of a process, once there are so many.

    The second, which publishes or consumes, has then been `busy` for so many seconds: it takes a
    third of one to start.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        found = [
            child
            for child, command in children(psutil.Process(process.pid)).items()
            if not any(word in part for part in command for word in APART)
        ]
        if len(found) == number and sum(found[1].cpu_times()[:2]) >= busy:
            return found
        time.sleep(0.05)
    # What it has said is only there once it has ended, which may be in hours.
    process.kill()
    raise AssertionError(f"there are never {number} children: {process.communicate()}")
