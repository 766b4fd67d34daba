"""HTTP in front of the WebSockets: a strict RFC 6455 upgrade, everything else to the WSGI app.

gevent-websocket takes the request and runs the upgrade; its WebSocket class is never used, because
it sends no close codes, locks no sends and bounds no sizes. The socket goes to a Connection.

Strangers send what they like, as fast as they can. So no request has a body, a connection has few
requests, everything here runs in turns (pace.py), an address is limited (server/limits.py), and
what is wrong with a request is one line in the log, or none.
"""

import _socket
import base64
import hashlib
import logging
import os
import time
from collections import Counter
from collections.abc import Callable
from socket import IPPROTO_TCP, SO_SNDBUF, SOL_SOCKET, TCP_NODELAY
from typing import Any

from gevent import Timeout
from gevent.pywsgi import WSGIServer
from geventwebsocket.handler import WebSocketHandler

from server.limits import HANDSHAKES, REQUESTS, Guest, Limits
from server.logs import LimitedLog, log_line
from server.websocket import frames
from server.websocket.connection import Connection
from server.websocket.hosts import Hosts
from server.websocket.pace import TURN, Pace, PacedSocket, Turn

HEAD_TIMEOUT = 10.0  # seconds for a request line and its headers, or between two requests
ANSWER_TIMEOUT = 60.0  # seconds for the rest of an ordinary request: the whole answer
HEAD_LIMIT = 16 * 1024  # bytes of a request's headers: to parse them takes time
REQUESTS_EACH = 100  # requests of one connection: the last answer ends it

#: The share of each second that all of HTTP may take, handshakes too, and accepting by itself.
HTTP_SHARE, ACCEPT_SHARE = 0.3, 0.1

#: Connections accepted in one turn of the loop, and seconds to wait after accepting has failed.
ACCEPT_AT_ONCE, ACCEPT_AGAIN = 10, 0.1

# Bytes that a connection may keep in the kernel unsent. The default grows to 4 MB, which a slow
# client would see as seconds of stale world before we noticed that it is slow. Linux doubles the
# number, for its own bookkeeping: about this much payload fits.
SEND_BUFFER = 128 * 1024

log = logging.getLogger(__name__)

Accept = Callable[[Connection, dict[str, Any]], object]


class WebSocketServer(WSGIServer):
    """A pywsgi server that hands WebSockets on. Make one with websocket_server()."""

    max_accept = ACCEPT_AT_ONCE

    def __init__(
        self,
        listener: Any,
        wsgi_app: Callable[..., Any],
        accept: Accept,
        path: str,
        protocol: str | None,
        max_message: int,
        access_log: bool,
        limits: Limits,
        hosts: Hosts,
        share: float,
    ) -> None:
        # With a name of its own pywsgi asks no name server for one when it starts, in which time a
        # server that stops again would close it.
        super().__init__(
            listener, wsgi_app, handler_class=Handshake, log=None, error_log=log,
            environ={"SERVER_NAME": "localhost"},
        )  # fmt: skip
        self.access_log = access_log
        self.accept = accept
        self.path = path
        self.protocol = protocol
        self.max_message = max_message
        self.limits = limits
        self.stats = limits.stats
        self.hosts = hosts
        self.pace = Pace(share, self.stats)
        self.limited_log = LimitedLog(log)
        self._accepting = Pace(ACCEPT_SHARE, Counter())
        self.logger = log  # gevent-websocket would make one with a handler of its own

    def do_read(self) -> tuple[PacedSocket, Any] | None:  # type: ignore[override]
        """Accept one connection, if there is one and it may stay; called by gevent.

        None lets gevent come again with the loop's next turn, or when accepting goes on.
        """
        early = self._accepting.early()
        if early > 0:
            self._pause(early)
            return None
        begun = time.perf_counter()
        try:
            accepted = super().do_read()
        except OSError as error:
            if self.is_fatal_error(error):
                # The supervisor shuts its listener when it stops, and a worker may still accept.
                log.warning("nobody can connect here any more: %s", error)
                self.stop_accepting()
                return None
            # Most likely there are no descriptors left: somebody who plays nothing goes.
            self.stats["accept_failed"] += 1
            self.limited_log.write(logging.WARNING, f"A connection could not be accepted: {error}.")
            self.limits.make_room()
            self._pause(ACCEPT_AGAIN)
            return None
        if accepted is None:
            return None
        sock, address = accepted
        paced = PacedSocket(sock.family, sock.type, sock.proto, fileno=sock.detach())
        guest = self.limits.enter(_peer(address), lambda: _hang_up(paced))
        if guest is None:
            _send_off(paced, _TOO_MANY)
            self._accepting.pay(time.perf_counter() - begun)
            return None
        paced.guest = guest
        paced.turn = Turn(self.pace, guest.key)
        self._accepting.pay(time.perf_counter() - begun)
        return paced, address

    def do_close(self, sock: PacedSocket, *args: Any) -> None:  # type: ignore[override]
        """A connection that has not been handed on has ended; called by gevent."""
        super().do_close(sock, *args)
        if sock.guest is not None:
            sock.guest.leave()
            sock.guest = None

    def _pause(self, seconds: float) -> None:
        self.stop_accepting()
        self._timer: Any = self.loop.timer(seconds)
        self._timer.start(self._start_accepting_if_started)  # type: ignore[call-arg, attr-defined]


def websocket_server(
    listener: Any,
    wsgi_app: Callable[..., Any],
    accept: Accept,
    *,
    path: str = "/ws",
    protocol: str | None = "flatlands",
    max_message: int = 4096,
    access_log: bool = False,
    limits: Limits | None = None,
    hosts: Hosts | None = None,
    share: float = HTTP_SHARE,
) -> WebSocketServer:
    """A server, ready for start(), that speaks WebSocket at `path` and passes the rest to wsgi_app.

    listener is an address or a listening socket. protocol is the subprotocol that clients must
    offer; None demands none. max_message is in bytes. access_log writes a line for each
    request. limits are those of addresses, and know the proxies whose
    X-Forwarded-For is believed; hosts says which Host and Origin are right; share is that of HTTP.

    accept(connection, environ) is called after the upgrade, in the request's greenlet: it may
    block. It sets the connection's callbacks; afterwards the connection is started, unless accept
    has done so. If it raises, that is logged and the peer gets close code 1011. REMOTE_ADDR and
    Connection.address are those of the client behind the proxies.
    """
    return WebSocketServer(
        listener, wsgi_app, accept, path, protocol, max_message, access_log,
        limits or Limits(Counter()), hosts or Hosts(), share,
    )  # fmt: skip


class _Refusal(ValueError):
    """A request is answered before it is understood: status and sentence."""

    def __init__(self, status: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class _Head:
    """The lines of a request's headers, of which there may be HEAD_LIMIT bytes."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._left = HEAD_LIMIT

    def readline(self, limit: int) -> bytes:
        line: bytes = self._file.readline(min(limit, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise _Refusal(
                "431 Request Header Fields Too Large",
                f"The headers of a request may have at most {HEAD_LIMIT} bytes.",
            )
        return line


class Handshake(WebSocketHandler):  # type: ignore[misc]
    """The requests of one TCP connection, until one of them upgrades it."""

    socket: Any
    requests = 0

    def handle(self) -> None:
        turn = self.socket.turn
        try:
            turn.begin()
            super().handle()
        except OSError:
            pass  # the peer left before it had our answer: no news
        finally:
            turn.end()

    def handle_one_request(self) -> Any:
        """As in pywsgi, but the head must come within HEAD_TIMEOUT, all else in ANSWER_TIMEOUT."""
        self.requestline = ""
        self.requests += 1
        if self.server.pace.crowded:
            self.server.stats["http_crowded"] += 1
            return _whole_answer(
                "503 Service Unavailable", "Too many requests are waiting: try again in a moment."
            )
        self.deadline = Timeout.start_new(HEAD_TIMEOUT)
        try:
            # The next request may be here already: everybody else comes first.
            self.socket.turn.rest()
            return super().handle_one_request()
        except Timeout as timeout:
            if timeout is not self.deadline:
                raise
            # Without a request line the client may just have kept the connection for later.
            if not self.requestline:
                return None
            return _whole_answer("408 Request Timeout", "The request took too long to arrive.")
        finally:
            self.deadline.close()

    def MessageClass(self, file: Any, *arguments: Any) -> Any:
        # pywsgi's name for what parses the headers.
        return super().MessageClass(_Head(file), *arguments)

    def read_request(self, line: str) -> bool:
        """Parse the head. Nothing here takes a body, and none is read: it could be endless."""
        understood: bool = super().read_request(line)
        if self.content_length or self.headers.get("transfer-encoding") is not None:
            raise _Refusal("413 Content Too Large", "No request has a body here.")
        return understood

    def get_environ(self) -> dict[str, Any]:
        # pywsgi calls this once the head has been read, before the application runs.
        self.deadline.close()
        self.deadline = Timeout.start_new(ANSWER_TIMEOUT)
        environ: dict[str, Any] = super().get_environ()
        environ["REMOTE_ADDR"] = self.server.limits.proxies.client(
            environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR", "")
        )
        environ[TURN] = turn = self.socket.turn
        # Behind a proxy it is known from here on.
        turn.key = self.server.limits.key(environ["REMOTE_ADDR"])
        return environ

    def start_response(self, status: str, headers: Any, exc_info: Any = None) -> Any:
        told = any(name.lower() == "connection" for name, _ in headers)
        if self.requests >= REQUESTS_EACH and not told:
            headers = [*headers, ("Connection", "close")]
        return super().start_response(status, headers, exc_info)

    def _prepare_response(self) -> None:
        # gevent-websocket's own is for its WebSocket, and fails for what comes after an answer.
        pass

    def upgrade_websocket(self) -> list[bytes] | None:
        """Judge the request, RFC 6455 section 4.2.

        Called by gevent-websocket, which then looks at what has been set: `websocket` after an
        upgrade, the status and this body after a refusal, neither for an ordinary request.
        """
        environ = self.environ
        limits, address = self.server.limits, environ["REMOTE_ADDR"]
        if not limits.allow_address(REQUESTS, address):
            return self.refuse(
                "429 Too Many Requests",
                "Your address asks for too much: try again in some seconds.",
                ("Retry-After", "10"),
            )
        misses = self.server.hosts.misses_host(environ.get("HTTP_HOST", ""))
        if misses is not None:
            self.server.stats["refused_hosts"] += 1
            return self.refuse("403 Forbidden", misses)
        wants = _tokens(environ.get("HTTP_UPGRADE", "").lower())
        if environ["PATH_INFO"] != self.server.path:
            if "websocket" in wants:
                return self.refuse("404 Not Found", f"WebSocket is spoken at {self.server.path}.")
            return None
        if self.command != "GET":
            return self.refuse("405 Method Not Allowed", "Use GET here.", ("Allow", "GET"))
        if self.request_version != "HTTP/1.1":
            return self.refuse("400 Bad Request", "A WebSocket handshake needs HTTP/1.1.")
        if "websocket" not in wants:
            return self.refuse(
                "426 Upgrade Required",
                "Only WebSocket is spoken here: the header Upgrade: websocket is missing.",
                ("Upgrade", "websocket"),
            )
        if "upgrade" not in _tokens(environ.get("HTTP_CONNECTION", "").lower()):
            return self.refuse("400 Bad Request", "The header Connection: Upgrade is missing.")
        if not environ.get("HTTP_HOST"):
            return self.refuse("400 Bad Request", "The Host header is missing.")
        misses = self.server.hosts.misses_origin(
            environ.get("HTTP_ORIGIN", ""), environ["HTTP_HOST"]
        )
        if misses is not None:
            self.server.stats["refused_origins"] += 1
            return self.refuse("403 Forbidden", misses)
        if environ.get("HTTP_SEC_WEBSOCKET_VERSION") != "13":
            return self.refuse(
                "426 Upgrade Required",
                "Only version 13 of the WebSocket protocol is spoken here.",
                ("Sec-WebSocket-Version", "13"),
            )
        key = environ.get("HTTP_SEC_WEBSOCKET_KEY", "")
        if not _is_key(key):
            return self.refuse("400 Bad Request", "Sec-WebSocket-Key must be 16 bytes in base64.")
        protocol = self.server.protocol
        if protocol and protocol not in _tokens(environ.get("HTTP_SEC_WEBSOCKET_PROTOCOL", "")):
            return self.refuse(
                "400 Bad Request", f"Sec-WebSocket-Protocol must offer the protocol {protocol}."
            )
        guest = self.socket.guest
        if not limits.allow_address(HANDSHAKES, address) or not guest.settle(address):
            return self.refuse(
                "429 Too Many Requests",
                "Your address connects too often: try again in some seconds.",
                ("Retry-After", "10"),
            )

        digest = hashlib.sha1((key + self.GUID).encode(), usedforsecurity=False).digest()
        headers = [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", base64.b64encode(digest).decode()),
        ]
        if protocol:
            headers.append(("Sec-WebSocket-Protocol", protocol))
        self.start_response("101 Switching Protocols", headers)
        self.close_connection = True  # as far as HTTP is concerned
        self.websocket = None  # there will be one: gevent-websocket asks only whether this is set
        return None

    def refuse(self, status: str, sentence: str, *headers: tuple[str, str]) -> list[bytes]:
        """Start a plain-text answer that ends the connection, and return its body."""
        log_line(
            "refused", how="http", error=sentence, code=int(status[:3]), address=self._address()
        )
        body = f"{sentence}\n".encode()
        self.start_response(status, [*headers, *_plain_headers(body)])
        return [] if self.command == "HEAD" else [body]

    def run_websocket(self) -> None:
        """Hand the socket on. Called by gevent-websocket when the 101 has been written.

        The handler gives up the descriptor, so that its greenlet, buffers and headers are freed
        while the connection lives: an idle one then costs 1 KB of memory instead of 19.
        """
        self.deadline.close()
        sock = self.socket
        guest: Guest = sock.guest
        # What came in one segment with the request is in the reader's buffer already. If that is
        # empty peek() asks the socket, which must not block then.
        sock.settimeout(0)
        try:
            early = self.rfile.peek()
            sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            sock.setsockopt(SOL_SOCKET, SO_SNDBUF, SEND_BUFFER)
        except OSError:
            return  # the peer has gone: pywsgi closes
        self.socket = None  # pywsgi's loop ends here and has nothing to close
        sock.guest = None  # nor has gevent
        # The plain type, in a monkey-patched process too: gevent's own keeps two watchers for each.
        plain = _socket.socket(fileno=sock.detach())
        connection = Connection(
            plain, self.server.max_message, bytes(early), self.environ["REMOTE_ADDR"], guest
        )
        guest.close = connection.abort
        self.rfile.close()
        self.environ.pop("wsgi.input", None)
        try:
            self.server.accept(connection, self.environ)
        except Exception:
            log.exception("A WebSocket could not be accepted.")
            connection.close(frames.INTERNAL_ERROR, "The server failed while accepting you.")
        except BaseException:  # the greenlet is being killed
            connection.abort()
            raise
        connection.start()

    def log_request(self) -> None:
        if self.server.access_log:
            log_line(
                "request", request=self.requestline, status=int((self.status or "0").split()[0]),
                ms=round((self.time_finish - self.time_start) * 1000, 1), address=self._address(),
            )  # fmt: skip

    def _address(self) -> str:
        # A request that was not understood has no environ.
        environ = getattr(self, "environ", None) or {}
        return environ.get("REMOTE_ADDR") or str(self.client_address[0])

    def handle_error(self, t: Any, v: Any, tb: Any) -> None:
        """What is the client's doing, or the network's, is a line, and no traceback."""
        if v is self.deadline:
            self.close_connection = True
            self.log_error("An answer took longer than %s s: %r.", ANSWER_TIMEOUT, self.requestline)
        elif isinstance(v, OSError):
            self.close_connection = True
            self.log_error("A connection failed while it was answered: %s.", v)
        else:
            super().handle_error(t, v, tb)

    def log_error(self, msg: str, *args: object) -> None:
        # Only what clients do wrong comes this way, and strangers do it all day.
        self.server.stats["bad_requests"] += 1
        self.server.limited_log.write(logging.INFO, msg % args if args else msg)

    def _handle_client_error(self, ex: Exception) -> tuple[str, bytes] | None:
        """pywsgi's hook for a request that it cannot parse; its own prints some as tracebacks."""
        if isinstance(ex, OSError):
            return None
        self.log_error("A request from %s could not be understood: %r.", self.client_address, ex)
        if isinstance(ex, _Refusal):
            return _whole_answer(ex.status, ex.sentence)
        return _whole_answer("400 Bad Request", "The request could not be understood.")


def _peer(address: Any) -> str:
    """Return the IP address of a socket's peer; a Unix socket's has none."""
    return str(address[0]) if isinstance(address, tuple) else ""


def _hang_up(sock: PacedSocket) -> bool:
    """Close a socket at once; the greenlet that serves it finds out in a later turn."""
    os.close(sock.detach())
    return True


def _send_off(sock: PacedSocket, answer: bytes) -> None:
    """Answer without having asked, and close. Never waits: what does not fit is not sent."""
    plain = _socket.socket(fileno=sock.detach())
    try:
        plain.send(answer)
    except OSError:
        pass  # it left before
    plain.close()


def _tokens(value: str) -> list[str]:
    """The members of a comma-separated header value."""
    return [token.strip() for token in value.split(",")]


def _is_key(value: str) -> bool:
    try:
        return len(base64.b64decode(value, validate=True)) == 16
    except ValueError:
        return False


def _plain_headers(body: bytes) -> list[tuple[str, str]]:
    return [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]


def _whole_answer(status: str, sentence: str) -> tuple[str, bytes]:
    """An answer for requests that never became an environ, in the form pywsgi's loop takes."""
    body = f"{sentence}\n".encode()
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in _plain_headers(body))]
    return status, "\r\n".join([*lines, "", ""]).encode() + body


_TOO_MANY = _whole_answer(
    "503 Service Unavailable", "There are too many connections from your address, or at all."
)[1]
