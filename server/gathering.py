"""Gathers neighbours at one worker: passes players to the worker of this machine that serves their
part of the world, and takes in those that others pass on.

The plan says which worker that is (districts.py); the supervisor sends it once a second. A client
is passed on when it says hello, before anything of its player exists, or later with its player and
all that its session knows. Socket and state travel in one datagram (websocket/passing.py), and the
worker that has sent it forgets them at once. This module never decides who may play.
"""

import logging
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import gevent
import msgpack
from gevent.event import Event

from flatlands.server.agenda import Agenda
from flatlands.server.clients.admission import Admission, Applicant, Hello
from flatlands.server.clients.session import Session
from flatlands.server.districts import PLAN, Load, Plan, line, owner, slot_name
from flatlands.server.limits import Limits
from flatlands.server.messages import protocol
from flatlands.server.node import Node
from flatlands.server.players.invitations import Met
from flatlands.server.players.resident import Resident, next_incarnation
from flatlands.server.players.spots import Place
from flatlands.server.websocket.connection import Connection
from flatlands.server.websocket.frames import close_frame
from flatlands.world.grid import Square, Viewport
from flatlands.world.track import Goal, Heading, Intent, Track

log = logging.getLogger("flatlands")

#: The kinds of the messages between workers, besides PLAN: a client that has said hello, a player
#: with its client, and a client that has said hello for which its district's worker has no room.
GREETING, PLAYER, OVERFLOW = 1, 2, 3

#: A worker bears this share of a core, or this many pairs of a player and somebody that it sees, in
#: case they all begin to walk, or this share of the players that it accepts.
CORE, PAIRS, SEATS = 0.6, 500_000, 0.9

#: The share of the CPU time of the last second in what counts: shorter bursts move nobody.
SMOOTH = 0.4

#: ms after which what was passed on is too old: its client gives up after 8 s of silence, and may
#: be elsewhere. A worker that stands still for a while takes in whom it was sent meanwhile.
TOO_OLD = 5000

#: What a client is told with the close code of a restart, when nobody takes it.
NOT_TAKEN = "the server was late; come back"

#: ms between two looks at whether the squares of a player that was taken in are known, and the most
#: ms that it waits for them.
LOOK_EVERY, SHOW_WITHIN = 20, 400

#: Seconds within which all players go where a new plan wants them, and the number of turns in which
#: they are looked at.
FOLLOWED_WITHIN, TURNS = 3.0, 60

#: ms after which what was published last of a player is back from the broker, as a rule. The player
#: is not passed on before: others would hear of its last steps here after its first ones there.
HEARD_WITHIN = 60

#: The squares beside a player. While one of them is still this worker's, the player stays: so who
#: walks to and fro on a line is not passed to and fro.
BESIDE = (0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)


class Workers(Protocol):
    """The way to the other workers, as far as this module knows it: see websocket/passing.py."""

    on_arrival: Callable[[bytes, Any], object]

    def open(self, name: str) -> None:
        """Receive what others send to a name. Raises OSError."""

    def close(self) -> None:
        """Receive nothing any more."""

    def send(self, name: str, message: bytes, sock: Any) -> bool:
        """Send a message and a socket to a name; return False if that is impossible now."""


class Server(Protocol):
    """The server, as far as this module knows it."""

    sessions: set[Session]

    def begin(self, connection: Connection) -> Session:
        """Begin a session on a connection."""

    def forget(self, session: Session) -> None:
        """Forget a session that goes on at another worker."""


class Gathering:
    """See the module. `slot` is this worker's, from 0. It implements `Passing` for admission."""

    def __init__(
        self,
        slot: int,
        passage: Workers,
        node: Node,
        admission: Admission,
        limits: Limits,
        server: Server,
    ) -> None:
        self._slot = slot
        self._passage = passage
        self._node = node
        self._loop = node.loop
        self._admission = admission
        self._limits = limits
        self._server = server
        passage.on_arrival = self._arrived
        #: The plan, the slots that take players, and how many workers there are.
        self._plan: Plan = slot
        self._takes: frozenset[int] = frozenset()
        self._workers = 1
        #: Set while some players here may not be where the plan wants them.
        self._unfollowed = Event()
        #: Those who are about to be passed on; see `_leave`.
        self._leaving = Agenda(self._loop, self._leave)
        #: The share of a core that this process has used lately; the CPU time that it had used when
        #: that was measured, and when that was.
        self._cpu = 0.0
        self._measured = time.process_time(), time.monotonic()
        self._arriving = Agenda(self._loop, self._show)

    def open(self) -> None:
        """Take in whom others pass on."""
        try:
            self._passage.open(slot_name(self._slot))
        except OSError as error:
            log.warning("no other worker can pass players to this one: %s", error)

    def close(self) -> None:
        """Take nobody in any more, and pass nobody on."""
        self._passage.close()
        self._takes = frozenset()

    # Who belongs where.

    def elsewhere(self, place: Place, id: int) -> int | None:
        """Return which other worker serves a player at a place and takes it; None if none does.

        While this worker is full, any other one may serve who begins in its district.
        """
        slot = self._elsewhere(self._node.grid.square(*place), id)
        return self._another() if slot is None and self._admission.full else slot

    def _another(self) -> int | None:
        """Return any other worker that takes players, or None."""
        others = sorted(self._takes - {self._slot})
        return random.choice(others) if others else None

    def _elsewhere(self, square: Square, id: int) -> int | None:
        slot = owner(self._plan, square, id)
        return slot if slot != self._slot and slot in self._takes else None

    def look_after(self, session: Session) -> None:
        """Pass a player on that has walked well into another worker's district."""
        resident = session.resident
        if resident is not None:
            column, row = resident.square
            if all(
                self._elsewhere((column + c, row + r), resident.id) is not None for c, r in BESIDE
            ):
                self.compare(session)

    def keep_following(self) -> None:
        """Pass on, after each change of the plan, who belongs elsewhere; never returns."""
        while True:
            self._unfollowed.wait()
            self._unfollowed.clear()
            sessions = list(self._server.sessions)
            for turn in range(TURNS):
                for session in sessions[turn::TURNS]:
                    self.compare(session)
                gevent.sleep(FOLLOWED_WITHIN / TURNS)

    def load(self) -> Load:
        """Return how busy this worker is. It should be called once a second."""
        (used, then), now = self._measured, time.monotonic()
        if now - then > 0.5:
            self._measured = time.process_time(), now
            self._cpu += ((self._measured[0] - used) / (now - then) - self._cpu) * SMOOTH
        hub = self._node.hub
        seats = hub.screens_holding / self._admission.capacity
        busy = max(self._cpu / CORE, self._pairs() / PAIRS, seats / SEATS)
        return Load(busy, self._line() if busy > 1 else None)

    def _pairs(self) -> int:
        squares = self._node.replicas.squares
        number = {square: len(heard.replica.players) for square, heard in squares.items()}
        return sum(
            screens * sum(number.get(square, 0) for square in rect.squares())
            for rect, screens in self._node.hub.groups()
        )

    def _line(self) -> Any:
        return line(
            [
                r.square
                for r in self._node.residents.by_id.values()
                if r.screen is not None and owner(self._plan, r.square, r.id) == self._slot
            ]
        )

    # Passing on.

    def pass_hello(
        self,
        applicant: Applicant,
        worker: int,
        hello: Hello,
        met: Met | None,
        place: Place,
        id: int,
        stay: Callable[[], None],
    ) -> None:
        """Pass an applicant to another worker at the end of this turn; see Passing."""
        assert isinstance(applicant, Session)

        def go() -> None:
            # What came in the same read has been read by now, and perhaps a close frame.
            early = applicant.greeting
            if not applicant.connection.open:
                return
            if early is None:
                stay()
                return
            name, view, token, near, stood = hello
            fields = name, *view, token, near, stood, met, place, id, early
            if self._send(applicant, worker, GREETING, fields):
                applicant.leave()
            else:
                stay()

        self._loop.soon(go)

    def compare(self, session: Session) -> None:
        """Pass a player on, in a moment, if it is in another worker's district."""
        resident = session.resident
        if resident is not None and self._elsewhere(resident.square, resident.id) is not None:
            outbox, square = self._node.outbox, resident.square
            outbox.publish_of(resident.id)
            candidate = session, resident.seq, outbox.numbers.get(square, 0)
            self._leaving.put(candidate, self._loop.now() + HEARD_WITHIN)

    def _leave(self, candidate: tuple[Session, int, int], _due: int) -> None:
        """Pass a player on, unless it has done something since it was compared.

        `candidate` also has the number of the last batch in its square then.
        """
        session, seq, number = candidate
        resident = session.resident
        if resident is None:
            return
        slot = self._elsewhere(resident.square, resident.id)
        if slot is not None and not (
            resident.seq == seq
            and session.settled
            and self._node.replicas.squares[resident.square].echoed(number)
            and self._pass_player(session, resident, slot)
        ):
            # It is tried again in the next round.
            self._unfollowed.set()

    def _pass_player(self, session: Session, resident: Resident, slot: int) -> bool:
        """Pass a player on to another worker; return False if that is impossible now."""
        view = resident.view
        assert view is not None
        # If the other worker dies at once, the client comes back with this token, and its player
        # must begin an incarnation above the one that began there.
        seq = next_incarnation(resident.seq)
        session.renew_token(seq)
        fields = (
            resident.id,
            seq,
            resident.ack,
            resident.name,
            resident.track.numbers(),
            _pack_intent(resident.intent),
            resident.square,
            resident.moved,
            resident.acted,
            resident.left,
            resident.look,
            *view,
            session.state(),
        )
        if not self._send(session, slot, PLAYER, fields):
            return False
        # From here on the player is the other worker's, whatever becomes of that.
        self._node.residents.release(resident)
        self._node.takeovers.release(resident)
        session.leave()
        return True

    def _send(self, session: Session, slot: int, kind: int, fields: tuple[Any, ...]) -> bool:
        """Send a client to another worker, and forget it; return False if that is impossible."""
        connection = session.connection
        if not connection.at_rest:
            return False
        message = msgpack.packb([kind, self._loop.now(), connection.address, *fields])
        if not self._passage.send(slot_name(slot), message, connection.socket):
            return False
        # It is the other worker's now, even if this one fails to let go of it.
        self._loop.guarded(connection.release)
        self._server.forget(session)
        self._node.stats["passed_on"] += 1
        return True

    # Taking in.

    def _arrived(self, message: bytes, sock: Any) -> None:
        kind, *fields = msgpack.unpackb(message)
        if kind == PLAN:
            plan, takes, self._workers = fields
            if (plan, frozenset(takes)) != (self._plan, self._takes):
                self._plan, self._takes = plan, frozenset(takes)
                self._unfollowed.set()
        elif sock is not None and not self._pass_over(kind, sock, fields):
            self._take(kind, sock, *fields)

    def _pass_over(self, kind: int, sock: Any, fields: list[Any]) -> bool:
        """Pass a newcomer to some other worker, because this one has become full since the plan was
        made; return False if there is room, or if that is impossible."""
        slot = self._another()
        if kind != GREETING or not self._admission.full or slot is None:
            return False
        if not self._passage.send(slot_name(slot), msgpack.packb([OVERFLOW, *fields]), sock):
            return False
        sock.close()
        self._node.stats["passed_over"] += 1
        return True

    def _take(self, kind: int, sock: Any, sent: int, address: str, *fields: Any) -> None:
        """Take in a client that another worker has sent at the node time `sent`."""
        guest = None
        if self._loop.now() - sent <= TOO_OLD:
            guest = self._limits.enter(address, lambda: False, self._workers)
        if guest is None:
            # The client comes back by itself, and its player goes on from its token.
            self._node.stats["not_taken"] += 1
            with suppress(OSError):
                sock.send(close_frame(protocol.RESTART, NOT_TAKEN))
            sock.close()
            return
        connection = Connection(sock, protocol.MESSAGE_LIMIT, b"", address, guest)
        try:
            session = self._server.begin(connection)
            (self._go_on if kind == PLAYER else self._greet)(session, *fields)
        except Exception:
            # Whatever this process does not understand, the client does not suffer for long.
            connection.abort()
            raise
        connection.start()
        self._node.stats["taken_in"] += 1

    def _greet(
        self,
        session: Session,
        name: str,
        half_width: int,
        half_height: int,
        token: str | None,
        near: int | str | None,
        stood: list[int] | None,
        met: list[Any] | None,
        place: list[int],
        id: int,
        early: list[list[Any]],
    ) -> None:
        stands = None if stood is None else (stood[0], stood[1])
        hello = Hello(name, Viewport(half_width, half_height), token, near, stands)
        x, y = place
        said = [(kind, fields) for kind, fields in early]
        session.greet(hello, _unpack_met(met), (x, y), id, said)

    def _go_on(
        self,
        session: Session,
        id: int,
        seq: int,
        ack: int,
        name: str,
        track: list[int],
        intent: list[int] | None,
        square: list[int],
        moved: int,
        acted: bool,
        left: list[int] | None,
        look: int,
        half_width: int,
        half_height: int,
        state: list[Any],
    ) -> None:
        node = self._node
        if node.takeovers.waits(id):
            # Its client has come here on another connection meanwhile, which is the newer one.
            x, y = Track(*track).at(self._loop.now())
            node.takeovers.handed_over(node.id, id, node.id, name, seq, x, y)
        if id in node.residents.by_id:
            session.connection.abort()
            return
        column, row = square
        resident = Resident(node.id, id, seq, name, Track(*track), (column, row))
        resident.ack, resident.acted, resident.moved = ack, acted, moved
        resident.look = look
        resident.intent = _unpack_intent(intent)
        resident.left = None if left is None else (left[0], left[1])
        node.residents.take_in(resident)
        session.go_on(resident, Viewport(half_width, half_height), state)
        self._arriving.put(session, self._loop.now())

    def _show(self, session: Session, _due: int) -> None:
        """Show a player its squares as soon as all of them are known here."""
        resident = session.resident
        if resident is None or resident.held is None:
            return
        now, squares = self._loop.now(), self._node.replicas.squares
        ready = all(squares[square].shown.ready for square in resident.held.squares())
        if ready or now - session.opened > SHOW_WITHIN:
            session.arrive()
        else:
            self._arriving.put(session, now + LOOK_EVERY)


def _unpack_met(packed: list[Any] | None) -> Met | None:
    if packed is None:
        return None
    name, (x, y), way = packed
    return Met(name, (x, y), None if way is None else (way[0], way[1]))


def _pack_intent(intent: Intent) -> list[int] | None:
    if intent is None:
        return None
    return [int(isinstance(intent, Goal)), intent.x, intent.y]


def _unpack_intent(packed: list[int] | None) -> Intent:
    if packed is None:
        return None
    is_goal, x, y = packed
    return Goal(x, y) if is_goal else Heading(x, y)
