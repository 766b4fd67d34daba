"""Real Redis servers and clusters as child processes on loopback, for as long as a block lasts."""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from itertools import combinations
from pathlib import Path

#: Seconds that a server may take to start, or a cluster to agree.
PATIENCE = 20

PASSWORD = "pa:ss@word"
#: The same as it stands in a URL.
QUOTED = "pa%3Ass%40word"

SLOTS = 16384


def free_port() -> int:
    """Return a port of loopback on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def eventually(condition, what: str) -> None:
    """Return once `condition()` is true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@cache
def certify() -> tuple[Path, Path]:
    """Return a key, and a certificate for this machine that is signed by nobody else."""
    folder = Path(tempfile.mkdtemp(prefix="flatlands-certificate-"))
    atexit.register(shutil.rmtree, folder)
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return key, certificate


class Redis:
    """A redis-server that can be killed, stalled and started again where it was."""

    def __init__(self, *options: str, tls: bool = False) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="flatlands-redis-"))
        self._tls = tls
        self._login = {"REDISCLI_AUTH": PASSWORD} if "--requirepass" in options else {}
        listen = ["--port", str(self.port)]
        if tls:
            key, certificate = certify()
            listen = [
                *("--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "no"),
                *("--tls-key-file", str(key), "--tls-cert-file", str(certificate)),
                *("--tls-ca-cert-file", str(certificate)),
            ]
        self._command = [
            "redis-server",
            *("--bind", "127.0.0.1", "--dir", str(self.folder), "--save", "", "--appendonly", "no"),
            *listen,
            *options,
        ]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, as the first time."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log)
        eventually(lambda: self.ask("PING") == "PONG", "redis-server does not start")

    def ask(self, *command: str, check: bool = False) -> str:
        """Return what it answers to a command, as redis-cli shows it."""
        secure = ["--tls", "--insecure"] if self._tls else []
        answer = subprocess.run(
            ["redis-cli", "-p", str(self.port), *secure, *command],
            env={**os.environ, **self._login},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert not check or answer.stdout.strip() == "OK", (command, answer)
        return answer.stdout.strip()

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def stall(self) -> None:
        """Let it keep its connections and do nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `stall`."""
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, whatever state it is in."""
        if self.process:
            self.kill()
        shutil.rmtree(self.folder)


@contextmanager
def running(*options: str, tls: bool = False) -> Iterator[Redis]:
    """Run a server."""
    server = Redis(*options, tls=tls)
    try:
        server.start()
        yield server
    finally:
        server.close()


class Cluster:
    """Masters with a third of the slots each, say, and as many replicas as wanted."""

    def __init__(self, nodes: list[Redis], masters: int, tls: bool) -> None:
        self.tls = tls
        self.nodes = nodes
        self.masters = nodes[:masters]
        for number, node in enumerate(self.masters):
            first, past = SLOTS * number // masters, SLOTS * (number + 1) // masters
            node.ask("CLUSTER", "ADDSLOTSRANGE", str(first), str(past - 1), check=True)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1), check=True)
        for one, other in combinations(nodes, 2):
            one.ask("CLUSTER", "MEET", "127.0.0.1", *other.bus, check=True)
        eventually(self._all_known, "the nodes of a cluster do not meet")
        for number, replica in enumerate(nodes[masters:]):
            # To be known is not yet to be known by name.
            master = self.masters[number % masters].ask("CLUSTER", "MYID")
            eventually(
                partial(self._follows, replica, master), "a replica does not find its master"
            )
        eventually(self.agreed, "a cluster does not agree")
        for replica in nodes[masters:]:
            eventually(partial(self._is_fed, replica), "a replica does not follow")

    def _all_known(self) -> bool:
        return all(
            f"cluster_known_nodes:{len(self.nodes)}" in node.ask("CLUSTER", "INFO")
            for node in self.nodes
        )

    def _follows(self, replica: Redis, master: str) -> bool:
        return replica.ask("CLUSTER", "REPLICATE", master) == "OK"

    def _is_fed(self, replica: Redis) -> bool:
        return "master_link_status:up" in replica.ask("INFO", "replication")

    def agreed(self) -> bool:
        """Return whether all nodes that run find the cluster whole."""
        return all(
            "cluster_state:ok" in node.ask("CLUSTER", "INFO")
            for node in self.nodes
            if node.process.poll() is None
        )

    def master_of(self, slot: int) -> Redis:
        """Return the node that had this slot at the start."""
        return self.masters[slot * len(self.masters) // SLOTS]

    def move(self, slot: int, source: Redis, target: Redis) -> None:
        """Give a slot to another master, as `redis-cli --cluster reshard` does."""
        to = target.ask("CLUSTER", "MYID")
        target.ask(*_setslot(slot), "IMPORTING", source.ask("CLUSTER", "MYID"), check=True)
        source.ask(*_setslot(slot), "MIGRATING", to, check=True)
        for node in (target, source):
            node.ask(*_setslot(slot), "NODE", to, check=True)

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.masters)
        if self.tls:
            return f"redisclusters://{hosts}?ssl_cert_reqs=none"
        return f"rediscluster://{hosts}"


def _setslot(slot: int) -> tuple[str, str, str]:
    return "CLUSTER", "SETSLOT", str(slot)


@contextmanager
def running_cluster(masters: int = 3, replicas: int = 0, tls: bool = False) -> Iterator[Cluster]:
    """Run a cluster."""
    secure = ("--tls-cluster", "yes") if tls else ()
    with ExitStack() as stack:
        nodes = []
        for _ in range(masters + replicas):
            bus = str(free_port())
            node = stack.enter_context(
                running(
                    *("--cluster-enabled", "yes", "--cluster-node-timeout", "1000"),
                    *("--cluster-port", bus, "--cluster-announce-ip", "127.0.0.1"),
                    *("--repl-diskless-sync-delay", "0"),
                    *secure,
                    tls=tls,
                )
            )
            node.bus = (str(node.port), bus)
            nodes.append(node)
        yield Cluster(nodes, masters, tls)


# What the contract is held against: one context manager each, which yields a URL.


@contextmanager
def redis_url() -> Iterator[str]:
    with running("--requirepass", PASSWORD) as server:
        yield f"redis://:{QUOTED}@127.0.0.1:{server.port}/0"


@contextmanager
def rediss_url() -> Iterator[str]:
    with running("--requirepass", PASSWORD, tls=True) as server:
        yield f"rediss://:{QUOTED}@localhost:{server.port}?ssl_cert_reqs=none"


@contextmanager
def rediscluster_url() -> Iterator[str]:
    with running_cluster() as cluster:
        yield cluster.url
