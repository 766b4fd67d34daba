"""Ends programs whose starter is gone, however that went: also when it was killed.

A process of its own, that is told of each program by a line on its standard input, "+ PID" or
"- PID", and ends those that are left when that is closed. It starts nothing.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

#: Seconds that programs may take to end well.
PATIENCE = 10.0


class Guard:
    """The end of it that its starter keeps. Each program must lead a process group of its own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            stdin=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self._process.stdin is not None
        self._pipe: IO[str] = self._process.stdin

    def watch(self, pid: int) -> None:
        """End a program when this process is gone."""
        self._say(f"+ {pid}")

    def forget(self, pid: int) -> None:
        """A program has ended: its number may be another one's soon."""
        self._say(f"- {pid}")

    def _say(self, line: str) -> None:
        self._pipe.write(line + "\n")
        self._pipe.flush()

    def close(self) -> None:
        """End it; what it still watches ends too."""
        self._pipe.close()
        self._process.wait()


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
