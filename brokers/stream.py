"""Links over TCP or TLS: the address of a server, one connection to it, and the link that uses it.

It imports gevent's sockets by name, so it also works in a process that is not monkey-patched. It
never knows a server's protocol: each backend parses and answers for itself.
"""

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import gevent
from gevent import socket, ssl
from gevent.event import Event

from flatlands.brokers.base import UNVERIFIED, VERIFIED, Counters, bare
from flatlands.brokers.inbox import Inbox
from flatlands.brokers.link import PARSE_ERRORS, Link, LinkedBroker, unreadable

log = logging.getLogger("flatlands")

#: Seconds in which a connection must be made, secured and logged in.
CONNECT_WITHIN = 2.0

#: Bytes that are read from a socket at a time.
RECEIVE_BYTES = 65536

#: Messages, and their bytes, that may wait to be sent on one link. Further messages are refused.
QUEUE_LIMIT = 65536
QUEUE_BYTES = 16 * 1024 * 1024

#: Messages that are sent in one batch. Even a busy server answers that many well within the time
#: after which a link is given up.
SEND_MESSAGES_MOST = 2048

#: What gevent raises, apart from OSError, from a TLS socket that another greenlet closed at the
#: moment when bytes came.
CLOSED_MEANWHILE = (AttributeError, ValueError)

_T = TypeVar("_T")


class Endpoint(NamedTuple):
    """The address of a server, and the login. `kind` is what people call such a server: "redis"."""

    kind: str
    host: str
    port: int
    username: str
    password: str
    tls: ssl.SSLContext | None

    def __str__(self) -> str:
        return f"{self.kind} {self.host}:{self.port}"


def endpoints(url: str, kind: str, port: int, tls: str | None) -> list[Endpoint]:
    """Return the servers that `scheme://[[user]:password@]host[:port][,host...][?options]` names.

    `kind` is what people call such a server, and `port` the default port. `tls` is as in
    `open_broker`, or None without TLS; options of the URL override it. Raises ValueError, with a
    sentence for the user that does not contain the password.
    """
    parts = urlsplit(url)
    if parts.netloc and "@" in parts.path + parts.fragment:
        raise ValueError(f"{bare(url)!r}: in a password write %2F for /, %23 for # and %3F for ?")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    certificates = tls or VERIFIED
    if "ssl_cert_reqs" in options:
        required = options.pop("ssl_cert_reqs")
        certificates = {"required": VERIFIED, "none": UNVERIFIED}.get(required, "")
    certificates = options.pop("ssl_ca_certs", certificates)
    if options or not certificates:
        raise ValueError(
            f"{parts.scheme}:// has two options: ssl_cert_reqs, which is 'required' or 'none', "
            "and ssl_ca_certs, the path of a file with trusted certificates"
        )
    context = None if tls is None else _context(certificates)
    login, _, hosts = parts.netloc.rpartition("@")
    username, _, password = login.partition(":")
    found = []
    for text in hosts.split(","):
        try:
            one = urlsplit(f"//{text}")
            host, at = one.hostname, one.port or port
            (host or "").encode("idna")  # a label of a name has 1 to 63 letters
        except ValueError:
            host, at = None, 0
        if not host:
            raise ValueError(
                f"{text!r} is not a host:port for {parts.scheme}://: name a server, such as "
                f"{parts.scheme}://127.0.0.1:{port}"
            )
        found.append(Endpoint(kind, host, at, unquote(username), unquote(password), context))
    return found


def one_endpoint(url: str, kind: str, port: int, tls: str | None) -> Endpoint:
    """Return the single server that a URL names, or raise ValueError as `endpoints` does."""
    [endpoint, *others] = endpoints(url, kind, port, tls)
    if others:
        scheme = url.partition("://")[0]
        raise ValueError(
            f"{scheme}:// takes only one host; to share the channels among several servers, give a "
            f"ring: {scheme}://h1,{scheme}://h2"
        )
    return endpoint


def _context(certificates: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if certificates == VERIFIED:
        context.load_default_certs()
    elif certificates == UNVERIFIED:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        try:
            context.load_verify_locations(certificates)
        except OSError as error:
            raise ValueError(
                f"{certificates!r} is neither {VERIFIED!r}, {UNVERIFIED!r}, nor a file with "
                f"trusted certificates: {error.strerror or error}"
            ) from None
    return context


class StreamConnection:
    """A connection to a server over TCP or TLS. It must be closed even if opening it failed.

    Every failure is an OSError, and nothing is tried twice. One greenlet may send while another one
    reads.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._socket: socket.socket | None = None
        self._closed = False

    def open(self, prepare: Callable[[], _T]) -> _T:
        """Connect, and return what `prepare` returns, which secures the connection and logs in.

        Raises TimeoutError if both together take longer than CONNECT_WITHIN, and ConnectionError if
        `prepare` raises one of PARSE_ERRORS.
        """
        try:
            with gevent.Timeout(CONNECT_WITHIN):
                self._connect()
                try:
                    return prepare()
                except PARSE_ERRORS as error:
                    raise unreadable(error) from error
        except gevent.Timeout:
            raise TimeoutError(f"no answer within {CONNECT_WITHIN} s") from None

    def _connect(self) -> None:
        # socket.create_connection() would leave its socket open when a timeout interrupts it.
        trouble: OSError | None = None
        host, port = self.endpoint.host, self.endpoint.port
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        # All addresses but the last share half of the time: one may be behind a silent firewall.
        each = CONNECT_WITHIN / (2 * len(found))
        for number, (family, kind, proto, _, address) in enumerate(found, 1):
            self._socket = plain = socket.socket(family, kind, proto)
            within = each if number < len(found) else None
            try:
                with gevent.Timeout(within, TimeoutError(f"no answer within {within} s")):
                    plain.connect(address)
            except OSError as error:
                trouble = error
                plain.close()
                continue
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return
        raise trouble or ConnectionError("the host's name has no address")

    def secure(self) -> None:
        """Start TLS, if the endpoint has it."""
        if self.endpoint.tls is None:
            return
        assert self._socket is not None
        self._socket = secure = self.endpoint.tls.wrap_socket(
            self._socket, server_hostname=self.endpoint.host, do_handshake_on_connect=False
        )
        try:
            secure.do_handshake()
        except ssl.SSLCertVerificationError as error:
            raise ConnectionError(
                f"{error}; if the server signed its certificate itself, set BROKER_TLS to "
                "'unverified', or to the path of a file with that certificate"
            ) from None
        except CLOSED_MEANWHILE as error:
            raise self._reason(error) from error

    def send(self, data: bytes) -> None:
        """Send bytes; wait for as long as the server does not read them."""
        assert self._socket is not None
        if data:
            try:
                self._socket.sendall(data)
            except CLOSED_MEANWHILE as error:
                raise self._reason(error) from error

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes that the server sends, as they come. Raises OSError when it closes."""
        received = 0
        while True:
            assert self._socket is not None
            try:
                data = self._socket.recv(RECEIVE_BYTES)
            except CLOSED_MEANWHILE as error:
                raise self._reason(error) from error
            if not data:
                raise ConnectionResetError("the server closed the connection")
            yield data
            # recv() switches to other greenlets only when there is nothing to read: in a flood of
            # bytes they would never run.
            received += len(data)
            if received >= RECEIVE_BYTES:
                received = 0
                gevent.sleep(0)

    def close(self) -> None:
        """Close it at once. To close it again is no error."""
        self._closed = True
        if self._socket is not None:
            self._socket.close()

    def _reason(self, error: Exception) -> Exception:
        """Return an OSError in place of one of CLOSED_MEANWHILE, if close() caused it."""
        return ConnectionError("the connection was closed") if self._closed else error


class StreamLink(Link):
    """A link over one connection, with a greenlet that reads and one that writes.

    All waiting messages are sent as one batch, and further messages wait until that batch is
    answered. There is no timer. Since only one batch is under way at a time, few messages arrive
    late, and the link knows how many were unanswered when the connection broke.
    """

    #: Whether the server answers only the ping after a batch, and not each message in it.
    batches_end_with_ping = True

    def __init__(self, endpoint: Endpoint, counters: Counters, inbox: Inbox) -> None:
        super().__init__(str(endpoint), counters, inbox)
        self._endpoint = endpoint
        self._connection = StreamConnection(endpoint)
        self._items: Iterator[Any] = iter(())
        self._wake = Event()
        #: Packed commands other than messages, in the order in which they are to be sent.
        self._waiting_commands: list[bytes] = []
        self._queue: list[bytes] = []
        self._queue_bytes = 0
        #: The number of messages that were sent but not answered yet.
        self._in_flight = 0
        self._ping_due = False
        #: The number of the newest ping, and of the ping whose answer ends the batch under way.
        self._pings = self._awaited = 0

    # What each backend implements.

    @abstractmethod
    def _parse(self, chunks: Iterator[bytes]) -> Iterator[Any]:
        """Yield the server's messages and replies, parsed from the bytes that it sends.

        Raises ConnectionError, or one of PARSE_ERRORS, if they are not of the backend's protocol.
        It buffers no more bytes than the longest message has.
        """

    @abstractmethod
    def _log_in(self) -> None:
        """Secure the new connection and log in. Subscribe to the wanted channels here, or in
        `_begin`.

        It sends on `_connection` and reads replies from `_items`. Raises OSError.
        """

    @abstractmethod
    def _accept(self, item: Any) -> None:
        """Accept one parsed item from the server, after the login. Raises OSError, or one of
        PARSE_ERRORS."""

    @abstractmethod
    def _ping(self, number: int) -> bytes:
        """Return a packed ping with this number; its answer must lead to `_ponged` with the number.

        Where the server answers each message (`batches_end_with_ping` is False), it may leave the
        number out.
        """

    # What all backends share.

    def _queue_up(self, packed: bytes) -> bool:
        """Queue a packed message; return False, and do nothing, if it cannot be sent now."""
        if (
            not self.connected
            or len(self._queue) >= QUEUE_LIMIT
            or self._queue_bytes + len(packed) > QUEUE_BYTES
        ):
            return False
        self._queue.append(packed)
        self._queue_bytes += len(packed)
        if not self._wake.is_set():
            self._wake.set()
        return True

    def _queue_command(self, packed: bytes) -> None:
        """Queue a packed command other than a message. It need not wait for the batch under way."""
        self._waiting_commands.append(packed)
        self._wake.set()

    def _next_commands(self) -> bytes:
        """Return the waiting commands, packed, and empty their queue."""
        commands, self._waiting_commands = self._waiting_commands, []
        return b"".join(commands)

    def _next_batch(self) -> list[bytes]:
        """Return the messages of the next batch, packed, and take them from the queue."""
        batch, self._queue = self._queue[:SEND_MESSAGES_MOST], self._queue[SEND_MESSAGES_MOST:]
        return batch

    def _open(self) -> None:
        # It is stored before it is opened, so that close() can close it at any time.
        self._connection = StreamConnection(self._endpoint)
        self._items = self._parse(self._connection.chunks())
        self._waiting_commands.clear()
        self._ping_due = False
        self._pings = self._awaited = 0
        self._connection.open(self._log_in)

    def _disconnect(self) -> None:
        self._connection.close()

    def _use(self) -> Exception:
        self._wake.set()
        parts = [gevent.spawn(self._part, run) for run in (self._read, self._write)]
        try:
            return super()._use()
        finally:
            gevent.killall(parts)

    def _part(self, run: Callable[[], None]) -> None:
        try:
            run()
        except OSError as error:
            self.fail(error)
        except Exception as error:
            self._counters.errors += 1
            log.exception("a link to %s failed", self.name)
            self.fail(error)

    def _read(self) -> None:
        try:
            for item in self._items:
                self._accept(item)
        except PARSE_ERRORS as error:
            raise unreadable(error) from error

    def _write(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            parts = [self._next_commands()]
            if self._queue and not self._in_flight:
                batch = self._next_batch()
                parts += batch
                self._in_flight = len(batch)
                self._queue_bytes -= sum(map(len, batch))
                # If each message is answered, the answers prove as much as a ping would.
                self._ping_due = self.batches_end_with_ping
                self._awaited = self._pings + 1
            if self._ping_due:
                self._ping_due = False
                self._pings += 1
                parts.append(self._ping(self._pings))
            self._connection.send(b"".join(parts))

    def _probe(self) -> None:
        self._ping_due = True
        self._wake.set()

    def _ponged(self, number: int) -> None:
        """Note that the ping with this number is answered, and all that was sent before it."""
        self._answered()
        if self._in_flight and number >= self._awaited:
            self._landed()

    def _landed(self) -> None:
        """Note that the batch under way is answered, so that the next one may be sent."""
        self._in_flight = 0
        if self._queue:
            self._wake.set()

    def _lost(self) -> None:
        self._counters.dropped += self._in_flight + len(self._queue)
        self._in_flight = 0
        self._queue.clear()
        self._queue_bytes = 0


class StreamBroker(LinkedBroker):
    """A broker of one server, with one link that publishes and is subscribed."""

    #: The name of such a server for people, and its default ports without and with TLS.
    kind: str
    port: int
    tls_port: int
    #: The class of its link.
    link: type[StreamLink]

    @classmethod
    def check(cls, url: str, tls: str | None = None) -> None:
        cls._endpoint(url, tls)

    @classmethod
    def _endpoint(cls, url: str, tls: str | None) -> Endpoint:
        """Return the server that a URL names, or raise ValueError as `endpoints` does."""
        return one_endpoint(url, cls.kind, cls.port if tls is None else cls.tls_port, tls)

    def __init__(self, url: str, tls: str | None = None) -> None:
        """Open the link; wait until the server has answered, for CONNECT_WITHIN at most."""
        super().__init__(url)
        link = self.link(self._endpoint(url, tls), self.counters, self._inbox)
        self._start(link, CONNECT_WITHIN)
