"""What strangers do to a whole server over HTTP, and what its players notice."""

import socket
import time

import pytest

from flatlands.brokers.registry import open_broker
from flatlands.server import settings
from flatlands.server.app import Server
from flatlands.server.net.listener import WebSocketServer
from flatlands.server.runtime.port import listen
from tests.inside import inside
from tests.processes import BARE, serving
from tests.quiet import tries
from tests.server.servers import ask, stats, until
from tests.server.test_handshake import HANDSHAKE, Client
from tests.socket_client import SocketClient

GET = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def server():
    with inside() as server:
        yield server


@pytest.fixture(scope="module")
def slow():
    """A server that spends at most a hundredth of each second on HTTP."""
    with inside("--http-share", "1") as server:
        yield server


@pytest.mark.parametrize("path", [b"/nothing", b"/healthz", b"/main.js"])
def test_a_player_is_answered_between_two_requests_of_one_connection(slow, path):
    for _ in tries():
        player, flood = SocketClient(slow.port).hello("P"), Client(slow).socket
        began = time.monotonic()
        flood.sendall(GET.replace(b"/nothing", path) * 90)
        begun = flood.recv(65536)

        def pongs(player=player):
            return sum(message[0] == 23 for message in player.messages)

        before = pongs()
        player.ping()
        player.until(lambda before=before, pongs=pongs: pongs() > before)
        flood.setblocking(False)
        try:
            begun += flood.recv(1 << 20)
        except BlockingIOError:
            pass
        answers = begun.count(b"HTTP/1.1 ")
        # Who looks later may find that all were answered in turn.
        if answers < 90 or time.monotonic() - began < 0.3:
            break
    assert 0 < answers < 90


def test_strangers_cause_no_traceback_and_little_log_whatever_they_send():
    with inside("--log-level", "DEBUG") as server:
        for _ in range(60):
            with Client(server) as flood:
                flood.send(b"POST /\x1b[2J HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n")
                flood.vanish()
            with Client(server) as flood:
                flood.send(b"\x16\x03\x01" + b"x" * 5000 + b"\r\n\r\n")
                flood.answer()
        assert server.counted()["bad_requests"] >= 60
        server.stop()
        assert "\x1b" not in server.errors()
        logged = server.errors().splitlines()
        lines = [line for line in logged if "Malformed request" in line]
        assert 0 < len(lines) < 60 and max(map(len, lines)) < 320


def handshake(server, *headers):
    """Ask for a WebSocket; return the status and the headers of the answer."""
    return Client(server).ask(*HANDSHAKE, "Sec-WebSocket-Protocol: flatlands", *headers)[:2]


def test_origins_and_hosts_can_be_allowed():
    allowed = ("--allowed-origins", "https://a.example", "--allowed-hosts", "b.example")
    with inside(*allowed) as server:
        assert handshake(server, "Origin: https://a.example")[0] == 101
        for host, status in (("b.example", 200), ("c.example", 403)):
            assert ask(server, "", Host=host)[0] == status


def test_an_address_behind_a_proxy_has_a_limit_of_connections():
    with inside("--trusted-proxies", "127.0.0.1", "--max-per-address", "4") as server:
        told = "X-Forwarded-For: 203.0.113.9, 192.0.2.{}"
        found = [handshake(server, told.format(n)) for n in (1, 1, 1, 1, 1, 2)]
        assert [status for status, _ in found] == [101, 101, 101, 101, 429, 101]
        assert found[4][1]["retry-after"] == "10"


@pytest.mark.process
def test_addresses_in_the_log_are_shortened_if_the_operator_wants_it():
    clients = {"203.0.113.9": "203.0.113.0/24", "2001:db8:7:6::5": "2001:db8:7::/48"}
    for wanted in (False, True):
        options = ("--trusted-proxies", "127.0.0.1", "--access-log")
        with serving(*options, SHORT_ADDRESSES=str(int(wanted))) as server:
            for client in clients:
                told = f"X-Forwarded-For: {client}"
                for more in ((told,), (told, "Origin: https://evil.example")):
                    handshake(server, *more)
                ask(server, "healthz", X_Forwarded_For=client)
            stranger = Client(server)
            stranger.send(b"nonsense\r\n\r\n")
            stranger.answer()
            server.stop()
            log = server.errors()
        shown = clients.values() if wanted else clients
        assert [log.count(f"address='{one}'") for one in shown] == [4, 4]
        assert wanted != any(client in log for client in clients)
        for proxy, is_short in (("127.0.0.1", False), ("127.0.0.0/24", True)):
            assert (f"Malformed request from {proxy}:" in log) == (is_short == wanted)


@pytest.mark.process
def test_newcomers_still_come_in_when_descriptors_run_out():
    with serving(descriptors=160) as server:
        for come, times in ((Client, 200), (handshake, 60)):
            for _ in range(times):
                come(server)
        players = [SocketClient(server.port).hello(f"P{n}") for n in range(20)]
        for _ in range(200):
            Client(server)
        for player in players:
            player.ping()
            player.pump(0.05)
            assert player.closed is None
        SocketClient(server.port).hello("Late")
        told = stats(server)["counted"]
        assert told["evicted"] > 100 and "accept_failed" not in told


def test_odd_close_codes_do_not_each_get_a_counter(server):
    for code in range(3000, 3040):
        SocketClient(server.port).close(code)
    until(lambda: server.counted().get("closed_other", 0) == 40)
    assert not any(name.startswith("closed_3") for name in server.counted())


def test_a_flood_of_pings_is_closed_and_not_answered_for_long(server):
    flood = SocketClient(server.port).hello("F").socket
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        for _ in range(100_000):
            flood.sendall(b"\x89\x80\x00\x00\x00\x00" * 1000)
    assert server.counted()["limited_frames"] == 1


@pytest.mark.process
def test_max_players_does_not_lower_the_limit_of_descriptors():
    with serving("--max-players", "100", descriptors=(256, 4096)) as server:
        with open(f"/proc/{server.process.pid}/limits") as limits:
            line = next(line for line in limits if line.startswith("Max open files"))
        assert line.split()[3:5] == ["4096", "4096"]


def test_a_listener_that_another_process_shuts_causes_one_line_and_no_traceback(caplog, capfd):
    listener = listen("127.0.0.1", 0)
    server = WebSocketServer(listener, lambda environ, start: [], lambda *_: None)
    server.start()
    listener.shutdown(socket.SHUT_RDWR)
    until(lambda: [1 for r in caplog.records if "the listener is closed" in r.message])
    server.close()
    assert "Traceback" not in capfd.readouterr().err


def test_a_server_that_was_shut_before_it_was_opened_stays_shut():
    server = Server(settings.read(["--port", "0"], {"GAME": BARE}), open_broker("memory://shut"))
    port = server.port
    server.shut()
    server.open()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    server.node.loop.end()
