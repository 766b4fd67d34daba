"""Servers for tests that do not keep to their protocol."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gevent.server import StreamServer


@contextmanager
def odd_server(serve: Callable[[Any], object]) -> Iterator[int]:
    """Run a server that calls `serve` with each connection; yield its port."""

    def handle(sock: Any, _address: object) -> None:
        sock.settimeout(5)
        try:
            serve(sock)
        except OSError:
            pass  # the link has given up the connection

    server = StreamServer(("127.0.0.1", 0), handle)
    server.start()
    try:
        yield server.server_port
    finally:
        server.stop()


def nats_login(sock: Any, info: bytes = b"{}") -> bytes:
    """Let a client of NATS log in; return what it sent after its CONNECT."""
    sock.sendall(b"INFO %b\r\n" % info)
    said = b""
    while b"PING\r\n" not in said:
        data = sock.recv(65536)
        if not data:
            raise ConnectionError("the client has left")
        said += data
    sock.sendall(b"PONG\r\n")
    return said.partition(b"\r\n")[2]


def mqtt_login(sock: Any) -> None:
    """Let a client of MQTT log in; it then waits for the answers to its subscription and probe."""
    sock.recv(65536)
    sock.sendall(b"\x20\x03\x00\x00\x00")
