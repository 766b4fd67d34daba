"""The map of everybody: what nodes count for it, and what their clients are told."""

import random

import msgpack
import pytest

from flatlands import Mover
from flatlands.server.atlas import census, counts, views
from flatlands.server.atlas.dots import (
    WORLD_DOTS,
    WORLD_SQUARES,
    WORLD_TOTALS,
    areas_around,
    dot_at,
    patches_within,
)
from flatlands.server.clients import handlers
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.protocol import FIRST_PERSON_ID, GRAIN_MOST
from flatlands.server.storage.kinds import NOWHERE
from flatlands.world.grid import Rect
from tests.bare import Game
from tests.server.harness import Harness


class Walker(Mover, on_map=True):
    """It is on the map, as a computer player."""


class Deer(Mover):
    """It is not."""


class Wild(Game):
    """The bare game with walkers and deer."""

    things = (*Game.things, Walker, Deer)


def spawn(host, kind, *tiles):
    """Let a node spawn movers on some tiles."""
    host.node.play.movers.spawn([kind(tile) for tile in tiles], NOWHERE)


EVERYWHERE = (-(2**31), -(2**31), 2**31, 2**31)

#: ms within which the map is right again, whatever has happened.
RIGHT_AFTER = 6000


def shift(grain):
    return 8 * (16 ** (grain // 4) - 1) // 15


def truth(harness, grain, rect=EVERYWHERE):
    """Return (people, computer players) of each dot, from the residents of all nodes."""
    found = {}
    for host in harness.hosts:
        for resident in host.node.residents.by_id.values():
            column, row = resident.square
            people, computers = resident.id >= FIRST_PERSON_ID, resident.name == "Walker"
            inside = rect[0] <= column <= rect[2] and rect[1] <= row <= rect[3]
            if inside and (people or computers):
                dot = tuple((n + shift(grain)) >> grain for n in resident.square)
                before = found.get(dot, (0, 0))
                found[dot] = before[0] + people, before[1] + computers
    return found


def look(harness, host=None, grain=0, rect=EVERYWHERE):
    """Return a client that only watches."""
    client = harness.client(host)
    client.send(15, grain, *rect)
    return client


def shown(client):
    """Return the (people, computer players) of each dot that a client knows."""
    return {dot: counts[:2] for dot, counts in client.model.dots.items()}


def kinds(client):
    return [message[0] for message in client.connection.messages]


def quiet(harness):
    """Return whether no node counts or is subscribed to anything for the map."""
    return all(
        host.node.outbox.batch_counts is None
        and not host.node.counts.channels
        and not [name for name in host.broker.channels if name.count("/") > 3]
        for host in harness.hosts
    )


@pytest.mark.parametrize("seed", range(3))
def test_each_dot_lies_within_one_dot_of_each_coarser_grain(seed):
    chance = random.Random(seed)
    for _ in range(300):
        far = 2 ** chance.randrange(1, 29)
        square = chance.randint(-far, far), chance.randint(-far, far)
        near = tuple(n + chance.choice((-1, 0, 1)) for n in square)
        together = False
        for grain in range(GRAIN_MOST + 1):
            dot = dot_at(square, grain)
            assert dot == tuple((n + shift(grain)) >> grain for n in square)
            patch = [n >> 2 for n in dot]
            assert patches_within(Rect(*square, *square), grain) == Rect(*patch, *patch)
            # Squares of one dot are in one dot of each coarser grain.
            assert (dot == dot_at(near, grain)) >= together
            together = dot == dot_at(near, grain)
        assert dot_at(square, WORLD_DOTS.grain) == WORLD_DOTS[1:3]


@pytest.mark.parametrize("seed", range(3))
def test_any_rectangle_of_squares_lies_in_at_most_four_parts(seed):
    chance = random.Random(seed)
    for _ in range(300):
        far = 2 ** chance.randrange(1, 29)
        c0, r0 = chance.randint(-far, far), chance.randint(-far, far)
        rect = Rect(c0, r0, c0 + chance.randint(0, far), r0 + chance.randint(0, far))
        parts = areas_around(rect, grain := chance.randrange(32))
        assert 1 <= len(parts) <= 4 and len(set(parts)) == len(parts)
        for square in (rect[:2], rect[2:], (rect.c0, rect.r1), (rect.c1, rect.r0)):
            assert [p for p in parts if dot_at(square, p.grain) == p[1:3]]
        assert all(part.grain > grain for part in parts)
    assert areas_around(Rect(*EVERYWHERE), 0) == [WORLD_DOTS]


def world(nodes=1):
    harness = Harness(nodes=nodes, play=Wild)
    harness.run(2000)
    return harness


def test_a_client_that_looks_is_shown_everybody_but_animals_whether_it_plays_or_not():
    harness = world(nodes=2)
    one, two = sorted(harness.hosts, key=lambda host: host.node.id)
    a = harness.place("A", (0, 0), host=one)
    for name, square in (("B", (0, 0)), ("C", (0, 0)), ("D", (40, -3))):
        harness.place(name, square, host=two)
    spawn(two, Walker, (1, 1), (1, 2))
    spawn(two, Deer, (1, 1), (1, 2), (90, 1))
    a.send(15, 0, *EVERYWHERE)
    watcher = look(harness, two)
    harness.run(2500)
    for client in (a, watcher):
        assert shown(client) == {(0, 0): (3, 2), (40, -3): (1, 0)} == truth(harness, 0)
        assert client.model.totals == [4, 2, 2, 2, "memory", 2013, 16, [], 0]
        # The hue of a dot is that of the node with the most players in it.
        assert {dot[2] for dot in client.model.dots.values()} == {1}
    assert watcher.connection.open and kinds(watcher)[:2] == [31, 40]


def test_the_first_picture_comes_at_once_and_is_whole():
    harness = world(nodes=3)
    for n in range(30):
        harness.place(f"P{n}", (n * 37 % 500 - 250, n * n % 300), host=harness.hosts[n % 3])
    watcher = look(harness)
    harness.run(700)
    assert watcher.model.pictures == 1 and shown(watcher) == truth(harness, 0)
    # A watcher at another node gets its picture as soon, though the world is counted already.
    watcher = look(harness, harness.hosts[1])
    harness.run(400)
    assert watcher.model.pictures == 1 and shown(watcher) == truth(harness, 0)


def test_the_first_picture_of_an_empty_world_is_empty_and_without_squares_there_are_only_totals():
    harness = world(nodes=2)
    one, other = harness.hosts
    watcher = look(harness, one)
    harness.run(2000)
    assert watcher.model.pictures == 1 and watcher.model.dots == {}
    assert watcher.model.totals == [0, 0, 0, 2, "memory", 2013, 16, [], 0]
    watcher.connection.lose()
    harness.run(census.AREA_LEASE_MS + 2000)
    harness.place("A", (0, 0), host=one)
    watcher = look(harness, other, rect=(1, 1, 0, 0))
    harness.run(3000)
    assert watcher.model.totals == [1, 0, None, 2, "memory", 2013, 16, [], 0]
    assert list(other.node.counts.channels.values()) == [WORLD_TOTALS]
    harness.place("B", (3, 0), host=one)
    harness.run(3000)
    assert watcher.model.totals[0] == 2
    # Totals are repeated as a sign of life.
    told = len(kinds(watcher))
    harness.run(20_000)
    assert 4 <= len(kinds(watcher)) - told <= 5 and set(kinds(watcher)) == {31}


def test_a_square_flashes_when_its_channel_delivers_and_only_changes_are_told():
    harness = world()
    a = harness.place("A", (0, 0))
    harness.place("B", (5, 5))
    watcher = look(harness)
    harness.run(5000)
    before = watcher.model.batches.copy()
    for n in range(6):
        a.walk(1 - n % 2, 0)
        harness.run(400)
    harness.run(2500)
    assert watcher.model.batches[0, 0] - before[0, 0] >= 6
    assert watcher.model.batches[5, 5] == before[5, 5]
    told = kinds(watcher).count(40)
    harness.run(20_000)
    assert kinds(watcher).count(40) == told


def test_a_square_flashes_once_for_a_count_though_the_next_ones_are_lost():
    harness = world(nodes=2)
    one, other = harness.hosts
    a = harness.place("A", (0, 0), host=one)
    watcher = look(harness, other)
    harness.run(5000)
    a.walk(1, 0)
    harness.run(1200)
    other.broker.lose_subscriptions(set(other.node.counts.channels))
    harness.run(1000)
    before = watcher.model.batches.copy()
    assert before[0, 0] > 0
    harness.run(3000)
    assert watcher.model.batches == before


def tell_roughly(monkeypatch, most):
    """Let nodes tell the world in so few dots that clients must ask for its parts."""
    for module in (views, counts):
        monkeypatch.setattr(module, "WORLD_DOTS", WORLD_DOTS._replace(most=most))


def crowded(nodes=2, players=400, far=200):
    """Return a harness with players standing all over the place; each client sees only a little."""
    harness = world(nodes)
    chance = random.Random(1)
    span = harness.node.grid.span
    for n in range(players):
        place = [chance.randint(-far, far) * span + span // 2 for _ in "xy"]
        harness.hosts[n % nodes].node.residents.join(f"P{n}", tuple(place))
    harness.run(1000)
    return harness


@pytest.mark.parametrize(
    ("players", "far", "grain"), [(400, 12, 0), (400, 200, 0), (400, 5000, 0), (20, 200, 6)]
)
def test_no_client_is_told_too_many_dots_or_finer_ones_than_it_can_draw(players, far, grain):
    harness = crowded(players=players, far=far)
    watcher = look(harness, grain=grain)
    harness.run(4000)
    assert shown(watcher) == truth(harness, watcher.model.grain)
    if grain:
        assert watcher.model.grain == grain
    else:
        assert 10 < len(watcher.model.dots) <= views.DOTS_MOST
        # A finer grain would have been too much.
        assert len(truth(harness, watcher.model.grain - 1)) > views.FINER_DOTS_MOST
    assert max(len(msgpack.packb(m)) for m in watcher.connection.messages) <= 2500
    assert watcher.model.totals[0] == players


@pytest.mark.parametrize("most", [peer_protocol.PATCH_DOTS_MOST, 20])
def test_a_part_of_the_world_is_shown_in_finer_dots(monkeypatch, most):
    tell_roughly(monkeypatch, most)
    harness = crowded(far=2000)
    watcher, rect = look(harness), (-500, -500, 500, 500)
    harness.run(4000)
    assert watcher.model.grain > 4
    watcher.send(15, 0, *rect)
    harness.run(4000)
    assert watcher.model.grain == 0
    inside = truth(harness, 0, rect)
    assert inside and inside.items() <= shown(watcher).items() <= truth(harness, 0).items()


def test_dots_become_finer_when_players_have_left():
    harness = crowded(far=12, nodes=1)
    watcher = look(harness)
    harness.run(3000)
    assert watcher.model.grain > 0
    for resident in list(harness.node.residents.by_id.values())[100:]:
        harness.node.residents.leave(resident)
    harness.run(8000)
    assert watcher.model.grain == 0 and shown(watcher) == truth(harness, 0)


@pytest.mark.parametrize(
    "ends", [lambda c: c.send(15, None, 0, 0, 0, 0), lambda c: c.connection.lose()]
)
def test_nothing_is_counted_or_published_unless_somebody_looks(ends):
    harness = crowded(players=20)
    assert quiet(harness)
    watcher = look(harness)
    harness.run(3000)
    assert not quiet(harness)
    ends(watcher)
    harness.run(census.AREA_LEASE_MS + 2000)
    assert quiet(harness) and not len(harness.node.views)
    counted = [host.loop.stats["counts"] for host in harness.hosts]
    assert all(counted)
    harness.run(20_000)
    assert [host.loop.stats["counts"] for host in harness.hosts] == counted


def test_too_many_clients_that_only_watch_are_refused_and_players_are_not(monkeypatch):
    monkeypatch.setattr(handlers, "SPECTATORS_MOST", 2)
    harness = world()
    player = harness.place("A", (0, 0))
    some = [look(harness) for _ in range(3)]
    assert [watcher.connection.open for watcher in some] == [True, True, False]
    assert some[2].connection.closed[0] == 1013
    player.send(15, 0, *EVERYWHERE)
    harness.run(2000)
    assert shown(player) == {(0, 0): (1, 0)}
    # A client that already watches may look at something else, and may begin to play.
    some[0].send(15, 1, *EVERYWHERE)
    some[0].hello("Wren")
    harness.run(2500)
    assert some[0].connection.open and some[0].id
    assert sum(people for people, _ in shown(some[0]).values()) == 2
    # Nothing else is obeyed before hello.
    some[1].send(6, "hello?")
    assert some[1].connection.closed[0] == 1008


def test_one_address_gets_only_a_share_of_the_places_for_watchers():
    harness = world()

    def watch(address):
        client = harness.client()
        client.connection.address = address
        client.send(15, 0, 0, 0, -1, -1)
        return client

    school = [watch("192.0.2.1") for _ in range(51)]
    assert [client.connection.closed for client in school[:50]] == [None] * 50
    assert school[50].connection.closed == (1013, "too many clients are watching from your address")
    assert harness.loop.stats["limited_spectators"] == 1
    assert watch("192.0.2.2").connection.open
    # A client that stops looking, plays or is gone makes room for another one.
    school[0].send(15, None, 0, 0, 0, 0)
    school[1].hello("Wren")
    school[2].connection.lose()
    harness.run(100)
    assert [watch("192.0.2.1").connection.open for _ in range(4)] == [True] * 3 + [False]
    harness.check()


def test_when_there_are_too_many_views_a_client_sees_the_whole_world(monkeypatch):
    monkeypatch.setattr(views, "VIEWS_MOST", 3)
    harness = crowded(players=30, far=3)
    maps = [look(harness, rect=(n, n, n + 2, n + 2)) for n in range(6)]
    harness.run(3000)
    assert shown(maps[5]) == truth(harness, 0) != shown(maps[0])


def test_a_slow_watcher_misses_messages_and_then_gets_the_whole_picture():
    harness = crowded(players=30)
    watcher = look(harness)
    harness.run(3000)
    assert watcher.model.pictures == 1
    connection, residents = watcher.connection, harness.node.residents
    connection.stuck = True
    for _ in range(10):
        residents.leave(next(iter(residents.by_id.values())))
        harness.run(1500)
    assert watcher.session.lags_since is not None and len(connection.remainder) == 1
    connection.drain()
    assert watcher.session.lags_since is None
    harness.run(2500)
    assert watcher.model.pictures == 2 and shown(watcher) == truth(harness, 0)


def roam(harness, chance):
    """Let somebody come, go or move elsewhere."""
    node = chance.choice(harness.hosts).node
    span = node.grid.span
    residents = list(node.residents.by_id.values())
    some = chance.random()
    if some < 0.4 or not residents:
        place = [chance.randint(-40, 40) * chance.choice((1, 1, 30)) * span + 5 for _ in range(2)]
        node.residents.join("P", tuple(place))
    elif some < 0.6:
        node.residents.leave(chance.choice(residents))
    else:
        node.residents.say(chance.choice(residents), "hello")


@pytest.mark.parametrize("seed", range(12))
def test_counts_become_right_after_losses_deaths_and_newcomers(monkeypatch, seed):
    chance = random.Random(seed)
    if seed % 2:
        tell_roughly(monkeypatch, 4)
    harness = Harness(nodes=3, seed=seed, skew=chance.choice((0, 7000)))
    harness.run(2000)
    first = harness.hosts[0]
    maps = [look(harness, first), look(harness, first, grain=chance.randrange(6))]
    for _ in range(40):
        some = chance.random()
        if some < 0.05 and len(harness.hosts) > 1:
            harness.kill(chance.choice(harness.hosts[1:]))
        elif some < 0.1 and len(harness.hosts) < 4:
            harness.host()
        elif some < 0.15:
            for host in harness.hosts:
                host.broker.losing = chance.choice((0, 0.2, 0.6))
        elif some < 0.2:
            harness.network.delay = chance.choice((0, 50, 400))
        elif some < 0.25:
            host = chance.choice(harness.hosts)
            host.broker.lose_subscriptions(set(host.broker.channels))
            harness.run(500)
            host.broker.restore_subscriptions(host.node)
        elif some < 0.3:
            maps.append(look(harness, chance.choice(harness.hosts), rect=(-20, -20, 20, 20)))
        for _ in range(chance.randrange(6)):
            roam(harness, chance)
        harness.run(chance.choice((10, 200, 1500)))
    for host in harness.hosts:
        host.broker.losing = 0
    harness.network.heal()
    harness.run(RIGHT_AFTER)
    compared = 0
    for watcher in maps:
        if watcher in harness.clients and watcher.connection.closed is None:
            rect = truth(harness, watcher.model.grain)
            assert shown(watcher).items() <= rect.items()
            if watcher in maps[:2]:
                assert shown(watcher) == rect
                compared += 1
    people = sum(len(host.node.residents.by_id) for host in harness.hosts)
    assert compared == 2 and maps[0].model.totals[:2] == [people, 0]
    assert maps[0].model.totals[3] == len(harness.hosts)


def test_malformed_counts_are_refused():
    harness = crowded(players=5)
    watcher = look(harness)
    harness.run(3000)
    first, second = harness.hosts
    channel, other = first.node.channels.area(WORLD_DOTS), second.node.id
    before = shown(watcher)
    wrong = [9, 9, 9], [9, 9, 9, -1], [9, -9, 9, 9], [9, True, 9, 9], [9, 9, 2**25, 9]
    for payload in (
        peer_protocol.pack(peer_protocol.Watch(other, True, [0, 0, 0, 1])),
        msgpack.packb([51, other, 0, 33, []]),
        *(msgpack.packb([51, other, 0, 0, [0, *dots]]) for dots in wrong),
    ):
        malformed = first.loop.stats["malformed"]
        second.broker.publish(channel, payload)
        harness.settle()
        assert first.loop.stats["malformed"] == malformed + 1
    # A node that nobody knows is not believed.
    second.broker.publish(
        channel, peer_protocol.pack(peer_protocol.Counts(4711, 0, 0, [0, 9, 9, 0, 0]))
    )
    harness.run(2500)
    assert shown(watcher) == before


def test_programs_are_told_of_all_squares_in_as_many_messages_as_it_takes(monkeypatch):
    monkeypatch.setattr(census, "PATCH_DOTS_MOST", 3)
    harness = crowded(players=50, far=10)
    spawn(harness, Deer, (40, 1))
    known = harness.node.counts
    for _ in range(4):
        known.need({WORLD_SQUARES})
        harness.run(500)
        assert known.squares(WORLD_SQUARES) == {
            square for host in harness.hosts for square in host.node.outbox.players_by_square
        }
