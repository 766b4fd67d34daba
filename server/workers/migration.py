"""Passes players to the worker of this machine that serves their part of the world, so that
neighbours are together, and takes in those that other workers send.

The plan says which worker that is (placement.py); the supervisor sends it once a second, and when a
worker becomes full or has room again. A client is passed on when it says hello, before anything of
its player exists, or later, as a takeover in which the connection moves too: the worker that has
the player gives it up (players/takeovers.py), and the other one goes on with all that there was of
it (clients/session_transfer.py). Socket and state are one datagram (net/socket_passing.py), and the
sender forgets them at once.
"""

import _socket
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from flatlands.server.clients.admission import Hello, Request, Spawn
from flatlands.server.clients.joining import join
from flatlands.server.clients.session import Session
from flatlands.server.clients.session_transfer import PendingHello, SessionState, pack, unpack
from flatlands.server.clients.sessions import Sessions
from flatlands.server.cluster.districts import WorkerLoad, read_plan, shard_name
from flatlands.server.cluster.placement import Placement
from flatlands.server.messages import protocol
from flatlands.server.net.connection import Connection
from flatlands.server.net.frames import close_frame
from flatlands.server.net.socket_passing import Passage
from flatlands.server.node import Node
from flatlands.server.players.recording import aged
from flatlands.server.players.resident import Resident, next_incarnation
from flatlands.server.players.takeovers import TakeoverAnswer
from flatlands.server.runtime.limits import Limits
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.workers.load_meter import LoadMeter

log = logging.getLogger("flatlands")

#: A client that was passed on comes too late after this: it gives up after 8 s of silence, and may
#: be elsewhere. A worker that stood still takes in those that it was sent meanwhile.
TOO_OLD_MS = 5000

#: The reason in the close frame of a client, with the code of a restart, if no worker takes it in.
NOT_TAKEN = "the server was too slow; reconnect"

#: Time between two looks at whether the squares of a player that was taken in were received.
ARRIVING_LOOK_MS = 20

#: How long at most the player waits for its squares.
SHOW_WITHIN_MS = 400

#: All players are passed within this time to where a new plan wants them.
PASSED_WITHIN_MS = 3000

#: The last messages about a player are back from the broker after this, as a rule. The player is
#: not passed on before, or others would receive its last steps here after its first ones there.
HEARD_WITHIN_MS = 60


class Migration(Placement[int]):
    """This worker's part in the migration of players: passes them on, and takes in those of others.

    `shard` is this worker's, from 0. It implements OtherWorkers for the admission. `load_meter`
    says how busy this worker is. `connect` makes a connection of a socket that has come.
    """

    def __init__(
        self,
        shard: int,
        passage: Passage | Any,
        node: Node,
        load_meter: LoadMeter,
        limits: Limits,
        sessions: Sessions,
        connect: Callable[..., Connection] = Connection,
    ) -> None:
        super().__init__(shard, PASSED_WITHIN_MS, node.residents, node.loop)
        self._name = shard_name(shard)
        self._passage = passage
        self._node = node
        self._load_meter = load_meter
        self._limits = limits
        self._sessions = sessions
        self._connect = connect
        #: How many workers there are.
        self._workers = 1
        #: Those that are about to be passed on; see `_leave`.
        self._leaving = TimerQueue(self._loop, self._leave)
        self._arriving = TimerQueue(self._loop, self._show)

    def open(self) -> None:
        """Take in those that others pass on."""
        try:
            self._passage.open(self._name, self._arrived)
        except OSError as error:
            log.warning("other workers cannot pass players to this one: %s", error)

    def close(self) -> None:
        """Take nobody in any more, and pass nobody on."""
        self._passage.close()
        self.takes = frozenset()

    def load(self) -> WorkerLoad:
        """Return how busy this worker is."""
        return WorkerLoad(self._load_meter.busy, self._load_meter.line(self.belongs))

    # Passing on.

    def pass_hello(
        self,
        request: Request,
        worker: int,
        hello: Hello,
        spawn: Spawn,
    ) -> bool:
        """Pass a client to another worker, unless something else of it is under way here; see
        OtherWorkers."""
        session = request.client
        assert isinstance(session, Session)
        what = PendingHello(hello, spawn._replace(hops=spawn.hops + 1), request.early)
        busy = request.close_code is not None or self._node.views.shows(session)
        if busy or not self._send(session, worker, what):
            return False
        session.request = None
        self._node.stats["passed_over"] += spawn.hops
        return True

    def move(self, resident: Resident, to: int) -> None:
        """Pass a player on, a moment later; see Placement."""
        outbox, session = self._node.outbox, resident.session
        outbox.publish_of(resident.id)
        candidate = session, resident.seq, outbox.numbers.get(resident.square, 0)
        self._leaving.put(candidate, self._loop.now() + HEARD_WITHIN_MS)

    def _leave(self, candidate: tuple[Session, int, int], _due: int) -> None:
        """Pass a player on, unless it has done something since `move`.

        `candidate` also has the number of the last batch in its square at that time.
        """
        session, seq, number = candidate
        resident = session.resident
        if resident is None:
            return
        shard = self.elsewhere(resident.square, resident.id)
        if shard is None:
            return
        is_back = self._node.subscriptions.by_square[resident.square].has_returned(number)
        state = session.transferable_state()
        if resident.seq == seq and is_back and state is not None:
            # If the other worker dies at once, the client comes back with this token, and its
            # player must begin an incarnation above the one that began there.
            begins = next_incarnation(seq)
            session.renew_token(begins)
            state = state._replace(player=state.player._replace(seq=begins))
            if self._send(session, shard, state):
                # From here on the player is the other worker's, whatever becomes of that.
                session.release_to_worker()
                self._node.takeovers.hand_over(resident)
                return
        self.try_again(resident)

    def _send(self, session: Session, shard: int, what: PendingHello | SessionState) -> bool:
        """Send a client to another worker, and forget it; return False if that is impossible."""
        connection = session.connection
        if not connection.at_rest:
            return False
        message = pack((connection.address, self._loop.now(), what))
        if not self._passage.send(shard_name(shard), message, connection.socket):
            return False
        # It is the other worker's now, even if this one fails to release it.
        self._loop.guarded(connection.release)
        self._sessions.forget(session)
        self._node.stats["passed_on"] += 1
        return True

    # Taking in.

    def _arrived(self, message: bytes, sock: _socket.socket | None) -> None:
        """Take what has come: a plan, or the socket of a client."""
        if sock is not None:
            self._take(sock, *unpack(message))
            return
        plan, takes, self._workers, self.full = read_plan(message)
        self.learn(plan, takes)

    def _take(
        self, sock: _socket.socket, address: str, sent: int, what: PendingHello | SessionState
    ) -> None:
        """Take in a client that another worker has sent at the node time `sent`."""
        limited = None
        if self._loop.now() - sent <= TOO_OLD_MS:
            limited = self._limits.enter(address, lambda: False, self._workers)
        if limited is None:
            # The client comes back by itself, and its player goes on from its token.
            self._node.stats["not_taken"] += 1
            with suppress(OSError):
                sock.send(close_frame(protocol.RESTART, NOT_TAKEN))
            sock.close()
            return
        connection = self._connect(sock, protocol.MESSAGE_LIMIT, b"", address, limited)
        try:
            session = self._sessions.begin(connection)
            connection.start()
            self._node.stats["taken_in"] += 1
            if isinstance(what, PendingHello):
                join(session, *what)
            else:
                self._go_on(session, what)
        except Exception:
            # The client must not suffer for long from what this process does not understand.
            connection.abort()
            raise

    def _go_on(self, session: Session, state: SessionState) -> None:
        node, player = self._node, state.player
        # Meanwhile its client may have come here on another connection, which is the newer one.
        now = self._loop.now()
        recorded = aged(player.recorded, player.track, now)
        taken_over = TakeoverAnswer.of_resident(player, now)._replace(recorded=recorded)
        node.takeovers.settle(player.id, taken_over)
        if player.id in node.residents.by_id:
            session.connection.abort()
            return
        session.resume(state)
        try:
            # This worker may have read a moderation action that the sending worker had not.
            node.moderation.link_owner(player.id, player.owner)
            node.moderation.check_access(player.id, session.address, player.owner)
        except protocol.Refused as refused:
            session.refuse(refused)
            return
        self._arriving.put(session, self._loop.now())

    def _show(self, session: Session, _due: int) -> None:
        """Show a player its squares as soon as all of them were received here."""
        resident = session.resident
        if resident is None or resident.held is None:
            return
        now, squares = self._loop.now(), self._node.subscriptions.by_square
        ready = all(squares[square].view.ready for square in resident.held.squares())
        if ready or now - session.opened_at > SHOW_WITHIN_MS:
            session.show_squares()
        else:
            self._arriving.put(session, now + ARRIVING_LOOK_MS)
