"""A client of a harness: what it sends, and what it believes."""

from typing import Any, Protocol

import msgpack

from flatlands.testkit.connection import FakeConnection
from flatlands.testkit.host import Host


class Simulation(Protocol):
    """The harness, as its clients use it."""

    def settle(self) -> None:
        """Let everything happen that takes no time."""


class SimulatedClient:
    """A client on one of a harness's nodes. `model` is what it believes."""

    def __init__(self, harness: Simulation, host: Host) -> None:
        self.harness = harness
        self.host = host
        self.connection = FakeConnection(host.loop)
        self.connection.client = self
        self.session = host.begin(self.connection)
        self.model = self.connection.model
        self.number = 0
        #: Whether it acknowledges nothing.
        self.silent = False

    def raw(self, payload: bytes, opcode: int = 2) -> None:
        self.host.deliver(self.connection, payload, opcode)
        self.harness.settle()

    def send(self, *message: object) -> None:
        self.raw(msgpack.packb(list(message)))

    def hello(self, *what: Any, **named: Any) -> "SimulatedClient":
        """Send hello as `say_hello` does, and let everything happen that takes no time."""
        self.say_hello(*what, **named)
        self.harness.settle()
        return self

    def say_hello(
        self,
        name: str = "Wren",
        size: tuple[int, int] = (40, 25),
        token: str | None = None,
        near: int | str | None = None,
        place: tuple[int, int] | None = None,
    ) -> None:
        """Send hello without waiting for anything to happen."""
        hello = msgpack.packb([1, 3, name, *size, token, near, *(place or (None, None))])
        self.host.deliver(self.connection, hello, 2)

    def walk(self, dx: int, dy: int, age: int = 0) -> None:
        self.number += 1
        self.send(2, self.number, self.now() - age, dx, dy)

    def go(self, x: int, y: int) -> None:
        self.number += 1
        self.send(3, self.number, self.now(), x, y)

    def home(self) -> None:
        self.number += 1
        self.send(4, self.number)

    def ack(self) -> None:
        self.model.acknowledged = self.model.flush
        self.send(14, self.model.flush)

    def ping(self) -> None:
        self.model.acknowledged = self.model.flush
        self.send(7, 1, self.model.flush)

    def now(self) -> int:
        """Return its node's time in ms."""
        return self.host.loop.now()

    @property
    def id(self) -> int:
        return self.model.id

    def at(self, other: "SimulatedClient | None" = None) -> tuple[int, int]:
        """Return where the client believes that it, or another one, is now: (x, y) in units."""
        return self.model.players[(other or self).id].at(self.now())

    def sees(self, other: "SimulatedClient") -> bool:
        return other.id in self.model.players
