"""One world over two servers of their own ports, through each broker that joins processes."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from flatlands.world.track import UNIT
from tests.brokers import redis_servers, zeromq_forwarders
from tests.brokers.test_contract import BACKENDS
from tests.processes import PATIENCE, ROOT, ServerProcess
from tests.socket_client import SocketClient, together

pytestmark = pytest.mark.process

JOINING = [name for name in BACKENDS if not name.startswith(("memory", "ring of memory"))]


@pytest.fixture(scope="module", params=JOINING)
def broker(request):
    with BACKENDS[request.param]() as url:
        yield url


@pytest.fixture(scope="module")
def servers(broker):
    """Two servers of one world."""
    with ExitStack() as stack:
        yield [stack.enter_context(another(broker)) for _ in "AB"]


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
    """A player on each of the two servers, who know each other."""
    with meeting(*servers) as clients:
        yield clients


def test_players_of_two_servers_see_each_other_walk_cross_talk_and_leave(pair):
    a, b = pair
    b.go(20 * UNIT, 3 * UNIT)
    together((a, b), lambda: b.model.players[b.model.id].ack == 1)
    together((a, b), lambda: b.at()[0] == 20 * UNIT)
    together((a, b), lambda: a.at(b.model.id) == b.at())
    assert a.model.players[b.model.id].square == (1, 0)
    b.send(6, "hello over there")
    together((a, b), lambda: ("B", "hello over there") in a.model.chat)
    b.close(1000)
    together((a,), lambda: b.model.id not in a.model.players)


def test_a_player_goes_on_at_the_other_server(servers, pair):
    a, b = pair
    id, token = b.model.id, b.model.token
    again = SocketClient(servers[0].port).hello("B", token=token)
    assert again.model.id == id
    together((b, again), lambda: b.closed == (4001, "you went on playing somewhere else"))
    again.walk(0, 1)
    together((a, again), lambda: a.model.players[id].ack == 1)
    again.close(1000)


def test_a_killed_servers_players_are_gone_within_five_seconds(broker, servers):
    with another(broker) as third, meeting(servers[0], third) as (a, b):
        third.kill()
        # After five, and what a busy machine takes to show it.
        together((a,), lambda: b.model.id not in a.model.players, seconds=15)


@pytest.fixture(params=["redis", "zeromq"])
def mortal(request):
    """A broker that can be killed and started again, and its URL."""
    if request.param == "redis":
        with redis_servers.running() as redis:
            yield redis, f"redis://127.0.0.1:{redis.port}"
    else:
        with zeromq_forwarders.forwarding() as forwarder:
            yield forwarder, forwarder.url


def test_an_outage_of_the_broker_in_mid_walk(mortal):
    broker, url = mortal
    servers = [ServerProcess("--broker", url, SECRET_KEY="shared") for _ in "AB"]
    clients = [SocketClient(servers[n].port).hello(name) for n, name in enumerate("AB")]
    clients.append(SocketClient(servers[0].port).hello("C"))
    try:
        a, b, c = clients
        together(clients, lambda: all(len(client.model.players) == 3 for client in clients))
        c.walk(1, 0)
        together(clients, lambda: a.model.players[c.model.id].ack == 1)
        broker.kill()
        together(clients, lambda: not a.model.linked and not b.model.linked)
        # Players of one node go on seeing each other, and nobody is taken for dead.
        c.walk(0, 1)
        b.walk(0, -1)
        together(clients, lambda: a.model.players[c.model.id].ack == 2)
        begun = time.monotonic()
        together(clients, lambda: time.monotonic() - begun > 5)
        assert b.model.id in a.model.players
        c.walk(0, 0)
        b.walk(0, 0)
        broker.start()
        together(clients, lambda: a.model.linked and b.model.linked)
        together(clients, lambda: all(agree(client, clients) for client in clients))
    finally:
        for client in clients:
            client.close()
        for server in servers:
            server.close()


def agree(client, clients):
    """Say whether a client believes of all others in the squares it holds what they do."""
    for other in clients:
        told = client.model.players.get(other.model.id)
        own = other.model.players[other.model.id]
        if client.model.holds(own.square) != (told is not None):
            return False
        if told is not None and (told.seq, told.square) != (own.seq, own.square):
            return False
    return True


def test_the_procfiles_web_line_serves_on_the_hosts_port():
    lines = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())
    port = zeromq_forwarders.free_ports()[0]
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
    # Whoever starts the whole file, as honcho does, starts nothing that listens besides.
    assert list(lines) == ["web"]
