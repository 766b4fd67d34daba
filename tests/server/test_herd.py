"""The herd: computer players that no node owns, and that outlive every node."""

import msgpack
import pytest

from flatlands.server.messages.peer_protocol import DRAINING
from flatlands.server.messages.protocol import DEER_FROM, OTHERS_FROM
from flatlands.server.players.herd import (
    CLAIM_EVERY,
    LEASE,
    NODES,
    PUT_EVERY,
    QUEUE,
    RENEW_EVERY,
    UNLEASED_FOR,
    WAITS,
    Sizes,
)
from flatlands.server.players.resident import INCARNATION, incarnation
from flatlands.server.squares.peers import DEAD_AFTER, GONE_AFTER
from flatlands.server.things.garden import Rules
from flatlands.stores.base import Item
from flatlands.world.track import SPEED, UNIT
from tests.server.harness import Clock, ClockStore, Harness, clock_stores
from tests.server.things import Broken

#: More than half of the world's people and deer fit on a screen of this size, wherever they walk.
SCREEN = (96, 64)

#: ms within which a client sees a computer player move again whose node was killed.
STILL_MOST = 6000

SIZES = Sizes(people=9, deer=5)


def herding(nodes=1, sizes=SIZES, **more):
    """Return a harness whose nodes share a herd."""
    clock = Clock()
    return Harness(
        nodes=nodes,
        sizes=sizes,
        stores=clock_stores(clock),
        rules=Rules(per_cell=0),
        clock=clock,
        **more,
    )


def herd(host):
    """Return the computer players that are residents of a node, by their ids."""
    return {id: r for id, r in host.node.residents.by_id.items() if id < OTHERS_FROM}


def everybody(sizes=SIZES):
    return [*range(1, 1 + sizes.people), *range(DEER_FROM, DEER_FROM + sizes.deer)]


def check_shared(harness, sizes=SIZES):
    """Check that each computer player is at one node, and that no node has too many of them."""
    assert sorted(id for host in harness.hosts for id in herd(host)) == everybody(sizes)
    most = -(-sum(sizes) // len(harness.hosts))
    for host in harness.hosts:
        assert herd(host).keys() == host.node.herd.leased and len(herd(host)) <= most
    if harness.clients:
        harness.check()


class Watch:
    """What a client sees of the computer players: whether any vanishes, leaps or stands still."""

    def __init__(self, client):
        self.client = client
        self.at = {}
        self.moved = {}
        #: The most ms that any of them has stood still.
        self.stood = 0
        #: Those that were seen, and then not, though they cannot have left the screen; and the
        #: most units that any of them went in 100 ms.
        self.vanished = set()
        self.leap = 0

    def run(self, ms):
        for _ in range(ms // 100):
            self.client.harness.run(100)
            self.look()
        return self

    def look(self):
        now, known = self.client.now(), self.client.model.players
        seen = {id: player.at(now) for id, player in known.items() if id < OTHERS_FROM}
        for id, (x, y) in seen.items():
            before = self.at.get(id)
            if before is not None:
                self.leap = max(self.leap, abs(x - before[0]), abs(y - before[1]))
            if before != (x, y):
                self.moved[id] = now
        self.vanished |= {id for id in self.at if id not in seen and self.inside(id)}
        self.at.update(seen)
        self.stood = max(self.stood, *(now - self.moved[id] for id in seen), 0)

    def inside(self, id):
        """Say whether it was well within the screen."""
        (x, y), (px, py) = self.at[id], self.client.at()
        return abs(x - px) < SCREEN[0] // 2 * UNIT and abs(y - py) < SCREEN[1] // 2 * UNIT


def watched(harness, host):
    """Return a watch on the plaza, on a screen of a node, that has looked for a while."""
    watch = Watch(harness.stand("A", (0, 0), SCREEN, host))
    watch.run(2000)
    assert len(watch.at) > sum(SIZES) // 2
    return watch


def test_one_node_hosts_the_whole_herd_which_never_stands_for_long():
    harness = herding()
    harness.run(3000)
    watch = watched(harness, harness.hosts[0])
    watch.run(60_000)
    check_shared(harness)
    # Who leads stands a little, so that its guest can click it.
    assert not watch.vanished and watch.stood <= STILL_MOST
    # The herd is in the store: one item each, whoever has them.
    assert harness.node.keeper.store.count(f"{QUEUE} 2013-16") == sum(SIZES)
    names = {player.name for id, player in watch.client.model.players.items() if id < DEER_FROM}
    assert len(names) > 3


def test_nodes_share_the_herd_and_one_that_comes_later_gets_its_part():
    harness = herding(nodes=2, skew=5000)
    harness.run(20_000)
    check_shared(harness)
    watch = watched(harness, harness.hosts[0])
    harness.host()
    watch.run(20_000)
    check_shared(harness)
    assert all(len(herd(host)) >= 4 for host in harness.hosts)
    assert not watch.vanished
    # Whoever gets one knows where it is.
    assert watch.leap <= SPEED // 10 + UNIT


@pytest.mark.parametrize("phase", range(0, 1000, 250))
def test_who_sees_computer_players_of_a_node_that_is_killed_sees_all_go_on(phase):
    harness = herding(nodes=2)
    harness.run(20_000 + phase)
    watch = watched(harness, harness.hosts[1])
    theirs = herd(harness.hosts[0])
    assert theirs
    harness.kill(harness.hosts[0])
    watch.run(LEASE + CLAIM_EVERY + 100)
    check_shared(harness)
    mine = herd(harness.hosts[0])
    assert all(incarnation(mine[id].seq) > incarnation(theirs[id].seq) for id in theirs)
    watch.run(GONE_AFTER)
    assert not watch.vanished and watch.stood <= STILL_MOST
    assert watch.leap <= SPEED // 10 + UNIT
    harness.check()


def test_of_three_nodes_two_may_be_killed_at_once():
    harness = herding(nodes=3)
    harness.run(25_000)
    check_shared(harness)
    watch = watched(harness, harness.hosts[1])
    harness.kill(harness.hosts[2])
    harness.kill(harness.hosts[0])
    watch.run(20_000)
    check_shared(harness)
    assert not watch.vanished and watch.stood <= STILL_MOST


def test_the_people_of_a_dead_node_are_gone_before_its_computer_players():
    # Neither has the other's herd, since nothing is kept.
    harness = Harness(nodes=2, sizes=Sizes(people=4))
    harness.run(1500)
    watch = Watch(harness.place("A", (0, 0), SCREEN, harness.hosts[1]))
    other = harness.place("B", (1, 0), SCREEN, harness.hosts[0])
    watch.run(1000)
    theirs = herd(harness.hosts[0])
    assert watch.client.sees(other) and theirs.keys() < watch.at.keys()
    harness.kill(harness.hosts[0])
    watch.run(DEAD_AFTER + 1500)
    assert not watch.client.sees(other) and theirs.keys() <= watch.client.model.players.keys()
    watch.run(GONE_AFTER - DEAD_AFTER - 2500)
    assert theirs.keys() <= watch.client.model.players.keys()
    watch.run(3000)
    assert not theirs.keys() & watch.client.model.players.keys()
    harness.check()


def test_a_dead_node_that_was_only_silent_keeps_its_computer_players():
    harness = Harness(nodes=2, sizes=Sizes(people=4))
    harness.run(1500)
    watch = Watch(harness.place("A", (0, 0), SCREEN, harness.hosts[1]))
    watch.run(1000)
    silent = harness.hosts[0]
    silent.broker.down = True
    watch.run(GONE_AFTER - 2000)
    silent.broker.restore(silent.node)
    watch.run(10_000)
    assert not watch.vanished
    harness.check()


def test_the_only_process_starts_again_and_all_go_on_from_where_they_stood():
    harness = herding()
    harness.run(10_000)
    host = harness.hosts[0]
    harness.kill(host)
    before = {id: resident.track for id, resident in herd(host).items()}
    died = harness.clock.time
    harness.run(1000)
    new = harness.host()
    began, times = {}, {}
    join = new.node.residents.join

    def noted(name, place, **more):
        began[more["id"]], times[more["id"]] = (place, more["seq"]), new.loop.now()
        return join(name, place, **more)

    new.node.residents.join = noted
    harness.run(6000)
    assert sorted(began) == everybody()
    # What is stored is up to a second old, and in that time a player may have turned.
    turned = 0
    for id, ((x, y), seq) in began.items():
        places = before[id].at(died), before[id].at(times[id])
        turned += (x, y) != places[1]
        assert min(abs(x - px) + abs(y - py) for px, py in places) <= 8 * SPEED
        assert seq > 0
    assert turned <= sum(SIZES) // 2
    check_shared(harness)


def test_who_goes_on_at_another_node_is_on_screens_after_each_single_flush():
    """A player that is gone with one flush and back with the next one would blink."""
    harness = herding(nodes=2, skew=5000)
    harness.run(20_000)
    watch = watched(harness, harness.hosts[0])
    client = watch.client
    apply = client.model.apply

    def apply_and_look(message, now):
        apply(message, now)
        watch.look()

    client.model.apply = apply_and_look
    harness.network.delay = 20
    for _ in range(3):
        came = harness.host()
        harness.run(20_000)
        assert herd(came)
        harness.kill(came)
        harness.run(10_000)
    assert not watch.vanished


@pytest.mark.parametrize("phase", range(0, 1000, 250))
def test_a_node_that_stops_gives_its_herd_back_and_nobody_vanishes(phase):
    harness = herding(nodes=2)
    harness.run(20_000 + phase)
    watch = watched(harness, harness.hosts[1])
    stopping = harness.hosts[0]
    stopping.node.herd.stop()
    stopping.node.peers.publish(DRAINING)
    assert not stopping.node.herd.leased and herd(stopping)
    watch.run(RENEW_EVERY + CLAIM_EVERY + 100)
    assert not herd(stopping)
    harness.kill(stopping)
    watch.run(GONE_AFTER + 2000)
    check_shared(harness)
    assert not watch.vanished and watch.stood <= STILL_MOST
    assert watch.leap <= SPEED // 10 + UNIT


def test_a_node_that_stood_still_hands_over_what_others_have_by_then():
    harness = herding(nodes=2)
    harness.run(20_000)
    watch = watched(harness, harness.hosts[1])
    still = harness.hosts[0]
    still.freeze()
    watch.run(LEASE + 1500)
    assert sorted(herd(harness.hosts[1])) == everybody()
    still.thaw()
    watch.run(1500)
    ids = [id for host in harness.hosts for id in herd(host)]
    assert len(ids) == len(set(ids)) == sum(SIZES)
    watch.run(15_000)
    check_shared(harness)
    assert not watch.vanished and watch.stood <= STILL_MOST


def test_a_node_that_is_not_linked_lets_the_others_have_its_herd():
    harness = herding(nodes=2)
    harness.run(20_000)
    watch = watched(harness, harness.hosts[1])
    cut = harness.hosts[0]
    cut.broker.fail()
    watch.run(8000)
    assert sorted(herd(harness.hosts[1])) == everybody()
    # Its own players see them all the while.
    assert herd(cut)
    cut.broker.restore(cut.node)
    watch.run(20_000)
    check_shared(harness)
    assert not watch.vanished


def test_while_the_broker_is_away_all_walk_on_where_they_are():
    harness = herding(nodes=2)
    harness.run(20_000)
    before = [herd(host).keys() for host in harness.hosts]
    watch = watched(harness, harness.hosts[1])
    for host in harness.hosts:
        host.broker.fail()
    harness.run(8000)
    assert [herd(host).keys() for host in harness.hosts] == before
    for host in harness.hosts:
        host.broker.restore(host.node)
    watch.run(20_000)
    check_shared(harness)


def test_a_store_that_is_away_stops_nobody_and_changes_nothing():
    harness = herding(nodes=2)
    harness.run(20_000)
    watch = watched(harness, harness.hosts[1])
    before = [herd(host).keys() for host in harness.hosts]
    stores = [host.node.keeper.store for host in harness.hosts]
    for host in harness.hosts:
        host.node.keeper.store = Broken()
    watch.run(30_000)
    assert [herd(host).keys() for host in harness.hosts] == before
    for host, store in zip(harness.hosts, stores, strict=True):
        host.node.keeper.store = store
    watch.run(5000)
    check_shared(harness)
    assert not watch.vanished and watch.stood <= STILL_MOST


def test_a_node_whose_store_is_away_hands_its_herd_over_and_gets_a_share_again():
    harness = herding(nodes=2)
    harness.run(20_000)
    watch = watched(harness, harness.hosts[1])
    store, harness.node.keeper.store = harness.node.keeper.store, Broken()
    watch.run(LEASE + 2000)
    assert not herd(harness.hosts[0]) and sorted(herd(harness.hosts[1])) == everybody()
    harness.node.keeper.store = store
    watch.run(20_000)
    check_shared(harness)
    assert not watch.vanished and watch.stood <= STILL_MOST


def test_a_herd_begins_when_its_store_first_answers():
    harness = herding()
    store, harness.node.keeper.store = harness.node.keeper.store, Broken()
    harness.run(5000)
    assert not herd(harness.hosts[0])
    harness.node.keeper.store = store
    harness.run(5000)
    check_shared(harness)


def test_who_is_not_in_the_store_any_more_leaves_after_a_while_and_comes_back():
    harness = herding()
    harness.run(3000)
    lost = herd(harness.hosts[0])[2]
    assert harness.node.keeper.store.take(f"{QUEUE} 2013-16", "2")
    harness.run(UNLEASED_FOR - 1000)
    assert herd(harness.hosts[0])[2] is lost
    harness.run(3000)
    assert 2 not in herd(harness.hosts[0])
    harness.run(PUT_EVERY)
    check_shared(harness)
    assert incarnation(herd(harness.hosts[0])[2].seq) > incarnation(lost.seq)


def test_a_store_that_has_forgotten_the_herd_is_told_of_it_before_anybody_leaves():
    harness = herding(nodes=2)
    harness.run(10_000)
    harness.node.keeper.store._connection.execute("DELETE FROM item")
    for _ in range(UNLEASED_FOR // 1000 + 5):
        harness.run(1000)
        assert {id for host in harness.hosts for id in herd(host)} == set(everybody())
    check_shared(harness)


@pytest.mark.parametrize("sizes", [Sizes(3, 1), Sizes(0, 2), Sizes(8, 5)])
def test_after_a_restart_the_herd_may_be_smaller_or_larger(sizes):
    harness = herding(sizes=Sizes(people=6, deer=2))
    harness.run(3000)
    store = harness.node.keeper.store
    harness.kill(harness.hosts[0])
    harness._sizes = sizes
    host = harness.host()
    harness.run(15_000)
    assert sorted(herd(host)) == everybody(sizes)
    if not sizes.people:
        # Who was claimed, and is not in the herd, is not in the store any more.
        assert store.take(f"{QUEUE} 2013-16", "1") is None


def test_nodes_that_host_nobody_take_no_part():
    harness = herding(sizes=Sizes())
    harness._sizes = SIZES
    harness.host()
    harness.run(15_000)
    assert sorted(herd(harness.hosts[1])) == everybody() and not herd(harness.hosts[0])
    assert harness.node.keeper.store.count(f"{NODES} 2013-16") == 1


def test_nodes_that_died_are_not_counted_for_ever():
    harness = herding(nodes=3)
    harness.run(10_000)
    for host in harness.hosts[1:]:
        harness.kill(host)
    harness.run(10_000)
    assert harness.node.keeper.store.count(f"{NODES} 2013-16") == 1


def test_without_a_store_each_node_has_its_own_until_it_stops():
    harness = Harness(nodes=2, sizes=Sizes(people=3, deer=2))
    a = harness.stand("A", (0, 0), SCREEN, harness.hosts[1])
    harness.run(5000)
    assert [len(herd(host)) for host in harness.hosts] == [5, 5]
    assert sum(id >= DEER_FROM for id in herd(harness.hosts[0])) == 2
    assert sum(id < OTHERS_FROM for id in a.model.players) == 10
    harness.hosts[0].node.herd.stop()
    harness.run(1000)
    assert sum(id < OTHERS_FROM for id in a.model.players) == 5
    harness.check()


def test_newcomers_never_have_the_id_of_a_computer_player(monkeypatch):
    harness = Harness()
    drawn = []

    def least(low, high):
        drawn.append((low, high))
        return low + len(drawn) - 1

    monkeypatch.setattr("flatlands.server.players.residents.random.randrange", least)
    ids = [harness.client().hello().id for _ in range(3)]
    assert ids == [OTHERS_FROM, OTHERS_FROM + 1, OTHERS_FROM + 2]
    assert set(drawn) == {(OTHERS_FROM, 2**52)}


def test_a_node_that_claims_is_heard_where_nobody_is_subscribed_to_its_square():
    harness = herding(nodes=2)
    harness.run(20_000)
    deaf, other = harness.hosts
    before = len(herd(other))
    lost = set(filter(deaf.node.channels.is_square, deaf.broker.channels))
    deaf.broker.lose_subscriptions(lost)
    deaf.node.keeper.store = Broken()
    while len(herd(other)) == before:
        harness.run(50)
    harness.run(100)
    assert sorted(herd(other)) == everybody() and not herd(deaf)


def test_who_was_at_another_node_meanwhile_begins_a_later_incarnation_where_it_is():
    harness = herding()
    harness.run(3000)
    queue, store = f"{QUEUE} 2013-16", harness.node.keeper.store
    here = herd(harness.hosts[0])[2]
    assert incarnation(here.seq) == 0
    store.take(queue, "2")
    body = msgpack.packb((77, 5 * INCARNATION + 3, 0, 0, 0, 0, 0, 0))
    store.put(queue, [Item("2", 0, "", body)])
    harness.run(3000)
    assert herd(harness.hosts[0])[2] is here and incarnation(here.seq) == 6
    a = harness.stand("A", (0, 0), SCREEN)
    assert a.model.players[2].seq == here.seq


def test_who_dies_while_the_store_is_away_leaves_a_herd_that_comes_back_with_the_store():
    harness = herding(nodes=2)
    harness.run(20_000)
    watch = watched(harness, harness.hosts[1])
    theirs, left = herd(harness.hosts[0]).keys(), harness.hosts[1]
    store, left.node.keeper.store = left.node.keeper.store, Broken()
    harness.kill(harness.hosts[0])
    watch.run(GONE_AFTER + 3000)
    assert not theirs & watch.client.model.players.keys()
    harness.check()
    left.node.keeper.store = store
    harness.run(4000)
    check_shared(harness)


def test_a_node_that_has_just_come_leaves_a_dead_nodes_herd_to_those_who_saw_it():
    harness = herding(nodes=2)
    harness.run(20_000)
    harness.host()
    harness.run(1000)
    harness.kill(harness.hosts[0])
    harness.run(LEASE + CLAIM_EVERY + 100)
    assert sorted(herd(harness.hosts[0])) == everybody()
    harness.run(20_000)
    check_shared(harness)


def acts(harness):
    """Return how often each computer player of the first node has begun something."""
    return {id: resident.ack for id, resident in herd(harness.hosts[0]).items()}


def test_who_was_given_back_begins_nothing_new_for_a_while_and_then_goes_on():
    harness = herding()
    harness.run(5000)
    node = harness.node
    node.herd._give_back(node.keeper.store, sorted(node.herd.leased))
    before = acts(harness)
    harness.run(WAITS - 100)
    assert acts(harness) == before
    harness.run(8000)
    assert all(times > before[id] for id, times in acts(harness).items())
    check_shared(harness)


def test_nobody_begins_anything_new_at_a_node_that_stops():
    harness = herding()
    harness.run(5000)
    before = acts(harness)
    harness.node.herd.stop()
    harness.run(8000)
    assert acts(harness) == before


def test_a_node_that_missed_who_has_a_player_now_hears_it_within_four_seconds(monkeypatch):
    harness = herding(nodes=2)
    harness.run(20_000)
    deaf, other = harness.hosts
    # What is told at once is lost.
    monkeypatch.setattr(other.node.takeovers, "name", lambda _ids: None)
    lost = set(filter(deaf.node.channels.is_square, deaf.broker.channels))
    deaf.broker.lose_subscriptions(lost)
    deaf.node.keeper.store = Broken()
    while len(herd(other)) < sum(SIZES):
        harness.run(50)
    assert herd(deaf)
    harness.run(4100)
    assert not herd(deaf)


def test_a_node_that_stood_still_keeps_a_dead_nodes_computer_players_for_as_long_again():
    harness = Harness(nodes=2, sizes=Sizes(people=4))
    harness.run(1500)
    a = harness.place("A", (0, 0), SCREEN, harness.hosts[1])
    harness.run(1000)
    theirs = herd(harness.hosts[0]).keys()
    harness.kill(harness.hosts[0])
    harness.run(DEAD_AFTER + 1500)
    harness.hosts[0].freeze()
    harness.run(GONE_AFTER)
    harness.hosts[0].thaw()
    harness.run(GONE_AFTER - 1000)
    assert theirs <= a.model.players.keys()
    harness.run(3000)
    assert not theirs & a.model.players.keys()


@pytest.mark.parametrize("hours", [1, -1])
def test_when_the_clock_of_the_store_steps_everybody_stays_and_is_nowhere_twice(monkeypatch, hours):
    harness = herding(nodes=3)
    harness.run(8000)
    monkeypatch.setattr(ClockStore, "_now", lambda store: store._clock.time + hours * 3_600_000)
    for _ in range(20):
        harness.run(500)
        assert sorted(id for host in harness.hosts for id in herd(host)) == everybody()
    # Once their leases are renewed by the new clock, others have the players of a node that dies.
    harness.kill(harness.hosts[2])
    harness.run(STILL_MOST)
    check_shared(harness)
