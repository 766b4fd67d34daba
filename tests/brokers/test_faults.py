"""What every broker with one server, or forwarder, does when that is in trouble, tested with real
ones.

A new backend over TCP is one more line in KINDS.
"""

import logging
import re
from contextlib import ExitStack
from functools import partial

import gevent
import pytest

from flatlands.brokers import stream
from flatlands.brokers.base import Message, Reset
from flatlands.brokers.registry import open_broker
from flatlands.proxy import Proxy
from tests.brokers import mosquitto_servers, nats_servers, redis_servers
from tests.brokers.faults import (
    PATIENCE,
    STALL_S,
    Ledger,
    await_log,
    await_refusal,
    await_reset,
    await_trouble,
    await_young,
    drain,
    exchange,
    little_work,
    make_live,
    oldest,
)
from tests.brokers.servers import certify, shared
from tests.brokers.zeromq_forwarders import Forwarder, forwarding
from tests.processes import python

pytestmark = pytest.mark.process

#: Starts a server of each kind: `running(tls=True)` is one over TLS.
KINDS = {
    "redis": redis_servers.running,
    "nats": nats_servers.running,
    "mqtt": mosquitto_servers.running,
}

#: KINDS, the same over TLS, and the kinds that have neither TLS nor logins nor one TCP port.
ALL = {
    **KINDS,
    **{f"{kind} over TLS": partial(running, tls=True) for kind, running in KINDS.items()},
    "zeromq": forwarding,
    "zeromq+ipc": partial(forwarding, ipc=True),
}
EVERY_KIND = pytest.mark.parametrize("running", [*KINDS, "zeromq"], indirect=True)

#: More channels than any backend names in one packet.
MANY = 1536


@pytest.fixture(scope="module", params=KINDS)
def running(request):
    return ALL[request.param]


@pytest.fixture(scope="module")
def server(running):
    """A server for the tests that do it no harm."""
    return shared(running)


@pytest.mark.parametrize("running", ALL, indirect=True)
def test_a_server_that_was_killed_is_found_again(running, opened):
    with running() as server:
        broker = opened(server.url)
        names = [f"sq {n}" for n in range(MANY)]
        make_live(broker, *names)
        ledger = Ledger(broker)
        before = broker.counters.reconnects
        server.kill()
        with little_work():
            await_trouble(broker)
            assert drain(broker, 1.5) == []
            assert [broker.publish(name, b"lost") for name in names[:9]] == [False] * 9
        assert oldest(broker) > 1
        server.start()
        assert await_reset(broker, *names) == set(names)
        exchange(broker, *names)
        await_young(broker, 3)
        assert broker.counters.reconnects > before
        assert ledger.missing() == 0


def test_servers_that_stall_are_noticed_and_found_again(opened):
    with ExitStack() as stack:
        started = [stack.enter_context(running()) for running in ALL.values()]
        servers = {server: opened(server.url) for server in started}
        ledgers = []
        for broker in servers.values():
            make_live(broker, "a", "b")
            ledgers.append(Ledger(broker))
        for server in servers:
            server.stall()
        with little_work():
            gevent.sleep(0.1)
            for broker in servers.values():
                # Nobody can know yet; it must not be sent later, when nobody wants it any more.
                assert broker.publish("a", b"under way") is True
            gevent.sleep(STALL_S - 0.1)
        under_way = []
        for server, broker in servers.items():
            assert oldest(broker) > STALL_S - 2
            # A link counts its probes: on a busy machine it takes longer to give the server up.
            under_way.append(1 + await_refusal(broker, "a", b"under way"))
            server.resume()
        for (server, broker), ledger, sent in zip(servers.items(), ledgers, under_way, strict=True):
            assert await_reset(broker, "a", "b") == {"a", "b"}
            # A server with several threads may read what came before it stalled after all.
            strays = exchange(broker, "a", "b", stray=b"under way")
            await_young(broker, 3)
            # A forwarder confirms nothing, so messages under way to it are not counted anywhere.
            uncounted = sent if isinstance(server, Forwarder) else 0
            assert ledger.missing() == uncounted - strays
        for broker in servers.values():
            assert all(message.payload == b"under way" for message in drain(broker, 0.2))


def test_connections_that_are_cut_come_back_with_few_resets(server, opened):
    proxy = Proxy(server.port)
    try:
        broker = opened(f"{server.scheme}://127.0.0.1:{proxy.port}")
        names = {f"sq {n}" for n in range(2000)}
        make_live(broker, *names)
        proxy.cut()
        assert await_reset(broker, *names) == names
        assert sum(isinstance(item, Reset) for item in drain_all(broker)) <= 1
        exchange(broker, *sorted(names)[:9])
        assert broker.counters.reconnects > 0
    finally:
        proxy.close()


def test_messages_under_way_are_counted_and_requests_made_meanwhile_are_honoured(running, opened):
    with running() as server:
        broker = opened(server.url)
        make_live(broker, "a", "left")
        ledger = Ledger(broker)
        server.kill()
        # The link does not know yet: nothing has run since.
        assert all(broker.publish("a", b"%d" % n) for n in range(1000))
        await_trouble(broker)
        assert drain(broker, 0.2) == []
        assert broker.counters.dropped >= 1000
        broker.subscribe("new")
        broker.unsubscribe("left")
        server.start()
        assert await_reset(broker, "a", "new") >= {"a", "new"}
        exchange(broker, "a", "new")
        assert ledger.missing() == 0
        assert broker.publish("left", b"") and drain(broker, 0.2) == []


@EVERY_KIND
def test_a_server_may_start_after_its_nodes(running, opened):
    with running() as server:
        server.kill()
        broker = opened(server.url)
        broker.subscribe("a", "gone")
        broker.unsubscribe("gone")
        assert broker.publish("a", b"early") is False
        server.start()
        assert await_reset(broker, "a") == {"a"}
        exchange(broker, "a")


@EVERY_KIND
def test_a_server_that_answers_when_nobody_waits_any_more_causes_a_reset_too(running, opened):
    with running() as server:
        server.stall()
        broker = opened(server.url)
        broker.subscribe("a")
        server.resume()
        assert await_reset(broker, "a") == {"a"}
        exchange(broker, "a")


@pytest.mark.parametrize(
    "limit, room, payload", [("QUEUE_LIMIT", 10, b"x"), ("QUEUE_BYTES", 12_000, b"x" * 1000)]
)
def test_a_full_queue_refuses_and_counts(server, opened, monkeypatch, limit, room, payload):
    broker = opened(server.url)
    make_live(broker, "a")
    monkeypatch.setattr(stream, limit, room)
    ledger = Ledger(broker)
    taken = [broker.publish("a", payload) for _ in range(30)]
    assert 0 < sum(taken) < 30 and taken == sorted(taken, reverse=True)
    assert [broker.receive(PATIENCE) for _ in range(sum(taken))] == (
        [Message("a", payload)] * sum(taken)
    )
    assert drain(broker, 0.2) == []
    assert ledger.missing() == 0


@EVERY_KIND
def test_a_hundred_thousand_messages_at_once_neither_block_nor_vanish_nor_leave_work(
    server, opened, monkeypatch
):
    broker = opened(server.url)
    # The broker's probes wait behind everything that it sends.
    monkeypatch.setattr(broker._link, "probes_limit", 60)
    make_live(broker, "a")
    with little_work():
        assert broker.receive(2) is None
    await_young(broker, 2)
    ledger = Ledger(broker)
    before = broker.counters.dropped
    accepted = sum(broker.publish("a", b"x" * 60) for _ in range(100_000))
    assert accepted + broker.counters.dropped - before == 100_000
    while ledger.missing():
        assert broker.receive(PATIENCE) is not None
    drain(broker, 0.5)
    assert ledger.missing() == 0
    assert (broker.counters.reconnects, broker.counters.errors) == (0, 0)
    with little_work():
        assert broker.receive(2) is None


@EVERY_KIND
def test_a_channel_that_is_left_and_taken_again_has_no_reset_and_no_late_message(server, opened):
    broker = opened(server.url)
    # A link that was slow to come up begins with a Reset.
    make_live(broker, "before")
    broker.subscribe("a")
    broker.unsubscribe("a")
    broker.subscribe("a")
    gevent.sleep(0)
    broker.unsubscribe("a")
    gevent.sleep(0)
    broker.subscribe("a")
    assert broker.receive(0.2) is None
    make_live(broker, "a", "b")
    broker.publish("a", b"1")
    broker.unsubscribe("a")
    exchange(broker, "b")
    assert broker.receive(0.1) is None


def test_a_wrong_password_is_logged_once_without_revealing_it(running, opened, caplog):
    server = shared(running, login=True)
    with little_work():
        broker = opened(f"{server.scheme}://wr0ng:wr0ng@127.0.0.1:{server.port}")
        assert broker.publish("a", b"") is False
        await_log(caplog, "no link to ")
        assert drain(broker, 0.5) == []
    assert "wr0ng" not in caplog.text
    told = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(told) == 1, told
    assert re.search("WRONGPASS|Authorization Violation|not authorized", told[0])


def test_a_certificate_that_nobody_signed_is_refused_with_advice_unless_allowed(
    running, opened, caplog, monkeypatch
):
    server = shared(running, tls=True)
    at = server.address
    refused = ((at, "verified"), (f"{at}?ssl_cert_reqs=required", "unverified"))
    for url, option in refused:
        caplog.clear()
        broker = opened(url, option)
        assert broker.publish("a", b"") is False
        await_log(caplog, "certificate verify failed")
        assert "set BROKER_TLS to 'unverified'" in caplog.text
        [(name, seconds, trouble)] = broker.links()
        assert "set BROKER_TLS to 'unverified'" in trouble
        assert (name.split()[1], seconds) == (f"localhost:{server.port}", float("inf"))
    _key, certificate = certify()
    accepted = (
        (at, "unverified"),
        (at, str(certificate)),
        (f"{at}?ssl_cert_reqs=none", "verified"),
        (f"{at}?ssl_ca_certs={certificate}", "verified"),
    )
    for url, option in accepted:
        make_live(opened(url, option), "a")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    make_live(opened(at), "a")


def test_a_server_of_another_kind_is_logged_once(running, server, opened, caplog):
    for other in KINDS.values():
        if other is running:
            continue
        stranger = shared(other)
        caplog.clear()
        with little_work():
            broker = opened(f"{server.scheme}://127.0.0.1:{stranger.port}")
            assert broker.publish("a", b"") is False
            await_log(caplog, "no link to ")
            gevent.sleep(0.5)
            broker.close()
        told = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
        assert len(told) <= 2 and len(set(told)) == 1 and "Traceback" not in caplog.text, told


@EVERY_KIND
def test_close_returns_at_once_even_while_connecting(running):
    with running() as server:
        server.stall()
        broker = open_broker(server.url)
        broker.subscribe("a")
        broker.close()
        assert broker.counters.errors == 0


def test_a_broker_works_in_a_patched_process_too(running):
    script = """
from gevent import monkey; monkey.patch_all()
import sys
from flatlands.brokers.registry import open_broker
broker = open_broker(sys.argv[1])
broker.subscribe("a")
while broker.receive(0.05) is None:
    assert broker.publish("a", b"x")
broker.close()
"""
    for server in (shared(running), shared(running, tls=True)):
        done = python("-W", "error", "-c", script, server.url)
        assert (done.returncode, done.stderr) == (0, "")


def drain_all(broker):
    """Return all that still comes, until nothing comes for a while."""
    items = []
    while (item := broker.receive(0.3)) is not None:
        items.append(item)
    return items
