"""Machines with addresses: which node makes the plan of their districts, and how players go from
one to another. Nobody is lost or doubled, and nobody sees a walker stop."""

from functools import partial

import pytest

from flatlands.server.clients.session import STORE_ANSWER_MS
from flatlands.server.cluster.districts import COLUMNS, Line
from flatlands.server.cluster.router import (
    ASKED_AGAIN_MS,
    MACHINE_GONE_MS,
    PLAN_FOLLOWED_MS,
    PLAN_HOLDS_MS,
    RESTS_MS,
)
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.peer_protocol import DRAINING, Plan
from flatlands.server.node import Node
from flatlands.server.players.takeovers import RELEASED_FOR_MS
from flatlands.server.squares.peers import NodeLoad
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from flatlands.world.track import Goal, Heading
from tests.server.harness import Harness

A, B, C = (f"https://{name}.example.org" for name in "abc")

#: The western half belongs to A, and the eastern half to B.
HALVES = (COLUMNS, 0, A, B)

#: A place deep in the eastern half.
EAST = (40_000, 500)
#: A place in the eastern half, but beside the line.
BESIDE = (500, 500)


def world(*addresses, skew=0):
    """Return machines of one node each, which share a store; the first one's plan has one
    district."""
    clock = Clock()
    more = {"clock": clock, "stores": shared_stores(clock), "skew": skew}
    machines = Harness(nodes=len(addresses), addresses=addresses, **more)
    machines.run(4000)
    return machines


def told(machines):
    """Return the plans that the nodes know and that are still valid."""
    return {host.node.router.plan for host in machines.hosts}


def maker(machines):
    """Return the only node that makes the plan."""
    [host] = [host for host in machines.hosts if host.node.router._lease.valid]
    return host


def loaded(host, busy, line=None):
    """Let a node say how busy it is."""
    host.node.peers.set_load(NodeLoad(machine=host.node.router.machine(busy, line)))


def halved(machines):
    """Let the plan become HALVES by making the first machine busy."""
    loaded(machines.hosts[0], 1.5, Line(COLUMNS, 0))
    machines.run(4000)
    loaded(machines.hosts[0], 0.6)
    machines.run(2000)
    assert told(machines) == {HALVES}


@pytest.fixture(params=[0, 700])
def machines(request):
    """Two machines whose clocks differ, each with one half of the world."""
    machines = world(A, B, skew=request.param)
    halved(machines)
    return machines


def look(machines):
    """Let all nodes look after their players, as they do every ten seconds."""
    for host in machines.awake():
        for resident in host.node.residents.by_id.values():
            host.node.router.relocate(resident)
    machines.settle()


def asked(client):
    """Return the addresses to which a client was asked to go."""
    return [message[1] for message in client.connection.messages if message[0] == 48]


def follow(machines, client, address, name="W"):
    """Let a client say hello at another machine with its last token; return the client there."""
    [host] = [host for host in machines.hosts if host.node.router.here == address]
    there = machines.client(host)
    there.say_hello(name, token=client.model.token)
    return there


def whose(machines, client):
    """Return the only node that has the player of a client."""
    [host] = [h for h in machines.hosts if client.id in h.node.residents.by_id]
    return host


def stand(machines, name, at, host=None):
    """Return a client whose player stands at a position, at the first machine or another one."""
    return machines.stand(name, at, (40, 25), host)


def walker(machines, at=(20_000, 500)):
    """Return a client at the first machine that has walked east from a place for two seconds, and
    has asked for nothing else for a while."""
    client = stand(machines, "W", at)
    machines.run(STORE_ANSWER_MS + 1)
    client.walk(1, 0)
    machines.run(2000)
    look(machines)
    return client


def intent(resident):
    """Return the intent that leads a player, as (class, x, y)."""
    it = resident.intent
    return type(it), it.x, it.y


# The plan.


def test_one_node_makes_the_plan_and_those_that_come_later_know_it_in_a_second():
    machines = world(A, B)
    assert told(machines) <= {A, B}
    halved(machines)
    machines.host()
    machines.run(2000)
    assert told(machines) == {HALVES} and maker(machines)


def test_another_node_goes_on_with_the_plan_when_its_maker_dies():
    machines = world(A, B, C)
    loaded(machines.hosts[0], 1.5, Line(COLUMNS, 0))
    machines.run(3000)
    plan = told(machines)
    machines.kill(maker(machines))
    for _ in range(8):
        machines.run(500)
        assert told(machines) == plan and len(plan) == 1
    assert maker(machines).node.router._lease.term == 2


def test_machines_of_another_game_that_use_the_same_store_make_a_plan_of_their_own(monkeypatch):
    machines = world(A, B)
    monkeypatch.setattr(
        "flatlands.testkit.host.Node", partial(Node, game_fingerprint="another game")
    )
    machines._addresses.append(C)
    other = machines.host()
    for host in machines.hosts[:2]:
        # One that was never ready waits for those of other games to go.
        machines.network.cuts |= {(other.broker, host.broker), (host.broker, other.broker)}
    machines.run(4000)
    assert [host.node.router._lease.valid for host in machines.hosts].count(True) == 2
    assert other.node.router.plan == C


def test_a_machine_that_is_gone_has_no_district_any_more():
    machines = world(A, B)
    halved(machines)
    machines.kill(machines.hosts[1])
    machines.run(MACHINE_GONE_MS - 2000)
    assert told(machines) == {HALVES}
    machines.run(8000)
    assert told(machines) == {A}


def test_a_machine_that_is_gone_is_replaced_by_one_that_is_free():
    machines = world(A, B, C)
    loaded(machines.hosts[0], 1.5, Line(COLUMNS, 0))
    machines.run(4000)
    [(*_, gone)] = told(machines)
    [host] = [host for host in machines.hosts if host.node.router.here == gone]
    loaded(machines.hosts[0], 0.6)
    machines.stop(host)
    machines.run(MACHINE_GONE_MS + 6000)
    [free] = {B, C} - {gone}
    assert told(machines) == {(COLUMNS, 0, A, free)}


def test_without_a_store_there_is_no_plan_and_all_stay():
    machines = Harness(nodes=2, addresses=(A, B))
    machines.run(4000)
    client = stand(machines, "W", EAST)
    look(machines)
    assert told(machines) == {None} and asked(client) == []
    node = machines.hosts[0].node
    assert node.router.belongs(node.residents.by_id[client.id])


def test_a_plan_that_nobody_repeats_moves_nobody():
    machines = world(A, B)
    halved(machines)
    for host in machines.hosts:
        host.node.store_client.store.away = True
    machines.run(PLAN_HOLDS_MS + 4000)
    assert told(machines) == {None}
    client = stand(machines, "W", EAST)
    machines.run(5000)
    look(machines)
    assert asked(client) == []
    # Then any plan is believed, even one of an earlier term.
    router = machines.hosts[0].node.router
    router.on_plan(Plan(7, 0, [B]))
    assert router.plan == B


def test_when_two_nodes_make_a_plan_all_believe_the_same_one():
    machines = world(A, B)
    router = machines.hosts[0].node.router
    router.on_plan(Plan(7, router._lease.term + 5, [B]))
    router.on_plan(Plan(8, router._lease.term + 5, [A]))
    router.on_plan(Plan(7, router._lease.term + 5, [B]))
    machines.run(1000)
    assert router.plan == A


# Players.


def test_a_walker_goes_to_another_machine_and_nobody_sees_it_stop(machines):
    west, east = machines.hosts
    near = stand(machines, "N", (20_000, 3000), host=east)
    far = stand(machines, "F", (20_000, 3000), host=west)
    client = walker(machines, (-3000, 500))
    machines.run(5000)
    look(machines)
    assert asked(client) == [B]
    before = client.at()
    there = follow(machines, client, B)
    for _ in range(40):
        machines.run(20)
        for witness in (near, far):
            dx, dy = witness.model.players[client.id].track[2:4]
            assert dx > 0 == dy, "it has stopped"
    assert whose(machines, there) is east and client.connection.closed[0] == 4001
    assert there.id == client.id and there.model.errors == []
    resident = east.node.residents.by_id[there.id]
    assert intent(resident) == (Heading, 1, 0) and resident.has_acted
    # The player is where it would be if nothing had happened.
    expected = before[0] + 5120 * 800 // 1000
    assert abs(there.at()[0] - expected) <= 60
    assert abs(near.at(there)[0] - expected) <= 60 and abs(far.at(there)[0] - expected) <= 60
    assert west.loop.stats["moved_to"] == east.loop.stats["moved_here"] == 1
    machines.run(RELEASED_FOR_MS + 1000)
    there.walk(0, 1)
    machines.run(500)
    assert intent(resident) == (Heading, 0, 1) and resident.ack == 1
    machines.check()


def test_a_player_that_goes_to_a_place_arrives_there(machines):
    client = stand(machines, "W", (10_000, 500))
    machines.run(STORE_ANSWER_MS + 1)
    client.go(90_000, 9000)
    machines.run(3000)
    look(machines)
    there = follow(machines, client, asked(client)[0])
    machines.run(500)
    resident = machines.hosts[1].node.residents.by_id[there.id]
    assert intent(resident) == (Goal, 90_000, 9000)
    machines.run(20_000)
    assert there.at() == (90_000, 9000)


def test_what_a_player_did_while_its_second_connection_was_on_its_way_counts(machines):
    client = walker(machines)
    there = follow(machines, client, B)
    # The other machine has not asked for the player yet.
    client.walk(0, -1)
    machines.run(500)
    assert intent(machines.hosts[1].node.residents.by_id[there.id]) == (Heading, 0, -1)
    machines.check()


def test_all_that_a_player_has_goes_with_it(machines):
    west, east = machines.hosts
    client = walker(machines)
    client.send(33, "Wanda", 77)
    machines.run(STORE_ANSWER_MS + 1)
    resident = west.node.residents.by_id[client.id]
    west.node.residents.set_pace_and_values(resident, 150, 9000, resident.values)
    resident.recorded = ((west.loop.now(), *resident.track.at(west.loop.now())),)
    machines.run(500)
    look(machines)
    joined = []
    east.node.play.player_joined = lambda *who: joined.append(who)
    there = follow(machines, client, B, name="Other")
    machines.run(100)
    moved = east.node.residents.by_id[there.id]
    assert (moved.name, moved.look, moved.pace) == ("Wanda", 77, 150)
    # Its way was passed on exactly: no step of it is faster than a walk.
    there.walk(0, 1)
    machines.run(100)
    way = moved.recorded
    assert len(way) >= 3
    for (t0, x0, y0), (t1, x1, y1) in zip(way, way[1:], strict=False):
        assert abs(x1 - x0) + abs(y1 - y0) <= (t1 - t0) * 5120 * 150 // 100_000 + 20
    # It is not a newcomer, to which a game would have something to say.
    assert joined == []
    machines.run(9000)
    assert moved.pace == 100


def test_nobody_beside_the_line_goes_to_and_fro(machines):
    client = stand(machines, "W", (-500, 500))
    machines.run(5000)
    client.go(*BESIDE)
    machines.run(5000)
    look(machines)
    assert asked(client) == []


def test_a_newcomer_in_another_district_is_welcomed_and_then_sent_there(machines):
    client = stand(machines, "W", BESIDE)
    assert client.id and asked(client) == [B]
    there = follow(machines, client, B)
    machines.run(1000)
    look(machines)
    assert whose(machines, there) is machines.hosts[1] and asked(there) == []


def test_when_the_plan_changes_all_players_that_belong_elsewhere_go():
    machines = world(A, B)
    loaded(machines.hosts[0], 0.9)
    machines.run(1000)
    clients = [stand(machines, "W", at) for at in ((-500, 0), BESIDE, EAST)]
    machines.run(5000)
    halved(machines)
    assert [asked(client) for client in clients] == [[], [B], [B]]
    # Until they have gone, the next line of the first machine's district does not count them.
    node = machines.hosts[0].node
    stays = [node.router.belongs(node.residents.by_id[client.id]) for client in clients]
    assert stays == [True, False, False]


def test_a_player_that_cannot_be_asked_when_the_plan_changes_is_asked_later():
    machines = world(A, B)
    client = stand(machines, "W", BESIDE)
    machines.run(5000)
    client.send(15, 0, -5, -5, 5, 5)
    halved(machines)
    machines.run(2 * PLAN_FOLLOWED_MS)
    assert asked(client) == []
    client.send(15, None, 0, 0, 0, 0)
    machines.run(STORE_ANSWER_MS + PLAN_FOLLOWED_MS + 1)
    assert asked(client) == [B]


def test_players_go_to_a_machine_as_soon_as_it_takes_players_again(machines):
    west, east = machines.hosts
    east.freeze()
    machines.run(5000)
    client = stand(machines, "W", BESIDE)
    machines.run(1000)
    assert told(machines) == {HALVES} and asked(client) == []
    # A line through the first machine's district does not count it even now.
    assert not west.node.router.belongs(west.node.residents.by_id[client.id])
    east.thaw()
    machines.run(PLAN_FOLLOWED_MS)
    assert asked(client) == [B]


def test_nobody_is_asked_again_for_a_minute(machines):
    client = stand(machines, "W", EAST)
    for _ in range(5):
        machines.run(10_000)
        look(machines)
    assert asked(client) == [B] and whose(machines, client) is machines.hosts[0]
    machines.run(ASKED_AGAIN_MS - 50_000)
    look(machines)
    assert asked(client) == [B, B]


def test_two_machines_that_disagree_send_nobody_to_and_fro():
    machines = world(A, B)
    for host, plan in zip(machines.hosts, (B, A), strict=True):
        router = host.node.router
        router.on_plan = lambda _plan: None
        router.plan = plan
    moves, client = 0, stand(machines, "W", EAST)
    begun = machines.clock.time
    while machines.clock.time < begun + 120_000:
        for host in machines.hosts:
            host.node.router._plan_at = host.loop.now()
        look(machines)
        for address in asked(client)[:1]:
            client = follow(machines, client, address)
            moves += 1
        machines.run(2000)
    assert 2 <= moves <= 2 * 60_000 // RESTS_MS


def test_a_machine_without_an_address_is_left_alone():
    machines = world(A, "", B)
    halved(machines)
    alone = machines.hosts[1]
    client = stand(machines, "W", EAST, host=alone)
    machines.run(5000)
    look(machines)
    assert asked(client) == []
    assert alone.node.router.takes == frozenset()
    assert alone.node.peers.load.machine == []


def test_a_player_that_looks_at_the_map_is_not_asked_yet(machines):
    client = stand(machines, "W", (-40_000, 500))
    machines.run(5000)
    client.send(15, 0, -5, -5, 5, 5)
    client.home()
    client.go(*EAST)
    machines.run(9000)
    look(machines)
    assert asked(client) == []
    client.send(15, None, 0, 0, 0, 0)
    machines.run(STORE_ANSWER_MS + 1)
    look(machines)
    assert asked(client) == [B]


# Failures.


def test_nothing_has_happened_if_the_other_machine_dies_before_the_player_comes(machines):
    west, east = machines.hosts
    client = walker(machines)
    machines.kill(east)
    machines.run(3000)
    assert asked(client) == [B] and client.connection.closed is None
    assert intent(west.node.residents.by_id[client.id]) == (Heading, 1, 0)
    machines.run(20_000)
    assert told(machines) == {A}
    machines.check()


def test_a_player_keeps_all_it_had_if_the_other_machine_dies_before_it_gets_the_handover(machines):
    west, east = machines.hosts
    client = walker(machines)
    client.send(33, "Wanda", 77)
    west.node.residents.set_pace_and_values(west.node.residents.by_id[client.id], 150, 0, ())
    follow(machines, client, B)
    machines.kill(east)
    machines.run(500)
    assert client.connection.closed[0] == 4001 and not west.node.residents.by_id
    back = machines.client(west).hello("Other", token=client.model.token)
    machines.run(2000)
    resident = west.node.residents.by_id[client.id]
    assert (back.id, resident.name, resident.look, resident.pace) == (client.id, "Wanda", 77, 150)
    machines.run(8000)
    machines.check()


def test_a_player_comes_back_if_the_other_machine_dies_after_it_has_got_the_handover(machines):
    west, east = machines.hosts
    client = walker(machines)
    there = follow(machines, client, B)
    machines.run(1000)
    assert there.id == client.id
    machines.kill(east)
    back = machines.client(west).hello("W", token=there.model.token, place=there.at())
    machines.run(5000)
    assert back.id == client.id and whose(machines, back) is west
    assert abs(back.at()[0] - there.at()[0]) < 30_000
    machines.check()


def test_a_player_stays_if_the_other_machine_is_full(machines):
    west, east = machines.hosts
    east.admission.capacity = 0
    client = walker(machines)
    there = follow(machines, client, B)
    machines.run(1000)
    assert there.connection.closed[0] == 1013 and client.connection.closed is None
    assert intent(west.node.residents.by_id[client.id]) == (Heading, 1, 0)


def test_a_player_goes_on_though_its_handover_is_lost(machines):
    west, east = machines.hosts
    client = walker(machines)
    machines.network.cuts.add((west.broker, east.broker))
    there = follow(machines, client, B)
    machines.run(1000)
    machines.network.heal()
    machines.run(10_000)
    assert there.id == client.id and whose(machines, there) is east
    machines.check()


def test_another_window_of_a_player_does_not_walk_by_itself(machines):
    client = walker(machines, (-90_000, 500))
    there = follow(machines, client, B)
    machines.run(1000)
    resident = machines.hosts[1].node.residents.by_id[there.id]
    assert resident.intent is None and resident.track.dx == 0


def test_a_machine_that_is_drained_gets_nobody_and_sends_its_players_elsewhere(machines):
    west, east = machines.hosts
    client = stand(machines, "W", EAST, host=east)
    machines.run(5000)
    east.node.peers.publish(DRAINING)
    machines.run(1500)
    for _ in range(2):
        east.node.router.send_away(east.node.residents.by_id[client.id])
    assert asked(client) == [A]
    there = follow(machines, client, A)
    machines.run(5000)
    look(machines)
    assert whose(machines, there) is west and asked(there) == []
    # Pages that were loaded there may connect to the others.
    assert west.node.router.takes == {A} and west.node.router.addresses == {A, B}
    machines.run(MACHINE_GONE_MS)
    assert told(machines) == {A}


def test_a_client_that_was_asked_to_go_to_a_machine_that_is_drained_too_is_asked_again():
    machines = world(A, B, C)
    client = stand(machines, "W", EAST)
    machines.run(5000)
    [first, *others] = machines.hosts
    for drained in (first, None):
        if drained is None:
            [drained] = [host for host in others if host.node.router.here == asked(client)[0]]
        drained.node.peers.publish(DRAINING)
        machines.run(1500)
        for _ in range(2):
            first.node.router.send_away(first.node.residents.by_id[client.id])
    assert sorted(asked(client)) == [B, C]


def test_a_walk_that_nobody_has_asked_for_is_not_believed(machines):
    west, _ = machines.hosts
    client = stand(machines, "W", (-40_000, 0), host=west)
    machines.run(1000)
    before = west.node.residents.by_id[client.id].track
    walk = [west.loop.now(), 0, 0, 99, 0, west.loop.now(), 1000, 1, 1, 0]
    state = 100, 0, [], [], 0, walk
    forged = peer_protocol.pack(
        peer_protocol.Handover(77, client.id, west.node.id, "x", 1, 0, 0, *state)
    )
    machines.hosts[1].broker.publish(west.node.channels.node(west.node.id), forged)
    machines.run(500)
    assert west.node.residents.by_id[client.id].track == before
