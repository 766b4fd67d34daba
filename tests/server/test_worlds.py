"""One world over two servers on different ports, through each broker that joins processes."""

import os
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from flatlands.world.track import UNIT
from tests.brokers.servers import free_port
from tests.brokers.test_contract import BACKENDS
from tests.processes import PATIENCE, ROOT, ServerProcess
from tests.socket_client import SocketClient, together

pytestmark = pytest.mark.process

#: Each protocol once: test_contract.py has them over TLS, over ipc and in other rings as well.
JOINING = ["redis", "rediscluster", "nats", "mqtt", "zeromq", "ring of zeromq"]


@contextmanager
def joined(broker):
    """Run two servers of one world."""
    with BACKENDS[broker]() as url, another(url) as one, another(url) as other:
        yield one, other


@pytest.fixture(scope="module", params=JOINING)
def servers(request):
    with joined(request.param) as servers:
        yield servers


def another(broker):
    """Return one more server of the world, as a context manager."""
    return closing(ServerProcess("--broker", broker, SECRET_KEY="shared"))


@contextmanager
def meeting(*servers):
    """Let a player join on each server; yield them once they know each other."""
    with ExitStack() as stack:
        clients = [SocketClient(server.port) for server in servers]
        for client in clients:
            stack.callback(client.close)
        for name, client in zip("AB", clients, strict=True):
            client.hello(name)
        a, b = clients
        together(clients, lambda: b.model.id in a.model.players and a.model.id in b.model.players)
        yield a, b


@pytest.fixture
def pair(servers):
    """A player on each of the two servers; the two know each other."""
    with meeting(*servers) as clients:
        yield clients


def test_players_of_two_servers_see_each_other_walk_cross_talk_and_leave(pair):
    a, b = pair
    b.go(20 * UNIT, 3 * UNIT)
    together((a, b), lambda: b.model.players[b.model.id].ack == 1)
    together((a, b), lambda: b.at()[0] == 20 * UNIT)
    together((a, b), lambda: a.at(b.model.id) == b.at())
    together((a, b), lambda: a.model.players[b.model.id].square == (1, 0))
    b.send(6, "hello over there")
    together((a, b), lambda: ("B", "hello over there") in a.model.chat)
    b.close(1000)
    together((a,), lambda: b.model.id not in a.model.players)


def test_a_player_goes_on_at_the_other_server(servers, pair):
    a, b = pair
    id, token = b.model.id, b.model.token
    again = SocketClient(servers[0].port).hello("B", token=token)
    assert again.model.id == id
    together((b, again), lambda: b.closed == (4001, "you are playing somewhere else now"))
    again.walk(0, 1)
    together((a, again), lambda: a.model.players[id].ack == 1)
    again.close(1000)


def test_a_killed_servers_players_are_gone_within_five_seconds():
    with joined("redis") as (one, other), meeting(one, other) as (a, b):
        other.kill()
        # Five seconds, and the time that a busy machine takes to show it.
        together((a,), lambda: b.model.id not in a.model.players, seconds=15)


def test_the_procfiles_web_line_serves_on_the_hosts_port():
    lines = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())
    port = free_port()
    environment = {**os.environ, "PORT": str(port), "WEB_CONCURRENCY": "2", "SECRET_KEY": "s"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    web = subprocess.Popen(
        ["sh", "-c", f"exec {lines['web']}"], cwd=ROOT, env=environment, stdout=subprocess.PIPE
    )
    try:
        assert f":{port} ".encode() in web.stdout.readline()
        client = SocketClient(port).hello("Dyno")
        client.walk(1, 0)
        client.until(lambda: client.model.players[client.model.id].ack == 1)
        client.close()
    finally:
        web.terminate()
        assert web.wait(PATIENCE) == 0
        web.stdout.close()
    # Starting the whole file, as honcho does, starts nothing else that listens.
    assert list(lines) == ["web"]
