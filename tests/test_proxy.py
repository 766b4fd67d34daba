"""The proxy that makes a link slow, stalls it and cuts it, in front of servers that echo."""

import socket
import socketserver
import struct
import threading
import time
from contextlib import closing

import pytest

from flatlands.proxy import DIRECT, RETRANSMISSION_MS, UNDER_WAY_BYTES, LinkQuality, Proxy
from tests.processes import PATIENCE


class Echo(socketserver.BaseRequestHandler):
    """Answers with what it gets, and says goodbye when its client sends no more."""

    def handle(self):
        while data := self.request.recv(65536):
            if data == b"break off":
                return
            self.request.sendall(data)
        self.request.sendall(b"bye")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@pytest.fixture
def echo():
    """The port of a server that echoes."""
    with Server(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def connected(proxy):
    return socket.create_connection(("127.0.0.1", proxy.port), PATIENCE)


def received(client, size):
    """Return the next bytes that a client gets: `size`, or fewer if the connection ends."""
    data = b""
    while len(data) < size and (more := client.recv(size - len(data))):
        data += more
    return data


def round_trips(client, times):
    """Return how many ms each of some messages takes to be echoed, one after the other."""
    took = []
    for n in range(times):
        began = time.monotonic()
        client.sendall(b"message %d" % n)
        assert received(client, 9) == b"message %d" % n
        took.append((time.monotonic() - began) * 1000)
    return took


def test_a_round_trip_takes_as_much_longer_as_the_link_is_slow(echo):
    with closing(Proxy(echo, LinkQuality(80, 40))) as proxy, connected(proxy) as client:
        first, *others = round_trips(client, 9)
    # A connection is made in a round trip of its own.
    assert first >= 160
    assert min(others) >= 80
    assert max(others) - min(others) > 1


def test_what_is_sent_in_one_go_comes_in_its_order_after_one_delay(echo):
    with closing(Proxy(echo, LinkQuality(60, 60))) as proxy, connected(proxy) as client:
        sent = [b"%06d" % n for n in range(200)]
        began = time.monotonic()
        for one in sent:
            client.sendall(one)
            time.sleep(0.001)
        assert received(client, 1200) == b"".join(sent)
        # One round trip for each would be 12 s.
        assert 0.06 <= time.monotonic() - began < 6


def test_a_lost_packet_holds_up_what_follows_it(echo):
    with closing(Proxy(echo, LinkQuality(loss=100))) as proxy, connected(proxy) as client:
        assert min(round_trips(client, 3)) >= 2 * RETRANSMISSION_MS


def test_of_many_packets_as_many_are_lost_as_was_said():
    def lost(link, size):
        return sum(link.delay(size) > 0 for _ in range(4000)) / 4000

    assert lost(DIRECT, 9999) == lost(LinkQuality(loss=0), 1) == 0
    assert lost(LinkQuality(loss=100), 1) == lost(LinkQuality(loss=100), 0) == 1
    assert 0.07 < lost(LinkQuality(loss=10), 1460) < 0.13
    # A chunk of ten packets comes late if one of them does: 1 - 0.9 ** 10.
    assert 0.6 < lost(LinkQuality(loss=10), 14600) < 0.7


def test_a_client_that_sends_no_more_still_gets_all_answers(echo):
    with closing(Proxy(echo, LinkQuality(50))) as proxy, connected(proxy) as client:
        client.sendall(b"x" * 100_000)
        client.shutdown(socket.SHUT_WR)
        assert received(client, 200_000) == b"x" * 100_000 + b"bye"


def test_a_client_learns_that_the_server_has_gone(echo):
    with closing(Proxy(echo, LinkQuality(20))) as proxy, connected(proxy) as client:
        client.sendall(b"break off")
        assert received(client, 1) == b""


@pytest.mark.parametrize("how", ["closes", "resets"])
def test_a_server_learns_that_its_client_has_gone(how):
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(Proxy(server.getsockname()[1], LinkQuality(20))) as proxy,
    ):
        client = connected(proxy)
        at_server, _ = server.accept()
        with at_server:
            at_server.settimeout(PATIENCE)
            if how == "resets":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            assert at_server.recv(1) == b""


def test_what_is_under_way_is_limited(echo):
    with closing(Proxy(echo, LinkQuality(4000))) as proxy, connected(proxy) as client:
        client.settimeout(0.5)
        sent, least = 0, 64 * UNDER_WAY_BYTES
        with pytest.raises(TimeoutError):
            while sent < least:
                sent += client.send(bytes(65536))


def test_without_a_server_a_connection_ends_at_once_and_later_ones_are_served(echo):
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        nobody = free.getsockname()[1]
    with closing(Proxy(nobody)) as proxy:
        with connected(proxy) as client:
            assert received(client, 1) == b""
        proxy.to_port = echo
        with connected(proxy) as client:
            assert len(round_trips(client, 1)) == 1


def test_a_stalled_link_keeps_what_comes_and_a_cut_one_ends(echo):
    with closing(Proxy(echo)) as proxy, connected(proxy) as client:
        round_trips(client, 1)
        proxy.stall()
        client.sendall(b"late")
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(PATIENCE)
        proxy.flow()
        assert received(client, 4) == b"late"
        proxy.stall()
        proxy.cut()
        assert received(client, 1) == b""


def test_a_closed_proxy_listens_no_more_and_leaves_nothing_behind(echo):
    before = threading.active_count()
    proxy = Proxy(echo, spoil=bytes.upper)
    with connected(proxy) as client:
        client.sendall(b"spoiled")
        assert received(client, 7) == b"SPOILED"
        proxy.close()
        assert received(client, 1) == b""
    with pytest.raises(ConnectionRefusedError):
        connected(proxy)
    # All its threads end, and those of the server.
    ends = time.monotonic() + PATIENCE
    while threading.active_count() > before and time.monotonic() < ends:
        time.sleep(0.01)
    assert threading.active_count() <= before and not proxy._open
