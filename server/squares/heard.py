"""One square that this node hears: a replica of it, kept by what the broker brings.

What it holds of other nodes is as good as the broker: whatever may be missing is asked for by a
sync request, and answered with the full state of what a node has there. A change of the replica by
anything but a batch that goes to the screens too is shown to them as a snapshot. It never decides
who is alive: peers.py does.
"""

import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from brokers import Broker
from server.agenda import Agenda
from server.loop import Loop
from server.messages import peer_protocol, protocol
from server.messages.peer_protocol import Malformed
from server.squares.hub import Hub
from server.squares.outbox import Outbox, OwnBatch
from server.squares.peers import Peers
from server.websocket.frames import frame
from world.events import Departed, EnterEvent, Event, GoneEvent, LeaveEvent, Replica
from world.grid import Square

#: A sync request is repeated after so many ms, twice as many each time up to the latter, until it
#: is heard.
AGAIN, AGAIN_MOST = 100, 2000

#: Own batches that do not come back within so many ms are taken as if they had.
ECHO_WITHIN = 250

#: A node tells its full state of a square at most once in so many ms.
FULL_STATE_EVERY = 200


class PlayerNews(Protocol):
    """What is to know which players other nodes tell of."""

    def entered(self, node: int, square: Square, id: int, seq: int) -> None:
        """Another node tells of a player that came into a square, or is there."""

    def parted(self, id: int, seq: int) -> None:
        """Another node tells of a player that went from a square."""

    def ignored(self, id: int, seq: int) -> None:
        """Another node tells of a player with a seq that is not believed: `seq`, which is as high,
        was told of it by a node where it is no more."""


class Surroundings:
    """What the squares of one node have in common.

    At the end of the turn `show` is called: it shows the squares of `changed` anew, and after all
    of these the squares of `again`, some of them for the second time. `due` holds what squares are
    to do later, as (square, method).
    """

    def __init__(
        self, node: int, span: int, broker: Broker, loop: Loop, hub: Hub, outbox: Outbox,
        peers: Peers, show: Callable[[], None],
    ) -> None:  # fmt: skip
        self.node = node
        self.span = span
        self.broker = broker
        self.loop = loop
        self.hub = hub
        self.outbox = outbox
        self.peers = peers
        self.news: PlayerNews
        self.changed: set[Square] = set()
        self.again: set[Square] = set()
        #: All squares that are heard.
        self.squares: dict[Square, HeardSquare] = {}
        self._show = show
        self.departed = Departed()
        self.due = Agenda(loop, lambda key, due: key[1](key[0], due))

    def show_anew(self, square: Square) -> None:
        """Show a square anew at the end of this turn, with all others that are to be."""
        if not (self.changed or self.again):
            self.loop.soon(self._show)
        self.changed.add(square)

    def show_again(self, ids: list[int], besides: Square) -> None:
        """Show the other squares in which any of these players are, after all that are to be shown
        anew: only when a client knows them nowhere else does it believe what has lower seqs."""
        for square, heard in self.squares.items():
            known = heard.replica.players
            if square != besides and heard.ready and any(id in known for id in ids):
                self.show_anew(square)
                self.again.add(square)


class HeardSquare:
    """See the module.

    `needs` counts who needs it: one for all screens that hold it, and one for each own player that
    is there. `numbers` has, for each node, the number of the last batch up to which nothing is
    missing; `gaps` the nodes of which something is. `live` is set once the own sync request has
    come back: what is published from then on is heard. `ready` is set once screens may see it.
    """

    __slots__ = (
        "square", "channel", "needs", "replica", "numbers", "gaps", "live", "ready", "_around",
        "_snapshot", "_nonce", "_requested", "_wait", "_published", "_awaited", "_unheard",
        "_pages", "_suspects",
    )  # fmt: skip

    def __init__(self, square: Square, channel: str, around: Surroundings) -> None:
        self.square = square
        self.channel = channel
        self.needs = 0
        self.replica = Replica(square, around.span, around.departed)
        self.numbers: dict[int, int] = {}
        self.gaps: set[int] = set()
        self.live = self.ready = False
        self._around = around
        #: The frame that tells all of it, until something changes.
        self._snapshot: bytes | None = None
        self._nonce = 0
        #: When the last sync request was begun, and for how long the next one waits.
        self._requested = 0
        self._wait = AGAIN
        #: When the own full state was published last.
        self._published = 0
        #: The nodes whose full state is awaited before it is ready.
        self._awaited: set[int] = set()
        #: Own batches that have not come back.
        self._unheard: deque[OwnBatch] = deque()
        #: Pages of full states that are not complete: node -> (number, page -> entries).
        self._pages: dict[int, tuple[int, dict[int, list[EnterEvent]]]] = {}
        #: Heartbeats running that said something else than is known here: node -> how many.
        self._suspects: dict[int, int] = {}
        self._enter_own()

    def end(self) -> None:
        """It is not heard any more: nothing of it is due."""
        for act in _ACTS:
            self._around.due.drop((self, act))

    def _later(self, act: "Callable[[HeardSquare, int], None]", due: int) -> None:
        self._around.due.put((self, act), due)

    def _enter_own(self) -> None:
        """Take in the players that this node has here."""
        around = self._around
        if self.square in around.outbox.present:
            now = around.loop.now()
            entries = map(EnterEvent._make, around.outbox.entries(self.square, now))
            self.replica.apply(around.node, now, list(entries), now)

    # What screens see.

    def snapshot(self) -> bytes:
        """Return the frame that tells all of it, once it is ready."""
        if self._snapshot is None:
            now = self._around.loop.now()
            players = self.replica.snapshot(now) if self.replica.players else []
            self._snapshot = frame(protocol.snapshot(self.square, now, players))
        return self._snapshot

    def _show(self) -> None:
        """Show it anew to all who hold it, once it may be seen."""
        self._snapshot = None
        if self.ready:
            self._around.show_anew(self.square)

    def _go_without(self, gone: list[int], node: int) -> None:
        """A node has some players no more, of which it did not tell that they went.

        Another node or this one may have told of one of them, here or elsewhere, and was not
        believed: by this node, or by clients, who know a player in one square only.
        """
        self._enter_own()
        for other in self._around.peers.peers.keys() - {node}:
            self.ask(other)
        self._show()
        self._around.show_again(gone, self.square)

    def _check_ready(self) -> None:
        if not self.ready and self.live and not self._awaited:
            self.get_ready()

    def get_ready(self) -> None:
        """Let screens see it from now on."""
        self.ready = True
        self._show()

    # Sync requests and full states.

    def request_sync(self) -> None:
        """Ask the other nodes for their full state here, until the own request is heard."""
        self.gaps.clear()
        self.live = False
        self._requested = self._around.loop.now()
        self._nonce = random.getrandbits(32)
        self._send_request()

    def _send_request(self, _due: int = 0) -> None:
        around = self._around
        message = peer_protocol.sync_request(self.square, around.node, self._nonce)
        around.broker.publish(self.channel, message)
        self._later(HeardSquare._send_request, around.loop.now() + self._wait)
        self._wait = min(self._wait * 2, AGAIN_MOST)

    def _sync_requested(self, node: int, nonce: int) -> None:
        around = self._around
        if node != around.node:
            self._publish_full_state()
        elif nonce == self._nonce and not self.live:
            self.live = True
            self._wait = AGAIN
            around.due.drop((self, HeardSquare._send_request))
            self._awaited = around.peers.listed(self.square) if around.peers.peers else set()
            # Others may have begun to hear the square while this node could not hear them ask.
            self._publish_full_state()
            self._check_ready()

    def _publish_full_state(self) -> None:
        """Publish the own full state, if there is any, but not too often."""
        if self.square in self._around.outbox.present:
            due = self._published + FULL_STATE_EVERY
            if due <= self._around.loop.now():
                self._publish_now(due)
            else:
                self._later(HeardSquare._publish_now, due)

    def _publish_now(self, _due: int) -> None:
        around, now = self._around, self._around.loop.now()
        entries = around.outbox.entries(self.square, now)
        if not entries:
            return
        self._published = now
        number, size = around.outbox.next_number(self.square), peer_protocol.ENTRIES
        pages = [entries[at : at + size] for at in range(0, len(entries), size)]
        for page, some in enumerate(pages):
            message = peer_protocol.full_state(
                self.square, around.node, number, now, page, len(pages), some
            )
            around.broker.publish(self.channel, message)
        around.loop.stats["full_states"] += 1

    def ask(self, node: int) -> None:
        """Something of a node is missing: ask for all there is, but not too often."""
        self.gaps.add(node)
        self._later(HeardSquare._ask_now, self._requested + FULL_STATE_EVERY)

    def _ask_now(self, _due: int) -> None:
        if self.gaps and self.live:
            self.request_sync()

    # What is heard.

    def receive(self, payload: bytes) -> None:
        """Take in what came on its channel. Raises Malformed."""
        if self._unheard and payload == self._unheard[0].payload:
            # The usual echo of an own batch: nothing in it is news.
            self._count_own(self._unheard[0].number)
            return
        kind, *fields = peer_protocol.read(payload)
        if (fields[0], fields[1]) != self.square:
            raise Malformed("a message of another square")
        if kind == protocol.BATCH:
            _, _, node, previous, number, sent, replaced, events = fields
            if node == self._around.node:
                # One before it was lost, or there are two of it.
                self._count_own(number)
            else:
                self._batch(node, previous, number, sent, replaced, events, payload)
        elif kind == peer_protocol.FULL_STATE:
            _, _, node, number, sent, page, pages, entries = fields
            if node != self._around.node:
                self._full_state(node, number, sent, page, pages, entries)
        elif kind == peer_protocol.SYNC_REQUEST:
            self._sync_requested(fields[2], fields[3])

    def _batch(
        self, node: int, previous: int, number: int, sent: int, replaced: int,
        said: list[Any], payload: bytes,
    ) -> None:  # fmt: skip
        around, now = self._around, self._around.loop.now()
        known = self.numbers.get(node, 0)
        if number <= known:
            return
        events = peer_protocol.read_events(said)
        told, sent = sent, sent + around.peers.offset(node, sent)
        if old := self._pass_on(node, events, now):
            # Clients hear fewer squares and may not know better: they would keep a ghost.
            payload = protocol.batch(
                self.square, node, previous, number, told, replaced,
                [event for event in events if event not in old],
            )  # fmt: skip
        # A first batch says that its node had nobody here before: whoever is believed to be is not.
        gone = self.replica.drop(node, {event.id for event in events}) if previous == 0 else []
        self.replica.apply(node, sent, events, now)
        self._snapshot = None
        around.hub.deliver(self.square, payload)
        if gone:
            self._go_without(gone, node)
        if previous in (0, known):
            self._complete(node, number)
        else:
            around.loop.stats["gaps"] += 1
            self.ask(node)

    def _full_state(
        self, node: int, number: int, sent: int, page: int, pages: int, said: list[Any]
    ) -> None:
        if number < self.numbers.get(node, 0):
            return
        entries = peer_protocol.read_entries(said)
        # First of all, for what is kept of a node goes when it is found to be dead.
        sent += self._around.peers.offset(node, sent)
        begun, parts = self._pages.get(node, (0, {}))
        if begun != number:
            parts = {}
        parts[page] = entries
        if len(parts) < pages:
            self._pages[node] = number, parts
            return
        self._pages.pop(node, None)
        now = self._around.loop.now()
        everything = [entry for some in parts.values() for entry in some]
        self._pass_on(node, everything, now)
        changed, gone = self.replica.replace(node, sent, everything, now)
        self._complete(node, number)
        if gone:
            self._go_without(gone, node)
        elif changed:
            self._show()
        self._awaited.discard(node)
        self._check_ready()

    def _pass_on(self, node: int, events: Sequence[Event], now: int) -> list[Event]:
        """Tell who came and went to whom it concerns, before the events are taken in; return the
        enters that are older than how a player left."""
        around = self._around
        old: list[Event] = []
        for event in events:
            if isinstance(event, EnterEvent):
                id, seq = event.id, event.seq
                around.news.entered(node, self.square, id, seq)
                known = self.replica.players.get(id)
                departed = around.departed.seq(id, now)
                if seq <= departed:
                    old.append(event)
                if known is None:
                    told = departed
                elif known.node not in (node, around.node) and not around.peers.lives(known.node):
                    told = known.seq
                else:
                    continue
                if seq <= told:
                    around.news.ignored(id, told)
            elif isinstance(event, LeaveEvent | GoneEvent):
                around.news.parted(event.id, event.seq)
        return old

    def _complete(self, node: int, number: int) -> None:
        """Nothing of a node is missing up to a number."""
        self.numbers[node] = number
        self.gaps.discard(node)
        self._suspects.pop(node, None)

    # Own batches, which count when they come back, or when they do not.

    def published(self, batch: OwnBatch, taken: bool) -> None:
        """A batch of this node was published, or with `taken` False refused by the broker."""
        self._unheard.append(batch)
        if not taken:
            self._count_own(batch.number)
        elif len(self._unheard) == 1:
            self._later(HeardSquare._echo_overdue, batch.published + ECHO_WITHIN)

    def _echo_overdue(self, due: int) -> None:
        while self._unheard and self._unheard[0].published + ECHO_WITHIN <= due:
            self._around.loop.stats["unheard_batches"] += 1
            self._count_own(self._unheard[0].number)

    def _count_own(self, number: int) -> None:
        """Take in own batches up to a number: on one channel none comes after a later one."""
        around, now, unheard = self._around, self._around.loop.now(), self._unheard
        while unheard and unheard[0].number <= number:
            batch = unheard.popleft()
            self.replica.apply(around.node, batch.sent, batch.events, now)
            self._snapshot = None
            around.hub.deliver(self.square, batch.payload)
        if unheard:
            self._later(HeardSquare._echo_overdue, unheard[0].published + ECHO_WITHIN)
        else:
            around.due.drop((self, HeardSquare._echo_overdue))

    # What is lost.

    def drop(self, node: int) -> None:
        """A node is dead: so are its players here."""
        self._forget_node(node)
        self._remove_all(node)
        self._check_ready()

    def _remove_all(self, node: int) -> None:
        """Remove a node's players, of which it said nothing itself."""
        if gone := self.replica.drop(node):
            self._go_without(gone, node)

    def _forget_node(self, node: int) -> None:
        self.numbers.pop(node, None)
        self._pages.pop(node, None)
        self._suspects.pop(node, None)
        self.gaps.discard(node)
        self._awaited.discard(node)

    def compare(self, node: int, number: int | None) -> None:
        """Compare the number that a node's heartbeat lists here, None where it does not list the
        square, with what is known.

        What differs twice running is not under way, but lost: it is asked for; and who is in a
        square that the node does not list is removed.
        """
        if number is None:
            wrong = self.replica.hosts(node)
        else:
            wrong = self.numbers.get(node, 0) < number
        if not wrong:
            self._suspects.pop(node, None)
            return
        times = self._suspects[node] = self._suspects.get(node, 0) + 1
        if times < 2:
            return
        del self._suspects[node]
        if number is not None:
            self.ask(node)
        else:
            self._forget_node(node)
            self._remove_all(node)
        self._around.loop.stats["repairs"] += 1


#: All that a square may have to do later.
_ACTS = (
    HeardSquare._send_request, HeardSquare._publish_now, HeardSquare._ask_now,
    HeardSquare._echo_overdue,
)  # fmt: skip
