"""Links over TCP or TLS: where a server is, one connection to it, and the link that uses it.

It uses gevent's sockets by name, so that it works in a process that is not monkey-patched too. It
knows no server's language: each backend parses and answers for itself.
"""

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import gevent
from gevent import socket, ssl
from gevent.event import Event

from brokers.base import UNVERIFIED, VERIFIED, Counters
from brokers.inbox import Inbox
from brokers.link import Link, LinkedBroker

log = logging.getLogger("flatlands")

#: Seconds in which a connection must be made, secured and let in.
CONNECT_WITHIN = 2.0

#: Bytes that are taken from a socket at a time.
RECEIVE_BYTES = 65536

#: What may wait to be sent on one link, in messages and in bytes; what comes on top is refused.
QUEUE_LIMIT = 65536
QUEUE_BYTES = 16 * 1024 * 1024

#: Messages that are sent in one go. What is on its way is answered well within the time in which a
#: link is given up, also by a server that is busy.
BATCH_LIMIT = 2048

_T = TypeVar("_T")


class Endpoint(NamedTuple):
    """A server, and what it takes to get in. `kind` is what people call such a server."""

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

    `port` is that of a host without one. `tls` is as in `open_broker`, or None without TLS; what
    the URL says counts for more. Raises ValueError, with a sentence for the user but without the
    password.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    certificates = tls or VERIFIED
    if "ssl_cert_reqs" in options:
        required = options.pop("ssl_cert_reqs")
        certificates = {"required": VERIFIED, "none": UNVERIFIED}.get(required, "")
    certificates = options.pop("ssl_ca_certs", certificates)
    if options or not certificates:
        raise ValueError(
            f"{parts.scheme}:// knows two options: ssl_cert_reqs, which is 'required' or 'none', "
            "and ssl_ca_certs, the path of a file with certificates to trust"
        )
    context = None if tls is None else _context(certificates)
    login, _, hosts = parts.netloc.rpartition("@")
    username, _, password = login.partition(":")
    found = []
    for text in hosts.split(","):
        try:
            one = urlsplit(f"//{text}")
            host, at = one.hostname, one.port or port
        except ValueError:
            host, at = None, 0
        if not host:
            raise ValueError(
                f"{text!r} is no host:port for {parts.scheme}://: name a server, such as "
                f"{parts.scheme}://127.0.0.1:{port}"
            )
        found.append(Endpoint(kind, host, at, unquote(username), unquote(password), context))
    return found


def one_endpoint(url: str, kind: str, port: int, tls: str | None) -> Endpoint:
    """Return the one server that a URL names, or raise ValueError as `endpoints` does."""
    [endpoint, *others] = endpoints(url, kind, port, tls)
    if others:
        scheme = url.partition("://")[0]
        raise ValueError(
            f"{scheme}:// names one host; servers that share the channels are a ring: "
            f"{scheme}://h1,{scheme}://h2"
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
                f"{certificates!r} is neither {VERIFIED!r}, {UNVERIFIED!r}, nor a file with the "
                f"certificates to trust: {error.strerror or error}"
            ) from None
    return context


class Connection:
    """One connection, to be closed also when it was not opened.

    Every trouble with it is an OSError; nothing is tried twice. One greenlet may send while another
    one reads.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._socket: socket.socket | None = None

    def open(self, enter: Callable[[], _T]) -> _T:
        """Connect, and return what `enter` does, which says what it takes to be let in. Both
        together take CONNECT_WITHIN at most."""
        try:
            with gevent.Timeout(CONNECT_WITHIN):
                self._connect()
                return enter()
        except gevent.Timeout:
            raise TimeoutError(f"no answer within {CONNECT_WITHIN} s") from None

    def _connect(self) -> None:
        # socket.create_connection() would leave its socket open where a timeout ends it.
        trouble: OSError | None = None
        for family, kind, proto, _, address in socket.getaddrinfo(
            self.endpoint.host, self.endpoint.port, type=socket.SOCK_STREAM
        ):
            self._socket = plain = socket.socket(family, kind, proto)
            try:
                plain.connect(address)
            except OSError as error:
                trouble = error
                plain.close()
                continue
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return
        raise trouble or ConnectionError("its name has no address")

    def secure(self) -> None:
        """Go on with TLS, where the endpoint has it."""
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
                f"{error}; where the certificate is the host's own, set BROKER_TLS to "
                "'unverified', or to the path of a file with it"
            ) from None

    def send(self, data: bytes) -> None:
        """Send bytes; waits for as long as the server does not take them."""
        assert self._socket is not None
        if data:
            self._socket.sendall(data)

    def chunks(self) -> Iterator[bytes]:
        """Yield what the server sends, as it comes, until it closes the connection: an OSError."""
        taken = 0
        while True:
            assert self._socket is not None
            data = self._socket.recv(RECEIVE_BYTES)
            if not data:
                raise ConnectionResetError("the server closed the connection")
            yield data
            # recv() gives up the greenlet only when nothing is there: in a flood, others must run.
            taken += len(data)
            if taken >= RECEIVE_BYTES:
                taken = 0
                gevent.sleep(0)

    def close(self) -> None:
        """End it at once; again is no error."""
        if self._socket is not None:
            self._socket.close()


class StreamLink(Link):
    """A link over one connection, with a greenlet that reads and one that writes.

    Messages that wait are sent in one go, while the next ones gather: no timer, and one batch on
    its way at a time, so little is ever sent that comes too late, and it is known how much of it
    was not answered when the connection broke.
    """

    #: Whether only the ping behind a batch is answered, and not each message of it.
    batches_end_with_ping = True

    def __init__(self, endpoint: Endpoint, counters: Counters, inbox: Inbox) -> None:
        super().__init__(str(endpoint), counters, inbox)
        self._endpoint = endpoint
        self._connection = Connection(endpoint)
        self._items: Iterator[Any] = iter(())
        self._wake = Event()
        #: What is to be said besides messages, in its order.
        self._orders: list[bytes] = []
        self._queue: list[bytes] = []
        self._queue_bytes = 0
        #: Messages that were sent and not answered.
        self._in_flight = 0
        self._ping_due = False
        #: The number of the newest ping, and of the one whose answer ends what is in flight.
        self._pings = self._awaited = 0

    # What a kind of server needs.

    @abstractmethod
    def _parse(self, chunks: Iterator[bytes]) -> Iterator[Any]:
        """Yield what the server says, one thing at a time. Raises ConnectionError where it speaks
        another language."""

    @abstractmethod
    def _enter(self) -> None:
        """Secure the new connection, log in, and subscribe to what is wanted, by what is sent on
        `_connection` and the next ones of `_items`. Raises OSError."""

    @abstractmethod
    def _take(self, item: Any) -> None:
        """Take in what the server says once it has let us in."""

    @abstractmethod
    def _ping(self, number: int) -> bytes:
        """Return what the server answers at once. `_ponged` is to be called with the number."""

    # What all share.

    def _queue_up(self, packed: bytes) -> bool:
        """Leave a packed message to be sent; False, and nothing else, where it cannot be now."""
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

    def _order(self, packed: bytes) -> None:
        """Leave to be said what is no message, also while a batch is on its way."""
        self._orders.append(packed)
        self._wake.set()

    def _commands(self) -> bytes:
        """Return what is to be said besides messages, and take it as said."""
        orders, self._orders = self._orders, []
        return b"".join(orders)

    def _open(self) -> None:
        # Known before it is opened, so that close() need not wait for a turn of this greenlet.
        self._connection = Connection(self._endpoint)
        self._items = self._parse(self._connection.chunks())
        self._orders.clear()
        self._ping_due = False
        self._pings = self._awaited = 0
        self._connection.open(self._enter)

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
        for item in self._items:
            self._take(item)

    def _write(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            parts = [self._commands()]
            if self._queue and not self._in_flight:
                batch, self._queue = self._queue[:BATCH_LIMIT], self._queue[BATCH_LIMIT:]
                parts += batch
                self._in_flight = len(batch)
                self._queue_bytes -= sum(map(len, batch))
                # Where messages are answered one by one, that proves as much as a ping would.
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
        """The ping of this number is answered, and with it all that was sent before."""
        self._answered()
        if self._in_flight and number >= self._awaited:
            self._landed()

    def _landed(self) -> None:
        """The batch on its way has been answered: the next one may go."""
        self._in_flight = 0
        if self._queue:
            self._wake.set()

    def _lost(self) -> None:
        self._counters.dropped += self._in_flight + len(self._queue)
        self._in_flight = 0
        self._queue.clear()
        self._queue_bytes = 0


class StreamBroker(LinkedBroker):
    """A broker of one server, with one link that both publishes and hears."""

    #: What people call such a server, and its usual ports, without and with TLS.
    kind: str
    port: int
    tls_port: int
    #: Its link.
    link: type[StreamLink]

    def __init__(self, url: str, tls: str | None = None) -> None:
        """Return once a server that answers has answered; it need not be there."""
        super().__init__(url)
        port = self.port if tls is None else self.tls_port
        endpoint = one_endpoint(url, self.kind, port, tls)
        link = self.link(endpoint, self.counters, self._inbox)
        self._start(link, link, CONNECT_WITHIN)
