"""Programs that are started here: the one way to start, to hear, to watch and to end them.

No program outlives this process, however that ends (guard.py); and none gets an option by an
environment variable that nobody meant for it.
"""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import psutil

from loadtest.kit import guard, signals

ROOT = Path(__file__).resolve().parent.parent.parent

#: Seconds that a program may take to start and to end well, on a machine that is busy.
START, PARTING = 30.0, 10.0

#: Descriptors of a process that are no sockets of its clients.
SPARE_DESCRIPTORS = 64

#: All that a program gets of this environment. None of the server's options is among them, nor
#: will be one that it gets later: tests/test_files.py holds this.
PASSED_ON = (
    "PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH",
    "PYTHONDONTWRITEBYTECODE",
)  # fmt: skip


class Trouble(Exception):
    """Something cannot be measured, as a program does not start or has ended. The text is one
    sentence for people, without a full stop."""


def clean_environment() -> dict[str, str]:
    """Return what a program gets of this environment."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def find(program: str, package: str) -> str:
    """Return the path of a program. Raises Trouble, which names Debian's package."""
    # Servers are often where only root's PATH looks.
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    if path is None:
        raise Trouble(f"{program} is not installed (Debian: apt-get install {package})")
    return path


class Program:
    """A program that runs; as a context manager it ends with the block.

    `process` is it, for who looks at it or does things to it; `name` is what sentences call it. It
    runs on `cpus`, or on all; `environment` is added to the clean one; with `hears` it has a
    standard input, see `tell`; `prepare` is called in the new process. Raises Trouble where there
    is no such program.
    """

    def __init__(
        self, command: Sequence[str], name: str, *, cpus: Sequence[int] = (),
        environment: Mapping[str, str] | None = None, hears: bool = False,
        prepare: Callable[[], None] | None = None, folder: Path = ROOT,
    ) -> None:  # fmt: skip
        self.command, self.name = list(command), name
        # Files and not pipes: what nobody reads would stop it in the end.
        self._output, self._errors = tempfile.TemporaryFile("a+b"), tempfile.TemporaryFile("a+b")
        #: How much of its output was read.
        self._at = 0
        try:
            self.process = psutil.Popen(
                self.command,
                cwd=folder,
                env={**clean_environment(), **(environment or {})},
                stdin=subprocess.PIPE if hears else subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._errors,
                # Ctrl-C is for us, who end it in good order.
                start_new_session=True,
                preexec_fn=prepare,
            )
        except OSError as error:
            self._output.close()
            self._errors.close()
            raise Trouble(f"{name} cannot be started: {error}") from error
        guard.watch(self.process.pid)
        if cpus:
            # At once, before it has threads or children, which inherit it.
            os.sched_setaffinity(self.process.pid, cpus)

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def line(self, seconds: float = 0.0) -> str | None:
        """Return the next line of its standard output, or None where none comes in so many
        seconds, or any more. Raises Interrupted."""
        until = time.monotonic() + seconds
        while True:
            # What it said before its end is there once it has ended.
            over = self.process.poll() is not None or time.monotonic() >= until
            line, newline, _ = _read(self._output, self._at).partition(b"\n")
            if newline:
                self._at += len(line) + 1
                return line.decode(errors="replace")
            if over:
                return None
            signals.sleep(signals.LOOK)

    def ready(self, pattern: str, seconds: float = START) -> re.Match[str]:
        """Return the first line of its standard output with a pattern in it. Raises Trouble where
        none comes, and Interrupted."""
        until = time.monotonic() + seconds
        while (line := self.line(until - time.monotonic())) is not None:
            if found := re.search(pattern, line):
                return found
        raise Trouble(f"{self.name} does not start: {self.last_words()}")

    def tell(self, what: dict[str, Any]) -> None:
        """Send it a line of JSON; to one that has ended it makes no difference."""
        assert self.process.stdin is not None
        # Its end is noticed, and told, where its answer is waited for.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(what).encode() + b"\n")
            self.process.stdin.flush()

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return False where it does not come in so many seconds. Raises
        Interrupted."""
        until = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() >= until:
                return False
            signals.sleep(signals.LOOK)
        return True

    def errors(self) -> str:
        """Return what it has written to standard error."""
        return _read(self._errors).decode(errors="replace")

    def death(self) -> str:
        """Return a sentence about how it has ended, if it has."""
        status = self.process.poll()
        if status is None:
            return ""
        how = f"by signal {-status}" if status < 0 else f"with exit status {status}"
        said = _telling(self.errors())
        return f"{self.name} ended {how}" + (f": {said}" if said else "")

    def last_words(self) -> str:
        """Return the line that tells most of all it has written: an error, or the last one."""
        status = self.process.poll()
        ended = f"it ended with exit status {status}" if status is not None else "it says nothing"
        return _telling(_read(self._output).decode(errors="replace") + self.errors()) or ended

    def end(self, patience: float = PARTING) -> None:
        """End it, as an operator would, and after so many seconds by force; what it has started
        and left behind too."""
        if self._output.closed:
            return
        if self.process.poll() is None:
            for number in (signal.SIGCONT, signal.SIGTERM):
                self.process.send_signal(number)
            with contextlib.suppress(psutil.TimeoutExpired):
                self.process.wait(patience)
        with contextlib.suppress(ProcessLookupError):
            # Mostly there is nobody left.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        guard.forget(self.process.pid)
        if self.process.stdin is not None:
            # What it was still to be told is told to nobody.
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        self._output.close()
        self._errors.close()


def _read(file: IO[bytes], begin: int = 0) -> bytes:
    """Return what a file has from there on; its own position is the program's too."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), max(size - begin, 0), begin)


def _telling(text: str) -> str:
    """Return the last line that is about an error, or the last one, if there is any."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "in use" in line]
    return (telling or lines or [""])[-1]


def children(process: psutil.Process) -> dict[psutil.Process, list[str]]:
    """Return the command lines of all that a process has started, and that those have, the eldest
    first. One that has just ended has none any more, and is left out."""
    found = {}
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in sorted(process.children(recursive=True), key=psutil.Process.create_time):
            with contextlib.suppress(psutil.NoSuchProcess):
                found[child] = child.cmdline()
    return found


def cost(processes: Iterable[psutil.Process]) -> tuple[float, float]:
    """Return CPU seconds (user and system) and memory (MB, resident) of those that still run."""
    cpu = memory = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            times = process.cpu_times()
            cpu += times.user + times.system
            memory += process.memory_info().rss / 2**20
    return cpu, memory


def raise_descriptor_limit() -> int:
    """Allow this process, and those that it starts, as many descriptors as may be; return the
    number."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
