"""The ember: one player carries it, who touches it has it next, and never are there two."""

import random

import pytest

from flatlands.games.flatlands.ember.ember import HANDS, IDLE, NOT_BACK, REACH
from flatlands.games.flatlands.ember.longest import Best, Kept
from flatlands.games.flatlands.walkers.herd import Sizes
from flatlands.games.flatlands.walkers.stage import DEER_FROM
from flatlands.server.kept.lease import EVERY, LEASE
from flatlands.server.messages.protocol import OTHERS_FROM
from flatlands.server.squares.peers import GONE_AFTER
from flatlands.stores.base import StoreError
from flatlands.world.track import UNIT
from tests.server.harness import Harness
from tests.server.test_herd import herding, others

SCREEN = (96, 64)
EMBER = 6


def told(client):
    """Return what a client was told of the ember, as (id, passes, age, before, kept)."""
    found = []
    for message in client.connection.messages:
        if message[0] == 21:
            for batch in message[3]:
                others = batch[5] if len(batch) > 5 else []
                found += [tuple(event[1:]) for event in others if event[0] == EMBER]
    return found


def keepers(harness):
    """Return the nodes that keep the ember and are sure of it."""
    return [host for host in harness.hosts if host.node.game.herd.ember.carried is not None]


def kept(harness):
    """Return who carries it, as the only node knows that keeps it."""
    [host] = keepers(harness)
    return host.node.game.herd.ember.carried


def give(harness, client):
    """Let a client's player carry the ember. All nodes see it, from where nobody is near."""
    for at, host in enumerate(harness.hosts):
        harness.stand(f"Seer {at}", (42 * UNIT, at * UNIT), SCREEN, host)
    harness.run(500)
    [host] = keepers(harness)
    ember = host.node.game.herd.ember
    ember._pass(ember.carried, host.node.replicas.player(client.id))
    harness.run(200)
    assert kept(harness).id == client.id


def quiet(nodes=1, people=1, **more):
    """Return a harness whose clockwork walkers are far away from everybody, and stay there."""
    harness = herding(nodes=nodes, sizes=Sizes(people=people), **more)
    harness.run(20_000)
    for host in harness.hosts:
        for id, resident in host.node.residents.by_id.items():
            if id < DEER_FROM:
                host.node.movement.put(resident, (-300 * UNIT, id * 50 * UNIT))
                host.node.game.herd._beasts[id].act = lambda now: now + 60_000
    harness.run(2000)
    return harness


def test_there_is_one_as_soon_as_there_is_a_clockwork_walker_and_all_see_it():
    harness = herding(sizes=Sizes(people=5))
    ada = harness.stand("Ada", (0, 0), SCREEN)
    harness.run(10_000)
    carried = kept(harness)
    assert told(ada)[-1][:2] == (carried.id, carried.passes)
    harness.run(EVERY)
    before = len(told(ada))
    harness.run(5 * EVERY)
    assert len(told(ada)) >= before + 4
    harness.check()


@pytest.mark.parametrize("sizes", [Sizes(people=3), Sizes(deer=3)])
def test_without_a_store_or_without_clockwork_walkers_there_is_none(sizes):
    harness = Harness(sizes=sizes) if sizes.people else herding(sizes=sizes)
    ada = harness.stand("Ada", (0, 0), SCREEN)
    harness.run(10_000)
    assert told(ada) == [] and not keepers(harness)


@pytest.mark.parametrize(("nodes", "skew"), [(1, 0), (2, 0), (2, 4000)])
def test_whom_the_carrier_touches_has_it_next_and_cannot_give_it_back_at_once(nodes, skew):
    harness = quiet(nodes, skew=skew)
    ada = harness.stand("Ada", (0, 0), SCREEN, harness.hosts[0])
    bob = harness.stand("Bob", (5 * UNIT, 0), SCREEN, harness.hosts[-1])
    harness.run(1000)
    give(harness, ada)
    harness.run(2500)
    ada.walk(1, 0)
    begun = harness.clock.time
    while kept(harness).id != bob.id:
        harness.run(5)
        assert harness.clock.time < begun + 2000 and len(keepers(harness)) <= 1
    # That is when they came near each other, and not at some later look.
    touched = (5 * UNIT - REACH) * 1000 / 5120
    assert abs(harness.clock.time - begun - touched) <= 60
    ada.walk(0, 0)
    harness.run(100)
    for client in (ada, bob):
        id, _passes, _age, before, ms = told(client)[-1]
        assert (id, before) == (bob.id, ada.id) and 2500 <= ms <= 4000
    # They stand together: after three seconds it goes back.
    harness.run(NOT_BACK - 500)
    assert kept(harness).id == bob.id
    harness.run(1000)
    assert kept(harness).id == ada.id
    harness.check()


def test_it_falls_to_a_clockwork_walker_when_its_carrier_leaves_sleeps_or_idles():
    harness = quiet(people=2)
    for how in ("leave", "sleep", "idle"):
        ada = harness.stand(f"Ada {how}", (0, 0), SCREEN)
        watcher = harness.stand("Watcher", (-295 * UNIT, 75 * UNIT), SCREEN)
        harness.run(500)
        give(harness, ada)
        if how == "idle":
            harness.run(IDLE - 2000)
            assert kept(harness).id == ada.id
            harness.run(4000)
        else:
            ada.walk(1, 0)
            harness.run(300)
            ada.connection.lose(1000 if how == "leave" else 1006)
            harness.run(2 * EVERY)
        assert kept(harness).id < DEER_FROM
        harness.run(EVERY)
        assert told(watcher)[-1][0] == kept(harness).id
        watcher.connection.lose(1000)
        ada.connection.lose(1000)
        harness.run(500)


def pace(harness, ms, *clients):
    """Let clients walk to and fro together, for so many ms."""
    for step in range(ms // 1000):
        for client in clients:
            client.walk(1 if step % 2 else -1, 0)
        harness.run(1000)
    for client in clients:
        client.walk(0, 0)


def longest(harness):
    """Return the longest that the store has."""
    node = harness.hosts[0].node
    return node.game.longest.read(node.keeper.store)


@pytest.mark.parametrize("nodes", [1, 2])
def test_who_keeps_it_for_longest_is_on_the_board(nodes):
    harness = quiet(nodes)
    ada = harness.stand("Ada", (0, 0), SCREEN, harness.hosts[0])
    bob = harness.stand("Bob", (8 * UNIT, 0), SCREEN, harness.hosts[-1])
    harness.run(500)
    give(harness, ada)
    pace(harness, 6000, ada, bob)
    # A clockwork walker had it before her, which counts nothing, and nor does what is not over.
    assert longest(harness) == Best(None, None)
    ada.walk(1, 0)
    while kept(harness).id != bob.id:
        harness.run(50)
    ada.walk(0, 0)
    harness.run(200)
    ms = told(ada)[-1][4]
    assert told(ada)[-1][3] == ada.id and 6000 < ms < 9500
    assert longest(harness) == Best(*2 * [Kept(ms, ada.id, "Ada")])
    harness.run(2500)
    for client in (ada, bob):
        client.send(35, "scores", [])
        assert client.model.board[4] == 2 * [["Ada", ms, client is ada]]
    harness.check()


def test_to_stand_still_is_not_to_keep_it():
    harness = quiet()
    ada = harness.stand("Ada", (0, 0), SCREEN)
    harness.stand("Bob", (0, 12 * UNIT), SCREEN)
    give(harness, ada)
    pace(harness, 4000, ada)
    harness.run(IDLE + 3 * EVERY)
    assert kept(harness).id < DEER_FROM
    best = longest(harness).ever
    assert best is not None and best.id == ada.id and 3500 <= best.ms <= 5000


def test_who_is_alone_loses_it_and_has_not_kept_it():
    harness = quiet()
    ada = harness.stand("Ada", (100 * UNIT, 100 * UNIT), SCREEN)
    give(harness, ada)
    pace(harness, IDLE - 2000, ada)
    assert kept(harness).id == ada.id
    pace(harness, 5000, ada)
    assert kept(harness).id < DEER_FROM
    assert longest(harness) == Best(None, None)


def test_who_has_company_keeps_it():
    harness = quiet()
    ada = harness.stand("Ada", (100 * UNIT, 100 * UNIT), SCREEN)
    bob = harness.stand("Bob", (110 * UNIT, 100 * UNIT), SCREEN)
    give(harness, ada)
    pace(harness, IDLE + 10_000, ada, bob)
    assert kept(harness).id == ada.id
    # Who stands there for long is no company.
    pace(harness, 2 * IDLE + 5000, ada)
    assert kept(harness).id < DEER_FROM
    best = longest(harness).ever
    assert best is not None and IDLE + 10_000 <= best.ms <= 2 * IDLE + 12_000


@pytest.mark.parametrize("how", ["dies", "stops", "stands still"])
def test_when_its_keeper_is_gone_its_carrier_has_it_still(how):
    harness = quiet(nodes=3, people=4)
    [host] = keepers(harness)
    ada, bob = (
        harness.stand(name, (60 * UNIT, at * UNIT), SCREEN, one)
        for at, (name, one) in enumerate(zip(("Ada", "Bob"), others(harness), strict=True))
    )
    give(harness, ada)
    before, since = kept(harness).passes, kept(harness).since
    if how == "dies":
        harness.kill(host)
    elif how == "stops":
        host.node.game.herd.stop()
    else:
        host.freeze()
    harness.run(EVERY + 200 if how == "stops" else LEASE + EVERY + 200)
    host.thaw()
    assert host not in keepers(harness)
    assert kept(harness).id == ada.id and kept(harness).passes > before
    harness.run(EVERY)
    assert told(bob)[-1][:2] == (ada.id, kept(harness).passes)
    # All that time counts.
    harness.run(5000)
    assert kept(harness).id == ada.id and abs(kept(harness).since - since) <= 20


def test_when_its_keeper_and_its_carrier_are_gone_a_clockwork_walker_has_it():
    harness = quiet(nodes=2, people=4)
    [host] = keepers(harness)
    ada = harness.stand("Ada", (0, 0), SCREEN, host)
    give(harness, ada)
    harness.kill(host)
    assert not keepers(harness)
    harness.run(GONE_AFTER + 2 * EVERY)
    assert kept(harness).id < DEER_FROM


def test_without_the_store_it_is_told_until_the_lease_ends_and_goes_to_nobody(monkeypatch):
    harness = quiet()
    ada = harness.stand("Ada", (0, 0), SCREEN)
    harness.stand("Bob", (5 * UNIT, 0), SCREEN)
    give(harness, ada)
    store = harness.node.keeper.store

    def away(*_arguments):
        raise StoreError("the store is away")

    monkeypatch.setattr(store, "_wait", away)
    ada.walk(1, 0)
    harness.run(1500)
    assert kept(harness).id == ada.id
    harness.run(LEASE)
    assert not keepers(harness)
    before = len(told(ada))
    harness.run(3000)
    assert len(told(ada)) == before
    monkeypatch.undo()
    harness.run(2 * EVERY)
    assert len(keepers(harness)) == 1


def test_who_is_passed_on_to_another_node_takes_it_along():
    harness = quiet(nodes=2)
    ada = harness.stand("Ada", (0, 0), SCREEN, harness.hosts[0])
    # The other node sees her too.
    harness.stand("Bob", (6 * UNIT, 0), SCREEN, harness.hosts[1])
    harness.run(500)
    give(harness, ada)
    token = next(message[1] for message in ada.connection.messages[::-1] if message[0] == 17)
    ada.connection.lose()
    again = harness.client(harness.hosts[1]).hello("Ada", SCREEN, token)
    harness.run(2 * EVERY + 500)
    assert again.id == ada.id and kept(harness).id == ada.id


@pytest.mark.parametrize("keeps", [True, False])
def test_who_goes_home_and_back_takes_it_along(keeps):
    harness = quiet(nodes=2)
    [keeper] = keepers(harness)
    host = keeper if keeps else others(harness)[0]
    ada = harness.stand("Ada", (200 * UNIT, 0), SCREEN, host)
    bob = harness.stand("Bob", (205 * UNIT, 0), SCREEN, keeper)
    harness.run(500)
    give(harness, ada)
    bob.connection.lose(1000)
    harness.run(3000)
    for _ in range(2):
        ada.home()
        harness.run(3 * EVERY)
        assert kept(harness).id == ada.id and told(ada)[-1][0] == ada.id
    assert ada.at()[0] == 200 * UNIT


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_two_nodes_are_never_sure_of_it_and_it_comes_back(seed):
    chance = random.Random(seed)
    harness = herding(nodes=3, sizes=Sizes(people=6), skew=chance.choice((0, 3000)), seed=seed)
    harness.run(25_000)
    clients = []
    passes = {0}
    for step in range(600):
        deed = chance.random()
        alive = [c for c in clients if c.connection.closed is None and c.host in harness.hosts]
        if deed < 0.05 and len(alive) < 6:
            at = chance.randint(-4, 4) * UNIT, chance.randint(-4, 4) * UNIT
            clients.append(harness.stand(f"P{step}", at, SCREEN, chance.choice(harness.hosts)))
        elif deed < 0.5 and alive:
            chance.choice(alive).walk(chance.randint(-1, 1), chance.randint(-1, 1))
        elif deed < 0.53 and alive:
            chance.choice(alive).connection.lose(chance.choice((1000, 1006)))
        elif deed < 0.54 and len(harness.hosts) > 2:
            harness.kill(chance.choice(harness.hosts))
            harness.host()
        elif deed < 0.55:
            chance.choice(harness.hosts).broker.losing = chance.choice((0.0, 0.3))
        harness.run(chance.randint(10, 300))
        assert len(keepers(harness)) <= 1
        passes |= {host.node.game.herd.ember.carried.passes for host in keepers(harness)}
    for host in harness.hosts:
        host.broker.losing = 0.0
    harness.run(LEASE + 3 * EVERY)
    assert kept(harness).id > 0
    assert len(passes) > 2


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("players", [2, 3, 4, 6])
def test_of_the_last_three_hands_none_has_it_again_unless_too_few_are_there(players, nodes):
    harness = quiet(nodes)
    clients = [
        harness.stand(f"P{at}", (at * REACH // 10, 0), SCREEN, harness.hosts[at % nodes])
        for at in range(players)
    ]
    harness.run(500)
    give(harness, clients[0])
    for step in range(20):
        for client in clients:
            client.walk(0, 1 if step % 2 else -1)
        harness.run(500)
        for client in clients:
            client.walk(0, 0)
        harness.run(1000)
    had = {passes: id for id, passes, *_ in told(clients[0]) if id >= OTHERS_FROM}
    row = [had[passes] for passes in sorted(had)]
    assert len(row) >= 6
    apart = min(players, HANDS + 1)
    for at in range(len(row) - apart + 1):
        assert len(set(row[at : at + apart])) == apart, row


def test_clockwork_walkers_run_from_who_is_near_and_after_who_has_it():
    harness = herding(sizes=Sizes(people=8))
    harness.run(5000)
    ada = harness.stand("Ada", (0, 0), SCREEN)
    had = []
    for _ in range(1200):
        harness.run(100)
        if keepers(harness):
            carrier = kept(harness).id
            had += [carrier] if had[-1:] != [carrier] else []
            known = ada.model.players.get(carrier)
            if carrier != ada.id and known is not None:
                ada.go(*known.at(ada.now()))
    # She had it, and it was taken from her where she stood; so was it from some of them.
    assert ada.id in had[:-1] and len(set(had)) >= 3
    assert all(id >= OTHERS_FROM or id < DEER_FROM for id in had)
    harness.check()
