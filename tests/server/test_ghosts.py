"""Every player on a screen is in play; every player in play is on all screens that cover it.

Failures that random worlds (tests/simulate) found, each as the shortest story that shows it.
"""

import pytest

from flatlands.server.messages.peer_protocol import DRAINING, FullState, Left, pack
from flatlands.server.players.residents import DIMMED_FOR_MS
from flatlands.testkit.network import FakeLink
from flatlands.world.track import UNIT
from tests.server.harness import Harness, node_batch, two_nodes

GONE = 3
SAID = 4


@pytest.fixture
def two():
    """Two nodes, with a player on each, side by side."""
    return two_nodes()


def come_and_hang_up(harness, host, token, code=1006, name="B"):
    """Come to a node with a player's token, and hang up at once."""
    client = harness.client(host)
    client.say_hello(name, token=token)
    client.connection.lose(code)


def test_a_player_that_left_a_drained_node_unheard_is_gone_soon_after(two):
    """The node keeps saying, perhaps for hours, that it is drained."""
    harness, a, b = two
    b.host.node.peers.publish(DRAINING)
    a.host.broker.fail()
    b.connection.lose(1000)
    harness.run(8000)
    a.host.broker.restore(a.host.node)
    harness.run(6000)
    assert not a.sees(b)


def test_a_player_that_the_server_sent_away_stands_undimmed_and_plays_on_for_good():
    harness = Harness()
    a, b = harness.place("A", (0, 0)), harness.place("B", (0, 0))
    b.connection.close(1012, "the server restarts")
    harness.run(100)
    assert not a.model.players[b.id].dimmed
    again = harness.client().hello(token=b.model.token)
    harness.run(DIMMED_FOR_MS + 100)
    assert a.sees(again)
    harness.check()


@pytest.mark.parametrize("code", [1000, 1006])
def test_a_player_that_hangs_up_before_its_claim_is_answered_is_no_ghost(two, code):
    harness, a, b = two
    third = harness.place("C", (0, 0), host=harness.host())
    screens = a, third, harness.place("D", (1, 0), host=harness.hosts[1])
    harness.run(500)
    harness.network.delay = 50
    come_and_hang_up(harness, harness.hosts[0], b.model.token, code)
    harness.run(500)
    assert b.connection.closed[0] == 4001
    assert [client.sees(b) for client in screens] == [code != 1000] * 3
    harness.run(DIMMED_FOR_MS + 5000)
    assert not any(client.sees(b) for client in screens)
    harness.check()


@pytest.mark.parametrize("stops", [False, True])
def test_a_player_whose_grant_is_lost_is_soon_gone_even_if_the_node_that_gave_it_stops(two, stops):
    harness, a, b = two
    # Without another player in its square, others would notice that its node has nobody there.
    other = harness.place("D", (1, 0), host=harness.hosts[1])
    harness.run(500)
    harness.broker.lose_subscriptions({harness.node.channels.node(harness.node.id)})
    come_and_hang_up(harness, harness.hosts[0], b.model.token)
    harness.settle()
    assert b.connection.closed[0] == 4001 and a.sees(b)
    harness.broker.lost.clear()
    if stops:
        harness.stop(harness.hosts[1])
    harness.run(5000)
    assert not a.sees(b)
    if not stops:
        assert not other.sees(b)
        harness.check()


@pytest.mark.parametrize("end", ["it leaves", "its node dies"])
def test_a_player_on_two_nodes_whose_newer_one_is_gone_is_seen_again(two, end):
    harness, a, b = two
    watcher, newer = harness.place("W", (1, 0), host=harness.host()), harness.host()
    harness.run(1500)
    # The node of B is heard but hears nothing: it never learns that B came to another node.
    harness.network.cuts.update((host.broker, harness.hosts[1].broker) for host in harness.hosts)
    again = harness.client(newer).hello("B", token=b.model.token)
    harness.run(1000)
    if end == "it leaves":
        again.connection.lose(1000)
        harness.run(500)
        assert not watcher.sees(b)
    else:
        harness.kill(newer)
    harness.network.heal()
    harness.run(5000)
    assert b.connection.open and watcher.sees(b) and a.sees(b)
    harness.check()


def test_a_move_that_waits_is_not_newer_than_the_incarnation_that_replaced_it(two):
    harness, a, b = two
    for n in range(9):
        b.walk(n % 2, 1 - n % 2)
        harness.run(500)
    host = harness.hosts[1]
    # Its last record has the low byte of its seq, and the next incarnation begins behind that.
    before = host.node.residents.by_id[b.id].seq
    node = harness.node
    node.bus.broker.publish(node.channels.player(b.id), pack(Left(node.id, b.id, before + 2**24)))
    harness.run(200)
    after = host.node.residents.by_id[b.id].seq
    assert after // 2**24 == before // 2**24 + 2
    assert 0 < (after - before) % 256 < 128
    harness.check()


def test_a_player_whose_node_began_another_incarnation_and_was_killed_is_seen_at_once(two):
    harness, a, b = two
    host, other = harness.hosts[1], harness.host()
    harness.run(2000)
    node = harness.node
    before = host.node.residents.by_id[b.id].seq
    node.bus.broker.publish(node.channels.player(b.id), pack(Left(node.id, b.id, before)))
    harness.run(200)
    b.walk(0, 0)
    harness.run(200)
    harness.kill(host)
    # This node has not heard of the player; the first node does not know that the player is gone.
    harness.client(other).hello("B", token=b.model.token)
    harness.run(500)
    harness.check()


@pytest.mark.parametrize("stops", [False, True])
def test_a_node_that_gave_a_player_up_unheard_does_not_hide_the_one_in_play(stops):
    harness = Harness(nodes=3, ready=True)
    a, b = (harness.place(name, (0, 0)) for name in "AB")
    gives_up, keeps = sorted(harness.hosts[1:], key=lambda host: host.node.id)
    harness.run(500)
    harness.network.cuts.add((gives_up.broker, keeps.broker))
    # Both begin the same incarnation, and the node that keeps the player hears of no other.
    clients = [harness.client(host) for host in (gives_up, keeps)]
    for client in clients:
        client.say_hello("B", (40, 25), b.model.token, None)
    harness.run(500 if stops else 2000)
    assert [client.connection.open for client in clients] == [False, True]
    if stops:
        harness.stop(gives_up)
        harness.run(2000)
    harness.network.heal()
    harness.run(5000)
    assert a.sees(clients[1])
    harness.check()


def behind(client, harness):
    """Let a client fall behind: it acknowledges nothing, and much happens."""
    client.silent = True
    for n in range(6):
        client.walk(n % 2, 1 - n % 2)
        harness.run(500)
    assert client.session.lags_since is not None


def caught_up(client, harness):
    client.silent = False
    client.ping()
    harness.run(1500)
    assert client.session.lags_since is None


def test_a_client_that_lags_is_told_that_the_link_failed_and_that_it_is_back(two):
    harness, a, b = two
    for linked in (False, True):
        behind(a, harness)
        for host in harness.hosts:
            if linked:
                host.broker.restore(host.node)
            else:
                host.broker.fail()
        harness.run(3000)
        assert a.model.linked != linked
        caught_up(a, harness)
        assert a.model.linked == linked
    harness.check()


def test_a_client_that_lagged_when_a_node_came_sees_its_players_where_they_are():
    harness = Harness(skew=60_000)
    a = harness.place("A", (0, 0))
    behind(a, harness)
    late = harness.host()
    harness.run(1500)
    caught_up(a, harness)
    c = harness.place("C", (0, 0), host=late)
    c.walk(1, 0)
    harness.run(500)
    assert a.at(c) == c.at()
    harness.check()


def test_a_node_that_is_heard_in_a_square_lives_though_its_heartbeats_are_lost(two):
    harness, a, b = two
    nodes, publish = harness.node.channels.nodes, harness.hosts[1].broker.publish
    harness.hosts[1].broker.publish = lambda channel, payload: (
        channel == nodes or publish(channel, payload)
    )
    for _ in range(20):
        for way in (1, -1):
            b.walk(0, way)
            harness.run(300)
        assert a.sees(b)
    harness.check()


def test_an_event_that_waited_while_a_process_stood_still_is_told_when_it_goes_on():
    harness = Harness()
    a, b, c = (harness.place(name, (x, 0)) for name, x in (("A", 0), ("B", 50), ("C", 100)))
    d = harness.place("D", (100, 0))
    harness.run(500)
    host = harness.hosts[0]
    a.connection.lose(1000)
    harness.run(1950)
    # From now on events wait for the next flush, and the process stands still before it.
    host.node.hub.not_before = host.loop.now() + 200
    b.connection.lose(1000)
    c.send(6, "hello")
    host.freeze()
    harness.run(2300)
    host.thaw()
    harness.run(500)
    assert ("C", "hello") in d.model.chat
    harness.check()


@pytest.mark.interpreted
def test_a_square_that_fails_takes_nothing_of_the_others_with_it(monkeypatch):
    harness = Harness()
    a, b = harness.place("A", (0, 0)), harness.place("B", (50, 0))
    harness.run(500)
    outbox, loop = harness.node.outbox, harness.loop
    send = outbox._send

    def fail_once(square, *rest):
        monkeypatch.setattr(outbox, "_send", send)
        raise RuntimeError("as if a square could not be packed")

    loop.forgiving = True
    monkeypatch.setattr(outbox, "_send", fail_once)
    harness.node.residents.say(a.session.resident, "lost")
    harness.node.residents.say(b.session.resident, "hello")
    harness.run(100)
    assert loop.stats["errors"] == 1
    assert b.model.chat == [("B", "hello")] and a.model.chat == []


def test_a_session_that_fails_in_a_flush_takes_nobody_with_it(monkeypatch):
    harness = Harness()
    clients = [harness.place(f"P{n}", (0, 0)) for n in range(5)]
    harness.run(500)
    harness.loop.forgiving = True
    broken = clients[2].connection
    monkeypatch.setattr(broken, "send", lambda _data: 1 // 0)
    harness.node.residents.say(clients[0].session.resident, "hello")
    harness.run(100)
    assert harness.loop.stats["errors"] == 1
    heard = [client.model.chat for client in clients]
    assert heard == [[("P0", "hello")]] * 2 + [[]] + [[("P0", "hello")]] * 2


def test_a_suspended_nodes_players_are_drawn_where_they_are(two):
    harness, a, b = two
    harness.hosts[1].freeze()
    harness.run(7000)
    harness.hosts[1].thaw(suspended=True)
    harness.run(8000)
    b.go(40 * UNIT, 8 * UNIT)
    harness.run(1000)
    assert a.at(b) == b.at() != (24 * UNIT, 8 * UNIT)


def test_a_player_that_went_on_at_a_node_that_is_not_heard_does_not_stay_where_it_was():
    harness = Harness(nodes=3, ready=True)
    before, watching, after = harness.hosts
    a, b = (harness.place(name, (0, 0), host=before) for name in "AB")
    harness.place("C", (-1, 0), host=after)
    watcher = harness.place("W", (0, 0), host=watching)
    harness.run(500)
    # B comes to its next node and leaves, unheard here; A stays, and does nothing.
    harness.network.cuts.add((after.broker, watching.broker))
    back = harness.client(after).hello("B", token=b.model.token)
    harness.run(1000)
    back.connection.lose(1000)
    harness.run(3000)
    harness.network.heal()
    harness.run(5000)
    assert back.id == b.id and not watcher.sees(back) and watcher.sees(a)


def test_a_player_that_comes_back_with_an_old_token_is_not_where_its_stopped_node_had_it(two):
    harness, a, b = two
    stops = harness.host()
    token = b.model.token
    b.go(8 * UNIT, 8 * UNIT)
    harness.run(4000)
    harness.client(stops).hello("B", token=b.model.token)
    harness.run(13_000)
    assert a.at(b) == (8 * UNIT, 8 * UNIT)
    harness.stop(stops)
    # This node has not heard of the player, so it begins the same incarnation as the stopped one.
    back = harness.client(harness.host()).hello("B", token=token)
    harness.run(5000)
    assert back.id == b.id and a.at(back) == back.at() == (24 * UNIT, 8 * UNIT)
    harness.check()


def test_a_player_that_a_node_does_not_believe_is_not_on_its_clients_screens_either():
    harness = Harness()
    a, _ = harness.place("A", (0, 0)), harness.place("Far", (9, 9))
    harness.run(500)
    other = FakeLink(harness.network)
    ghost, eve = 2**31 + 5, 2**31 + 6

    def tell(square, number, *events):
        batch = node_batch(square, 77, 0, number, harness.clock.time, events)
        other.publish(harness.node.channels.square(square), batch)
        harness.run(100)

    # The node of A hears that the player left; A is never told.
    tell((9, 9), 1, [GONE, ghost, 7])
    enter = [0, ghost, 6, 0, "Ghost", False, 1, 8192, 8192, 0, 0, 0, 0, 100, []]
    tell((0, 0), 2, enter, [0, eve, 1, 0, "Eve", False, 2, *enter[7:]], [SAID, eve, "hello"])
    assert set(a.model.players) == {a.id, eve} and a.model.chat == [("Eve", "hello")]
    # The other node dies; A is told nothing of the player that it does not know.
    other.close()
    harness.run(5000)
    assert set(a.model.players) == {a.id}
    harness.check()


@pytest.mark.parametrize("newcomer", [False, True])
def test_no_screen_gets_an_old_enter_after_the_snapshot_without_that_player(newcomer):
    harness = Harness()
    screens = [harness.place("A", (0, 0))]
    harness.run(500)
    other, node = FakeLink(harness.network), harness.node
    channel = node.channels.square((0, 0))
    enters = [
        [0, id, 1, 0, name, False, slot, 8192, 8192, 0, 0, 0, 0, 100, []]
        for slot, (id, name) in enumerate({2**31 + 5: "Left", 2**31 + 6: "Eve"}.items())
    ]
    # All of this comes before the next flush, as after a pause of the node.
    node.hub.not_before = harness.loop.now() + 200
    other.publish(channel, node_batch((0, 0), 77, 0, 1, harness.clock.time, enters))
    harness.run(50)
    other.publish(channel, pack(FullState(0, 0, 77, 2, harness.clock.time, 0, 1, enters[1:])))
    if newcomer:
        harness.run(0)
        screens.append(harness.place("New", (0, 0)))
    harness.run(500)
    for client in screens:
        assert 2**31 + 5 not in client.model.players and 2**31 + 6 in client.model.players


def test_a_player_that_goes_to_another_node_twice_is_left_in_neither_square(two):
    harness, *_ = two
    one, other = harness.hosts
    span = harness.node.grid.span
    friend = harness.stand("F", (span // 2, span // 2), (40, 25), one)
    friend.send(8)
    player = harness.stand("P", (span // 2, span - 1000), (40, 25), one)
    token = player.model.token
    player.walk(0, 1)
    harness.run(1500)
    # Its first node gives it up to a node that does not hear that, and whose client hangs up.
    harness.network.cuts.add((one.broker, other.broker))
    come_and_hang_up(harness, other, token, name="P")
    harness.run(400)
    harness.network.heal()
    back = harness.client(one).hello("P", token=token, near=friend.model.invitation)
    harness.run(500)
    assert [r.square for r in one.node.residents.by_id.values() if r.id == player.id] == [(0, 0)]
    harness.client(other).hello("P", token=back.model.token)
    harness.run(5000)
    late = harness.place("L", (0, 2), (24, 24), one)
    harness.run(500)
    assert late.model.held[1] == 1 and not late.sees(player)
    harness.check()
