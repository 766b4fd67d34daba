"""Real Redis servers and clusters as child processes on loopback, which end with a `with` block."""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import combinations

import gevent
from gevent import socket
from gevent.server import StreamServer

from tests.brokers.servers import (
    PASSWORD,
    PATIENCE,
    QUOTED,
    Server,
    certify,
    eventually,
    free_port,
    run,
    shared,
    started,
)

SLOTS = 16384

#: Seconds after which nodes that do not know each other yet are introduced again: one that is too
#: busy to answer within a second is forgotten.
INTRODUCE_EVERY = 3.0


class Redis(Server):
    """A redis-server; its options are those of its command line."""

    scheme = "redis"
    tls_scheme = "rediss"
    program = "redis-server"
    who = f":{QUOTED}@"

    def configured(self, *options):
        listen = ["--port", str(self.port)]
        if self.tls:
            key, certificate = certify()
            listen = [
                *("--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "no"),
                *("--tls-key-file", str(key), "--tls-cert-file", str(certificate)),
                *("--tls-ca-cert-file", str(certificate)),
            ]
        secret = ["--requirepass", PASSWORD] if self.login else []
        kept = ["--dir", str(self.folder), "--save", "", "--appendonly", "no"]
        return ["--bind", "127.0.0.1", *kept, *listen, *secret, *options]

    def answers(self):
        return self.ask("PING") == "PONG"

    def ask(self, *command: str, check: bool = False) -> str:
        """Return its answer to a command, as redis-cli prints it. `check`: it must be OK."""
        secure = ["--tls", "--insecure"] if self.tls else []
        answer = subprocess.run(
            ["redis-cli", "-p", str(self.port), *secure, *command],
            env={**os.environ, **({"REDISCLI_AUTH": PASSWORD} if self.login else {})},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert not check or answer.stdout.strip() == "OK", (command, answer)
        return answer.stdout.strip()


running = partial(run, Redis)


@contextmanager
def lent(**how: bool) -> Iterator[Redis]:
    """Lend the Redis that all tests of this process share, and empty it afterwards."""
    server = shared(running, **how)
    try:
        yield server
    finally:
        server.ask("FLUSHALL", check=True)


#: A login that may not ask for INFO or ROLE, as hosting services have it, and no PING either.
LOGIN = "walker:secret"


class Address:
    """An address that leads to a server, and may lead to another one later, as a name, a virtual
    address or a proxy does. Connections that are open stay where they are."""

    def __init__(self) -> None:
        #: The server to which new connections are made.
        self.leads_to: Redis | None = None
        self._server = StreamServer(("127.0.0.1", 0), self._connected)
        self._server.start()
        self.close = self._server.stop

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._server.server_port}"

    def _connected(self, near: socket.socket, _address: object) -> None:
        with near, socket.create_connection(("127.0.0.1", self.leads_to.port)) as far:
            ways = [gevent.spawn(_pass_on, *way) for way in ((near, far), (far, near))]
            gevent.joinall(ways, count=1)
            gevent.killall(ways)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass  # one of the two has gone


class Pair:
    """A primary, its replica, and the address of whichever of them is the primary."""

    def __init__(self, primary: Redis, replica: Redis, address: Address) -> None:
        self.primary, self.replica, self.address = primary, replica, address
        address.leads_to = primary
        name, password = LOGIN.split(":")
        for server in (primary, replica):
            rights = f"~* &* +@all -@admin -@dangerous -ping +info on >{password}"
            server.ask("ACL", "SETUSER", name, *rights.split(), check=True)
        self._follows(replica, primary)

    def _follows(self, replica: Redis, primary: Redis) -> None:
        replica.ask("REPLICAOF", "127.0.0.1", str(primary.port), check=True)
        eventually(
            lambda: "master_link_status:up" in replica.ask("INFO", "replication"),
            "a replica does not follow",
        )

    def _offset(self, server: Redis) -> str:
        """Return how much a server has of the stream of writes that it makes or follows."""
        return re.search(r"master_repl_offset:(\d+)", server.ask("INFO", "replication"))[1]

    def fail_over(self) -> None:
        """Let the two change their roles, once the replica has what was written. The address leads
        where it did."""
        eventually(
            lambda: self._offset(self.replica) == self._offset(self.primary),
            "a replica does not get what was written",
        )
        self.primary, self.replica = self.replica, self.primary
        self.primary.ask("REPLICAOF", "NO", "ONE", check=True)
        self._follows(self.replica, self.primary)


@contextmanager
def running_pair() -> Iterator[Pair]:
    """Run a primary and its replica behind one address."""
    with ExitStack() as stack:
        servers = [stack.enter_context(running("--repl-diskless-sync-delay", "0")) for _ in "ab"]
        address = Address()
        stack.callback(address.close)
        yield Pair(*servers, address)


def stop_saving(server: Redis) -> None:
    """Let a server fail to save what it has, as on a full disk: it refuses to write from then on,
    and answers PING with an error."""
    # Its file cannot take the place of a folder.
    (server.folder / "dump.rdb").mkdir()
    server.ask("CONFIG", "SET", "save", "3600 1000000", check=True)
    server.ask("BGSAVE")
    eventually(lambda: server.ask("PING").startswith("MISCONF"), "it can save")


class Cluster:
    """A cluster of `masters` that share the slots equally; the other nodes are their replicas."""

    def __init__(self, nodes: list[Redis], masters: int, tls: bool) -> None:
        self.tls = tls
        self.nodes = nodes
        self.masters = nodes[:masters]
        for number, node in enumerate(self.masters):
            first, past = SLOTS * number // masters, SLOTS * (number + 1) // masters
            node.ask("CLUSTER", "ADDSLOTSRANGE", str(first), str(past - 1), check=True)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1), check=True)
        self._introduced = -INTRODUCE_EVERY
        eventually(self._all_known, "the nodes of a cluster do not meet")
        for number, replica in enumerate(nodes[masters:]):
            # A replica may know its master's address before it knows the master's id.
            master = self.masters[number % masters].ask("CLUSTER", "MYID")
            eventually(
                partial(self._follows, replica, master), "a replica does not find its master"
            )
        eventually(self.agreed, "a cluster does not agree")
        for replica in nodes[masters:]:
            eventually(partial(self._is_fed, replica), "a replica does not follow")

    def _all_known(self) -> bool:
        if time.monotonic() - self._introduced >= INTRODUCE_EVERY:
            self._introduced = time.monotonic()
            for one, other in combinations(self.nodes, 2):
                one.ask("CLUSTER", "MEET", "127.0.0.1", *other.bus, check=True)
        return all(
            f"cluster_known_nodes:{len(self.nodes)}" in node.ask("CLUSTER", "INFO")
            for node in self.nodes
        )

    def _follows(self, replica: Redis, master: str) -> bool:
        return replica.ask("CLUSTER", "REPLICATE", master) == "OK"

    def _is_fed(self, replica: Redis) -> bool:
        return "master_link_status:up" in replica.ask("INFO", "replication")

    def agreed(self) -> bool:
        """Return whether all running nodes consider the cluster complete."""
        return all(
            "cluster_state:ok" in node.ask("CLUSTER", "INFO")
            for node in self.nodes
            if node.process.poll() is None
        )

    def master_of(self, slot: int) -> Redis:
        """Return the node that had this slot when the cluster was made."""
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
            nodes.append(started(lambda: _member(*secure, tls=tls)))
            stack.callback(nodes[-1].close)
        yield Cluster(nodes, masters, tls)


def _member(*options: str, tls: bool) -> Redis:
    bus = str(free_port())
    node = Redis(
        *("--cluster-enabled", "yes", "--cluster-node-timeout", "1000"),
        *("--cluster-port", bus, "--cluster-announce-ip", "127.0.0.1"),
        *("--repl-diskless-sync-delay", "0"),
        *options,
        tls=tls,
    )
    node.bus = (str(node.port), bus)
    return node


@contextmanager
def rediscluster_url() -> Iterator[str]:
    with running_cluster() as cluster:
        yield cluster.url
