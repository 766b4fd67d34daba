"""Several workers behind one port."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import gevent
import pytest
from gevent.event import Event

from flatlands.server import settings
from flatlands.server.workers.draining import FINISH_WITHIN_S
from flatlands.server.workers.supervisor import Child, Supervisor
from flatlands.server.workers.worker import Worker
from tests.brokers import redis_servers
from tests.processes import BARE, PATIENCE, ROOT, serving
from tests.quiet import tries
from tests.server.harness import events
from tests.server.servers import shake, stats, until
from tests.server.test_settings import run
from tests.socket_client import SocketClient

pytestmark = pytest.mark.process

#: Options of servers that get no environment from tests/processes.py.
BARE_UNSTORED = "--game", BARE, "--store", "none"


def children(server, what="listen-fd"):
    """Return the workers of a supervisor: its children that serve."""
    command = ["pgrep", "-P", str(server.process.pid), "-f", "--", what]
    found = subprocess.run(command, capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def vanished(messages):
    """Return the players that a client was told are gone, if it believed that: it knew them, and
    nothing newer of them."""
    seqs, found = {}, set()
    for message in messages:
        told = [one[1:] for one in message[4]] if message[0] == 19 else events([message])
        for kind, id, *rest in told:
            if kind == 0:
                seqs[id] = max(seqs.get(id, 0), rest[0])
            elif kind == 3 and id in seqs and rest[0] > seqs[id]:
                found.add(id)
    return found


def none_lives(pids):
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_hangups_in_a_row_replace_all_workers_and_add_none():
    with serving("--workers", "2") as server:
        first = set(children(server))
        seen = set(first)

        def grown(to):
            now = set(children(server))
            seen.update(now)
            return len(seen) >= to and (to == 3 or len(now) == 2)

        server.process.send_signal(signal.SIGHUP)
        until(lambda: grown(3))
        for _ in range(2):
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
        # The first two, two for the first hangup, and two for all hangups that came meanwhile.
        until(lambda: grown(6))
        assert len(seen) == 6
        assert not first & set(children(server))
        assert json.loads(server.get("healthz"))["status"] == "ok"


@pytest.mark.parametrize("after", [0.1, 1.2])
def test_stopping_while_workers_are_replaced_waits_for_all_of_them(after):
    with serving("--workers", "2") as server:
        server.process.send_signal(signal.SIGHUP)
        time.sleep(after)
        seen = children(server, "--")
        server.process.terminate()
        while server.process.poll() is None:
            seen += children(server, "--")
            time.sleep(0.05)
        assert none_lives(seen)


def test_a_child_that_is_just_being_started_is_stopped_with_the_others(monkeypatch):
    made, make = [], Child.__init__

    def slowly(self, *arguments, **more):
        make(self, *arguments, **more)
        made.append(self)
        gevent.sleep(2)

    with supervised("--broker", "null://") as supervisor:
        monkeypatch.setattr(Child, "__init__", slowly)
        replacing = gevent.spawn(supervisor.replace)
        gevent.sleep(0.1)
    assert len(made) == 1 and not made[0].is_alive
    replacing.get(timeout=PATIENCE)


def test_a_worker_that_stops_or_dies_is_started_again_and_a_hangup_of_one_is_ignored():
    with serving("--workers", "2", "--broker", "null://") as server:
        first = children(server)
        assert len(first) == 2
        os.kill(first[0], signal.SIGHUP)
        os.kill(first[1], signal.SIGTERM)
        until(lambda: len(set(children(server)) - {first[1]}) == 2)
        assert first[0] in children(server)
        [second] = set(children(server)) - {first[0]}
        os.kill(first[0], signal.SIGKILL)
        until(lambda: len(set(children(server)) - {first[0]}) == 2)
        assert second in children(server)
        assert json.loads(server.get("healthz"))["status"] == "ok"


def test_no_child_outlives_its_supervisor_nor_does_its_folder(tmp_path):
    with serving("--workers", "2", TMPDIR=str(tmp_path)) as server:
        pids = children(server, "--")
        assert len(pids) == 3 and list(tmp_path.glob("flatlands-*/zmq.pull"))
        server.kill()
        until(lambda: none_lives(pids))
        assert not list(tmp_path.iterdir())


def test_a_client_that_waits_for_a_server_that_stops_is_refused_at_once():
    for _ in tries():
        with serving("--workers", "2") as server:
            clients = meet(server.port, 4)
            server.process.terminate()
            began, waiting = time.monotonic(), []
            with pytest.raises(ConnectionRefusedError):
                while True:
                    # A client that connects just as the server closes its socket gets a reset.
                    with suppress(ConnectionResetError):
                        one = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
                        waiting.append(one)
                    time.sleep(0.02)
            # The clients have not answered, so their worker still waits for them.
            waits = bool(children(server)) and server.process.poll() is None
            took = time.monotonic() - began
            # Clients that came before but were no longer accepted know by now, too.
            for client in waiting:
                with client, suppress(ConnectionResetError, BrokenPipeError):
                    client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    client.recv(4096)
            for client in clients:
                client.close(None)
        # A test that looks later than that has seen nothing.
        if waits or took < FINISH_WITHIN_S:
            break
    assert waits


def test_a_dead_forwarder_is_started_again():
    with serving("--workers", "2") as server:
        clients = meet(server.port, 6)
        program = "flatlands.brokers.zeromq"
        [forwarder] = children(server, program)
        os.kill(forwarder, signal.SIGKILL)
        settle(clients, lambda: children(server, program) not in ([], [forwarder]))
        settle(clients, lambda: all(client.model.linked for client in clients))
        walk(clients, clients[:1])
        for client in clients:
            client.close()


@contextmanager
def supervised(*arguments):
    """Run a supervisor in this process."""
    arguments = ["--workers", "2", "--port", "0", *BARE_UNSTORED, *arguments]
    supervisor = Supervisor(settings.read(arguments, {}), arguments, Event())
    try:
        supervisor.start()
        yield supervisor
    finally:
        supervisor.stop()


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def slots(supervisor):
    """Return the children of a supervisor by their slots; the forwarder's is -1."""
    return supervisor._slots


def await_two(supervisor):
    """Return once two workers serve that were started with Python."""
    until(
        lambda: all(
            child.is_serving and child.process.args[0] == sys.executable
            for child in slots(supervisor).values()
        )
    )


@pytest.mark.parametrize("slot", [0, -1], ids=["worker", "forwarder"])
def test_a_child_that_stands_still_is_killed_and_started_again(monkeypatch, caplog, slot):
    # The others may be late, but not as long as that.
    monkeypatch.setattr("flatlands.server.workers.supervisor.SILENT_MOST_S", 6)
    with supervised() as supervisor:
        frozen = slots(supervisor)[slot]
        frozen.process.send_signal(signal.SIGSTOP)
        until(lambda: slots(supervisor)[slot] is not frozen)
        assert f"{frozen.name} was silent for 6 s: killing and restarting it" in caplog.text
        others = [child for at, child in slots(supervisor).items() if at != slot]
        assert all(child.is_alive and child.is_serving for child in others)
        await_two(supervisor)


def test_a_supervisor_that_stood_still_itself_kills_nobody(monkeypatch):
    monkeypatch.setattr("flatlands.server.workers.supervisor.SILENT_MOST_S", 5)
    with supervised("--broker", "null://") as supervisor:
        first = dict(slots(supervisor))
        # It has no turn of its loop, as after SIGSTOP.
        time.sleep(7)
        gevent.sleep(3)
        assert slots(supervisor) == first and all(child.is_alive for child in first.values())


def test_a_slow_start_ends_no_other_child_and_is_tried_again(tmp_path, monkeypatch, caplog):
    been = tmp_path / "been"
    # The first start of one of the two hangs.
    slow = program(
        tmp_path / "slow", f'mkdir {been} 2> /dev/null && exec sleep 60; exec {sys.executable} "$@"'
    )
    monkeypatch.setattr("flatlands.server.workers.supervisor.START_WITHIN_S", 12)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", slow)
        with supervised("--broker", "null://") as supervisor:
            assert "did not answer within 12 s: killing and restarting it" in caplog.text
            until(lambda: all(child.is_serving for child in slots(supervisor).values()))


def test_workers_that_end_by_themselves_at_the_first_start_end_the_server():
    ended = run("--workers", "2", "--broker", "amqp://x", "--port", "0")
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert "no broker is called 'amqp://x'" in ended.stderr
    assert "no process could start: worker 1 (process " in ended.stderr.splitlines()[-1]


def test_deaf_workers_replace_nobody_until_the_broker_is_back(monkeypatch, caplog):
    monkeypatch.setattr("flatlands.server.workers.supervisor.READY_WITHIN_S", 3)
    monkeypatch.setattr("flatlands.server.workers.supervisor.REPLACE_AFTER_S", 0.5)
    caplog.set_level("INFO")
    with redis_servers.running() as redis:
        with supervised("--broker", f"redis://127.0.0.1:{redis.port}") as supervisor:
            first = dict(slots(supervisor))
            redis.stall()
            replacing = gevent.spawn(supervisor.replace)
            until(lambda: "no worker was replaced" in caplog.text)
            assert "is not ready: " in caplog.text
            assert slots(supervisor) == first and all(child.is_alive for child in first.values())
            redis.resume()
            monkeypatch.setattr("flatlands.server.workers.supervisor.READY_WITHIN_S", PATIENCE)
            until(lambda: "all workers were replaced" in caplog.text)
            replacing.join()
            assert not any(child.is_alive for child in first.values())
            await_two(supervisor)


def test_a_worker_that_dies_at_once_is_not_started_all_the_time(tmp_path, monkeypatch):
    log = tmp_path / "log"
    with supervised("--broker", "null://") as supervisor:
        with monkeypatch.context() as dying:
            dying.setattr(sys, "executable", program(tmp_path / "dying", f"echo >> {log}"))
            slots(supervisor)[0].process.kill()
            until(lambda: log.exists())
            gevent.sleep(4)
        assert 1 <= log.read_text().count("\n") <= 5
        await_two(supervisor)


def test_a_hangup_of_a_single_process_changes_nothing_and_says_so():
    with serving() as server:
        client = SocketClient(server.port).hello("Alone")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: "SIGHUP ignored: it replaces workers" in server.errors())
        client.walk(1, 0)
        client.until(lambda: client.model.players[client.model.id].ack == 1)
        client.close()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_whose_terminal_is_closed_ends(workers):
    pid, terminal = pty.fork()
    if not pid:
        # In the child: a process with its own terminal.
        os.chdir(ROOT)
        # This is for tests under nohup, which a server would obey.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        command = ["-m", "server", "--port", "0", "--workers", workers, "--broker", "null://"]
        os.execv(sys.executable, [sys.executable, *command, *BARE_UNSTORED])
    told = b""
    while b"Ctrl-C stops it)\r\n" not in told:
        told += os.read(terminal, 4096)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def pump(clients, seconds):
    """Let all clients take what comes; bring back, by its token, each one that is sent away. Return
    how many were."""
    sent_away = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for at, client in enumerate(clients):
            client.pump(0.001)
            if client.closed is not None:
                assert client.closed == (1012, "the server restarts")
                sent_away += 1
                name, token = client.name, client.model.token
                client.close(None)
                clients[at] = SocketClient(client.port)
                clients[at].hello(name, (90, 60), token)
    return sent_away


def settle(clients, condition, seconds=PATIENCE):
    """Let all clients take what comes until a condition is true; return how many were sent away."""
    sent_away, deadline = 0, time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        sent_away += pump(clients, 0.2)
    return sent_away


def meet(port, count, others=()):
    """Return `count` clients that have heard of each other; they and `others` read on meanwhile."""
    clients = []
    for n in range(count):
        clients.append(SocketClient(port).hello(f"P{n}", (90, 60)))
        for one in (*clients, *others):
            one.pump()
    settle([*clients, *others], lambda: agree(clients))
    return clients


def agree(clients):
    """Return whether all of them know each other, and where everybody is."""
    return all(
        other.model.id in client.model.players and client.at(other.model.id) == other.at()
        for client in clients
        for other in clients
    )


def walk(clients, some):
    """Let some of the clients walk for half a second, and wait until all know where they stand."""
    for client in some:
        client.walk(1, 0)
    pump(clients, 0.5)
    for client in some:
        client.walk(0, 0)
    settle(clients, lambda: all(c.model.players[c.model.id].ack == c.number for c in some))
    settle(clients, lambda: agree(clients))


def test_replacing_all_workers_sends_everybody_away_once_and_loses_nobody():
    with serving("--workers", "2") as server:
        # They come back one by one: with more clients, the last are late on a busy machine.
        clients = meet(server.port, 10)
        first, ids = set(children(server)), [c.model.id for c in clients]
        for client in clients:
            client.walk(1, 0)
        server.process.send_signal(signal.SIGHUP)
        sent_away = settle(clients, lambda: not first & set(children(server)))
        sent_away += settle(clients, lambda: agree(clients))
        # Old players that might still be seen would be gone by now, and clients would be told so.
        sent_away += pump(clients, 4)
        assert sent_away == len(clients)
        assert [client.model.id for client in clients] == ids
        assert agree(clients)
        for client in clients:
            assert not vanished(client.messages)
        for client in clients:
            client.close()


def test_what_a_game_prints_is_not_taken_for_what_a_worker_says(tmp_path):
    game = tmp_path / "loud.py"
    game.write_text(
        "from flatlands import Game as Engine, every\n\n\n"
        "class Game(Engine):\n    @every(0.2)\n    def beat(self):\n"
        "        print('to', 'and fro', sep=chr(9), flush=True)\n"
    )
    # An empty option counts as none, also for what the supervisor passes to its workers.
    with serving("--workers", "2", "--broker", "", "--game", str(game)) as server:
        first = set(children(server))
        until(lambda: stats(server)["nodes"] == 2)
        until(lambda: server.errors().count("to\tand fro") > 20)
        assert set(children(server)) == first and "Traceback" not in server.errors()


def sources(client, which):
    """Return the nodes, as a client knows them, that have the players whose ids `which` accepts."""
    players = client.model.players.items()
    return {player.place and player.place[1] for id, player in players if which(id)}


# Neighbours at one worker.


def at_one_worker(clients):
    """Return whether each client knows all of them as players of its own worker."""
    ids = {client.model.id for client in clients}
    return all(sources(client, lambda id: id in ids) == {0} for client in clients)


def test_newcomers_are_gathered_at_one_worker_whichever_accepted_them():
    # A player passed on before it plays needs no resync. To a worker that has just stood still
    # nobody is passed on before that.
    for _ in tries():
        resyncs = gathered()
        if resyncs <= 0:
            break
    assert resyncs <= 0


def gathered():
    """Let newcomers be gathered; return how many were resynced, but for those who read too late."""
    with serving("--workers", "3") as server:
        # Players that come before the first plan are passed on while they play.
        clients = meet(server.port, 6)
        settle(clients, lambda: at_one_worker(clients))
        # Workers are told the plan once a second, even those to which none of the players came.
        pump(clients, 2.5)
        passed = stats(server)["counted"].get("passed_on", 0)
        later = meet(server.port, 12, clients)
        # On a quiet machine most connections come to one worker, so try until some come to others.
        while stats(server)["counted"].get("passed_on", 0) == passed and len(later) < 96:
            later += meet(server.port, 12, [*clients, *later])
        everybody = [*clients, *later]
        settle(everybody, lambda: at_one_worker(everybody) and agree(everybody))
        resyncs = sum(c.model.resyncs for c in later)
        resyncs -= stats(server)["counted"].get("lagged", 0)
        walk(everybody, everybody[:5])
        assert stats(server)["counted"]["passed_on"] > passed, "all connections went to one worker"
        told = stats(server)
        assert told["connections"] == told["residents"] == len(everybody)
        assert told["counted"]["joins"] == told["counted"]["connections"] == len(everybody)
        assert told["counted"]["passed_on"] == told["counted"]["taken_in"]
        for client in everybody:
            client.close()
        settle([], lambda: stats(server)["connections"] == 0)
    return resyncs


def fill(server):
    """Return 19 clients at one worker, which accepts 20 and is about to pass on half of them."""
    clients = meet(server.port, 6)
    settle(clients, lambda: at_one_worker(clients))
    while len(clients) < 19:
        clients += meet(server.port, 1)
        pump(clients, 0.02)
    return clients


@pytest.mark.parametrize("slot", [0, 1])
def test_all_come_back_when_a_worker_is_killed_while_players_are_passed_on(slot):
    with serving("--workers", "2", "--max-players", "20") as server:
        clients = fill(server)
        ids = [client.model.id for client in clients]
        first = children(server)
        settle(clients, lambda: not at_one_worker(clients))
        os.kill(first[slot], signal.SIGKILL)
        deadline, replaced = time.monotonic() + PATIENCE, False
        while not (replaced and agree(clients)):
            assert time.monotonic() < deadline, "not everybody came back"
            # The dead worker's connections were closed earlier: clients that had one are told now.
            replaced = bool(set(children(server)) - set(first))
            for at, client in enumerate(clients):
                client.pump(0.01)
                if client.closed is not None:
                    assert client.closed[0] in (1006, 1012, 1013)
                    token = client.model.token
                    client.close(None)
                    time.sleep(0.2)
                    with suppress(AssertionError, OSError):
                        clients[at] = SocketClient(client.port)
                        clients[at].model.token = token
                        clients[at].hello(client.name, (90, 60), token)
        assert [client.model.id for client in clients] == ids
        # No screen shows a player that is not there any more.
        pump(clients, 4)
        settle(clients, lambda: agree(clients))
        for client in clients:
            assert set(client.model.players) == set(ids)
            client.close()


class FullServer:
    """Stands for the server of a worker."""

    loop, full = None, False

    def readiness(self):
        return ["this node is full"] * self.full

    def load(self):
        return None


def test_a_worker_says_at_once_that_it_is_full_and_that_it_has_room_again(monkeypatch):
    monkeypatch.setattr("flatlands.server.workers.worker.LOOKS", 10**9)
    server, (reads, writes) = FullServer(), os.pipe()
    with monkeypatch.context() as patched, open(os.devnull) as commands:
        patched.setattr(sys, "stdin", commands)
        worker = Worker(server, Event(), writes)
    reporting = gevent.spawn(worker._keep_reporting)
    try:
        said = []
        for full in (False, True, False):
            server.full = full
            with gevent.Timeout(PATIENCE):
                gevent.socket.wait_read(reads)
            said.append(os.read(reads, 100))
        assert said == [b"+\t\n", b"=this node is full\t\n", b"+\t\n"]
    finally:
        reporting.kill()
        for end in (reads, writes):
            os.close(end)


def came_late(supervisor, players):
    """Let one more player in; return whether there was a place."""
    try:
        players.append(SocketClient(supervisor.port).hello("Late"))
    except AssertionError as full:
        assert "503 Service Unavailable" in str(full)
        return False
    return True


def test_a_full_server_of_two_workers_answers_newcomers_with_503(monkeypatch):
    ended = Event()
    with supervised("--max-players", "2") as supervisor:
        until(lambda: len(supervisor._taking_slots) == 2)
        gevent.sleep(1)
        # From here on workers are told what changes, but nothing once a second.
        monkeypatch.setattr(Supervisor, "_follow", lambda *_: ended.wait())
        players = [SocketClient(supervisor.port).hello(f"P{n}") for n in range(4)]
        until(lambda: shake(supervisor, "/ws") == 503)
        assert shake(supervisor, "/ws?back") == shake(supervisor, "/ws?watch") == 101
        players.pop().close()
        until(lambda: shake(supervisor, "/ws") == 101)
        # The handshake may still have the place that has become free.
        until(lambda: came_late(supervisor, players))
        until(lambda: shake(supervisor, "/ws") == 503)
        for player in players:
            player.close()
        ended.set()
