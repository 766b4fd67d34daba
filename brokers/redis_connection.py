"""Where a Redis server is, and one connection to it that speaks RESP.

It uses gevent's sockets by name, so that it works in a process that is not monkey-patched too.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import gevent
from gevent import socket, ssl
from hiredis import Reader, ReplyError, pack_command

from brokers.base import UNVERIFIED, VERIFIED

#: Seconds in which a connection must be made, secured and let in.
CONNECT_WITHIN = 2.0

#: Bytes that are taken from a socket at a time.
RECEIVE_BYTES = 65536

DEFAULT_PORT = 6379

#: Words -> the bytes of one command. (hiredis' own types allow it but one word.)
pack: Callable[[tuple[str | bytes, ...]], bytes] = pack_command  # type: ignore[assignment]


class Endpoint(NamedTuple):
    """A server, and what it takes to get in."""

    host: str
    port: int
    username: str
    password: str
    tls: ssl.SSLContext | None

    def __str__(self) -> str:
        return f"redis {self.host}:{self.port}"


def endpoints(url: str, tls_scheme: str, tls: str = VERIFIED) -> list[Endpoint]:
    """Return the servers that `scheme://[[user]:password@]host[:port][,host...][?options]` names.

    `tls` is as in `open_broker`; what the URL says counts for more. Raises ValueError, with a
    sentence for the user but without the password.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if "ssl_cert_reqs" in options:
        required = options.pop("ssl_cert_reqs")
        tls = {"required": VERIFIED, "none": UNVERIFIED}.get(required, "")
    tls = options.pop("ssl_ca_certs", tls)
    if options or not tls:
        raise ValueError(
            f"{parts.scheme}:// knows two options: ssl_cert_reqs, which is 'required' or 'none', "
            "and ssl_ca_certs, the path of a file with certificates to trust"
        )
    context = _tls(tls) if parts.scheme == tls_scheme else None
    login, _, hosts = parts.netloc.rpartition("@")
    username, _, password = login.partition(":")
    found = []
    for text in hosts.split(","):
        try:
            one = urlsplit(f"//{text}")
            host, port = one.hostname, one.port or DEFAULT_PORT
        except ValueError:
            host, port = None, 0
        if not host:
            raise ValueError(
                f"{text!r} is no host:port for {parts.scheme}://: name a server, such as "
                f"{parts.scheme}://127.0.0.1:{DEFAULT_PORT}"
            )
        found.append(Endpoint(host, port, unquote(username), unquote(password), context))
    return found


def _tls(tls: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls == VERIFIED:
        context.load_default_certs()
    elif tls == UNVERIFIED:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        try:
            context.load_verify_locations(tls)
        except OSError as error:
            raise ValueError(
                f"{tls!r} is neither {VERIFIED!r}, {UNVERIFIED!r}, nor a file with the "
                f"certificates to trust: {error.strerror or error}"
            ) from None
    return context


class Connection:
    """One connection, to be closed also when it was not opened.

    Every trouble with it is an OSError; nothing is tried twice. One greenlet may send while another
    one reads.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._reader = Reader(protocolError=ConnectionError)
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Connect and prove that the server answers."""
        try:
            with gevent.Timeout(CONNECT_WITHIN):
                self._connect()
                self._enter()
        except gevent.Timeout:
            raise TimeoutError(f"no answer within {CONNECT_WITHIN} s") from None

    def _connect(self) -> None:
        # socket.create_connection() would leave its socket open where a timeout ends it.
        host, port, *_, tls = self._endpoint
        trouble: OSError | None = None
        for family, kind, proto, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        ):
            self._socket = plain = socket.socket(family, kind, proto)
            try:
                plain.connect(address)
            except OSError as error:
                trouble = error
                plain.close()
                continue
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls:
                self._socket = secure = tls.wrap_socket(
                    plain, server_hostname=host, do_handshake_on_connect=False
                )
                secure.do_handshake()
            return
        raise trouble or ConnectionError("its name has no address")

    def _enter(self) -> None:
        *_, username, password, _ = self._endpoint
        if username:
            self.call("AUTH", username, password)
        elif password:
            self.call("AUTH", password)
        self.call("PING")

    def call(self, *command: str) -> Any:
        """Send one command and return its reply; an error is raised. Not while another reads."""
        self.send(pack(command))
        for reply in self.replies():
            if isinstance(reply, ReplyError):
                raise ConnectionError(str(reply))
            return reply

    def send(self, data: bytes) -> None:
        """Send packed commands; waits for as long as the server does not take them."""
        assert self._socket is not None
        if data:
            self._socket.sendall(data)

    def replies(self) -> Iterator[Any]:
        """Yield what the server sends, as it comes: bytes, int, list, None or ReplyError."""
        assert self._socket is not None
        gets = self._reader.gets
        taken = 0
        while True:
            while (reply := gets()) is not False:
                yield reply
            data = self._socket.recv(RECEIVE_BYTES)
            if not data:
                raise ConnectionResetError("the server closed the connection")
            self._reader.feed(data)
            # recv() gives up the greenlet only when nothing is there: in a flood, others must run.
            taken += len(data)
            if taken >= RECEIVE_BYTES:
                taken = 0
                gevent.sleep(0)

    def close(self) -> None:
        """End it at once; again is no error."""
        if self._socket is not None:
            self._socket.close()
