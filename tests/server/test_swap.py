"""A world that goes from one broker to another while it is played (server/kept/swap.py)."""

import math
from functools import partial

import pytest

from flatlands.brokers.base import LinkAge
from flatlands.brokers.registry import identity_of
from flatlands.server.kept.broker_order import FORMER_MOST, Order, begins_with, read
from flatlands.server.kept.fences import Fences
from flatlands.server.kept.keeper import Away
from flatlands.server.kept.swap import EVERY, NO_STORE
from flatlands.world.events import SAY
from tests.server.harness import Clock, Harness, Rules, clock_stores, events, two_nodes

OLD, NEW, THIRD = "memory://harness", "redis://new", "redis://third"

#: ms after which a silent node is no longer waited for, and within which a swap ends.
FORGOTTEN, ENDS_WITHIN = 14_000, 5000


class World:
    """Nodes with a player each. All players walk and talk all the time, and each must always see
    and hear all others."""

    def __init__(self, nodes=3):
        clock = Clock()
        self.harness = harness = Harness(
            nodes=nodes, skew=7, clock=clock, stores=clock_stores(clock), rules=Rules(0), ready=True
        )
        self.hosts = harness.hosts
        #: What was said, by whom and when; and when each player came.
        self.said, self.came = [], {}
        self.turns = 0
        for host in harness.hosts:
            self.join(host)
        harness.run(500)

    def join(self, host):
        player = self.harness.place(f"P{len(self.came)}", (len(self.came) % 2, 0), host=host)
        self.harness.run(500)
        self.came[player] = self.turns

    def play(self, ms=0, until=None):
        """Let `ms` pass, or as many as it takes, while all walk to and fro and talk."""
        end = self.turns + (ms // 50 if until is None else 800)
        awake = []
        while self.turns < end and not (until is not None and until()):
            self.turns += 1
            awake = [p for p in self.harness.clients if p in self.came and not p.host.frozen]
            for n, player in enumerate(awake):
                player.walk(*[(1, 0), (0, 1), (-1, 0), (0, -1)][self.turns % 4])
                if self.turns % 20 == 5 * n:
                    self.said.append((player, self.turns, f"{n} at {self.turns}"))
                    player.send(6, self.said[-1][2])
            self.harness.run(50)
            for one in awake:
                assert all(map(one.sees, awake)), f"somebody blinks at turn {self.turns}"
        for player in awake:
            player.walk(0, 0)
        assert until is None or until()

    def check(self):
        """Check that everybody has heard exactly once what each player still in the world said."""
        self.harness.run(500)
        clients = self.harness.clients
        for player in clients:
            heard = [e[2] for e in events(player.connection.messages) if e[0] == SAY]
            assert len(heard) == len(set(heard))
            since = self.came[player]
            missed = {text for by, at, text in self.said if by in clients and at > since}
            assert not missed - set(heard)
            for other in clients:
                assert player.at(other) == other.at()

    def order(self, url=NEW, host=0):
        self.hosts[host].node.swap.order(url)

    def states(self):
        return [host.node.swap.state() for host in self.hosts if not host.frozen]

    def phase(self, number):
        """Let time pass until a node says that the swap is in this phase."""
        self.play(until=lambda: any(f"phase {number} of 3" in state for state in self.states()))

    def ends(self, url=NEW, within=ENDS_WITHIN):
        """Let time pass until the swap has ended, with all nodes on this broker."""
        began = self.turns
        self.play(until=lambda: not any(self.states()))
        assert (self.turns - began) * 50 <= within
        assert {host.node.bus.broker.url for host in self.hosts} == {url}
        self.play(1000)
        self.check()
        for host in self.hosts:
            assert not host.loop.stats["incompatible"] and not host.loop.stats["gaps"]
            assert not host.node.peers.apart and host.node.peers.whole
            open = [link for link in host.links if link in link._network.links]
            assert open == [host.node.bus.broker]
            assert open[0].channels == host.node.bus.subscribed


def swapping(phase):
    """Return a world whose swap is in this phase."""
    world = World()
    world.order()
    world.phase(phase)
    return world


def never_answers(host, silent=NEW):
    """Let a node fail to reach a broker, though it reaches others."""

    def connect(url):
        link = host.connect(url)
        if url == silent:
            link.down, link.ages = True, [LinkAge("the new one", math.inf, "it is far away")]
        return link

    host.node.swap._connect = connect


def reaches(host):
    """Let the node reach the broker now."""
    host.node.swap._connect = host.connect
    for link in host.links:
        link.down, link.ages = False, [LinkAge("a link", 0.0)]


def test_a_world_changes_its_broker_under_its_players():
    world = World()
    world.play(1000)
    world.order()
    # The node that got the order knows it at once; the others learn of it within two seconds.
    assert "changing broker from memory://harness to redis://new, phase 1 of 3" in world.states()[0]
    # A node that is asked for the state finds out.
    assert world.states()[1] == ""
    world.hosts[1].node.swap.look()
    assert "redis://new, phase 1 of 3" in world.states()[1]
    world.phase(2)
    for host in world.hosts:
        host.node.bus.subscribe("for a moment")
        host.node.bus.unsubscribe("for a moment")
    world.ends()
    network = world.harness.networks[NEW]
    assert len(network.links) == 3 and not world.harness.network.links
    # Now to another broker, and back.
    world.order(THIRD, host=1)
    world.ends(THIRD)
    world.order(OLD, host=2)
    world.ends(OLD)
    assert [host.node.bus.counters.published > 0 for host in world.hosts] == [True] * 3


def test_a_world_changes_to_another_name_of_its_broker():
    world = World()
    network = world.harness.networks[NEW] = world.harness.network
    # What comes at once would come again and again, since each node hears itself twice meanwhile.
    network.delay = 4
    world.play(1000)
    world.order()
    world.ends()


#: ms that messages of each node take to the old and the new broker, and from it.
OLD_LAGS, NEW_LAGS = ((5, 70, 120), (5, 5, 100)), ((5, 5, 120), (5, 5, 5))


def slow(world, brokers):
    """Let brokers be slow: url -> the lags."""
    for url, (to, back) in brokers.items():
        network = world.harness.network_of(url)
        network.carry = partial(carry, world, network, to, back)


def carry(world, network, to, back, sender, message):
    hosts = {link: n for n, host in enumerate(world.hosts) for link in host.links}
    for link in network.links:
        if message.channel in link.channels:
            lag = to[hosts[sender]] + back[hosts[link]]
            link.put(sender, message, network.clock.time + lag)


@pytest.mark.parametrize("lags", [OLD_LAGS, ((5, 70, 1500), (5, 5, 100))], ids=["some", "late"])
def test_nothing_on_the_new_broker_overtakes_what_was_said_on_the_old_one(lags):
    world = World()
    slow(world, {OLD: lags})
    world.play(1000)
    world.order()
    world.ends(within=2 * ENDS_WITHIN)


def test_an_earlier_fence_lets_nothing_pass_that_came_after_it(monkeypatch):
    world, _, _ = two_nodes()
    bus, nonces, received = world.node.bus, iter((1, 2)), []
    monkeypatch.setattr("random.getrandbits", lambda _: next(nonces))
    fences = Fences(bus, received.append)
    for item in ("first", "second"):
        fences.begin(bus.broker, bus.broker)
        fences.hold(item)
    assert received == ["first"]
    fences.came(bus.node, 1)
    assert received == ["first"]
    fences.came(bus.node, 2)
    assert received == ["first", "second"]


@pytest.mark.parametrize("ms", range(1500, 3000, 130))
def test_a_swap_can_go_back_at_any_moment(ms):
    world = World()
    slow(world, {OLD: OLD_LAGS, NEW: NEW_LAGS})
    world.play(1000)
    world.order()
    world.play(ms)
    world.order(OLD, host=2)
    world.ends(OLD)


def test_a_node_that_opens_the_new_broker_after_all_went_back_closes_it():
    world, late = World(), []
    last = world.hosts[2].node.swap
    last._spawn = lambda call, *given: late.append(partial(call, *given))
    world.order()
    world.play(until=lambda: late)
    world.order(OLD)
    world.ends(OLD)
    late.pop()()
    world.ends(OLD)


@pytest.mark.parametrize("phase", [1, 2, 3])
def test_a_swap_ends_though_a_node_dies(phase):
    world = swapping(phase)
    if phase == 1:
        # Otherwise the swap would end before the others know that the node is dead.
        never_answers(world.hosts[2])
    world.harness.kill(world.hosts[2])
    world.ends(within=FORGOTTEN)


def test_a_node_that_was_stopped_is_not_waited_for():
    world = World()
    world.order()
    world.harness.stop(world.hosts[2])
    world.ends()


@pytest.mark.parametrize("phase", [1, 2])
def test_a_node_that_stands_still_stops_the_swap_and_is_named(phase):
    world = swapping(phase)
    asleep = world.hosts[2]
    asleep.freeze()
    # By then the others take it for dead, but not for long yet.
    world.play(5000)
    assert {f"waits for node {asleep.node.id}" in state for state in world.states()} == {True}
    asleep.thaw()
    world.harness.run(1000)
    world.ends()


def test_a_node_that_does_not_reach_the_new_broker_stops_a_swap_and_it_can_go_back():
    world = World()
    never_answers(world.hosts[1])
    world.order()
    world.play(FORGOTTEN)
    # Nor does a node that starts and knows nobody yet go on without it: heartbeats are due.
    world.harness.run(1100 - world.harness.clock.time % 1000)
    world.harness.host()
    world.play(4000)
    id = world.hosts[1].node.id
    first, second, third, fourth = world.states()
    assert first == third == fourth and first.endswith(
        f"redis://new, phase 1 of 3, waits for node {id}"
    )
    assert second == f"{first}: no link to the new one: it is far away"
    world.order(OLD, host=1)
    world.ends(OLD)
    reaches(world.hosts[1])
    world.order()
    world.ends()


@pytest.mark.parametrize("phase", [1, 2, 3])
def test_a_node_may_start_in_any_phase(phase):
    world = swapping(phase)
    new = world.harness.host()
    world.play(1500)
    world.join(new)
    world.ends()


def test_a_node_that_slept_through_the_whole_swap_finds_the_new_broker():
    world = World()
    asleep = world.hosts[2]
    asleep.freeze()
    world.order()
    world.play(FORGOTTEN + ENDS_WITHIN)
    assert world.states() == ["", ""]
    asleep.thaw()
    world.harness.run(EVERY + 2000)
    assert {host.node.bus.broker.url for host in world.hosts} == {NEW}
    # Its player, which was gone for the others, does not hear what was said meanwhile.
    del world.said[:]
    world.play(2000)
    world.check()


def test_a_node_that_begins_on_the_old_broker_follows_to_the_new_one():
    world = World(nodes=2)
    world.order()
    world.ends()
    late = world.harness.host()
    world.harness.run(EVERY + 3000)
    world.join(late)
    world.ends()


def test_the_old_broker_may_be_down():
    world = World()
    for host in world.hosts:
        host.broker.down = True
        host.broker.ages = [LinkAge("the old one", math.inf)]
    world.harness.run(3000)
    world.order()
    world.harness.run(ENDS_WITHIN)
    del world.said[:]
    world.ends()


def test_a_broker_that_cannot_be_the_worlds_is_refused():
    world = World()
    alone, _a, _b = two_nodes()
    with pytest.raises(ValueError, match=NO_STORE):
        alone.node.swap.order(NEW)
    never_answers(world.hosts[1])
    with pytest.raises(ValueError, match="no link to the new one: it is far away, so nothing is"):
        world.order(host=1)
    with pytest.raises(ValueError, match="memory://harness is the broker already"):
        world.order(OLD)
    world.order()
    for url in (THIRD, "redis://:secret@new"):
        with pytest.raises(ValueError, match="to redis://new has not ended: only its way back is"):
            world.order(url)
    world.order(OLD)
    world.ends(OLD)
    for host in world.hosts:
        host.node.keeper.store.away = True
    with pytest.raises(Away):
        world.order(THIRD)


def test_a_node_begins_with_the_broker_that_the_world_has_now():
    order = Order(1, "redis://:old@a", "nats://:new@b", [identity_of("redis://c,redis://d")])
    for url in ("redis://a", "nats://b", "redis://d,redis://c"):
        begun = {"redis://a": url}.get(url, order.old)
        assert begins_with(url, order) == begun
        ended = {"nats://b": url}.get(url, order.new)
        assert begins_with(url, order._replace(ended=True)) == ended
        assert begins_with(url, None) == url
    assert begins_with("redis://e", order) == "redis://e"


def test_brokers_that_the_world_has_left_are_remembered():
    world = World(nodes=1)
    urls = [f"redis://{n}" for n in range(FORMER_MOST + 2)]
    for url in (*urls, urls[-2]):
        world.order(url)
        world.ends(url)
    order = read(world.hosts[0].node.keeper.store)
    assert order.ended and order.new == urls[-2]
    assert [begins_with(url, order) == urls[-2] for url in (OLD, *urls)] == [False] + [True] * 10
