"""Several workers behind one port."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from tests.processes import ServerProcess
from tests.server.test_settings import run
from tests.socket_client import SocketClient


def children(pid):
    """Return the workers of a supervisor: its children that serve."""
    command = ["pgrep", "-P", str(pid), "-f", "listen-fd"]
    found = subprocess.run(command, capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


def test_a_dead_worker_is_started_again():
    server = ServerProcess("--workers", "2", "--broker", "null://")
    try:
        first = children(server.process.pid)
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        until(lambda: len(set(children(server.process.pid)) - set(first)) == 1)
        assert first[1] in children(server.process.pid)
        assert json.loads(server.get("healthz"))["status"] == "ok"
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
    finally:
        server.close()


def test_hangup_replaces_all_workers():
    server = ServerProcess("--workers", "2", "--broker", "null://")
    try:
        first = set(children(server.process.pid))
        server.process.send_signal(signal.SIGHUP)

        def replaced():
            now = set(children(server.process.pid))
            return len(now) == 2 and not first & now

        until(replaced)
        assert json.loads(server.get("healthz"))["status"] == "ok"
    finally:
        server.process.terminate()
        server.process.wait(20)
        server.close()


def test_workers_do_not_outlive_their_supervisor():
    server = ServerProcess("--workers", "2", "--broker", "null://")
    try:
        workers = children(server.process.pid)
        server.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    finally:
        server.close()


def test_memory_cannot_join_several_workers():
    ended = run("--workers", "2", "--broker", "memory://", "--port", "0")
    assert ended.returncode == 2
    assert "memory:// joins nobody but one process" in ended.stderr


def pump(clients, seconds):
    """Let all clients take what comes; bring back, by its token, who is sent away."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for at, client in enumerate(clients):
            client.pump(0.001)
            if client.closed is not None:
                assert client.closed == (1012, "the server restarts")
                name, token = client.name, client.model.token
                client.close(None)
                clients[at] = SocketClient(client.port)
                clients[at].hello(name, (90, 60), token)


def meet(port, count):
    """Return so many clients that have had time to hear of each other."""
    clients = [SocketClient(port).hello(f"P{n}", (90, 60)) for n in range(count)]
    pump(clients, 3)
    return clients


def agree(clients):
    """Assert that all of them know each other, and where everybody is."""
    for client in clients:
        for other in clients:
            assert other.model.id in client.model.players
            assert client.at(other.model.id) == other.at()


def test_players_of_several_workers_share_one_world():
    server = ServerProcess("--workers", "3")
    try:
        clients = meet(server.port, 9)
        for client in clients:
            client.walk(1, 0)
        pump(clients, 0.5)
        for client in clients:
            client.walk(0, 0)
        pump(clients, 1)
        agree(clients)
        nodes = {json.loads(server.get("stats"))["node"] for _ in range(30)}
        assert len(nodes) > 1, "all requests went to one worker"
        clients[0].send(6, "hello all")
        pump(clients, 0.5)
        assert all(client.model.heard[-1] == ("P0", "hello all") for client in clients)
        for client in clients:
            client.close()
    finally:
        server.process.terminate()
        assert server.process.wait(30) == 0
        server.close()


def test_replacing_all_workers_loses_nobody_and_shows_no_leave():
    server = ServerProcess("--workers", "2")
    try:
        clients = meet(server.port, 20)
        first, ids = set(children(server.process.pid)), [c.model.id for c in clients]
        for client in clients:
            client.walk(1, 0)
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 30
        while first & set(children(server.process.pid)):
            assert time.monotonic() < deadline, "the old workers never ended"
            pump(clients, 0.2)
        pump(clients, 4)
        assert [client.model.id for client in clients] == ids
        agree(clients)
        for client in clients:
            for message in client.messages:
                if message[0] == 20:
                    assert not [event for event in message[8] if event[0] == 3]
        for client in clients:
            client.close()
    finally:
        server.process.terminate()
        assert server.process.wait(30) == 0
        server.close()


def test_a_killed_workers_players_are_gone_within_five_seconds():
    server = ServerProcess("--workers", "2")
    try:
        clients = meet(server.port, 8)
        os.kill(children(server.process.pid)[0], signal.SIGKILL)
        until(lambda: [c.pump(0.01) for c in clients] and any(c.closed for c in clients))
        lost = {c.model.id for c in clients if c.closed is not None}
        left = [c for c in clients if c.closed is None]
        assert lost and left

        def gone():
            for client in left:
                client.pump(0.01)
            return not any(lost & set(client.model.players) for client in left)

        until(gone, seconds=6)
        agree(left)
        for client in clients:
            client.close()
    finally:
        server.process.terminate()
        assert server.process.wait(30) == 0
        server.close()
