"""The sessions of a server: begins one on each connection, and looks after them until they end.

A client must send hello soon, and give a sign of life now and then. This module never decides who
may play (admission.py), nor when all clients are sent away.
"""

import time
from collections.abc import Sequence
from wsgiref.types import WSGIEnvironment

import gevent

from flatlands.server.clients.admission import Admission
from flatlands.server.clients.handlers import KINDS
from flatlands.server.clients.session import STUCK_AFTER_MS, Session
from flatlands.server.clients.tokens import Tokens
from flatlands.server.cluster.placement import Placement
from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import Refused
from flatlands.server.net.connection import Connection
from flatlands.server.node import Node
from flatlands.server.runtime import logs
from flatlands.server.runtime.limits import Limits
from flatlands.server.runtime.loop import run_in_batches

#: ms within which a new connection must send hello.
HELLO_WITHIN_MS = 5000

#: Seconds of silence after which a client is pinged.
PING_AFTER_S = 25

#: Seconds of silence after which the connection of a client that was pinged is ended.
DEAD_AFTER_S = 60

#: Seconds within which every session is checked once.
ROUND_S = 10

#: The number of turns in which that is done. To check all at once would keep the loop from
#: everything else for a tenth of a second.
ROUND_TURNS = 200

#: The reason in the close frames of a server that stops.
STOPPING = "the server restarts"

#: Close code -> the word for it in the log. With any other code the connection was lost.
_HOW = {
    1000: "goodbye",
    1002: "refused",
    1007: "refused",
    1009: "refused",
    protocol.CLOSE_TAKEN_OVER: "taken over",
}


class Sessions:
    """All sessions of this server. `closing_reason` says why all clients are sent away, once they
    are."""

    def __init__(self, node: Node, admission: Admission, tokens: Tokens, limits: Limits) -> None:
        self._node = node
        self._admission = admission
        self._tokens = tokens
        self._limits = limits
        #: All sessions, and those of them that do not play yet.
        self.all: set[Session] = set()
        self._greeting: set[Session] = set()
        #: The plans that may want a player elsewhere.
        self.placements: Sequence[Placement[int] | Placement[str]] = (node.router,)
        #: Why all clients are sent away, for operators; "" while they are not.
        self.closing_reason = ""

    def accept(self, connection: Connection, _environ: WSGIEnvironment) -> None:
        """Begin a session on a connection whose handshake is done."""
        self._node.stats["connections"] += 1
        self.begin(connection)
        if self.closing_reason:
            # Its handshake had begun before that.
            connection.close(protocol.RESTART, STOPPING)

    def begin(self, connection: Connection) -> Session:
        """Begin a session on a connection, which may have had one at another worker."""
        session = Session(
            connection, self._node, self._admission, self._tokens, self._limits, KINDS
        )
        self.all.add(session)
        self._greeting.add(session)
        limited = connection.limited
        assert limited is not None

        def evict() -> bool:
            return session.resident is None and connection.abort()

        limited.close = evict

        def ending(code: int, _reason: str) -> None:
            session.on_closing(code)
            self._log_end(session, code)

        def ended(code: int, reason: str) -> None:
            self.forget(session)
            # A client may send any code, and not every code gets a counter.
            name = code if code in protocol.CLOSE_CODES else "other"
            self._node.stats[f"closed_{name}"] += 1
            ending(code, reason)

        connection.on_closing = ending
        connection.on_close = ended
        return session

    def forget(self, session: Session) -> None:
        """Forget a session that has ended, or goes on at another worker."""
        self.all.discard(session)
        self._greeting.discard(session)

    def _log_end(self, session: Session, code: int) -> None:
        """Log, once, that a player has left, or that a client was refused before it joined."""
        if session.player is None and session.error is None:
            return
        how = _HOW.get(code, "lost")
        if session.error is not None:
            how = "kicked" if session.error == "kicked" else "refused"
        elif code == protocol.RESTART and self.closing_reason:
            how = "sent away"
        logs.log_line(
            "refused" if session.player is None else "leave",
            player=session.player,
            how=how,
            error=session.error,
            code=code,
            address=session.address,
            node=self._node.id,
        )
        session.player = session.error = None

    def close_silent_connections(self) -> None:
        """Close the connections of clients that have not said hello in time. This should be called
        once a second."""
        loop = self._node.loop
        # What clients sent while this process stood still is read only later.
        now = loop.now() - loop.recent_stall_ms()
        for session in list(self._greeting):
            if session.resident is not None:
                self._greeting.discard(session)
                if session.connection.limited is not None:
                    session.connection.limited.stay()
            elif session.owes_hello and now - session.opened_at >= HELLO_WITHIN_MS:
                # With this code the page tries again, since it may itself have stood still.
                session.refuse(Refused("hello", "no hello came in time", protocol.TRY_LATER))
                self._greeting.discard(session)

    def keep_checking(self) -> None:
        """Check one session after the other, again and again."""
        while True:
            sessions = list(self.all)
            at_once = len(sessions) // ROUND_TURNS + 1
            # An idle server sleeps for the whole round.
            pause = ROUND_S / max(-(-len(sessions) // at_once), 1)
            run_in_batches(sessions, at_once, pause, self.check)
            gevent.sleep(pause)

    def check(self, session: Session) -> None:
        """Check, in its turn, whether a client lives and where its player belongs by now."""
        if session not in self.all:
            return
        self._ping_or_abort(session)
        resident = session.resident
        if resident is not None:
            session.renew_token()
            for placement in self.placements:
                placement.relocate(resident)

    def _ping_or_abort(self, session: Session) -> None:
        """Ping a client that is silent, or end its connection if that was in vain or if it lags too
        long."""
        loop = self._node.loop
        late = loop.recent_stall_ms()
        now, heard_now = loop.now() - late, time.monotonic() - late / 1000
        connection = session.connection
        silent = heard_now - connection.last_heard
        stuck = session.lags_since is not None and now - session.lags_since > STUCK_AFTER_MS
        # On a busy node a round takes longer: no client is given up that was not pinged.
        unanswered = session.heard_at_ping_s == connection.last_heard
        if (silent > DEAD_AFTER_S and unanswered) or stuck:
            self._node.stats["given_up"] += 1
            connection.abort()
        elif silent > PING_AFTER_S:
            session.heard_at_ping_s = connection.last_heard
            connection.ping()


def send_away(session: Session) -> None:
    """Close a client's connection, after sending it a token with its place."""
    if session.resident is not None:
        session.renew_token()
    session.connection.close(protocol.RESTART, STOPPING)
