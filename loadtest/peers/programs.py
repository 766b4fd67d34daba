"""The peers: what each is, how it is started and stopped, and why one cannot take part."""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from loadtest import guard
from loadtest.peers.dialects import Address, Colyseus, Dialect, PlainJson, SocketIo

ROOT = Path(__file__).resolve().parent.parent.parent
SERVERS = Path(__file__).resolve().parent / "servers"

#: Of the peers in Python: an environment of their own, so that ours stays what it is.
PYTHON = ROOT / ".venv-peers" / "bin" / "python"

#: Seconds that a program may take to start, and to end.
PATIENCE, PARTING = 20.0, 3.0

#: Seconds between a program's last connection and its end.
DYING = 0.3


class Trouble(Exception):
    """A peer cannot be measured; the text is one sentence for people."""


@dataclass(frozen=True)
class Peer:
    """A server: its `program` in servers/, whose suffix tells what runs it, with `options`."""

    name: str
    title: str
    program: str
    dialect: type[Dialect]
    options: tuple[str, ...] = ()

    @property
    def in_node(self) -> bool:
        """Whether it needs Node."""
        return Path(self.program).suffix == ".mjs"


PEERS = (
    Peer("flask-socketio", "Flask-SocketIO, gevent", "flask_socketio_server.py", SocketIo),
    Peer("websockets", "websockets, broadcast()", "websockets_server.py", PlainJson),
    Peer("socket.io", "Socket.IO, rooms", "socketio.mjs", SocketIo),
    Peer("ws", "ws, by hand", "ws.mjs", PlainJson),
    Peer("colyseus", "Colyseus, a view a player", "colyseus.mjs", Colyseus),
    Peer(
        "colyseus-shared", "Colyseus, a view a square", "colyseus.mjs", Colyseus,
        ("--shared-views",),
    ),
)


@dataclass
class Server:
    """A peer that runs and listens at `address`."""

    address: Address
    process: "subprocess.Popen[str]"
    errors: IO[str]

    def cost(self) -> tuple[float, float]:
        """Return its CPU seconds (user and system) and its memory in MB (resident). Raises
        Trouble if it has ended."""
        if self.process.poll() is not None:
            raise Trouble(f"the server has died: {self.last_words()}")
        process = psutil.Process(self.process.pid)
        times = process.cpu_times()
        return times.user + times.system, process.memory_info().rss / 2**20

    @property
    def died(self) -> str | None:
        """Say how it has ended, if it has. One whose connections just broke is given a moment."""
        try:
            self.process.wait(DYING)
        except subprocess.TimeoutExpired:
            return None
        return f"the server has died: {self.last_words()}"

    def last_words(self) -> str:
        """Return the line of its standard error that tells most: that of an error, or the last."""
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors.read().splitlines() if line.strip()]
        telling = [line for line in lines if "Error" in line]
        return (telling or lines or [f"it ended with code {self.process.poll()}"])[-1]


def absent(peers: Sequence[Peer]) -> dict[str, str]:
    """Return, by name, why some of the peers cannot take part: each time a sentence's end that
    says what to do."""
    why = {}
    for peer in peers:
        if peer.in_node and shutil.which("node") is None:
            why[peer.name] = "Node is not on this machine: install Node 20 or newer with npm, " \
                "then run make bench-peers"  # fmt: skip
        elif peer.in_node and not (SERVERS / "node_modules").is_dir():
            why[peer.name] = "their packages are not installed: run make bench-peers, or npm ci " \
                "in loadtest/peers/servers"  # fmt: skip
        elif not peer.in_node and not PYTHON.exists():
            why[peer.name] = "their packages are not installed: run make bench-peers"
    return why


@contextlib.contextmanager
def started(command: Sequence[str], cpus: Sequence[int] = ()) -> Iterator[Server]:
    """Run a server that prints its port, on these cores or on all. Raises Trouble."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            env={**os.environ, "NODE_ENV": "production"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            # Ctrl-C is for us: we end it.
            start_new_session=True,
        )
        guard.watch(process.pid)
        try:
            if cpus:
                # At once, before it has threads, which inherit it.
                os.sched_setaffinity(process.pid, cpus)
            server = Server(("127.0.0.1", 0), process, errors)
            server.address = ("127.0.0.1", _port(server))
            yield server
        finally:
            end(process)
            guard.forget(process.pid)


def command(peer: Peer) -> list[str]:
    """Return what starts a peer."""
    program = str(SERVERS / peer.program)
    return ["node" if peer.in_node else str(PYTHON), program, *peer.options]


def _port(server: Server) -> int:
    stdout = server.process.stdout
    assert stdout is not None
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if select.select([stdout], [], [], 0.2)[0]:
            line = stdout.readline().strip()
            if line.isdecimal():
                return int(line)
            server.process.wait(PARTING)
            break
    raise Trouble(f"the server does not start: {server.last_words()}")


def end(process: "subprocess.Popen[str]") -> None:
    """End a program, and whatever it started; one that is too busy to listen at once."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PARTING)
    with contextlib.suppress(ProcessLookupError):
        # None of it is left, mostly.
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
