"""Kept squares: what happens there by itself happens at one node at a time."""

import msgpack
import pytest

from flatlands import Game as Engine
from flatlands import Kept, Part, Refused, every, number, plain, text
from flatlands.server.kept.keepers import EPOCH
from flatlands.server.kept.lease import EVERY, LEASE, SURE_FOR
from flatlands.server.messages import peer_protocol
from flatlands.stores.base import NEVER, Item, StoreError
from flatlands.world.track import UNIT
from tests.server.harness import Clock, Harness, clock_stores
from tests.server.things import Broken

SQUARE = 0, 0

#: The queue of kept squares in the store.
QUEUE = "kept test_keepers 2013-16"

#: ms within which a square whose keeper is gone continues.
WITHIN = 5000


class Weather(Kept, every=1):
    rain = number(0, 1000)
    said = text(0, 20)


class Tide(Kept, every=0.25):
    height = number(0, 100)


class Sea(Part):
    keeps = [Tide]

    def on_tick(self, square, kept):
        kept.height = (kept.height + 1) % 100


class Game(Engine):
    ground = plain()
    keeps = [Weather]
    parts = [Sea]

    def __init__(self, node, options=None, alone=True):
        super().__init__(node, options, alone)
        self.woken, self.ticks = [], []

    def on_wake(self, square, kept):
        self.woken.append((square, kept.rain))

    def on_tick(self, square, kept):
        self.ticks.append(square)
        kept.rain += 1
        kept.said = ", ".join(sorted(seen.name for seen in self.players_in(square)))


def sky(nodes=1, play=Game):
    clock = Clock()
    return Harness(nodes=nodes, stores=clock_stores(clock), clock=clock, play=play)


def at(harness, name, tile, host=None):
    """Return a client whose small screen is around a tile, once the squares there are kept."""
    place = tuple(part * UNIT + UNIT // 2 for part in tile)
    client = harness.stand(name, place, (10, 8), host)
    harness.run(2 * EVERY + 100)
    return client


def alone(**more):
    """Return a harness, and a player at its first node."""
    harness = sky(**more)
    return harness, at(harness, "a", (8, 8))


def rain(client, square=SQUARE):
    return client.model.kept[square][0][0]


def kept_by(host):
    """Return the squares that a node keeps."""
    return set(host.node.play.keepers.squares)


def keepers(harness):
    """Return the nodes that keep SQUARE, as far as they know."""
    return [host for host in harness.hosts if SQUARE in kept_by(host)]


def side_by_side(nodes=2, play=Game):
    """Return a harness with a player at each of two or three nodes, all at one place, and these
    players; the first one is at the node that keeps the square."""
    harness = sky(nodes=nodes, play=play)
    clients = [
        at(harness, name, (8, 8), host) for name, host in zip("abc", harness.hosts, strict=False)
    ]
    return harness, *sorted(clients, key=lambda client: [client.host] != keepers(harness))


def put(harness, body, name="0:0", due=NEVER):
    """Put the kept values of a square into the store."""
    harness.node.keeper.store.put(QUEUE, [Item(name, due, name, body)])


def forget_all(harness):
    """Empty the store."""
    for item in list(harness.node.keeper.store.each(QUEUE)):
        harness.node.keeper.store.take(QUEUE, item.id)


def test_one_node_lets_it_rain_and_all_who_see_the_square_see_it():
    harness, *clients = side_by_side(3)
    [keeper] = keepers(harness)
    ticks = {host: len(harness.game_of(host).ticks) for host in harness.hosts}
    seen = [rain(client) for client in clients]
    harness.run(10_000)
    assert [rain(client) for client in clients] == [before + 10 for before in seen]
    went = [host for host in harness.hosts if len(harness.game_of(host).ticks) > ticks[host]]
    assert went == [keeper]
    weather, tide = clients[0].model.kept[SQUARE]
    assert weather[1] == "a, b, c" and tide[0] >= 40
    names = [["kept", 0, "Weather", ["rain", "said"]], ["kept", 1, "Tide", ["height"]]]
    assert [one for one in clients[0].model.welcome[14] if one[0] == "kept"] == names
    # A player that comes later sees the values at once, and the game can read them at each node.
    late = harness.stand("late", (8 * UNIT, 8 * UNIT), (10, 8), harness.hosts[2])
    harness.run(100)
    assert late.model.kept[SQUARE] == clients[0].model.kept[SQUARE]
    read = {harness.game_of(host).kept(Weather, SQUARE).rain for host in harness.hosts}
    assert read == {rain(late)}
    assert harness.game_of().kept(Weather, (50, 50)) is None


def test_a_value_that_does_not_change_is_not_told_again():
    class Calm(Game):
        parts = []

        def on_tick(self, square, kept):
            self.ticks.append(square)

    harness, a = alone(play=Calm)
    told = harness.node.stats["flushes"]
    before = len(harness.game_of().ticks)
    harness.run(5000)
    assert harness.game_of().ticks[before:].count(SQUARE) == 5
    assert a.model.kept[SQUARE] == [[0, ""]] and harness.node.stats["flushes"] == told


def test_a_node_that_is_late_with_a_round_of_ticks_begins_no_other_meanwhile(monkeypatch):
    harness = sky()
    a = at(harness, "a", (2, 2))
    monkeypatch.setattr("flatlands.server.kept.keepers.AT_ONCE", 1)
    # Four squares take 1.6 s.
    monkeypatch.setattr("flatlands.server.kept.keepers.TURN", 400)
    had = rain(a)
    harness.run(20_000)
    assert 9 <= rain(a) - had <= 11


def stop(_, client):
    play = client.host.node.play
    play.stop()
    assert play.stopped and not play.keepers.squares


def restore(client):
    client.host.broker.restore(client.host.node)


#: How a keeper ends, how it comes back, the ms after which another node has taken over, and the
#: fewest and most ticks within them. A player is kept for ten seconds, in case it comes back.
ENDS = {
    "dies": (lambda h, client: h.kill(client.host), None, WITHIN, 1, 5),
    "stops": (stop, None, 3000, 1, 3),
    "sees it no more": (lambda h, client: client.connection.close(1000), None, 12_500, 10, 13),
    "stands still": (lambda h, c: c.host.freeze(), lambda c: c.host.thaw(), WITHIN, 0, 5),
    "hears nothing": (lambda h, client: client.host.broker.fail(), restore, 10_000, 5, 10),
}


@pytest.mark.parametrize(("end", "back", "within", "least", "most"), ENDS.values(), ids=ENDS)
def test_another_node_goes_on_when_the_keeper_ends(end, back, within, least, most):
    harness, here, other, third = side_by_side(3)
    had = rain(other)
    end(harness, here)
    harness.run(within)
    [new] = [host for host in keepers(harness) if not host.frozen]
    assert new is not here.host and least <= rain(other) - had <= most
    assert rain(other) == rain(third)
    # The new keeper continues with the last value that was published.
    woken = [value for square, value in harness.game_of(new).woken if square == SQUARE][-1]
    assert woken == had or (within > WITHIN and woken > had)
    if back:
        assert rain(here) <= had + 4
        back(here)
        had = rain(other)
        harness.run(100)
        assert rain(other) >= had
        harness.run(5000)
        assert len(keepers(harness)) == 1 and rain(here) == rain(other)
        assert 4 <= rain(other) - had <= 6


def test_all_squares_of_a_keeper_that_dies_go_on_in_time_however_many():
    harness = sky(nodes=2)
    first, other = harness.hosts
    for host, ms in ((first, 15_000), (other, 3000)):
        for column in range(0, 960, 120):
            harness.stand("P", (column * UNIT, 8 * UNIT), (60, 40), host)
        harness.run(ms)
    had = kept_by(first)
    assert len(had) > 120 and not kept_by(other)
    harness.kill(first)
    harness.run(WITHIN)
    assert kept_by(other) == had


def test_an_answer_of_the_store_that_comes_too_late_lets_nothing_happen(monkeypatch):
    harness = sky()
    keeper, late = harness.node.keeper, []
    ask = keeper.ask

    def slowly(question, answered, *failed):
        if answered.__name__ == "claimed":
            found = question(keeper.store)
            late.append(lambda: answered(found))
        else:
            ask(question, answered, *failed)

    with monkeypatch.context() as patch:
        patch.setattr(keeper, "ask", slowly)
        a = at(harness, "a", (8, 8))
        harness.run(SURE_FOR)
    [answer] = late
    answer()
    assert harness.game_of().woken == [] and a.model.kept == {}
    harness.run(WITHIN)
    assert rain(a) >= 1


def test_a_change_that_is_lost_on_the_way_is_told_again_within_a_second():
    class Once(Game):
        parts, over = [], False

        def on_tick(self, square, kept):
            if self.over:
                kept.said = "it is over"

    harness, here, other = side_by_side(play=Once)
    harness.network.cuts.add((here.host.broker, other.host.broker))
    harness.game_of(here.host).over = True
    harness.run(1000)
    assert other.model.kept[SQUARE] == [[0, ""]]
    harness.network.heal()
    harness.run(EVERY)
    assert other.model.kept[SQUARE] == here.model.kept[SQUARE] == [[0, "it is over"]]
    assert keepers(harness) == [here.host]


def test_a_square_that_nobody_sees_sleeps_and_goes_on_from_there():
    harness, a = alone(nodes=2)
    harness.run(3000)
    had = rain(a)
    a.connection.close(1000)
    harness.run(20_000)
    assert not any(map(kept_by, harness.hosts))
    assert min(item.delay for item in harness.node.keeper.store.each(QUEUE)) > 10**12
    b = at(harness, "b", (8, 8), harness.hosts[1])
    assert keepers(harness) == [harness.hosts[1]]
    assert had <= harness.game_of(harness.hosts[1]).woken[-1][1] <= had + 3 and rain(b) <= had + 6


def test_a_node_without_its_store_keeps_nothing_for_long():
    harness, a = alone()
    store, harness.node.keeper.store = harness.node.keeper.store, Broken()
    had = rain(a)
    harness.run(LEASE)
    stood = rain(a)
    harness.run(20_000)
    assert rain(a) == stood <= had + LEASE // 1000
    harness.node.keeper.store = store
    harness.run(3000)
    assert stood < rain(a) <= stood + 3


def test_a_tick_that_fails_changes_nothing_and_harms_no_other(caplog):
    class Bad(Game):
        bad = True

        def on_wake(self, square, kept):
            super().on_wake(square, kept)
            if square == (-1, -1):
                raise Refused("no", "not here")

        def on_tick(self, square, kept):
            super().on_tick(square, kept)
            if square == SQUARE and self.bad:
                del kept.rain
            elif square == (-1, 0):
                raise Refused("no", "not here")
            elif square == (0, -1) and self.bad:
                raise LookupError("no rain")

    harness = sky(play=Bad)
    a = at(harness, "a", (2, 2))
    harness.run(3000)
    assert kept_by(harness.hosts[0]) == harness.node.hub.held
    assert rain(a) == rain(a, (-1, 0)) == rain(a, (0, -1)) == 0 and rain(a, (-1, -1)) >= 3
    assert a.model.kept[0, -1][1] >= [12], "the tick of a part, in the same square"
    assert harness.node.stats["hooks_failed"] >= 9 and not harness.node.stats["errors"]
    assert "on_tick of the game failed" in caplog.text
    assert LookupError in [record.exc_info[0] for record in caplog.records]
    harness.game_of().bad = False
    harness.run(3000)
    assert rain(a) == rain(a, (0, -1)) == 3


def test_an_item_that_nobody_can_read_starts_again_and_harms_no_other():
    harness = sky()
    for name, body in (("0:0", b"\xc1"), ("0:-1", msgpack.packb([7])), ("-1:0", msgpack.packb(7))):
        put(harness, body, name)
    a = at(harness, "a", (2, 2))
    harness.run(3000)
    assert {rain(a, square) >= 3 for square in harness.node.hub.held} == {True}


def test_squares_are_kept_though_others_cannot_be_claimed(monkeypatch):
    harness = sky()
    a = at(harness, "a", (2, 2))
    group = harness.node.keeper.store.group

    def fails(queue, *names):
        if queue == QUEUE:
            raise StoreError("it is slow")
        return group(queue, *names)

    monkeypatch.setattr(harness.node.keeper.store, "group", fails)
    had = rain(a)
    at(harness, "b", (500, 2))
    harness.run(10_000)
    assert rain(a) - had >= 10 and len(kept_by(harness.hosts[0])) == 4


def test_a_node_that_heard_little_keeps_nothing_for_long_where_the_store_has_forgotten_all():
    harness = sky(nodes=3)
    for _ in range(4):
        a = at(harness, "a", (8, 8))
        a.connection.close(1000)
        harness.run(15_000)
    b = at(harness, "b", (8, 8), harness.hosts[1])
    forget_all(harness)
    # Its first keeper is now a node that has not heard of the earlier ones.
    put(harness, msgpack.packb([EPOCH, {}]), due=0)
    had = rain(b)
    c = harness.stand("c", (8 * UNIT, 8 * UNIT), (10, 8), harness.hosts[2])
    harness.run(30_000)
    assert len(keepers(harness)) == 1 and rain(b) == rain(c) >= had + 20


def test_an_operator_clears_names_and_texts_where_they_are_kept_and_where_they_sleep():
    class Quiet(Game):
        def on_tick(self, square, kept):
            if isinstance(kept, Weather) and not kept.said:
                kept.said = "Rude"

    def said(client):
        return client.model.kept[SQUARE][0][1]

    harness, a = alone(nodes=2, play=Quiet)
    harness.run(1000)
    assert said(a) == "Rude"
    for clear, what, found in (("clear_name", "Rude", "?"), ("clear", SQUARE, "")):
        for host in harness.hosts:
            getattr(host.node.play, clear)(what)
        harness.run(100)
        assert said(a) == found
    harness.run(1000)
    assert said(a) == "Rude"
    a.connection.close(1000)
    harness.run(15_000)
    assert keepers(harness) == []
    harness.hosts[1].node.play.clear_name("Rude")
    assert said(at(harness, "b", (8, 8), harness.hosts[1])) == "?"


@pytest.mark.parametrize(
    ("clear", "what", "found"), [("clear", SQUARE, ""), ("clear_name", "Rude", "?")]
)
def test_an_operator_clears_what_another_node_keeps(clear, what, found):
    class Once(Game):
        speaks = True

        def on_tick(self, square, kept):
            if square == SQUARE and isinstance(kept, Weather) and Once.speaks:
                kept.said, Once.speaks = "Rude", False

    harness, a = alone(nodes=2, play=Once)
    harness.run(1500)
    [keeper] = keepers(harness)
    [other] = [host for host in harness.hosts if host is not keeper]
    assert a.model.kept[SQUARE][0][1] == "Rude"
    getattr(other.node.play, clear)(what)
    harness.run(4000)
    assert a.model.kept[SQUARE][0][1] == found and len(keepers(harness)) == 1


def test_a_value_of_another_version_of_the_game_is_kept_or_the_lowest_if_it_does_not_fit():
    harness = sky()
    kept = {"Weather": {"rain": 5000, "said": "old"}, "Tide": {"height": 50}, "Lava": {"heat": 9}}
    put(harness, msgpack.packb([7 * EPOCH + 3, kept]))
    a = at(harness, "a", (8, 8))
    assert (SQUARE, 0) in harness.game_of().woken and rain(a) <= 3
    assert harness.node.replicas.squares[SQUARE].shown.kept.version // EPOCH == 8
    a.connection.close(1000)
    harness.run(15_000)
    [item] = [item for item in harness.node.keeper.store.each(QUEUE) if item.id == "0:0"]
    known = msgpack.unpackb(item.body)[1]
    assert known["Lava"] == {"heat": 9} and 50 < known["Tide"]["height"] < 100
    assert known["Weather"]["rain"] < 50


def test_a_keeper_that_is_late_is_not_believed_and_nonsense_is_refused():
    harness, a = alone(nodes=2)
    [keeper] = keepers(harness)
    heard, node = keeper.node.replicas.squares[SQUARE], harness.hosts[1].node.id
    version, had = heard.shown.kept.version, rain(a)
    heard.receive(peer_protocol.kept(SQUARE, node, version - 1, [[9, ""], [9]]))
    harness.settle()
    assert rain(a) == had and keeper.loop.stats["late_keepers"] == 1
    for said in ([[9, ""]], [[9, ""], [900]], [[9, ""], 9], [[9, ""], []], [[9, ""], [9], [9]]):
        with pytest.raises(peer_protocol.Malformed):
            heard.receive(peer_protocol.kept(SQUARE, node, version + 1, said))
    # One with a later epoch has taken the square.
    heard.receive(peer_protocol.kept(SQUARE, node, version + EPOCH, [[9, ""], [9]]))
    harness.run(900)
    assert rain(a) == 9 and keepers(harness) == []


def test_a_keeper_does_not_take_on_a_text_that_cannot_be_shown():
    harness, a = alone()
    heard = harness.node.replicas.squares[SQUARE]
    version = heard.shown.kept.version
    heard.receive(peer_protocol.kept(SQUARE, 5, version + EPOCH, [[9, "\n"], [9]]))
    harness.run(900)
    assert harness.game_of().kept(Weather, SQUARE).said == ""
    harness.run(WITHIN)
    assert rain(a) > 9 and keepers(harness) == harness.hosts


def test_a_node_keeps_a_limited_number_of_squares_and_those_with_players_first(monkeypatch, caplog):
    monkeypatch.setattr("flatlands.server.kept.keepers.MOST", 5)
    harness = sky(nodes=2)
    first, other = harness.hosts
    a = at(harness, "a", (8, 8))
    assert len(kept_by(first)) == 5 and SQUARE in a.model.kept
    assert harness.node.stats["unkept"] and "squares that players see are not kept" in caplog.text
    for column in (200, 400, 600, 800):
        far = at(harness, "far", (column, 8))
        harness.run(2 * EVERY)
        assert far.model.players[far.id].square in far.model.kept
    assert len(kept_by(first)) == 5 and SQUARE in kept_by(first)
    at(harness, "b", (8, 8), other)
    assert not kept_by(first) & kept_by(other)
    assert 5 < len(kept_by(first) | kept_by(other)) <= 10


def test_squares_that_another_node_keeps_unheard_take_the_place_of_others_only_for_a_while(
    monkeypatch,
):
    monkeypatch.setattr("flatlands.server.kept.keepers.MOST", 4)
    harness = sky(nodes=2)
    first, other = harness.hosts
    at(harness, "a", (2, 2), first)
    harness.network.cuts.add((first.broker, other.broker))
    for tile in ((2, 2), (500, 2)):
        at(harness, "b", tile, other)
    harness.run(40_000)
    # The node asks again and again for the square in which its player stands.
    assert len(kept_by(first)) == 4 and len(kept_by(other)) == 3


def test_a_square_goes_on_though_its_store_has_forgotten_everything():
    harness, a = alone()
    had = rain(a)
    forget_all(harness)
    harness.run(WITHIN)
    assert had + 2 <= rain(a) <= had + WITHIN // 1000


def test_a_game_without_a_store_keeps_nothing():
    harness = Harness(play=Game)
    a = at(harness, "a", (8, 8))
    harness.run(5000)
    assert a.model.kept == {} and harness.game_of().ticks == []
    harness.node.play.stop()
    assert harness.node.play.stopped


class Seasons(Engine):
    ground = plain()

    def __init__(self, node, options=None, alone=True):
        super().__init__(node, options, alone)
        self.turned = 0

    @every(1, once=True)
    def turn(self):
        self.turned += 1


def turned(harness):
    return [harness.game_of(host).turned for host in harness.hosts]


def test_a_method_that_runs_once_runs_at_one_node_and_soon_at_another_if_that_dies():
    harness = sky(nodes=3, play=Seasons)
    harness.run(10_000)
    [first] = [host for host in harness.hosts if harness.game_of(host).turned]
    assert 8 <= sum(turned(harness)) <= 10
    harness.kill(first)
    harness.run(10_000)
    assert sorted(turned(harness))[0] == 0 and 5 <= sum(turned(harness)) <= 8
    harness.stop(next(host for host in harness.hosts if harness.game_of(host).turned))
    harness.run(5000)
    assert turned(harness)[0] >= 2


def test_a_node_that_hears_nobody_leaves_a_method_that_runs_once_to_others():
    harness = sky(nodes=2, play=Seasons)
    harness.run(5000)
    [first] = [host for host in harness.hosts if harness.game_of(host).turned]
    first.broker.fail()
    harness.run(10_000)
    had = harness.game_of(first).turned
    harness.run(10_000)
    assert harness.game_of(first).turned == had and sum(turned(harness)) >= had + 10


def test_a_method_that_runs_once_runs_at_each_node_without_a_store():
    harness = Harness(nodes=2, play=Seasons)
    harness.run(3000)
    assert turned(harness) == [3, 3]
    harness.node.play.stop()
    assert harness.node.play.stopped
    harness.run(3000)
    assert turned(harness) == [3, 6]


def kept_class(base=Kept, **more):
    return type("Fog", (base,), more)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: type("Fog", (Kept,), {}, every=0.05), "ticks every 0.1 to 3600 seconds"),
        (lambda: kept_class(words=text(0, 301)), "Fog is too large"),
        (lambda: kept_class(**{"d" * 21: number(0, 1)}), "cannot have the name ddd"),
        (lambda: kept_class(_deep=number(0, 1)), "cannot have the name _deep"),
        (lambda: kept_class(every=number(0, 1)), "cannot have the name every"),
        (lambda: kept_class(Weather), "must inherit from Thing, Event, Kept or Record itself"),
        (lambda: delattr(Weather(), "rain"), "Weather keeps its field rain"),
        (lambda: Weather(snow=1), "no field snow"),
        (lambda: setattr(Weather(), "snow", 1), "no field snow"),
        (lambda: setattr(Weather(), "rain", 1001), "Weather: rain must be"),
        (lambda: type("Bad", (Part,), {"keeps": [Part]}), "keeps is a list of classes"),
        (lambda: sky(play=type("Two", (Game,), {"keeps": [Tide]})), "with a name each"),
    ],
)
def test_a_class_that_cannot_be_kept_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
