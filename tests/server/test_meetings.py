"""The server notices that players meet, each at its own node."""

import random
from collections import Counter
from itertools import permutations
from math import dist

import pytest

from flatlands import Game as Engine
from flatlands import action, number, plain
from flatlands.server.players.meetings import MEETINGS_EVERY_MS
from flatlands.world.track import SPEED, UNIT
from tests.server.harness import Harness

MIDDLE = 8 * UNIT


class Ball(Engine):
    """Notes which players meet."""

    ground, meets = plain(), 1.5

    def __init__(self, node, options=None, alone=True):
        super().__init__(node, options, alone)
        self.met = []

    def on_meet(self, me, other):
        self.met.append((me.name, other.name))
        assert me.id in self.node.residents.by_id and other.tile is not None

    @action(rate=9, burst=9)
    def hurry(self, me, percent: int = number(25, 400)):
        me.pace(percent / 100)


@pytest.fixture
def ball():
    harness = Harness(nodes=2, play=Ball, skew=5000)
    harness.run(2000)
    return harness


def met(harness):
    """Return which players have met at each node since the last call."""
    found = [list(harness.game_of(host).met) for host in harness.hosts]
    for host in harness.hosts:
        harness.game_of(host).met.clear()
    return found


def stand(harness, name, x, host=0, y=MIDDLE):
    return harness.stand(name, (MIDDLE + round(x * UNIT), y), (40, 25), harness.hosts[host])


def test_two_players_meet_once_each_at_its_own_node_and_again_when_they_have_been_apart(ball):
    a, b = stand(ball, "A", 0), stand(ball, "B", 9, 1)
    ball.run(1000)
    assert met(ball) == [[], []]
    a.walk(1, 0)
    b.walk(-1, 0)
    ball.run(800)
    assert met(ball) == [[("A", "B")], [("B", "A")]]
    for client in (a, b):
        client.walk(0, 0)
    ball.run(2000)
    assert met(ball) == [[], []]
    # One step back is not far enough to meet again, but more is.
    for ms, again in ((200, []), (2000, [("A", "B")])):
        for dx in (-1, 1):
            a.walk(dx, 0)
            ball.run(ms)
        a.walk(0, 0)
        assert met(ball) == [again, [pair[::-1] for pair in again]]


@pytest.mark.parametrize("phase", range(0, MEETINGS_EVERY_MS, MEETINGS_EVERY_MS // 4))
def test_players_that_pass_each_other_between_two_looks_meet(ball, phase):
    a, b = stand(ball, "A", 0), stand(ball, "B", 12, 1)
    for client in (a, b):
        client.send(35, "hurry", [400])
    ball.run(1000 + phase)
    # As they pass, they are within reach for less time than lies between two looks.
    a.walk(1, 0)
    b.walk(-1, 0)
    ball.run(800)
    assert met(ball) == [[("A", "B")], [("B", "A")]]
    assert 2 * 1.5 * UNIT / (8 * SPEED) < MEETINGS_EVERY_MS / 1000


def test_a_player_that_arrives_is_met_and_one_that_is_lost_is_not(ball):
    a = stand(ball, "A", 0)
    ball.run(500)
    b = stand(ball, "B", 1)
    ball.run(500)
    assert sorted(met(ball)[0]) == [("A", "B"), ("B", "A")]
    # A player whose connection is lost meets nobody, and nobody meets it.
    b.connection.lose()
    ball.run(200)
    stand(ball, "C", 0.5)
    ball.run(500)
    assert sorted(met(ball)[0]) == [("A", "C"), ("C", "A")]
    # A player that is back does not meet those again whom it had met.
    again = ball.client().hello("B", token=b.model.token)
    ball.run(500)
    assert sorted(met(ball)[0]) == [("B", "C"), ("C", "B")]
    assert a.connection.open and again.id == b.id


def test_in_a_crowd_exactly_those_players_meet_that_come_near():
    harness, chance = Harness(nodes=2, play=Ball), random.Random(3)
    harness.run(2000)
    clients = [
        stand(harness, f"P{n}", chance.uniform(-9, 9), n % 2, round(chance.uniform(-9, 9) * UNIT))
        for n in range(24)
    ]
    harness.run(500)
    met(harness)
    near, nearest = set(), {}
    for _ in range(60):
        client = chance.choice(clients)
        client.walk(chance.randint(-1, 1), chance.randint(-1, 1))
        for _ in range(15):
            harness.run(10)
            playing = [one.session.playing for one in clients]
            at = {one.name: one.track.at(c.now()) for one, c in zip(playing, clients, strict=True)}
            for pair in permutations(at, 2):
                away = dist(*(at[name] for name in pair))
                if pair not in nearest and away < 3 * UNIT:
                    near.add(pair)
                nearest[pair] = min(nearest.get(pair, away), away)
    for client in clients:
        client.walk(0, 0)
    harness.run(300)
    told = Counter(pair for found in met(harness) for pair in found)
    # A node learns only a moment later that a player of another node has turned.
    reach, late = 1.5 * UNIT, UNIT // 2
    assert {pair for pair, away in nearest.items() if away > reach + late}.isdisjoint(told)
    # Players that were near each other from the beginning have met before.
    came = {pair for pair, away in nearest.items() if away < reach - late} - near
    assert len(came) > 10 and came <= told.keys()


@pytest.mark.parametrize("meets", [0, -1, 7, "1"])
def test_an_invalid_reach_is_refused(meets):
    with pytest.raises(ValueError, match="meets must be more than 0 and at most 6 tiles, not "):
        type("Some", (Engine,), {"meets": meets})
