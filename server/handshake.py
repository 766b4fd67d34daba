"""HTTP in front of the WebSockets: a strict RFC 6455 upgrade, everything else to the WSGI app.

gevent-websocket takes the request and runs the upgrade; its WebSocket class is never used, because
it sends no close codes, locks no sends and bounds no sizes. The socket goes to a Connection.
"""

import _socket
import base64
import hashlib
import logging
from collections.abc import Callable
from socket import IPPROTO_TCP, SO_SNDBUF, SOL_SOCKET, TCP_NODELAY
from typing import Any

from gevent import Timeout
from gevent.pywsgi import WSGIHandler, WSGIServer
from geventwebsocket.handler import WebSocketHandler

from server import frames
from server.connection import Connection
from server.limits import Proxies

HEAD_TIMEOUT = 10.0  # seconds for a request line and its headers, or between two requests
ANSWER_TIMEOUT = 60.0  # seconds for the rest of an ordinary request: its body and the whole answer

# Bytes that a connection may keep in the kernel unsent. The default grows to 4 MB, which a slow
# client would see as seconds of stale world before we noticed that it is slow. Linux doubles the
# number, for its own bookkeeping: about this much payload fits.
SEND_BUFFER = 128 * 1024

log = logging.getLogger(__name__)

Accept = Callable[[Connection, dict[str, Any]], object]


class WebSocketServer(WSGIServer):
    """A pywsgi server that hands WebSockets on. Make one with websocket_server()."""

    def __init__(
        self,
        listener: Any,
        wsgi_app: Callable[..., Any],
        accept: Accept,
        path: str,
        protocol: str | None,
        max_message: int,
        access_log: Any,
        proxies: Proxies,
    ) -> None:
        super().__init__(listener, wsgi_app, handler_class=Handshake, log=access_log, error_log=log)
        self.accept = accept
        self.path = path
        self.protocol = protocol
        self.max_message = max_message
        self.proxies = proxies
        self.logger = log  # gevent-websocket would make one with a handler of its own


def websocket_server(
    listener: Any,
    wsgi_app: Callable[..., Any],
    accept: Accept,
    *,
    path: str = "/ws",
    protocol: str | None = "flatlands",
    max_message: int = 4096,
    log: Any = None,
    proxies: Proxies | None = None,
) -> WebSocketServer:
    """A server, ready for start(), that speaks WebSocket at `path` and passes the rest to wsgi_app.

    listener is an address or a listening socket. protocol is the subprotocol that clients must
    offer; None demands none. max_message is in bytes. log takes the access log: a Logger, an object
    with write(), or None for none. proxies are those whose X-Forwarded-For is believed; without
    them it is nobody's. REMOTE_ADDR and Connection.address are that of the client behind them.

    accept(connection, environ) is called after the upgrade, in the request's greenlet: it may
    block. It sets the connection's callbacks; afterwards the connection is started, unless accept
    has done so. If it raises, that is logged and the peer gets close code 1011.
    """
    return WebSocketServer(
        listener, wsgi_app, accept, path, protocol, max_message, log, proxies or Proxies()
    )


class Handshake(WebSocketHandler):
    """The requests of one TCP connection, until one of them upgrades it."""

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            pass  # the peer left before it had our answer: no news

    def handle_one_request(self) -> Any:
        """As in pywsgi, but the head must come within HEAD_TIMEOUT, all else in ANSWER_TIMEOUT."""
        self.requestline = ""
        self.deadline = Timeout.start_new(HEAD_TIMEOUT)
        try:
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

    def get_environ(self) -> dict[str, Any]:
        # pywsgi calls this once the head has been read, before the application runs.
        self.deadline.close()
        self.deadline = Timeout.start_new(ANSWER_TIMEOUT)
        environ = super().get_environ()
        environ["REMOTE_ADDR"] = self.server.proxies.client(
            environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR", "")
        )
        return environ

    def upgrade_websocket(self) -> list[bytes] | None:
        """Judge the request, RFC 6455 section 4.2.

        Called by gevent-websocket, which then looks at what has been set: `websocket` after an
        upgrade, the status and this body after a refusal, neither for an ordinary request.
        """
        environ = self.environ
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
        if self.content_length or "HTTP_TRANSFER_ENCODING" in environ:
            return self.refuse("400 Bad Request", "A WebSocket handshake has no body.")
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
        # The plain type, in a monkey-patched process too: gevent's own keeps two watchers for each.
        plain = _socket.socket(fileno=sock.detach())
        connection = Connection(
            plain, self.server.max_message, bytes(early), self.environ["REMOTE_ADDR"]
        )
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
        # gevent-websocket's own drops the line; pywsgi's writes it to the server's log.
        WSGIHandler.log_request(self)

    def handle_error(self, t: Any, v: Any, tb: Any) -> None:
        """A request beyond its deadline is the client's doing: a line, and no traceback."""
        if v is self.deadline:
            self.close_connection = True
            self.log_error("%s took longer than %s s.", self.requestline, ANSWER_TIMEOUT)
        else:
            super().handle_error(t, v, tb)

    def log_error(self, msg: str, *args: object) -> None:
        # Only what clients do wrong comes this way, and strangers do it all day.
        log.info(msg, *args)

    def _handle_client_error(self, ex: Exception) -> tuple[str, bytes] | None:
        """pywsgi's hook for a request that it cannot parse; its own prints some as tracebacks."""
        if isinstance(ex, OSError):
            return None
        self.log_error("A request from %s could not be understood: %r", self.client_address, ex)
        return _whole_answer("400 Bad Request", "The request could not be understood.")


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
