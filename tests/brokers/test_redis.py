"""What only Redis does; test_faults.py has what all brokers do."""

import re

import pytest

from flatlands.brokers.base import PAYLOAD_LIMIT
from tests.brokers.faults import await_reset, exchange, make_live
from tests.brokers.redis_servers import running

pytestmark = pytest.mark.process


def test_a_subscriber_that_redis_kills_is_told_so(opened):
    with running("--client-output-buffer-limit", "pubsub 32kb 0 0") as server:
        broker = opened(server.url)
        make_live(broker, "a", "b")
        assert broker.publish("a", b"x" * PAYLOAD_LIMIT)
        assert await_reset(broker, "a", "b") == {"a", "b"}
        exchange(broker, "a", "b")
        assert broker.counters.reconnects == 1


@pytest.mark.parametrize("scheme", ["valkey", "valkeys"])
def test_valkey_is_another_name_of_redis(opened, scheme):
    with running(tls=scheme == "valkeys") as server:
        broker = opened(server.url.replace("redis", "valkey", 1))
        make_live(broker, "a")
        assert broker.identity == opened(server.url).identity


def test_a_channel_that_is_subscribed_again_at_once_is_requested_again(opened):
    with running() as server:

        def asked(command):
            stats = server.ask("INFO", "commandstats")
            found = re.search(rf"^cmdstat_{command}:calls=(\d+)", stats, re.M)
            return int(found[1]) if found else 0

        broker = opened(server.url)
        make_live(broker, "a")
        before = asked("subscribe")
        broker.unsubscribe("a")
        broker.subscribe("a")
        exchange(broker, "a")
        assert asked("subscribe") == before + 1
        assert asked("unsubscribe") == 0
