"""The squares that this node hears: a replica of each, kept by what the broker brings.

A square is heard from when a session holds it, or a resident is in it, until a little after. What
it holds of other nodes is as good as the broker: whatever may be missing is asked for again (a
hail), and answered by everything a node has there (a residents batch). A change of a replica by
anything but a batch that goes to the sessions too is shown to them as a snapshot. It never decides
who is alive: server/squares/peers.py does.
"""

import random
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from brokers import Broker, Reset
from server.agenda import Agenda
from server.loop import Loop
from server.messages import peer_protocol, protocol
from server.messages.channels import Channels
from server.messages.peer_protocol import Nonsense
from server.squares.hub import Hub
from server.websocket.frames import frame
from world.events import ENTER, GONE, LEAVE, Corner, Departed, Event, Replica
from world.grid import Grid, Square

#: A square is heard for this many ms after nobody needs it any more.
LINGER = 2000

#: A hail is repeated after so many ms, twice as many each time up to the latter, until it is heard.
HAIL_AGAIN, HAIL_AGAIN_MOST = 100, 2000

#: Sessions see a square after so many ms even if some node has not told its residents yet.
READY_AFTER = 300

#: Own batches that do not come back within so many ms are taken as if they had.
ECHO_WITHIN = 250

#: A node tells all its residents of a square at most once in so many ms.
RESIDENTS_EVERY = 200


class OwnBatch(NamedTuple):
    """A batch of this node: its number, when it was published, and what it tells."""

    number: int
    published: int
    sent: int
    events: list[Event]
    payload: bytes


class Heard:
    """One square that this node hears.

    `numbers` has, for each node, the number of the last batch up to which nothing is missing;
    `gaps` the nodes of which something is. `live` is set once the own hail has come back: what is
    published from then on is heard. `ready` is set once sessions may see it.
    """

    __slots__ = (
        "square", "replica", "numbers", "gaps", "live", "ready", "nonce", "wait", "hailed",
        "awaited", "unheard", "pages", "suspects",
    )  # fmt: skip

    def __init__(self, square: Square, span: int, departed: Departed) -> None:
        self.square = square
        self.replica = Replica(square, span, departed)
        self.numbers: dict[int, int] = {}
        self.gaps: set[int] = set()
        self.live = self.ready = False
        self.nonce = 0
        self.hailed = 0
        self.wait = HAIL_AGAIN
        self.awaited: set[int] = set()
        #: Own batches that have not come back.
        self.unheard: deque[OwnBatch] = deque()
        #: Pages of residents batches that are not complete: node -> (number, page -> entries).
        self.pages: dict[int, tuple[int, dict[int, list[Event]]]] = {}
        #: Heartbeats running that said something else than is known here: node -> how many.
        self.suspects: dict[int, int] = {}


class Owner(Protocol):
    """What a replica needs of its node."""

    id: int

    def entries(self, square: Square, corner: Corner) -> list[Event]:
        """Return the node's own residents of a square."""

    def next_number(self, square: Square) -> int:
        """Return a number for something published on a square's channel."""

    def offset(self, node: int, sent: int) -> int:
        """Return what to add to a node's times to make them this node's."""

    def listed(self, square: Square) -> set[int]:
        """Return the other nodes that are known to have residents in a square."""

    def entered(self, node: int, square: Square, id: int, seq: int) -> None:
        """Another node tells of a player that came into a square."""

    def parted(self, id: int, seq: int) -> None:
        """Another node tells of a player that went from a square."""

    def ignored(self, id: int, seq: int) -> None:
        """Another node tells of a player with a seq that is not believed: one as high was told of
        it by a node where it is no more."""

    def lives(self, node: int) -> bool:
        """Say whether a node is there, and goes on."""


class Replicas:
    """See the module."""

    def __init__(
        self, grid: Grid, channels: Channels, broker: Broker, loop: Loop, hub: Hub, owner: Owner
    ) -> None:
        self._grid = grid
        self._channel = channels.square
        self._broker = broker
        self._loop = loop
        self._hub = hub
        self._owner = owner
        self.heard: dict[Square, Heard] = {}
        self._departed = Departed()
        self._snapshots: dict[Square, bytes] = {}
        self._channels: dict[str, Square] = {}
        self._lingering = Agenda(loop, self._forget)
        self._hailing = Agenda(loop, self._hail_again)
        self._getting_ready = Agenda(loop, self._ready_at_last)
        self._asking = Agenda(loop, self._ask_now)
        self._telling = Agenda(loop, self._tell)
        self._told: dict[Square, int] = {}
        self._echoes = Agenda(loop, self._echo_overdue)

    # Which squares are heard.

    def hear(self, squares: Iterable[Square]) -> None:
        """These squares are needed now, by a session or a resident."""
        unknown = []
        for square in squares:
            self._lingering.drop(square)
            if square not in self.heard:
                self._channels[self._channel(square)] = square
                self._begin(square)
                unknown.append(square)
        if unknown:
            self._broker.subscribe(*map(self._channel, unknown))
            for square in unknown:
                self._hail(self.heard[square])
                self._getting_ready.put(square, self._loop.now() + READY_AFTER)

    def let_go(self, squares: Iterable[Square]) -> None:
        """These squares are not needed any more."""
        until = self._loop.now() + LINGER
        for square in squares:
            self._lingering.put(square, until)

    def _begin(self, square: Square) -> None:
        """Begin a replica with the residents of this node."""
        heard = self.heard[square] = Heard(square, self._grid.span, self._departed)
        self._enter_own(heard)

    def _enter_own(self, heard: Heard) -> None:
        """Take in the residents that this node has in a square."""
        now, id = self._loop.now(), self._owner.id
        corner = Corner(heard.square, self._grid.span, now)
        heard.replica.apply(id, now, self._owner.entries(heard.square, corner), now)

    def _forget(self, square: Square, _due: int) -> None:
        """Hear a square no more."""
        name = self._channel(square)
        self._broker.unsubscribe(name)
        del self._channels[name]
        del self.heard[square]
        self._snapshots.pop(square, None)
        self._told.pop(square, None)
        for agenda in (
            self._hailing, self._getting_ready, self._asking, self._telling, self._echoes,
        ):  # fmt: skip
            agenda.drop(square)

    def seq(self, id: int) -> int:
        """Return the highest seq of a player that is known here, -1 where none is."""
        seqs = [self._departed.seq(id, self._loop.now())]
        for heard in self.heard.values():
            player = heard.replica.players.get(id)
            if player is not None:
                seqs.append(player.seq)
        return max(seqs)

    # What sessions see.

    def snapshot(self, square: Square) -> bytes | None:
        """Return the frame that tells all of a square, or None while it is not known enough."""
        heard = self.heard[square]
        if not heard.ready:
            return None
        snapshot = self._snapshots.get(square)
        if snapshot is None:
            now = self._loop.now()
            players = heard.replica.snapshot(now)
            snapshot = self._snapshots[square] = frame(protocol.snapshot(square, now, players))
        return snapshot

    def _show(self, heard: Heard) -> None:
        """Show a square anew to all who hold it, once it may be seen."""
        self._snapshots.pop(heard.square, None)
        if heard.ready:
            for session in self._hub.sessions(heard.square):
                self._loop.guarded(session.show, heard.square)

    def _check_ready(self, heard: Heard) -> None:
        if not heard.ready and heard.live and not heard.awaited:
            self._ready_at_last(heard.square, 0)

    def _ready_at_last(self, square: Square, _due: int) -> None:
        heard = self.heard[square]
        self._getting_ready.drop(square)
        if not heard.ready:
            heard.ready = True
            self._show(heard)

    # Hails and their answers.

    def _hail(self, heard: Heard) -> None:
        """Ask for all residents of a square, until the own question is heard."""
        heard.live = False
        heard.hailed = self._loop.now()
        heard.nonce = random.getrandbits(32)
        self._send_hail(heard)

    def _send_hail(self, heard: Heard) -> None:
        message = peer_protocol.hail(heard.square, self._owner.id, heard.nonce)
        self._broker.publish(self._channel(heard.square), message)
        self._hailing.put(heard.square, self._loop.now() + heard.wait)
        heard.wait = min(heard.wait * 2, HAIL_AGAIN_MOST)

    def _hail_again(self, square: Square, _due: int) -> None:
        self._send_hail(self.heard[square])

    def _hailed(self, heard: Heard, node: int, nonce: int) -> None:
        if node != self._owner.id:
            self.tell(heard.square)
        elif nonce == heard.nonce and not heard.live:
            heard.live = True
            heard.wait = HAIL_AGAIN
            self._hailing.drop(heard.square)
            heard.awaited = self._owner.listed(heard.square)
            # Others may have begun to hear the square while this node could not hear them ask.
            self.tell(heard.square)
            self._check_ready(heard)

    def tell(self, square: Square) -> None:
        """Tell the other nodes all residents of this node in a square, but not too often."""
        corner = Corner(square, self._grid.span, self._loop.now())
        if self._owner.entries(square, corner):
            due = self._told.get(square, 0) + RESIDENTS_EVERY
            if due <= self._loop.now():
                self._tell(square, due)
            else:
                self._telling.put(square, due)

    def _tell(self, square: Square, _due: int) -> None:
        now = self._loop.now()
        entries = self._owner.entries(square, Corner(square, self._grid.span, now))
        if not entries:
            return
        self._told[square] = now
        number, size = self._owner.next_number(square), peer_protocol.ENTRIES
        pages = [entries[at : at + size] for at in range(0, len(entries), size)]
        for page, some in enumerate(pages):
            message = peer_protocol.residents(
                square, self._owner.id, number, now, page, len(pages), some
            )
            self._broker.publish(self._channel(square), message)
        self._loop.stats["residents_batches"] += 1

    # What is heard.

    def take(self, name: str, payload: bytes) -> None:
        """Take in what came on a square's channel."""
        square = self._channels.get(name)
        if square is None:
            return
        heard = self.heard[square]
        if heard.unheard and payload == heard.unheard[0].payload:
            # The usual echo of an own batch: nothing in it is news.
            self._take_own(heard, heard.unheard[0].number)
            return
        kind, *fields = peer_protocol.read(payload)
        if (fields[0], fields[1]) != square:
            raise Nonsense("a message of another square")
        if kind == protocol.BATCH:
            _, _, node, previous, number, sent, replaced, events = fields
            if node == self._owner.id:
                # One before it was lost, or there are two of it.
                self._take_own(heard, number)
            else:
                self._batch(heard, node, previous, number, sent, replaced, events, payload)
        elif kind == peer_protocol.RESIDENTS:
            _, _, node, number, sent, page, pages, entries = fields
            if node != self._owner.id:
                self._residents(heard, node, number, sent, page, pages, entries)
        elif kind == peer_protocol.HAIL:
            self._hailed(heard, fields[2], fields[3])

    def _batch(
        self, heard: Heard, node: int, previous: int, number: int, sent: int, replaced: int,
        events: list[Event], payload: bytes,
    ) -> None:  # fmt: skip
        now = self._loop.now()
        known = heard.numbers.get(node, 0)
        if number <= known:
            return
        peer_protocol.check(events)
        told, sent = sent, sent + self._owner.offset(node, sent)
        if old := self._entered(heard, node, events):
            # Clients hear fewer squares and may not know better: they would keep a ghost.
            payload = protocol.batch(
                heard.square, node, previous, number, told, replaced,
                [event for event in events if event not in old],
            )  # fmt: skip
        # A first batch says that its node had nobody here before: whoever is believed to be is not.
        base = previous == 0 and heard.replica.drop(node, {event[1] for event in events})
        heard.replica.apply(node, sent, events, now)
        self._snapshots.pop(heard.square, None)
        self._hub.deliver(heard.square, payload)
        if base:
            self._show(heard)
        if previous in (0, known):
            self._complete(heard, node, number)
        else:
            self._loop.stats["gaps"] += 1
            self._ask(heard, node)

    def _residents(
        self, heard: Heard, node: int, number: int, sent: int, page: int, pages: int,
        entries: list[Event],
    ) -> None:  # fmt: skip
        if number < heard.numbers.get(node, 0):
            return
        peer_protocol.check(entries, (ENTER,))
        # First of all, for what is kept of a node goes when it is found to be dead.
        sent += self._owner.offset(node, sent)
        begun, parts = heard.pages.get(node, (0, {}))
        if begun != number:
            parts = {}
        parts[page] = entries
        if len(parts) < pages:
            heard.pages[node] = number, parts
            return
        heard.pages.pop(node, None)
        now = self._loop.now()
        everything = [entry for some in parts.values() for entry in some]
        self._entered(heard, node, everything)
        changed = heard.replica.replace(node, sent, everything, now)
        self._complete(heard, node, number)
        if changed:
            self._show(heard)
        heard.awaited.discard(node)
        self._check_ready(heard)

    def _entered(self, heard: Heard, node: int, events: list[Event]) -> list[Event]:
        """Note who came and went; return the enters that are older than how a player left."""
        now = self._loop.now()
        old = []
        for event in events:
            if event[0] == ENTER:
                id, seq = event[1], event[2]
                self._owner.entered(node, heard.square, id, seq)
                known = heard.replica.players.get(id)
                departed = self._departed.seq(id, now)
                if seq <= departed:
                    old.append(event)
                if known is None:
                    told = departed
                elif known.node != node and not self._owner.lives(known.node):
                    told = known.seq
                else:
                    continue
                if seq <= told:
                    self._owner.ignored(id, told)
            elif event[0] in (LEAVE, GONE):
                self._owner.parted(event[1], event[2])
        return old

    def _complete(self, heard: Heard, node: int, number: int) -> None:
        """Nothing of a node is missing up to a number."""
        heard.numbers[node] = number
        heard.gaps.discard(node)
        heard.suspects.pop(node, None)

    def _ask(self, heard: Heard, node: int) -> None:
        """Something of a node is missing: ask for all there is, but not too often."""
        heard.gaps.add(node)
        self._asking.put(heard.square, heard.hailed + RESIDENTS_EVERY)

    def _ask_now(self, square: Square, _due: int) -> None:
        heard = self.heard[square]
        if heard.gaps and heard.live:
            self._hail(heard)

    # Own batches, which count when they come back, or when they do not.

    def published(self, batch: OwnBatch, square: Square, sent: bool) -> None:
        """A batch of this node was published, or with `sent` False refused by the broker."""
        if not sent:
            self._loop.stats["refused_batches"] += 1
        heard = self.heard.get(square)
        if heard is None:
            # Nobody here needs the square any more, but others do.
            return
        heard.unheard.append(batch)
        if not sent:
            self._take_own(heard, batch.number)
        elif len(heard.unheard) == 1:
            self._echoes.put(square, batch.published + ECHO_WITHIN)

    def _echo_overdue(self, square: Square, due: int) -> None:
        heard = self.heard[square]
        while heard.unheard and heard.unheard[0].published + ECHO_WITHIN <= due:
            self._loop.stats["unheard_batches"] += 1
            self._take_own(heard, heard.unheard[0].number)

    def _take_own(self, heard: Heard, number: int) -> None:
        """Take in own batches up to a number: on one channel none comes after a later one."""
        now, id = self._loop.now(), self._owner.id
        while heard.unheard and heard.unheard[0].number <= number:
            batch = heard.unheard.popleft()
            heard.replica.apply(id, batch.sent, batch.events, now)
            self._snapshots.pop(heard.square, None)
            self._hub.deliver(heard.square, batch.payload)
        if heard.unheard:
            self._echoes.put(heard.square, heard.unheard[0].published + ECHO_WITHIN)
        else:
            self._echoes.drop(heard.square)

    # What is lost.

    def reset(self, lost: Reset) -> None:
        """Messages of some channels may be lost: ask for all there is. The own residents are told
        when the question is back: only then is what is published heard again."""
        for name, square in list(self._channels.items()):
            if lost.channels is None or name in lost.channels:
                self._loop.stats["resets"] += 1
                self._hail(self.heard[square])

    def drop(self, node: int) -> None:
        """A node is dead: so are its residents here."""
        for heard in self.heard.values():
            self._forget_node(heard, node)
            self._remove_all(heard, node)
            self._check_ready(heard)

    def _remove_all(self, heard: Heard, node: int) -> None:
        """Remove a node's players from a square, of which it said nothing itself."""
        if heard.replica.drop(node):
            # Another node or this one may have told of one of them, and was not believed.
            self._enter_own(heard)
            self._show(heard)
            for other in self._owner.listed(heard.square):
                self._ask(heard, other)

    def _forget_node(self, heard: Heard, node: int) -> None:
        heard.numbers.pop(node, None)
        heard.pages.pop(node, None)
        heard.suspects.pop(node, None)
        heard.gaps.discard(node)
        heard.awaited.discard(node)

    def compare(self, node: int, listed: dict[Square, int]) -> None:
        """Compare what a node's heartbeat lists (square -> last batch number) with what is known.

        What differs twice running is not under way, but lost: it is asked for; and who is in a
        square that the node does not list is removed.
        """
        for square, heard in self.heard.items():
            number = listed.get(square)
            known = heard.numbers.get(node, 0)
            if number is None:
                wrong = heard.replica.hosts(node)
            else:
                wrong = known < number
            if not wrong:
                heard.suspects.pop(node, None)
                continue
            times = heard.suspects[node] = heard.suspects.get(node, 0) + 1
            if times < 2:
                continue
            heard.suspects.pop(node)
            if number is not None:
                self._ask(heard, node)
            else:
                self._forget_node(heard, node)
                self._remove_all(heard, node)
            self._loop.stats["repairs"] += 1
