"""Nodes with their clients, over simulated links and on a clock that only the test moves.

Everything is real except sockets, links and clock: clients send bytes, and get the frames that
sessions write. It knows no game.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import gevent

from flatlands.server.game.game import AnyGame
from flatlands.server.game.game_node import GameNode
from flatlands.server.messages.channels import DEFAULT_WORLD
from flatlands.server.messages.peer_protocol import DRAINING
from flatlands.server.squares.crowds import CROWD_FROM
from flatlands.server.workers.draining import FINISH_WITHIN_S
from flatlands.stores.base import Store
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.clock import Clock
from flatlands.testkit.comparison import allow_for_sketches, believed_records, true_records
from flatlands.testkit.ground import PatchedTerrain
from flatlands.testkit.host import Host
from flatlands.testkit.network import Network
from flatlands.world.grid import SIDE

#: Nodes that have taken so many turns, while no time has passed, take turns for ever.
TURNS_AT_ONCE_MOST = 10_000

ENDLESS = (
    "the game goes on without end while no time passes: does a hook cause its own next call, as "
    "on_touch does that changes the thing each time while two players stand there?"
)


class Harness:
    """The nodes of a world, with their clients.

    They `play` this class of a game, with its `options`. `free`: the ground has no obstacles;
    otherwise it is that of the game. Each node's clock is `skew` ms ahead of the one before, and
    the nodes are machines with these `addresses`. `stores` opens the store of each node. A square
    with `crowd_from` players is a crowd. `ready`: run until all nodes are ready. `paced`: flushes
    keep the pace that they have in play; otherwise there is one whenever there is anything to send.
    """

    def __init__(
        self,
        play: type[AnyGame],
        options: object = None,
        free: bool = True,
        nodes: int = 1,
        skew: int = 0,
        seed: int = 1,
        stores: Callable[[], Store | None] = lambda: None,
        clock: Clock | None = None,
        crowd_from: int = CROWD_FROM,
        ready: bool = False,
        addresses: Sequence[str] = (),
        paced: bool = False,
    ) -> None:
        self.clock = clock or Clock()
        self.chance = random.Random(seed)
        self.network = Network(self.clock, self.chance)
        self.free, self.crowd_from, self.paced = free, crowd_from, paced
        self.play, self.options = play, options
        self._skew, self._stores, self._addresses = skew, stores, list(addresses)
        self.hosts: list[Host] = []
        for _ in range(nodes):
            self.host()
        first = self.hosts[0]
        self.loop, self.node, self.broker = first.loop, first.node, first.broker
        self.clients: list[SimulatedClient] = []
        self._acknowledge = 0
        #: Whether hooks of the game wait, in their own greenlets.
        self.waits = False
        self.settle()
        if ready:
            self.run(1500)

    def host(
        self, seed: int = 2013, side: int = SIDE, world: str = DEFAULT_WORLD, down: bool = False
    ) -> Host:
        """Start another node and return it; `down`: its link is down."""
        free = self.free
        terrain = PatchedTerrain(lambda _x, _y: False, seed) if free else self.play.ground(seed)
        host = Host(
            self.clock,
            self.network,
            terrain,
            self.game,
            skew=self._skew * len(self.hosts),
            seed=seed,
            side=side,
            world=world,
            store=self._stores(),
            address=self._addresses.pop(0) if self._addresses else "",
            crowd_from=self.crowd_from,
            paced=self.paced,
        )
        self.hosts.append(host)
        host.broker.down = down
        return host

    def game_of(self, host: Host | None = None) -> Any:
        """Return the game on a node, by default the first one."""
        return (host or self.hosts[0]).node.game

    def game(self, node: GameNode) -> AnyGame:
        """Make the game that is played on a node."""
        return self.play(node, self.options, True)

    def kill(self, host: Host) -> None:
        """Let a node die as by kill -9: it publishes nothing more, and its clients are cut off."""
        self.hosts.remove(host)
        host.node.bus.broker.close()
        self.clients = [client for client in self.clients if client.host is not host]

    def client(self, host: Host | None = None) -> SimulatedClient:
        """Return a connected client that has sent nothing yet."""
        self.clients.append(SimulatedClient(self, host or self.hosts[0]))
        return self.clients[-1]

    def place(
        self,
        name: str,
        square: tuple[int, int],
        size: tuple[int, int] = (40, 25),
        host: Host | None = None,
    ) -> SimulatedClient:
        """Return a client whose player stands in the middle of a square."""
        span = self.node.grid.span
        middle = square[0] * span + span // 2, square[1] * span + span // 2
        return self.stand(name, middle, size, host)

    def stand(
        self, name: str, at: tuple[int, int], size: tuple[int, int], host: Host | None = None
    ) -> SimulatedClient:
        """Return a client whose player stands at a position in units."""
        node = (host or self.hosts[0]).node
        node.residents.choose_spot = lambda near=None: at  # type: ignore[method-assign]
        try:
            return self.client(host).hello(name, size)
        finally:
            del node.residents.choose_spot

    def settle(self) -> None:
        """Let everything happen that takes no time. Raises RuntimeError if that never ends."""
        busy, turns = True, 0
        while busy:
            busy, turns = False, turns + 1
            if turns > TURNS_AT_ONCE_MOST:
                raise RuntimeError(ENDLESS)
            if self.waits:
                gevent.sleep(0)
            for host in self.awake():
                # What another node has just done may have killed this one.
                if host not in self.hosts:
                    continue
                busy |= host.loop.turn()
                while (item := host.broker.receive(0)) is not None:
                    host.node.receive(item)
                    host.loop.on_done()
                    busy = True

    def awake(self) -> list[Host]:
        """Return the nodes that do not stand still."""
        return [host for host in self.hosts if not host.frozen]

    def stop(self, host: Host) -> None:
        """Stop a node as server/workers/draining.py does it, within a second or two."""
        host.node.play.stop()
        host.node.peers.publish(DRAINING)
        for client in self.clients:
            if client.host is host and client.connection.open:
                if client.session.resident is not None:
                    client.session.renew_token()
                client.connection.close(1012, "the server restarts")
        self.run(1000)
        host.node.takeovers.stop()
        host.node.outbox.publish_all()
        for _ in range(FINISH_WITHIN_S * 50):
            if host.node.play.finish():
                break
            self.run(20)
        host.node.peers.publish(DRAINING)
        self.kill(host)

    def run(self, ms: int) -> None:
        """Let this many ms pass. Clients acknowledge flushes once a second."""
        until = self.clock.time + ms
        while True:
            self.settle()
            dues = (due for host in self.awake() for due in (host.loop.next(), host.broker.next()))
            soonest = min((due for due in dues if due is not None), default=until + 1)
            self.clock.time = max(min(until, self._acknowledge, soonest), self.clock.time)
            if self.clock.time >= self._acknowledge:
                self._acknowledge = self.clock.time + 900
                for client in self.clients:
                    owes = client.model.flush > client.model.acknowledged and not client.silent
                    if owes and not client.connection.closed:
                        # Real clients use both.
                        (client.ack if client.model.flush % 2 else client.ping)()
            for client in self.clients:
                client.model.expire(client.now())
            if self.clock.time >= until and soonest > until:
                break
        self.settle()

    def check(self) -> None:
        """Check that every client that does not lag believes the truth, and that there are some."""
        compared = 0
        for client in self.clients:
            session = client.session
            lags = session.lags_since is not None or client.connection.backlogged
            if session.resident is not None and not lags:
                assert session.resident.held == client.model.held
                truth, belief = true_records(client, self.hosts), believed_records(client)
                assert allow_for_sketches(belief, truth, client.model) == truth
                compared += 1
        assert compared, "nobody is left who could believe anything"
