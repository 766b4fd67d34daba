"""Raw bytes over a real socket to the echo server: handshakes, frames, ends, pressure."""

import os
import re
import select
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.client_frames import client_close, client_frame
from tests.server.violations import LIMIT, VIOLATIONS

pytestmark = pytest.mark.process

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


class Server:
    """The echo server as a process of its own; stop() returns what it wrote to stderr."""

    def __init__(self, errors: Path, *options: str) -> None:
        self.errors = errors
        script = Path(__file__).with_name("echo_server.py")
        with open(errors, "wb") as stderr:
            self.process = subprocess.Popen(
                # Development mode tells of sockets that were never closed.
                [sys.executable, "-X", "dev", script, *options],
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
            )
        try:
            self.port = int(self.line())
        except BaseException:
            # Nobody else could: a fixture that fails to start something has nothing to end.
            self.process.kill()
            self.stop()
            raise

    def line(self) -> str:
        found = b""
        while not found.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], 10)
            assert ready, "the server says nothing"
            byte = os.read(self.process.stdout.fileno(), 1)
            assert byte, f"the server has ended: {self.errors.read_text()}"
            found += byte
        return found.decode().strip()

    def memory(self) -> int:
        """Resident KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def stop(self) -> str:
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        return self.errors.read_text()


class Client:
    """A TCP connection that speaks in bytes."""

    def __init__(self, server: Server, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        self.socket.settimeout(10)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect(("127.0.0.1", server.port))
        self.left = b""

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def exactly(self, size: int) -> bytes:
        parts, have = [self.left], len(self.left)
        while have < size:
            part = self.socket.recv(min(size - have, 1 << 20) if size > 4096 else 4096)
            assert part, f"the server closed behind {b''.join(parts)!r}"
            parts.append(part)
            have += len(part)
        data = b"".join(parts)
        self.left = data[size:]
        return data[:size]

    def line(self) -> str:
        found = b""
        while not found.endswith(b"\r\n"):
            found += self.exactly(1)
        return found[:-2].decode()

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers with lower-case names, and body of an HTTP answer."""
        status = int(self.line().split()[1])
        headers = {}
        while line := self.line():
            name, value = line.split(": ", 1)
            headers[name.lower()] = value
        return status, headers, self.exactly(int(headers.get("content-length", 0)))

    def frame(self) -> tuple[int, bytes]:
        """The server's next frame: whole, final, unmasked, and with the shortest length."""
        first, size = self.exactly(2)
        assert first & 0xF0 == 0x80 and size < 128
        if size >= 126:
            extended, least = (2, 126) if size == 126 else (8, 65536)
            size = int.from_bytes(self.exactly(extended), "big")
            assert size >= least
        return first & 15, self.exactly(size)

    def closed(self) -> tuple[int | None, str]:
        """Code and reason of the server's close frame, behind which TCP must end."""
        opcode, payload = self.frame()
        assert opcode == 8
        self.ended()
        return read_close(payload)

    def ended(self) -> None:
        assert (self.left, self.socket.recv(4096)) == (b"", b"")


def read_close(payload: bytes) -> tuple[int | None, str]:
    if not payload:
        return None, ""
    return struct.unpack("!H", payload[:2])[0], payload[2:].decode()


def request(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode()


def upgraded(server: Server, *more: str, receive_buffer: int | None = None) -> Client:
    client = Client(server, receive_buffer)
    client.send(request(*HANDSHAKE, *more))
    assert client.answer()[0] == 101
    return client


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="module")
def server(directory):
    """Shared by most tests. None of them may make it log an error or leave a socket open."""
    started = Server(directory / "shared", "--quiet", "--light-burst", "100000")
    yield started
    assert started.stop() == ""


@pytest.fixture(scope="module")
def strict(directory):
    """Demands a subprotocol, as the real server does."""
    started = Server(directory / "strict", "--quiet", "--protocol", "flatlands")
    yield started
    assert started.stop() == ""


@pytest.fixture
def telling(directory):
    """Reports every ended connection, and loses patience soon."""
    started = Server(directory / "telling", "--impatient", "--light-burst", "100000")
    yield started
    started.stop()


# The handshake.


def test_an_upgrade_is_answered_with_the_accept_key_of_the_rfc(server):
    with Client(server) as client:
        client.send(request(*HANDSHAKE))
        status, headers, _ = client.answer()
        assert status == 101
        assert headers["upgrade"] == "websocket" and headers["connection"] == "Upgrade"
        assert headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        assert "sec-websocket-protocol" not in headers
        assert "content-length" not in headers and "transfer-encoding" not in headers


@pytest.mark.parametrize(
    ("proxies", "address"), [((), b"127.0.0.1"), (("--trusted-proxies", "*"), b"192.0.2.7")]
)
def test_a_connection_tells_who_is_behind_the_proxies_that_are_trusted(directory, proxies, address):
    server = Server(directory / "proxied", "--quiet", *proxies)
    with upgraded(server, "X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 192.0.2.7") as client:
        client.send(client_frame(1, b"/address"))
        assert client.frame() == (1, address)
    server.stop()


def replaced(old: str, *new: str) -> list[str]:
    """The handshake with the line that begins with `old` replaced by others, or by none."""
    at = next(at for at, line in enumerate(HANDSHAKE) if line.startswith(old))
    return [*HANDSHAKE[:at], *new, *HANDSHAKE[at + 1 :]]


REFUSALS = [
    ("method POST", replaced("GET", "POST /ws HTTP/1.1"), 405),
    ("HTTP/1.0", replaced("GET", "GET /ws HTTP/1.0"), 400),
    ("another path", replaced("GET", "GET /wss HTTP/1.1"), 404),
    ("a path below", replaced("GET", "GET /ws/ HTTP/1.1"), 404),
    ("no Upgrade", replaced("Upgrade"), 426),
    ("another Upgrade", replaced("Upgrade", "Upgrade: websockets"), 426),
    ("no Connection", replaced("Connection"), 400),
    ("another Connection", replaced("Connection", "Connection: upgraded"), 400),
    ("no Host", replaced("Host"), 400),
    ("no version", replaced("Sec-WebSocket-Version"), 426),
    ("version 12", replaced("Sec-WebSocket-Version", "Sec-WebSocket-Version: 12"), 426),
    ("no key", replaced("Sec-WebSocket-Key"), 400),
    ("an empty key", replaced("Sec-WebSocket-Key", "Sec-WebSocket-Key:"), 400),
    ("a key that is no base64", replaced("Sec-WebSocket-Key", "Sec-WebSocket-Key: a*c="), 400),
    ("a key cut short", replaced("Sec-WebSocket-Key", KEY_HEADER[:-1]), 400),
    (
        "a key of 15 bytes",
        replaced("Sec-WebSocket-Key", "Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1"),
        400,
    ),
    ("a key outside of ASCII", replaced("Sec-WebSocket-Key", KEY_HEADER[:-3] + "é=="), 400),
    ("two keys", [*HANDSHAKE, KEY_HEADER], 400),
    ("a body", [*HANDSHAKE, "Content-Length: 5"], 413),
    ("a chunked body", [*HANDSHAKE, "Transfer-Encoding: chunked"], 413),
    ("a page of another origin", [*HANDSHAKE, "Origin: https://example.org"], 403),
]


@pytest.mark.parametrize(
    "lines, status", [row[1:] for row in REFUSALS], ids=[r[0] for r in REFUSALS]
)
def test_a_wrong_handshake_gets_a_complete_answer_with_a_sentence(server, lines, status):
    with Client(server) as client:
        client.send(request(*lines) + b"hello" * ("Content-Length: 5" in lines))
        if "Transfer-Encoding: chunked" in lines:
            client.send(b"0\r\n\r\n")
        found, headers, body = client.answer()
        assert found == status
        assert headers["content-type"] == "text/plain; charset=utf-8"
        assert headers["connection"] == "close"
        assert SENTENCE.fullmatch(body.decode().strip())
        client.ended()


@pytest.mark.parametrize("version", ["", "8", "12", "14", "013", "13, 8"])
def test_another_version_is_told_the_right_one(server, version):
    with Client(server) as client:
        line = f"Sec-WebSocket-Version: {version}"
        client.send(request(*replaced("Sec-WebSocket-Version", line)))
        status, headers, _ = client.answer()
        assert (status, headers["sec-websocket-version"]) == (426, "13")


@pytest.mark.parametrize(
    "offer",
    [
        [],
        ["Sec-WebSocket-Protocol: chat"],
        ["Sec-WebSocket-Protocol: Flatlands"],
        ["Sec-WebSocket-Protocol: flatlands2, xflatlands, flat lands"],
    ],
)
def test_a_handshake_without_the_subprotocol_is_refused(strict, offer):
    with Client(strict) as client:
        client.send(request(*HANDSHAKE, *offer))
        status, _, body = client.answer()
        assert status == 400
        assert SENTENCE.fullmatch(body.decode().strip()) and b" flatlands." in body
        client.ended()


@pytest.mark.parametrize(
    "offer",
    [
        ["Sec-WebSocket-Protocol: flatlands"],
        ["Sec-WebSocket-Protocol: chat,flatlands , other"],
        ["Sec-WebSocket-Protocol: chat", "Sec-WebSocket-Protocol: flatlands"],
    ],
)
def test_a_handshake_that_offers_the_subprotocol_is_told_it(strict, offer):
    with Client(strict) as client:
        client.send(request(*HANDSHAKE, *offer))
        status, headers, _ = client.answer()
        assert (status, headers["sec-websocket-protocol"]) == (101, "flatlands")


def test_names_of_headers_and_their_tokens_may_be_in_any_case(server):
    with Client(server) as client:
        shouted = [*replaced("Upgrade", "UPGRADE: WebSocket"), "Origin: http://localhost"]
        client.send(request(*shouted).replace(b"keep-alive, Upgrade", b"keep-alive,UPGRADE"))
        assert client.answer()[0] == 101


def test_ordinary_requests_reach_the_application_on_one_connection(server):
    with Client(server) as client:
        for path in ("/", "/stats"):
            client.send(request(f"GET {path} HTTP/1.1", "Host: localhost"))
            assert client.answer()[::2] == (200, f"GET {path}\n".encode())
        client.send(request(*HANDSHAKE))
        assert client.answer()[0] == 101


def test_an_upgrade_to_something_else_is_an_ordinary_request(server):
    with Client(server) as client:
        client.send(request("GET / HTTP/1.1", "Host: h", "Upgrade: h2c", "Connection: Upgrade"))
        assert client.answer()[0] == 200


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
def test_what_is_no_request_gets_a_400_and_nothing_is_logged(server, garbage):
    with Client(server) as client:
        client.send(garbage)
        status, headers, body = client.answer()
        assert (status, headers["connection"]) == (400, "close")
        assert SENTENCE.fullmatch(body.decode().strip())


def test_a_request_line_without_end_is_cut_off(server):
    with Client(server) as client:
        client.send(b"GET /" + b"a" * 8187)
        assert client.answer()[0] == 414


def test_a_client_that_vanishes_during_its_handshake_is_no_news(server):
    for size in range(0, len(request(*HANDSHAKE)) + 1, 20):
        with Client(server) as client:
            client.send(request(*HANDSHAKE)[:size])
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_half_a_request_line_is_not_waited_for(telling):
    with Client(telling) as client:
        client.send(b"GET /w")
        client.ended()


def test_half_a_head_gets_a_408(telling):
    with Client(telling) as client:
        client.send(b"GET /ws HTTP/1.1\r\nHost: local")
        status, _, body = client.answer()
        assert status == 408 and SENTENCE.fullmatch(body.decode().strip())
        client.ended()


def test_a_head_that_drips_gets_a_408(telling):
    with Client(telling) as client:
        client.send(b"GET /ws HTTP/1.1\r\n")
        while not select.select([client.socket], [], [], 0.05)[0]:
            client.send(b"A: b\r\n")
        assert client.answer()[0] == 408


@pytest.mark.parametrize(
    "header", ["Content-Length: 9", "Content-Length: 100000000000", "Transfer-Encoding: chunked"]
)
def test_a_body_is_refused_before_it_is_read(telling, header):
    with Client(telling) as client:
        client.send(request("POST / HTTP/1.1", "Host: localhost", header))
        status, headers, body = client.answer()
        assert (status, headers["connection"]) == (413, "close")
        assert body == b"No request has a body here.\n"
        client.ended()
    assert telling.stop() == ""


def test_the_time_limits_of_requests_do_not_end_a_websocket(telling):
    with upgraded(telling) as client:
        assert not select.select([client.socket], [], [], 0.8)[0]
        client.send(client_frame(2, b"still here"))
        assert client.frame() == (2, b"still here")


# Frames.


@pytest.mark.parametrize(
    "stream, code", [row[1:] for row in VIOLATIONS], ids=[row[0] for row in VIOLATIONS]
)
def test_a_violation_ends_with_its_code_and_a_sentence(server, stream, code):
    with upgraded(server) as client:
        client.send(stream)
        opcode, payload = client.frame()
        while opcode != 8:  # answers to what was valid
            opcode, payload = client.frame()
        client.ended()
        found, reason = read_close(payload)
        assert found == code
        assert SENTENCE.fullmatch(reason)


ECHOES = [
    ("an empty text", client_frame(1), [(1, b"")]),
    ("an empty binary", client_frame(2), [(2, b"")]),
    *[
        (f"{size} bytes", client_frame(2, b"x" * size), [(2, b"x" * size)])
        for size in (1, 125, 126, 127, LIMIT)
    ],
    ("text beyond ASCII", client_frame(1, "é€𝄞".encode()), [(1, "é€𝄞".encode())]),
    (
        "a text in fragments, the first one empty",
        client_frame(1, fin=False) + client_frame(0, b"b"),
        [(1, b"b")],
    ),
    (
        "a character in two fragments",
        client_frame(1, "é".encode()[:1], fin=False) + client_frame(0, "é".encode()[1:]),
        [(1, "é".encode())],
    ),
    ("only empty fragments", client_frame(2, fin=False) + client_frame(0), [(2, b"")]),
    (
        "a ping between two fragments",
        client_frame(1, b"a", fin=False) + client_frame(9, b"p") + client_frame(0, b"b"),
        [(10, b"p"), (1, b"ab")],
    ),
    ("a ping of 125 bytes", client_frame(9, b"p" * 125), [(10, b"p" * 125)]),
    (
        "pings in a row, then a message",
        b"".join(client_frame(9, bytes([n])) for n in range(9)) + client_frame(2, b"m"),
        [*[(10, bytes([n])) for n in range(9)], (2, b"m")],
    ),
    ("a message, then a ping", client_frame(2, b"m") + client_frame(9), [(2, b"m"), (10, b"")]),
    ("a pong that nobody asked for", client_frame(10, b"?") + client_frame(2), [(2, b"")]),
    ("a mask of zeroes", client_frame(2, b"abc", key=bytes(4)), [(2, b"abc")]),
]


@pytest.mark.parametrize("stream, answers", [row[1:] for row in ECHOES], ids=[r[0] for r in ECHOES])
def test_valid_frames_are_answered_in_order(server, stream, answers):
    with upgraded(server) as client:
        client.send(stream)
        assert [client.frame() for _ in answers] == answers
        client.send(client_close(1000))
        assert client.closed() == (1000, "")


def test_a_frame_in_one_segment_with_the_request_is_not_lost(server):
    with Client(server) as client:
        client.send(request(*HANDSHAKE) + client_frame(2, b"early") + client_frame(2, b"late")[:5])
        assert client.answer()[0] == 101
        assert client.frame() == (2, b"early")
        client.send(client_frame(2, b"late")[5:])
        assert client.frame() == (2, b"late")


def test_many_frames_in_one_segment_with_the_request_keep_their_order(server):
    with Client(server) as client:
        texts = [b"%d" % n for n in range(3000)]
        client.send(request(*HANDSHAKE) + b"".join(client_frame(2, text) for text in texts))
        assert client.answer()[0] == 101
        assert [client.frame()[1] for _ in texts] == texts


def test_a_handshake_and_a_frame_may_come_byte_by_byte(server):
    with Client(server) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in request(*HANDSHAKE) + client_frame(1, "byte für byte".encode() * 20):
            client.send(bytes([byte]))
        assert client.answer()[0] == 101
        assert client.frame() == (1, "byte für byte".encode() * 20)


def test_messages_before_a_violation_are_answered(server):
    with upgraded(server) as client:
        client.send(client_frame(2, b"good") + client_frame(3) + client_frame(2, b"never"))
        assert client.frame() == (2, b"good")
        assert client.closed()[0] == 1002


# The end.


@pytest.mark.parametrize("code", [1000, 1001, 1002, 1003, 1007, 1011, 1012, 1014, 3000, 4001, 4999])
def test_the_code_of_a_close_is_echoed(server, code):
    with upgraded(server) as client:
        client.send(client_close(code, b"a reason"))
        assert client.closed() == (code, "")


def test_an_empty_close_is_answered_with_an_empty_one(server):
    with upgraded(server) as client:
        client.send(client_frame(8))
        assert client.closed() == (None, "")


def test_a_close_of_125_bytes_is_valid(server):
    with upgraded(server) as client:
        client.send(client_close(1000, b"r" * 123))
        assert client.closed() == (1000, "")


def test_frames_behind_a_close_are_not_answered(server):
    with upgraded(server) as client:
        client.send(client_close(1000) + client_frame(2, b"m") + client_frame(9))
        assert client.closed() == (1000, "")


def test_the_server_closes_with_code_and_reason_and_waits_for_the_answer(telling):
    with upgraded(telling) as client:
        client.send(client_frame(1, b"/close 4001 too many of you") + client_frame(2, b"m"))
        assert client.frame() == (8, b"\x0f\xa1too many of you")
        client.send(client_frame(2, b"from before I knew"))
        client.send(client_close(4001))
        client.ended()
    assert telling.line() == "closed 4001 too many of you"


def test_a_close_that_is_never_answered_ends_after_its_time(telling):
    with upgraded(telling) as client:
        client.send(client_frame(1, b"/close 4002 go away"))
        assert client.closed() == (4002, "go away")
    assert telling.line() == "closed 4002 go away"


def test_a_close_frame_survives_data_that_was_on_its_way(server):
    with upgraded(server) as client:
        client.send(client_frame(3) + client_frame(2, b"x" * 4000) * 200)
        assert client.closed()[0] == 1002


def test_a_client_that_hangs_up_after_a_close_is_reported_with_its_own_code(telling):
    with upgraded(telling) as client:
        client.send(client_close(4003, b"bye now"))
        assert client.closed() == (4003, "")
    assert telling.line() == "closed 4003 bye now"


@pytest.mark.parametrize("sent", [b"", client_frame(1, b"hello")[:4], client_frame(9)[:1]])
def test_an_end_without_a_close_is_1006(telling, sent):
    with upgraded(telling) as client:
        client.send(sent)
        client.socket.shutdown(socket.SHUT_WR)
        client.ended()
    assert telling.line() == "closed 1006"


def test_a_reset_is_1006(telling):
    with upgraded(telling) as client:
        client.send(client_frame(9))
        assert client.frame() == (10, b"")
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert telling.line() == "closed 1006"


def test_an_abort_is_1006(telling):
    with upgraded(telling) as client:
        client.send(client_frame(1, b"/abort"))
        with pytest.raises(ConnectionResetError):
            client.ended()
    assert telling.line() == "closed 1006"


def test_a_violation_is_reported_with_its_code(telling):
    with upgraded(telling) as client:
        client.send(client_frame(3))
        assert client.closed()[0] == 1002
    assert telling.line() == "closed 1002 Opcode 3 is not defined."


def test_a_handler_that_fails_closes_with_1011_and_one_traceback(telling):
    with upgraded(telling) as client, upgraded(telling) as other:
        client.send(client_frame(1, b"/fail") * 3)
        code, reason = client.closed()
        assert code == 1011 and SENTENCE.fullmatch(reason)
        other.send(client_frame(2, b"unharmed"))
        assert other.frame() == (2, b"unharmed")
    assert telling.stop().count("RuntimeError: asked to fail") == 1


# Pressure.


def pattern(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def test_a_slow_reader_gets_a_big_frame_intact(server):
    with upgraded(server, receive_buffer=8192) as client:
        client.send(client_frame(1, b"/big 6000000"))
        assert client.exactly(2000) == b"\x82\x7f" + struct.pack("!Q", 6_000_000) + pattern(1990)
        assert client.exactly(5_998_010) == pattern(6_000_000)[1990:]
        client.send(client_frame(2, b"and on"))
        assert client.frame() == (2, b"and on")


def test_control_frames_wait_for_a_half_written_frame(server):
    with upgraded(server, receive_buffer=8192) as client:
        client.send(client_frame(1, b"/big 3000000"))
        assert client.exactly(10) == b"\x82\x7f" + struct.pack("!Q", 3_000_000)
        client.send(client_frame(9, b"one") + client_frame(9, b"two"))
        client.send(client_close(4001))
        assert client.exactly(3_000_000) == pattern(3_000_000)
        assert [client.frame(), client.frame()] == [(10, b"one"), (10, b"two")]
        assert client.closed() == (4001, "")


def test_messages_behind_a_half_written_frame_stay_whole(server):
    with upgraded(server, receive_buffer=8192) as client:
        texts = [b"%d" % n * 300 for n in range(500)]
        client.send(client_frame(1, b"/big 1000000"))
        client.send(b"".join(client_frame(2, text) for text in texts))
        assert client.frame() == (2, pattern(1_000_000))
        assert [client.frame()[1] for _ in texts] == texts


def test_a_flood_of_pings_that_reads_nothing_is_cut_off_and_costs_no_memory(telling):
    before = telling.memory()
    flood = client_frame(9, b"p" * 125) * 500
    with upgraded(telling, receive_buffer=8192) as client, upgraded(telling) as other:
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            for _ in range(1000):
                client.send(flood)
        assert telling.line() == "closed 1006"
        assert telling.memory() - before < 4096
        other.send(client_frame(2, b"unharmed"))
        assert other.frame() == (2, b"unharmed")


def test_a_flood_of_pings_that_reads_gets_every_pong(server):
    with upgraded(server) as client:
        for _ in range(20):
            client.send(client_frame(9, b"p") * 1000)
            assert client.exactly(3000) == b"\x8a\x01p" * 1000


def test_a_close_behind_a_stuck_frame_is_given_up(telling):
    with upgraded(telling, receive_buffer=8192) as client:
        client.send(client_frame(1, b"/big 9000000") + client_frame(1, b"/close 4004 too slow"))
        assert telling.line() == "closed 4004 too slow"
        with pytest.raises(ConnectionResetError):
            client.exactly(9_000_000)


def test_a_head_request_is_answered_without_a_body(server):
    with Client(server) as client:
        client.send("\r\n".join(["HEAD /ws HTTP/1.1", *HANDSHAKE[1:], "", ""]).encode())
        assert client.line() == "HTTP/1.1 405 Method Not Allowed"
        while client.line():
            pass
        assert client.socket.recv(100) == b""
