"""The herd: its people are at one node, its deer at all, and they outlive every node."""

import pytest

from flatlands.games.flatlands.clockwork import Walker
from flatlands.games.flatlands.walkers.people import NAMES
from flatlands.games.flatlands.walkers.walkers import CHECK_AGAIN_MS
from flatlands.server.messages.peer_protocol import DRAINING
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.movers.adoption import TRACK_ANSWERS_MS
from flatlands.server.movers.movers import GROUP_MOST, groups_of
from flatlands.server.players.resident import incarnation
from flatlands.server.squares.peers import NODE_GONE_MS
from flatlands.server.storage.lease import LEASE_MS, LEASE_RENEW_MS
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from flatlands.world.track import SPEED, UNIT
from games.flatlands.tests.harness import Harness, Rules, Sizes
from games.flatlands.tests.servers import inside
from tests.server.harness import Broken
from tests.socket_client import SocketClient

#: More than half of the world's people and deer fit on a screen of this size, wherever they walk.
SCREEN = (96, 64)

#: ms within which a client sees a computer player of a killed node move again, and within
#: which another node has it.
STILL_MOST = 6000
TAKEN_WITHIN = LEASE_MS + LEASE_RENEW_MS + TRACK_ANSWERS_MS + 100

#: Within so many ms there are as many as there should be.
FILLED_WITHIN = CHECK_AGAIN_MS + 3000

SIZES = Sizes(people=9, deer=5)


def herding(nodes=1, sizes=SIZES, **more):
    """Return a harness whose nodes share a herd."""
    clock = Clock()
    more |= {"stores": shared_stores(clock), "rules": Rules(per_plot=0), "clock": clock}
    return Harness(nodes=nodes, sizes=sizes, **more)


def herd(host):
    """Return the computer players that are residents of a node, by their ids."""
    return {id: r for id, r in host.node.residents.by_id.items() if id < FIRST_PERSON_ID}


def people_of(host):
    """Return the people of the herd that are residents of a node, by their ids."""
    return {id: r for id, r in herd(host).items() if r.name != "Deer"}


def names(*hosts):
    """Return the names of all computer players at some nodes."""
    return sorted(resident.name for host in hosts for resident in herd(host).values())


def everybody(sizes=SIZES):
    """Return the names of all computer players."""
    people = [NAMES[at % len(NAMES)] for at in range(sizes.people)]
    return sorted([*people, *["Deer"] * sizes.deer])


def holder(harness):
    """Return the only node that has the people of the herd, or else the one that has deer."""
    hosts = [host for host in harness.hosts if host.node.game.herd.has_people]
    [host] = hosts or [host for host in harness.hosts if herd(host)]
    return host


def others(harness):
    """Return the nodes that do not have the people of the herd."""
    return [host for host in harness.hosts if host is not holder(harness)]


def check_kept(harness, sizes=SIZES):
    """Check that each computer player is at one node, and all people at the same one."""
    everywhere = [resident for host in harness.hosts for resident in herd(host).values()]
    assert sorted(one.name for one in everywhere) == everybody(sizes)
    assert len({one.id for one in everywhere}) == len(everywhere)
    assert len(people_of(holder(harness))) == sizes.people
    if harness.clients:
        harness.check()


def is_sure(host):
    """Return whether a node holds the group of the people."""
    movers = host.node.play.movers
    return movers.adoption.groups.valid(groups_of(Walker)[0])


class Watch:
    """What a client sees of the computer players: whether any vanishes, leaps or stands still."""

    def __init__(self, client):
        self.client, self.at, self.moved = client, {}, {}
        #: The most ms that any of them stood still, and the most units that one went in 100 ms.
        self.stood = self.leap = 0
        #: Those that were seen and then vanished, though they cannot have left the screen.
        self.vanished = set()

    def run(self, ms):
        for _ in range(ms // 100):
            self.client.harness.run(100)
            self.look()
        return self

    def look(self):
        now, known = self.client.now(), self.client.model.players
        seen = {id: player.at(now) for id, player in known.items() if id < FIRST_PERSON_ID}
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
        """Return whether a computer player was well within the screen."""
        (x, y), (px, py) = self.at[id], self.client.at()
        return abs(x - px) < SCREEN[0] // 2 * UNIT and abs(y - py) < SCREEN[1] // 2 * UNIT


def watched(nodes, **more):
    """Return a harness, its holder, and a watch on the plaza on a screen of another node, if there
    is one, that has looked for a while."""
    harness = herding(nodes, **more)
    harness.run(20_000)
    kept = holder(harness)
    watch = Watch(harness.stand("A", (0, 0), SCREEN, (others(harness) or [kept])[0]))
    watch.run(2000)
    assert len(watch.at) > sum(SIZES) // 2
    return harness, kept, watch


def check_unbroken(watch):
    """Check that nobody vanished, leapt, or stood for long. A leader stands a little, so that its
    guest can click it."""
    assert not watch.vanished and watch.stood <= STILL_MOST
    assert watch.leap <= SPEED // 10 + UNIT


@pytest.mark.parametrize("nodes", [1, 3])
def test_one_node_keeps_the_whole_herd_which_never_stands_for_long(nodes):
    harness, kept, watch = watched(nodes, skew=5000)
    watch.run(60_000)
    check_kept(harness)
    check_unbroken(watch)
    assert holder(harness) is kept
    players = watch.client.model.players
    assert len({player.name for id, player in players.items() if id < FIRST_PERSON_ID}) > 3


@pytest.mark.parametrize("phase", range(0, 1000, 250))
def test_computer_players_of_a_killed_node_go_on_for_everybody_that_sees_them(phase):
    harness, kept, watch = watched(3, skew=5000)
    watch.run(phase)
    before = herd(kept)
    harness.kill(kept)
    if phase % 500:
        # Of three nodes, two may be killed at once.
        harness.kill(next(h for h in harness.hosts if h is not watch.client.host))
    watch.run(TAKEN_WITHIN)
    check_kept(harness)
    now = {id: one for host in harness.hosts for id, one in herd(host).items()}
    assert all(incarnation(now[id].seq) > incarnation(before[id].seq) for id in before)
    watch.run(NODE_GONE_MS)
    check_unbroken(watch)
    harness.check()


@pytest.mark.parametrize("phase", range(0, 1000, 250))
def test_a_node_that_stops_gives_its_herd_back_and_nobody_vanishes(phase):
    harness, kept, watch = watched(2)
    watch.run(phase)
    acks = {id: resident.ack for id, resident in herd(kept).items()}
    kept.node.play.stop()
    kept.node.peers.publish(DRAINING)
    assert kept.node.play.movers.has_stopped
    # They stay until the other node has them, and begin nothing new.
    assert acks == {id: resident.ack for id, resident in herd(kept).items()}
    watch.run(LEASE_RENEW_MS + TRACK_ANSWERS_MS + 200)
    assert not herd(kept) and names(holder(harness)) == everybody()
    harness.kill(kept)
    watch.run(NODE_GONE_MS + 2000)
    check_kept(harness)
    check_unbroken(watch)


def test_computer_players_that_go_on_at_another_node_are_on_screens_after_each_single_flush():
    """A player that one flush removed and the next one brought back would blink."""
    harness, _, watch = watched(2, skew=5000)
    client = watch.client
    apply = client.model.apply

    def apply_and_look(message, now):
        apply(message, now)
        watch.look()

    client.model.apply = apply_and_look
    harness.network.delay = 20
    for _ in range(4):
        harness.host()
        harness.run(5000)
        gone = holder(harness)
        if gone is client.host:
            gone.node.play.stop()
            harness.run(2000)
            break
        harness.kill(gone)
        harness.run(10_000)
    assert not watch.vanished


def test_computer_players_that_nobody_else_wants_leave_a_drained_node():
    harness = herding()
    harness.run(5000)
    kept = holder(harness)
    harness.sizes = Sizes(people=0, deer=0)
    harness.host()
    harness.run(3000)
    kept.node.play.stop()
    kept.node.peers.publish(DRAINING)
    harness.run(FILLED_WITHIN)
    assert not names(*harness.hosts)


@pytest.mark.parametrize("suspended", [False, True])
@pytest.mark.parametrize("ms", [1500, 5000, 20_000])
def test_a_node_that_stood_still_hands_over_players_that_another_has_by_then(ms, suspended):
    harness, kept, watch = watched(2)
    kept.freeze()
    watch.run(ms)
    kept.thaw(suspended)
    watch.run(1500)
    assert names(*harness.hosts) == everybody()
    assert (holder(harness) is kept) == (ms < LEASE_MS)
    watch.run(15_000)
    check_kept(harness)
    assert not watch.vanished
    if not suspended:
        # The clock of a suspended node is known again only after some heartbeats.
        check_unbroken(watch)


def test_a_node_that_stood_still_while_the_next_holder_came_and_died_is_believed_again():
    harness, kept, watch = watched(2)
    [other] = others(harness)
    kept.freeze()
    watch.run(8000)
    harness.kill(other)
    kept.thaw()
    harness.run(5000)
    a = harness.stand("B", (0, 0), SCREEN, harness.host())
    harness.run(5000)
    check_kept(harness)
    assert sum(id < FIRST_PERSON_ID for id in a.model.players) > sum(SIZES) // 2


@pytest.mark.parametrize("alone", [True, False])
def test_an_unlinked_holder_leaves_its_herd_to_a_node_that_is_linked(alone):
    harness, kept, watch = watched(2)
    cut = [kept] if alone else harness.hosts
    for host in cut:
        host.broker.fail()
    watch.run(8000)
    # Its own players see them all the while, even if all nodes are cut off.
    assert watch.client.host is kept or len(watch.at) > sum(SIZES) // 2
    assert alone or names(*harness.hosts) == everybody()
    for host in cut:
        host.broker.restore(host.node)
    watch.run(20_000)
    check_kept(harness)
    assert not watch.vanished or not alone


def test_a_store_that_is_away_for_all_nodes_stops_nobody():
    harness, kept, watch = watched(2)
    stores = [host.node.store_client.store for host in harness.hosts]
    for store in (Broken(), None):
        for at, host in enumerate(harness.hosts):
            host.node.store_client.store = store or stores[at]
        watch.run(15_000 if store else 5000)
        assert names(*harness.hosts) == everybody()
        assert sum(map(is_sure, harness.hosts)) == (store is None)
    check_kept(harness)
    check_unbroken(watch)


@pytest.mark.parametrize("handed_over", [True, False])
def test_a_node_whose_store_is_away_hands_its_herd_over(handed_over, monkeypatch):
    harness, kept, watch = watched(2)
    # The next node hears of it even if nobody subscribes to the players' squares; and if what is
    # sent at once is lost, within four seconds.
    kept.broker.lose_subscriptions(
        set(filter(kept.node.channels.is_of_ground, kept.broker.channels))
    )
    [other] = others(harness)
    if not handed_over:
        monkeypatch.setattr(other.node.takeovers, "announce", lambda _ids: None)
    store, kept.node.store_client.store = kept.node.store_client.store, Broken()
    while not is_sure(other):
        watch.run(100)
    watch.run(TRACK_ANSWERS_MS + 200 if handed_over else 4100)
    assert not herd(kept) and names(other) == everybody()
    kept.node.store_client.store = store
    kept.broker.restore_subscriptions(kept.node)
    watch.run(5000)
    check_kept(harness)
    assert not watch.vanished


def test_the_herd_of_a_node_that_dies_without_a_store_comes_back_with_the_store():
    harness, kept, watch = watched(2)
    [left] = others(harness)
    store, left.node.store_client.store = left.node.store_client.store, Broken()
    harness.kill(kept)
    watch.run(NODE_GONE_MS + 3000)
    assert not people_of(left)
    seen = {id for id in watch.client.model.players if id < FIRST_PERSON_ID}
    assert seen <= herd(left).keys()
    harness.check()
    left.node.store_client.store = store
    harness.run(4000)
    check_kept(harness)


def test_a_store_that_has_forgotten_the_herd_gets_another_one():
    harness, _, watch = watched(2)
    harness.node.store_client.store._connection.execute("DELETE FROM item")
    watch.run(2 * FILLED_WITHIN)
    check_kept(harness)


def test_a_computer_player_that_is_taken_is_replaced_after_a_while():
    harness = herding(2)
    harness.run(5000)
    kept = holder(harness)
    game = kept.node.game
    [first, *_] = game.movers_here(Walker)
    kept.node.spawn(lambda: game.store.take(first))
    harness.run(500)
    assert first.number not in herd(kept)
    harness.run(FILLED_WITHIN)
    check_kept(harness)


def test_the_node_that_leads_decides_how_many_there_are():
    harness = herding(sizes=Sizes(people=6, deer=2))
    harness.run(3000)
    harness.sizes = small = Sizes(people=3)
    harness.host()
    harness.run(5000)
    assert names(*harness.hosts) == everybody(Sizes(people=6, deer=2))
    harness.kill(harness.hosts[0])
    harness.run(FILLED_WITHIN)
    check_kept(harness, small)


@pytest.mark.parametrize("sizes", [SIZES, Sizes(3, 1), Sizes(0, 2), Sizes(12, 9)])
def test_after_the_only_process_restarts_all_go_on_from_where_they_stood(sizes):
    harness = herding()
    harness.run(10_000)
    host = harness.hosts[0]
    harness.kill(host)
    before = {id: resident.track for id, resident in herd(host).items()}
    died = harness.clock.time
    harness.run(1000)
    harness.sizes = sizes
    new = harness.host()
    began = {}
    take_in = new.node.residents.take_in

    def noted(state):
        began[state.id] = state.track.at(new.loop.now()), new.loop.now()
        return take_in(state)

    new.node.residents.take_in = noted
    harness.run(4000 + FILLED_WITHIN)
    kept = min(sizes.people, SIZES.people) + min(sizes.deer, SIZES.deer)
    assert len(began.keys() & before.keys()) == kept
    # What is stored is up to three seconds old, and in that time a player may have turned.
    for id in began.keys() & before.keys():
        (x, y), now = began[id]
        places = before[id].at(died), before[id].at(now)
        assert min(abs(x - px) + abs(y - py) for px, py in places) <= 8 * SPEED
    check_kept(harness, sizes)


def test_a_large_herd_survives_its_node():
    sizes = Sizes(people=GROUP_MOST, deer=50)
    harness = herding(2, sizes=sizes)
    harness.run(20_000)
    check_kept(harness, sizes)
    harness.kill(holder(harness))
    harness.run(TAKEN_WITHIN)
    check_kept(harness, sizes)


def test_without_a_store_those_of_a_silent_node_are_back_when_it_is():
    harness = Harness(nodes=2, sizes=Sizes(people=4), ready=True)
    client = harness.stand("A", (0, 0), SCREEN, harness.hosts[1])
    harness.run(2000)

    def seen():
        return sum(id < FIRST_PERSON_ID for id in client.model.players)

    silent = harness.hosts[0]
    assert seen() == 8
    silent.broker.down = True
    harness.run(NODE_GONE_MS - 2000)
    assert seen() == 4
    silent.broker.restore(silent.node)
    harness.run(10_000)
    assert seen() == 8
    harness.check()


def test_newcomers_never_have_the_id_of_a_computer_player(monkeypatch):
    harness = Harness()
    drawn = []

    def least(*given):
        drawn.append(given)
        return given[0] + len(drawn) - 1

    monkeypatch.setattr("flatlands.server.players.residents.random.randrange", least)
    ids = [harness.client().hello().id for _ in range(3)]
    assert ids == [FIRST_PERSON_ID, FIRST_PERSON_ID + 1, FIRST_PERSON_ID + 2]
    assert set(drawn) == {(FIRST_PERSON_ID, 2**52)}


def test_without_a_store_each_node_has_its_own_until_it_stops():
    harness = Harness(nodes=2, sizes=Sizes(people=3, deer=2))
    a = harness.stand("A", (0, 0), SCREEN, harness.hosts[1])
    harness.run(5000)
    assert [len(herd(host)) for host in harness.hosts] == [5, 5]
    assert names(harness.hosts[0]).count("Deer") == 2
    assert sum(id < FIRST_PERSON_ID for id in a.model.players) == 10
    harness.hosts[0].node.play.stop()
    harness.run(1000)
    assert sum(id < FIRST_PERSON_ID for id in a.model.players) == 5
    harness.check()


def test_computer_players_walk_near_the_plaza_like_anyone():
    with inside("--walkers", "12") as server:
        client = SocketClient(server.port)
        client.hello("Watcher", (96, 64))
        client.until(lambda: len(client.model.players) == 13)
        tracks = {id: player.track for id, player in client.model.players.items()}

        def moved():
            return sum(p.track != tracks.get(id) for id, p in client.model.players.items())

        client.until(lambda: moved() > 6)
        for player in client.model.players.values():
            x, y = player.at(client.now())
            assert max(abs(x), abs(y)) < 40 * UNIT
        client.close()
