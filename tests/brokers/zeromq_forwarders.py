"""Real forwarders of zeromq:// as child processes, on free ports or on Unix sockets."""

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flatlands.loadtest.kit.brokers import free_ports
from flatlands.loadtest.kit.processes import Program
from tests.brokers.servers import suspend

#: Seconds that a forwarder may take to start or to stop.
PATIENCE = 20


def start_forwarder(*options: str) -> Program:
    """Start a forwarder without waiting until it is ready."""
    command = [sys.executable, "-W", "error", "-m", "brokers.zeromq", *options]
    return Program(command, "the forwarder")


class Forwarder:
    """`python -m brokers.zeromq`. It can be killed, stalled and started again at its addresses."""

    def __init__(self, *options: str, ipc: bool = False) -> None:
        self._options = options
        self._folder = Path(tempfile.mkdtemp(prefix="flatlands-zeromq-"))
        if ipc:
            prefix = self._folder / "forwarder"
            self.url = f"zeromq+ipc://{prefix}"
            self.where = ["--ipc", str(prefix)]
        else:
            pull, pub = free_ports(2)
            self.url = f"zeromq://127.0.0.1:{pull}?pub={pub}"
            self.where = ["--pull", str(pull), "--pub", str(pub)]
        self.start()

    def start(self) -> None:
        """Start it and wait until it is ready."""
        self.program = start_forwarder(*self.where, *self._options)
        self.process = self.program.process
        self.program.ready("^ready: ", PATIENCE)

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.program.end()

    def stall(self) -> None:
        """Stop it from doing anything; its connections stay open."""
        suspend(self.process.pid)

    def resume(self) -> None:
        """Let it continue after `stall`."""
        self.process.resume()

    def stop(self, number: int = signal.SIGTERM) -> list[str]:
        """End it as an operator would; return the other lines of its output."""
        self.process.send_signal(number)
        assert self.program.wait(PATIENCE)
        assert (self.process.poll(), self.program.errors()) == (0, "")
        return [line for line in iter(self.program.line, None) if line]

    def close(self) -> None:
        """End it, whatever its state, and remove its files."""
        self.program.end(0)
        shutil.rmtree(self._folder)


@contextmanager
def forwarding(*options: str, ipc: bool = False) -> Iterator[Forwarder]:
    """Run a forwarder."""
    forwarder = Forwarder(*options, ipc=ipc)
    try:
        yield forwarder
    finally:
        forwarder.close()


@contextmanager
def forwarding_url(ipc: bool = False) -> Iterator[str]:
    """Run a forwarder and yield the URL of its brokers."""
    with forwarding(ipc=ipc) as forwarder:
        yield forwarder.url
