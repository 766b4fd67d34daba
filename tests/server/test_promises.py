"""Promises of docs/protocol.md, docs/nodes.md and ARCHITECTURE.md that take several nodes to test.

Each test names one promise, and fails when the line of code that keeps it is taken away.
"""

import msgpack
import pytest

from tests.server.harness import Harness
from world.track import SPEED


def kinds(client):
    """Return the kinds of the messages that a client got."""
    return [message[0] for message in client.connection.messages]


# Speaking before the welcome.


@pytest.fixture(params=["one node", "two nodes", "a node that does not answer"])
def returning(request):
    """A harness, a token of a player in it, and the host at which the player comes back."""
    harness = Harness(nodes=1 if request.param == "one node" else 2)
    harness.run(1500)
    b = harness.place("B", (0, 0), host=harness.hosts[-1])
    token = b.model.token
    if request.param == "a node that does not answer":
        harness.kill(harness.hosts[1])
    else:
        b.connection.lose()
    return harness, token, harness.hosts[0]


def test_what_is_said_before_the_welcome_is_obeyed_after_it(returning):
    harness, token, host = returning
    client = harness.client(host)
    # All of it at once, as one that does not wait for answers does.
    for message in (
        [1, 1, "B", 40, 25, token, None],
        [5, 80, 40],
        [6, "here I am"],
        [2, 1, host.loop.now(), 1, 0],
        [7, 5, 0],
    ):
        client.connection.on_message(2, msgpack.packb(message))
    harness.run(1000)
    assert client.connection.closed is None and client.model.errors == []
    assert kinds(client)[0] == 16 and 23 in kinds(client)
    assert client.model.heard == [("B", "here I am")]
    assert client.model.players[client.id].ack == 1
    x = client.model.welcome[4]
    assert 0 < client.at()[0] - x <= SPEED * 1.2
    harness.check()


@pytest.mark.parametrize(
    ("message", "code", "close"),
    [
        ([1, 1, "B", 40, 25, None, None], "hello", 1008),
        ([2, 0, 0, 1, 0], "fields", 1008),
        ([99], "kind", 1008),
        ([6, " "], "say", 1008),
        ([7, 1, 5], "flush", 1008),
    ],
)
def test_a_bad_message_before_the_welcome_is_refused_as_after_it(returning, message, code, close):
    harness, token, host = returning
    client = harness.client(host)
    client.connection.on_message(2, msgpack.packb([1, 1, "B", 40, 25, token, None]))
    client.connection.on_message(2, msgpack.packb(message))
    client.connection.on_message(2, msgpack.packb([2, 1, host.loop.now(), 1, 0]))
    harness.run(500)
    assert client.model.errors == [code] and client.connection.closed[0] == close


def test_a_flood_before_the_welcome_is_bounded_by_the_rates(returning):
    harness, token, host = returning
    client = harness.client(host)
    client.connection.on_message(2, msgpack.packb([1, 1, "B", 40, 25, token, None]))
    for n in range(100):
        client.connection.on_message(2, msgpack.packb([6, f"line {n}"]))
    assert len(client.session._early) <= 5
    harness.run(500)
    assert client.model.errors.count("flood") >= 40
    assert client.connection.closed[0] == 1008
