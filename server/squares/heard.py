"""A square that this node is subscribed to, with its replica, which follows what the broker brings.

The broker may lose messages. When something of another node may be missing, the square publishes a
sync request, and the other nodes answer with their full states. A batch changes the replica and is
passed on to the screens. After any other change of the replica the screens get a snapshot. A node
that is silent here is asked, and loses its players here if it does not answer. This module never
decides which nodes are alive: peers.py does.
"""

import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Protocol

from brokers import Broker
from server.agenda import Agenda
from server.loop import Loop
from server.messages import peer_protocol, protocol
from server.messages.peer_protocol import Malformed
from server.messages.protocol import OTHERS_FROM, Tail
from server.squares.crowds import CROWD_UNTIL, Crowd
from server.squares.hub import Hub, Screen
from server.squares.outbox import Outbox, OwnBatch
from server.squares.peers import GONE_AFTER, Peers
from server.squares.voices import Voice
from server.websocket.frames import frame
from world.events import (
    SLOT_RESTS,
    Content,
    Departed,
    EnterEvent,
    Event,
    GoneEvent,
    LeaveEvent,
    Replica,
    Whereabouts,
)
from world.grid import Square
from world.things import Thing, Things

#: A sync request that has not come back from the broker is repeated after AGAIN ms. The pause
#: doubles each time, up to AGAIN_MOST ms.
AGAIN, AGAIN_MOST = 100, 2000

#: An own batch that has not come back from the broker after so many ms is applied all the same.
ECHO_WITHIN: Final = 250

#: A node publishes its full state of a square at most once in so many ms. For the same time after a
#: sync request it does not ask again for what was lost in the square.
FULL_STATE_EVERY: Final = 200

#: The other nodes have so many ms to answer a sync request before screens see the square, and half
#: of them at least from when it has come back. They answer all requests of one moment together, so
#: screens are mostly shown all squares at once that they begin to hold at once.
ANSWERED_WITHIN: Final = 60

#: A node with players in a square that says nothing there for SILENT_AFTER ms, which is longer than
#: its signs (signs.py) are apart, is asked for its full state. If it has said nothing LOST_AFTER ms
#: after the sync request has come back either, it has no players there any more: it has lost a
#: leave, or is dead. So a dead node's players are gone within five seconds, however rare heartbeats
#: are.
SILENT_AFTER: Final = 3500
LOST_AFTER: Final = 1000

#: ms until silent nodes are looked for again, if some were asked, or if this node may not have
#: heard them.
LOOK_AGAIN: Final = 250

#: This node stood still if it looks for silent nodes so many ms too late.
STOOD_STILL: Final = 500

#: If this node may not have heard the others, they have so many ms to say something before they are
#: asked: their own links may come back later.
FORGIVEN: Final = 3000

#: More players than any square has.
NO_CROWDS: Final = 2**31


class PlayerNews(Protocol):
    """The part of the node that must know what other nodes publish about players."""

    def entered(self, node: int, square: Square, id: int, seq: int) -> None:
        """`node`, another node, has published that a player has come into a square or is in it."""

    def parted(self, id: int, seq: int) -> None:
        """Another node has published that a player left a square."""

    def ignored(self, id: int, seq: int) -> None:
        """Another node has published an enter of a player whose seq is too low to be believed.

        `seq` is at least as high. It is known from when the player was removed, or from a node that
        is dead or stops.
        """


class Surroundings:
    """What all HeardSquares of one node share.

    `span` is the length of a square's side in units, and `store` the identity of the node's store,
    or "" if it has none. `on_live` is called with each square that is received without a gap from
    now on: when it was subscribed to, and whenever messages may have been lost. `on_events` is
    called with a square and the events, without tracks, of a batch that was applied there. `show`
    is called at the end of a turn of the event loop in which there was something to show. It shows
    the squares in `changed`, and after them those in `again`; some squares are in both, and are
    then shown twice.
    """

    def __init__(
        self, node: int, span: int, broker: Broker, loop: Loop, hub: Hub | Any, outbox: Outbox,
        peers: Peers, store: str, show: Callable[[], None],
    ) -> None:  # fmt: skip
        self.node = node
        self.store = store
        self.on_live: Callable[[Square], None] = lambda _square: None
        self.on_events: Callable[[Square, Sequence[Event]], None] = lambda _square, _events: None
        #: The squares in which `on_moves` is called after each batch.
        self.followed: frozenset[Square] = frozenset()
        self.on_moves: Callable[[Square], None] = lambda _square: None
        self.span = span
        self.broker = broker
        self.loop = loop
        self.hub = hub
        self.outbox = outbox
        self.peers = peers
        #: The number of players from which on a square is a crowd, and what finds the screen of a
        #: player of this node. A node without screens has no crowds.
        self.crowd_from = NO_CROWDS
        self.screen: Callable[[int], Screen | None] = lambda _id: None
        self.news: PlayerNews
        self.changed: set[Square] = set()
        self.again: set[Square] = set()
        #: All squares that this node is subscribed to.
        self.squares: dict[Square, HeardSquare] = {}
        self._show = show
        #: The seqs of players that were removed not long ago, in whichever square.
        self.departed = Departed()
        self.whereabouts = Whereabouts()
        #: Node -> the squares in which it is heard, or has players.
        self.heard_in: dict[int, set[HeardSquare]] = {}
        #: What squares have to do later: the keys are (HeardSquare, method), the method gets `due`.
        self.due = Agenda(loop, lambda key, due: key[1](key[0], due))

    def unheard(self, node: int, heard: "HeardSquare") -> None:
        """Note that a node, which was heard in a square, is not heard there any more."""
        squares = self.heard_in[node]
        squares.discard(heard)
        if not squares:
            del self.heard_in[node]

    def show_anew(self, square: Square) -> None:
        """Send a square's snapshot to its screens at the end of this turn, together with others."""
        if not (self.changed or self.again):
            self.loop.soon(self._show)
        self.changed.add(square)

    def show_again(self, ids: list[int], besides: Square) -> None:
        """Show all squares but `besides` that have any of these players, after the squares of
        `changed`.

        A client believes an entry with a lower seq only once it knows the player in no square. So
        the squares that lost the player must be shown first, and these after them.
        """
        for id in ids:
            for replica in self.whereabouts.of(id):
                square = replica.square
                if square != besides and self.squares[square].ready:
                    self.show_anew(square)
                    self.again.add(square)


class HeardSquare:
    """See the module. Times are node time in ms; in messages they are the sending node's."""

    __slots__ = (
        "square", "channel", "needs", "replica", "things", "voices", "gaps", "live", "ready",
        "_around", "_snapshot", "_nonce", "_requested", "_answered", "_wait", "_published",
        "_unheard", "_unsure", "_returned", "_crowd",
    )  # fmt: skip

    def __init__(self, square: Square, channel: str, around: Surroundings) -> None:
        self.square = square
        self.channel = channel
        #: How many need it: one for all screens that hold it, and one for each own player in it.
        self.needs = 0
        self.replica = Replica(square, around.span, around.departed, around.whereabouts)
        #: What lies in it.
        self.things = Things()
        #: The other nodes that are heard here, by their ids. A node that has players in the replica
        #: is one of them.
        self.voices: dict[int, Voice] = {}
        #: The nodes of which something may be missing that was not asked for yet, and whether
        #: something of any node may be.
        self.gaps: set[int] = set()
        self._unsure = False
        #: `live`: the own sync request has come back, so that what is published from now on is
        #: received. `ready`: screens may see the square.
        self.live = self.ready = False
        self._around = around
        #: The frames of the square's snapshot, or None if the replica or the things have changed
        #: since they were made.
        self._snapshot: bytes | None = None
        #: The nonce of the last sync request, by which it is known when it comes back.
        self._nonce = 0
        #: When the last sync request was begun, when the last one has come back, and the ms until
        #: it is repeated.
        self._requested = self._answered = 0
        self._wait = AGAIN
        #: When the own full state was published last.
        self._published = 0
        #: Own batches that have not come back from the broker, the oldest first.
        self._unheard: deque[OwnBatch] = deque()
        #: The number of the last own message that came back.
        self._returned = 0
        self._crowd: Crowd | None = None
        self._enter_own()

    def end(self) -> None:
        """Cancel everything that is due, because the node is not subscribed any more."""
        for act in _ACTS:
            self._around.due.drop((self, act))
        self.replica.end()
        for node in self.voices:
            self._around.unheard(node, self)

    def _later(self, act: "Callable[[HeardSquare, int], None]", due: int) -> None:
        self._around.due.put((self, act), due)

    def _enter_own(self) -> None:
        """Apply the enters of this node's own players here to the replica."""
        around = self._around
        if self.square in around.outbox.present:
            now = around.loop.now()
            entries = map(EnterEvent._make, around.outbox.entries(self.square, now))
            self.replica.apply(around.node, now, Content(b"", list(entries)), now)

    # What screens see.

    def snapshot(self) -> bytes:
        """Return the WebSocket frames of the square's snapshot, and of the things that lie in it.

        Call it only once `ready` is set.
        """
        if self._snapshot is None:
            now = self._around.loop.now()
            players = self.replica.snapshot(now, self._around.peers.source)
            self._snapshot = frame(protocol.snapshot(self.square, now, players))
            if things := self.things.all():
                self._snapshot += frame(protocol.things(self.square, things))
        return self._snapshot

    def _show(self) -> None:
        """Note that the replica has changed, and show it to screens if it is ready."""
        self._snapshot = None
        if self.ready:
            self._around.show_anew(self.square)

    def _go_without(self, gone: list[int], node: int) -> None:
        """Repair what may be wrong after players of a node were removed without a leave or gone.

        `gone` are their ids. Another node, or this one, may have published an enter of one of them,
        here or in another square. It may not have been believed then: by this node, because the
        player was known here, or by clients, because a client knows a player in one square only.
        """
        around = self._around
        self._enter_own()
        peers = around.peers.peers
        if len(peers) > (node in peers):
            self._unsure = True
            self._ask_soon()
        self._show()
        around.show_again(gone, self.square)

    def get_ready(self, _due: int = 0) -> None:
        """Let screens see the square from now on."""
        if not self.ready:
            self.ready = True
            self._show()

    def _tell(self, node: int, sent: int, content: Content, tail: Tail) -> None:
        """Tell the screens of a batch, which the replica has just applied."""
        around, crowd, source = self._around, self._crowd, self._around.peers.source(node)
        if crowd is None:
            around.hub.deliver(self.square, source, sent, tail)
            if len(self.replica.players) >= around.crowd_from:
                self._crowd = Crowd(
                    self.square, around.span, around.node, self.replica,
                    int(around.crowd_from * CROWD_UNTIL), around.peers.source, around.screen,
                    self._end_crowd,
                )  # fmt: skip
            return
        besides = crowd.besides(content)
        if besides is not None:
            around.hub.deliver(self.square, source, sent, besides)
        if not around.hub.stir(self.square, crowd):
            crowd.forget()

    def _end_crowd(self) -> None:
        self._crowd = None

    # Sync requests and full states.

    def reset(self) -> None:
        """Ask the other nodes what is here, because their messages may have been lost."""
        self._forgive(self._around.loop.now())
        self.request_sync()

    def request_sync(self) -> None:
        """Ask the other nodes for their full states here, again and again until the request has
        come back from the broker."""
        self.gaps.clear()
        self._unsure = self.live = False
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
            self._answered = now = around.loop.now()
            self._wait = AGAIN
            around.due.drop((self, HeardSquare._send_request))
            # Another node may have asked while this node was not subscribed yet.
            self._publish_full_state()
            if not around.peers.peers:
                self.get_ready()
            elif not self.ready:
                due = max(self._requested + ANSWERED_WITHIN, now + ANSWERED_WITHIN // 2)
                self._later(HeardSquare.get_ready, due)
            around.on_live(self.square)

    def _publish_full_state(self) -> None:
        """Publish the own full state, if this node has players here, or a sign, if it had some a
        moment ago: now, or FULL_STATE_EVERY ms after the last time."""
        outbox = self._around.outbox
        if self.square in outbox.present or self.square in outbox.signs:
            due = self._published + FULL_STATE_EVERY
            if due <= self._around.loop.now():
                self._publish_now(due)
            else:
                self._later(HeardSquare._publish_now, due)

    def _publish_now(self, _due: int) -> None:
        around, now = self._around, self._around.loop.now()
        entries = around.outbox.entries(self.square, now)
        self._published = now
        if not entries:
            around.outbox.signs.repeat(self.square)
            return
        number, size = around.outbox.next_number(self.square), peer_protocol.ENTRIES
        pages = [entries[at : at + size] for at in range(0, len(entries), size)]
        for page, some in enumerate(pages):
            message = peer_protocol.full_state(
                self.square, around.node, number, now, page, len(pages), some
            )
            around.broker.publish(self.channel, message)
        around.loop.stats["full_states"] += 1

    def ask(self, node: int) -> None:
        """Note that something of a node is missing, and publish a sync request for it: now, or
        FULL_STATE_EVERY ms after the last one."""
        self.gaps.add(node)
        self._ask_soon()

    def _ask_soon(self) -> None:
        self._later(HeardSquare._ask_now, self._requested + FULL_STATE_EVERY)

    def _ask_now(self, _due: int) -> None:
        if (self.gaps or self._unsure) and self.live:
            self.request_sync()

    # What is received.

    def receive(self, payload: bytes) -> None:
        """Apply a message that came on the square's channel. Raises Malformed."""
        if self._unheard and payload == self._unheard[0].payload:
            # This is the usual case of an own batch: it is as it was published, so it need not be
            # read.
            self._returned = self._unheard[0].number
            self._count_own(self._returned)
            return
        kind, *fields = peer_protocol.read(payload)
        if tuple(fields[:2]) != self.square:
            raise Malformed("a message for another square")
        if kind == peer_protocol.BATCH:
            column, row, node, previous, number, sent, *said = fields
            if node == self._around.node:
                # An own batch before it was lost, or it came too late, or twice.
                self._returned = max(number, self._returned)
                self._count_own(number)
            else:
                tail = peer_protocol.tail(payload, column, row, node, previous, number, sent)
                content = peer_protocol.read_content(*said)
                self._batch(node, previous, number, sent, content, tail)
        elif kind == peer_protocol.FULL_STATE:
            _, _, node, number, sent, page, pages, entries = fields
            if node == self._around.node:
                self._returned = max(number, self._returned)
            else:
                self._full_state(node, number, sent, page, pages, entries)
        elif kind == peer_protocol.SIGN:
            _, _, node, number, sent, inhabited = fields
            if node != self._around.node:
                self._sign(node, number, sent, inhabited)
        elif kind == peer_protocol.SYNC_REQUEST:
            self._sync_requested(fields[2], fields[3])
        elif kind == peer_protocol.CHANGES:
            _, _, node, store, things, gone = fields
            self._changed(node, store, peer_protocol.read_things(things), gone)

    def _batch(
        self, node: int, previous: int, number: int, sent_there: int, content: Content, tail: Tail
    ) -> None:
        around, now = self._around, self._around.loop.now()
        sent = sent_there + around.peers.offset(node, sent_there)
        voice = self._voice(node, now)
        if number <= voice.last:
            return
        voice.heard = now
        complete = previous in (0, voice.number)
        said = content
        if not complete and sent_there - voice.sure >= SLOT_RESTS:
            # A slot may have become another player's since. The full state will tell.
            said = said._replace(tracks=b"", wide=b"")
        if old := self._pass_on(node, content.others, now):
            # Clients hold fewer squares, so they may not know that the player was removed since:
            # they would believe the old enter, and show a player who is not there.
            said = said._replace(others=[event for event in said.others if event not in old])
        # With 0 as `previous` the node had no player here before this batch, so players of that
        # node that are known here and not in the batch are gone.
        gone: list[int] = []
        if previous == 0:
            gone = self.replica.drop(node, {event.id for event in content.others})
        gone += self.replica.apply(node, sent, said, now)
        self._snapshot = None
        self._tell(node, sent, said, tail if said is content else protocol.tail(said))
        if said.others:
            around.loop.guarded(around.on_events, self.square, said.others)
        if self.square in around.followed:
            around.loop.guarded(around.on_moves, self.square)
        if gone:
            self._go_without(gone, node)
        if complete:
            voice.complete(number, sent_there)
            self.gaps.discard(node)
        else:
            voice.last = number
            around.loop.stats["gaps"] += 1
            self.ask(node)

    def _full_state(
        self, node: int, number: int, sent_there: int, page: int, pages: int, said: list[Any]
    ) -> None:
        entries = peer_protocol.read_entries(said)
        around, now = self._around, self._around.loop.now()
        sent = sent_there + around.peers.offset(node, sent_there)
        voice = self._voice(node, now)
        if number < voice.last:
            return
        voice.heard = now
        everything = voice.add_page(number, page, pages, entries)
        if everything is None:
            return
        self._pass_on(node, everything, now)
        changed, gone = self.replica.replace(node, sent, everything, now)
        voice.complete(number, sent_there)
        self.gaps.discard(node)
        if gone:
            self._go_without(gone, node)
        elif changed:
            self._show()

    def _sign(self, node: int, number: int, sent_there: int, inhabited: bool) -> None:
        """Compare the number of a node's last batch or full state here with what has come."""
        around, now = self._around, self._around.loop.now()
        around.peers.offset(node, sent_there)
        if not inhabited:
            voice = self.voices.get(node)
            if voice is not None and number >= voice.last:
                self._lose(node)
            return
        voice = self._voice(node, now)
        if number < voice.last:
            return
        voice.heard = now
        if number == voice.number:
            voice.sure = sent_there
            return
        if voice.number or now - self._requested > FULL_STATE_EVERY:
            # Otherwise its answer to this node's first sync request here is still under way.
            around.loop.stats["repairs"] += 1
        self.ask(node)

    def _voice(self, node: int, now: int) -> Voice:
        """Return what is heard here of another node.

        Call it only with a node that Peers knows: what squares keep of a node is removed only when
        a node that Peers knew is dead.
        """
        voice = self.voices.get(node)
        if voice is None:
            if not self.voices:
                self._later(HeardSquare._look_for_silent, now + SILENT_AFTER)
            voice = self.voices[node] = Voice(now)
            self._around.heard_in.setdefault(node, set()).add(self)
        return voice

    def _pass_on(self, node: int, events: Sequence[Event], now: int) -> list[Event]:
        """Report to `news` which players entered, left or are gone, before the events are applied.

        Returns the enters whose seqs are not higher than that with which their player was removed.
        """
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
                    last_seq = departed
                elif known.node not in (node, around.node) and not around.peers.lives(known.node):
                    last_seq = known.seq
                else:
                    continue
                if seq <= last_seq:
                    around.news.ignored(id, last_seq)
            elif isinstance(event, LeaveEvent | GoneEvent):
                around.news.parted(event.id, event.seq)
        return old

    # The things that lie in it.

    def _changed(self, node: int, store: str, things: list[Thing], gone: list[Any]) -> None:
        """Apply what a node, this one or another, has published about things."""
        around = self._around
        if store != around.store:
            around.peers.has_other_store()
        elif self.things.change(things, zip(gone[::2], gone[1::2], strict=True), around.loop.now()):
            self._show_things()

    def read(self, things: list[Thing], begun: int) -> None:
        """Apply what the store had in this square at a moment after the node time `begun`."""
        if self.things.replace(things, begun):
            self._show_things()

    def _show_things(self) -> None:
        """Send what lies in the square now to its screens, with the next flush."""
        self._snapshot = None
        self._around.hub.tell(self.square, protocol.things(self.square, self.things.all()))

    # Own batches: they are applied when they come back, and also if they do not.

    def published(self, batch: OwnBatch, taken: bool) -> None:
        """Expect an own batch back from the broker. If `taken` is False the broker has refused it,
        and it is applied at once."""
        self._unheard.append(batch)
        if not taken:
            self._count_own(batch.number)
        elif len(self._unheard) == 1:
            self._later(HeardSquare._echo_overdue, batch.published + ECHO_WITHIN)

    def echoed(self, number: int) -> bool:
        """Say whether the own batch or full state with a number has come back from the broker, so
        that nobody hears of it later than of what is published now."""
        return self._returned >= number

    def _echo_overdue(self, due: int) -> None:
        while self._unheard and self._unheard[0].published + ECHO_WITHIN <= due:
            self._around.loop.stats["unheard_batches"] += 1
            self._count_own(self._unheard[0].number)

    def _count_own(self, number: int) -> None:
        """Apply all own batches up to a number, and pass them on to screens.

        Messages of one channel arrive in order. So an earlier batch that has not come back by now
        was lost, or refused.
        """
        around, now, unheard = self._around, self._around.loop.now(), self._unheard
        while unheard and unheard[0].number <= number:
            batch = unheard.popleft()
            self.replica.apply(around.node, batch.sent, batch.content, now)
            self._snapshot = None
            self._tell(around.node, batch.sent, batch.content, batch.tail)
            if batch.content.others:
                around.loop.guarded(around.on_events, self.square, batch.content.others)
            if self.square in around.followed:
                around.loop.guarded(around.on_moves, self.square)
        if unheard:
            self._later(HeardSquare._echo_overdue, unheard[0].published + ECHO_WITHIN)
        else:
            around.due.drop((self, HeardSquare._echo_overdue))

    # What other nodes no longer have.

    def drop(self, node: int) -> None:
        """Remove the players of a node that is dead, except computer players: another node will
        have them soon."""
        self._remove_all(node, self._herd())

    def drop_herd(self, node: int) -> None:
        """Remove the computer players of a dead node, which no other node has published."""
        self._remove_all(node)

    def _lose(self, node: int, but: Collection[int] = ()) -> None:
        """Remove a node's players, except `but`, because it has none here, though its leaves and
        gones did not come."""
        if self._remove_all(node, but):
            self._around.loop.stats["repairs"] += 1

    def _herd(self) -> list[int]:
        return [id for id in self.replica.players if id < OTHERS_FROM]

    def _remove_all(self, node: int, but: Collection[int] = ()) -> bool:
        """Remove a node's players, except `but`, and forget what it said; say whether there were
        any."""
        heard = self.voices[node].heard if node in self.voices else 0
        self._forget_node(node)
        gone = self.replica.drop(node, but)
        if gone:
            self._go_without(gone, node)
        if self.replica.hosts(node):
            # If it lives, it must say that it has them still.
            self._voice(node, heard)
        return bool(gone)

    def _forget_node(self, node: int) -> None:
        if self.voices.pop(node, None) is not None:
            self._around.unheard(node, self)
        self.gaps.discard(node)

    def _forgive(self, now: int) -> None:
        """Let no node be silent before FORGIVEN ms have passed."""
        for voice in self.voices.values():
            voice.heard = max(voice.heard, now - SILENT_AFTER + FORGIVEN)

    def _look_for_silent(self, due: int) -> None:
        """Ask the nodes that have been silent here for too long, and remove the players of those
        that were asked and did not answer."""
        around, now = self._around, self._around.loop.now()
        if now - due > STOOD_STILL or not around.peers.hears:
            # What they said may not have come, or not have been read yet.
            self._forgive(now)
            self._later(HeardSquare._look_for_silent, now + LOOK_AGAIN)
            return
        soonest = now + SILENT_AFTER
        for node, voice in list(self.voices.items()):
            silent = voice.heard + SILENT_AFTER
            if silent > now:
                soonest = min(soonest, silent)
            elif not self.replica.hosts(node):
                self._forget_node(node)
            elif not around.peers.lives(node):
                # One that is dead, or stops, keeps its players here as long as Peers says. It may
                # live again.
                soonest = min(soonest, now + LOOK_AGAIN)
            elif self.live and silent <= self._answered <= now - LOST_AFTER:
                # If it is dead, another node will have its computer players soon.
                self._lose(node, self._herd() if voice.heard > now - GONE_AFTER else ())
                soonest = min(soonest, now + LOOK_AGAIN)
            else:
                if self._requested < silent:
                    self.ask(node)
                soonest = min(soonest, now + LOOK_AGAIN)
        if self.voices:
            self._later(HeardSquare._look_for_silent, soonest)


#: All methods that may be due for a square.
_ACTS: Final = (
    HeardSquare._send_request, HeardSquare._publish_now, HeardSquare._ask_now,
    HeardSquare._echo_overdue, HeardSquare.get_ready, HeardSquare._look_for_silent,
)  # fmt: skip
