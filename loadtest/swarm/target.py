"""What is measured: a server, with its broker, started for one run or already there.

Starts real programs on free ports of loopback, ends those and no others, and reads what processes
have cost. It knows nothing of bots.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import psutil

from loadtest import guard
from loadtest.swarm import wire

ROOT = Path(__file__).resolve().parent.parent.parent

#: Seconds that a program may take to start, or to end.
PATIENCE = 30


#: All that a program gets of this environment: options of a server must not come in unseen.
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "PYTHONDONTWRITEBYTECODE")

#: What each program that runs says on standard error.
_ERRORS: dict[int, IO[str]] = {}

#: How each was started: some change what the system shows of it.
COMMANDS: dict[int, list[str]] = {}


class TargetError(Exception):
    """What is to be measured is not there; the text is one sentence for people."""


@dataclass
class Target:
    """A server that answers at `address`, a number and a port. `server` and `broker` are processes
    to be measured, none where it runs elsewhere; `url` is the broker's, as the server was told it;
    `name` what the server is called; `tls` "", "checked" or "unchecked"."""

    address: tuple[str, int]
    path: str
    url: str = ""
    server: list[psutil.Process] = field(default_factory=list)
    broker: list[psutil.Process] = field(default_factory=list)
    process: "subprocess.Popen[str] | None" = None
    name: str = "127.0.0.1"
    tls: str = ""

    @property
    def died(self) -> str | None:
        """Say how the server has ended, if it has."""
        if self.process is None or self.process.poll() is None:
            return None
        return f"the server ended with code {self.process.returncode}"

    def cost(self) -> dict[str, float]:
        """Return CPU seconds and memory (MB resident) of the server's and the broker's processes,
        since their start."""
        servers, brokers = set(self.server), set(self.broker)
        for process in self.server:
            with contextlib.suppress(psutil.NoSuchProcess):
                for child in process.children(recursive=True):
                    (brokers if "brokers.zeromq" in child.cmdline() else servers).add(child)
        server, broker = _cost(servers), _cost(brokers)
        return {
            "server_cpu": server[0], "server_mb": server[1],
            "broker_cpu": broker[0], "broker_mb": broker[1],
        }  # fmt: skip

    def stats(self) -> "dict[str, Any]":
        """Return what all workers of the server have counted since its start, if it tells."""
        return self.counted(5.0) or {}

    def counted(self, patience: float) -> "dict[str, Any] | None":
        """Return the same, or None where /stats does not answer in time."""
        try:
            with self.open("/stats", patience) as answer:
                shown = json.load(answer)
        except (OSError, ValueError, http.client.HTTPException):
            return None
        broker = {f"broker_{name}": n for name, n in shown["broker"].items()}
        return {**shown["counted"], **broker}

    def open(self, page: str, patience: float = 5.0) -> Any:
        """Ask for a page that lies beside the path of the WebSocket. Raises OSError."""
        scheme, context = "http", None
        if self.tls:
            scheme, context = "https", ssl.create_default_context()
            if self.tls == "unchecked":
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
        host = wire.host(self.name, self.address[1], bool(self.tls))
        folder = urlsplit(self.path).path.rpartition("/")[0]
        url = f"{scheme}://{host}{folder}{page}"
        return urllib.request.urlopen(url, timeout=patience, context=context)


#: What a server or its broker counts when something is lost, or told anew because it may be.
LOSSES = (
    "gaps", "unheard_batches", "refused_batches", "resets", "repairs", "nodes_lost",
    "broker_dropped",
)  # fmt: skip


class Watch:
    """Looks at the server's counters once a second, in a thread of its own, and notes when losses
    were counted: between two moments of a clock, in us."""

    def __init__(self, target: Target, clock: Callable[[], int]) -> None:
        self._target, self._clock = target, clock
        self.losses: list[tuple[int, int]] = []
        #: When the last look began, and what was counted by then.
        self._last: tuple[int, int] | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self.look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(1.0):
            self.look()

    def look(self) -> None:
        """Look at the counters of all workers, if the server answers."""
        began = self._clock()
        counted = self._target.counted(2.0)
        if counted is None:
            return
        total = sum(counted.get(name, 0) for name in LOSSES)
        if self._last is not None:
            since, before = self._last
            if total > before:
                self.losses.append((since, self._clock()))
        self._last = began, total


def _cost(processes: set[psutil.Process]) -> tuple[float, float]:
    cpu = memory = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            times = process.cpu_times()
            cpu += times.user + times.system
            memory += process.memory_info().rss / 2**20
    return cpu, memory


def there(url: str, insecure: bool = False) -> Target:
    """Return the target at a ws:// or wss:// URL; with `insecure` whatever its certificate says.
    Raises TargetError."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "wss" else 80)
    except ValueError:
        port = 0
    if parts.scheme not in ("ws", "wss") or not parts.hostname or not port:
        raise TargetError(f"{url!r} is not the address of a server: ws://HOST:PORT/ws is one")
    try:
        with socket.create_connection((parts.hostname, port), timeout=5) as connection:
            address = connection.getpeername()[:2]
    except OSError as error:
        raise TargetError(
            f"nothing answers at {url} ({error.strerror or error}): start a server there, or leave "
            "--url out and one is started"
        ) from error
    tls = "" if parts.scheme == "ws" else "unchecked" if insecure else "checked"
    path = (parts.path or "/ws") + (f"?{parts.query}" if parts.query else "")
    return Target(address, path, name=parts.hostname, tls=tls)


@contextlib.contextmanager
def started(
    broker: str, workers: int, spread: int, cpus: tuple[int, ...], port: int = 0,
    environment: dict[str, str] | None = None, module: Sequence[str] = ("server",),
) -> Iterator[Target]:
    """Run a server and, where `broker` names none that runs, its broker.

    A URL without a host, such as redis://, is started here; "" is the server's own default. The
    server may use `cpus`, or all if there are none; `environment` is added to its own; `module` is
    what is run, with what it is told before the options. Raises TargetError.
    """
    with contextlib.ExitStack() as stack:
        processes: list[psutil.Process] = []
        urls = [_broker(stack, url, processes) for url in re.split(r",(?=[a-z+]+://)", broker)]
        command = [
            *(sys.executable, "-m", *module, "--port", str(port), "--workers", str(workers)),
            *("--spread", str(spread), "--walkers", "0", "--log-level", "WARNING"),
            # All bots come from one address.
            *("--max-per-address", "0"),
        ]
        if any(urls):
            command += ["--broker", ",".join(urls)]
        process = run_program(stack, command, cpus, environment)
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+:(\d+)", line)
        if found is None:
            raise TargetError(f"the server does not start: {_last_words(process)}")
        target = Target(
            ("127.0.0.1", int(found[1])), "/ws", ",".join(urls) or "its own",
            [psutil.Process(process.pid)], processes, process,
        )  # fmt: skip
        _wait_ready(target)
        yield target


def _wait_ready(target: Target) -> None:
    """Return once the server can play; with several workers, once all have met."""
    host, port = target.address
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"http://{host}:{port}/readyz", timeout=5):
                return
        except urllib.error.HTTPError as error:
            why = error.read().decode().strip()
        except OSError as error:
            why = str(error)
        if target.died or time.monotonic() > deadline:
            raise TargetError(f"the server does not get ready: {target.died or why}")
        time.sleep(0.05)


def _last_words(process: "subprocess.Popen[str]") -> str:
    process.wait(PATIENCE)
    errors = _ERRORS[process.pid]
    errors.seek(0)
    lines = errors.read().strip().splitlines()
    return lines[-1] if lines else f"it ended with code {process.returncode}"


def run_program(
    stack: contextlib.ExitStack, command: list[str], cpus: tuple[int, ...] = (),
    environment: dict[str, str] | None = None,
) -> "subprocess.Popen[str]":  # fmt: skip
    """Start a program, which ends with the stack, or with this process; Ctrl-C does not reach
    it."""
    # Not a pipe: what nobody reads would stop it in the end.
    errors = stack.enter_context(tempfile.TemporaryFile("w+"))
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={
            **{name: value for name, value in os.environ.items() if name in PASSED_ON},
            **(environment or {}),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    )
    stack.callback(_end, process)
    guard.watch(process.pid)
    _ERRORS[process.pid], COMMANDS[process.pid] = errors, command
    if cpus:
        # At once, before it has threads or children, which inherit it.
        os.sched_setaffinity(process.pid, cpus)
    return process


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        # With its clients gone a server has nothing to wait for; what it started goes with it.
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
    guard.forget(process.pid)
    assert process.stdout is not None
    process.stdout.close()
    del _ERRORS[process.pid], COMMANDS[process.pid]


def _broker(stack: contextlib.ExitStack, url: str, processes: list[psutil.Process]) -> str:
    """Return a broker's URL; one without a host is started here."""
    scheme, separator, rest = url.strip().partition("://")
    if rest or not separator or scheme in ("memory", "null"):
        return url.strip()
    if scheme == "redis":
        port, process = _redis(stack, ())
        processes.append(process)
        return f"redis://127.0.0.1:{port}"
    if scheme == "rediscluster":
        return _cluster(stack, processes)
    if scheme in ("zeromq", "zeromq+ipc"):
        folder = _folder(stack)
        ports = str(_free_port()), str(_free_port())
        if scheme == "zeromq":
            where = ["--pull", ports[0], "--pub", ports[1]]
            made = f"zeromq://127.0.0.1:{ports[0]}?pub={ports[1]}"
        else:
            where = ["--ipc", f"{folder}/forwarder"]
            made = f"zeromq+ipc://{folder}/forwarder"
        forwarder = run_program(stack, [sys.executable, "-m", "brokers.zeromq", *where])
        assert forwarder.stdout is not None
        if not forwarder.stdout.readline().startswith("ready"):
            raise TargetError(f"the ZeroMQ forwarder does not start: {_last_words(forwarder)}")
        processes.append(psutil.Process(forwarder.pid))
        return made
    raise TargetError(f"{url} names no broker: give it a host, or one of redis://, "
                      "rediscluster://, zeromq://, zeromq+ipc:// to have it started")  # fmt: skip


def _folder(stack: contextlib.ExitStack) -> str:
    return stack.enter_context(tempfile.TemporaryDirectory(prefix="flatlands-swarm-"))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _redis(stack: contextlib.ExitStack, options: tuple[str, ...]) -> tuple[int, psutil.Process]:
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        raise TargetError(
            "redis-server and redis-cli are not on this machine: install them (Debian: apt-get "
            "install redis-server), or name a Redis that runs"
        )
    port = _free_port()
    process = run_program(
        stack,
        [
            *("redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", _folder(stack)),
            *("--save", "", "--appendonly", "no", *options),
        ],
    )
    deadline = time.monotonic() + PATIENCE
    while _ask(port, "PING") != "PONG":
        if process.poll() is not None or time.monotonic() > deadline:
            raise TargetError("redis-server does not start")
        time.sleep(0.02)
    return port, psutil.Process(process.pid)


def _ask(port: int, *command: str) -> str:
    return subprocess.run(
        ["redis-cli", "-p", str(port), *command], capture_output=True, text=True
    ).stdout.strip()


def _cluster(stack: contextlib.ExitStack, processes: list[psutil.Process]) -> str:
    """Start three masters that share the slots; return their URL."""
    ports = []
    for _ in range(3):
        bus = str(_free_port())
        options = ("--cluster-enabled", "yes", "--cluster-port", bus)
        port, process = _redis(stack, options)
        ports.append(port)
        processes.append(process)
    hosts = [f"127.0.0.1:{port}" for port in ports]
    made = subprocess.run(
        ["redis-cli", "--cluster", "create", *hosts, "--cluster-yes"],
        capture_output=True, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while not all("cluster_state:ok" in _ask(port, "CLUSTER", "INFO") for port in ports):
        if made.returncode or time.monotonic() > deadline:
            raise TargetError(f"the Redis Cluster does not start: {made.stdout.strip()[-200:]}")
        time.sleep(0.05)
    return "rediscluster://" + ",".join(hosts)
