"""Nodes of a harness as the workers of one machine, which pass players to each other.

Everything is real except sockets and the passages between workers: a client's connection is carried
to the other worker, or lost on the way.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from flatlands.server.cluster.districts import Partition, pack_plan, shard_name
from flatlands.server.net.frames import parse_close
from flatlands.server.workers.load_meter import LoadMeter
from flatlands.server.workers.migration import HEARD_WITHIN_MS, Migration
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.connection import FakeConnection
from flatlands.testkit.host import Host
from tests.server.harness import Harness


class FakePassage:
    """Stands for a server.net.socket_passing.Passage."""

    def __init__(self, machine: "Machine", host: Host) -> None:
        self._machine, self.host = machine, host
        self.arrived: Any = None
        self.name = ""

    def open(self, name: str, arrived: Any) -> None:
        self.name, self.arrived = name, arrived
        self._machine.passages[name] = self

    def close(self) -> None:
        if self._machine.passages.get(self.name) is self:
            del self._machine.passages[self.name]

    def send(self, name: str, message: bytes, sock: Any = None) -> bool:
        to = self._machine.passages.get(name)
        if to is not None:
            self._machine.under_way.append((to, message, FakeSocket(sock, to.host)))
        return to is not None


class FakeSocket:
    """A client's socket on its way to a worker."""

    def __init__(self, connection: FakeConnection, to: Host) -> None:
        self.client: SimulatedClient = connection.client
        self.to = to
        #: The code and the reason of the close frame that the client was sent.
        self._said = 1006, ""

    def send(self, data: bytes) -> None:
        assert data[:1] == b"\x88"
        self._said = parse_close(data[2:])

    def close(self) -> None:
        self.connect().closed = self._said

    def connect(self, *_: Any) -> FakeConnection:
        """Return the client's next connection, at the other worker."""
        before, client = self.client.connection, self.client
        client.host, client.connection = self.to, FakeConnection(self.to.loop)
        client.connection.client = client
        client.connection.model, client.connection.messages = before.model, before.messages
        return client.connection


class Machine(Harness):
    """A harness whose nodes are the workers of one machine."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.passages: dict[str, FakePassage] = {}
        #: Messages from worker to worker that have not arrived yet.
        self.under_way: list[tuple[FakePassage, bytes, FakeSocket]] = []
        self.workers: dict[Host, Migration] = {}
        self._slots = itertools.count()
        super().__init__(*arguments, **options)

    def host(self, *arguments: Any, **options: Any) -> Host:
        host = super().host(*arguments, **options)
        passage = FakePassage(self, host)
        worker = self.workers[host] = host.admission.other_workers = Migration(
            next(self._slots),
            passage,
            host.node,
            LoadMeter(host.node, host.admission.capacity),
            host.limits,
            host,
            FakeSocket.connect,
        )
        worker.open()
        return host

    def tell(self, plan: Partition, full: Sequence[int] = ()) -> None:
        """Tell all workers a plan, and which slots are full; let them pass on the first players
        that it concerns."""
        message = pack_plan(plan, self.taking(), len(self.workers), full)
        for passage in list(self.passages.values()):
            if not passage.host.frozen:
                passage.arrived(message, None)
        self.run(HEARD_WITHIN_MS)

    def taking(self) -> list[int]:
        """Return the slots that take players."""
        return [slot for slot in range(20) if shard_name(slot) in self.passages]

    def look_after(self) -> None:
        """Let all workers look after their players, as they do every ten seconds."""
        for host in self.awake():
            for resident in host.node.residents.by_id.values():
                self.workers[host].relocate(resident)
        self.run(HEARD_WITHIN_MS)

    def arrive(self, lose: int = 0) -> None:
        """Let what is under way arrive; the next `lose` messages are lost with their sockets."""
        under_way, self.under_way = self.under_way, []
        for to, message, sock in under_way:
            if to.host not in self.hosts or lose > 0:
                lose -= 1
                sock.close()
            elif to.host.frozen:
                self.under_way.append((to, message, sock))
            else:
                to.arrived(message, sock)
        self.settle()

    def kill(self, host: Host) -> None:
        super().kill(host)
        self.workers.pop(host).close()

    def stop(self, host: Host) -> None:
        self.arrive()
        self.workers[host].close()
        super().stop(host)

    def back(self, client: SimulatedClient, host: Host) -> SimulatedClient:
        """Let a client that was cut off come back at a worker; return its next connection."""
        if client in self.clients:
            self.clients.remove(client)
        return self.client(host).hello("back", token=client.model.token)
