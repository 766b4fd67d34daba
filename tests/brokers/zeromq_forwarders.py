"""Real forwarders of zeromq:// as child processes, on free ports or on Unix sockets."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

#: Seconds that a forwarder may take to start or to stop.
PATIENCE = 20


def free_ports() -> tuple[int, int]:
    """Return two ports of loopback on which nobody listens."""
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        return one.getsockname()[1], other.getsockname()[1]


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
            pull, pub = free_ports()
            self.url = f"zeromq://127.0.0.1:{pull}?pub={pub}"
            self.where = ["--pull", str(pull), "--pub", str(pub)]
        self.start()

    def start(self) -> None:
        """Start it and wait until it is ready."""
        self.process = start_forwarder(*self.where, *self._options)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("ready: "), (line, self.process.communicate())

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def stall(self) -> None:
        """Stop it from doing anything; its connections stay open."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it continue after `stall`."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> str:
        """End it as an operator would; return the rest of its output."""
        self.process.terminate()
        output, errors = self.process.communicate(timeout=PATIENCE)
        assert (self.process.returncode, errors) == (0, "")
        return output

    def close(self) -> None:
        """End it, whatever its state, and remove its files."""
        if self.process.returncode is None:
            self.kill()
        shutil.rmtree(self._folder)


def start_forwarder(*options: str) -> subprocess.Popen[str]:
    """Start a forwarder without waiting until it is ready."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "brokers.zeromq", *options],
        cwd=ROOT,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def forwarding(*options: str, ipc: bool = False) -> Iterator[Forwarder]:
    """Run a forwarder."""
    forwarder = Forwarder(*options, ipc=ipc)
    try:
        yield forwarder
    finally:
        forwarder.close()


# Context managers for the tests of the contract: each yields a URL.


@contextmanager
def zeromq_url() -> Iterator[str]:
    with forwarding() as forwarder:
        yield forwarder.url


@contextmanager
def zeromq_ipc_url() -> Iterator[str]:
    with forwarding(ipc=True) as forwarder:
        yield forwarder.url
