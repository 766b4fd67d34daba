"""One node: its residents, what is due for them, and what they publish.

Whatever a resident does is published on its square's channel, and known to anybody, neighbours on
this node included, only when it comes back from the broker: see server/squares/. It never touches a
socket, and never waits.
"""

import logging
import random
from typing import TYPE_CHECKING

from brokers import Broker, BrokerClosed, Message, Reset
from server.agenda import Agenda
from server.loop import Loop
from server.messages import peer_protocol
from server.messages.channels import WORLD, Channels
from server.messages.peer_protocol import Nonsense
from server.players.claims import Claims
from server.players.invitations import Invitations
from server.players.orders import Orders
from server.players.resident import Resident, incarnation_of
from server.players.spots import Place, Spots
from server.squares.hub import Hub
from server.squares.outbox import Outbox
from server.squares.peers import Peers
from server.squares.replicas import Replicas
from world.events import Corner, Event
from world.grid import Grid, Rect, Square, Viewport
from world.terrain import Terrain
from world.track import Goal, Intent, Track, leg, stand

if TYPE_CHECKING:
    from server.clients.session import Session

log = logging.getLogger("flatlands")

#: An intent is believed to be at most this many ms old.
INTENT_AGE = 200

#: A walk that goes on is renewed this many ms before its leg ends.
RENEW_BEFORE = 1000

#: A client of whom nothing was heard for so many ms is asked for a sign of life while its player
#: walks; if none comes within the latter, the walk ends. So it ends 3 s after the last sign, and
#: later only where the node itself stood still.
ASK_AFTER, ANSWER_WITHIN = 2000, 1000

#: Who lost the connection stays this long, in ms.
DIMMED_FOR = 10_000

#: Who has neither walked nor spoken before stays so long: to come and go fills no world.
GLANCED_FOR = 1000

#: Who left is remembered for this many ms, in case its token is shown again: its place in it may be
#: an older one, and a seq that went back would make the player invisible.
LEFT_FOR = 60_000


class Node:
    """See the module. All of it runs in the event loop's thread."""

    def __init__(
        self, *, grid: Grid, terrain: Terrain, broker: Broker, loop: Loop, spread: int = 0,
        world: str = WORLD,
    ) -> None:  # fmt: skip
        self.id = random.getrandbits(32)
        self.grid = grid
        self.terrain = terrain
        self.broker = broker
        self.loop = loop
        self.stats = loop.stats
        self.spots = Spots(grid, terrain, spread)
        self.hub = Hub(loop)
        self.residents: dict[int, Resident] = {}
        #: The residents of each square that has any.
        self.present: dict[Square, dict[int, Resident]] = {}
        self.channels = Channels(world, terrain.seed, grid.side)
        self.replicas = Replicas(grid, self.channels, broker, loop, self.hub, self)
        self.peers = Peers(
            self.id, self.channels, broker, loop, self._numbered, self._tell_clocks, self._tell_link
        )
        self.peers.replicas = self.replicas
        self.claims = Claims(self)
        self.orders = Orders(self)
        self.invitations = Invitations(self)
        self.outbox = Outbox(
            self.id, grid.span, self.channels, broker, loop, self.hub, self.present,
            self.replicas.published,
        )
        self._moves = Agenda(loop, self._move)
        self._partings = Agenda(loop, self._part)
        self._signs = Agenda(loop, self._look_for_signs)
        #: The last seq and place of those who left a while ago, by id.
        self.left: dict[int, tuple[int, tuple[int, int]]] = {}
        self._oblivion = Agenda(loop, lambda id, _due: self.left.pop(id, None))

    # Coming and going.

    def spot(self, near: int | Place | None = None) -> Place:
        """Return where somebody begins: beside a place, or the player `near` if it is known here,
        else where newcomers do."""
        if isinstance(near, int):
            friend = self.residents.get(near)
            near = None if friend is None else friend.track.at(self.loop.now())
        return self.spots.newcomer() if near is None else self.spots.beside(*near)

    def join(
        self,
        name: str,
        place: tuple[int, int],
        *,
        id: int | None = None,
        incarnation: int = 0,
    ) -> Resident:
        """Let a new resident begin at a position; `id` where it comes back as somebody."""
        while id is None or id in self.residents:
            id = random.getrandbits(52)
        track = stand(*place, self.loop.now())
        resident = Resident(self.id, id, incarnation, name, track, self.grid.square(*place))
        self.residents[id] = resident
        self._arrive(resident)
        self.stats["joins"] += 1
        return resident

    def leave(self, resident: Resident) -> None:
        """Let a resident leave the game."""
        del self.residents[resident.id]
        self._moves.drop(resident)
        self._partings.drop(resident)
        self._signs.drop(resident)
        self._depart(resident, None)
        self.remember(resident)
        self.stats["leaves"] += 1

    def remember(self, resident: Resident) -> None:
        """Remember for a minute where somebody was who has left, and how much was told of it."""
        now = self.loop.now()
        self.left[resident.id] = resident.seq, resident.track.at(now)
        self._oblivion.put(resident.id, now + LEFT_FOR)

    def attach(self, resident: Resident, session: "Session", view: Viewport) -> None:
        """Give a resident its session, instead of none."""
        resident.session = session
        resident.view = view
        self._partings.drop(resident)
        if resident.dimmed or resident.ack:
            resident.dimmed = False
            resident.ack = 0
            self.renew(resident)
        self.look(resident, view)

    def detach(self, resident: Resident) -> None:
        """Take a resident's session away: it holds nothing any more, and stands."""
        self._hold(resident, None)
        resident.session = resident.view = None
        self._stop(resident)

    def lose(self, resident: Resident) -> None:
        """A resident's connection is lost: it stays, dimmed, for DIMMED_FOR or GLANCED_FOR."""
        self.detach(resident)
        resident.dimmed = True
        self.renew(resident)
        stays = DIMMED_FOR if resident.acted else GLANCED_FOR
        self._partings.put(resident, self.loop.now() + stays)

    def release(self, resident: Resident) -> None:
        """Let a resident go on at another node, which tells of it from now on."""
        if resident.session is not None:
            resident.session.give_up()
        del self.residents[resident.id]
        self._moves.drop(resident)
        self._partings.drop(resident)
        self._signs.drop(resident)
        self._absent(resident)
        self.outbox.forget(resident.square)

    def tell_gone(self, resident: Resident) -> None:
        """Tell that somebody is not in its square any more."""
        resident.seq += 1
        self.outbox.batch(resident.square).gone(resident.id, resident.seq)

    def pause(self, resident: Resident) -> None:
        """A resident is to come back, here or at another node: it stands, as if in thought."""
        self.detach(resident)
        self._partings.put(resident, self.loop.now() + DIMMED_FOR)

    # What residents do.

    def act(self, resident: Resident, number: int, t: int, intent: Intent) -> None:
        """Obey an intent that is said to have begun at node time `t`."""
        now = self.loop.now()
        t = min(max(t, resident.track.start, now - INTENT_AGE), now)
        if resident.due is not None and resident.due <= t:
            self._catch_up(resident, t)
        x, y = resident.track.at(t)
        resident.ack = number
        track = leg(self.terrain, x, y, intent, t)
        self._begin(resident, track or stand(x, y, t))
        resident.intent = _wanted(intent, track)
        if t < resident.moved:
            # The track that this late intent replaces has crossed a border meanwhile.
            self._cross(resident, t)
            if resident.view is not None:
                self._hold(resident, self.grid.held(resident.held, x, y, resident.view))
        resident.moved = t
        self._plan(resident, self._catch_up(resident, now))
        if resident.session is not None and not resident.watched and resident.walks(now):
            resident.watched = True
            self._signs.put(resident, now + ASK_AFTER)

    def home(self, resident: Resident, number: int) -> None:
        """Put a resident on the plaza."""
        resident.ack = number
        resident.intent = None
        now = self.loop.now()
        self._begin(resident, stand(*self.spots.plaza(), now))
        self._cross(resident, now)
        if resident.view is not None:
            self._hold(resident, self.grid.held(None, *resident.track.at(now), resident.view))
        self._plan(resident, self._next(resident))

    def say(self, resident: Resident, text: str) -> None:
        """Let a resident say something to all who hear its square."""
        self.outbox.batch(resident.square).say(resident, text)

    def look(self, resident: Resident, view: Viewport) -> None:
        """A resident's screen has a size, or another one."""
        resident.view = view
        x, y = resident.track.at(self.loop.now())
        self._hold(resident, self.grid.held(resident.held, x, y, view))
        self._plan(resident, self._next(resident))

    def _stop(self, resident: Resident) -> None:
        now = self.loop.now()
        # What is due may be late by some ms: a border crossed must not be forgotten.
        self._catch_up(resident, now)
        resident.intent = None
        if resident.track.end > now:
            self._begin(resident, stand(*resident.track.at(now), now))
        self._plan(resident, None)

    # What is due.

    def _move(self, resident: Resident, due: int) -> None:
        self._change(resident, due)
        self._plan(resident, self._next(resident))

    def _look_for_signs(self, resident: Resident, _due: int) -> None:
        """End the walk of a client that gives no sign of life: nobody holds its keys."""
        now, session = self.loop.now(), resident.session
        asked, resident.asked = resident.asked, None
        if session is None or not resident.walks(now):
            resident.watched = False
        elif session.heard == asked:
            resident.watched = False
            self.stats["walks_ended"] += 1
            self._stop(resident)
        elif now - session.heard < ASK_AFTER:
            self._signs.put(resident, session.heard + ASK_AFTER)
        else:
            # Never ended at once: where this node stood still, the signs are still to be read.
            resident.asked = session.heard
            session.connection.ping()
            self._signs.put(resident, now + ANSWER_WITHIN)

    def _part(self, resident: Resident, _due: int) -> None:
        self.leave(resident)

    def _next(self, resident: Resident) -> int | None:
        """Return when something changes for a resident by itself, if ever."""
        track = resident.track
        due = self.grid.next_change(track, resident.square, resident.held, resident.view)
        if resident.intent is not None:
            ends = _leg_ends(track)
            if due is None or ends < due:
                due = ends
        return due

    def _plan(self, resident: Resident, due: int | None) -> None:
        """Note when something changes for a resident by itself, if ever."""
        resident.due = due
        if due is None:
            self._moves.drop(resident)
        else:
            self._moves.put(resident, due)

    def _catch_up(self, resident: Resident, t: int) -> int | None:
        """Do what is due for a resident by `t`, each at its own time; return when the next is."""
        while (due := self._next(resident)) is not None and due <= t:
            self._change(resident, due)
        return due

    def _change(self, resident: Resident, due: int) -> None:
        """Do what is due for a resident at `due`."""
        resident.moved = due
        self._cross(resident, due)
        x, y = resident.track.at(due)
        if resident.intent is not None and due >= _leg_ends(resident.track):
            following = leg(self.terrain, x, y, resident.intent, due)
            if following is not None:
                self._begin(resident, following)
            resident.intent = _wanted(resident.intent, following)
        if resident.view is not None:
            self._hold(resident, self.grid.held(resident.held, x, y, resident.view))

    def _hold(self, resident: Resident, rect: Rect | None) -> None:
        """Let a resident's session hold the squares of `rect`, instead of what it held."""
        before = resident.held
        if rect == before:
            return
        resident.held = rect
        session = resident.session
        assert session is not None
        first, last = self.hub.move(session, before, rect)
        self.replicas.hear(first)
        self.replicas.let_go(square for square in last if square not in self.present)
        if rect is not None:
            session.hold(before, rect)

    # What is published.

    def _begin(self, resident: Resident, track: Track) -> None:
        """Let a resident follow a new track, and publish it."""
        resident.track = track
        resident.seq += 1
        self.outbox.batch(resident.square).track(resident)

    def renew(self, resident: Resident) -> None:
        """Publish a resident anew, for something other than its track has changed."""
        resident.seq += 1
        self.outbox.batch(resident.square).enter(resident)

    def _cross(self, resident: Resident, t: int) -> None:
        """Bring a resident into the square it is in at `t`; through a corner, by column first."""
        column, row = self.grid.square(*resident.track.at(t))
        for to in ((column, resident.square[1]), (column, row)):
            if to != resident.square:
                self._depart(resident, to)
                resident.square = to
                self._arrive(resident)
                self.stats["crossings"] += 1

    def _arrive(self, resident: Resident) -> None:
        square = resident.square
        present = self.present.get(square)
        if present is None:
            present = self.present[square] = {}
            self.replicas.hear((square,))
        present[resident.id] = resident
        self.renew(resident)

    def _depart(self, resident: Resident, to: Square | None) -> None:
        self._absent(resident)
        resident.seq += 1
        batch = self.outbox.batch(resident.square)
        if to is None:
            batch.gone(resident.id, resident.seq)
        else:
            batch.leave(resident, to)

    def _absent(self, resident: Resident) -> None:
        square = resident.square
        present = self.present[square]
        del present[resident.id]
        if not present:
            del self.present[square]
            if not self.hub.holds(square):
                self.replicas.let_go((square,))

    # What is heard.

    def listen(self) -> None:
        """Take in what the broker brings, until it is closed. The one method that waits."""
        while True:
            try:
                item = self.broker.receive()
            except BrokerClosed:
                return
            if item is not None:
                # Without a pause after a fault, in which others would seem to be dead.
                self.loop.guarded(self.take, item)

    def take(self, item: Message | Reset) -> None:
        """Take in one thing that the broker brought."""
        if isinstance(item, Reset):
            self.replicas.reset(item)
            return
        try:
            if item.channel == self.channels.nodes:
                self._take_news(item.payload)
            else:
                self.replicas.take(item.channel, item.payload)
        except Nonsense as error:
            # Once: whoever publishes it will go on.
            if not self.stats["nonsense"]:
                log.warning("somebody else uses this broker: on %r came %s", item.channel, error)
            self.stats["nonsense"] += 1
            if item.channel == self.channels.nodes:
                self.peers.unreadable()

    def _take_news(self, payload: bytes) -> None:
        kind, *fields = peer_protocol.read(payload)
        if kind == peer_protocol.HEARTBEAT:
            self.peers.heard(*fields)
            self.orders.greet(fields[0])
        elif not self.peers.fits(fields[0]):
            # It serves another world, whatever it tells of players.
            return
        elif kind == peer_protocol.CLAIM:
            self.claims.claimed(*fields)
        elif kind == peer_protocol.GRANT:
            self.claims.granted(*fields)
        elif kind == peer_protocol.ORDER:
            self.orders.heard(*fields)
        elif kind == peer_protocol.WHERE:
            self.invitations.sought(*fields)
        elif kind == peer_protocol.HERE:
            self.invitations.found(*fields)
        elif kind == peer_protocol.HOSTED:
            self.claims.hosted(*fields)
        elif kind == peer_protocol.LEFT:
            self.claims.left(*fields)
        else:
            raise Nonsense("what belongs to a square")

    # What replicas and peers ask of their node.

    def entries(self, square: Square, corner: Corner) -> list[Event]:
        """Return this node's own residents of a square."""
        return [corner.enter(resident) for resident in self.present.get(square, {}).values()]

    def next_number(self, square: Square) -> int:
        """Return a number for something published on a square's channel."""
        return self.outbox.next_number(square)

    def offset(self, node: int, sent: int) -> int:
        """Return what to add to a node's times to make them this node's."""
        return self.peers.offset(node, sent)

    def listed(self, square: Square) -> set[int]:
        """Return the other nodes that are known to have residents in a square."""
        return self.peers.listed(square)

    def entered(self, node: int, square: Square, id: int, seq: int) -> None:
        """Another node tells of a player: if it is one of this node's, one of them lets go."""
        resident = self.residents.get(id)
        if resident is not None:
            self.claims.contest(resident, node, incarnation_of(seq))
        else:
            self.claims.told(square, id, seq)

    def lives(self, node: int) -> bool:
        """Say whether a node is there, and goes on."""
        return node == self.id or self.peers.lives(node)

    def parted(self, id: int, seq: int) -> None:
        """Another node tells that a player went from a square: here it may be in play."""
        self.claims.outlive(id, seq)

    def ignored(self, id: int, seq: int) -> None:
        """Another node tells of a player with a seq that is not believed: one as high was told of
        it by a node where it is no more."""
        self.stats["ignored_enters"] += 1
        self.claims.tell_left(id, seq)

    def _numbered(self) -> dict[Square, int]:
        return {square: self.outbox.numbers.get(square, 0) for square in self.present}

    def _tell_clocks(self) -> None:
        for resident in self.residents.values():
            if resident.session is not None:
                resident.session.tell_clocks()

    def _tell_link(self) -> None:
        if self.peers.linked:
            self.orders.tell_all()
        for resident in self.residents.values():
            if resident.session is not None:
                resident.session.tell_link()


def _wanted(intent: Intent, track: Track | None) -> Intent:
    """Return what is left of an intent at the end of the leg that it has led to."""
    if track is None:
        return None
    there = isinstance(intent, Goal) and (track.x + track.dx, track.y + track.dy) == intent
    return None if there else intent


def _leg_ends(track: Track) -> int:
    """Return when the next leg of a walk is to be planned."""
    return track.end - RENEW_BEFORE if track.renewable else track.end
