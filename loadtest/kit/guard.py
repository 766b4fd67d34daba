"""Ends programs whose starter is gone, however that went: also when it was killed.

A process of its own, that is told of each program by a line on its standard input, "+ PID" or
"- PID", and ends those that are left when that is closed. It starts nothing.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

#: Seconds that programs may take to end well.
PATIENCE = 10.0


#: The process that watches, made with the first program that it is told of.
_watcher: "subprocess.Popen[str] | None" = None


def watch(pid: int) -> None:
    """End a program when this process is gone. It must lead a process group of its own."""
    _say(f"+ {pid}")


def forget(pid: int) -> None:
    """A program has ended: its number may be another one's soon."""
    _say(f"- {pid}")


def _say(line: str) -> None:
    global _watcher
    if _watcher is None:
        _watcher = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            stdin=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        atexit.register(_close, _watcher)
    assert _watcher.stdin is not None
    _watcher.stdin.write(line + "\n")
    _watcher.stdin.flush()


def _close(watcher: "subprocess.Popen[str]") -> None:
    assert watcher.stdin is not None
    watcher.stdin.close()
    watcher.wait()


def main() -> None:
    """Watch until standard input ends."""
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
