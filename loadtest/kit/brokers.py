"""Starts brokers for a measurement: real programs on free ports of loopback.

Each broker is one entry in STARTERS. Nothing here uses a broker, except to ask how it is. What a
URL may be is asked of the brokers' own readers of URLs.
"""

import fcntl
import math
import os
import socket
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from random import SystemRandom
from typing import Any, Final, NamedTuple

from redis import Redis

from flatlands.brokers.registry import check_broker, members_of
from flatlands.brokers.ring import named
from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.processes import START_SECONDS, Program, Trouble, find

#: Programs, and their Debian packages.
MOSQUITTO = "mosquitto", "mosquitto"
NATS = "nats-server", "nats-server"
REDIS = "redis-server", "redis-server"
REDIS_CLI = "redis-cli", "redis-tools"

#: The ports of which some are given to programs: Linux gives others to those that ask for any.
PORTS: Sequence[int] = range(20_000, 32_000)

#: The ports that this process has.
_reserved: Final[set[int]] = set()

#: A broker's URL, and the programs that were started for it.
Started = tuple[str, list[Program]]


def certificates() -> dict[str, str]:
    """Return the variable BROKER_TLS, if it is set, for a program in another folder."""
    given = os.environ.get("BROKER_TLS")
    if not given:
        return {}
    return {"BROKER_TLS": os.path.abspath(given) if os.path.isfile(given) else given}


def open_redis(url: str, **options: object) -> Any:
    """Return redis-py's client of a Redis; BROKER_TLS says which certificates it accepts."""
    which = certificates().get("BROKER_TLS", "verified")
    if url.startswith("rediss://") and which == "unverified":
        options |= {"ssl_cert_reqs": "none", "ssl_check_hostname": False}
    elif url.startswith("rediss://") and which != "verified":
        options["ssl_ca_certs"] = which
    return Redis.from_url(url, **options)


def server_cpu(client: Redis) -> float:
    """Return the CPU seconds that a redis-server has used; NaN if it does not tell."""
    found = client.info("cpu")
    used: float = found.get("used_cpu_user", math.nan) + found.get("used_cpu_sys", math.nan)
    return used


def start(stack: ExitStack, url: str) -> Started:
    """Start the broker that a URL without a host names; return its URL and the programs.

    A URL with a host is returned unchanged, without programs. Several URLs, separated by commas,
    are a ring. The programs end with the stack. Raises Trouble and Interrupted.
    """
    urls: list[str] = []
    programs: list[Program] = []
    for member in members_of(url):
        started: list[Program] = []
        starter = _starter(member)
        if starter is not None:
            member, started = starter.start(stack)
        urls.append(member)
        programs += started
    return ",".join(urls), programs


def _starter(member: str) -> "Starter | None":
    """Return what starts the broker that a URL names; None if that is not started."""
    scheme, _, rest = member.partition("://")
    return None if rest else STARTERS.get(scheme)


def broker(text: str) -> str:
    """Return the URL of a broker or a ring: of one that runs, or one without a host, which is
    started. It is a type of option, and "" leaves the broker to the server."""
    members = members_of(text) if text else []
    running = [member for member in members if _starter(member) is None]
    started = sorted(set(members).difference(running))
    tls = certificates().get("BROKER_TLS", "verified")
    try:
        for member in running:
            check_broker(member, tls)
        named(text, running + started)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    return text


def find_programs(urls: Iterable[str]) -> None:
    """Raise Trouble if a program is missing that some URLs without a host would start."""
    for member in {member for url in urls for member in members_of(url)}:
        starter = _starter(member)
        for program, package in starter.programs if starter is not None else ():
            find(program, package)


@cache
def _reservations() -> int:
    """Return the descriptor of a file with one byte for each port: whoever has it locked has the
    port. A second descriptor of the file would end the locks of this process when it is closed."""
    path = Path(tempfile.gettempdir()) / f"flatlands-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def free_ports(number: int) -> list[int]:
    """Return loopback ports on which nobody listens, and which Linux does not give to programs that
    ask for any port. No other call returns them before this process ends: so a server that stops
    can start again on its port. Raises Trouble if there are not enough, and OSError."""
    found: list[int] = []
    descriptor = _reservations()
    for port in SystemRandom().sample(PORTS, len(PORTS)):
        if len(found) == number:
            break
        if port not in _reserved and _lock(descriptor, port):
            with suppress(OSError), socket.create_server(("127.0.0.1", port)):
                _reserved.add(port)
                found.append(port)
    if len(found) < number:
        raise Trouble(f"of {len(PORTS)} ports too few are free: end what listens on them")
    return found


def _lock(descriptor: int, port: int) -> bool:
    """Lock the byte of a port; return False if another process has it. Raises OSError."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except (BlockingIOError, PermissionError):
        return False
    return True


def redis(stack: ExitStack, *options: str, port: int | None = None) -> Started:
    """Start a redis-server with its default configuration, but without persistence."""
    port = port or free_ports(1)[0]
    command = [
        *(find(*REDIS), "--bind", "127.0.0.1", "--port", str(port)),
        *("--dir", _folder(stack), "--save", "", "--appendonly", "no", "--logfile", ""),
        *options,
    ]
    program = stack.enter_context(Program(command, "redis-server"))
    program.ready("Ready to accept connections")
    return f"redis://127.0.0.1:{port}", [program]


def redis_cluster(stack: ExitStack) -> Started:
    """Start a Redis Cluster of three masters that share the slots."""
    client = find(*REDIS_CLI)
    ports, programs = [], []
    for bus in free_ports(3):
        enabled = ("--cluster-enabled", "yes", "--cluster-port", str(bus))
        url, [program] = redis(stack, *enabled)
        ports.append(url.rpartition(":")[2])
        programs.append(program)
    hosts = [f"127.0.0.1:{port}" for port in ports]

    def ask(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([client, *words], capture_output=True, text=True)

    def is_whole(port: str) -> bool:
        return "cluster_state:ok" in ask("-p", port, "CLUSTER", "INFO").stdout

    made = ask("--cluster", "create", *hosts, "--cluster-yes")
    deadline = time.monotonic() + START_SECONDS
    while not all(is_whole(port) for port in ports):
        if made.returncode or time.monotonic() > deadline:
            raise Trouble(f"the Redis Cluster does not start: {made.stdout.strip()[-200:]}")
        signals.sleep(0.05)
    return "rediscluster://" + ",".join(hosts), programs


def forwarder(stack: ExitStack, ports: tuple[int, int] | None = None) -> Started:
    """Start a forwarder of zeromq://."""
    pull, pub = ports or free_ports(2)
    where = ("--pull", str(pull), "--pub", str(pub))
    return f"zeromq://127.0.0.1:{pull}?pub={pub}", [_forwarder(stack, *where)]


def local_forwarder(stack: ExitStack) -> Started:
    """Start a forwarder of zeromq+ipc://."""
    path = f"{_folder(stack)}/forwarder"
    return f"zeromq+ipc://{path}", [_forwarder(stack, "--ipc", path)]


def _forwarder(stack: ExitStack, *where: str) -> Program:
    command = [sys.executable, "-m", "flatlands.brokers.zeromq", *where]
    program = stack.enter_context(Program(command, "the ZeroMQ forwarder"))
    program.ready("^ready")
    return program


def nats(stack: ExitStack) -> Started:
    """Start a nats-server."""
    [port] = free_ports(1)
    command = [find(*NATS), "--addr", "127.0.0.1", "--port", str(port)]
    program = stack.enter_context(Program([*command, "--log", "/dev/stdout"], "nats-server"))
    program.ready("Server is ready")
    return f"nats://127.0.0.1:{port}", [program]


def mosquitto(stack: ExitStack) -> Started:
    """Start a mosquitto as docs/operations.md advises: it drops nothing and sends at once."""
    [port] = free_ports(1)
    configuration = Path(_folder(stack)) / "mosquitto.conf"
    configuration.write_text(
        "max_queued_messages 1000000\nset_tcp_nodelay true\nlog_type warning\n"
        f"listener {port} 127.0.0.1\nallow_anonymous true\n"
    )
    command = [find(*MOSQUITTO), "-c", str(configuration)]
    program = stack.enter_context(Program(command, "mosquitto"))
    # It buffers its log lines, so a line that says it is ready would come late.
    until = time.monotonic() + START_SECONDS
    while not _listens(port):
        if program.death() or time.monotonic() > until:
            raise Trouble(f"mosquitto does not start: {program.last_words()}")
        signals.sleep(0.05)
    return f"mqtt://127.0.0.1:{port}", [program]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _folder(stack: ExitStack) -> str:
    return stack.enter_context(tempfile.TemporaryDirectory(prefix="flatlands-broker-"))


class Starter(NamedTuple):
    """Starts a broker; `programs` are those that it needs, with their Debian packages."""

    start: Callable[[ExitStack], Started]
    programs: tuple[tuple[str, str], ...] = ()


#: Scheme -> what starts a broker for a URL without a host.
STARTERS = {
    "mqtt": Starter(mosquitto, (MOSQUITTO,)),
    "nats": Starter(nats, (NATS,)),
    "redis": Starter(redis, (REDIS,)),
    "rediscluster": Starter(redis_cluster, (REDIS, REDIS_CLI)),
    "zeromq": Starter(forwarder),
    "zeromq+ipc": Starter(local_forwarder),
}
