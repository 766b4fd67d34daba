"""One node of a harness with the sessions of its clients, as a server runs it."""

from collections.abc import Callable
from typing import Any

from flatlands.server.clients.admission import Admission
from flatlands.server.clients.handlers import KINDS
from flatlands.server.clients.session import Session
from flatlands.server.clients.tokens import Tokens
from flatlands.server.game.game import store_name
from flatlands.server.game.play import GameFactory
from flatlands.server.node import Node
from flatlands.server.runtime.limits import Limits
from flatlands.server.squares.peers import NodeLoad
from flatlands.stores.base import Store
from flatlands.testkit.clock import Clock, ManualLoop, begin
from flatlands.testkit.connection import FakeConnection
from flatlands.testkit.network import FakeLink, Network
from flatlands.world.grid import Grid


class Host:
    """A node of a harness, with its event loop, its link and the sessions of its clients."""

    def __init__(
        self,
        clock: Clock,
        network: Network,
        terrain: Any,
        game: GameFactory,
        *,
        skew: int,
        seed: int,
        side: int,
        world: str,
        store: Store | None,
        address: str,
        crowd_from: int,
        paced: bool,
    ) -> None:
        self.loop = ManualLoop(clock, skew)
        self.broker = FakeLink(network)
        #: It calls at once, so that answers of the store come in the time that the test moves.
        self.spawn: Callable[..., object] = begin
        self.node = Node(
            grid=Grid(side),
            terrain=terrain,
            broker=self.broker,
            loop=self.loop,  # type: ignore[arg-type]
            world=world,
            store=store,
            game=game,
            spawn=lambda call, *arguments: self.spawn(call, *arguments),
            address=address,
            crowd_from=crowd_from,
        )
        self.node.peers.set_load(NodeLoad(machine=self.node.router.machine(0.0, None)))
        if not paced:
            self.node.hub.flush_interval = lambda _screens: 0
        self.node.peers.start()
        self.node.moderation.start()
        self.node.router.start()
        self.node.play.start()
        self.tokens = Tokens(
            "a secret of tests", f"{seed} {world}", game=store_name(type(self.node.game))
        )
        self.limits = Limits(self.loop.stats, now=self.loop.now)
        self.admission = Admission(self.node, self.tokens, self.limits, capacity=1000)
        self.sessions: set[Session] = set()
        #: Whether the process stands still. What clients send then waits in their sockets.
        self.frozen = False
        self._frozen_at = 0
        #: Client -> the opcodes and payloads that it has sent since then.
        self._unread: dict[Any, list[tuple[int, bytes]]] = {}

    # As server/clients/sessions.py does it.

    def begin(self, connection: FakeConnection | Any) -> Session:
        """Begin a session on a connection."""
        session = Session(connection, self.node, self.admission, self.tokens, self.limits, KINDS)

        def closed(code: int, _reason: str) -> None:
            self.sessions.discard(session)
            session.on_closing(code)

        connection.on_close = closed
        connection.client.session = session
        self.sessions.add(session)
        return session

    def forget(self, session: Session) -> None:
        """Forget a session that continues at another worker."""
        self.sessions.discard(session)

    def freeze(self) -> None:
        """Let the process stand still."""
        if not self.frozen:
            self.frozen, self._frozen_at = True, self.loop.time

    def thaw(self, suspended: bool = False) -> None:
        """Let it run again. If its whole machine was `suspended`, its clock stood still too."""
        self.frozen = False
        if suspended:
            self.loop.skew -= self.loop.time - self._frozen_at
        unread, self._unread = self._unread, {}
        for client, messages in unread.items():
            self._read(client.connection, messages)

    def deliver(self, connection: FakeConnection, payload: bytes, opcode: int) -> None:
        """Deliver what a client has sent, now or when the process continues."""
        if self.frozen:
            self._unread.setdefault(connection.client, []).append((opcode, payload))
        else:
            self._read(connection, [(opcode, payload)])

    def _read(self, connection: FakeConnection, messages: list[tuple[int, bytes]]) -> None:
        """Deliver the messages that one read of a client's socket finds."""
        for left, (opcode, payload) in zip(range(len(messages))[::-1], messages, strict=True):
            if connection.closed is None and not connection.dead:
                connection.last_heard = self.loop.time / 1000
                connection.more = left > 0
                connection.on_message(opcode, payload)
                self.loop.on_done()
