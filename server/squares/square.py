"""A square that this node is subscribed to, with its replica, which follows what the broker brings.

The broker may lose messages. When something from another node may be missing, the square publishes
a sync request, and the other nodes answer with their full states. A batch changes the replica and
is passed on to the screens. After any other change of the replica the screens get a snapshot. A
node that is silent here is asked, and loses its players here if it does not answer. This module
never decides which nodes are alive: peers.py does.
"""

from collections.abc import Callable, Collection
from typing import Any, Final

from flatlands.server.messages import peer_protocol, protocol
from flatlands.server.messages.peer_protocol import Malformed
from flatlands.server.messages.protocol import OTHERS_FROM, Tail
from flatlands.server.net.frames import frame
from flatlands.server.squares.context import Context
from flatlands.server.squares.crowds import Crowd
from flatlands.server.squares.hub import Hub
from flatlands.server.squares.layers import Layers
from flatlands.server.squares.outbox import OwnBatch
from flatlands.server.squares.peers import GONE_AFTER, OTHER_STORE
from flatlands.server.squares.sync import DEAF_AFTER, FULL_STATE_EVERY, Sync
from flatlands.world.batches import SLOT_RESTS, Content
from flatlands.world.events import EnterEvent
from flatlands.world.grid import Square
from flatlands.world.replica import Replica
from flatlands.world.things import Thing, Things

#: A batch of this node that is not back from the broker after this many ms is applied anyway.
ECHO_WITHIN: Final = 250

#: The other nodes have this many ms to answer a sync request before screens see the square, and at
#: least half as many once it has come back. They answer all requests of one moment together, so
#: screens mostly see at once all squares that they begin to hold at once.
ANSWERED_WITHIN: Final = 60

#: A node with players in a square that says nothing there for SILENT_AFTER ms, longer than signs
#: (outbox.py) are apart, is asked for its full state. If it is still silent LOST_AFTER ms after the
#: sync request has come back, it has no players there any more: a leave was lost, or it is dead. So
#: a dead node's players are gone within five seconds, however rare heartbeats are.
SILENT_AFTER: Final = 3500
LOST_AFTER: Final = 1000

#: ms until silent nodes are looked for again, if some were asked, or if this node may not have
#: heard them.
LOOK_AGAIN: Final = 250

#: This node has stood still if it looks for silent nodes more than this many ms too late.
STOOD_STILL: Final = 500

#: If this node may not have heard the others, they have this many ms to say something before they
#: are asked: their own links may come back later.
FORGIVEN: Final = 3000


#: What a message to screens about things is about, as the hub is told. One about a layer has the
#: layer's number.
_THINGS: Final = -1


class Voice:
    """Another node, as it is heard in one square.

    Of its batches and full states here, all up to `number` have come; `last` is the number of the
    last one that came. `sure` is the time, by the node's clock, before which nothing from it is
    missing. `heard` is when it last said anything here, by this node's clock. Times are in ms.
    """

    __slots__ = ("number", "last", "sure", "heard", "_begun", "_pages", "_flush", "_since")

    def __init__(self, now: int) -> None:
        self.number = 0
        self.last = 0
        self.sure = 0
        self.heard = now
        #: The number of the full state whose pages are coming, and page -> its entries.
        self._begun = 0
        self._pages: dict[int, list[EnterEvent]] = {}
        #: The number of the hub's last flush when the node last said something, and the time, by
        #: the node's clock, of the first thing that it said since that flush.
        self._flush = self._since = 0

    def keep_apart(self, hub: Hub, square: Square, sent: int) -> None:
        """Let screens see what came from the node before what it said at the time `sent` is read,
        if that is so much later that a slot may have become another player's: this node has stood
        still, and now reads everything at once."""
        if hub.number != self._flush:
            self._flush, self._since = hub.number, sent
        if sent - self._since >= SLOT_RESTS - LOOK_AGAIN:
            hub.flush_waiting(square)

    def complete(self, number: int, sent: int) -> None:
        """Note that nothing is missing up to a number, and up to the node's time `sent`."""
        self.number = self.last = number
        self.sure = sent

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


class Shown:
    """What the screens of this node are shown of one square: its snapshot, its batches, its things.

    Batches are passed on unchanged, or in a crowd as crowds.py makes them; the rest of the node is
    told of them too. `replica`, `things` and `layers` are those of the square. Times are node time
    in ms.
    """

    def __init__(
        self,
        square: Square,
        around: Context,
        replica: Replica,
        things: Things,
        layers: Layers | None,
    ) -> None:
        #: Whether screens may see the square.
        self.ready = False
        self._square = square
        self._around = around
        self._replica = replica
        self._things = things
        self._layers = layers
        #: The frames of the square's snapshot, or None if the replica or the things have changed
        #: since they were made.
        self._snapshot: bytes | None = None
        self._crowd: Crowd | None = None

    def end(self) -> None:
        """Cancel what is due, because the node is not subscribed any more."""
        self._around.due.drop((self, Shown.get_ready))

    def get_ready_at(self, due: int) -> None:
        """Let screens see the square from the time `due` on."""
        self._around.due.put((self, Shown.get_ready), due)

    def get_ready(self, _due: int = 0) -> None:
        """Let screens see the square from now on."""
        if not self.ready:
            self.ready = True
            self.show_anew()

    def snapshot(self) -> bytes:
        """Return the WebSocket frames of the square's snapshot, of the things that lie in it, and
        of what a game has written there.

        Call it only once `ready` is set.
        """
        if self._snapshot is None:
            now = self._around.loop.now()
            players = self._replica.snapshot(now, self._around.peers.source)
            self._snapshot = frame(protocol.snapshot(self._square, now, players))
            if things := self._things.all():
                self._snapshot += frame(protocol.things(self._square, things))
        written = b"" if self._layers is None else self._layers.frames()
        return self._snapshot + written

    def show_anew(self) -> None:
        """Note that the replica has changed, and show it to screens if it is ready."""
        self._snapshot = None
        if self.ready:
            self._around.hub.show_anew(self._square)

    def tell_things(self) -> None:
        """Send what lies in the square now to its screens, with the next flush."""
        self._snapshot = None
        self._around.hub.tell(self._square, _THINGS, self._all_things)
        self._around.loop.guarded(self._around.rest.lain, self._square)

    def _all_things(self) -> bytes:
        return protocol.things(self._square, self._things.all())

    def tell(self, node: int, sent: int, content: Content, tail: Tail) -> None:
        """Tell screens and the node of a batch, which the replica has just applied."""
        if content.writes and not content.events:
            return
        around, square = self._around, self._square
        self._snapshot = None
        self._show(node, sent, content, tail)
        onlooker = around.onlooker
        if onlooker is not None and content.others:
            around.loop.guarded(onlooker.heard, square, content.others)

    def _show(self, node: int, sent: int, content: Content, tail: Tail) -> None:
        around, crowd, source = self._around, self._crowd, self._around.peers.source(node)
        if crowd is None:
            around.hub.deliver(self._square, source, sent, tail)
            if len(self._replica.players) >= around.crowd_from:
                self._crowd = Crowd(around, self._replica, self._end_crowd)
            return
        besides = crowd.besides(content)
        if besides is not None:
            around.hub.deliver(self._square, source, sent, besides)
        if not around.hub.stir(self._square, crowd):
            crowd.forget()

    def _end_crowd(self) -> None:
        self._crowd = None


class HeardSquare:
    """A square that this node is subscribed to, with its replica, which follows what the broker
    brings. Times are node time in ms; in messages they are the sending node's.
    """

    def __init__(self, square: Square, channel: str, around: Context) -> None:
        self.square = square
        self.channel = channel
        #: How many need it: all screens that hold it as one, and each of this node's players in it.
        self.needs = 0
        self.replica = Replica(square, around.span, around.departed, around.whereabouts)
        #: What lies in it.
        self.things = Things()
        #: What the game has written in it; None if the game writes nowhere.
        self.layers = Layers(square, around.ground) if around.ground.layers else None
        #: What screens see of it.
        self.shown = Shown(square, around, self.replica, self.things, self.layers)
        #: What this node asks the others about it, and what it answers them.
        self.sync = Sync(square, channel, around, self.layers)
        #: The other nodes that are heard here, by their ids. A node that has players in the replica
        #: is one of them.
        self.voices: dict[int, Voice] = {}
        self._around = around
        #: This node's batches that have not come back from the broker, the oldest first.
        self._unheard: list[OwnBatch] = []
        #: The number of this node's last message that came back.
        self._returned = 0
        #: When this node published something here that did not come back in time, if nothing has
        #: come back since; or 0.
        self._unreturned = 0
        self._enter_own()

    def end(self) -> None:
        """Cancel everything that is due, because the node is not subscribed any more."""
        for act in _ACTS:
            self._around.due.drop((self, act))
        self.shown.end()
        self.sync.end()
        self._around.unknown(self.replica.players)
        self.replica.end()
        if self.things.any:
            self._around.rest.lain(self.square)
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
        here or in another square. It may not have been believed: by this node, because it knew the
        player here, or by clients, because a client knows a player in one square only. And no
        screen may get an enter of one of them after a snapshot that does not have them.
        """
        around = self._around
        around.unknown(gone)
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
        self._around.read(self.square)

    # What is received.

    def receive(self, payload: bytes) -> None:
        """Apply a message that came on the square's channel. Raises Malformed."""
        if self._unheard and payload == self._unheard[0].payload:
            # This is the usual case of a batch of this node: it is unchanged, so it need not be
            # read.
            self._own_came(self._unheard[0].number)
            self._count_own(self._returned)
            return
        kind, *fields = peer_protocol.read(payload)
        if kind not in peer_protocol.OF_SQUARES or tuple(fields[:2]) != self.square:
            raise Malformed("a message for another square")
        column, row, node, *fields = fields
        if node in self._around.peers.incompatible:
            # It is on another database of the same Redis.
            return
        if kind == peer_protocol.SYNC_REQUEST:
            self._sync_requested(node, *fields)
        elif kind == peer_protocol.CHANGES:
            self._changed(*fields)
        elif node == self._around.node:
            # Only of a batch the number comes after another field.
            batch = kind == peer_protocol.BATCH
            number = fields[int(batch)]
            self._own_came(number)
            if batch:
                # An earlier batch was lost, or this one came too late, or twice.
                self._count_own(number)
        elif kind == peer_protocol.BATCH:
            previous, number, sent, *said = fields
            content = peer_protocol.read_content(self._around.events, *said)
            if content.writes:
                self._around.ground.check(content.writes)
                tail = protocol.tail(content)
            else:
                tail = peer_protocol.tail(payload, column, row, node, previous, number, sent)
            self._batch(node, previous, number, sent, content, tail)
        elif kind == peer_protocol.FULL_STATE:
            self._full_state(node, *fields)
        else:
            self._sign(node, *fields)

    def _batch(
        self, node: int, previous: int, number: int, sent_there: int, content: Content, tail: Tail
    ) -> None:
        around, now = self._around, self._around.loop.now()
        sent = sent_there + around.peers.offset(node, sent_there)
        voice = self._voice(node, now)
        if number <= voice.last:
            return
        voice.heard = now
        voice.keep_apart(around.hub, self.square, sent_there)
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
            gone = self.replica.drop(node, {event[1] for event in content.others})
        gone += self.replica.apply(node, sent, said, now)
        self.shown.tell(node, sent, said, tail if said is content else protocol.tail(said))
        if self.layers is not None:
            self.layers.hear(node, said.writes)
        if gone:
            self._go_without(gone, node)
        if complete:
            voice.complete(number, sent_there)
            self.sync.complete(node)
        else:
            # What a node said before it was heard here is not lost.
            around.loop.stats["gaps"] += 0 < voice.last < previous
            voice.last = number
            self.sync.ask(node)

    def _full_state(
        self,
        node: int,
        number: int,
        sent_there: int,
        page: int,
        pages: int,
        said: list[Any],
        writes: list[Any],
    ) -> None:
        entries = peer_protocol.read_entries(said, self._around.events)
        around, now = self._around, self._around.loop.now()
        around.ground.check(writes)
        sent = sent_there + around.peers.offset(node, sent_there)
        if self.layers is not None:
            self.layers.hear(node, writes)
        voice = self._voice(node, now)
        if number < voice.last:
            return
        voice.heard = now
        voice.keep_apart(around.hub, self.square, sent_there)
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
            known = 0 if voice is None else voice.last
            if voice is not None and number >= known:
                around.loop.stats["repairs"] += self._remove_all(node)
            if around.ground.layers:
                # It may have written something, too.
                whole = voice is not None and voice.number == number
                voice = self._voice(node, now)
                voice.last = max(number, known)
                if whole:
                    voice.number = number
                elif number > known:
                    self.sync.ask(node)
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
        """Return what is heard here from another node.

        Call it only for a node that Peers knows: what squares keep of a node is removed only once
        Peers finds it dead.
        """
        voice = self.voices.get(node)
        if voice is None:
            if not self.voices:
                self._later(HeardSquare._look_for_silent, now + SILENT_AFTER)
            voice = self.voices[node] = Voice(now)
            self._around.heard(node, self.square)
        return voice

    # The things that lie in it.

    def _changed(self, store: str, said: list[Any], gone: list[Any]) -> None:
        """Apply what a node, this one or another, has published about things."""
        around = self._around
        things = peer_protocol.read_things(said, around.things)
        if store != around.rest.store_identity:
            around.loop.stats["other_stores"] += 1
            around.peers.warn(OTHER_STORE)
        elif self.things.change(things, zip(gone[::2], gone[1::2], strict=True), around.loop.now()):
            self.shown.tell_things()

    def read(self, things: list[Thing], begun: int) -> None:
        """Apply what the store had in this square at a moment after the node time `begun`."""
        if self.things.replace(things, begun):
            self.shown.tell_things()

    # This node's batches: they are applied when they come back, or after a while if they do not.

    def published(self, batch: OwnBatch, taken: bool) -> None:
        """Expect a batch of this node back from the broker. If `taken` is False the broker has
        refused it, and it is applied at once."""
        self._unheard.append(batch)
        if not taken:
            self._around.loop.stats["refused_batches"] += 1
            self._count_own(batch.number)
        elif len(self._unheard) == 1:
            self._later(HeardSquare._echo_overdue, batch.published + ECHO_WITHIN)

    def echoed(self, number: int) -> bool:
        """Return whether this node's batch or full state with a number has come back from the
        broker: then nobody hears it later than what is published now."""
        return self._returned >= number

    def _echo_overdue(self, due: int) -> None:
        while self._unheard and self._unheard[0].published + ECHO_WITHIN <= due:
            self._around.loop.stats["unheard_batches"] += 1
            self.signed(due)
            self._count_own(self._unheard[0].number)

    def signed(self, now: int) -> None:
        """Note that this node has given a sign here, which is still to come back. If nothing of its
        own has come back for a while, ask whether anything comes."""
        if not self._unreturned:
            self._unreturned = now
        elif now - self._unreturned >= DEAF_AFTER and self.sync.live:
            self._unreturned = 0
            self.sync.request()

    def _own_came(self, number: int) -> None:
        self._returned, self._unreturned = max(number, self._returned), 0

    def _count_own(self, number: int) -> None:
        """Apply this node's batches up to a number, and pass them on to screens.

        Messages of one channel arrive in order. So an earlier batch that has not come back by now
        was lost, or refused.
        """
        around, now, unheard = self._around, self._around.loop.now(), self._unheard
        while unheard and unheard[0].number <= number:
            batch = unheard.pop(0)
            self.replica.apply(around.node, batch.sent, batch.content, now)
            self.shown.tell(around.node, batch.sent, batch.content, batch.tail)
            if batch.content.writes and self.layers is not None:
                self.layers.apply(batch.content.writes)
        if unheard:
            self._later(HeardSquare._echo_overdue, unheard[0].published + ECHO_WITHIN)
        else:
            around.due.drop((self, HeardSquare._echo_overdue))

    # What other nodes no longer have.

    def drop(self, node: int, *, herd: bool) -> None:
        """Remove the players of a node that is dead; computer players only with `herd`: then no
        other node will take them on."""
        self._remove_all(node, () if herd else self._herd())

    def _herd(self) -> list[int]:
        """Return the computer players here, except those that have since been heard elsewhere."""
        whereabouts = self._around.whereabouts
        return [
            id
            for id, player in self.replica.players.items()
            if id < OTHERS_FROM
            and all(other.players[id].seq <= player.seq for other in whereabouts.of(id))
        ]

    def _remove_all(self, node: int, but: Collection[int] = ()) -> bool:
        """Remove a node's players, except `but`, and forget what it said; return whether there were
        any."""
        heard = self.voices[node].heard if node in self.voices else 0
        if self.voices.pop(node, None) is not None:
            self._around.unheard(node, self.square)
        self.sync.complete(node)
        gone = self.replica.drop(node, but)
        if gone:
            self._go_without(gone, node)
        if self.replica.hosts(node):
            # If it lives, it must say that it still has them.
            self._voice(node, heard)
        return bool(gone)

    def _forgive(self, now: int) -> None:
        """Count no node as silent before FORGIVEN ms have passed."""
        for voice in self.voices.values():
            voice.heard = max(voice.heard, now - SILENT_AFTER + FORGIVEN)

    def _look_for_silent(self, due: int) -> None:
        """Ask the nodes that have been silent here for too long, and remove the players of those
        that were asked and did not answer."""
        around, now = self._around, self._around.loop.now()
        if now - due > STOOD_STILL or not around.peers.hears:
            # What they said may not have come, or may not have been read yet.
            self._forgive(now)
            self._later(HeardSquare._look_for_silent, now + LOOK_AGAIN)
            return
        soonest = now + SILENT_AFTER
        for node, voice in list(self.voices.items()):
            silent = voice.heard + SILENT_AFTER
            if silent > now:
                soonest = min(soonest, silent)
            elif not self.replica.hosts(node):
                self._remove_all(node)
            elif not around.peers.lives(node, self.sync.answered):
                # One that is dead, or stops, keeps its players here as long as Peers says. It may
                # live again.
                soonest = min(soonest, now + LOOK_AGAIN)
            elif self.sync.live and silent <= self.sync.answered <= now - LOST_AFTER:
                # If it is dead, another node will have its computer players soon. If it has said
                # anything elsewhere since it was asked, it lives, and has nobody here.
                speaks = around.peers.peers[node].said >= self.sync.answered
                keeps = not speaks and voice.heard > now - GONE_AFTER
                lost = self._remove_all(node, self._herd() if keeps else ())
                around.loop.stats["repairs"] += lost
                soonest = min(soonest, now + LOOK_AGAIN)
            else:
                if self.sync.requested < silent:
                    self.sync.ask(node)
                soonest = min(soonest, now + LOOK_AGAIN)
        if self.voices:
            self._later(HeardSquare._look_for_silent, soonest)


#: All methods that may be due for a square.
_ACTS: Final = (HeardSquare._echo_overdue, HeardSquare._look_for_silent)
