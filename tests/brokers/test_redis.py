"""What only Redis does; test_faults.py has what all brokers do."""

import gevent
import pytest

from flatlands.brokers.base import PAYLOAD_LIMIT, Reset
from tests.brokers.faults import await_reset, exchange, make_live
from tests.brokers.redis_servers import running

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


def test_a_subscriber_that_redis_kills_is_told_so(opened):
    with running("--client-output-buffer-limit", "pubsub 32kb 0 0") as server:
        broker = opened(server.url)
        make_live(broker, "a", "b")
        assert broker.publish("a", b"x" * PAYLOAD_LIMIT)
        assert await_reset(broker, "a", "b") == {"a", "b"}
        exchange(broker, "a", "b")
        assert broker.counters.reconnects == 1


def test_a_link_comes_back_with_one_reset(server, opened):
    broker, names = opened(server.url), {f"sq {n}" for n in range(2000)}
    make_live(broker, *names)
    server.ask("CLIENT", "KILL", "TYPE", "pubsub")
    gevent.sleep(0.5)
    assert broker.receive(5) == Reset(names)
    assert broker.receive(0.1) is None
    exchange(broker, "sq 1", "sq 2")
    assert broker.counters.reconnects == 1


@pytest.mark.parametrize("scheme", ["valkey", "valkeys"])
def test_valkey_is_another_name_of_redis(opened, scheme):
    with running(tls=scheme == "valkeys") as server:
        broker = opened(server.url.replace("redis", "valkey", 1))
        make_live(broker, "a")
        assert broker.identity == opened(server.url).identity
