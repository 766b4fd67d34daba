"""The way of a player as a game records it: exact, bounded, and carried from node to node."""

import pytest

from flatlands import Game as Engine
from flatlands import action, number, plain
from flatlands.server.game.me import Me
from flatlands.server.messages.peer_protocol import RECORDED_POINTS_MOST
from flatlands.server.players.recording import POINTS_MOST
from flatlands.testkit.harness import Harness
from flatlands.world.track import UNIT


class Recorder(Engine):
    """Pages say when the ways of their players are recorded, and ask for them."""

    ground = plain()

    @action(rate=100, burst=1000)
    def record(self, me):
        me.record()

    @action(rate=100, burst=1000)
    def way(self, me):
        me.send("way", [list(point) for point in me.recorded()])

    @action(rate=100, burst=1000)
    def hurry(self, me, percent: int = number(25, 400)):
        me.pace(percent / 100)

    @action(rate=100, burst=1000)
    def put(self, me):
        me.teleport((7, 7))


def do(client, name, *fields):
    client.send(35, name, list(fields))


def way(client):
    """Return the recorded way of a client's player."""
    do(client, "way")
    [points] = client.model.messages["way"]
    return points


def at(points, ms):
    """Return where a recording has the player at a time, also between two points."""
    for (t, x, y), (then, to_x, to_y) in zip(points, points[1:], strict=False):
        if t <= ms <= then:
            share = (ms - t) / (then - t)
            return x + (to_x - x) * share, y + (to_y - y) * share
    raise AssertionError(f"nothing is recorded at {ms} ms: {points}")


def watched(harness, begun, ms):
    """Let some ms pass; return (ms since a time, x, y) of the first player every 20 ms."""
    [client, *_], seen = harness.clients, []
    for _ in range(ms // 20):
        harness.run(20)
        at = client.host.node.residents.by_id[client.id].track.at(client.now())
        seen.append((harness.clock.time - begun, *at))
    return seen


@pytest.fixture
def harness():
    harness = Harness(Recorder, ready=True)
    harness.stand("A", (500, 500), (40, 25))
    harness.run(500)
    return harness


def test_a_way_is_recorded_as_it_was_walked(harness):
    [a] = harness.clients
    do(a, "record")
    begun, walked = harness.clock.time, []
    # Rests, turns, ways of several legs, and intents that come late.
    ways = [(1, 0, 0, 8000), (0, 0, 90, 700), (1, 1, 190, 900), (-1, 0, 0, 40), (0, 1, 60, 1300)]
    for dx, dy, late, ms in ways:
        harness.run(late)
        a.walk(dx, dy, late)
        walked += watched(harness, begun, ms)
    points = way(a)
    assert points[0] == [0, 500, 500] and points[-1] == list(walked[-1]) and len(points) < 15
    for ms, x, y in walked:
        # What was walked before a late intent arrived is not part of the way.
        if all(not 0 <= end - ms <= 200 for end in (8090, 8980, 10140)):
            assert at(points, ms) == pytest.approx((x, y), abs=2)
    # The recording starts again.
    do(a, "record")
    assert way(a) == [[0, *walked[-1][1:]]]


def test_a_recording_begins_after_an_intent_that_is_on_its_way(harness):
    [a] = harness.clients
    begun = a.now()
    harness.run(100)
    do(a, "record")
    harness.run(50)
    a.walk(1, 0, 150)
    harness.run(1000)
    points = way(a)
    assert points == [[0, 500, 500], [a.now() - begun, *a.at()]]


def test_nothing_is_recorded_of_others(harness):
    [a] = harness.clients
    b = harness.stand("B", (900, 900), (40, 25))
    harness.run(500)
    do(a, "record")
    for client in (a, b):
        client.walk(1, 0)
    harness.run(3000)
    assert way(b) == [] and len(way(a)) > 1
    assert a.host.node.residents.by_id[b.id].recorded == ()


@pytest.mark.parametrize("percent", [50, 150])
def test_a_way_at_another_pace_is_recorded_too(harness, percent):
    [a] = harness.clients
    do(a, "record")
    begun, walked = harness.clock.time, []
    a.walk(1, 0)
    for ask in (percent, 100, percent):
        do(a, "hurry", ask)
        walked += watched(harness, begun, 1000)
    points = way(a)
    assert all(at(points, ms) == pytest.approx((x, y), abs=2) for ms, x, y in walked)
    do(a, "record")
    assert len(way(a)) == 1


@pytest.mark.parametrize("what", ["put", "home", "sleep", "turns"])
def test_anything_but_a_walk_ends_a_recording(harness, what):
    [a] = harness.clients
    do(a, "record")
    a.walk(1, 0)
    harness.run(1000)
    if what == "put":
        do(a, "put")
    elif what == "home":
        harness.run(9000)
        a.home()
    elif what == "sleep":
        a.host.freeze()
        harness.run(20_000)
        a.host.thaw()
        harness.run(500)
    else:
        for turn in range(POINTS_MOST):
            assert way(a)
            a.walk((-1) ** turn, 0)
            harness.run(150)
    harness.run(100)
    assert way(a) == []
    do(a, "record")
    a.walk(0, 1)
    harness.run(1000)
    assert len(way(a)) == 2


def test_a_recording_follows_its_player_to_a_node_with_another_clock():
    harness = Harness(Recorder, nodes=3, skew=700, ready=True)
    one, other, third = harness.hosts
    a = harness.stand("A", (500, 500), (40, 25), one)
    harness.run(500)
    do(a, "record")
    begun = harness.clock.time
    a.walk(1, 0)
    harness.run(2000)
    a.connection.lose()
    harness.run(300)
    before = one.node.residents.by_id[a.id].track.at(one.loop.now())
    again = harness.client(other).hello("A", token=a.model.token)
    harness.run(1000)
    again.walk(0, 1)
    harness.run(1500)
    points = way(again)
    assert points[-1][0] == pytest.approx(harness.clock.time - begun, abs=5)
    assert points[0] == [0, 500, 500] and at(points, 2600) == before
    assert points[-1] == [points[-1][0], *again.at()]
    assert points[-1][2] == pytest.approx(500 + 1.5 * 5 * UNIT, abs=20)
    # The recording stays at its node when the player comes back there.
    again.connection.lose()
    harness.run(300)
    once_more = harness.client(other).hello("A", token=again.model.token)
    assert len(way(once_more)) == len(points) + 1
    # If the node dies, the recording is lost.
    harness.kill(other)
    last = harness.client(third).hello("A", token=once_more.model.token)
    harness.run(1000)
    assert last.at() == once_more.at() and way(last) == []


def test_a_player_that_accepts_an_invitation_at_another_node_is_no_longer_recorded():
    harness = Harness(Recorder, nodes=2, ready=True)
    a = harness.stand("A", (500, 500), (40, 25))
    host = harness.stand("H", (900 * UNIT, 500), (40, 25))
    harness.run(500)
    host.send(8)
    harness.run(100)
    do(a, "record")
    a.walk(1, 0)
    harness.run(1000)
    a.connection.lose()
    harness.run(300)
    again = harness.client(harness.hosts[1])
    again.hello("A", token=a.model.token, near=host.model.invitation)
    harness.run(1000)
    assert again.at()[0] > 800 * UNIT and way(again) == []
    again.walk(1, 0)
    harness.run(1000)
    assert way(again) == []


def test_other_nodes_believe_the_longest_recording():
    # It may end with a rest, and with the present place of the player.
    assert POINTS_MOST + 3 <= RECORDED_POINTS_MOST


def test_a_player_looks_as_its_page_has_chosen(harness):
    [a] = harness.clients
    a.send(33, "A", 1033)
    assert Me(a.host.node, a.host.node.residents.by_id[a.id]).look == 1033
