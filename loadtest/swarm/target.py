"""What is measured: a server, with its broker, started for one run or already there.

Starts real programs on free ports of loopback, ends those and no others, and reads what processes
have cost. It knows nothing of bots.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent

#: Seconds that a program may take to start, or to end.
PATIENCE = 30

#: Requests for /stats after which no more workers are looked for.
STATS_TRIES = 60


#: All that a program gets of this environment: options of a server must not come in unseen.
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "PYTHONDONTWRITEBYTECODE")

#: What each program that runs says on standard error.
_ERRORS: dict[int, IO[str]] = {}


class TargetError(Exception):
    """What is to be measured is not there; the text is one sentence for people."""


@dataclass
class Target:
    """A server that answers at `address`. `server` and `broker` are processes to be measured, none
    where it runs elsewhere; `url` is the broker's, as the server was told it."""

    address: tuple[str, int]
    path: str
    url: str = ""
    server: list[psutil.Process] = field(default_factory=list)
    broker: list[psutil.Process] = field(default_factory=list)
    process: "subprocess.Popen[str] | None" = None

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
        """Return the sum of what all nodes of the server counted since their start."""
        host, port = self.address
        nodes: dict[int, Any] = {}
        for _ in range(STATS_TRIES):
            try:
                with urllib.request.urlopen(f"http://{host}:{port}/stats", timeout=5) as answer:
                    shown = json.load(answer)
            except (OSError, ValueError):
                break
            nodes[shown["node"]] = shown
            if len(nodes) >= shown["nodes"]:
                break
        total: Counter[str] = Counter()
        for shown in nodes.values():
            total.update(shown["counted"])
            total.update({f"broker_{name}": n for name, n in shown["broker"].items()})
        return dict(total)


#: What a server or its broker counts when something is lost.
LOSSES = ("gaps", "unheard_batches", "refused_batches", "broker_dropped")


def losses(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Return how many losses were counted between two readings of the stats."""
    return sum(after.get(name, 0) - before.get(name, 0) for name in LOSSES)


def _cost(processes: set[psutil.Process]) -> tuple[float, float]:
    cpu = memory = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            times = process.cpu_times()
            cpu += times.user + times.system
            memory += process.memory_info().rss / 2**20
    return cpu, memory


def there(url: str) -> Target:
    """Return the target at a ws:// URL. Raises TargetError."""
    parts = urlsplit(url)
    if parts.scheme != "ws" or not parts.hostname:
        raise TargetError(f"{url!r} is not the address of a server: ws://HOST:PORT/ws is one")
    address = parts.hostname, parts.port or 80
    try:
        with socket.create_connection(address, timeout=5):
            pass
    except OSError as error:
        raise TargetError(
            f"nothing answers at {url} ({error.strerror or error}): start a server there, or leave "
            "--url out and one is started"
        ) from error
    return Target(address, parts.path or "/ws")


@contextlib.contextmanager
def started(
    broker: str, workers: int, spread: int, cpus: tuple[int, ...]
) -> Iterator[Target]:
    """Run a server and, where `broker` names none that runs, its broker.

    A URL without a host, such as redis://, is started here; "" is the server's own default. The
    server may use `cpus`, or all if there are none. Raises TargetError.
    """
    with contextlib.ExitStack() as stack:
        processes: list[psutil.Process] = []
        urls = [_broker(stack, url, processes) for url in re.split(r",(?=[a-z+]+://)", broker)]
        command = [
            *(sys.executable, "-m", "server", "--port", "0", "--workers", str(workers)),
            *("--spread", str(spread), "--walkers", "0", "--log-level", "WARNING"),
        ]
        if any(urls):
            command += ["--broker", ",".join(urls)]
        process = _run(stack, command, cpus)
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


def _run(
    stack: contextlib.ExitStack, command: list[str], cpus: tuple[int, ...] = ()
) -> "subprocess.Popen[str]":
    """Start a program, which ends with the stack; Ctrl-C does not reach it."""
    # Not a pipe: what nobody reads would stop it in the end.
    errors = stack.enter_context(tempfile.TemporaryFile("w+"))
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name in PASSED_ON},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    )
    stack.callback(_end, process)
    _ERRORS[process.pid] = errors
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
    assert process.stdout is not None
    process.stdout.close()
    del _ERRORS[process.pid]


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
        forwarder = _run(stack, [sys.executable, "-m", "brokers.zeromq", *where])
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
    process = _run(
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
