"""One world over several nodes: everybody believes the truth, whatever is lost or dies."""

import msgpack
import pytest

from flatlands.server.clients.admission import WALKED_UNITS
from flatlands.server.messages import peer_protocol
from flatlands.server.players.residents import DIMMED_FOR_MS, LEFT_FOR_MS
from flatlands.server.players.takeovers import GONE_PUBLISHED_AFTER_MS
from flatlands.server.squares.peers import NODE_DEAD_MS
from flatlands.testkit.comparison import true_records
from flatlands.world.track import SPEED, UNIT
from tests.server.harness import Harness, two_nodes


@pytest.fixture
def two():
    """Two nodes whose clocks are a minute apart, with a player on each, side by side. After each
    story all clients must believe the truth."""
    two = two_nodes(skew=60_000)
    yield two
    two[0].check()


def test_players_of_two_nodes_see_each_other_walk_talk_and_go(two):
    harness, a, b = two
    assert a.sees(b) and b.sees(a)
    b.walk(1, 1)
    for _ in range(40):
        harness.run(93)
        assert a.at(b) == b.at()
        harness.check()
    b.send(6, "hello")
    harness.run(100)
    assert a.model.chat == [("B", "hello")]
    b.connection.lose(1000)
    harness.run(100)
    assert not a.sees(b)


def killed_in_mid_walk(harness, b):
    """Kill the node of `b` 6 s after the player's last token; return the token, the place where it
    was made, and the last place of the player."""
    b.session.renew_token()
    token, made = b.model.token, b.at()
    b.walk(-1, 0)
    harness.run(6000)
    last = b.at()
    harness.kill(harness.hosts[1])
    harness.run(NODE_DEAD_MS + 3000)
    assert abs(last[0] - made[0]) > 10 * UNIT
    return token, made, last


def test_a_player_whose_node_was_killed_goes_on_where_it_stood(two):
    harness, _a, b = two
    token, _made, last = killed_in_mid_walk(harness, b)
    again = harness.client().hello("B", token=token, place=last)
    harness.run(400)
    assert (again.id, again.at()) == (b.id, last)


def test_nobody_comes_back_where_it_cannot_have_walked(two):
    harness, _a, b = two
    token, made, _last = killed_in_mid_walk(harness, b)
    x, y = made
    for place in (x + WALKED_UNITS + 1, y), (x, y - WALKED_UNITS - 1), None:
        again = harness.client().hello("B", token=token, place=place)
        harness.run(400)
        assert (again.id, again.at()) == (b.id, made)
        again.connection.lose(1000)
        # What a node remembers takes precedence over what a client says.
        other = x + UNIT, y
        back = harness.client().hello("B", token=token, place=other)
        harness.run(400)
        assert back.at() == made
        back.connection.lose(1000)
        harness.run(LEFT_FOR_MS + 1000)


def test_nobody_comes_back_in_the_water():
    harness = Harness(free=False)
    client = harness.stand("A", (0, 0), (40, 25))
    token = client.model.token
    blocked = next(
        (x * UNIT, y * UNIT)
        for x in range(-50, 50)
        for y in range(-50, 50)
        if harness.node.terrain.blocked(x, y)
    )
    new = harness.host()
    harness.kill(harness.hosts[0])
    harness.run(NODE_DEAD_MS + 3000)
    again = harness.client(new).hello("A", token=token, place=blocked)
    harness.run(400)
    assert (again.id, again.at()) == (client.id, (0, 0))


def test_in_an_outage_players_of_one_node_go_on_seeing_each_other(two):
    harness, a, b = two
    c = harness.place("C", (0, 0), host=harness.hosts[0])
    harness.run(300)
    for host in harness.hosts:
        host.broker.down = True
    c.walk(1, 0)
    harness.run(10)
    assert a.at(c) == c.at()
    x = c.at()[0]
    harness.run(5000)
    # The duration of a leg is rounded up.
    assert x + SPEED * 5 - 1 <= c.at()[0] <= x + SPEED * 5
    assert not a.model.linked
    # A node cannot tell who is dead while it does not even hear itself.
    assert a.sees(b)
    b.walk(0, 1)
    harness.run(200)
    for host in harness.hosts:
        host.broker.restore(host.node)
    harness.run(2000)
    assert a.model.linked
    harness.check()
    assert a.sees(b) and b.sees(c) == (c.id in true_records(b, harness.hosts))


# Coming back at another node.


@pytest.mark.parametrize("code", [None, 1000, 1006], ids=["takes over", "has left", "was lost"])
def test_a_player_comes_back_at_another_node_where_it_stood_and_nobody_blinks(two, code):
    harness, a, b = two
    # The token has an old place: only the other node knows the last one.
    token = b.model.token
    b.walk(0, 1)
    harness.run(2000)
    place = b.at()
    if code is not None:
        b.connection.lose(code)
        harness.run(500)
    assert a.sees(b) == (code != 1000)
    again = harness.client(harness.hosts[0]).hello("B", token=token)
    harness.run(500 if code == 1000 else 50)
    assert again.id == b.id and again.at() == place
    assert code or b.connection.closed[0] == 4001
    assert b.id not in harness.hosts[1].node.residents.by_id
    for _ in range((DIMMED_FOR_MS + 5000) // 10):
        harness.run(10)
        assert a.sees(again) and not a.model.players[b.id].dimmed


def test_an_older_token_makes_nobody_invisible_at_another_node_either(two):
    harness, a, b = two
    token = b.model.token
    for n in range(4):
        b.connection.lose(1000)
        harness.run(300)
        b = harness.client(harness.hosts[n % 2]).hello("B", token=token)
        harness.run(500)
        assert a.sees(b)
        b.walk(0, 1 - n % 2 * 2)
        harness.run(300)
        harness.check()


def held_by(harness, client):
    """Return the nodes that have a client's player."""
    return [client.id in host.node.residents.by_id for host in harness.hosts]


@pytest.mark.parametrize("walks", [True, False])
def test_two_nodes_that_both_have_a_player_end_up_with_one(two, walks):
    harness, a, b = two
    # Neither node hears the other one.
    for host in harness.hosts:
        host.broker.down = True
    again = harness.client(harness.hosts[0]).hello("B", token=b.model.token)
    harness.run(8000)
    assert held_by(harness, again) == [True, True]
    for host in harness.hosts:
        host.broker.restore(host.node)
    if walks:
        again.walk(1, 0)
    # If nobody moves there are no batches.
    harness.run(600)
    assert held_by(harness, again) == [True, False]
    assert b.connection.closed[0] == 4001


def test_a_claim_that_an_outage_swallowed_is_told_again():
    harness = Harness(nodes=2, ready=True)
    b = harness.place("B", (40, 40), host=harness.hosts[1])
    harness.run(500)
    harness.hosts[0].broker.down = True
    again = harness.client(harness.hosts[0]).hello("B", token=b.model.token)
    harness.run(400)
    # The player goes home, where neither node ever hears the other one's squares.
    again.home()
    harness.run(10_000)
    harness.hosts[0].broker.restore(harness.hosts[0].node)
    harness.run(4500)
    assert held_by(harness, again) == [True, False]
    harness.run(10_000)
    told, publish = [], harness.hosts[0].broker.publish
    harness.hosts[0].broker.publish = lambda channel, payload: (
        told.append((channel, msgpack.unpackb(payload)[0])) or publish(channel, payload)
    )
    harness.run(4000)
    player = harness.node.channels.player(b.id)
    assert [at for at, kind in told if kind == peer_protocol.HOSTED] == [player]


def test_a_player_kept_by_a_node_far_away_is_gone_from_here_once_no_enter_can_come():
    harness = Harness(nodes=2, ready=True)
    keeps, loses = harness.hosts
    watcher = harness.place("W", (40, 40), host=loses)
    b = harness.place("B", (40, 40), host=loses)
    harness.run(500)
    # Both nodes have the player until the first one is heard again; the second hears no enter.
    keeps.broker.down = True
    again = harness.client(keeps).hello("B", token=b.model.token)
    harness.run(400)
    again.home()
    harness.run(1000)
    keeps.broker.restore(keeps.node)
    while held_by(harness, b) != [True, False]:
        harness.run(1)
    assert watcher.sees(again)
    harness.run(GONE_PUBLISHED_AFTER_MS + 100)
    assert not watcher.sees(again)
    harness.check()


def test_a_player_that_comes_back_to_the_first_node_at_once_stays_in_sight(two):
    harness, a, b = two
    for n in (0, 1):
        b = harness.client(harness.hosts[n]).hello("B", token=b.model.token)
        harness.run(200)
    neighbour = harness.place("C", (0, 0), host=harness.hosts[1])
    harness.run(5000)
    assert neighbour.sees(b) and b.sees(b) and a.sees(b)


def test_a_node_that_stops_keeps_its_players_in_sight_until_they_are_back(two):
    harness, a, b = two
    old = harness.hosts[1]
    token = b.model.token
    harness.stop(old)
    harness.run(NODE_DEAD_MS + 3000)
    assert a.sees(b)
    again = harness.client(harness.hosts[0]).hello("B", token=token)
    harness.run(400)
    assert again.id == b.id
    harness.run(DIMMED_FOR_MS + 3000)
    assert a.sees(again)


def test_players_that_come_back_from_another_node_never_exceed_the_places_here(two):
    """Three players come at once, and there is room for one more."""
    harness, a, b = two
    here, there = harness.hosts[0], harness.hosts[1]
    others = [harness.place(f"C{n}", (0, 0), host=there) for n in range(3)]
    harness.run(1000)
    here.admission.capacity = here.node.hub.sessions_holding + 1
    # A node that is far away answers late, so that all three wait at the same time.
    harness.network.delay = 100
    backs = [harness.client(here) for _ in others]
    for back, other in zip(backs, others, strict=True):
        back.say_hello("C", (40, 25), other.model.token, None)
    harness.run(1000)
    assert here.node.hub.sessions_holding == here.admission.capacity
    assert sorted(back.model.errors for back in backs) == [[], ["full"], ["full"]]
    # The others are where they were, and were not disturbed.
    assert sum(other.connection.open for other in others) == 2
    harness.network.delay = 0
    harness.run(3000)
