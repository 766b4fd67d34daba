"""Requests to a listener in this process: which become WebSockets, and what the others get.

Its clients speak in bytes, over TCP.
"""

import os
import re
import struct
from collections import Counter

import gevent
import pytest
from gevent import socket

from flatlands.server.net import handshake, listener
from flatlands.server.net.frames import frame
from flatlands.server.net.hosts import Hosts
from flatlands.server.net.listener import WebSocketServer
from flatlands.server.runtime.limits import Limits, Proxies
from tests.server.client_frames import client_close, client_frame
from tests.server.servers import until
from tests.socket_client import SocketClient

SENTENCE = re.compile(r"[A-Z].* .*\.")
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
VERSION = "Sec-WebSocket-Version: 13"
SUBPROTOCOL = "Sec-WebSocket-Protocol: {}"
HANDSHAKE = [
    "GET /ws HTTP/1.1",
    "Host: localhost",
    "Upgrade: websocket",
    "Connection: keep-alive, Upgrade",
    VERSION,
    f"Sec-WebSocket-Key: {KEY}",
]


def page(environ, start_response):
    if environ["PATH_INFO"] == "/slow":
        gevent.sleep(0.2)
    body = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}\n".encode()
    if environ["PATH_INFO"] == "/where":
        body = f"{environ['wsgi.url_scheme']}://{environ['SCRIPT_NAME']}".encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


class Echo:
    """A server that sends each message back."""

    def __init__(self, proxies="", protocol=None, listener=("127.0.0.1", 0), **options):
        self.connections, self.ends = [], []
        limits = Limits(Counter(), proxies=Proxies(proxies))
        self.server = WebSocketServer(
            listener, page, self.accept, protocol=protocol, limits=limits, **options
        )
        self.server.start()
        self.port = self.server.server_port

    def accept(self, connection, _environ):
        self.connections.append(connection)
        connection.on_message = lambda opcode, payload: connection.send(frame(payload, opcode))
        connection.on_close = lambda code, reason: self.ends.append((code, reason))


@pytest.fixture
def serve(caplog):
    """A function that starts a server. No server may log an error or keep a connection."""
    caplog.set_level("WARNING")
    started = []

    def start(**options):
        started.append(Echo(**options))
        return started[-1]

    yield start
    for echo in started:
        for connection in echo.connections:
            connection.abort()
    until(lambda: not any(echo.server.limits.connections for echo in started))
    for echo in started:
        echo.server.stop()
    assert not caplog.records


@pytest.fixture
def echo(serve):
    return serve()


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(handshake, "HEAD_TIMEOUT", 0.5)
    monkeypatch.setattr(handshake, "ANSWER_TIMEOUT", 0.5)


class Client:
    """A TCP connection that speaks in bytes."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        # However a test ends, conftest.py closes it.
        SocketClient.sockets.add(self.socket)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, *lines):
        """Send a request; return status, headers with lower-case names, and body of the answer."""
        self.send(request(*lines))
        return self.answer()

    def answer(self):
        status = int(self.file.readline().split()[1])
        lines = iter(lambda: self.file.readline().decode().strip(), "")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        return status, headers, self.file.read(int(headers.get("content-length", 0)))

    def frame(self):
        """Return the server's next frame, which must be short."""
        first, size = self.file.read(2)
        assert first & 0xF0 == 0x80 and size < 126
        return first & 15, self.file.read(size)

    def ended(self):
        assert self.file.read(1) == b""

    def vanish(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.fixture
def client(echo):
    with Client(echo) as client:
        yield client


def request(*lines):
    return "\r\n".join([*lines, "", ""]).encode()


def replaced(old, *new):
    """Return the handshake with the line that begins with `old` replaced by others, or left out."""
    at = next(at for at, line in enumerate(HANDSHAKE) if line.startswith(old))
    return [*HANDSHAKE[:at], *new, *HANDSHAKE[at + 1 :]]


def test_an_upgrade_is_answered_with_the_accept_key_of_the_rfc(client):
    status, headers, _ = client.ask(*HANDSHAKE)
    assert status == 101
    assert headers["upgrade"] == "websocket" and headers["connection"] == "Upgrade"
    assert headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert "sec-websocket-protocol" not in headers
    assert "content-length" not in headers and "transfer-encoding" not in headers


@pytest.mark.parametrize(("proxies", "address"), [("", "127.0.0.1"), ("*", "192.0.2.7")])
def test_a_connection_tells_which_client_is_behind_trusted_proxies(serve, proxies, address):
    echo = serve(proxies=proxies)
    told = "X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 192.0.2.7"
    with Client(echo) as client:
        assert client.ask(*HANDSHAKE, *told)[0] == 101
        assert echo.connections[0].address == address


def test_a_server_that_is_full_leaves_newcomers_to_others_on_its_port(serve, monkeypatch):
    # However busy the machine is, the other server has its turn in this time.
    monkeypatch.setattr(listener, "GIVE_WAY_S", 60)
    full = serve(full=lambda: True)
    other = serve(listener=socket.socket(fileno=os.dup(full.server.socket.fileno())))
    for _ in range(20):
        with Client(full) as client:
            assert client.ask(*HANDSHAKE)[0] == 101
    assert (len(full.connections), len(other.connections)) == (0, 20)
    # The full server takes in newcomers that nobody else does, several at a time.
    other.server.stop()
    monkeypatch.setattr(listener, "GIVE_WAY_S", 0.02)
    full.server.stop_accepting()
    full.server.start_accepting()
    for client in [Client(full) for _ in range(20)]:
        with client:
            assert client.ask(*HANDSHAKE)[0] == 101
    assert len(full.connections) == 20


def is_sentence(body):
    return SENTENCE.fullmatch(body.decode().strip()) is not None


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
    **{
        f"version {number!r}": (replaced(VERSION[:-3], f"{VERSION[:-2]}{number}"), 426)
        for number in ("", "8", "12", "14", "013", "13, 8")
    },
    "no key": (replaced("Sec-WebSocket-Key"), 400),
    **{
        f"a key that {what}": (replaced("Sec-WebSocket-Key", f"Sec-WebSocket-Key: {key}"), 400)
        for what, key in {
            "is empty": "",
            "is no base64": "a*c=",
            "is cut short": KEY[:-1],
            "has 15 bytes": "MTIzNDU2Nzg5MDEyMzQ1",
            "is outside of ASCII": KEY[:-3] + "é==",
        }.items()
    },
    "two keys": ([*HANDSHAKE, f"Sec-WebSocket-Key: {KEY}"], 400),
    "a body": ([*HANDSHAKE, "Content-Length: 5"], 413),
    "a large body": (replaced("GET", "POST / HTTP/1.1", "Content-Length: 100000000000"), 413),
    "a chunked body": ([*HANDSHAKE, "Transfer-Encoding: chunked"], 413),
    **{
        f"a header line {line!r}": ([*HANDSHAKE, line, "X-Forwarded-For: 192.0.2.1"], 400)
        for line in (
            "X : y",
            "X y",
            "X\0: y",
            "Xé: y",
            ": y",
            "X\v: y",
            " folded",
            "X: a\fb",
            "X: a\rb: c",
        )
    },
    "two hosts": ([*HANDSHAKE, "host: elsewhere"], 400),
    "two lengths": ([*HANDSHAKE, "Content-Length: 0", "Content-Length: 0"], 400),
    "a page of another origin": ([*HANDSHAKE, "Origin: https://example.org"], 403),
    "a page that asks why it may not connect": (
        replaced("GET", "POST /ws HTTP/1.1", "Origin: https://example.org"),
        403,
    ),
}


@pytest.mark.parametrize(("lines", "status"), REFUSALS.values(), ids=REFUSALS)
def test_a_wrong_handshake_gets_a_complete_answer_with_a_sentence(client, lines, status):
    found, headers, body = client.ask(*lines)
    assert found == status and is_sentence(body)
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert headers["connection"] == "close"
    if VERSION not in lines:
        assert headers["sec-websocket-version"] == "13"
    client.ended()


@pytest.mark.parametrize(
    "offer", [["flatlands"], ["chat,flatlands , other"], ["chat", "flatlands"]]
)
def test_an_offered_subprotocol_is_named_in_the_answer(serve, offer):
    with Client(serve(protocol="flatlands")) as client:
        status, headers, _ = client.ask(*HANDSHAKE, *map(SUBPROTOCOL.format, offer))
        assert (status, headers["sec-websocket-protocol"]) == (101, "flatlands")


@pytest.mark.parametrize("offer", ["", "chat", "Flatlands", "flatlands2, xflatlands, flat lands"])
def test_a_subprotocol_must_be_offered(serve, offer):
    with Client(serve(protocol="flatlands")) as client:
        status, _, body = client.ask(*HANDSHAKE, *map(SUBPROTOCOL.format, [offer] if offer else []))
        assert status == 400 and is_sentence(body) and b" flatlands." in body
        client.ended()


def test_names_of_headers_and_their_tokens_may_be_in_any_case(client):
    shouted = [*replaced("Upgrade", "UPGRADE: WebSocket"), "Origin: http://localhost"]
    shouted[shouted.index("Connection: keep-alive, Upgrade")] = "Connection: keep-alive,UPGRADE"
    assert client.ask(*shouted)[0] == 101


def test_ordinary_requests_reach_the_application_on_one_connection(client):
    # An upgrade to something else is an ordinary request too.
    for path, *more in (["/"], ["/stats"], ["/", "Upgrade: h2c", "Connection: Upgrade"]):
        answer = client.ask(f"GET {path} HTTP/1.1", "Host: localhost", *more)
        assert answer[::2] == (200, f"GET {path}\n".encode())
    assert client.ask(*HANDSHAKE)[0] == 101


def test_a_head_request_is_answered_without_a_body(client):
    client.send(request("HEAD /ws HTTP/1.1", *HANDSHAKE[1:]))
    head, _, body = client.file.read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 405 Method Not Allowed\r\n") and body == b""


@pytest.mark.parametrize(
    ("garbage", "status"),
    [
        (b"\x16\x03\x01\x02\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET / HTTP/1\r\n\r\n", 400),
        (b"GET / HTTP/x.y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 400),
        # A line without an end.
        (b"GET /" + b"a" * 8187, 414),
        (b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 20_000 + b"\r\n\r\n", 431),
    ],
)
def test_garbage_is_answered_and_no_error_is_logged(client, garbage, status):
    client.send(garbage)
    found, headers, body = client.answer()
    assert (found, headers["connection"]) == (status, "close")
    # A line without an end is answered by gevent itself.
    assert is_sentence(body) == (status != 414)


def test_a_connection_has_a_hundred_requests(client):
    client.send(request("GET / HTTP/1.1", "Host: localhost") * 150)
    answers = client.file.read()
    assert answers.count(b"HTTP/1.1 200") == 100 and answers.count(b"Connection: close") == 1


@pytest.mark.parametrize("head", ["Transfer-Encoding: chunked", "Content-Length: 100000000000"])
def test_an_endless_body_is_not_read(client, head):
    client.send(request("POST / HTTP/1.1", "Host: localhost", head))
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        for _ in range(10_000):
            client.send(b"1\r\nx\r\n" * 10_000)


def test_a_foreign_host_and_a_foreign_origin_are_refused_counted_and_told_what_to_set(serve):
    """test_hosts.py tests which ones are foreign."""
    origin = "Origin: {}".format
    for hosts, asks, what in (
        (
            Hosts(local=True),
            [([one, "Host: evil.example"], 403) for one in ("GET / HTTP/1.1", "GET /ws HTTP/1.1")],
            "hosts",
        ),
        (
            Hosts(["https://a.example"]),
            [
                ([*HANDSHAKE, origin("null")], 403),
                ([*HANDSHAKE, origin("http://localhost")], 101),
                ([*HANDSHAKE, origin("https://a.example")], 101),
            ],
            "origins",
        ),
    ):
        echo = serve(hosts=hosts)
        for lines, status in asks:
            with Client(echo) as client:
                found, _, body = client.ask(*lines)
                assert found == status
                assert status == 101 or f"ALLOWED_{what.upper()}" in body.decode()
        refused = [status for _, status in asks].count(403)
        assert echo.server.stats[f"refused_{what}"] == refused


@pytest.mark.parametrize("target", ["http://LOCALHOST:80/ws", "https://localhost/ws?x=1"])
def test_a_target_may_have_the_address_of_the_server_which_then_counts(serve, target):
    # A name that the header Host gives is not looked at.
    lines = replaced("Host", "Host: elsewhere.example")
    lines[0] = f"GET {target} HTTP/1.1"
    with Client(serve(hosts=Hosts(hosts=["localhost"]))) as client:
        assert client.ask(*lines)[0] == 101
    with Client(serve(hosts=Hosts(hosts=["localhost"]))) as client:
        assert client.ask("GET http://elsewhere.example/ws HTTP/1.1", "Host: localhost")[0] == 403
    with Client(serve()) as client:
        answer = client.ask("GET http://localhost?x HTTP/1.1", "Host: localhost")
        assert answer[::2] == (200, b"GET /\n")


def test_a_full_server_sends_newcomers_to_another_one_and_lets_in_who_may_have_a_place(serve):
    echo = serve()
    echo.server.no_room = lambda: True
    for path, status in (
        ("/ws", 503),
        ("/ws?x=back", 503),
        ("/ws?back", 101),
        ("/ws?x=1&watch", 101),
    ):
        with Client(echo) as client:
            found, headers, _ = client.ask(*replaced("GET", f"GET {path} HTTP/1.1"))
            assert (found, headers.get("retry-after")) == (status, "10" if status == 503 else None)
    # A page that cannot connect asks for the reason.
    with Client(echo) as client:
        assert client.ask("POST /ws HTTP/1.1", "Host: localhost")[0] == 503
    assert echo.server.stats["refused_full"] == 2, "who asks for the reason is counted once"


def test_the_health_of_a_server_is_told_whatever_it_is_called(serve):
    echo = serve(hosts=Hosts(hosts=["flat.example"]))
    for path, status in (("/healthz", 200), ("/readyz", 200), ("/stats", 403), ("/", 403)):
        for host in ("10.0.0.7:8000", "[fd00::7]:8000", "elsewhere.example"):
            with Client(echo) as client:
                assert client.ask(f"GET {path} HTTP/1.1", f"Host: {host}")[0] == status


def come(echo, path, host, scheme, *more):
    """Ask as a proxy whose client came by a scheme. Return the status, how long a browser must keep
    using TLS, and where it is sent."""
    more = [f"X-Forwarded-Proto: {scheme}", *more] if scheme else more
    with Client(echo) as client:
        status, headers, _ = client.ask(f"GET {path} HTTP/1.1", f"Host: {host}", *more)
    strict = headers.get("strict-transport-security", "=0")
    return status, int(strict.split("=")[1]), headers.get("location")


def test_a_client_of_a_trusted_proxy_comes_over_tls_and_goes_on_doing_so(serve):
    echo = serve(proxies="127.0.0.1")
    sent = 308, 0, "https://flat.example/?near=a%20b"
    for host in ("flat.example", "Flat.Example:80"):
        for scheme in ("http", "HTTP, https"):
            assert come(echo, "/?near=a%20b", host, scheme) == sent
    assert come(echo, "/ws", "flat.example", "http")[0] == 308
    for path, code in (("/", 200), ("/ws", 426)):
        status, strict, _ = come(echo, path, "flat.example", "https")
        assert status == code and strict > 86400
    # This machine under its own name, and a proxy that names neither http nor https.
    for host, scheme in (
        *(("localhost", "http"), ("127.0.0.1", "http"), ("localhost", "https")),
        *(("flat.example", None), ("flat.example", "ftp")),
    ):
        assert come(echo, "/", host, scheme) == (200, 0, None)
    for prefix, path in (
        *(("/games/flat", "/games/flat/live"), ("/games/flat/, /x", "/games/flat/live")),
        *(("//evil.example", "/live"), ("/a b", "/live"), ("", "/live")),
    ):
        where = come(echo, "/live", "flat.example", "http", f"X-Forwarded-Prefix: {prefix}")[2]
        assert where == f"https://flat.example{path}"
    # A stranger that is not a trusted proxy is not believed.
    stranger = serve(proxies="192.0.2.1")
    for scheme in ("http", "https"):
        assert come(stranger, "/", "flat.example", scheme) == (200, 0, None)


def test_a_page_behind_a_trusted_proxy_knows_its_scheme_and_path(serve):
    forwarded = "X-Forwarded-Proto: https", "X-Forwarded-Prefix: /games/flat"
    for proxies, where in (("127.0.0.1", b"https:///games/flat"), ("192.0.2.1", b"http://")):
        with Client(serve(proxies=proxies)) as client:
            found = client.ask("GET /where HTTP/1.1", "Host: flat.example", *forwarded)
        assert found[0] == 200 and found[2] == where


def test_a_client_that_vanishes_before_its_answer_was_not_answered(echo):
    with Client(echo) as client:
        client.send(request("GET /slow HTTP/1.1", "Host: localhost"))
        gevent.sleep(0.05)
        client.vanish()
    until(lambda: echo.server.stats["answered_0"] == 1)


def test_a_client_that_vanishes_during_its_handshake_is_no_news(echo):
    for size in range(0, len(request(*HANDSHAKE)) + 1, 20):
        with Client(echo) as client:
            client.send(request(*HANDSHAKE)[:size])
            client.vanish()


def test_half_a_request_line_is_not_waited_for(impatient, client):
    client.send(b"GET /w")
    client.ended()


@pytest.mark.parametrize("drips", [False, True])
def test_half_a_head_gets_a_408_even_if_it_drips(impatient, client, drips):

    def drip():
        while drips:
            gevent.sleep(0.03)
            client.send(b"\r\nA: b")

    client.send(b"GET /ws HTTP/1.1\r\nHost: local")
    dripping = gevent.spawn(drip)
    status, _, body = client.answer()
    assert status == 408 and is_sentence(body)
    dripping.kill()


def test_the_time_limits_of_requests_do_not_end_a_websocket(impatient, client):
    assert client.ask(*HANDSHAKE)[0] == 101
    gevent.sleep(1)
    client.send(client_frame(2, b"still here"))
    assert client.frame() == (2, b"still here")


def test_frames_in_one_segment_with_the_request_keep_their_order(client):
    texts = [b"%d" % n for n in range(3000)]
    stream = b"".join(client_frame(2, text) for text in texts)
    client.send(request(*HANDSHAKE) + stream[:-3])
    assert client.answer()[0] == 101
    assert [client.frame()[1] for _ in texts[1:]] == texts[:-1]
    client.send(stream[-3:])
    assert client.frame()[1] == texts[-1]


def test_a_handshake_and_a_frame_may_come_byte_by_byte(client):
    for byte in request(*HANDSHAKE) + client_frame(1, "byte für byte".encode() * 8):
        client.send(bytes([byte]))
    assert client.answer()[0] == 101
    assert client.frame() == (1, "byte für byte".encode() * 8)


def test_a_close_frame_survives_data_that_was_on_its_way(client):
    """Over TCP, bytes that are still unread at the end would destroy what was sent."""
    assert client.ask(*HANDSHAKE)[0] == 101
    client.send(client_frame(3) + client_frame(2, b"x" * 4000) * 200)
    opcode, payload = client.frame()
    assert opcode == 8 and payload[:2] == b"\x03\xea"
    client.ended()


def test_a_reset_on_either_side_is_1006_and_a_goodbye_has_its_own_code(echo):
    for end in ("vanishes", "is aborted", "says goodbye"):
        with Client(echo) as client:
            assert client.ask(*HANDSHAKE)[0] == 101
            if end == "vanishes":
                client.vanish()
            elif end == "is aborted":
                echo.connections[-1].abort()
                with pytest.raises(ConnectionResetError):
                    client.ended()
            else:
                client.send(client_close(4003, b"bye now"))
                assert client.frame() == (8, b"\x0f\xa3")
                client.ended()
        until(lambda: len(echo.ends) == len(echo.connections))
    assert echo.ends == [(1006, ""), (1006, ""), (4003, "bye now")]
