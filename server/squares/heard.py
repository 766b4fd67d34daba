"""A square that this node is subscribed to, with its replica, which follows what the broker brings.

The broker may lose messages. When something of another node may be missing, the square publishes a
sync request, and the other nodes answer with their full states. A batch changes the replica and is
passed on to the screens. After any other change of the replica the screens get a snapshot. A node
that is silent here is asked, and loses its players here if it does not answer. This module never
decides which nodes are alive: peers.py does.
"""

from collections.abc import Callable, Collection
from typing import Any, Final

from flatlands.server.messages import peer_protocol, protocol
from flatlands.server.messages.peer_protocol import Malformed
from flatlands.server.messages.protocol import OTHERS_FROM, Tail
from flatlands.server.squares.outbox import OwnBatch
from flatlands.server.squares.peers import GONE_AFTER
from flatlands.server.squares.shown import Shown
from flatlands.server.squares.surroundings import Surroundings
from flatlands.server.squares.sync import DEAF_AFTER, FULL_STATE_EVERY, Sync
from flatlands.server.squares.voices import Voice
from flatlands.world.batches import SLOT_RESTS, Content
from flatlands.world.events import EnterEvent
from flatlands.world.grid import Square
from flatlands.world.replica import Replica
from flatlands.world.things import Thing, Things

#: An own batch that has not come back from the broker after so many ms is applied all the same.
ECHO_WITHIN: Final = 250

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


class HeardSquare:
    """See the module. Times are node time in ms; in messages they are the sending node's."""

    __slots__ = (
        "square",
        "channel",
        "needs",
        "replica",
        "things",
        "shown",
        "sync",
        "voices",
        "_around",
        "_unheard",
        "_returned",
        "_missed",
        "_signed_since",
    )

    def __init__(self, square: Square, channel: str, around: Surroundings) -> None:
        self.square = square
        self.channel = channel
        #: How many need it: one for all screens that hold it, and one for each own player in it.
        self.needs = 0
        self.replica = Replica(square, around.span, around.departed, around.whereabouts)
        #: What lies in it.
        self.things = Things()
        #: What screens see of it.
        self.shown = Shown(square, around, self.replica, self.things)
        #: What this node asks the others here, and answers them.
        self.sync = Sync(square, channel, around)
        #: The other nodes that are heard here, by their ids. A node that has players in the replica
        #: is one of them.
        self.voices: dict[int, Voice] = {}
        self._around = around
        #: Own batches that have not come back from the broker, the oldest first.
        self._unheard: list[OwnBatch] = []
        #: The number of the last own message that came back.
        self._returned = 0
        #: The number of an own batch that did not come back in time, or 0. It is looked at later
        #: whether that one has come, or another one after it.
        self._missed = 0
        #: When this node gave the first sign here since one of its signs has come back, or 0.
        self._signed_since = 0
        self._enter_own()

    def end(self) -> None:
        """Cancel everything that is due, because the node is not subscribed any more."""
        for act in _ACTS:
            self._around.due.drop((self, act))
        self.shown.end()
        self.sync.end()
        self.replica.end()
        for node in self.voices:
            self._around.unheard(node, self.square)

    def _later(self, act: "Callable[[HeardSquare, int], None]", due: int) -> None:
        self._around.due.put((self, act), due)

    def _enter_own(self) -> None:
        """Apply the enters of this node's own players here to the replica."""
        around = self._around
        if self.square in around.outbox.present:
            now = around.loop.now()
            entries = map(EnterEvent._make, around.outbox.entries(self.square, now))
            self.replica.apply(around.node, now, Content(b"", list(entries)), now)

    def _go_without(self, gone: list[int], node: int) -> None:
        """Repair what may be wrong after players of a node were removed without a leave or gone.

        `gone` are their ids. Another node, or this one, may have published an enter of one of them,
        here or in another square. It may not have been believed then: by this node, because the
        player was known here, or by clients, because a client knows a player in one square only.
        Nor may a screen get an enter of one of them after a snapshot that does not have them.
        """
        around = self._around
        around.hub.flush_waiting(self.square)
        self._enter_own()
        peers = around.peers.peers
        if len(peers) > (node in peers):
            self.sync.ask_all()
        self.shown.show_anew()
        around.show_again(gone, self.square)

    # Sync requests.

    def reset(self) -> None:
        """Ask the other nodes what is here, because their messages may have been lost."""
        self._forgive(self._around.loop.now())
        self.sync.request()

    def _sync_requested(self, node: int, nonce: int) -> None:
        if not self.sync.came(node, nonce):
            return
        if not self._around.peers.peers:
            self.shown.get_ready()
        elif not self.shown.ready:
            sync = self.sync
            due = max(sync.requested + ANSWERED_WITHIN, sync.answered + ANSWERED_WITHIN // 2)
            self.shown.get_ready_at(due)
        self._around.on_live(self.square)

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
            else:
                self._signed_since = 0
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
        if old := around.report(node, self.replica, content.others, now):
            # Clients hold fewer squares, so they may not know that the player was removed since:
            # they would believe the old enter, and show a player who is not there.
            said = said._replace(others=[event for event in said.others if event not in old])
        # With 0 as `previous` the node had no player here before this batch, so players of that
        # node that are known here and not in the batch are gone.
        gone: list[int] = []
        if previous == 0:
            gone = self.replica.drop(node, {event.id for event in content.others})
        gone += self.replica.apply(node, sent, said, now)
        self.shown.tell(node, sent, said, tail if said is content else protocol.tail(said))
        if gone:
            self._go_without(gone, node)
        if complete:
            voice.complete(number, sent_there)
            self.sync.complete(node)
        else:
            voice.last = number
            around.loop.stats["gaps"] += 1
            self.sync.ask(node)

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
        around.report(node, self.replica, everything, now)
        changed, gone = self.replica.replace(node, sent, everything, now)
        voice.complete(number, sent_there)
        self.sync.complete(node)
        if gone:
            self._go_without(gone, node)
        elif changed:
            self.shown.show_anew()

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
        if voice.number or now - self.sync.requested > FULL_STATE_EVERY:
            # Otherwise its answer to this node's first sync request here is still under way.
            around.loop.stats["repairs"] += 1
        self.sync.ask(node)

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
            self._around.heard(node, self.square)
        return voice

    # The things that lie in it.

    def _changed(self, node: int, store: str, things: list[Thing], gone: list[Any]) -> None:
        """Apply what a node, this one or another, has published about things."""
        around = self._around
        if store != around.store():
            around.peers.has_other_store()
        elif self.things.change(things, zip(gone[::2], gone[1::2], strict=True), around.loop.now()):
            self.shown.tell_things()

    def read(self, things: list[Thing], begun: int) -> None:
        """Apply what the store had in this square at a moment after the node time `begun`."""
        if self.things.replace(things, begun):
            self.shown.tell_things()

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
            if not self._missed:
                self._missed = self._unheard[0].number
                self._later(HeardSquare._look_for_missed, due + DEAF_AFTER)
            self._count_own(self._unheard[0].number)

    def _look_for_missed(self, _due: int) -> None:
        """See whether anything comes here, if an own batch has not come back, nor one since."""
        missed, self._missed = self._missed, 0
        if self._returned < missed and self.sync.live:
            self.sync.request()

    def signed(self, now: int) -> None:
        """Note that this node gives a sign here; find out whether anything comes, if none of its
        signs has come back for a while."""
        if self._signed_since and now - self._signed_since >= DEAF_AFTER and self.sync.live:
            self._signed_since = 0
            self.sync.request()
        elif not self._signed_since:
            self._signed_since = now

    def _count_own(self, number: int) -> None:
        """Apply all own batches up to a number, and pass them on to screens.

        Messages of one channel arrive in order. So an earlier batch that has not come back by now
        was lost, or refused.
        """
        around, now, unheard = self._around, self._around.loop.now(), self._unheard
        while unheard and unheard[0].number <= number:
            batch = unheard.pop(0)
            self.replica.apply(around.node, batch.sent, batch.content, now)
            self.shown.tell(around.node, batch.sent, batch.content, batch.tail)
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
        """Return the computer players here, without those that have since been heard elsewhere."""
        whereabouts = self._around.whereabouts
        return [
            id
            for id, player in self.replica.players.items()
            if id < OTHERS_FROM
            and all(other.players[id].seq <= player.seq for other in whereabouts.of(id))
        ]

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
            self._around.unheard(node, self.square)
        self.sync.complete(node)

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
            elif self.sync.live and silent <= self.sync.answered <= now - LOST_AFTER:
                # If it is dead, another node will have its computer players soon. If it has said
                # anything elsewhere since it was asked, it lives, and has nobody here.
                lives = around.peers.has_said(node, self.sync.answered)
                keeps = not lives and voice.heard > now - GONE_AFTER
                self._lose(node, self._herd() if keeps else ())
                soonest = min(soonest, now + LOOK_AGAIN)
            else:
                if self.sync.requested < silent:
                    self.sync.ask(node)
                soonest = min(soonest, now + LOOK_AGAIN)
        if self.voices:
            self._later(HeardSquare._look_for_silent, soonest)


#: All methods that may be due for a square.
_ACTS: Final = (
    HeardSquare._echo_overdue,
    HeardSquare._look_for_missed,
    HeardSquare._look_for_silent,
)
