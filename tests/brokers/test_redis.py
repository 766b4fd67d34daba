"""What only Redis does; test_faults.py has what all brokers do."""

import re

import gevent
import pytest

from flatlands.brokers.base import PAYLOAD_LIMIT
from tests.brokers.faults import (
    PATIENCE,
    Ledger,
    await_log,
    await_publish,
    await_reset,
    exchange,
    make_live,
)
from tests.brokers.redis_servers import LOGIN, running, running_pair, stop_saving
from tests.brokers.servers import eventually, shared

pytestmark = pytest.mark.process


def test_a_subscriber_that_redis_kills_is_told_so(opened):
    with running("--client-output-buffer-limit", "pubsub 32kb 0 0") as server:
        broker = opened(server.url)
        make_live(broker, "a", "b")
        assert broker.publish("a", b"x" * PAYLOAD_LIMIT)
        assert await_reset(broker, "a", "b") == {"a", "b"}
        exchange(broker, "a", "b")
        assert broker.counters.reconnects == 1


@pytest.mark.parametrize("how", [{}, {"tls": True}], ids=["valkey", "valkeys"])
def test_valkey_is_another_name_of_redis(opened, how):
    server = shared(running, **how)
    broker = opened(server.url.replace("redis", "valkey", 1))
    make_live(broker, "a")
    assert broker.identity == opened(server.url).identity


def test_a_channel_that_is_subscribed_again_at_once_is_requested_again(opened):
    server = shared(running)

    def asked(command):
        stats = server.ask("INFO", "commandstats")
        found = re.search(rf"^cmdstat_{command}:calls=(\d+)", stats, re.M)
        return int(found[1]) if found else 0

    broker = opened(server.url)
    make_live(broker, "a")
    subscribed, unsubscribed = asked("subscribe"), asked("unsubscribe")
    broker.unsubscribe("a")
    broker.subscribe("a")
    exchange(broker, "a")
    assert asked("subscribe") == subscribed + 1
    assert asked("unsubscribe") == unsubscribed


REPLICA = (
    "it is a replica, whose messages reach only its own clients: use the address of the primary, "
    "or let this one lead to it"
)


@pytest.mark.parametrize("login", ["", f"{LOGIN}@"], ids=["", "few rights"])
def test_a_link_leaves_a_server_that_became_a_replica_though_it_stays_connected(
    opened, caplog, login
):
    with running_pair() as pair:
        broker = opened(pair.address.url.replace("://", f"://{login}"))
        make_live(broker, "a")
        pair.fail_over()
        await_log(caplog, f": {REPLICA}")
        assert not broker.publish("a", b"nobody hears this")
        [link] = broker.links()
        assert str(link) == f"no link to {link.name}: {REPLICA}"
        pair.address.leads_to = pair.primary
        assert await_reset(broker, "a") == {"a"}
        other = opened(pair.primary.url)
        await_publish(other, "a", b"from a newcomer")
        assert broker.receive(PATIENCE).payload == b"from a newcomer"
        exchange(broker, "a")


def test_a_replica_is_no_broker_and_the_sentence_says_so(opened):
    with running_pair() as pair:
        broker = opened(f"{pair.primary.url},{pair.replica.url}")
        ages = {link.name: link for link in broker.links()}
        good = ages.pop(f"redis 127.0.0.1:{pair.primary.port}")
        [bad] = ages.values()
        assert not good.trouble and bad.trouble == REPLICA and bad.seconds == float("inf")


def test_a_server_that_cannot_save_is_a_broker_as_before(opened, caplog):
    with running() as server:
        broker = opened(server.url)
        make_live(broker, "a")
        stop_saving(server)
        ledger, published = Ledger(broker), broker.counters.published
        for _ in range(300):
            # Some of these are under way when the server is asked for a sign of life.
            assert broker.publish("a", b"b" * 100)
            gevent.sleep(0.01)
        eventually(lambda: broker.receive(0.01) is None and not ledger.missing(), "some are lost")
        assert broker.counters.published == published + 300 and not broker.counters.dropped
        late = opened(server.url)
        make_live(late, "a")
        assert broker.counters.reconnects == 0 and not caplog.records
