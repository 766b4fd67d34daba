"""The server's listener: accepts connections, as many as the limits allow, for handshake.py.

It never reads from a connection itself.
"""

import _socket
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from gevent.pywsgi import WSGIServer

from flatlands.server.net.connection import Connection
from flatlands.server.net.handshake import Handshake, whole_answer
from flatlands.server.net.hosts import Hosts
from flatlands.server.net.http_budget import BudgetedSocket, TimeBudget, Turn
from flatlands.server.runtime.limits import Limits
from flatlands.server.runtime.logs import LimitedLog

#: The share of each second that all of HTTP may take, handshakes included.
HTTP_SHARE = 0.3

#: The share of each second that accepting may take besides.
ACCEPT_SHARE = 0.1

#: Connections that are accepted in one turn of the loop.
ACCEPT_AT_ONCE = 10

#: Accepting that has failed is tried again after this.
ACCEPT_AGAIN_S = 0.1

#: How long other workers have to accept a connection before a full one does.
GIVE_WAY_S = 0.02

log = logging.getLogger(__name__)

Accept = Callable[[Connection, WSGIEnvironment], object]


class WebSocketServer(WSGIServer):
    """A server for WebSockets at `path`, ready for start(). `wsgi_app` gets other requests.

    `listener` is an address or a listening socket. `protocol` is the subprotocol that clients must
    offer, or None. `limits` also know the trusted proxies. `hosts` checks the headers Host and
    Origin. `share` is that of HTTP, from 0 to 1. While `full()` is true, other workers with the
    same listener accept first.

    `accept(connection, environ)` is called after the upgrade, in the request's greenlet, and may
    block. It sets the connection's callbacks. Afterwards the connection is started, unless accept
    has done so. If accept raises, that is logged, and the peer gets close code 1011. REMOTE_ADDR
    and Connection.address are those of the client behind the proxies.
    """

    max_accept = ACCEPT_AT_ONCE

    path = "/ws"
    #: The largest message that is accepted, in bytes.
    max_message = 4096
    #: The paths at which a request may have a body.
    bodies_at: Collection[str] = ()
    #: Whether a line is logged for each request.
    access_log = False

    def __init__(
        self,
        listener: socket.socket | tuple[str, int],
        wsgi_app: WSGIApplication,
        accept: Accept,
        *,
        protocol: str | None = "flatlands",
        limits: Limits | None = None,
        hosts: Hosts | None = None,
        share: float = HTTP_SHARE,
        full: Callable[[], bool] = lambda: False,
    ) -> None:
        # Without SERVER_NAME, pywsgi would look up its own name when it starts. The server could be
        # stopped during that wait.
        super().__init__(
            listener,
            wsgi_app,
            handler_class=Handshake,
            log=None,
            error_log=log,
            environ={"SERVER_NAME": "localhost"},
        )
        self.accept = accept
        self.protocol = protocol
        self.limits = limits or Limits(Counter())
        self.stats = self.limits.stats
        self.hosts = hosts or Hosts()
        self.http_budget = TimeBudget(share, self.stats)
        self.limited_log = LimitedLog(log)
        self._full, self._gave_way = full, False
        #: Returns whether clients are to connect to another server.
        self.drained: Callable[[], bool] = lambda: False
        #: Returns whether there is no room for newcomers.
        self.no_room: Callable[[], bool] = lambda: False
        self._accepting = TimeBudget(ACCEPT_SHARE, Counter())
        self.logger = log  # gevent-websocket would make one with a handler of its own

    def do_read(self) -> tuple[BudgetedSocket, object] | None:  # type: ignore[override]
        """Accept a connection if there is one, and if the limits allow it. gevent calls this.

        After None, gevent calls again in the loop's next turn, or when accepting goes on.
        """
        early = self._accepting.seconds_until_turn()
        if early > 0:
            self._pause(early)
            return None
        if self._full() and not self._gave_way:
            self._pause(GIVE_WAY_S, self._take_what_is_left)
            return None
        begun = time.perf_counter()
        try:
            accepted = super().do_read()
        except OSError as error:
            if self.is_fatal_error(error):
                # A supervisor that stops shuts its listener while workers may still accept.
                log.warning("the listener is closed, new clients cannot connect: %s", error)
                self.stop_accepting()
                return None
            # Most likely no descriptor is left, so a connection without a player is closed.
            self.stats["accept_failed"] += 1
            self.limited_log.write(logging.WARNING, f"Could not accept a connection: {error}.")
            self.limits.make_room()
            self._pause(ACCEPT_AGAIN_S)
            return None
        if accepted is None:
            return None
        sock, address = accepted
        paced = BudgetedSocket(sock.family, sock.type, sock.proto, fileno=sock.detach())
        limited = self.limits.enter(_peer(address), lambda: _hang_up(paced))
        if limited is None:
            _send_off(paced, _TOO_MANY)
            self._accepting.pay(time.perf_counter() - begun)
            return None
        paced.limited = limited
        paced.turn = Turn(self.http_budget, limited.key)
        self._accepting.pay(time.perf_counter() - begun)
        return paced, address

    def do_close(self, sock: BudgetedSocket, *args: object) -> None:  # type: ignore[override]
        """Close a connection that was not handed on. gevent calls this."""
        super().do_close(sock, *args)
        if sock.limited is not None:
            sock.limited.leave()
            sock.limited = None

    def _pause(self, seconds: float, then: Callable[[], object] | None = None) -> None:
        self.stop_accepting()
        self._timer: Any = self.loop.timer(seconds)
        self._timer.start(then or self._start_accepting_if_started)  # type: ignore[attr-defined]

    def _take_what_is_left(self) -> None:
        """Accept what no other worker has accepted meanwhile."""
        self._start_accepting_if_started()  # type: ignore[attr-defined]
        self._gave_way = True
        self._do_read()  # type: ignore[attr-defined]
        self._gave_way = False


def _peer(address: object) -> str:
    """Return the IP address of a socket's peer; the peer of a Unix socket has none."""
    return str(address[0]) if isinstance(address, tuple) else ""


def _hang_up(sock: BudgetedSocket) -> bool:
    """Close a socket at once. The greenlet that serves it notices that in a later turn."""
    os.close(sock.detach())
    return True


def _send_off(sock: BudgetedSocket, answer: bytes) -> None:
    """Send an answer without reading a request, and close. Never waits; the answer may be cut."""
    plain = _socket.socket(fileno=sock.detach())
    try:
        plain.send(answer)
    except OSError:
        pass  # it left before
    plain.close()


_TOO_MANY = whole_answer(
    "503 Service Unavailable", "Too many connections, either from your address or in total."
)[1]
