"""The other nodes: who is alive, what their clocks say, and whether this node hears anything.

Every node tells once a second, on one channel, that it lives and which squares it has residents in.
It never touches a replica but through server/replicas.py.
"""

import logging
from collections import deque
from collections.abc import Callable

from brokers import Broker
from server import peer_protocol
from server.channels import Channels
from server.loop import Agenda, Loop
from server.peer_protocol import ALIVE, DRAINING
from server.replicas import Replicas
from world.grid import Square

log = logging.getLogger("flatlands")

#: Heartbeats come every so many ms.
HEARTBEAT_EVERY = 1000

#: A node unheard for so many ms is dead; one that said it stops, after the latter.
DEAD_AFTER, GONE_AFTER = 3000, 10_000

#: The own heartbeat comes back within so many ms, or nobody else's death can be told.
FRESH = 1500

#: Without its own heartbeat for so many ms a node is deaf: not ready for players.
DEAF_AFTER = 3000

#: A loop that was late by more ms than this may have missed heartbeats of others.
STALLED = 1000

#: The smallest (heard - sent) of so many ms tells how a node's clock differs from this one's.
CLOCK_WINDOW = 60_000

#: A clock that is found to differ by less than so many ms more or less is not told to clients.
CLOCK_STEP = 3

#: Why this node and another one should not serve together.
OTHER_BROKERS = "another node uses other brokers than this one: compare their URLs"
OTHER_WORLD = (
    "another node on this broker serves another world: compare versions, seeds and sides, "
    "or give each world a broker of its own"
)


class Peer:
    """Another node, as its heartbeats tell. Times are this node's, in ms."""

    __slots__ = ("heard", "state", "misfit", "squares", "offset", "_samples", "_parts", "_sent")

    def __init__(self, now: int) -> None:
        self.heard = now
        self.state = ALIVE
        #: Why it does not fit to this node; nothing where it does.
        self.misfit = ""
        self.squares: dict[Square, int] = {}
        #: What to add to its times to make them this node's.
        self.offset = 0
        # (when, heard - sent), the differences rising: the first is the smallest in the window.
        self._samples: deque[tuple[int, int]] = deque()
        self._parts: dict[int, list[int]] = {}
        self._sent = 0

    def sample(self, now: int, sent: int) -> None:
        """Note that something it sent at its time `sent` was heard now."""
        difference, samples = now - sent, self._samples
        while samples and samples[-1][1] >= difference:
            samples.pop()
        samples.append((now, difference))
        while samples[0][0] < now - CLOCK_WINDOW:
            samples.popleft()
        self.offset = samples[0][1]

    def take(self, sent: int, part: int, parts: int, squares: list[int]) -> bool:
        """Take a part of a heartbeat; say whether that made it complete."""
        if sent != self._sent:
            self._sent, self._parts = sent, {}
        self._parts[part] = squares
        if len(self._parts) < parts:
            return False
        flat = [number for some in self._parts.values() for number in some]
        self.squares = {
            (flat[i], flat[i + 1]): flat[i + 2] for i in range(0, len(flat), 3)
        }
        return True


class Peers:
    """See the module.

    `squares` returns this node's squares with residents, and the last batch number of each;
    `on_clocks` is called when clients must be told of clocks, `on_link` when this node begins
    or ceases to hear itself.
    """

    def __init__(
        self,
        id: int,
        channels: Channels,
        broker: Broker,
        loop: Loop,
        squares: Callable[[], dict[Square, int]],
        on_clocks: Callable[[], None],
        on_link: Callable[[], None],
    ) -> None:
        self._id = id
        self._channels = channels
        self._broker = broker
        self._loop = loop
        self._squares = squares
        self._on_clocks = on_clocks
        self._on_link = on_link
        self.replicas: Replicas
        self.peers: dict[int, Peer] = {}
        #: The clocks as clients were told them: node -> offset.
        self.clocks: dict[int, int] = {}
        self.state = ALIVE
        #: When the own heartbeat came back last.
        self.echoed = loop.now()
        self.linked = True
        self._beats = Agenda(loop, self._beat)

    def start(self) -> None:
        """Begin to tell and to hear."""
        self._broker.subscribe(self._channels.nodes)
        self._beats.put("beat", self._loop.now())

    @property
    def deaf(self) -> bool:
        """Whether this node has not heard itself for too long."""
        return self._loop.now() - self.echoed > DEAF_AFTER

    def misfits(self) -> list[str]:
        """Return why other nodes do not fit to this one, where some do not."""
        return sorted({peer.misfit for peer in self.peers.values()} - {""})

    def offset(self, node: int, sent: int) -> int:
        """Return what to add to a node's times; of one never heard of, as this message tells."""
        if node == self._id:
            return 0
        peer = self.peers.get(node)
        if peer is None:
            peer = self.peers[node] = Peer(self._loop.now())
            peer.sample(self._loop.now(), sent)
            self._tell_clock(node, peer)
        return self.clocks[node]

    def listed(self, square: Square) -> set[int]:
        """Return the other nodes that have told of residents in a square."""
        return {id for id, peer in self.peers.items() if square in peer.squares}

    def tell(self, state: int) -> None:
        """Send a heartbeat now, and go on with this state."""
        self.state = state
        squares = [n for square, number in self._squares().items() for n in (*square, number)]
        size = peer_protocol.SQUARES * 3
        pages = [squares[at : at + size] for at in range(0, len(squares), size)] or [[]]
        sent, ring = self._loop.now(), self._broker.ring_hash
        for part, some in enumerate(pages):
            message = peer_protocol.heartbeat(
                self._id, sent, ring, self._channels.ground, state, part, len(pages), some
            )
            self._broker.publish(self._channels.nodes, message)

    def heard(
        self, node: int, sent: int, ring: str, world: str, state: int, part: int, parts: int,
        squares: list[int],
    ) -> None:  # fmt: skip
        """Take in a part of a heartbeat."""
        now = self._loop.now()
        if node == self._id:
            self.echoed = now
            self._check_link()
            return
        peer = self.peers.get(node)
        if peer is None:
            peer = self.peers[node] = Peer(now)
        peer.heard, peer.state = now, state
        self._compare(peer, ring, world)
        peer.sample(now, sent)
        self._tell_clock(node, peer)
        if peer.take(sent, part, parts, squares):
            self.replicas.compare(node, peer.squares)

    def _compare(self, peer: Peer, ring: str, world: str) -> None:
        misfit = ""
        if world != self._channels.ground:
            misfit = OTHER_WORLD
        elif ring != self._broker.ring_hash:
            misfit = OTHER_BROKERS
        if misfit and misfit != peer.misfit:
            log.warning("not ready: %s", misfit)
        peer.misfit = misfit

    def _tell_clock(self, node: int, peer: Peer) -> None:
        told = self.clocks.get(node)
        if told is None or abs(told - peer.offset) >= CLOCK_STEP:
            self.clocks[node] = peer.offset
            self._on_clocks()

    def _beat(self, _key: object, due: int) -> None:
        now = self._loop.now()
        self._beats.put("beat", now + HEARTBEAT_EVERY)
        self.tell(self.state)
        if now - due > STALLED:
            # This node slept, not the others: what they sent meanwhile is still to be read.
            for peer in self.peers.values():
                peer.heard = max(peer.heard, now)
        self._check_link()
        if self.linked:
            self._bury(now)

    def _bury(self, now: int) -> None:
        for id, peer in list(self.peers.items()):
            if now - peer.heard > (GONE_AFTER if peer.state == DRAINING else DEAD_AFTER):
                del self.peers[id]
                self.clocks.pop(id, None)
                self._loop.stats["nodes_lost"] += 1
                self.replicas.drop(id)

    def _check_link(self) -> None:
        now = self._loop.now()
        linked = now - self.echoed <= FRESH
        if linked == self.linked:
            return
        self.linked = linked
        if linked:
            # Nobody could be heard meanwhile: all get their time again.
            for peer in self.peers.values():
                peer.heard = now
        self._on_link()
