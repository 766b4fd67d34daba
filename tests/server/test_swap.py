"""A world that goes from one broker to another while it is played (server/swap.py)."""

import pytest

from flatlands.server.kept.keeper import Away
from flatlands.server.swap import EVERY, HEARS, LEFT, SPEAKS
from tests.server.harness import Clock, Harness, Rules, clock_stores, events

OLD, NEW, THIRD = "memory://harness", "redis://new", "redis://third"


class World:
    """Nodes with a player each, who see each other, walk, and talk all the time."""

    def __init__(self, nodes=3, skew=7):
        clock = Clock()
        self.harness = Harness(
            nodes=nodes, skew=skew, clock=clock, stores=clock_stores(clock), rules=Rules(0)
        )
        self.harness.run(2000)
        self.players = []
        self.said = []
        self.turns = 0
        self.wrong = []
        for n, host in enumerate(self.harness.hosts):
            self.join(host, n)
        self.harness.run(1000)

    def join(self, host, n):
        self.players.append(self.harness.place(f"P{n}", (n % 2, 0), host=host))

    def play(self, ms):
        """Let time pass, while all walk to and fro and say each text once."""
        for _ in range(ms // 100):
            self.turns += 1
            for n, player in enumerate(self.players):
                if player in self.harness.clients:
                    player.walk(*[(1, 0), (0, 1), (-1, 0), (0, -1)][self.turns // 7 % 4])
                    if self.turns % 10 == n:
                        self.said.append(f"{n} says {self.turns}")
                        player.send(6, self.said[-1])
            self.harness.run(100)
            self.compare()

    def compare(self):
        for one in self.harness.clients:
            for other in self.harness.clients:
                if not one.sees(other):
                    self.wrong.append((self.harness.clock.time, one.id, other.id))

    def heard(self, player):
        return [event[2] for event in events(player.connection.messages) if event[0] == 4]

    def swap(self, url=NEW, at=0):
        self.harness.hosts[at].node.swap.order(url)

    def urls(self):
        return [host.node.bus.broker.url for host in self.harness.hosts]


def test_a_world_changes_its_broker_under_its_players():
    world = World()
    world.play(2000)
    world.swap()
    world.play(6000)
    print(world.harness.hosts[0].node.swap.state())
    assert world.urls() == [NEW] * 3
    assert world.wrong == []
    for player in world.players:
        print(len(world.said), len(world.heard(player)))
        assert sorted(world.heard(player)) == sorted(world.said)
    for host in world.harness.hosts:
        print({k: v for k, v in host.loop.stats.items() if k in ("gaps", "repairs", "errors", "incompatible")})
