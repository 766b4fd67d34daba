"""Raw bytes over loopback to the listener in this process: what becomes a WebSocket, and what not.

Frames are held to RFC 6455 by test_frames.py, connections by test_connection.py.
"""

import re
import struct
from collections import Counter

import gevent
import pytest
from gevent import select, socket

from flatlands.server.limits import Limits, Proxies
from flatlands.server.websocket import handshake
from flatlands.server.websocket.frames import close_frame, frame
from flatlands.server.websocket.listener import websocket_server
from tests.server.client_frames import client_close, client_frame

SENTENCE = re.compile(r"[A-Z].* .*\.")
KEY_HEADER = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
HANDSHAKE = [
    "GET /ws HTTP/1.1",
    "Host: localhost",
    "Upgrade: websocket",
    "Connection: keep-alive, Upgrade",
    "Sec-WebSocket-Version: 13",
    KEY_HEADER,
]


def page(environ, start_response):
    body = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}\n".encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


class Place:
    """A listener on loopback that sends messages back, and its clients.

    `ends` has how each connection has ended.
    """

    def __init__(self, proxies="", **options):
        limits = Limits(Counter(), proxies=Proxies(proxies))
        self.server = websocket_server(
            ("127.0.0.1", 0), page, self.accept, limits=limits, **options
        )
        self.server.start()
        self.connections, self.ends, self.clients = [], [], []

    def accept(self, connection, _environ):
        self.connections.append(connection)
        connection.on_message = lambda opcode, payload: connection.send(frame(payload, opcode))
        connection.on_close = lambda *end: self.ends.append(end)

    def connect(self, *lines):
        """Return a client that has sent a request of these lines, if there are any."""
        client = Client(self.server.server_port)
        self.clients.append(client)
        if lines:
            client.send(request(*lines))
        return client

    def upgraded(self, *more):
        client = self.connect(*HANDSHAKE, *more)
        assert client.answer()[0] == 101
        return client

    def close(self):
        self.server.close()
        for closing in (*self.clients, *(c for c in self.connections if c.open)):
            closing.close()
        for connection in self.connections:
            connection.wait()


class Client:
    """A TCP connection that speaks in bytes."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.send, self.close = self.socket.sendall, self.socket.close
        self.left = b""

    def exactly(self, size):
        while len(self.left) < size:
            part = self.socket.recv(65536)
            assert part, f"the server closed behind {self.left!r}"
            self.left += part
        data, self.left = self.left[:size], self.left[size:]
        return data

    def line(self):
        found = b""
        while not found.endswith(b"\r\n"):
            found += self.exactly(1)
        return found[:-2].decode()

    def answer(self):
        """Status, headers with lower-case names, and body of an HTTP answer."""
        status = int(self.line().split()[1])
        headers = {}
        while line := self.line():
            name, value = line.split(": ", 1)
            headers[name.lower()] = value
        return status, headers, self.exactly(int(headers.get("content-length", 0)))

    def ended(self):
        assert (self.left, self.socket.recv(4096)) == (b"", b"")

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def request(*lines):
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.fixture
def opened(caplog):
    """A function that opens a place. Strangers may not make it log a warning."""
    places = []
    yield lambda *args, **options: places.append(Place(*args, **options)) or places[-1]
    for place in places:
        place.close()
    assert [record.message for record in caplog.records if record.levelname != "INFO"] == []


@pytest.fixture
def place(opened):
    return opened(protocol=None)


@pytest.fixture
def impatient(place, monkeypatch):
    monkeypatch.setattr(handshake, "HEAD_TIMEOUT", 0.1)
    monkeypatch.setattr(handshake, "ANSWER_TIMEOUT", 0.1)
    return place


def test_an_upgrade_is_answered_with_the_accept_key_of_the_rfc(place):
    status, headers, _ = place.connect(*HANDSHAKE).answer()
    assert status == 101
    assert headers["upgrade"] == "websocket" and headers["connection"] == "Upgrade"
    assert headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert "sec-websocket-protocol" not in headers
    assert "content-length" not in headers and "transfer-encoding" not in headers


@pytest.mark.parametrize(("proxies", "address"), [("", "127.0.0.1"), ("*", "192.0.2.7")])
def test_a_connection_tells_who_is_behind_the_proxies_that_are_trusted(opened, proxies, address):
    place = opened(proxies, protocol=None)
    place.upgraded("X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 192.0.2.7")
    assert [connection.address for connection in place.connections] == [address]


def replaced(old, *new):
    """The handshake with the line that begins with `old` replaced by others, or by none."""
    at = next(at for at, line in enumerate(HANDSHAKE) if line.startswith(old))
    return [*HANDSHAKE[:at], *new, *HANDSHAKE[at + 1 :]]


def with_key(key):
    return replaced("Sec-WebSocket-Key", f"Sec-WebSocket-Key: {key}")


REFUSALS = {
    "method POST": (replaced("GET", "POST /ws HTTP/1.1"), 405),
    "HTTP/1.0": (replaced("GET", "GET /ws HTTP/1.0"), 400),
    "another path": (replaced("GET", "GET /wss HTTP/1.1"), 404),
    "a path below": (replaced("GET", "GET /ws/ HTTP/1.1"), 404),
    "no Upgrade": (replaced("Upgrade"), 426),
    "another Upgrade": (replaced("Upgrade", "Upgrade: websockets"), 426),
    "no Connection": (replaced("Connection"), 400),
    "another Connection": (replaced("Connection", "Connection: upgraded"), 400),
    "no Host": (replaced("Host"), 400),
    "no version": (replaced("Sec-WebSocket-Version"), 426),
    "no key": (replaced("Sec-WebSocket-Key"), 400),
    "an empty key": (with_key(""), 400),
    "a key that is no base64": (with_key("a*c="), 400),
    "a key cut short": (with_key("dGhlIHNhbXBsZSBub25jZQ="), 400),
    "a key of 15 bytes": (with_key("MTIzNDU2Nzg5MDEyMzQ1"), 400),
    "a key outside of ASCII": (with_key("dGhlIHNhbXBsZSBub25jé=="), 400),
    "two keys": ([*HANDSHAKE, KEY_HEADER], 400),
    "a body": ([*HANDSHAKE, "Content-Length: 5"], 413),
    "a chunked body": ([*HANDSHAKE, "Transfer-Encoding: chunked"], 413),
    "a page of another origin": ([*HANDSHAKE, "Origin: https://example.org"], 403),
}


@pytest.mark.parametrize("lines, status", REFUSALS.values(), ids=REFUSALS)
def test_a_wrong_handshake_gets_a_complete_answer_with_a_sentence(place, lines, status):
    client = place.connect(*lines)
    found, headers, body = client.answer()
    assert found == status
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert headers["connection"] == "close"
    assert SENTENCE.fullmatch(body.decode().strip())
    client.ended()


@pytest.mark.parametrize("version", ["", "8", "12", "14", "013", "13, 8"])
def test_another_version_is_told_the_right_one(place, version):
    line = f"Sec-WebSocket-Version: {version}"
    status, headers, _ = place.connect(*replaced("Sec-WebSocket-Version", line)).answer()
    assert (status, headers["sec-websocket-version"]) == (426, "13")


@pytest.mark.parametrize(
    "offer, good",
    [
        ([], False),
        (["chat"], False),
        (["Flatlands"], False),
        (["flatlands2, xflatlands, flat lands"], False),
        (["flatlands"], True),
        (["chat,flatlands , other"], True),
        (["chat", "flatlands"], True),
    ],
)
def test_a_handshake_must_offer_the_subprotocol_and_is_told_it(opened, offer, good):
    client = opened(protocol="flatlands").connect(
        *HANDSHAKE, *(f"Sec-WebSocket-Protocol: {name}" for name in offer)
    )
    status, headers, body = client.answer()
    if good:
        assert (status, headers["sec-websocket-protocol"]) == (101, "flatlands")
    else:
        assert status == 400
        assert SENTENCE.fullmatch(body.decode().strip()) and b" flatlands." in body
        client.ended()


def test_names_of_headers_and_their_tokens_may_be_in_any_case(place):
    shouted = [*replaced("Upgrade", "UPGRADE: WebSocket"), "Origin: http://localhost"]
    client = place.connect()
    client.send(request(*shouted).replace(b"keep-alive, Upgrade", b"keep-alive,UPGRADE"))
    assert client.answer()[0] == 101


def test_ordinary_requests_reach_the_application_on_one_connection(place):
    client = place.connect()
    for path in ("/", "/stats"):
        client.send(request(f"GET {path} HTTP/1.1", "Host: localhost"))
        assert client.answer()[::2] == (200, f"GET {path}\n".encode())
    client.send(request("GET / HTTP/1.1", "Host: h", "Upgrade: h2c", "Connection: Upgrade"))
    assert client.answer()[0] == 200
    client.send(request(*HANDSHAKE))
    assert client.answer()[0] == 101


def test_a_head_request_is_answered_without_a_body(place):
    client = place.connect("HEAD /ws HTTP/1.1", *HANDSHAKE[1:])
    assert client.line() == "HTTP/1.1 405 Method Not Allowed"
    while client.line():
        pass
    client.ended()


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1\r\n\r\n",
        b"GET / HTTP/x.y\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    ],
)
def test_what_is_no_request_gets_a_400(place, garbage):
    client = place.connect()
    client.send(garbage)
    status, headers, body = client.answer()
    assert (status, headers["connection"]) == (400, "close")
    assert SENTENCE.fullmatch(body.decode().strip())


def test_a_request_line_without_end_is_cut_off(place):
    client = place.connect()
    client.send(b"GET /" + b"a" * 8187)
    assert client.answer()[0] == 414


def test_a_client_that_vanishes_during_its_handshake_is_no_news(place):
    for size in range(0, len(request(*HANDSHAKE)) + 1, 20):
        client = place.connect()
        client.send(request(*HANDSHAKE)[:size])
        client.reset()
    gevent.sleep(0.05)


def test_half_a_request_line_is_not_waited_for(impatient):
    client = impatient.connect()
    client.send(b"GET /w")
    client.ended()


@pytest.mark.parametrize("drips", [False, True])
def test_half_a_head_gets_a_408(impatient, drips):
    client = impatient.connect()
    client.send(b"GET /ws HTTP/1.1\r\nHost: local")
    while drips and not select.select([client.socket], [], [], 0.02)[0]:
        client.send(b"\r\nA: b")
    status, _, body = client.answer()
    assert status == 408 and SENTENCE.fullmatch(body.decode().strip())
    client.ended()


@pytest.mark.parametrize(
    "header", ["Content-Length: 9", "Content-Length: 100000000000", "Transfer-Encoding: chunked"]
)
def test_a_body_is_refused_before_it_is_read(place, header):
    client = place.connect("POST / HTTP/1.1", "Host: localhost", header)
    status, headers, body = client.answer()
    assert (status, headers["connection"]) == (413, "close")
    assert body == b"No request has a body here.\n"
    client.ended()


def test_the_time_limits_of_requests_do_not_end_a_websocket(impatient):
    client = impatient.upgraded()
    gevent.sleep(0.3)
    client.send(client_frame(2, b"still here"))
    assert client.exactly(12) == frame(b"still here")


# What the listener hands over to a connection.


def test_frames_in_one_segment_with_the_request_are_kept_in_order(place):
    frames = [frame(b"%d" % n) for n in range(3000)]
    sent = b"".join(client_frame(2, b"%d" % n) for n in range(3000))
    client = place.connect()
    client.send(request(*HANDSHAKE) + sent[:-5])
    assert client.answer()[0] == 101
    assert client.exactly(len(b"".join(frames[:-1]))) == b"".join(frames[:-1])
    client.send(sent[-5:])
    assert client.exactly(len(frames[-1])) == frames[-1]


def test_a_handshake_and_a_frame_may_come_byte_by_byte(place):
    client = place.connect()
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in request(*HANDSHAKE) + client_frame(1, b"byte by byte"):
        client.send(bytes([byte]))
        gevent.sleep(0)
    assert client.answer()[0] == 101
    assert client.exactly(14) == frame(b"byte by byte", 1)


def test_a_close_frame_survives_data_that_was_on_its_way(place):
    client = place.upgraded()
    client.send(client_frame(3) + client_frame(2, b"x" * 4000) * 200)
    assert client.exactly(4)[2:] == b"\x03\xea"


def test_a_close_ends_tcp_and_is_told_with_its_code(place):
    client = place.upgraded()
    client.send(client_close(4003, b"bye now"))
    assert client.exactly(4) == close_frame(4003)
    client.ended()
    client.close()
    place.connections[0].wait()
    assert place.ends == [(4003, "bye now")]


@pytest.mark.parametrize("sent", [b"", client_frame(1, b"hello")[:4], client_frame(9)[:1]])
@pytest.mark.parametrize("reset", [False, True])
def test_an_end_without_a_close_is_1006(place, sent, reset):
    client = place.upgraded()
    client.send(sent)
    client.reset() if reset else client.close()
    place.connections[0].wait()
    assert place.ends == [(1006, "")]
