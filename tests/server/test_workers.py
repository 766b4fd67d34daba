"""Several workers behind one port."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import gevent
import pytest

from server import settings
from server.supervisor import Supervisor
from tests.processes import ServerProcess
from tests.server.test_settings import run
from tests.socket_client import SocketClient


def children(pid, what="listen-fd"):
    """Return the workers of a supervisor: its children that serve."""
    command = ["pgrep", "-P", str(pid), "-f", "--", what]
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


def test_two_hangups_in_a_row_replace_all_workers_and_add_none():
    server = ServerProcess("--workers", "2", "--broker", "null://")
    try:
        first = set(children(server.process.pid))
        for _ in range(3):
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
        seen = set(first)

        def settled():
            now = set(children(server.process.pid))
            seen.update(now)
            # The first, those of the first hangup, and of all that came meanwhile.
            return len(now) == 2 and len(seen) == 6

        until(settled, seconds=40)
        assert not first & set(children(server.process.pid))
        server.process.terminate()
        assert server.process.wait(20) == 0
    finally:
        server.close()


@pytest.mark.parametrize("after", [0.1, 0.5, 1.2])
def test_stopping_while_workers_are_replaced_waits_for_all_of_them(after):
    server = ServerProcess("--workers", "2")
    try:
        server.process.send_signal(signal.SIGHUP)
        time.sleep(after)
        seen = children(server.process.pid, "--")
        server.process.terminate()
        while server.process.poll() is None:
            seen += children(server.process.pid, "--")
            time.sleep(0.05)
        assert server.process.returncode == 0 and "Traceback" not in server.errors()
        assert not any(Path(f"/proc/{pid}").exists() for pid in seen)
    finally:
        server.close()


def test_a_worker_may_be_stopped_alone_and_is_no_hangups_victim():
    server = ServerProcess("--workers", "2", "--broker", "null://")
    try:
        first = children(server.process.pid)
        os.kill(first[0], signal.SIGHUP)
        os.kill(first[1], signal.SIGTERM)
        until(lambda: len(set(children(server.process.pid)) - {first[1]}) == 2)
        assert first[0] in children(server.process.pid)
        server.process.terminate()
        assert server.process.wait(20) == 0
    finally:
        server.close()


def test_no_child_outlives_its_supervisor():
    server = ServerProcess("--workers", "2")
    try:
        pids = children(server.process.pid, "--")
        assert len(pids) == 3
        server.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    finally:
        server.close()


def test_a_dead_forwarder_is_started_again():
    server = ServerProcess("--workers", "2")
    try:
        clients = meet(server.port, 6)
        [forwarder] = children(server.process.pid, "brokers.zeromq")
        os.kill(forwarder, signal.SIGKILL)
        clients[0].walk(1, 0)
        pump(clients, 4)
        assert children(server.process.pid, "brokers.zeromq") not in ([], [forwarder])
        clients[0].walk(0, 0)
        pump(clients, 1)
        agree(clients)
        assert all(client.model.linked for client in clients)
        for client in clients:
            client.close()
    finally:
        server.process.terminate()
        assert server.process.wait(30) == 0
        server.close()


@pytest.fixture
def supervisor():
    arguments = ["--workers", "2", "--broker", "null://", "--port", "0"]
    supervisor = Supervisor(settings.read(arguments, {}), arguments)
    supervisor.start()
    yield supervisor
    supervisor.stop()


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def await_two(supervisor):
    """Return once two children run that were started with Python."""
    deadline = time.monotonic() + 20
    while not all(
        child.alive and child.process.args[0] == sys.executable
        for child in supervisor._slots.values()
    ):
        assert time.monotonic() < deadline, "a slot was lost"
        gevent.sleep(0.1)


def test_a_worker_that_dies_during_a_failed_replacement_is_started_again(
    supervisor, tmp_path, monkeypatch
):
    first = supervisor._slots[0]
    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", program(tmp_path / "broken", "sleep 1; exit 1"))
        replacing = gevent.spawn(supervisor.replace)
        gevent.sleep(0.3)
        first.process.kill()
        replacing.join(10)
    await_two(supervisor)
    assert supervisor._slots[0] is not first


def test_a_worker_that_is_stuck_at_its_start_is_tried_anew(supervisor, tmp_path, monkeypatch):
    with monkeypatch.context() as stuck:
        stuck.setattr(sys, "executable", program(tmp_path / "stuck", "exec sleep 60"))
        stuck.setattr("server.supervisor.START_WITHIN", 0.5)
        supervisor._slots[0].process.kill()
        gevent.sleep(2)
    await_two(supervisor)


def test_a_worker_that_dies_at_once_is_not_started_all_the_time(
    supervisor, tmp_path, monkeypatch
):
    log = tmp_path / "log"
    with monkeypatch.context() as dying:
        dying.setattr(sys, "executable", program(tmp_path / "dying", f"echo >> {log}"))
        supervisor._slots[0].process.kill()
        gevent.sleep(4)
    assert 2 <= log.read_text().count("\n") <= 5
    await_two(supervisor)


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
