"""The processes that a run starts: brokers and workers, and the certainty that they end.

Nothing here waits without looking whether the user wants to stop or a child has died; and nothing
raises in the middle of a start, so that no child is ever unknown to the one who ends them all.
"""

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loadtest.signals import Signals

ROOT = Path(__file__).resolve().parent.parent.parent

#: Seconds that a broker, or a worker on a busy machine, may take to be there.
START_S = 30.0

#: Seconds between two looks at everything.
LOOK_S = 0.05


class Trouble(Exception):
    """Why a series cannot go on: a sentence for the user."""


class Child:
    """One process. What it writes to standard error is kept for the sentence about its end."""

    def __init__(self, name: str, command: list[str], folder: Path) -> None:
        self.name = name
        self._errors = folder / f"{time.monotonic_ns()}.log"
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                # The terminal's Ctrl-C is for us alone, who end the children in good order.
                start_new_session=True,
            )
        self._data = b""
        self._ended = False
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)

    def line(self) -> str | None:
        """Return the next whole line it printed, if there is one."""
        assert self.process.stdout is not None
        while not self._ended and b"\n" not in self._data:
            if not select.select([self.process.stdout], [], [], 0)[0]:
                break
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            self._data += data
            self._ended = not data
        line, newline, rest = self._data.partition(b"\n")
        if not newline:
            return None
        self._data = rest
        return line.decode(errors="replace")

    def tell(self, what: dict[str, Any]) -> None:
        """Send a line of JSON; to one that has died it makes no difference."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(what).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            # Its death is noticed, and told, where its answer is waited for.
            return

    def last_words(self) -> str:
        """Return the trouble that it told of, if it did."""
        while line := self.line():
            if line.startswith('{"trouble"'):
                return str(json.loads(line)["trouble"])
        return ""

    def death(self) -> str:
        """Return a sentence if it has ended."""
        status = self.process.poll()
        if status is None:
            return ""
        how = f"by signal {-status}" if status < 0 else f"with exit status {status}"
        said = self._errors.read_text(errors="replace").strip().rsplit("\n", 1)[-1]
        return f"{self.name} ended {how}" + (f": {said}" if said else "")

    def end(self) -> None:
        """End it at once: no child holds anything that matters."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                # What it was still to be told.
                continue


class Children:
    """All processes of one point; they end with the block."""

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self._all: list[Child] = []
        self._folder = Path(tempfile.mkdtemp(prefix="two-queues-"))

    def __enter__(self) -> "Children":
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._all:
            child.end()
        shutil.rmtree(self._folder)

    def start(self, name: str, command: list[str]) -> Child:
        """Start a process."""
        try:
            child = Child(name, command, self._folder)
        except OSError as error:
            raise Trouble(f"{name} cannot be started: {error}") from error
        self._all.append(child)
        return child

    def wait(self, done: Callable[[], bool], seconds: float, missing: str) -> None:
        """Return once `done()` is true; raise Trouble(missing) if it is not within `seconds`.

        Raises Trouble also where a child ends, and Interrupted.
        """
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                raise Trouble(missing)
            self._look()
            time.sleep(LOOK_S)

    def sleep(self, seconds: float) -> None:
        """Wait, but raise what `wait` does."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._look()
            time.sleep(min(LOOK_S, left))

    def _look(self, besides: Child | None = None) -> None:
        self._signals.check()
        for child in self._all:
            if child is not besides and (death := child.death()):
                raise Trouble(child.last_words() or death)

    def answers(self, workers: list[Child], seconds: float) -> list[dict[str, Any]]:
        """Return the next line of JSON of each worker."""
        found: dict[Child, dict[str, Any]] = {}

        def all_there() -> bool:
            for worker in workers:
                if worker not in found and (line := worker.line()):
                    found[worker] = json.loads(line)
                    if trouble := found[worker].get("trouble"):
                        # Where a broker of ours has died, that is the cause, and told instead.
                        time.sleep(LOOK_S)
                        self._look(besides=worker)
                        raise Trouble(trouble)
            return len(found) == len(workers)

        self.wait(all_there, seconds, f"some of the workers have not answered for {seconds:.0f} s")
        return [found[worker] for worker in workers]

    def start_redis(self, port: int | None = None) -> tuple[str, Child]:
        """Start a redis-server with its own defaults but nothing on disk; return its URL too."""
        program = shutil.which("redis-server")
        if program is None:
            raise Trouble("redis-server is not installed (Debian: apt-get install redis-server)")
        port = port or free_ports(1)[0]
        child = self.start(
            "redis-server",
            [
                *(program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(self._folder)),
                *("--save", "", "--appendonly", "no", "--logfile", ""),
            ],
        )

        def answers() -> bool:
            while line := child.line():
                if "Address already in use" in line or "Failed listening" in line:
                    raise Trouble(f"redis-server cannot have port {port}: it is in use")
                if "Ready to accept connections" in line:
                    return True
            return False

        self.wait(answers, START_S, f"redis-server does not start on port {port}")
        return f"redis://127.0.0.1:{port}", child

    def start_forwarder(self, ports: tuple[int, int] | None = None) -> tuple[str, Child]:
        """Start a forwarder of zeromq://; return its URL too."""
        pull, pub = ports or free_ports(2)
        child = self.start(
            "the ZeroMQ forwarder",
            [sys.executable, "-m", "brokers.zeromq", "--pull", str(pull), "--pub", str(pub)],
        )
        self.wait(
            lambda: (child.line() or "").startswith("ready"),
            START_S,
            f"the ZeroMQ forwarder does not start on ports {pull} and {pub}",
        )
        return f"zeromq://127.0.0.1:{pull}?pub={pub}", child


def free_ports(number: int) -> list[int]:
    """Return ports of loopback on which nobody listens."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [int(listener.getsockname()[1]) for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports
