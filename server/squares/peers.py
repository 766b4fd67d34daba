"""The other nodes: who is alive, what their clocks say, and whether this node hears anything.

Every node tells once a second, on one channel, that it lives and which squares it has players in.
It tells by callbacks what others then have to do, and knows no replica.
"""

import logging
from collections import deque
from collections.abc import Callable

from brokers import Broker
from brokers.guard import LogLimit
from server.agenda import Agenda
from server.loop import Loop
from server.messages import peer_protocol
from server.messages.channels import Channels
from server.messages.peer_protocol import ALIVE, DRAINING, STARTING, Malformed
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

#: Where RECENT heartbeats running came by more than so many ms later than the quickest one, its
#: clock was set back, as that of a machine is that was suspended: what was measured before is void.
CLOCK_SET_BACK, RECENT = 250, 5

#: A clock that is found to differ by less than so many ms more or less is not told to clients.
CLOCK_STEP = 3

#: A node that starts listens for so many ms to who else is there, before it is ready; every other
#: one tells of itself meanwhile.
LISTEN_FOR = 1500

#: A link to a server of the broker's is broken after so many seconds without a sign of life; the
#: brokers ask for one each second.
BROKEN_AFTER = 2.5

#: Nodes that are listened to, fit or not: 64 workers on four machines, or forgeries.
NODES_LIMIT = 256

#: Why this node and another one should not serve together.
OTHER_BROKERS = "another server of this world uses other brokers than this one: compare their URLs"
OTHER_GROUND = (
    "another server of this world has another seed or side than this one: compare them, or give "
    "each world a name of its own with --world"
)
UNREADABLE = (
    "somebody publishes on this world's channels what this server cannot read: compare SECRET_KEY "
    "on all servers, or give each world a name of its own with --world"
)

#: Why a node is not ready, besides those.
DEAF = "the broker does not bring back what is published"
LISTENING = "this server has just started, and listens to who else is there"


class Peer:
    """Another node, as its heartbeats tell. Times are this node's, in ms."""

    __slots__ = (
        "last_heard", "state", "squares", "offset", "_samples", "_recent", "_parts", "_sent",
    )  # fmt: skip

    def __init__(self, now: int) -> None:
        self.last_heard = now
        #: Until it tells. One that is heard of by what it publishes in squares may never have.
        self.state = STARTING
        self.squares: dict[Square, int] = {}
        #: What to add to its times to make them this node's.
        self.offset = 0
        # (when, heard - sent), the differences rising: the first is the smallest in the window.
        self._samples: deque[tuple[int, int]] = deque()
        self._recent: deque[int] = deque(maxlen=RECENT)
        self._parts: dict[int, list[int]] = {}
        self._sent = 0

    def sample(self, now: int, sent: int) -> None:
        """Note that something it sent at its time `sent` was heard now."""
        difference, samples, recent = now - sent, self._samples, self._recent
        recent.append(difference)
        if len(recent) == RECENT and min(recent) > samples[0][1] + CLOCK_SET_BACK:
            samples.clear()
            difference = min(recent)
        while samples and samples[-1][1] >= difference:
            samples.pop()
        samples.append((now, difference))
        while samples[0][0] < now - CLOCK_WINDOW:
            samples.popleft()
        self.offset = samples[0][1]

    def add_part(self, sent: int, part: int, parts: int, squares: list[int]) -> bool:
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

    `squares` returns this node's squares with players, and the last batch number of each.
    `on_squares` is called with what another node lists, in the same form; `on_gone` with one that
    is dead; `on_clocks` when clients must be told of clocks; `on_link` when they must be told
    whether this node is `linked`: hears itself, and has an answer from all servers of its broker.
    """

    def __init__(
        self,
        id: int,
        channels: Channels,
        broker: Broker,
        loop: Loop,
        squares: Callable[[], dict[Square, int]],
    ) -> None:
        self._id = id
        self._channels = channels
        self._broker = broker
        self._loop = loop
        self._squares = squares
        self.on_squares: Callable[[int, dict[Square, int]], None]
        self.on_gone: Callable[[int], None]
        self.on_clocks: Callable[[], None]
        self.on_link: Callable[[], None]
        self.peers: dict[int, Peer] = {}
        #: The clocks as clients were told them: node -> offset.
        self.clocks: dict[int, int] = {}
        self.state = STARTING
        #: Who does not fit to this node: its id, or where that is unknown the reason itself -> when
        #: it was heard, and the reason.
        self.incompatible: dict[int | str, tuple[int, str]] = {}
        #: What is wrong with the servers of the broker that do not answer.
        self.broken: list[str] = []
        self.linked = True
        #: When the own heartbeat came back last, or else this began; and when it did first.
        self._echoed = loop.now()
        self._echoed_first: int | None = None
        self._hears = True
        self._forged = broker.counters.forged
        # Where nothing leaves the process there is nobody to listen to.
        self._listen_for = LISTEN_FOR if broker.links() else 0
        self._warned: dict[str, LogLimit] = {}
        self._beats = Agenda(loop, self._beat)

    def start(self) -> None:
        """Begin to tell and to hear."""
        self._broker.subscribe(self._channels.nodes)
        self._beats.put("beat", self._loop.now())

    def why_not_ready(self) -> list[str]:
        """Return why this node is not ready for players; nothing when it is.

        The one that comes later yields: a node that was ready once stays so whoever comes. One
        that never was waits until those that do not fit are gone, unless it hears another one of
        its own kind that was.
        """
        reasons = self.broken.copy()
        if self._echoed_first is None or self._loop.now() - self._echoed > DEAF_AFTER:
            reasons.append(DEAF)
        elif self.state == STARTING:
            reasons += self._against_settling() or [LISTENING]
        return reasons

    def _against_settling(self) -> list[str]:
        if any(p.state != STARTING and id not in self.incompatible for id, p in self.peers.items()):
            return []
        return sorted({reason for _, reason in self.incompatible.values()})

    def _settle(self, now: int) -> None:
        """A node that has just started is ready, unless something stands against it."""
        assert self._echoed_first is not None
        if now - self._echoed_first >= self._listen_for and not self._against_settling():
            self.state = ALIVE

    def fits(self, node: int) -> bool:
        """Say whether what a node tells of players is for this one."""
        return node in self.peers or node not in self.incompatible

    def offset(self, node: int, sent: int) -> int:
        """Return what to add to a node's times; of one never heard of, as this message tells.

        Raises Malformed where there are too many nodes to be true.
        """
        if node == self._id:
            return 0
        peer = self._peer(node)
        if peer is None:
            raise Malformed("one more node than can be")
        if node not in self.clocks:
            peer.sample(self._loop.now(), sent)
            self.clocks[node] = peer.offset
            self.on_clocks()
        return self.clocks[node]

    def _peer(self, node: int) -> Peer | None:
        """Return what is known of a node, or None where it is one too many."""
        peer = self.peers.get(node)
        if peer is None and self._has_room():
            peer = self.peers[node] = Peer(self._loop.now())
        return peer

    def _has_room(self) -> bool:
        if len(self.peers) + len(self.incompatible) < NODES_LIMIT:
            return True
        self._loop.stats["nodes_refused"] += 1
        self._warn(f"more than {NODES_LIMIT} servers are heard: the others are not listened to")
        return False

    def listed(self, square: Square) -> set[int]:
        """Return the other nodes that have told of residents in a square."""
        return {id for id, peer in self.peers.items() if square in peer.squares}

    def lives(self, node: int) -> bool:
        """Say whether another node is there, and does not stop."""
        peer = self.peers.get(node)
        return peer is not None and peer.state != DRAINING

    def publish(self, state: int) -> None:
        """Send a heartbeat now, and go on with this state."""
        self.state = state
        squares = [n for square, number in self._squares().items() for n in (*square, number)]
        size = peer_protocol.SQUARES * 3
        pages = [squares[at : at + size] for at in range(0, len(squares), size)] or [[]]
        sent, ring = self._loop.now(), self._broker.identity
        for part, some in enumerate(pages):
            message = peer_protocol.heartbeat(
                self._id, sent, ring, self._channels.ground, state, part, len(pages), some
            )
            self._broker.publish(self._channels.nodes, message)

    def heartbeat(
        self, node: int, sent: int, ring: str, ground: str, state: int, part: int, parts: int,
        squares: list[int],
    ) -> None:  # fmt: skip
        """Take in a part of a heartbeat."""
        now = self._loop.now()
        if node == self._id:
            self._echoed = now
            if self._echoed_first is None:
                self._echoed_first = now
            if self.state == STARTING:
                self._settle(now)
            self._check_link()
            return
        if ground != self._channels.ground:
            self._note_incompatible(node, OTHER_GROUND)
            return
        if ring != self._broker.identity:
            # Some of its squares may be on the same brokers, so it is a node like others, too.
            self._note_incompatible(node, OTHER_BROKERS)
        peer = self._peer(node)
        if peer is None:
            return
        peer.last_heard, peer.state = now, state
        peer.sample(now, sent)
        if peer.add_part(sent, part, parts, squares):
            self.on_squares(node, peer.squares)

    def unreadable(self) -> None:
        """Something was heard that no node of this world says."""
        self._note_incompatible(UNREADABLE, UNREADABLE)

    def _note_incompatible(self, who: int | str, reason: str) -> None:
        self._loop.stats["incompatible"] += 1
        if who in self.incompatible or self._has_room():
            self.incompatible[who] = self._loop.now(), reason
        self._warn(reason)

    def _warn(self, sentence: str) -> None:
        """Log a warning, but not again and again."""
        if self._warned.setdefault(sentence, LogLimit()).allows(self._loop.now() / 1000):
            log.warning("%s", sentence)

    def _tell_clocks(self) -> None:
        """Tell the clocks that clients do not know yet, or know too badly."""
        changed = False
        for id, peer in self.peers.items():
            if id not in self.clocks or abs(self.clocks[id] - peer.offset) >= CLOCK_STEP:
                self.clocks[id] = peer.offset
                changed = True
        if changed:
            self.on_clocks()

    def _beat(self, _key: object, due: int) -> None:
        now = self._loop.now()
        self._beats.put("beat", now + HEARTBEAT_EVERY)
        self.publish(self.state)
        if self._broker.counters.forged != self._forged:
            self._forged = self._broker.counters.forged
            self.unreadable()
        if now - due > STALLED:
            # This node slept, not the others: what they sent meanwhile is still to be read.
            for peer in self.peers.values():
                peer.last_heard = max(peer.last_heard, now)
        else:
            links = self._broker.links()
            self.broken = [str(link) for link in links if link.seconds > BROKEN_AFTER]
        self._check_link()
        if self._hears:
            self._bury(now)
        self._tell_clocks()

    def _bury(self, now: int) -> None:
        for id, peer in list(self.peers.items()):
            if now - peer.last_heard > (GONE_AFTER if peer.state == DRAINING else DEAD_AFTER):
                del self.peers[id]
                self.clocks.pop(id, None)
                self._loop.stats["nodes_lost"] += 1
                self.on_gone(id)
        for who, (heard, _) in list(self.incompatible.items()):
            if now - heard > DEAD_AFTER:
                del self.incompatible[who]

    def _check_link(self) -> None:
        now = self._loop.now()
        hears = now - self._echoed <= FRESH
        if hears and not self._hears:
            # Nobody could be heard meanwhile: all get their time again.
            for peer in self.peers.values():
                peer.last_heard = now
        self._hears = hears
        linked = hears and not self.broken
        if linked != self.linked:
            self.linked = linked
            self.on_link()
