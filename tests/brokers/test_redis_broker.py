import logging
import subprocess
import sys

import gevent
import pytest

from brokers import Message, Reset, open_broker, redis_link
from brokers.base import PAYLOAD_LIMIT
from brokers.redis_connection import endpoints
from tests.brokers import redis_servers
from tests.brokers.faults import (
    STALL_S,
    Ledger,
    await_log,
    await_publish,
    await_reset,
    drain,
    exchange,
    little_work,
    make_live,
    oldest,
)
from tests.brokers.redis_servers import running
from tests.processes import ROOT


@pytest.fixture
def opened():
    brokers = []

    def open_one(url, tls="verified"):
        brokers.append(open_broker(url, tls))
        return brokers[-1]

    yield open_one
    for broker in brokers:
        broker.close()
        assert broker.counters.errors == 0


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


def url_of(server, tls=False):
    if tls:
        return f"rediss://localhost:{server.port}?ssl_cert_reqs=none"
    return f"redis://127.0.0.1:{server.port}"


@pytest.mark.parametrize("tls", [False, True], ids=["redis", "rediss"])
def test_a_server_that_was_killed_is_found_again(opened, tls):
    with running(tls=tls) as server:
        broker = opened(url_of(server, tls))
        names = [f"sq {n}" for n in range(redis_link.CHANNELS_A_COMMAND * 3)]
        make_live(broker, *names)
        ledger = Ledger(broker)
        server.kill()
        with little_work():
            assert drain(broker, 1.5) == []
            assert [broker.publish(name, b"lost") for name in names[:9]] == [False] * 9
        assert oldest(broker) > 1
        server.start()
        assert await_reset(broker, *names) == set(names)
        exchange(broker, *names)
        assert oldest(broker) < 3
        assert broker.counters.reconnects == 2
        assert ledger.missing() == 0


def test_servers_that_stall_are_noticed_and_found_again(opened):
    with running() as plain, running(tls=True) as secure:
        servers = {plain: opened(url_of(plain)), secure: opened(url_of(secure, tls=True))}
        ledgers = []
        for server, broker in servers.items():
            make_live(broker, "a", "b")
            ledgers.append(Ledger(broker))
            server.stall()
        with little_work():
            gevent.sleep(0.1)
            for broker in servers.values():
                # Nobody can know yet; it must not be sent when nobody wants it any more.
                assert broker.publish("a", b"under way") is True
            gevent.sleep(STALL_S - 0.1)
        for server, broker in servers.items():
            assert oldest(broker) > STALL_S - 2
            assert broker.publish("a", b"lost") is False
            server.resume()
        for broker, ledger in zip(servers.values(), ledgers, strict=True):
            assert await_reset(broker, "a", "b") == {"a", "b"}
            exchange(broker, "a", "b")
            assert oldest(broker) < 3
            assert ledger.missing() == 0


def test_a_subscriber_that_redis_kills_is_told_so(opened):
    with running("--client-output-buffer-limit", "pubsub 32kb 0 0") as server:
        broker = opened(url_of(server))
        make_live(broker, "a", "b")
        assert broker.publish("a", b"x" * PAYLOAD_LIMIT)
        assert await_reset(broker, "a", "b") == {"a", "b"}
        exchange(broker, "a", "b")
        assert broker.counters.reconnects == 1


@pytest.mark.parametrize("link", ["pubsub", "normal"])
def test_each_of_the_two_links_comes_back_with_a_reset(server, opened, link):
    broker = opened(url_of(server))
    make_live(broker, "a", "b")
    server.ask("CLIENT", "KILL", "TYPE", link)
    assert await_reset(broker, "a", "b") == {"a", "b"}
    exchange(broker, "a", "b")
    assert broker.counters.reconnects == 1


def test_what_was_under_way_when_the_link_broke_is_counted(opened):
    with running() as server:
        broker = opened(url_of(server))
        make_live(broker, "a")
        ledger = Ledger(broker)
        server.kill()
        # The link does not know yet: nothing has run since.
        assert all(broker.publish("a", b"%d" % n) for n in range(1000))
        assert drain(broker, 0.2) == []
        assert broker.counters.dropped >= 1000
        server.start()
        await_reset(broker, "a")
        await_publish(broker, "a", b"after")
        assert [m.payload for m in drain(broker, 0.5)] == [b"after"]
        assert ledger.missing() == 0


def test_a_server_may_come_later_than_its_nodes(opened):
    with running() as server:
        server.kill()
        broker = opened(url_of(server))
        broker.subscribe("a", "gone")
        broker.unsubscribe("gone")
        assert broker.publish("a", b"early") is False
        server.start()
        assert await_reset(broker, "a") == {"a"}
        exchange(broker, "a")


@pytest.mark.parametrize(
    "limit, room, payload", [("QUEUE_LIMIT", 10, b"x"), ("QUEUE_BYTES", 12_000, b"x" * 1000)]
)
def test_a_full_queue_refuses_and_counts(server, opened, monkeypatch, limit, room, payload):
    broker = opened(url_of(server))
    make_live(broker, "a")
    monkeypatch.setattr(redis_link, limit, room)
    ledger = Ledger(broker)
    taken = [broker.publish("a", payload) for _ in range(30)]
    assert 0 < sum(taken) < 30 and taken == sorted(taken, reverse=True)
    assert drain(broker, 0.3) == [Message("a", payload)] * sum(taken)
    assert ledger.missing() == 0


def test_subscribing_while_the_link_is_down_is_made_good(opened):
    with running() as server:
        broker = opened(url_of(server))
        make_live(broker, "old", "left")
        server.kill()
        drain(broker, 0.2)
        broker.subscribe("new")
        broker.unsubscribe("left")
        server.start()
        assert await_reset(broker, "old", "new") == {"old", "new"}
        exchange(broker, "old", "new")


def test_a_first_subscription_is_no_loss(server, opened):
    broker = opened(url_of(server))
    broker.subscribe("a")
    broker.unsubscribe("a")
    broker.subscribe("a")
    gevent.sleep(0)
    broker.unsubscribe("a")
    gevent.sleep(0)
    broker.subscribe("a")
    assert broker.receive(0.2) is None


def test_a_certificate_that_nobody_signed_is_refused_unless_told(opened, caplog, monkeypatch):
    with running(tls=True) as server:
        strict = opened(f"rediss://localhost:{server.port}")
        assert strict.publish("a", b"") is False
        await_log(caplog, "certificate verify failed")
        make_live(opened(f"rediss://localhost:{server.port}?ssl_cert_reqs=none"), "a")
        _key, certificate = redis_servers.certify()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        make_live(opened(f"rediss://localhost:{server.port}?ssl_cert_reqs=required"), "a")


def test_a_wrong_password_is_told_without_telling_it(opened, caplog):
    with running("--requirepass", redis_servers.PASSWORD) as server:
        with little_work():
            broker = opened(f"redis://:wr0ng@127.0.0.1:{server.port}")
            assert broker.publish("a", b"") is False
            # Each of the two links tells it, once.
            await_log(caplog, "WRONGPASS", times=2)
            assert drain(broker, 0.5) == []
        assert "wr0ng" not in caplog.text
        assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) == 2


@pytest.mark.parametrize("tls", ["certificate", "unverified"])
def test_a_certificate_that_nobody_else_signed_is_taken_where_one_says_so(opened, tls):
    path = str(redis_servers.certify()[1]) if tls == "certificate" else tls
    said = f"ssl_ca_certs={path}" if tls == "certificate" else "ssl_cert_reqs=none"
    with running(tls=True) as server:
        for url, option in (
            (f"rediss://localhost:{server.port}", path),
            (f"rediss://localhost:{server.port}?{said}", "verified"),
        ):
            broker = opened(url, option)
            make_live(broker, "a")
            exchange(broker, "a")


def test_a_certificate_that_nobody_else_signed_is_refused_otherwise_with_advice(opened, caplog):
    with running(tls=True) as server:
        for url, option in (
            (f"rediss://localhost:{server.port}", "verified"),
            (f"rediss://localhost:{server.port}?ssl_cert_reqs=required", "unverified"),
        ):
            caplog.clear()
            broker = opened(url, option)
            assert broker.links() == [(f"redis localhost:{server.port}", float("inf"))]
            assert "set BROKER_TLS to 'unverified'" in caplog.text


def test_a_file_without_certificates_is_refused_in_words(tmp_path):
    (tmp_path / "empty").write_text("nothing")
    with pytest.raises(ValueError, match="nor a file with the certificates to trust"):
        open_broker("rediss://a", str(tmp_path / "empty"))


def test_a_server_that_is_not_there_was_never_heard(opened):
    port = redis_servers.free_port()
    broker = opened(f"redis://:secret@127.0.0.1:{port}")
    assert broker.links() == [(f"redis 127.0.0.1:{port}", float("inf"))]


def test_an_idle_broker_hardly_works(server, opened):
    broker = opened(url_of(server))
    make_live(broker, "a")
    with little_work():
        assert broker.receive(2) is None
    assert oldest(broker) < 2


def test_close_returns_at_once_also_while_connecting():
    with running() as server:
        server.stall()
        broker = open_broker(url_of(server))
        broker.subscribe("a")
        broker.close()
        assert broker.counters.errors == 0


def test_a_patched_process_works_as_well():
    script = """
from gevent import monkey; monkey.patch_all()
import sys
from brokers import Message, open_broker
broker = open_broker(sys.argv[1])
broker.subscribe("a")
while broker.receive(0.05) is None:
    assert broker.publish("a", b"x")
broker.close()
"""
    with running() as plain, running(tls=True) as secure:
        for url in (url_of(plain), url_of(secure, tls=True)):
            command = [sys.executable, "-W", "error", "-c", script, url]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)
            assert (done.returncode, done.stderr) == (0, "")


def test_a_url_says_where_and_who():
    [one] = endpoints("redis://me:a%3Ab%40c@[::1]:7000/3", "rediss")
    assert (one.host, one.port, one.username, one.password) == ("::1", 7000, "me", "a:b@c")
    assert one.tls is None
    [first, second] = endpoints("rediscluster://:p@a,b:2", "redisclusters")
    assert (first.host, first.port, first.username, first.password) == ("a", 6379, "", "p")
    assert (second.host, second.port) == ("b", 2)


@pytest.mark.parametrize(
    "url, why",
    [
        ("redis://", "no host:port"),
        ("redis://:secret@host:port", "no host:port"),
        ("redis://:secret@a:1,b:2", "names one host"),
        ("rediss://:secret@a?ssl_cert_reqs=maybe", "'required' or 'none'"),
        ("rediss://:secret@a?ssl_ca_certs=/nowhere", "'/nowhere' is neither 'verified', 'unverif"),
        ("redis://:secret@a?retry=1", "two options"),
    ],
)
def test_a_url_that_makes_no_sense_is_refused_in_words(url, why):
    with pytest.raises(ValueError, match=why) as refusal:
        open_broker(url)
    assert "secret" not in str(refusal.value)


def test_messages_of_a_channel_let_go_are_not_heard_late(server, opened):
    broker = opened(url_of(server))
    make_live(broker, "a", "b")
    broker.publish("a", b"1")
    broker.unsubscribe("a")
    exchange(broker, "b")
    assert broker.receive(0.1) is None


def test_resets_of_one_outage_are_few(server, opened):
    broker = opened(url_of(server))
    make_live(broker, *(f"sq {n}" for n in range(2000)))
    server.ask("CLIENT", "KILL", "TYPE", "pubsub")
    gevent.sleep(0.5)
    item = broker.receive(5)
    assert isinstance(item, Reset) and item.channels is not None and len(item.channels) == 2000
    assert broker.receive(0.1) is None
