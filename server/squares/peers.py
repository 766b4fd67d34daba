"""The other nodes: which of them are alive, how their clocks differ, and whether this node is
linked to them.

Every node publishes heartbeats, with its state and without its players. By these, and by the
messages of nodes in squares, this module judges which nodes are alive. It reports by callbacks, and
uses nothing of a square.
"""

import logging
import random
from collections.abc import Callable, Sequence
from math import ceil, inf
from typing import Any, NamedTuple

from flatlands.brokers.guard import Throttle
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import (
    ALIVE,
    DRAINING,
    HEARTBEAT_INTERVAL_MOST_MS,
    STARTING,
    Echo,
    Heartbeat,
    Malformed,
    pack,
)
from flatlands.server.runtime.timers import TimerQueue

log = logging.getLogger("flatlands")

#: ms between two heartbeats of a node, as long as there are no more than HEARTBEATS_HEARD nodes.
#: With more nodes it is longer.
HEARTBEAT_EVERY = 1000

#: No node receives more heartbeats a second than this.
HEARTBEATS_HEARD: float = 50

#: A node from which nothing has come for this long, or for three times its own heartbeat interval,
#: is dead. Its players may be gone from squares before that (subscription.py).
NODE_DEAD_MS = 3000

#: A node that has announced its stop is remembered for this long, since its players are on their
#: way back. The movers of any node are kept as long, since another node takes them over.
NODE_GONE_MS = 10_000

#: If nothing that this node sends to itself has come back for this long, its link is down. It then
#: declares no other node dead; nor does it while its last heartbeat that came back is older than
#: one and a half times the interval between them.
LINK_FRESH_MS = 1500

#: A node to which nothing has come back for this long is not ready for players.
LINK_DEAF_MS = 3000

#: If the event loop stood still for longer than this, heartbeats of other nodes may wait unread.
STALLED_MS = 1000

#: The difference between a node's clock and this node's is the smallest value of (time of receipt -
#: sent) over this time.
CLOCK_WINDOW_MS = 60_000

#: If RECENT_BEATS in a row come later than the quickest one by more than CLOCK_SET_BACK_MS, the
#: node's clock was set back, as after its machine was suspended. Older measurements are forgotten.
CLOCK_SET_BACK_MS = 250
RECENT_BEATS = 5

#: Operators are warned of another store if two nodes have had these two for this long: when a store
#: is replaced, one of them notices later.
OTHER_STORE_AFTER_MS = 10_000
#: How many such pairs of stores are remembered.
OTHER_STORES_MOST = 100

#: Operators are warned of clocks that differ by more than this.
CLOCKS_APART_MS = 5000

#: A node that starts waits for this long before it is ready. In this time it receives a heartbeat
#: of every other node, or of more than HEARTBEATS_HEARD.
LISTEN_FOR_MS = 1500

#: The link to one of the broker's servers counts as broken after this time without a sign of life.
#: The broker asks for one each second.
LINK_BROKEN_S = 2.5

#: The most other nodes that a node remembers, compatible or not, including those that have just
#: died: a world of a thousand nodes may be replaced as a whole. More of them are likely to be
#: forged. Each takes about a KB of memory.
NODES_LIMIT = 4096

#: Why another node is incompatible with this one.
OTHER_BROKERS = (
    "another server of this world has a different BROKER_URL (even the number of a Redis database "
    "counts), so their players cannot see each other: give both the same one, or give each world "
    "its own name with --world"
)
OTHER_GROUND = (
    "another server of this world has a different seed, side, game, or version of the game: make "
    "them the same, or give each world its own name with --world"
)
UNREADABLE = (
    "this server cannot read some of the messages on this world's channels: compare SECRET_KEY on "
    "all servers, or give each world its own name with --world"
)

#: The warning if another node has another store.
OTHER_STORE = (
    "another server of this world has a different store, so their players do not see the same "
    "things: compare STORE_URL on all servers"
)

#: The warning if the clocks of nodes differ. Players notice nothing.
OTHER_CLOCK = (
    f"this server's clock and that of another server of this world differ by more than "
    f"{CLOCKS_APART_MS // 1000} s, so their logs and the ends of moderation actions disagree: let "
    "NTP set the clocks of all machines, then restart the server that was wrong, since each keeps "
    "the time with which it began"
)

#: The warning if nothing is received from a node with the same store.
UNHEARD_NODE = (
    "another server uses the same store but a different broker, so their players cannot see each "
    "other: compare BROKER_URL on all servers"
)

#: The warning if nothing comes from a square.
DEAF_SQUARE = (
    "the broker is connected but delivers nothing for some squares: check that it lets this user "
    "publish and subscribe to the channels that /readyz names"
)
#: How many such squares /readyz names.
DEAF_NAMED = 3

#: Other reasons why a node is not ready.
DEAF = "the broker does not deliver what this server publishes"
LISTENING = "this server has just started and is looking for others of its world"


class NodeLoad(NamedTuple):
    """The load of a node: the resident memory of its process in bytes (0 if that is not known), its
    connections, the squares that it receives, and its machine, as router.py has it."""

    memory: int = 0
    connections: int = 0
    heard: int = 0
    machine: Sequence[Any] = ()


def silence_limit(every: int) -> int:
    """Return after how many ms of silence a node is dead if its heartbeats are `every` ms apart."""
    return NODE_DEAD_MS * every // HEARTBEAT_EVERY


class Peer:
    """Another node, as its messages show it. Times are this node's, in ms, but `sent` is the
    other's."""

    def __init__(self, source: int, now: int) -> None:
        #: The number by which this node names it to clients.
        self.source = source
        #: When its last heartbeat came, or when anything first came from it. It is moved forward
        #: when heartbeats could not be received.
        self.last_heard = now
        #: When anything last came from it, a heartbeat or a message in a square.
        self.last_message = now
        #: ALIVE, DRAINING or STARTING, as in its last heartbeat. Before the first one it may be a
        #: node that was never ready.
        self.state = STARTING
        #: ms between its heartbeats, as in its last one. A node whose messages came only in squares
        #: may send its first one as late as any node does; until then it lives.
        self.every = HEARTBEAT_INTERVAL_MOST_MS
        #: Its load, as in its last heartbeat.
        self.load = NodeLoad()
        #: Its time, before which all that it wrote on the ground is in the store.
        self.stored = 0
        #: Whether it shares in moving the movers of the store.
        self.moves = False
        #: ms to add to its times to make them this node's; None before anything was measured.
        self.offset: int | None = None
        #: Pairs (time of receipt, receipt - sent) of the last CLOCK_WINDOW_MS. A pair goes when a
        #: later one has a smaller difference, so the first always has the smallest.
        self._samples: list[tuple[int, int]] = []
        #: The last RECENT_BEATS differences, the oldest first.
        self._recent: list[int] = []

    @property
    def is_measured(self) -> bool:
        """Whether enough heartbeats have come to distinguish a wrong clock from a few late
        messages."""
        return len(self._recent) == RECENT_BEATS

    @property
    def silent_since(self) -> int:
        """The time since which it has been silent, although its messages could have come."""
        return max(self.last_heard, self.last_message)

    def sample(self, now: int, sent: int) -> int:
        """Measure its clock: what it sent at its time `sent` was received at this node's `now`.

        Returns the offset.
        """
        difference, samples, recent = now - sent, self._samples, self._recent
        recent.append(difference)
        if len(recent) > RECENT_BEATS:
            del recent[0]
        if len(recent) == RECENT_BEATS and min(recent) > samples[0][1] + CLOCK_SET_BACK_MS:
            samples.clear()
            difference = min(recent)
        while samples and samples[-1][1] >= difference:
            samples.pop()
        samples.append((now, difference))
        while samples[0][0] < now - CLOCK_WINDOW_MS:
            del samples[0]
        self.offset = offset = samples[0][1]
        return offset


class Peers:
    """Tracks the other nodes of a world. `set_listeners` must be called before anything is
    received."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._id = bus.node
        self._loop = loop = bus.loop
        self._node_dead: Callable[[int], None]
        self._node_forgotten: Callable[[int], None]
        self._link_changed: Callable[[], None]
        #: How much this node has, for its heartbeats.
        self.load = NodeLoad()
        #: The node time, in ms, before which all that this node wrote on the ground is in the
        #: store.
        self.stored = 0
        #: Whether this node shares in moving the movers of the store.
        self.moves = False
        #: The other nodes that count as alive, by their ids.
        self.peers: dict[int, Peer] = {}
        #: Those that are dead and not forgotten yet, by their ids.
        self.dead: dict[int, Peer] = {}
        #: The source of the newest node.
        self._last_source = 0
        #: This node's state, as in its heartbeats.
        self.state = STARTING
        #: Incompatible nodes -> (until when they count, the reason). The key is the node's id, or
        #: the reason itself if the id is unknown. Only their heartbeats are believed.
        self.incompatible: dict[int | str, tuple[int, str]] = {}
        #: The faults of the broker's servers that do not answer.
        self.broken: list[str] = []
        #: Whether what this node sends itself comes back, and all of the broker's servers answer.
        self.broker_up = True
        #: Whether players of this node see those of all others, as far as this node can find out.
        self.is_linked = True
        #: Whether some node lives whose messages do not come (cluster/split_brain.py).
        self.split_brain = False
        #: When something last came back (or this object was made), and when something first did.
        self._last_echo = loop.now()
        self._first_echo: int | None = None
        #: Whether what this node sends itself comes back, and when it sent the last thing that did.
        self.echoes_return = True
        self.echoed_until = 0
        #: Pairs of identities, of this node's store and another's -> when that was first noticed.
        self._other_stores: dict[tuple[str, str], int] = {}
        #: The largest difference in ms between this node's clock and another's.
        self.clocks_apart = 0
        #: The channels from which nothing comes although the link is up.
        self.deaf: set[str] = set()
        #: When this node's heartbeat last came back, the interval to the next one in ms, and when
        #: that is due.
        self._own_heartbeat_at = self._last_echo
        self.every = HEARTBEAT_EVERY
        self._next_beat = 0
        #: The broker's counter of forged messages at the last heartbeat.
        self._forged = bus.broker.counters.forged
        # If the broker is inside this process there are no other nodes to wait for.
        self._listen_for = LISTEN_FOR_MS if bus.broker.links() else 0
        self._warned: dict[str, Throttle] = {}
        self._beats = TimerQueue(loop, self._beat)

    def set_listeners(
        self,
        node_dead: Callable[[int], None],
        node_forgotten: Callable[[int], None],
        link_changed: Callable[[], None],
    ) -> None:
        """Call `node_dead` with the id of each node that is dead, and `node_forgotten` once it has
        been silent for NODE_GONE_MS; and `link_changed` when `is_linked` has changed."""
        self._node_dead, self._node_forgotten = node_dead, node_forgotten
        self._link_changed = link_changed

    def set_load(self, load: NodeLoad) -> None:
        """Note the load of this node, as app.py has measured it."""
        self.load = load

    def set_stored(self, until: int) -> None:
        """Note that all that this node wrote on the ground before a node time is in the store."""
        self.stored = until

    def start(self) -> None:
        """Begin to send heartbeats and to receive those of others."""
        channels = self._bus.channels
        self._bus.subscribe(channels.nodes, channels.node(self._id))
        self._beats.put("beat", self._loop.now())

    def why_not_ready(self) -> list[str]:
        """Return the reasons why this node is not ready for players; an empty list if it is ready.

        Of incompatible nodes, the later one yields. A node that was once ready does not become
        unready because of them. One that never was waits until the incompatible ones are gone,
        unless there is a compatible node that was ready.
        """
        reasons = self.broken.copy()
        if self._first_echo is None or self._loop.now() - self._last_echo > LINK_DEAF_MS:
            reasons.append(DEAF)
        elif self.state == STARTING:
            reasons += self._against_settling() or [LISTENING]
        return reasons

    def warnings(self) -> list[str]:
        """Return what is wrong between nodes but does not keep players away."""
        warnings = [UNHEARD_NODE] if self.split_brain else []
        if self.clocks_apart > CLOCKS_APART_MS:
            warnings.append(OTHER_CLOCK)
        if self.deaf:
            warnings.append(
                f"{DEAF}: {', '.join(sorted(self.deaf)[:DEAF_NAMED])} ({len(self.deaf)})"
            )
        return warnings

    def _against_settling(self) -> list[str]:
        """Return the reasons why a node that was never ready waits for incompatible ones to go."""
        if any(peer.state != STARTING for peer in self.peers.values()):
            return []
        return sorted({reason for _, reason in self.incompatible.values()})

    def note_message(self, node: int, sent: int) -> int:
        """Note a message that a node published in a square at its time `sent`: it is alive, and its
        clock is measured if it was not yet.

        Returns the ms to add to the node's times to make them this node's. Raises Malformed if the
        node is new, and one more than this node remembers.
        """
        if node == self._id:
            return 0
        peer = self._peer(node)
        if peer is None:
            raise Malformed("it is from one node too many")
        peer.last_message = now = self._loop.now()
        if peer.offset is None:
            return peer.sample(now, sent)
        return peer.offset

    def knows(self, node: int) -> bool:
        """Return whether anything came from a node lately, compatible or not."""
        return node in self.peers or node in self.dead or node in self.incompatible

    def note_split_brain(self, split_brain: bool) -> None:
        """Note whether some node lives whose messages do not come."""
        if split_brain:
            self.warn(UNHEARD_NODE)
        self.split_brain = split_brain
        self._check_link()

    def source(self, node: int) -> int:
        """Return the number by which clients name a node: 0 is this node itself.

        Raises KeyError for an unknown node.
        """
        if node == self._id:
            return 0
        peer = self.peers.get(node) or self.dead[node]
        return peer.source

    def _peer(self, node: int) -> Peer | None:
        """Return the Peer of a node, which may be new; None if it is one too many."""
        peer = self.peers.get(node)
        if peer is None and self._has_room():
            dead = self.dead.pop(node, None)
            if dead is None:
                self._last_source += 1
            source = self._last_source if dead is None else dead.source
            peer = self.peers[node] = Peer(source, self._loop.now())
        return peer

    def _has_room(self) -> bool:
        if len(self.peers) + len(self.dead) + len(self.incompatible) < NODES_LIMIT:
            return True
        self._loop.stats["nodes_refused"] += 1
        self.warn(f"more than {NODES_LIMIT} servers publish here: ignoring the rest")
        return False

    def is_alive(self, node: int, since: float = inf) -> bool:
        """Return whether another node is alive. One that is stopping counts only if it has sent
        anything since a time; by default it does not count."""
        peer = self.peers.get(node)
        return peer is not None and (peer.state != DRAINING or peer.last_message >= since)

    def count(self) -> int:
        """Return how many nodes there are: this one, and those that it has received."""
        return len(self.peers) + 1

    def publish(self, state: int) -> None:
        """Send a heartbeat with this state now, and keep the state for those that follow."""
        self.state = state
        now = self._loop.now()
        every = min(
            HEARTBEAT_EVERY * ceil(self.count() / HEARTBEATS_HEARD), HEARTBEAT_INTERVAL_MOST_MS
        )
        self._next_beat = now + every
        if every > HEARTBEAT_EVERY:
            # Nodes that were started together drift apart.
            self._next_beat -= int(random.random() * (every // 4))
        ring, rules = self._bus.broker.identity, self._bus.channels.rules
        own = self._id, now, ring, rules, state, every, self.stored, self.moves
        beat = Heartbeat(*own, *self.load)
        self._bus.to_all(pack(beat))

    def publish_due(self) -> bool:
        """Send a heartbeat if one is due; return whether it was."""
        due = self._loop.now() >= self._next_beat
        if due:
            self.publish(self.state)
        return due

    def on_heartbeat(self, beat: Heartbeat) -> None:
        """Apply a heartbeat, this node's own or another's."""
        node, now = beat.node, self._loop.now()
        if node == self._id:
            if not self._heartbeats_return(now):
                # No other heartbeat could come in the meantime either.
                self.mark_all_heard(now)
            self._own_heartbeat_at, self.every = now, beat.every
            self._echo_returned(beat.sent)
            return
        silence = silence_limit(beat.every)
        if beat.rules != self._bus.channels.rules:
            self.note_incompatible(node, OTHER_GROUND, silence)
            return
        if beat.ring != self._bus.broker.identity:
            # Its messages come even so: Redis has one space of channels for all its databases, and
            # two URLs may name one broker. Its store is probably another one, too.
            self.note_incompatible(node, OTHER_BROKERS, silence)
            if self.peers.pop(node, None) or self.dead.pop(node, None):
                self._node_forgotten(node)
            return
        peer = self._peer(node)
        if peer is not None:
            peer.last_heard, peer.state, peer.every = now, beat.state, beat.every
            peer.last_message = now
            peer.load = NodeLoad(beat.memory, beat.connections, beat.heard, beat.machine)
            peer.stored, peer.moves = beat.stored, beat.moves
            peer.sample(now, beat.sent)

    def on_echo(self, echo: Echo) -> None:
        """Note that what this node has sent to itself has come back."""
        if echo.node == self._id:
            self._echo_returned(echo.sent)

    def _echo_returned(self, sent: int) -> None:
        """Note that what this node sent to itself at its time `sent` has come back."""
        now = self._loop.now()
        self._loop.observe("broker_round_trip", (now - sent) * 1000)
        self._last_echo, self.echoed_until = now, min(sent, now)
        if self._first_echo is None:
            self._first_echo = now
        waited = now - self._first_echo >= self._listen_for
        if self.state == STARTING and waited and not self._against_settling():
            self.state = ALIVE
        self._check_link()

    def note_deaf(self, channel: str, deaf: bool) -> None:
        """Note whether a channel is deaf: nothing comes from it, whatever was tried. One that is no
        longer needed is not."""
        if deaf:
            self.warn(DEAF_SQUARE)
            self.deaf.add(channel)
        elif channel in self.deaf:
            self.deaf.discard(channel)
        else:
            return
        self._check_link()

    def note_other_store(self, own: str, other: str) -> None:
        """Note that another node has another store; both are named by identities."""
        now = self._loop.now()
        self._loop.stats["other_stores"] += 1
        if len(self._other_stores) >= OTHER_STORES_MOST:
            self._other_stores.clear()
        if now - self._other_stores.setdefault((own, other), now) >= OTHER_STORE_AFTER_MS:
            self.warn(OTHER_STORE)

    def _heartbeats_return(self, now: int) -> bool:
        """Return whether this node's heartbeats come back."""
        return now - self._own_heartbeat_at <= LINK_FRESH_MS * self.every // HEARTBEAT_EVERY

    def note_incompatible(
        self, who: int | str = UNREADABLE, reason: str = UNREADABLE, silence: int = NODE_DEAD_MS
    ) -> None:
        """Note that a message came that no compatible node publishes."""
        self._loop.stats["incompatible"] += 1
        if who in self.incompatible or self._has_room():
            self.incompatible[who] = self._loop.now() + silence, reason
        self.warn(reason)

    def warn(self, sentence: str, example: str = "") -> None:
        """Log a warning, at most once a minute for each sentence."""
        if self._warned.setdefault(sentence, Throttle()).allows(self._loop.now() / 1000):
            log.warning("%s%s", sentence, example)

    def _beat(self, _key: object, due: int) -> None:
        """Send a heartbeat if one is due, and judge which nodes and links are alive."""
        now = self._loop.now()
        self._beats.put("beat", now + HEARTBEAT_EVERY)
        if not self.publish_due():
            self._bus.to_node(self._id, pack(Echo(self._id, now)))
        if self._bus.broker.counters.forged != self._forged:
            self._forged = self._bus.broker.counters.forged
            self.note_incompatible()
        if now - due > STALLED_MS:
            # This node stood still, not the others: what they sent meanwhile is still to be read.
            self.mark_all_heard(now)
        else:
            links = self._bus.broker.links()
            self.broken = [str(link) for link in links if link.seconds > LINK_BROKEN_S]
            self._compare_clocks()
        self._check_link()
        if self.echoes_return and self._heartbeats_return(now):
            self.remove_silent(now)

    def _compare_clocks(self) -> None:
        """Find out how far this node's clock is from those of other nodes, and warn if it is too
        far."""
        self.clocks_apart = 0
        for id, peer in self.peers.items():
            offset = peer.offset
            if offset is not None and peer.is_measured:
                self.clocks_apart = max(self.clocks_apart, abs(offset))
                if abs(offset) > CLOCKS_APART_MS:
                    self.warn(OTHER_CLOCK, f" (node {id}: {-offset / 1000:+.0f} s)")

    def mark_all_heard(self, now: int) -> None:
        """Count all nodes as heard now, because their messages could not come."""
        for peer in (*self.peers.values(), *self.dead.values()):
            peer.last_heard = max(peer.last_heard, now)

    def remove_silent(self, now: int) -> None:
        """Forget nodes, and incompatible ones, that have been silent for too long."""
        for id, peer in list(self.peers.items()):
            if now - peer.silent_since > (
                NODE_GONE_MS if peer.state == DRAINING else silence_limit(peer.every)
            ):
                del self.peers[id]
                self._loop.stats["nodes_lost"] += 1
                self.dead[id] = peer
                self._node_dead(id)
        for id, peer in list(self.dead.items()):
            if now - peer.silent_since > NODE_GONE_MS:
                del self.dead[id]
                self._node_forgotten(id)
        for who, (until, _) in list(self.incompatible.items()):
            if now > until:
                del self.incompatible[who]

    def _check_link(self) -> None:
        """Find out whether this node is linked to the others, and report if that has changed."""
        now = self._loop.now()
        echoes_return = now - self._last_echo <= LINK_FRESH_MS
        if echoes_return and not self.echoes_return:
            # No message of another node could come in the meantime, so each may be silent as long
            # again.
            self.mark_all_heard(now)
        self.echoes_return = echoes_return
        self.broker_up = echoes_return and not self.broken
        is_linked = self.broker_up and not self.split_brain and not self.deaf
        if is_linked != self.is_linked:
            self.is_linked = is_linked
            self._link_changed()
