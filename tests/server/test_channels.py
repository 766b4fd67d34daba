"""Names of channels: what they keep apart."""

from flatlands.server.messages.channels import PEER_VERSION, Channels
from tests.server.harness import Harness


def test_each_square_has_its_own_name_by_column_and_row():
    name = Channels("flatlands", 2013, 16).square
    assert name((-3, 12)) == f"flatlands/{PEER_VERSION}/2013-16/-3:12"
    assert len({name(s) for s in [(1, 1), (1, 10), (11, 1), (-1, 1), (1, -1)]}) == 5


def test_servers_of_one_world_that_differ_by_mistake_meet_where_nodes_do_and_in_no_square():
    here, there = Channels("a", 2013, 16), Channels("a", 7, 16)
    assert here.nodes == there.nodes and here.ground_id != there.ground_id
    assert here.square((0, 0)) != there.square((0, 0))


def test_two_worlds_on_one_broker_do_not_hear_each_other():
    harness = Harness(nodes=1)
    other = harness.host(world="elsewhere", seed=7)
    harness.run(5000)
    a, b = harness.place("A", (0, 0)), harness.place("B", (0, 0), host=other)
    a.send(6, "hello")
    b.walk(1, 0)
    harness.run(3000)
    assert not a.sees(b) and not b.sees(a) and b.model.chat == []
    for host in harness.hosts:
        assert not host.node.peers.peers and host.loop.stats["malformed"] == 0
