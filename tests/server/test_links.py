"""Servers and their brokers: what is reported when one does not answer, or is used by others."""

import json
from contextlib import ExitStack, closing, contextmanager

import msgpack
import pytest

from flatlands.brokers import ring
from flatlands.brokers.redis.cluster import slot_of
from flatlands.server.messages.channels import DEFAULT_WORLD, Channels
from flatlands.server.squares.peers import DEAF, OTHER_BROKERS, UNREADABLE
from flatlands.server.workers.draining import DRAINED
from flatlands.stores.base import NEVER_DUE_MS, Item
from flatlands.stores.registry import open_store
from tests.brokers import redis_servers
from tests.brokers.redis_servers import PASSWORD, QUOTED, eventually, running, running_cluster
from tests.processes import ROOT, ServerProcess
from tests.server.servers import ask, shake, stats
from tests.socket_client import SocketClient, together

pytestmark = pytest.mark.process

NODES = Channels(DEFAULT_WORLD, 2013, 16).nodes


@contextmanager
def starting(*options, count=1, **environment):
    """Run some servers, ready or not."""
    servers = []
    try:
        for _ in range(count):
            servers.append(ServerProcess(*options, **environment))
        yield servers
        for server in servers:
            server.stop()
    finally:
        for server in servers:
            server.close()


def ready(*servers, what="never ready"):
    """Wait until all of some servers are ready."""
    eventually(lambda: all(server.reasons() == [] for server in servers), what)


def outage(url, broken, name):
    """Check what two servers report while a part of their broker is dead."""
    with ExitStack() as stack:
        servers = stack.enter_context(starting("--broker", url, count=2, SECRET_KEY="s"))
        ready(*servers)
        clients = [SocketClient(server.port).hello("AB"[n]) for n, server in enumerate(servers)]
        for client in clients:
            stack.callback(client.close)
        together(clients, lambda: all(len(client.model.players) == 2 for client in clients))
        assert all(client.model.linked for client in clients)
        broken.kill()
        together(clients, lambda: not any(client.model.linked for client in clients))
        for server in servers:
            eventually(
                lambda server=server: (
                    [why.split(": ")[0] for why in server.reasons()] == [f"no link to {name}"]
                ),
                "it tells of no link, or of more",
            )
        broken.start()
        together(clients, lambda: all(client.model.linked for client in clients))
        ready(*servers, what="never ready again")


def test_a_dead_member_of_a_ring_is_reported_by_name_and_with_a_banner():
    with ExitStack() as stack:
        members = [stack.enter_context(running()) for _ in range(3)]
        urls = {f"redis://127.0.0.1:{member.port}": member for member in members}
        has_nodes = ring.HashRing(urls).member(NODES)
        # Heartbeats still arrive, so they cannot show the outage.
        broken = next(member for url, member in urls.items() if url != has_nodes)
        outage(",".join(urls), broken, f"redis 127.0.0.1:{broken.port}")


def test_a_dead_master_of_a_cluster_is_reported_by_name_and_with_a_banner():
    with running_cluster() as cluster:
        has_nodes = cluster.master_of(slot_of(NODES.encode()))
        broken = next(master for master in cluster.masters if master is not has_nodes)
        outage(cluster.url, broken, f"redis 127.0.0.1:{broken.port}")


# A host's Redis, over TLS with its own certificate.


@pytest.fixture(scope="module")
def addon():
    """The environment that a host with this add-on sets, and the port of its Redis."""
    with running(tls=True, login=True) as redis:
        yield {"REDIS_URL": f"rediss://:{QUOTED}@localhost:{redis.port}"}, redis.port


APP_JSON = json.loads((ROOT / "app.json").read_text())["env"]


@pytest.mark.parametrize(
    "values",
    [
        {name: row["value"] for name, row in APP_JSON.items() if "value" in row},
        # An app that was made without app.json has only what the host itself sets.
        {"DYNO": "web.1", "WEB_CONCURRENCY": "2"},
        # The path of the certificate may be given.
        {"BROKER_TLS": "its path", "WEB_CONCURRENCY": "2"},
    ],
    ids=["app.json", "by itself", "named"],
)
def test_workers_meet_over_a_hosts_redis(addon, values):
    environment = {"SECRET_KEY": "generated", **values, **addon[0]}
    if values.get("BROKER_TLS") == "its path":
        environment["BROKER_TLS"] = str(redis_servers.certify()[1])
    assert values["WEB_CONCURRENCY"] == "2"
    with starting(**environment) as [server]:
        eventually(lambda: server.reasons() == [] and stats(server)["nodes"] == 2, "cut apart")
        assert stats(server)["broker"]["errors"] == 0


def test_a_hosts_redis_that_does_not_work_is_reported_from_the_first_moment(addon):
    environment, port = addon
    with starting(STORE_URL="none", **environment) as [server]:
        assert DEAF in server.reasons()
        told = f"no link to redis localhost:{port}: "
        eventually(lambda: any(why.startswith(told) for why in server.reasons()), "untold")
        assert any("set BROKER_TLS to 'unverified'" in why for why in server.reasons())
        assert PASSWORD not in server.errors() and QUOTED not in server.errors()
        client = SocketClient(server.port).hello("A")
        together([client], lambda: not client.model.linked)
        client.close(1000)


# Other servers on the same broker.


@pytest.fixture(scope="module")
def redis():
    with running() as redis:
        yield redis


def url_of(redis):
    return f"redis://127.0.0.1:{redis.port}"


@pytest.mark.parametrize("other", [{"SECRET_KEY": "another"}, {}], ids=["another key", "no key"])
def test_a_server_with_another_key_is_incompatible(redis, other):
    with starting("--broker", url_of(redis), SECRET_KEY="one") as [server]:
        eventually(lambda: server.reasons() == [], "never ready")
        with starting("--broker", url_of(redis), **other) as [stray]:
            eventually(lambda: stray.reasons() == [UNREADABLE], "unnoticed")
            ready(server)
            assert stats(server)["nodes"] == stats(stray)["nodes"] == 1
        assert "a server has a different key or none" in server.errors()


def test_servers_with_two_databases_of_one_redis_are_two_worlds_and_say_so(redis):
    one, two = (f"{url_of(redis)}/{number}" for number in (11, 12))
    with starting("--broker", one, "--store", one, SECRET_KEY="one") as [server]:
        ready(server)
        with starting("--broker", two, "--store", two, SECRET_KEY="one") as [stray]:
            eventually(lambda: stray.reasons() == [OTHER_BROKERS], "unnoticed")
            ready(server)
            a, b = SocketClient(server.port).hello("A"), SocketClient(stray.port).hello("B")
            heard = stats(server)["counted"]["incompatible"]
            b.walk(1, 0)
            together([a, b], lambda: stats(server)["counted"]["incompatible"] > heard + 2)
            assert all(set(each.model.players) == {each.model.id} for each in (a, b))
            assert stats(server)["nodes"] == stats(stray)["nodes"] == 1
            a.close()
            b.close()
        assert OTHER_BROKERS in server.errors()


@pytest.mark.parametrize("key", [{"SECRET_KEY": "one"}, {}], ids=["one key", "no key"])
def test_servers_hear_each_other_and_the_players_of_a_drained_one_pass_on(redis, key):
    options = ("--broker", url_of(redis), "--store", url_of(redis), "--workers", "2")
    with starting(*options, count=2, ADMIN_TOKEN=PASSWORD * 2, **key) as [here, there]:
        for server in (here, there):
            eventually(lambda server=server: stats(server)["nodes"] == 4, "cut apart")
        ready(here, there)

        def drained(server):
            return ask(server, "admin/drain", token=PASSWORD * 2, method="POST")[0]

        clients = [SocketClient(here.port).hello(f"P{n}") for n in range(6)]
        # The other server must first say, with its next heartbeat, that it is ready.
        eventually(lambda: drained(here) == 200, "no other server takes players")
        # Nobody has heard from each of its workers yet that it is drained.
        assert drained(there) == 409
        # To repeat it does no harm.
        assert drained(here) == 200
        came = []
        for client in clients:
            assert client.until_closed()[0] == 1012
            token = [message[1] for message in client.messages if message[0] == 17][-1]
            back = SocketClient(there.port).hello(client.name, token=token)
            # Without a key they are newcomers.
            assert (back.model.id == client.model.id) == bool(key)
            came.append(back)
        together(came, lambda: stats(here)["residents"] == 0)
        together(came, lambda: stats(there)["residents"] == len(came))
        eventually(
            lambda: all(here.reasons() == [DRAINED] and shake(here) == 503 for _ in range(4)),
            "not each worker knows it",
        )
        ready(there)
        # The last server that takes players is not drained.
        assert drained(there) == 409
        ready(there)
        assert not [line for line in here.errors().splitlines() if " ERROR " in line]


def test_a_world_that_is_restarted_with_another_broker_has_lost_nobody(redis, tmp_path):
    url = f"sqlite:///{tmp_path}/world.db"
    # An earlier version, whose worlds changed brokers while they served, has left such an order.
    order = msgpack.packb([7, url_of(redis), "redis://127.0.0.1:1", [], True])
    with closing(open_store(url, DEFAULT_WORLD)) as store:
        store.put("broker", [Item("order", NEVER_DUE_MS, "order", order)])
    options = "--store", url, "--broker"
    with starting(*options, url_of(redis), count=2, SECRET_KEY="one") as servers:
        ready(*servers)
        players = [SocketClient(server.port).hello(f"P{server.port}") for server in servers]
        for player in players:
            before = player.at()
            player.walk(1, 0)
            together(players, lambda one=player, x=before[0]: one.at()[0] > x + 3000)
            player.walk(0, 0)
        ids = {player.model.id for player in players}
        together(players, lambda: all(ids == set(each.model.players) for each in players))
        together(
            players, lambda: all(each.model.players[each.model.id].ack == 2 for each in players)
        )
    with (
        running() as other,
        starting(*options, url_of(other), count=2, SECRET_KEY="one") as servers,
    ):
        ready(*servers)
        came = []
        for player, server in zip(players, reversed(servers), strict=True):
            assert player.until_closed()[0] == 1012
            back = SocketClient(server.port).hello(player.name, token=player.model.token)
            assert (back.model.id, back.at()) == (player.model.id, player.at())
            came.append(back)
        together(came, lambda: all(ids == set(each.model.players) for each in came))
