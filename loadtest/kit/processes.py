"""Starts programs, reads their output, watches and ends them. All programs are started here.

No program outlives this process, whatever ends it (guard.py). And no program inherits an
environment variable that would be an option for it.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import psutil

from flatlands.loadtest.kit import guard, signals
from flatlands.loadtest.kit.options import bare

ROOT = Path(__file__).resolve().parent.parent.parent

#: A program may take this long to start, on a busy machine.
START_SECONDS = 30.0
#: A program may take this long to end, on a busy machine.
END_SECONDS = 10.0

#: File descriptors that a process needs in addition to its clients' sockets.
SPARE_DESCRIPTORS = 64

#: The environment variables that a program inherits. No option of the server may be among them:
#: tests/test_files.py checks this.
PASSED_ON = (
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONDONTWRITEBYTECODE",
    "COMPILED",
)


class Trouble(Exception):
    """Something cannot be measured, for example because a program has ended.

    The text is a sentence for people, without its full stop, and without passwords.
    """

    def __init__(self, text: str) -> None:
        super().__init__(bare(text))


def clean_environment() -> dict[str, str]:
    """Return the environment variables that a program gets, unless it is given others.

    A server is told to store nothing: it would write a file into the folder it is started in.
    """
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**kept, "STORE_URL": "none"}


def find(program: str, package: str) -> str:
    """Return the path of a program. Raises Trouble with the name of its Debian package."""
    # Servers are often in a folder that is only on root's PATH.
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    if path is None:
        raise Trouble(f"{program} is not installed (Debian: apt-get install {package})")
    return path


@contextlib.contextmanager
def on_cores(cpus: Sequence[int]) -> Iterator[None]:
    """Run this process on these cores (none given: all) while the block runs."""
    before = os.sched_getaffinity(0)
    if cpus:
        os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Program:
    """A running program; as a context manager it ends with the block.

    `process` is its process, and `name` its name in sentences for people. `cpus` are the cores it
    may run on (none given: all). `environment` is added to the inherited variables. `with_input`
    gives it a standard input, see `send`. `prepare` is called in the new process before the program
    starts. Raises Trouble if there is no such program.
    """

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        *,
        cpus: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        with_input: bool = False,
        prepare: Callable[[], None] | None = None,
        folder: Path = ROOT,
    ) -> None:
        self.command, self.name = list(command), name
        # They are files, since a pipe that nobody reads would stop the program when it is full.
        self._output, self._errors = tempfile.TemporaryFile("a+b"), tempfile.TemporaryFile("a+b")
        #: Number of bytes of its output that were read.
        self._at = 0
        try:
            # It inherits the cores: if they were set later, they would not apply to threads that it
            # has by then.
            with on_cores(cpus):
                self.process = psutil.Popen(
                    self.command,
                    cwd=folder,
                    env={**clean_environment(), **(environment or {})},
                    stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._errors,
                    # Ctrl-C must reach this process only, which then ends the program.
                    start_new_session=True,
                    preexec_fn=prepare,
                )
        except OSError as error:
            self._output.close()
            self._errors.close()
            raise Trouble(f"{name} cannot be started: {error}") from error
        guard.watch(self.process.pid)

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def line(self, seconds: float = 0.0) -> str | None:
        """Return the next line of its standard output.

        Returns None if no line comes within `seconds`, or the program has ended. Raises
        Interrupted.
        """
        until = time.monotonic() + seconds
        while True:
            # This is asked before the output is read, so that its last lines are not missed.
            over = self.process.poll() is not None or time.monotonic() >= until
            line, newline, _ = _read(self._output, self._at).partition(b"\n")
            if newline:
                self._at += len(line) + 1
                return line.decode(errors="replace")
            if over:
                return None
            signals.sleep(signals.LOOK)

    def ready(self, pattern: str, seconds: float = START_SECONDS) -> re.Match[str]:
        """Wait for a line of its standard output that matches a pattern; return the match.

        Raises Trouble if no such line comes within `seconds`, and Interrupted.
        """
        until = time.monotonic() + seconds
        while (line := self.line(until - time.monotonic())) is not None:
            if found := re.search(pattern, line):
                return found
        raise Trouble(f"{self.name} does not start: {self.last_words()}")

    def send(self, what: Mapping[str, object]) -> None:
        """Write a line of JSON to its standard input. Does nothing if it has ended."""
        assert self.process.stdin is not None
        # Its end is noticed and reported where its answer is awaited.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(what).encode() + b"\n")
            self.process.stdin.flush()

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return False if it does not end within `seconds`.

        Raises Interrupted.
        """
        until = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() >= until:
                return False
            signals.sleep(signals.LOOK)
        return True

    def output(self) -> str:
        """Return all that it has written to standard output."""
        return _read(self._output).decode(errors="replace")

    def errors(self) -> str:
        """Return all that it has written to standard error."""
        return _read(self._errors).decode(errors="replace")

    def death(self) -> str:
        """Return a sentence that says how it has ended, or an empty text while it runs."""
        status = self.process.poll()
        if status is None:
            return ""
        how = f"by signal {-status}" if status < 0 else f"with exit status {status}"
        error = _best_line(self.errors())
        return f"{self.name} ended {how}" + (f": {error}" if error else "")

    def last_words(self) -> str:
        """Return the most useful line of its output: its last error, or else the last line."""
        status = self.process.poll()
        ended = f"it ended with exit status {status}" if status is not None else "it says nothing"
        return _best_line(self.output() + self.errors()) or ended

    def end(self, patience: float = END_SECONDS) -> None:
        """End it with SIGTERM, and after `patience` seconds by force.

        Processes that it has started and left behind are killed too.
        """
        if self._output.closed:
            return
        if self.process.poll() is None:
            for number in (signal.SIGCONT, signal.SIGTERM):
                self.process.send_signal(number)
            with contextlib.suppress(psutil.TimeoutExpired):
                self.process.wait(patience)
        with contextlib.suppress(ProcessLookupError):
            # Usually no process of its group is left.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        guard.forget(self.process.pid)
        if self.process.stdin is not None:
            # Lines that it has not read are lost.
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        self._output.close()
        self._errors.close()


def _read(file: IO[bytes], begin: int = 0) -> bytes:
    """Return a file's bytes from an offset. The file's position is left alone: the program
    shares it."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), max(size - begin, 0), begin)


def _best_line(text: str) -> str:
    """Return the last line about an error, or else the last line, or an empty text."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "in use" in line]
    return (errors or lines or [""])[-1]


def children(process: psutil.Process) -> dict[psutil.Process, list[str]]:
    """Return the command lines of all processes that a process has started, or that those have, the
    oldest first. One that has just ended no longer has one, and is left out."""
    found = {}
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in sorted(process.children(recursive=True), key=psutil.Process.create_time):
            with contextlib.suppress(psutil.NoSuchProcess):
                found[child] = child.cmdline()
    return found


def cost(processes: Iterable[psutil.Process]) -> tuple[float, float]:
    """Return the CPU seconds (user and system) and the MB of resident memory of processes.

    Processes that have ended count as nothing.
    """
    cpu = memory = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            times = process.cpu_times()
            cpu += times.user + times.system
            memory += process.memory_info().rss / 2**20
    return cpu, memory


def raise_descriptor_limit() -> int:
    """Raise this process's limit of file descriptors as far as it goes, and return the limit.

    Programs that it starts inherit the limit.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
