"""Nodes of a harness as the workers of one machine, which pass players to each other.

Everything is real except sockets and the passages between workers: a Line carries a client's
connection to the other worker, or loses it on the way.
"""

from typing import Any

from flatlands.server import gathering
from flatlands.server.clients.handlers import HANDLERS
from flatlands.server.clients.session import Session
from flatlands.server.districts import Plan, pack_plan, slot_name
from flatlands.server.gathering import HEARD_WITHIN, Gathering
from flatlands.server.websocket.frames import parse_close
from tests.server.harness import Client, FakeConnection, Harness, Host


class FakePassage:
    """A server.websocket.passing.Passage of a machine of tests."""

    def __init__(self, machine: "Machine", host: Host) -> None:
        self._machine, self.host = machine, host
        self.on_arrival: Any = None
        self.name = ""

    def open(self, name: str) -> None:
        self.name = name
        self._machine.passages[name] = self

    def close(self) -> None:
        if self._machine.passages.get(self.name) is self:
            del self._machine.passages[self.name]

    def send(self, name: str, message: bytes, sock: Any = None) -> bool:
        to = self._machine.passages.get(name)
        if to is None:
            return False
        self._machine.under_way.append((to, message, FakeSocket(sock, to.host)))
        return True


class FakeSocket:
    """A client's socket on its way to a worker."""

    def __init__(self, before: Any, to: Host) -> None:
        self.client: Client = before.client
        self.messages, self.to = before.messages, to
        #: The code and the reason of the close frame that the client was sent.
        self._said = 1006, ""

    def send(self, data: bytes) -> None:
        assert data[:1] == b"\x88"
        self._said = parse_close(data[2:])

    def close(self) -> None:
        self.client.connection = FakeConnection(self.to.loop)
        self.client.connection.closed = self._said


class FakeServer:
    """A server.app.Server as gatherings know it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.sessions: set[Session] = set()

    def begin(self, connection: Any) -> Session:
        host = self._host
        session = Session(connection, host.node, host.admission, host.tokens, host.limits, HANDLERS)
        connection.on_close = lambda code, _reason: session.closed(code)
        connection.client.session = session
        self.sessions.add(session)
        return session

    def forget(self, session: Session) -> None:
        self.sessions.discard(session)


class Arrived(FakeConnection):
    """The connection of a client that was passed on, at its new worker."""

    def __init__(self, before: Any, _most: int, _early: bytes, address: str, guest: Any) -> None:
        client: Client = before.client
        super().__init__(before.to.loop)
        self.client, self.address, self.guest = client, address, guest
        self.model, self.messages = client.model, before.messages
        client.connection, client.host = self, before.to

    def start(self) -> None:
        pass

    def abort(self) -> bool:
        self.close(1006)
        return True


class Machine(Harness):
    """A harness whose nodes are the workers of one machine. `monkeypatch` is pytest's."""

    def __init__(self, monkeypatch: Any, workers: int = 2, seed: int = 1) -> None:
        super().__init__(nodes=workers, seed=seed)
        monkeypatch.setattr(gathering, "Connection", Arrived)
        self.passages: dict[str, FakePassage] = {}
        #: What was sent from worker to worker and has not arrived yet.
        self.under_way: list[tuple[FakePassage, bytes, Any]] = []
        self.workers: dict[Host, Gathering] = {}
        self.servers: dict[Host, FakeServer] = {}
        self.plan: Plan = 0
        for slot, host in enumerate(self.hosts):
            self.join_machine(host, slot)
        self.run(2000)

    def join_machine(self, host: Host, slot: int) -> None:
        """Let a node be the worker of a slot."""
        server = self.servers[host] = FakeServer(host)
        worker = Gathering(
            slot,
            FakePassage(self, host),
            host.node,
            host.admission,
            host.limits,
            server,
        )
        host.admission.passing = worker
        self.workers[host] = worker
        worker.open()

    def tell(self, plan: Plan) -> None:
        """Tell all workers a plan, and let them follow it."""
        self.plan = plan
        takes = [slot for slot in range(8) if slot_name(slot) in self.passages]
        message = pack_plan(plan, takes, len(self.workers))
        for worker in self.workers.values():
            worker._arrived(message, None)
        self.follow()

    def follow(self) -> None:
        """Let all workers pass on who belongs elsewhere."""
        for host, worker in self.workers.items():
            for session in list(self.servers[host].sessions):
                worker.compare(session)
        self.run(HEARD_WITHIN)

    def look_after(self) -> None:
        """Let all workers look after their sessions, as they do every ten seconds."""
        for host, worker in self.workers.items():
            for session in list(self.servers[host].sessions):
                worker.look_after(session)
        self.run(HEARD_WITHIN)

    def arrive(self, lose: int = 0) -> None:
        """Let what is under way arrive; the next `lose` messages are lost with their sockets."""
        under_way, self.under_way = self.under_way, []
        for to, message, sock in under_way:
            if to.host not in self.hosts or lose > 0:
                lose -= 1
                sock.close()
            else:
                to.on_arrival(message, sock)
        self.settle()

    def client(self, host: Host | None = None) -> Client:
        client = super().client(host)
        client.connection.client = client
        client.connection.on_close = lambda code, _reason: client.session.closed(code)
        self.servers[client.host].sessions.add(client.session)
        return client

    def kill(self, host: Host) -> None:
        super().kill(host)
        worker = self.workers.pop(host)
        worker.close()

    def back(self, client: Client, host: Host) -> Client:
        """Let a client that was cut off come back at a worker; return its next connection."""
        if client in self.clients:
            self.clients.remove(client)
        again = self.client(host)
        again.say_hello("back", (40, 25), client.model.token, None)
        self.settle()
        return again

    def draw(self) -> Plan:
        """Return a plan drawn by chance for all workers that take players."""
        taking = [slot for slot in range(8) if slot_name(slot) in self.passages]
        self.chance.shuffle(taking)
        plan: Plan = taking[0]
        for slot in taking[1 : self.chance.randint(1, len(taking))]:
            axis = self.chance.randrange(3)
            at = self.chance.randrange(-2, 3) if axis < 2 else self.chance.randrange(2)
            sides = [plan, slot]
            self.chance.shuffle(sides)
            plan = (axis, at, sides[0], sides[1])
        return plan
