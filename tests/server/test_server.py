"""The whole server over real sockets: what tests of its units cannot show."""

import json
import re
import socket
import time
import urllib.error
from contextlib import closing
from pathlib import Path

import pytest

from flatlands.bot import Bot
from flatlands.server.clients import sessions
from flatlands.server.workers import draining
from tests.inside import inside
from tests.processes import BARE, python, serving
from tests.server.servers import stats, until
from tests.socket_client import PATIENCE, SocketClient, together


@pytest.fixture(scope="module")
def server():
    with inside() as server:
        yield server


@pytest.fixture
def join(server):
    clients = []

    def join_as(name, *, port=None, **options):
        clients.append(SocketClient(port or server.port))
        return clients[-1].hello(name, **options)

    yield join_as
    for client in clients:
        client.close()


def test_pages_health_and_counters_are_served(server):
    assert b"<title>A world</title>" in server.get("")
    assert b"export" in server.get("track.js")
    assert json.loads(server.get("healthz"))["status"] == "ok"
    until(lambda: server.reasons() == [])
    told = stats(server)
    assert {"connections", "residents", "broker", "counted"} <= told.keys()
    for path in ("nothing", "../server/app.py", "%2e%2e/server/app.py"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            server.get(path)
        assert refused.value.code == 404
        refused.value.close()


def test_writes_are_as_far_apart_as_the_operator_wants():
    with inside(FLUSH_EVERY="500") as server, closing(SocketClient(server.port)) as client:
        client.hello("Ada")
        until(lambda: 500 <= stats(server)["flush_interval_ms"] < 750)


def test_a_client_that_only_watches_needs_no_hello_and_is_told_who_plays(monkeypatch):
    monkeypatch.setattr(sessions, "HELLO_WITHIN_MS", 2000)
    with inside() as server:
        watcher = SocketClient(server.port)
        watcher.send(15, 0, -(2**31), -(2**31), 2**31, 2**31)
        watcher.until(lambda: watcher.model.pictures)
        assert watcher.model.totals[0] == 0
        player = SocketClient(server.port).hello("Wren")
        together((watcher, player), lambda: watcher.model.totals[0] == 1)
        square = player.model.players[player.model.id].square
        together((watcher, player), lambda: square in watcher.model.dots)
        # The watcher is still there when a client that says nothing has been closed.
        silent = SocketClient(server.port)
        together((watcher, player, silent), lambda: silent.closed is not None)
        told = stats(server)
        assert watcher.closed is None and told["maps"] == 1 and told["strangers"] >= 1
        watcher.send(15, None, 0, 0, 0, 0)
        assert watcher.until_closed() == (1013, "no hello came in time")
        watcher.close(None)
        together((player,), lambda: stats(server)["maps"] == 0)
        player.close()


def test_a_player_that_says_goodbye_is_gone_at_once_even_if_it_does_not_hang_up(join):
    a, b = join("A"), join("B")
    together((a, b), lambda: a.sees(b))
    b.walk(1, 0)
    b.frame((1000).to_bytes(2, "big"), 8)
    # A player that only fell silent would stay for ten seconds.
    a.until(lambda: not a.sees(b), seconds=8)


def test_a_client_in_the_middle_of_its_handshake_is_also_told_of_a_stop(monkeypatch):
    monkeypatch.setattr(draining, "FINISH_WITHIN_S", PATIENCE)
    with inside() as server:
        idle = SocketClient(server.port).hello("Idle")
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as late:
            late.sendall(b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n")
            assert json.loads(server.get("healthz"))["status"] == "ok"
            server.terminate()
            # The server waits for the answer of the idle client.
            time.sleep(0.3)
            late.sendall(
                b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: flatlands\r\n\r\n"
            )
            answer = b""
            while b"the server restarts" not in answer:
                data = late.recv(4096)
                assert data, answer
                answer += data
        idle.close(None)


def test_without_a_broker_that_answers_players_of_one_node_still_see_each_other():
    # This broker is an outage that never ends: batches that do not come back count all the same.
    with inside("--broker", "null://") as server:
        a, b = SocketClient(server.port).hello("A"), SocketClient(server.port).hello("B")
        together((a, b), lambda: a.sees(b) and b.sees(a))
        b.walk(1, 0)
        b.send(6, "still here")
        together((a, b), lambda: a.model.players[b.model.id].ack == 1 and a.model.chat)
        together((a, b), lambda: not a.model.linked)
        together((a, b), lambda: "does not deliver what" in "".join(server.reasons()))
        assert json.loads(server.get("healthz"))["status"] == "ok"
        for client in (a, b):
            client.close()


@pytest.mark.process
def test_nothing_is_due_after_the_broker_is_closed():
    script = f"""
from gevent import monkey; monkey.patch_all()
import gevent
from flatlands.brokers.registry import open_broker
from flatlands.server import settings
from flatlands.server.app import Server
from flatlands.world.track import Heading
given = settings.read(["--port", "0"], {{"GAME": {BARE!r}}})
server = Server(given, open_broker("memory://"))
server.start()
for n in range(50):
    one = server.node.residents.join(f"P{{n}}", (n * 1024, 0))
    server.node.movement.act(one, 1, server.node.loop.now(), Heading(1, 0))
gevent.sleep(1)
server.stop()
gevent.sleep(2)
print(server.stats["errors"])
"""
    done = python("-W", "error", "-c", script)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_full_server_says_so_and_that_it_is_not_ready():
    with inside("--max-players", "1") as server:
        a = SocketClient(server.port).hello("A")
        until(lambda: server.reasons() == ["this node is full"])
        with pytest.raises(ConnectionError, match="503"):
            Bot(server.url, "B")
        told = stats(server)
        assert (told["players"], told["players_most"]) == (1, 1)
        metrics = server.get("metrics").decode()
        assert "flatlands_players 1.0\n" in metrics and "flatlands_players_most 1.0\n" in metrics
        # One that is dimmed holds no place.
        a.walk(1, 0)
        a.until(lambda: a.model.players[a.model.id].ack == 1)
        a.close(None)
        until(lambda: not stats(server)["players"] and server.reasons() == [])
        assert stats(server)["residents"] == 1


@pytest.mark.process
def test_an_idle_server_sleeps():
    def wake_ups():
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M)[1])

    with serving() as server:
        time.sleep(1)
        before, began = wake_ups(), time.monotonic()
        time.sleep(4)
        # It wakes for the heartbeat, its echo and the beat, each once a second.
        assert wake_ups() - before <= 10 * (time.monotonic() - began)


def test_a_silent_client_is_pinged_and_then_dropped_and_one_that_answers_stays(monkeypatch):
    quick = {"ROUND_S": 0.5, "ROUND_TURNS": 5, "PING_AFTER_S": 0.3, "DEAD_AFTER_S": 3}
    for name, value in quick.items():
        monkeypatch.setattr(sessions, name, value)
    with inside() as server:
        asleep = [SocketClient(server.port).hello(f"S{n}") for n in range(8)]
        awake = []
        for n in range(3):
            awake.append(SocketClient(server.port).hello(f"A{n}"))
            for client in awake:
                client.pump()
        together(awake, lambda: stats(server)["connections"] == len(awake))
        # Clients that answer are still there after the same time again.
        end = time.monotonic() + 4
        together(awake, lambda: time.monotonic() > end)
        assert all(client.closed is None for client in awake)
        assert stats(server)["counted"]["given_up"] == len(asleep)
        for client in asleep:
            with pytest.raises(ConnectionResetError):
                while client.socket.recv(65536):
                    pass
            client.socket.close()
        for client in awake:
            client.close()
