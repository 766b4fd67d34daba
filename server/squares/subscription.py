"""A square that this node is subscribed to, and its replica, which follows what the broker
delivers.

The broker may lose messages. When something from another node may be missing, the square publishes
a sync request, and the other nodes answer with their full states. A batch changes the replica and
is passed on to the screens. After any other change of the replica the screens get a snapshot. A
node that is silent here is asked, and loses its players here if it does not answer. This module
never decides which nodes are alive: peers.py does.
"""

from collections.abc import Callable, Collection
from typing import Final

from flatlands.server.messages import peer_batches, protocol
from flatlands.server.messages.peer_protocol import (
    OF_SQUARES,
    Batch,
    FullState,
    Keepalive,
    Malformed,
    SyncRequest,
    ThingChanges,
    read,
)
from flatlands.server.messages.protocol import FIRST_UNSTORED_ID, BatchBody
from flatlands.server.net.frames import frame
from flatlands.server.squares.context import SquareContext
from flatlands.server.squares.crowds import Crowd
from flatlands.server.squares.hub import Hub
from flatlands.server.squares.layers import Layers
from flatlands.server.squares.outbox import OwnBatch
from flatlands.server.squares.peers import NODE_GONE_MS
from flatlands.server.squares.sync import FULL_STATE_EVERY_MS, SQUARE_DEAF_MS, Sync
from flatlands.world.batches import SLOT_RESTS, BatchContent
from flatlands.world.events import EnterEvent
from flatlands.world.grid import Square
from flatlands.world.replica import Replica
from flatlands.world.things import PlacedThing, Things

#: A batch of this node that is not back from the broker after this many ms is applied anyway.
ECHO_WITHIN: Final = 250

#: ms that other nodes have to answer a sync request before screens see the square; they have at
#: least half of it once the request has come back. They answer all requests of one moment together,
#: so screens mostly see at once all squares that they begin to hold at once.
SYNC_ANSWER_MS: Final = 60

#: A node with players in a square that publishes nothing there for SILENT_AFTER ms, longer than
#: keepalives (outbox.py) are apart, is asked for its full state. If it is still silent LOST_AFTER
#: ms after the sync request has come back, it has no players there any more: a leave was lost, or
#: it is dead. So a dead node's players are gone within five seconds, however rare heartbeats are.
SILENT_AFTER: Final = 3500
LOST_AFTER: Final = 1000

#: ms until silent nodes are looked for again, if some were asked, or if their messages may not have
#: come.
CHECK_AGAIN: Final = 250

#: This node has stood still if it looks for silent nodes more than this many ms too late.
STOOD_STILL: Final = 500

#: If messages of the others may not have come, they have this many ms to send something before they
#: are asked: their own links may come back later.
FORGIVEN: Final = 3000


#: The subject of a message to clients about things, for the hub. One about a layer has the layer's
#: number as its subject.
_THINGS: Final = -1


class PeerCursor:
    """The position up to which this node has received the messages of another one in a square.

    Of the numbers of that node's batches and full states, `number` is the highest one up to which
    nothing is missing, and `last` the highest one received. `complete_until` is the time, by that
    node's clock, before which nothing from it is missing. `last_heard` is when anything from it
    last came, by this node's clock. Times are in ms.
    """

    __slots__ = (
        "number",
        "last",
        "complete_until",
        "last_heard",
        "_begun",
        "_pages",
        "_flush",
        "_since",
    )

    def __init__(self, now: int) -> None:
        self.number = 0
        self.last = 0
        self.complete_until = 0
        self.last_heard = now
        #: The number of the full state whose pages are coming, and page -> its entries.
        self._begun = 0
        self._pages: dict[int, list[EnterEvent]] = {}
        #: The number of the hub's last flush when the node last sent something, and the time, by
        #: the node's clock, of the first message since that flush.
        self._flush = self._since = 0

    def flush_before_slot_reuse(self, hub: Hub, square: Square, sent: int) -> None:
        """Flush what came from the node before a message that it sent at the time `sent` is read,
        if that is so much later that a slot may have become another player's: this node has stood
        still, and now reads everything at once."""
        if hub.number != self._flush:
            self._flush, self._since = hub.number, sent
        if sent - self._since >= SLOT_RESTS - CHECK_AGAIN:
            hub.flush_waiting(square)

    def complete(self, number: int, sent: int) -> None:
        """Note that nothing is missing up to a number, and up to the node's time `sent`."""
        self.number = self.last = number
        self.complete_until = sent

    def add_page(
        self, number: int, page: int, pages: int, entries: list[EnterEvent]
    ) -> list[EnterEvent] | None:
        """Keep a page of the full state with this number.

        Returns all its entries once all pages have come, and None until then.
        """
        if number != self._begun:
            self._begun, self._pages = number, {}
        self._pages[page] = entries
        if len(self._pages) < pages:
            return None
        everything = [entry for some in self._pages.values() for entry in some]
        self._pages = {}
        return everything


class SquareView:
    """Makes what clients are sent about one square: its snapshot, its batches, its things.

    Batches are passed on unchanged, or in a crowd as crowds.py makes them; the rest of the node
    gets their events too. `replica`, `things` and `layers` are those of the square. Times are node
    time in ms.
    """

    def __init__(
        self,
        square: Square,
        context: SquareContext,
        replica: Replica,
        things: Things,
        layers: Layers | None,
    ) -> None:
        #: Whether screens may see the square.
        self.ready = False
        self._square = square
        self._context = context
        self._replica = replica
        self._things = things
        self._layers = layers
        #: The frames of the square's snapshot, or None if the replica or the things have changed
        #: since they were made.
        self._snapshot: bytes | None = None
        self._crowd: Crowd | None = None

    def end(self) -> None:
        """Cancel what is due, because the node is not subscribed any more."""
        self._context.due.drop((self, SquareView.get_ready))

    def get_ready_at(self, due: int) -> None:
        """Let screens see the square from the time `due` on."""
        self._context.due.put((self, SquareView.get_ready), due)

    def get_ready(self, _due: int = 0) -> None:
        """Let screens see the square from now on."""
        if not self.ready:
            self.ready = True
            self.invalidate()

    def snapshot(self) -> bytes:
        """Return the WebSocket frames of the square's snapshot, of its things, and of what a game
        has written there.

        Call it only once `ready` is set.
        """
        if self._snapshot is None:
            now = self._context.loop.now()
            players = self._replica.snapshot(now, self._context.peers.source)
            self._snapshot = frame(protocol.snapshot(self._square, now, players))
            if things := self._things.all():
                self._snapshot += frame(protocol.things(self._square, things))
        written = b"" if self._layers is None else self._layers.frames()
        return self._snapshot + written

    def invalidate(self) -> None:
        """Note that the replica has changed, and show it to screens if it is ready."""
        self._snapshot = None
        if self.ready:
            self._context.hub.invalidate(self._square)

    def send_things(self) -> None:
        """Send the things in the square to its clients, with the next flush."""
        self._snapshot = None
        self._context.hub.send(self._square, _THINGS, self._all_things)
        self._context.loop.guarded(self._context.services.things_changed, self._square)

    def _all_things(self) -> bytes:
        return protocol.things(self._square, self._things.all())

    def send(self, node: int, sent: int, content: BatchContent, body: BatchBody) -> None:
        """Send a batch, which the replica has just applied, to clients, and its events to the
        observer."""
        if content.writes and not content.events:
            return
        context, square = self._context, self._square
        self._snapshot = None
        self._show(node, sent, content, body)
        observer = context.observer
        if observer is not None and content.others:
            context.loop.guarded(observer.events_applied, square, content.others)

    def _show(self, node: int, sent: int, content: BatchContent, body: BatchBody) -> None:
        context, crowd, source = self._context, self._crowd, self._context.peers.source(node)
        if crowd is None:
            context.hub.deliver(self._square, source, sent, body)
            if len(self._replica.players) >= context.crowd_from:
                self._crowd = Crowd(context, self._replica, self._end_crowd)
            return
        besides = crowd.without_moves(content)
        if besides is not None:
            context.hub.deliver(self._square, source, sent, besides)
        if not context.hub.schedule_crowd(self._square, crowd):
            crowd.forget()

    def _end_crowd(self) -> None:
        self._crowd = None


class Subscription:
    """This node's subscription to a square: applies what it receives to the replica, and finds out
    what is missing. Times are node time in ms; in messages they are the sending node's."""

    def __init__(self, square: Square, channel: str, context: SquareContext) -> None:
        self.square = square
        self.channel = channel
        #: How many need it: all screens that hold it as one, and each of this node's players in it.
        self.needs = 0
        self.replica = Replica(square, context.span, context.tombstones, context.player_index)
        #: The things in it.
        self.things = Things()
        #: The tiles that the game has written in it; None if the game writes nowhere.
        self.layers = (
            Layers(square, context.layer_registry) if context.layer_registry.layers else None
        )
        #: Makes the messages to clients about it.
        self.view = SquareView(square, context, self.replica, self.things, self.layers)
        #: Asks the other nodes for their full states, and answers such requests.
        self.sync = Sync(square, channel, context, self.layers)
        #: The other nodes whose messages have come here, by their ids. A node that has players in
        #: the replica is one of them.
        self.cursors: dict[int, PeerCursor] = {}
        self._context = context
        #: This node's batches that have not come back from the broker, the oldest first.
        self._pending: list[OwnBatch] = []
        #: The number of this node's last message that came back.
        self._last_returned = 0
        #: When this node published something here that did not come back in time, if nothing has
        #: come back since; or 0.
        self._unreturned_since = 0
        self._enter_own()

    def end(self) -> None:
        """Cancel everything that is due, because the node is not subscribed any more."""
        for act in _ACTS:
            self._context.due.drop((self, act))
        self.view.end()
        self.sync.end()
        self._context.forget_contested(self.replica.players)
        self.replica.end()
        if self.things.any:
            self._context.services.things_changed(self.square)
        for node in self.cursors:
            self._context.node_vanished(node, self.square)

    def _later(self, act: "Callable[[Subscription, int], None]", due: int) -> None:
        self._context.due.put((self, act), due)

    def _enter_own(self) -> None:
        """Apply the enters of this node's own players here to the replica."""
        context = self._context
        if self.square in context.outbox.players_by_square:
            now = context.loop.now()
            entries = map(EnterEvent._make, context.outbox.entries(self.square, now))
            self.replica.apply(context.node, now, BatchContent(b"", list(entries)), now)

    def _repair_after_removal(self, gone: list[int], node: int) -> None:
        """Repair what may be wrong after players of a node were removed without a leave or gone.

        `gone` are their ids. Another node, or this one, may have published an enter of one of them,
        here or in another square. It may not have been believed: by this node, because it had the
        player here, or by clients, because a client has a player in one square only. And no screen
        may get an enter of one of them after a snapshot that does not have them.
        """
        context = self._context
        context.forget_contested(gone)
        context.hub.flush_waiting(self.square)
        self._enter_own()
        peers = context.peers.peers
        if len(peers) > (node in peers):
            self.sync.request_soon()
        self.view.invalidate()
        context.show_again(gone, self.square)

    # Sync requests.

    def reset(self) -> None:
        """Ask the other nodes for their full states, because their messages may have been lost."""
        self._forgive(self._context.loop.now())
        self.sync.request()

    def _sync_returned(self) -> None:
        self.sync.request_returned()
        if not self._context.peers.peers:
            self.view.get_ready()
        elif not self.view.ready:
            sync = self.sync
            due = max(sync.requested_at + SYNC_ANSWER_MS, sync.returned_at + SYNC_ANSWER_MS // 2)
            self.view.get_ready_at(due)
        self._context.read_square(self.square)

    # What is received.

    def receive(self, payload: bytes) -> None:
        """Apply a message that came on the square's channel. Raises Malformed."""
        if self._pending and payload == self._pending[0].payload:
            # This is the usual case of a batch of this node: it is unchanged, so it need not be
            # read.
            self._own_returned(self._pending[0].number)
            self._apply_own(self._last_returned)
            return
        if not self.sync.is_confirmed and payload == self.sync.message:
            self._sync_returned()
            return
        message = read(payload)
        if isinstance(message, list):
            self._receive_batch(message, payload)
            return
        if not isinstance(message, OF_SQUARES) or message[:2] != self.square:
            raise Malformed("it is for another square")
        if message.node in self._context.peers.incompatible:
            # It is on another database of the same Redis.
            return
        if isinstance(message, SyncRequest):
            if message.node != self._context.node:
                self.sync.publish_full_state()
        elif isinstance(message, ThingChanges):
            self._apply_changes(message)
        elif message.node == self._context.node:
            self._own_returned(message.number)
        elif isinstance(message, FullState):
            self._apply_full_state(message)
        else:
            self._context.peers.note_message(message.node, message.sent)
            if message.inhabited:
                self._compare_keepalive(message)
            else:
                self._apply_empty_keepalive(message)

    def _receive_batch(self, batch: Batch, payload: bytes) -> None:
        """Apply a batch, this node's own or another's. Raises Malformed."""
        column, row, node, previous, number, sent, *items = batch
        if (column, row) != self.square:
            raise Malformed("it is for another square")
        if node in self._context.peers.incompatible:
            return
        if node == self._context.node:
            self._own_returned(number)
            # An earlier batch was lost, or this one came too late, or twice.
            self._apply_own(number)
            return
        content = peer_batches.read_content(self._context.events, *items)
        if content.writes:
            self._context.layer_registry.check(content.writes)
            body = protocol.body(content)
        else:
            body = peer_batches.read_body(payload, column, row, node, previous, number, sent)
        self._apply_remote(node, previous, number, sent, content, body)

    def _apply_remote(
        self,
        node: int,
        previous: int,
        number: int,
        sent_there: int,
        content: BatchContent,
        body: BatchBody,
    ) -> None:
        """Apply a batch of another node, pass it on to screens, and ask for what is missing."""
        context, now = self._context, self._context.loop.now()
        sent = sent_there + context.peers.note_message(node, sent_there)
        cursor = self._cursor(node, now)
        if number <= cursor.last:
            return
        cursor.last_heard = now
        cursor.flush_before_slot_reuse(context.hub, self.square, sent_there)
        complete = previous in (0, cursor.number)
        fresh = content
        if content.others or not complete:
            slots_known = complete or sent_there - cursor.complete_until < SLOT_RESTS
            fresh = self._without_stale(node, content, slots_known, now)
        # With 0 as `previous` the node had no player here before this batch, so players of that
        # node that are in the replica and not in the batch are gone.
        gone: list[int] = []
        if previous == 0:
            gone = self.replica.drop(node, {event[1] for event in content.others})
        gone += self.replica.apply(node, sent, fresh, now)
        self.view.send(node, sent, fresh, body if fresh is content else protocol.body(fresh))
        if self.layers is not None:
            self.layers.apply_remote(node, fresh.writes)
        if gone:
            self._repair_after_removal(gone, node)
        if complete:
            cursor.complete(number, sent_there)
            self.sync.close_gap(node)
        else:
            # Nothing is lost that the node sent before the first message that came.
            context.loop.stats["gaps"] += 0 < cursor.last < previous
            cursor.last = number
            self.sync.request_after_gap(node)

    def _without_stale(
        self, node: int, content: BatchContent, slots_known: bool, now: int
    ) -> BatchContent:
        """Return what is not stale of a batch of another node: no tracks, unless its slots are
        certain, and no enters that are older than the removal of their players."""
        fresh = content
        if not slots_known:
            # A slot may have become another player's since. The full state will have that.
            fresh = fresh._replace(tracks=b"", wide=b"")
        if old := self._context.notify_player_changes(node, self.replica, content.others, now):
            # Clients hold fewer squares, so they may not have seen the player removed since: they
            # would believe the old enter, and show a player who is not there.
            fresh = fresh._replace(others=[event for event in fresh.others if event not in old])
        return fresh

    def _apply_full_state(self, state: FullState) -> None:
        node = state.node
        entries = peer_batches.read_entries(state.entries, self._context.events)
        context, now = self._context, self._context.loop.now()
        context.layer_registry.check(state.writes)
        sent = state.sent + context.peers.note_message(node, state.sent)
        if self.layers is not None:
            self.layers.apply_remote(node, state.writes)
        cursor = self._cursor(node, now)
        if state.number < cursor.last:
            return
        cursor.last_heard = now
        cursor.flush_before_slot_reuse(context.hub, self.square, state.sent)
        everything = cursor.add_page(state.number, state.page, state.pages, entries)
        if everything is None:
            return
        context.notify_player_changes(node, self.replica, everything, now)
        changed, gone = self.replica.replace(node, sent, everything, now)
        cursor.complete(state.number, state.sent)
        self.sync.close_gap(node)
        if gone:
            self._repair_after_removal(gone, node)
        elif changed:
            self.view.invalidate()

    def _compare_keepalive(self, keepalive: Keepalive) -> None:
        """Compare the number of the last batch or full state of a node, which has players here,
        with what has come."""
        node, number, now = keepalive.node, keepalive.number, self._context.loop.now()
        cursor = self._cursor(node, now)
        if number < cursor.last:
            return
        cursor.last_heard = now
        if number == cursor.number:
            cursor.complete_until = keepalive.sent
            return
        if cursor.number or now - self.sync.requested_at > FULL_STATE_EVERY_MS:
            # Otherwise its answer to this node's first sync request here is still under way.
            self._context.loop.stats["repairs"] += 1
        self.sync.request_after_gap(node)

    def _apply_empty_keepalive(self, keepalive: Keepalive) -> None:
        """Remove the players of a node that has none here, and ask for what it may have written."""
        node, number, context = keepalive.node, keepalive.number, self._context
        cursor = self.cursors.get(node)
        known = 0 if cursor is None else cursor.last
        if cursor is not None and number >= known:
            context.loop.stats["repairs"] += self.remove_all(node)
        if context.layer_registry.layers:
            whole = cursor is not None and cursor.number == number
            cursor = self._cursor(node, context.loop.now())
            cursor.last = max(number, known)
            if whole:
                cursor.number = number
            elif number > known:
                self.sync.request_after_gap(node)

    def _cursor(self, node: int, now: int) -> PeerCursor:
        """Return the cursor of another node, which may be new.

        Call it only for a node that Peers has: cursors are removed only once Peers finds a node
        dead.
        """
        cursor = self.cursors.get(node)
        if cursor is None:
            if not self.cursors:
                self._later(Subscription._check_silent_nodes, now + SILENT_AFTER)
            cursor = self.cursors[node] = PeerCursor(now)
            self._context.node_appeared(node, self.square)
        return cursor

    # The things in it.

    def _apply_changes(self, changes: ThingChanges) -> None:
        """Apply the changes of things that a node, this one or another, has published."""
        context, gone = self._context, changes.gone
        things = peer_batches.read_things(changes.things, context.things)
        own = context.services.store_identity
        if changes.store != own:
            context.peers.note_other_store(own, changes.store)
        elif self.things.change(
            things, zip(gone[::2], gone[1::2], strict=True), context.loop.now()
        ):
            self.view.send_things()

    def apply_stored_things(self, things: list[PlacedThing], begun: int) -> None:
        """Apply the things that the store had in this square at a moment after the node time
        `begun`."""
        if self.things.replace(things, begun):
            self.view.send_things()

    # This node's batches: they are applied when they come back, or after a while if they do not.

    def batch_published(self, batch: OwnBatch, taken: bool) -> None:
        """Expect a batch of this node back from the broker. If `taken` is False the broker has
        refused it, and it is applied at once."""
        self._pending.append(batch)
        if not taken:
            self._context.loop.stats["refused_batches"] += 1
            self._apply_own(batch.number)
        elif len(self._pending) == 1:
            self._later(Subscription._echo_overdue, batch.published_at + ECHO_WITHIN)

    def has_returned(self, number: int) -> bool:
        """Return whether this node's batch or full state with a number has come back from the
        broker: then nobody receives it later than what is published now."""
        return self._last_returned >= number

    def _echo_overdue(self, due: int) -> None:
        while self._pending and self._pending[0].published_at + ECHO_WITHIN <= due:
            self._context.loop.stats["overdue_batches"] += 1
            self.keepalive_sent(due)
            self._apply_own(self._pending[0].number)

    def keepalive_sent(self, now: int) -> None:
        """Note that this node has sent a keepalive here, which is still to come back. If nothing of
        its own has come back for a while, ask whether anything comes."""
        if not self._unreturned_since:
            self._unreturned_since = now
        elif now - self._unreturned_since >= SQUARE_DEAF_MS and self.sync.is_confirmed:
            self._unreturned_since = 0
            self.sync.request()

    def _own_returned(self, number: int) -> None:
        self._last_returned, self._unreturned_since = max(number, self._last_returned), 0

    def _apply_own(self, number: int) -> None:
        """Apply this node's batches up to a number, and pass them on to screens.

        Messages of one channel arrive in order. So an earlier batch that has not come back by now
        was lost, or refused.
        """
        context, now, pending = self._context, self._context.loop.now(), self._pending
        while pending and pending[0].number <= number:
            batch = pending.pop(0)
            self.replica.apply(context.node, batch.sent, batch.content, now)
            self.view.send(context.node, batch.sent, batch.content, batch.body)
            if batch.content.writes and self.layers is not None:
                self.layers.apply(batch.content.writes)
        if pending:
            self._later(Subscription._echo_overdue, pending[0].published_at + ECHO_WITHIN)
        else:
            context.due.drop((self, Subscription._echo_overdue))

    # What other nodes no longer have.

    def remove_people(self, node: int) -> bool:
        """Remove a node's players but its movers of the store, which another node may take on;
        return whether there were any."""
        return self.remove_all(node, self._stored_movers())

    def _stored_movers(self) -> list[int]:
        """Return the movers of the store here, but those that another node has published since."""
        player_index = self._context.player_index
        return [
            id
            for id, player in self.replica.players.items()
            if id < FIRST_UNSTORED_ID
            and all(other.players[id].seq <= player.seq for other in player_index.of(id))
        ]

    def remove_all(self, node: int, but: Collection[int] = ()) -> bool:
        """Remove a node's players, except `but`, and its cursor; return whether there were any."""
        last_heard = self.cursors[node].last_heard if node in self.cursors else 0
        if self.cursors.pop(node, None) is not None:
            self._context.node_vanished(node, self.square)
        self.sync.close_gap(node)
        gone = self.replica.drop(node, but)
        if gone:
            self._repair_after_removal(gone, node)
        if self.replica.hosts(node):
            # If it lives, it must publish that it still has them.
            self._cursor(node, last_heard)
        return bool(gone)

    def _forgive(self, now: int) -> None:
        """Count no node as silent before FORGIVEN ms have passed."""
        for cursor in self.cursors.values():
            cursor.last_heard = max(cursor.last_heard, now - SILENT_AFTER + FORGIVEN)

    def _check_silent_nodes(self, due: int) -> None:
        """Ask the nodes that have been silent here for too long, and remove the players of those
        that were asked and did not answer."""
        context, now = self._context, self._context.loop.now()
        if now - due > STOOD_STILL or not context.peers.echoes_return:
            # Their messages may not have come, or may not have been read yet.
            self._forgive(now)
            self._later(Subscription._check_silent_nodes, now + CHECK_AGAIN)
            return
        soonest = now + SILENT_AFTER
        for node, cursor in list(self.cursors.items()):
            silent_from = cursor.last_heard + SILENT_AFTER
            if silent_from > now:
                soonest = min(soonest, silent_from)
            elif self.replica.hosts(node):
                self._ask_or_remove(node, cursor.last_heard, now)
                soonest = min(soonest, now + CHECK_AGAIN)
            else:
                self.remove_all(node)
        if self.cursors:
            self._later(Subscription._check_silent_nodes, soonest)

    def _ask_or_remove(self, node: int, last_heard: int, now: int) -> None:
        """Ask a silent node for its players, or remove them if it was asked and did not answer.

        Those of a dead or stopping node stay until Peers forgets it: it may live again.
        """
        sync, peers = self.sync, self._context.peers
        silent_from = last_heard + SILENT_AFTER
        if not peers.is_alive(node, sync.returned_at):
            return
        if sync.is_confirmed and silent_from <= sync.returned_at <= now - LOST_AFTER:
            # If anything came from it elsewhere since it was asked, it lives, and has nobody here.
            # Otherwise it may be dead: then another node will have its movers soon.
            lives = peers.peers[node].last_message >= sync.returned_at
            if lives or last_heard <= now - NODE_GONE_MS:
                removed = self.remove_all(node)
            else:
                removed = self.remove_people(node)
            self._context.loop.stats["repairs"] += removed
        elif sync.requested_at < silent_from:
            sync.request_after_gap(node)


#: All methods that may be due for a square.
_ACTS: Final = (Subscription._echo_overdue, Subscription._check_silent_nodes)
