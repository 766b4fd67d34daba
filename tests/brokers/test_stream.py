"""Connections to brokers' servers, which other greenlets may close at any moment."""

import ssl
import time
from contextlib import ExitStack

import gevent
import pytest
from gevent import socket
from gevent import ssl as green_ssl

from flatlands.brokers.stream import StreamConnection, endpoints
from tests.brokers.servers import certify


@pytest.fixture
def meeting():
    """A connection that is not open yet, and a function that returns the server's end of it."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        at = f"127.0.0.1:{server.getsockname()[1]}"
        [endpoint] = endpoints(f"rediss://{at}", "redis", 0, "unverified")
        connection, accepted = StreamConnection(endpoint), []

        def accept():
            accepted.append(server.accept()[0])
            accepted[0].settimeout(5)
            return accepted[0]

        yield connection, accept
        connection.close()
        for end in accepted:
            end.close()


def test_the_next_address_of_a_name_is_tried_if_one_does_not_answer(meeting, monkeypatch):
    connection, accept = meeting
    [good] = socket.getaddrinfo("127.0.0.1", connection.endpoint.port, type=socket.SOCK_STREAM)
    with socket.socket() as deaf, ExitStack() as filling:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        # Once the queue of this socket is full, it drops all that comes.
        for _ in range(4):
            one = filling.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(deaf.getsockname())
        found = [(*good[:4], deaf.getsockname()), good]
        monkeypatch.setattr("flatlands.brokers.stream.socket.getaddrinfo", lambda *_, **__: found)
        assert connection.open(lambda: "open") == "open"
    accept()


def closed_as_bytes_come(connection, send):
    """Close the connection and let bytes come in one turn of the loop, in this order."""
    gevent.spawn_later(0.01, connection.close)
    gevent.sleep(0)
    send()
    time.sleep(0.05)


def test_a_connection_closed_in_its_handshake_ends_with_an_error_of_the_connection(meeting):
    connection, accept = meeting
    opening = gevent.spawn(connection.open, connection.secure)
    end = accept()
    assert end.recv(100), "no handshake begins"
    closed_as_bytes_come(connection, lambda: end.send(b"\x16"))
    with pytest.raises(ConnectionError, match="was closed"):
        opening.get(timeout=5)


def secured(end):
    """Return the server's end after its part of the handshake."""
    key, certificate = certify()
    context = green_ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context.wrap_socket(end, server_side=True)


@pytest.mark.process
@pytest.mark.parametrize("sends", [False, True])
def test_a_connection_closed_as_it_reads_or_sends_ends_with_an_error_of_its_own(meeting, sends):
    connection, accept = meeting
    # Nobody waits for the certificate.
    certify()
    opening = gevent.spawn(connection.open, connection.secure)
    with secured(accept()) as end:
        opening.get(timeout=5)
        if sends:
            busy = gevent.spawn(connection.send, bytes(50_000_000))
        else:
            busy = gevent.spawn(list, connection.chunks())
        gevent.sleep(0.2)
        assert not busy.dead, "all was sent at once"

        def read():
            while end.recv(1_000_000) and not busy.dead and time.monotonic() < until:
                pass

        until = time.monotonic() + 0.05
        closed_as_bytes_come(connection, read if sends else lambda: end.send(b"hello"))
        with pytest.raises(OSError, match="closed"):
            busy.get(timeout=5)
