"""Fields of a game's players, and the pace that it gives them: everybody sees both."""

import math

import pytest

from flatlands import Event, Me, PlayerGone, Thing, action, flag, number, plain, text
from flatlands import Game as Engine
from flatlands.brokers.base import PAYLOAD_LIMIT
from flatlands.games.mushrooms import Mushrooms
from flatlands.server.clients.session import STORE_ANSWER_MS
from flatlands.server.cluster.districts import COLUMNS
from flatlands.server.game.game import schema
from flatlands.server.messages import peer_batches, peer_protocol, protocol
from flatlands.server.messages.peer_protocol import ENTRIES_WITH_VALUES, VALUES_MOST
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT
from flatlands.server.squares.outbox import BATCH_LIMIT
from flatlands.server.storage.upkeep import GROW_EVERY_MS
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from flatlands.world.batches import BatchContent
from flatlands.world.track import SPEED, UNIT
from tests.server.harness import Harness, batches, events
from tests.server.machine import Machine


class Racer(Me):
    """A player with a team."""

    team = number(1, 9)
    motto = text(0, 10)
    leads = flag()

    @property
    def rival(self):
        """Whether it is in the other half of the teams."""
        return self.team > 5


class Race(Engine):
    """Pages say how fast their players are, and what they have."""

    ground, me = plain(), Racer

    def __init__(self, node, options=None, alone=True):
        super().__init__(node, options, alone)
        self.known = []

    @action(rate=10, burst=50)
    def hurry(self, me, percent: int = number(25, 400), ms: int = number(0, 100_000)):
        me.pace(percent / 100, lasts=ms / 1000 if ms else None)

    @action(rate=10, burst=50)
    def be(self, me, team: int = number(1, 9), motto: str = text(0, 10), leads: bool = flag()):
        self.known.append(me)
        me.team, me.motto, me.leads = team, motto, leads


@pytest.fixture
def race():
    """Two nodes, and a player at each, side by side."""
    harness = Harness(nodes=2, play=Race)
    a, b = (stand(harness, name, host) for name, host in zip("AB", harness.hosts, strict=True))
    harness.run(500)
    return harness, a, b


def stand(harness, name, host, x=500):
    return harness.stand(name, (x, 500), (60, 40), host)


def do(client, name, *fields):
    client.send(35, name, list(fields))


def known(harness, client):
    """Return a client's player, as its game knows it."""
    do(client, "be", 2, "", False)
    harness.run(100)
    [me] = client.host.node.game.known
    return me


def of(client, other):
    """Return what a client knows of another one's player."""
    return other.model.players[client.id]


# Paces.


def test_a_pace_is_seen_by_all_until_it_is_over(race):
    harness, a, b = race
    a.walk(1, 0)
    harness.run(1000)
    do(a, "hurry", 150, 2000)
    harness.run(100)
    begun, at = harness.clock.time, [c.model.players[a.id].at(c.now())[0] for c in (a, b)]
    harness.run(1000)
    for client, before in zip((a, b), at, strict=True):
        assert client.model.players[a.id].at(client.now())[0] - before == pytest.approx(
            SPEED * 1.5, abs=10
        )
    assert of(a, b).pace == 150 and of(b, a).pace == 100
    # Somebody who comes later sees it too.
    late = stand(harness, "Late", harness.hosts[1], 9000)
    harness.run(200)
    assert of(a, late).pace == 150
    harness.run(begun + 2000 - harness.clock.time)
    assert of(a, b).pace == 100 and of(a, late).pace == 100
    before = a.at()[0]
    harness.run(1000)
    assert a.at()[0] - before == pytest.approx(SPEED, abs=10)
    harness.check()


def test_a_pace_is_told_once_and_moves_are_no_byte_longer(race):
    harness, a, b = race
    b.connection.messages.clear()
    do(a, "hurry", 400, 0)
    harness.run(100)
    do(a, "hurry", 400, 0)
    harness.run(100)
    [enter] = [event for event in events(b.connection.messages) if event[1] == a.id]
    assert enter[13:] == [400, [1, "", False]]
    b.connection.messages.clear()
    a.walk(1, 0)
    harness.run(300)
    [(*_, tracks, others, _replaced, _wide)] = batches(b.connection.messages)
    assert len(tracks) == 13 and others == []
    harness.check()


def test_a_player_with_a_goal_comes_to_it_at_whatever_pace(race):
    harness, a, b = race
    a.go(12_000, -3000)
    harness.run(500)
    for percent in (400, 25, 300, 100):
        do(a, "hurry", percent, 0)
        harness.run(200)
    harness.run(3000)
    assert a.at() == b.model.players[a.id].at(b.now()) == (12_000, -3000)
    # There is no way left to go, and a player that stands stays where it is.
    do(a, "hurry", 200, 500)
    harness.run(2000)
    assert a.at() == (12_000, -3000) and of(a, b).pace == 100
    harness.check()


def test_a_later_pace_is_not_ended_by_the_end_of_an_earlier_one(race):
    harness, a, b = race
    do(a, "hurry", 150, 1000)
    harness.run(500)
    do(a, "hurry", 200, 0)
    harness.run(5000)
    assert of(a, b).pace == 200
    do(a, "hurry", 50, 1000)
    harness.run(900)
    assert of(a, b).pace == 50
    harness.run(300)
    assert of(a, b).pace == 100


@pytest.mark.parametrize("pace", [0, 0.24, 4.01, "fast", None, float("nan")])
def test_an_invalid_pace_is_refused(race, pace):
    harness, a, b = race
    me = known(harness, a)
    with pytest.raises(ValueError, match="a pace must be a number from 0.25 to 4"):
        me.pace(pace)
    for lasts in (0, -1, "long", float("nan")):
        with pytest.raises(ValueError, match="lasts must be more than 0"):
            me.pace(2, lasts=lasts)


@pytest.mark.parametrize(
    "change",
    [lambda me: me.pace(2), lambda me: me.teleport((0, 0)), lambda me: setattr(me, "team", 3)],
    ids=["its pace", "its place", "what a game has of it"],
)
def test_nothing_of_a_player_that_is_gone_can_be_changed(race, change):
    harness, a, _b = race
    me = known(harness, a)
    assert me.is_local
    a.connection.lose(1000)
    harness.run(100)
    with pytest.raises(PlayerGone):
        change(me)
    assert not me.is_local and me.team == 2


def test_players_near_a_tile_are_found_nearest_first_and_no_farther_than_asked(race):
    harness, a, b = race
    b.go(500 + 3 * UNIT, 500 + UNIT // 4)
    harness.run(2000)
    game, me = harness.game_of(), known(harness, a)
    near = [(one.name, one.tile, one.place) for one in game.players_near(me.tile, 3)]
    assert near == [
        ("A", (0, 0), (500 / UNIT, 500 / UNIT)),
        ("B", (3, 0), (3 + 500 / UNIT, 756 / UNIT)),
    ]
    assert [one.name for one in game.players_near(me.tile, 2)] == ["A"]


# Places.


def test_a_player_that_is_put_elsewhere_stands_there_for_everybody():
    steps, entered = [], []

    class Portal(Race):
        def on_step(self, me, tiles):
            steps.extend(tiles)
            if (3, 0) in tiles:
                me.teleport((40, -3))

        def on_enter(self, me, square, before):
            entered.append((before, square))

    harness = Harness(nodes=2, play=Portal)
    here, there = harness.hosts
    a, far = stand(harness, "A", here), stand(harness, "Far", there, 40 * UNIT)
    harness.run(500)
    a.walk(1, 0)
    harness.run(1500)
    there = 40 * UNIT + UNIT // 2, -3 * UNIT + UNIT // 2
    assert a.at() == far.at(a) == there
    assert entered[-1][1] == (2, -1) and steps[-1] == (40, -3) and steps.count((40, -3)) == 1
    # It goes on from there.
    a.walk(0, -1)
    harness.run(1000)
    assert far.at(a) == (there[0], there[1] - SPEED) and (4, 0) not in steps
    harness.check()


def test_nobody_is_put_where_nobody_can_stand(race):
    harness, a, _b = race
    me = known(harness, a)
    me._node.terrain.blocked = lambda column, row: (column, row) == (5, 5)
    for tile in ((5, 5), (2**31, 0), (1.5, 0), None):
        with pytest.raises(ValueError, match="stand on|a tile must be"):
            me.teleport(tile)


# Fields.


def test_values_are_seen_by_all_and_by_those_that_come_later(race):
    harness, a, b = race
    assert a.model.welcome[14] == [["player", 0, "Racer", ["team", "motto", "leads"]]]
    assert of(a, b).values == [1, "", False], "what nobody has set has the lowest value"
    do(a, "be", 7, "go  on", True)
    harness.run(100)
    assert of(a, b).values == of(a, a).values == [7, "go on", True]
    late = stand(harness, "Late", harness.hosts[1], 9000)
    harness.run(200)
    assert of(a, late).values == [7, "go on", True]
    [me] = a.host.node.game.known
    assert (me.team, me.motto, me.leads, me.rival) == (7, "go on", True, True)
    seq = of(a, b).seq
    do(a, "be", 7, "go on", True)
    harness.run(100)
    assert of(a, b).seq == seq, "nothing has changed"
    harness.check()


def test_a_value_that_a_field_cannot_have_is_refused(race):
    harness, a, b = race
    me = known(harness, a)
    for name, wrong in (("team", 0), ("team", True), ("motto", "x" * 11), ("leads", 1)):
        with pytest.raises(ValueError, match=f"Racer: {name} must be "):
            setattr(me, name, wrong)
    with pytest.raises(AttributeError):
        me.points = 3


def test_a_player_that_comes_back_at_another_node_is_as_it_was(race):
    harness, a, b = race
    do(a, "be", 7, "go on", True)
    do(a, "hurry", 150, 5000)
    do(b, "hurry", 50, 0)
    harness.run(1000)
    harness.clients.remove(a)
    again = harness.client(harness.hosts[1]).hello("P", token=a.model.token)
    harness.run(500)
    assert again.id == a.id and of(again, b).values == [7, "go on", True]
    assert of(again, b).pace == 150
    harness.run(4000)
    assert of(again, b).pace == 100 and of(b, again).pace == 50
    harness.check()


def test_a_player_that_is_passed_to_another_worker_is_as_it_was():
    machine = Machine(nodes=2, play=Race)
    west, east = machine.hosts
    client, other = machine.place("C", (0, 0), host=west), machine.place("O", (0, 0), host=east)
    machine.run(4000)
    do(client, "be", 7, "go on", True)
    do(client, "hurry", 150, STORE_ANSWER_MS + 3000)
    # While an action of the player may wait for the store, it is not passed on.
    machine.run(STORE_ANSWER_MS)
    client.walk(1, 0)
    machine.run(500)
    machine.tell((COLUMNS, 0, 0, 1))
    machine.arrive()
    machine.run(500)
    assert client.id in east.node.residents.by_id
    for each in (client, other):
        assert of(client, each).values == [7, "go on", True] and of(client, each).pace == 150
    machine.run(4000)
    assert of(client, other).pace == 100
    machine.check()


def test_what_another_node_wrongly_says_of_a_player_is_not_believed(race):
    harness, a, b = race
    host = a.host.node
    host.residents.set_pace_and_values(host.residents.by_id[a.id], 100, 0, [99, "", False])
    harness.run(100)
    assert of(a, b).values == [1, "", False]


def test_a_page_of_a_full_state_and_a_batch_fit_a_message_whatever_players_have():
    far, wide = 2**40, "\U0001f600"
    most = [2**53 - 1] * (VALUES_MOST - 1) + [wide * 40]
    state = (
        2**52,
        far,
        wide * PLAYER_NAME_LIMIT,
        True,
        65535,
        far,
        far,
        -32767,
        -32767,
        far,
        65535,
    )
    enter = [0, 2**52, *state, 400, most]
    entries = [enter] * ENTRIES_WITH_VALUES
    message = peer_protocol.pack(peer_protocol.FullState(far, far, far, far, far, 9, 99, entries))
    assert len(message) < PAYLOAD_LIMIT
    body = protocol.body(BatchContent(b"", [enter] * BATCH_LIMIT, far))
    assert len(peer_batches.batch((far, far), far, far, far + 1, far, body)) < PAYLOAD_LIMIT


def test_games_with_other_fields_are_incompatible():
    assert schema(Race) != schema(Engine)


@pytest.mark.parametrize(
    ("base", "having", "says"),
    [
        (Me, {"name": text(0, 9)}, "cannot be called name"),
        (Me, {"_team": number(0, 9)}, "cannot be called _team"),
        (Me, {c * 20: number(0, 2**53 - 1, persist=True) for c in "abcdefgh"}, "keeps more than"),
        (Event, {"team": number(0, 9, persist=True)}, "only fields of players"),
        (Me, {"it": False}, r"it of Wrong is False, .*: write it = flag\(\), or give a constant"),
        (Thing, {"worth": 3, "MOST": 9}, r"write worth = number\(low, high\), or give a constant"),
        (Thing, {"reach": 3}, r"write reach in brackets: class Wrong\(..., reach=3\)"),
        (Me, {"motto": text(0, 41)}, "at most 8 fields, and 40 characters in all its texts"),
        (Me, {f"n{n}": number(0, 9) for n in range(9)}, "at most 8 fields"),
        (Racer, {}, "must inherit from Me itself"),
    ],
)
def test_an_invalid_class_of_players_is_refused_where_it_is_declared(base, having, says):
    with pytest.raises(ValueError, match=says):
        type("Wrong", (base,), having)


def test_anything_but_a_class_of_players_is_refused():
    with pytest.raises(ValueError, match="inherits from Me"):
        type("Wrong", (Engine,), {"me": 7})


# A part that uses all of this.


def test_of_two_nodes_one_player_eats_a_mushroom_and_is_faster_for_a_while():
    class Wood(Engine):
        ground, parts = plain(), (Mushrooms,)

    clock = Clock()
    harness = Harness(nodes=2, stores=shared_stores(clock), clock=clock, play=Wood)
    clients = [harness.stand("P", (0, 0), (60, 40), host) for host in harness.hosts]
    harness.run(GROW_EVERY_MS * 3)

    def lies():
        return {
            thing[1]: ((column * 16 * UNIT + thing[3]), (row * 16 * UNIT + thing[4]))
            for (column, row), things in clients[0].model.things.items()
            for thing in things
        }

    id, (x, y) = min(lies().items(), key=lambda item: math.hypot(*item[1]))
    # They come to it at the same time, and their nodes do not hear each other.
    one, other = (host.broker for host in harness.hosts)
    harness.network.cuts.update({(one, other), (other, one)})
    for client in clients:
        client.go(x, y)
    harness.run(5000)
    faster = [c for c in clients if c.model.players[c.id].pace == 150]
    taken = sum(host.loop.stats["things_taken"] for host in harness.hosts)
    eaten = sum(1 for c in clients for event in events(c.connection.messages) if event[0] == 5)
    assert faster and taken == eaten
    harness.network.heal()
    harness.run(10_000)
    assert id not in lies() and all(c.model.players[c.id].pace == 100 for c in clients)
    for client in clients:
        client.go(x + 30 * UNIT, y)
    harness.run(60_000)
    assert lies()[id] == (x, y)
    harness.check()


def test_a_token_of_another_version_of_the_game_brings_what_still_fits():
    fields = {
        "team": number(1, 9, persist=True),
        "motto": text(0, 40, persist=True),
        "fast": flag(),
    }
    worst = {"team": 9, "motto": "\U0001f642" * 40, "fast": True}
    for having, left in (
        (fields, {"team": 9, "motto": worst["motto"], "fast": False}),
        (
            {"team": number(1, 5, persist=True), "fast": flag(persist=True)},
            {"team": 1, "fast": False},
        ),
    ):
        harness = Harness(play=type("Played", (Engine,), {"me": type("One", (Me,), having)}))
        token = harness.hosts[0].tokens.make(70_000, 0, (0, 0), {**worst, "fast": 1})
        assert len(token) <= 512
        client = harness.client().hello("One", token=token)
        assert client.model.players[client.id].values == list(left.values())
