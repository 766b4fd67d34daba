"""What a game does at an interval, once in the world."""

from flatlands import Game as Engine
from flatlands import every, plain
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from tests.server.harness import Harness


class Census(Engine):
    ground = plain()

    @every(1, each=True, waits=True)
    def count(self, players):
        raise ValueError


class Seasons(Engine):
    ground = plain()

    def __init__(self, node, options=None, alone=True):
        super().__init__(node, options, alone)
        self.turned = 0

    @every(1, once=True)
    def turn(self):
        self.turned += 1


def sky(nodes):
    """Return nodes that share a store."""
    clock = Clock()
    return Harness(nodes=nodes, stores=shared_stores(clock), clock=clock, play=Seasons)


def turned(harness):
    return [harness.game_of(host).turned for host in harness.hosts]


def test_a_method_that_runs_once_runs_at_one_node_and_soon_at_another_if_that_dies():
    harness = sky(nodes=3)
    harness.run(10_000)
    [first] = [host for host in harness.hosts if harness.game_of(host).turned]
    assert 8 <= sum(turned(harness)) <= 10
    harness.kill(first)
    harness.run(10_000)
    assert sorted(turned(harness))[0] == 0 and 5 <= sum(turned(harness)) <= 8
    harness.stop(next(host for host in harness.hosts if harness.game_of(host).turned))
    harness.run(5000)
    assert turned(harness)[0] >= 2


def test_a_node_that_hears_nobody_leaves_a_method_that_runs_once_to_others():
    harness = sky(nodes=2)
    harness.run(5000)
    [first] = [host for host in harness.hosts if harness.game_of(host).turned]
    first.broker.fail()
    harness.run(10_000)
    had = harness.game_of(first).turned
    harness.run(10_000)
    assert harness.game_of(first).turned == had and sum(turned(harness)) >= had + 10


def test_a_method_that_runs_once_runs_at_each_node_without_a_store():
    harness = Harness(nodes=2, play=Seasons)
    harness.run(3000)
    assert turned(harness) == [3, 3]
    harness.node.play.stop()
    assert harness.node.play.has_stopped
    harness.run(3000)
    assert turned(harness) == [3, 6]


def test_a_method_for_all_players_that_fails_is_counted_and_called_again():
    harness = Harness(play=Census)
    client = harness.place("Ada", (0, 0))
    harness.run(3500)
    assert harness.loop.stats["hooks_failed"] == 3 and harness.loop.stats["errors"] == 0
    assert client.model.errors == []
