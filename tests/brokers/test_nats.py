"""What only NATS does; test_faults.py has what all brokers do."""

import time

import gevent
import pytest

from flatlands.brokers.base import PAYLOAD_LIMIT, Message, Reset
from flatlands.brokers.nats import parse, subject_of
from flatlands.proxy import Proxy
from tests.brokers.faults import PATIENCE, Ledger, await_log, await_publish, exchange, make_live
from tests.brokers.nats_servers import running
from tests.brokers.servers import eventually, free_port


def test_a_subject_can_be_watched_and_holds_no_wildcard():
    assert subject_of("flatlands/7/1-16/-3:12") == b"flatlands.7.1-16.-3:12"
    for channel in ("a.b", "a b", "a/*", "a/>", "a//b", "/", "", "*", ">"):
        parts = subject_of(channel).split(b".")
        assert all(parts) and not {b"*", b">"} & set(parts) and b" " not in subject_of(channel)


def test_messages_are_found_however_the_stream_is_cut():
    stream = b"PONG\r\nMSG a 7 4\r\n\r\nab\r\nMSG b 8 answer 0\r\n\r\n-ERR 'x'\r\n"
    expected = [b"PONG", (b"7", b"\r\nab"), (b"8", b""), b"-ERR 'x'"]
    for size in range(1, len(stream) + 1):
        chunks = (stream[at : at + size] for at in range(0, len(stream), size))
        assert list(parse(chunks)) == expected, size


@pytest.mark.process
def test_a_subscriber_that_is_too_slow_is_cut_off_and_told_so(opened):
    with running("max_pending: 1MB", 'write_deadline: "1s"') as server:
        proxy, told = Proxy(server.port), (server.folder / "log").read_text
        try:
            slow = opened(f"nats://127.0.0.1:{proxy.port}")
            publisher = opened(server.url)
            make_live(slow, "a", "b")
            proxy.stall()
            for _ in range(400):
                # The server slows down clients that publish faster than others receive.
                await_publish(publisher, "a", bytes(PAYLOAD_LIMIT))
            eventually(lambda: gevent.sleep(0.02) or "Slow Consumer" in told(), "it is not cut off")
            proxy.flow()
            items = []
            while not (items and isinstance(items[-1], Reset)):
                items.append(slow.receive(20))
                assert items[-1] is not None, f"no Reset after {len(items)} messages"
            assert len(items) < 400
            # What was published last may come after the Reset.
            exchange(slow, "a", "b", stray=bytes(PAYLOAD_LIMIT))
            assert publisher.counters.reconnects == 0
        finally:
            proxy.close()


@pytest.mark.process
def test_a_token_lets_in_and_what_a_user_may_not_publish_is_counted_and_told_once(opened, caplog):
    user = '{user: me, password: secret, permissions: {publish: "may.>", subscribe: ">"}}'
    with running(f"authorization: {{users: [{user}]}}") as server:
        broker = opened(f"nats://me:secret@127.0.0.1:{server.port}")
        make_live(broker, "may/1")
        ledger = Ledger(broker)
        for _ in range(5):
            assert broker.publish("may not", b"1") is True
        exchange(broker, "may/1")
        assert ledger.missing() == 0 and broker.counters.dropped == 5
        await_log(caplog, "Permissions Violation for Publish")
        assert caplog.text.count("Permissions Violation") == 1 and "secret" not in caplog.text
    with running("authorization: {token: wise}") as server:
        make_live(opened(f"nats://wise@127.0.0.1:{server.port}"), "a")


@pytest.mark.process
@pytest.mark.parametrize(
    "tls, option, url, why",
    [
        (False, "max_payload: 1000", "nats://127.0.0.1:{}", "its max_payload is 1000 bytes"),
        (False, "", "tls://127.0.0.1:{}?ssl_cert_reqs=none", "begins with nats://"),
        (True, "", "nats://127.0.0.1:{}", "begins with tls://"),
    ],
)
def test_an_unsuitable_server_is_logged(opened, caplog, tls, option, url, why):
    with running(option, tls=tls) as server:
        broker = opened(url.format(server.port))
        assert broker.publish("a", b"") is False
        await_log(caplog, why)


@pytest.mark.process
def test_servers_of_a_cluster_are_one_broker(opened):
    route = free_port()
    joined = f'cluster: {{name: us, listen: "127.0.0.1:-1", routes: ["nats://127.0.0.1:{route}"]}}'
    with (
        running(f'cluster: {{name: us, listen: "127.0.0.1:{route}"}}') as one,
        running(joined) as two,
    ):
        here, there = opened(one.url), opened(two.url)
        make_live(here, "a")
        deadline = time.monotonic() + PATIENCE
        while here.receive(0.05) != Message("a", b"from there"):
            assert time.monotonic() < deadline, "never heard"
            there.publish("a", b"from there")
