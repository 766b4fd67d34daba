"""HTTP before the WebSockets: a strict RFC 6455 upgrade; the WSGI application gets other requests.

gevent-websocket parses the request and runs the upgrade. Its WebSocket class is never used, because
it sends no close codes, does not lock sends and does not bound sizes. The socket goes to a
Connection instead.

Strangers send what they like, as fast as they can. So requests may have no bodies, except where the
server takes small ones; a connection may make few requests, everything here runs in turns
(http_budget.py), addresses are limited (server/runtime/limits.py), and a bad request costs one line
in the log at most.
"""

import _socket
import base64
import hashlib
import logging
import re
from collections.abc import Iterator
from socket import IPPROTO_TCP, SO_SNDBUF, SOL_SOCKET, TCP_NODELAY
from typing import Any, BinaryIO
from wsgiref.types import WSGIEnvironment

from gevent import Timeout
from geventwebsocket.handler import WebSocketHandler

from flatlands.server.net import frames
from flatlands.server.net.connection import Connection
from flatlands.server.net.hosts import site
from flatlands.server.net.http_budget import TURN_KEY
from flatlands.server.runtime import logs
from flatlands.server.runtime.limits import HANDSHAKES, REQUESTS, LimitedConnection
from flatlands.server.runtime.logs import log_line

HEAD_TIMEOUT = 10.0  # seconds for a request line and its headers, or between two requests
ANSWER_TIMEOUT = 60.0  # seconds for the whole answer
HEAD_LIMIT = 16 * 1024  # bytes of a request's headers, since parsing them takes time
BODY_LIMIT = 64 * 1024  # bytes of a request's body, where there may be one
#: A header line as RFC 9112 has it in section 5. One that begins with a blank is none: it once went
#: on with the line before.
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t\x20-\x7e\x80-\xff]*\r?\n")
_LAST_LINES = (b"\r\n", b"\n", b"")

#: Headers that a request may have once, since a proxy in front may go by the other one.
_ONCE = (b"host", b"content-length")

#: A target with the address of the server, as RFC 9112 has it in section 3.2.2.
_ABSOLUTE = re.compile(r"https?://([^/?#]*)([^#]*)", re.IGNORECASE)

#: Pages that say only whether the server is well, so they answer to any name: a machine that asks
#: for them knows the server by its address.
_HEALTH = ("/healthz", "/readyz")

#: The key in the environ of a request that names this server in a way that is not allowed.
UNNAMED_KEY = "flatlands.unnamed"

REQUESTS_EACH = 100  # requests on one connection, which ends with the last answer

# Unsent bytes that the kernel may keep for a connection. The default grows to 4 MB: a slow client
# would see the world seconds late before the server noticed that it is slow. Linux doubles the
# number for its own bookkeeping, so about this many bytes of payload fit.
SEND_BUFFER = 128 * 1024

#: A browser that gets this over TLS asks for the site only over TLS, for this many seconds.
#: Subdomains may be other sites.
STRICT = ("Strict-Transport-Security", f"max-age={30 * 86400}")

log = logging.getLogger(__name__)


class _Refusal(ValueError):
    """A request that is refused before it is parsed, with a status and a sentence."""

    def __init__(self, status: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class _Head:
    """A reader of a request's header lines. It raises _Refusal after HEAD_LIMIT bytes, and for a
    line that is no header: the parser would take it for the last line, and a proxy might not."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = HEAD_LIMIT
        self._had: set[bytes] = set()

    def readline(self, limit: int) -> bytes:
        line = self._file.readline(min(limit, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise _Refusal(
                "431 Request Header Fields Too Large",
                f"The request's headers may have at most {HEAD_LIMIT} bytes.",
            )
        if line not in _LAST_LINES:
            found = _FIELD.fullmatch(line)
            if found is None:
                raise _Refusal("400 Bad Request", "A line of the request's head is no header.")
            name = found[1].lower()
            if name in _ONCE and name in self._had:
                raise _Refusal("400 Bad Request", f"The request has two headers {name.decode()}.")
            self._had.add(name)
        return line


class Handshake(WebSocketHandler):  # type: ignore[misc]
    """The requests of one TCP connection, until one of them upgrades it."""

    socket: Any
    requests = 0
    path: str
    #: How the client came to the proxy, "https" or "http"; "" if no proxy says so, or if the client
    #: calls this machine localhost.
    scheme = ""
    #: The path under which a proxy serves this site, such as "/games/flat"; "" at the top.
    prefix = ""

    def handle(self) -> None:
        turn = self.socket.turn
        try:
            turn.begin()
            super().handle()
        except OSError:
            pass  # the peer has left before it got the answer
        finally:
            turn.end()

    def handle_one_request(self) -> object:
        """Handle a request as pywsgi does, but within HEAD_TIMEOUT and ANSWER_TIMEOUT."""
        self.requestline = ""
        self.requests += 1
        if self.server.http_budget.crowded:
            self.server.stats["http_crowded"] += 1
            return whole_answer(
                "503 Service Unavailable", "Too many requests are waiting: try again in a moment."
            )
        self.deadline = Timeout.start_new(HEAD_TIMEOUT)
        try:
            # The connection's next request may be here already, but others have their turn first.
            self.socket.turn.rest()
            return super().handle_one_request()
        except Timeout as timeout:
            if timeout is not self.deadline:
                raise
            # Without a request line, the client just kept the connection open.
            if not self.requestline:
                return None
            return whole_answer("408 Request Timeout", "The request took too long to arrive.")
        finally:
            self.deadline.close()

    def MessageClass(self, file: BinaryIO, *arguments: object) -> object:
        # This is pywsgi's name for the parser of the headers.
        return super().MessageClass(_Head(file), *arguments)

    def read_request(self, line: str) -> bool:
        """Parse the head. A request with a body, which could be endless, is refused, unless the
        server takes one there."""
        understood: bool = super().read_request(line)
        most = BODY_LIMIT if self.path in self.server.bodies_at else 0
        if (self.content_length or 0) > most or self.headers.get("transfer-encoding") is not None:
            sentence = f"A request body may have at most {most} bytes here, and must say how many."
            if not most:
                sentence = "This server accepts no request bodies."
            raise _Refusal("413 Content Too Large", sentence)
        if (whole := _ABSOLUTE.fullmatch(self.path)) is not None:
            # The target counts, whatever the header Host says.
            del self.headers["Host"]
            self.headers["Host"], path = whole.groups()
            self.path = path if path.startswith("/") else f"/{path}"
        return understood

    def get_environ(self) -> WSGIEnvironment:
        # pywsgi calls this after it has read the head, and before it calls the application.
        self.deadline.close()
        self.deadline = Timeout.start_new(ANSWER_TIMEOUT)
        environ: WSGIEnvironment = super().get_environ()
        proxies, peer = self.server.limits.proxies, environ.get("REMOTE_ADDR", "")
        self.scheme = ""
        if site(environ.get("HTTP_HOST", "")):
            self.scheme = proxies.scheme(peer, environ.get("HTTP_X_FORWARDED_PROTO", ""))
        self.prefix = proxies.prefix(peer, environ.get("HTTP_X_FORWARDED_PREFIX", ""))
        environ["SCRIPT_NAME"] = self.prefix
        if self.scheme:
            environ["wsgi.url_scheme"] = self.scheme
        environ["REMOTE_ADDR"] = proxies.client(peer, environ.get("HTTP_X_FORWARDED_FOR", ""))
        environ[TURN_KEY] = turn = self.socket.turn
        # The client behind a proxy is known only now.
        turn.key = self.server.limits.key(environ["REMOTE_ADDR"])
        return environ

    def start_response(
        self, status: str, headers: list[tuple[str, str]], exc_info: object = None
    ) -> object:
        has_connection = any(name.lower() == "connection" for name, _ in headers)
        if self.requests >= REQUESTS_EACH and not has_connection:
            headers = [*headers, ("Connection", "close")]
        if self.scheme == "https":
            headers = [*headers, STRICT]
        return super().start_response(status, headers, exc_info)

    def _prepare_response(self) -> None:
        # gevent-websocket's method is for its own WebSocket, and would fail here.
        pass

    def upgrade_websocket(self) -> list[bytes] | None:
        """Check the request as RFC 6455 says in section 4.2; upgrade it, refuse it, or do nothing.

        gevent-websocket calls this, and looks at what it has set: `websocket` after an upgrade, the
        status and the returned body after a refusal, neither for an ordinary request.
        """
        for wrong, *answer in self._faults():
            if wrong:
                return self.refuse(*answer)
        if self.environ["PATH_INFO"] != self.server.path:
            return None
        key, protocol = self.environ["HTTP_SEC_WEBSOCKET_KEY"], self.server.protocol
        digest = hashlib.sha1((key + self.GUID).encode(), usedforsecurity=False).digest()
        headers = [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", base64.b64encode(digest).decode()),
        ]
        if protocol:
            headers.append(("Sec-WebSocket-Protocol", protocol))
        self.start_response("101 Switching Protocols", headers)
        self.close_connection = True  # for HTTP, the connection ends here
        self.websocket = None  # gevent-websocket looks only whether it is set
        return None

    def _faults(self) -> Iterator[tuple[Any, ...]]:
        """Yield what may be wrong with a request, one after the other, as (whether it is wrong,
        status, sentence, headers of the answer). Each is looked at only if all before it are
        right."""
        environ, server = self.environ, self.server
        limits, hosts, address = server.limits, server.hosts, environ["REMOTE_ADDR"]
        host = environ.get("HTTP_HOST", "")
        yield (
            not limits.allow_address(REQUESTS, address),
            "429 Too Many Requests",
            "Too many requests from your address: try again in a few seconds.",
            ("Retry-After", "10"),
        )
        misses = hosts.host_refusal(host)
        if misses is not None and environ["PATH_INFO"] in _HEALTH:
            environ[UNNAMED_KEY], misses = True, None
        if misses is not None:
            server.stats["refused_hosts"] += 1
        yield misses, "403 Forbidden", misses
        yield (
            self.scheme == "http" and self.path.startswith("/"),
            "308 Permanent Redirect",
            "Come over TLS.",
            ("Location", f"https://{site(host)}{self.prefix}{self.path}"),
        )
        wants = "websocket" in _tokens(environ.get("HTTP_UPGRADE", "").lower())
        if environ["PATH_INFO"] != server.path:
            yield wants, "404 Not Found", f"The address for WebSocket connections is {server.path}."
            return
        # First, because a page that cannot connect asks for the reason with POST.
        misses = hosts.origin_refusal(environ.get("HTTP_ORIGIN", ""), host)
        if misses is not None:
            server.stats["refused_origins"] += 1
        yield misses, "403 Forbidden", misses
        yield (
            server.drained(),
            "503 Service Unavailable",
            "This server is being drained: reconnect to reach another server of this world.",
        )
        # A proxy in front then asks another server. Who has been here may have a place kept, and
        # who only watches needs none.
        full = server.no_room() and not {"back", "watch"} & {*environ["QUERY_STRING"].split("&")}
        if full and wants:  # a page that only asks for the reason has been counted
            server.stats["refused_full"] += 1
        yield (
            full,
            "503 Service Unavailable",
            "This world is full: try again later.",
            ("Retry-After", "10"),
        )
        method = self.command
        yield method != "GET", "405 Method Not Allowed", "Use GET here.", ("Allow", "GET")
        yield (
            self.request_version != "HTTP/1.1",
            "400 Bad Request",
            "A WebSocket handshake needs HTTP/1.1: a proxy in front must speak it "
            "(nginx: proxy_http_version 1.1), and pass the header Upgrade on.",
        )
        yield (
            not wants,
            "426 Upgrade Required",
            "This address accepts only WebSocket: the header Upgrade: websocket is missing.",
            ("Upgrade", "websocket"),
        )
        connection = _tokens(environ.get("HTTP_CONNECTION", "").lower())
        missing = "upgrade" not in connection
        yield missing, "400 Bad Request", "The header Connection: Upgrade is missing."
        yield not host, "400 Bad Request", "The Host header is missing."
        yield (
            environ.get("HTTP_SEC_WEBSOCKET_VERSION") != "13",
            "426 Upgrade Required",
            "This server supports only version 13 of the WebSocket protocol.",
            ("Sec-WebSocket-Version", "13"),
        )
        keyless = not _is_key(environ.get("HTTP_SEC_WEBSOCKET_KEY", ""))
        yield keyless, "400 Bad Request", "Sec-WebSocket-Key must be 16 bytes in base64."
        offered = _tokens(environ.get("HTTP_SEC_WEBSOCKET_PROTOCOL", ""))
        yield (
            server.protocol and server.protocol not in offered,
            "400 Bad Request",
            f"Sec-WebSocket-Protocol must offer the protocol {server.protocol}.",
        )
        limited: LimitedConnection = self.socket.limited
        yield (
            not limits.allow_address(HANDSHAKES, address) or not limited.settle(address),
            "429 Too Many Requests",
            "Too many connections from your address: try again in a few seconds.",
            ("Retry-After", "10"),
        )

    def refuse(self, status: str, sentence: str, *headers: tuple[str, str]) -> list[bytes]:
        """Start an answer in plain text that ends the connection; return its body."""
        log_line(
            "refused", how="http", error=sentence, code=int(status[:3]), address=self._address()
        )
        body = f"{sentence}\n".encode()
        self.start_response(status, [*headers, *_plain_headers(body)])
        return [] if self.command == "HEAD" else [body]

    def run_websocket(self) -> None:
        """Hand the socket to a Connection. gevent-websocket calls this after writing the 101.

        The handler gives up the descriptor, so that its greenlet, buffers and headers are freed
        while the connection lives. An idle connection then takes 1 KB of memory instead of 19.
        """
        self.deadline.close()
        sock = self.socket
        limited: LimitedConnection = sock.limited
        # Bytes that came in one segment with the request are in the reader's buffer. If the buffer
        # is empty, peek() reads from the socket, which must not block.
        sock.settimeout(0)
        try:
            early = self.rfile.peek()
            sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            sock.setsockopt(SOL_SOCKET, SO_SNDBUF, SEND_BUFFER)
        except OSError:
            return  # the peer has gone: pywsgi closes
        self.socket = None  # so pywsgi's loop ends, and closes nothing
        sock.limited = None  # and gevent closes nothing either
        # It is a plain socket even in a monkey-patched process: gevent's sockets keep two watchers.
        plain = _socket.socket(fileno=sock.detach())
        connection = Connection(
            plain, self.server.max_message, bytes(early), self.environ["REMOTE_ADDR"], limited
        )
        limited.close = connection.abort
        self.rfile.close()
        self.environ.pop("wsgi.input", None)
        try:
            self.server.accept(connection, self.environ)
        except Exception:
            log.exception("Could not accept a WebSocket connection.")
            connection.close(
                frames.INTERNAL_ERROR, "Internal error while accepting the connection."
            )
        except BaseException:  # the greenlet is being killed
            connection.abort()
            raise
        connection.start()

    def log_request(self) -> None:
        # If the client is gone before its answer, there is no status, or it is "socket error: ...".
        first = (self.status or "0").split()[0]
        status = int(first) if first.isdigit() else 0
        self.server.stats[f"answered_{status}"] += 1
        if self.server.access_log:
            log_line(
                "request",
                # Moderation requests are logged by themselves, and one of them may have a password.
                request=re.sub(r"(/admin/[^? ]*)\?\S*", r"\1", self.requestline),
                status=status,
                ms=round((self.time_finish - self.time_start) * 1000, 1),
                address=self._address(),
            )

    def _address(self) -> str:
        # A request that could not be parsed has no environ.
        environ = getattr(self, "environ", None) or {}
        return environ.get("REMOTE_ADDR") or str(self.client_address[0])

    def handle_error(self, t: object, v: object, tb: object) -> None:
        """Log failures of the client or the network as a line, without a traceback."""
        if v is self.deadline:
            self.close_connection = True
            self.log_error(
                "A response took longer than %s s: %r.", ANSWER_TIMEOUT, self.requestline
            )
        elif isinstance(v, OSError):
            self.close_connection = True
            self.log_error("A connection failed during the response: %s.", v)
        else:
            super().handle_error(t, v, tb)

    def log_error(self, msg: str, *args: object) -> None:
        # Only mistakes of clients are logged here, and strangers make them all day.
        self.server.stats["bad_requests"] += 1
        self.server.limited_log.write(logging.INFO, msg % args if args else msg)

    def _handle_client_error(self, ex: Exception) -> tuple[str, bytes] | None:
        """Answer a request that pywsgi cannot parse; pywsgi would print a traceback for some."""
        if isinstance(ex, OSError):
            return None
        where = logs.shown(self._address())
        self.log_error("Malformed request from %s: %r.", where, ex)
        if isinstance(ex, _Refusal):
            return whole_answer(ex.status, ex.sentence)
        return whole_answer("400 Bad Request", "Malformed request.")


def _tokens(value: str) -> list[str]:
    """Return the members of a header's value that are separated by commas."""
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


def whole_answer(status: str, sentence: str) -> tuple[str, bytes]:
    """Return an answer without an environ, in the form of pywsgi's loop: (status, bytes)."""
    body = f"{sentence}\n".encode()
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in _plain_headers(body))]
    return status, "\r\n".join([*lines, "", ""]).encode() + body
