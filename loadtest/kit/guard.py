"""Ends programs whose starter has ended, even if the starter was killed.

It runs as a separate process. The starter writes "+ PID" to its standard input for each program
that it starts, and "- PID" when that program has ended. When its input is closed, it ends the
programs that are left. It never starts a program.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

#: Seconds that programs may take to end after SIGTERM, before they are killed.
PATIENCE = 10.0


#: The watching process. It is started with the first program.
_watcher: "subprocess.Popen[str] | None" = None


def watch(pid: int) -> None:
    """Arrange that a program ends when this process does. It must lead its own process group."""
    _write(f"+ {pid}")


def forget(pid: int) -> None:
    """Stop watching a program that has ended: its process id may soon be another one's."""
    _write(f"- {pid}")


def _write(line: str) -> None:
    global _watcher
    if _watcher is None:
        _watcher = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        atexit.register(_close, _watcher)
    assert _watcher.stdin is not None
    _watcher.stdin.write(line + "\n")
    _watcher.stdin.flush()


def _close(watcher: "subprocess.Popen[str]") -> None:
    assert watcher.stdin is not None
    watcher.stdin.close()
    watcher.wait()


def main() -> None:
    """Watch until standard input is closed, then end all programs that are left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    pids = set()
    for line in sys.stdin:
        sign, pid = line.split()
        if sign == "+":
            pids.add(int(pid))
        else:
            pids.discard(int(pid))
    for number in (signal.SIGCONT, signal.SIGTERM):
        _send(pids, number)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and any(_lives(pid) for pid in pids):
        time.sleep(0.1)
    _send(pids, signal.SIGKILL)


def _send(pids: set[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)


def _lives(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main()
