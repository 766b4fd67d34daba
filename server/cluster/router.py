"""Sends players to the machine that serves their part of the world, so that neighbours meet there.

A machine is all nodes that have the same address. The plan says which machine has which part
(placement.py). The node that has the lease of the plan makes it, and publishes it once a second; so
it needs a store, and heartbeats, which have the load of each machine. A node asks the client of a
player that belongs elsewhere to go on there. The client comes there with its token, as after any
loss (players/takeovers.py), or stays: nothing here depends on it. A machine without an address has
no part in this.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from flatlands.server.cluster.districts import Districts, Line, Partition, WorkerLoad, shards
from flatlands.server.cluster.placement import Placement
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import ALIVE, MACHINES, STARTING, pack
from flatlands.server.messages.protocol import moved
from flatlands.server.players.resident import Resident
from flatlands.server.players.residents import Residents
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.peers import Peers
from flatlands.server.storage.client import StoreClient
from flatlands.server.storage.lease import Lease, StatelessHolder

#: Time between two looks at how busy the machines are, after each of which the plan is published.
PLAN_EVERY_MS: Final = 1000

#: How long a plan holds if nobody repeats it.
PLAN_HOLDS_MS: Final = 10_000

#: A machine that has been silent, or stopped, for this long loses its district.
MACHINE_GONE_MS: Final = 10_000

#: All clients are asked within this time to go where a new plan wants them.
PLAN_FOLLOWED_MS: Final = 10_000

#: How long after a change of the plan its effect on machines can be judged.
MACHINES_SETTLED_S: Final = 20.0

#: A client that was asked to go elsewhere, and has not gone, is asked again after this.
ASKED_AGAIN_MS: Final = 60_000

#: How long a player that came from another node is not asked. So no player is sent more often than
#: three times a minute, even if nodes disagree.
RESTS_MS: Final = 20_000


class Router(Placement[str], StatelessHolder):
    """This machine's part in sharing the world: asks clients to go on at other machines, and makes
    the plan while it has the lease.

    `address` is that of this node's machine, "" if it has none.
    """

    def __init__(
        self, address: str, bus: Bus, residents: Residents, peers: Peers, store_client: StoreClient
    ) -> None:
        Placement.__init__(self, address, PLAN_FOLLOWED_MS, residents, bus.loop)
        StatelessHolder.__init__(self, self._may_hold)
        self._bus = bus
        self._peers = peers
        self._keeps = store_client.store is not None
        #: The addresses of the machines of this world, also of those that are drained: their pages
        #: may connect here.
        self.addresses: frozenset[str] = frozenset()
        #: Who published the plan, (term, node), and when.
        self._plan_from = 0, 0
        self._plan_at = 0
        #: The plan as this node makes it, while it does.
        self._districts = Districts("", MACHINES_SETTLED_S)
        #: Machines -> when each was last alive.
        self._alive_at: dict[str, int] = {}
        #: Players that are not asked to go elsewhere for a while -> the address to which they were
        #: asked to go, "" if they came from elsewhere.
        self._asked: dict[int, str] = {}
        self._oblivion = TimerQueue(self._loop, lambda id, _due: self._asked.__delitem__(id))
        self._lease = Lease(f"plan {bus.channels.rules}", store_client, self._loop, self)

    def start(self) -> None:
        """Begin to follow the plan, if there is an address, and to make it, if there is a store."""
        if self.here:
            self._loop.every(PLAN_EVERY_MS, self._follow_machines)
            if self._keeps:
                self._lease.start()

    def machine(self, busy: float, line: Line | None) -> list[str | int]:
        """Return what this node's heartbeats contain about its machine: its address, how busy the
        node is in percent, and a line that divides its players, if it is busy."""
        return [self.here, round(100 * busy), *(line or ())] if self.here else []

    # The plan.

    def _may_hold(self) -> bool:
        return self._peers.state == ALIVE and self._peers.broker_up

    def begin(self, _found: None) -> None:
        """Go on with the plan that was published last, if it still holds; or begin with the busiest
        machine, so that the fewest players must move."""
        loads = self._loads()
        plan = self.plan
        if plan is None:
            plan = max(loads, key=lambda at: loads[at].busy, default=self.here)
        self._districts = Districts(plan, MACHINES_SETTLED_S)
        self._alive_at = dict.fromkeys(shards(self._districts.plan), self._loop.now())

    def _follow_machines(self) -> None:
        """Find out which machines there are and which take players, and make the plan if this node
        has its lease."""
        holds = self._loop.now() - self._plan_at <= PLAN_HOLDS_MS
        takes = frozenset(machine[0] for machine in self._machines())
        self.learn(self.plan if holds else None, takes)
        loads = (peer.load for peer in self._peers.peers.values() if peer.state != STARTING)
        others = {load.machine[0] for load in loads if load.machine}
        self.addresses = frozenset({self.here, *others})
        if self._keeps and self._lease.valid:
            self._make()

    def _make(self) -> None:
        """Change the plan if the load of machines requires it, and publish it to all nodes."""
        now, loads, districts = self._loop.now(), self._loads(), self._districts
        self._alive_at.update(dict.fromkeys(loads, now))
        for gone in [
            at for at in shards(districts.plan) if now - self._alive_at[at] > MACHINE_GONE_MS
        ]:
            districts.part_with(gone, loads)
        districts.follow(loads, now / 1000)
        plan = districts.plan if isinstance(districts.plan, tuple) else [districts.plan]
        self._bus.to_all(pack(peer_protocol.Plan(self._bus.node, self._lease.term, plan)))

    def _loads(self) -> dict[str, WorkerLoad]:
        """Return the mean load of each machine's nodes, and the line of its busiest node."""
        nodes: defaultdict[str, list[list[int]]] = defaultdict(list)
        for address, *load in self._machines():
            nodes[address].append(load)
        loads = {}
        for address in sorted(nodes)[:MACHINES]:
            some = nodes[address]
            _, *line = max(some, key=lambda load: (len(load), load[0]))
            busy = sum(load[0] for load in some) / 100 / len(some)
            loads[address] = WorkerLoad(busy, Line(*line) if line else None)
        return loads

    def _machines(self) -> Iterator[Sequence[Any]]:
        """Yield what the heartbeats of all nodes that take players say, this one's too."""
        peers = self._peers
        if peers.state == ALIVE and peers.load.machine:
            yield peers.load.machine
        for peer in peers.peers.values():
            if peer.state == ALIVE and peer.load.machine:
                yield peer.load.machine

    def on_plan(self, message: peer_protocol.Plan) -> None:
        """Take the plan that a node has published. If two nodes publish one, all believe the
        same."""
        node, term, plan = message
        if (term, node) < self._plan_from and self.plan is not None:
            return
        self._plan_from, self._plan_at = (term, node), self._loop.now()
        self.learn(_plan(plan[0] if len(plan) == 1 else plan), self.takes)

    # Players.

    def move(self, resident: Resident, to: str) -> None:
        """Ask a client to go to another machine; see Placement."""
        if resident.id in self._asked or not self._ask(resident, to):
            self.try_again(resident)

    def send_away(self, resident: Resident) -> None:
        """Ask a client to go to any other machine, because this node is drained, when nothing of
        its player is under way; only once, unless that machine takes no players any more."""
        to = self.another()
        if to is not None and self._asked.get(resident.id) not in self.takes:
            self._ask(resident, to)

    def _ask(self, resident: Resident, to: str) -> bool:
        session = resident.session
        if session is None or session.transferable_state() is None:
            return False
        session.renew_token()
        session.answer(moved(to))
        self._loop.stats["asked_to_move"] += 1
        self._note(resident.id, to, ASKED_AGAIN_MS)
        return True

    def _note(self, id: int, to: str, ms: int) -> None:
        self._asked[id] = to
        self._oblivion.put(id, self._loop.now() + ms)

    def came(self, id: int) -> None:
        """Note that a player has come from another node."""
        if self.here:
            self._note(id, "", RESTS_MS)

    def was_sent(self, id: int, node: int) -> bool:
        """Return whether a player's client was asked to go to the machine of `node`, which now asks
        for the player; and count it if so."""
        peer, to = self._peers.peers.get(node), self._asked.get(id)
        sent = bool(to) and peer is not None and to in peer.load.machine
        self._loop.stats["moved_to"] += sent
        return sent


def _plan(part: Any) -> Partition[str]:
    """Return a plan as districts.py has it, with tuples in place of lists."""
    if isinstance(part, str):
        return part
    axis, at, low, high = part
    return axis, at, _plan(low), _plan(high)
