"""Things of a game: they are planted, touched by players that come near, and taken once."""

import math
import random
from collections import Counter
from functools import partial

import gevent
import gevent.event
import msgpack
import pytest

from flatlands import Game as Engine
from flatlands import Part, Refused, Thing, action, flag, number, plain, text
from flatlands.server.game.play import Play
from flatlands.server.players.touches import NEVER_MS, Touches, _comes_within
from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.peers import OTHER_STORE, OTHER_STORE_AFTER_MS
from flatlands.server.storage.boards import TOP_KEPT_MS
from flatlands.server.storage.client import StoreClient, StoreUnavailable
from flatlands.server.storage.items import (
    QUOTA_CHECK_MS,
    QUOTA_PREFIX,
    THINGS_A_STEP,
    UNUSED_QUOTA_MS,
)
from flatlands.server.storage.reader import SQUARE_AGAIN_MS
from flatlands.server.storage.upkeep import GROW_EVERY_MS, PLANT_FAILED_MS, QUOTA_AGAIN_MS
from flatlands.stores.base import Item, Score, StoreError
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from flatlands.world.track import SPEED, UNIT, Track
from tests.server.harness import KEY, Broken, Harness

ORCHARD = "things test_things 2013-16"


class Apple(Thing, reach=1):
    """It lies until somebody takes it."""

    colour = number(1, 7)


class Egg(Thing, reach=0.5, lasts=10):
    """It is gone after ten seconds."""

    note = text(0, 20)
    blown = flag()


class Orchard(Engine):
    """Two apples in each plot. What happens to them is noted; tests say what is to be done."""

    ground = plain()
    things = [Apple, Egg]

    def __init__(self, node, options=None, alone=True):
        super().__init__(node, options, alone)
        self.touched, self.planted, self.then, self.takes = [], [], None, True

    def plant(self, plot):
        self.planted.append(plot)
        column, row = (64 * at for at in plot)
        return [Apple((column + 5, row)), Apple((column + 20, row), colour=4)]

    def on_touch(self, me, thing):
        self.touched.append((self.node.loop.now(), me.id, thing))
        if self.takes:
            then = [] if self.then is None else self.then(thing)
            if me.take(thing, then, scores=[("apples", 2)]):
                me.send("found", thing.id, thing.version, me.rank("apples").n)

    @action(rate=10, burst=20)
    def lay(self, me, note: str = text(0, 20)):
        me.put(Egg(me.tile, note=note))

    @action(rate=10, burst=20)
    def best(self, me):
        me.send("best", [[one.name, one.points] for one in self.top("apples", 5)])


@pytest.fixture
def orchard():
    def start(nodes=1, play=Orchard, **more):
        clock = Clock()
        stores = shared_stores(clock)
        return Harness(nodes=nodes, stores=stores, clock=clock, play=play, **more)

    return start


def middle(tile):
    return tile[0] * UNIT + UNIT // 2, tile[1] * UNIT + UNIT // 2


def lying(client):
    """Return the things that a client knows, by their ids."""
    return {thing[1]: thing for things in client.model.things.values() for thing in things}


def at(harness, name, tile, host=None, size=(60, 40)):
    """Return a client whose player stands on a tile, once it sees what lies there."""
    client = harness.stand(name, middle(tile), size, host)
    harness.run(GROW_EVERY_MS * 3)
    return client


def keyed(harness, name, tile, host=None):
    client = at(harness, name, tile, host)
    client.send(10, f"{KEY}{name}")
    return client


def two(harness, tile, make=at):
    """Return a client at each of two nodes; their players stand on one tile."""
    return [make(harness, name, tile, host) for name, host in zip("ab", harness.hosts, strict=True)]


def here(harness):
    return harness.game_of().things_in((0, 0))


# What lies in the world.


def test_things_that_a_game_plants_lie_there_once_for_all_nodes(orchard):
    harness = orchard(nodes=2)
    a, b = two(harness, (0, 3))
    assert lying(a) == lying(b)
    assert a.model.welcome[14] == [
        ["thing", 0, "Apple", ["colour"]],
        ["thing", 1, "Egg", ["note", "blown"]],
    ]
    kind, id, version, x, y, colour = lying(a)["Apple:0:0:1"]
    assert (kind, id, colour) == (0, "Apple:0:0:1", 4) and version > 0
    assert (x, y) == (4 * UNIT + UNIT // 2, UNIT // 2)
    planted = [plot for host in harness.hosts for plot in harness.game_of(host).planted]
    assert len(planted) == len(set(planted)) >= 1


def test_planting_keeps_nobody_waiting_while_nobody_plays(orchard, caplog):
    harness = orchard()
    planted, stats = harness.game_of(harness.hosts[0]).planted, harness.loop.stats
    harness.loop.cost = 0.006
    harness.node.residents.join("a walker", middle((0, 3)), id=1)
    harness.run(GROW_EVERY_MS * 3)
    assert planted and not stats["hooks_slow"] and "plant of the game" not in caplog.text
    first = len(planted)
    at(harness, "a", (0, 1000))
    assert len(planted) > first and stats["hooks_slow"] >= len(planted) - first
    assert "plant of the game took 6 ms, during which all players waited" in caplog.text


def test_operators_are_warned_of_another_store_only_if_two_nodes_go_on_having_them(orchard, caplog):
    harness = orchard(nodes=2)
    _a, b = two(harness, (0, 3))
    here, there = (host.node.store_client.store for host in harness.hosts)

    def lays(after):
        harness.run(after)
        b.send(35, "lay", [""])
        harness.run(500)
        return OTHER_STORE in caplog.text

    # A store was replaced by an empty one, twice, and one node notices a little earlier.
    for name in ("new", "newer"):
        there.identity = name
        assert not lays(1000)
        here.identity = name
        assert not lays(OTHER_STORE_AFTER_MS)
    ignored = harness.loop.stats["other_stores"]
    assert ignored and not lays(1000) and harness.loop.stats["other_stores"] == ignored
    there.identity = "elsewhere"
    assert not lays(1000)
    assert lays(OTHER_STORE_AFTER_MS)


def test_a_player_that_comes_near_touches_a_thing_at_that_moment_and_takes_it(orchard):
    harness = orchard()
    client, far = keyed(harness, "a", (0, 0)), at(harness, "far", (0, 2))
    game = harness.game_of()
    began = harness.loop.now()
    for walker in (client, far):
        walker.walk(1, 0)
    harness.run(3000)
    [(when, _, apple)] = game.touched[:1]
    # It has walked five tiles, less the reach of one.
    assert abs(when - began - 4 * UNIT * 1000 / SPEED) <= 2
    assert (apple.tile, apple.colour, apple.id) == ((5, 0), 1, "Apple:0:0:0")
    assert client.model.messages["found"] == [apple.id, apple.version, 2]
    harness.run(3000)
    assert [(who, one.id) for _, who, one in game.touched] == [
        (client.id, f"Apple:0:0:{n}") for n in (0, 1)
    ]
    assert "Apple:0:0:0" not in lying(client)
    assert harness.node.store_client.store.count(ORCHARD) == len(game.planted) * 3 - 2
    client.send(35, "best", [])
    harness.run(10)
    assert client.model.messages["best"] == [[["a", 4]]]


def test_a_thing_that_nobody_takes_is_touched_again_by_a_player_that_comes_again(orchard):
    harness = orchard()
    game = harness.game_of()
    game.takes = False
    client = at(harness, "a", (1, 0))
    for goal in ((5, 0), (5, 1), (4, 0), (3, 0), (5, 0)):
        client.go(*middle(goal))
        harness.run(1000)
    assert len(game.touched) == 1
    client.go(*middle((1, 0)))
    harness.run(1000)
    client.go(*middle((5, 0)))
    harness.run(1000)
    assert len(game.touched) == 2
    # A player that stands on it does not touch it again, even if other things appear there.
    harness.run(2 * SQUARE_AGAIN_MS)
    client.send(35, "lay", ["here"])
    harness.run(500)
    assert [one.tile for _, _, one in game.touched[2:]] == [(5, 0)]
    assert isinstance(game.touched[2][2], Egg)


def calls_later(harness):
    """Call hooks at the end of the turn, as greenlets do, and not within what causes them."""
    loop = harness.loop
    harness.node.play.hook_queues._spawn = lambda run, *it: loop.call_soon(partial(run, *it))


class Painted(Orchard):
    """An apple that is touched gets another colour, up to eight times."""

    def on_touch(self, me, thing):
        self.touched.append((self.node.loop.now(), me.id, thing))
        if len(self.touched) < 9:
            self.paint(me, thing)

    def paint(self, me, thing):
        me.change(thing, lambda now: now.again(colour=now.colour % 7 + 1))

    @action(rate=10, burst=20)
    def brush(self, me):
        self.paint(me, next(one for one in self.things_in((0, 0)) if one.tile == (5, 0)))


def test_a_player_does_not_touch_what_it_has_changed_itself_until_it_comes_again(orchard):
    harness = orchard(play=Painted)
    game = harness.game_of()
    client = at(harness, "a", (2, 0))
    client.walk(1, 0)
    harness.run(600)
    client.walk(0, 0)
    harness.run(2000)
    assert [thing.colour for *_, thing in game.touched] == [1]
    assert lying(client)["Apple:0:0:0"][5] == 2
    # It walks there and back without leaving, and then leaves.
    for dx in (1, -1, -1, 1):
        client.walk(dx, 0)
        harness.run(250 if len(game.touched) < 2 and dx else 100)
    client.walk(0, 0)
    harness.run(1000)
    assert len(game.touched) == 1
    client.go(*middle((1, 0)))
    harness.run(2000)
    client.go(*middle((5, 0)))
    harness.run(2000)
    assert [thing.colour for *_, thing in game.touched] == [1, 2]


def test_what_one_player_changes_is_touched_again_by_another_beside_it(orchard):
    class Painted(Orchard):
        def on_touch(self, me, thing):
            self.touched.append((self.node.loop.now(), me.name, thing))

        @action(rate=10, burst=20)
        def paint(self, me):
            thing = next(one for one in self.things_in((0, 0)) if one.tile == (5, 0))
            me.change(thing, lambda now: now.again(colour=3))

    harness = orchard(play=Painted)
    game = harness.game_of()
    clients = [at(harness, name, (5, 0)) for name in "ab"]
    assert [(who, thing.colour) for _, who, thing in game.touched] == [("a", 1), ("b", 1)]
    clients[0].send(35, "paint", [])
    harness.run(1000)
    assert [(who, thing.colour) for _, who, thing in game.touched[2:]] == [("b", 3)]


def test_a_player_does_not_touch_what_it_has_changed_itself_while_the_broker_is_away(orchard):
    harness = orchard(play=Painted)
    game = harness.game_of()
    client = at(harness, "a", (2, 0))
    calls_later(harness)
    # The node hears nothing from the broker: it applies what it publishes at once.
    harness.hosts[0].broker.fail()
    client.walk(1, 0)
    harness.run(1000)
    assert [thing.colour for *_, thing in game.touched] == [1]


def test_a_player_touches_what_it_has_changed_from_afar_when_it_comes_there(orchard):
    harness = orchard(play=Painted)
    game = harness.game_of()
    client = at(harness, "a", (3, 0))
    assert asks(harness, client, ["brush"]) == [] and lying(client)["Apple:0:0:0"][5] == 2
    assert game.touched == []
    client.go(*middle((5, 0)))
    harness.run(1000)
    assert [thing.colour for *_, thing in game.touched] == [2]


def test_what_a_player_puts_on_another_tile_is_touched_once_it_is_out_of_reach(orchard):
    class Pushed(Orchard):
        def on_touch(self, me, thing):
            self.touched.append((self.node.loop.now(), me.id, thing))
            me.take(thing, [thing.again((thing.tile[0] + 1, 0))])

    harness = orchard(play=Pushed)
    game = harness.game_of()
    client = at(harness, "a", (2, 0))
    began = harness.loop.now()
    client.walk(1, 0)
    harness.run(1500)
    # It pushes the apple by a tile whenever it has come one tile farther.
    assert [thing.tile for *_, thing in game.touched] == [(column, 0) for column in range(5, 11)]
    gone = [when - began for when, *_ in game.touched]
    assert all(abs(ms - (2 + n) * UNIT * 1000 / SPEED) <= 2 for n, ms in enumerate(gone))


def test_what_a_player_puts_beside_itself_is_not_touched_across_the_border_of_a_square(orchard):
    class Hops(Orchard):
        def plant(self, plot):
            return [Apple((15, 0))] if plot == (0, 0) else []

        def on_touch(self, me, thing):
            self.touched.append((self.node.loop.now(), me.id, thing))
            if len(self.touched) < 9:
                me.take(thing, [thing.again((31 - thing.tile[0], 0))])

    harness = orchard(play=Hops)
    game = harness.game_of()
    client = at(harness, "a", (12, 0))
    calls_later(harness)
    client.go(16 * UNIT, UNIT // 2)
    harness.run(2000)
    # The apple hops out of reach, over the border, and then from beside the player back again.
    assert [thing.tile for *_, thing in game.touched] == [(15, 0), (16, 0)]
    assert lying(client)["Apple:0:0:0"][2] == game.touched[1][2].version + 1


def test_a_thing_that_appears_beside_a_player_is_touched(orchard):
    harness = orchard(nodes=2)
    stands = at(harness, "a", (8, 8))
    lays = at(harness, "b", (8, 8), harness.hosts[1])
    walks = at(harness, "c", (0, 8), size=(96, 64))
    walks.walk(1, 0)
    harness.run(500)
    lays.send(35, "lay", ["for you"])
    harness.run(200)
    # Two of the three players stand there, each at its own node.
    touched = [one for host in harness.hosts for one in harness.game_of(host).touched]
    assert {who for _, who, _ in touched} <= {stands.id, lays.id} and touched
    assert touched[0][2].note == "for you"
    assert sum(len(client.model.found) for client in (stands, lays)) == 1
    lays.send(35, "lay", ["again"])
    harness.run(10)
    assert sum(len(client.model.found) for client in (stands, lays, walks)) == 2


def test_things_that_follow_a_taken_one_appear_at_their_time_with_their_fields(orchard):
    harness = orchard(nodes=2)
    game = harness.game_of()
    game.then = lambda apple: [
        apple.again((5, 4), after=5, colour=6),
        *[Egg((column, 5), note="shell", blown=True) for column in (5, 40)],
    ]
    a, b = two(harness, (2, 0))
    before = lying(b)["Apple:0:0:0"]
    a.go(*middle((5, 0)))
    harness.run(2000)
    known = lying(b)
    assert "Apple:0:0:0" not in known
    eggs = [thing for thing in known.values() if thing[0] == 1]
    assert [thing[5:] for thing in eggs] == [["shell", True]] * 2
    harness.run(5000)
    kind, id, version, x, y, colour = lying(b)["Apple:0:0:0"]
    assert (version, colour, y) == (before[2] + 1, 6, 4 * UNIT + UNIT // 2)
    # The eggs have lasted for ten seconds.
    harness.run(6000)
    assert not [thing for thing in lying(a).values() if thing[0] == 1]
    store = harness.node.store_client.store
    assert not [item for item in store.each(ORCHARD) if item.id.startswith("Egg")]


def test_a_thing_that_waits_is_not_lost_with_the_node_that_took_it(orchard):
    harness = orchard(nodes=2)
    first, second = harness.hosts
    harness.game_of(first).then = lambda apple: [apple.again(after=3)]
    b = at(harness, "b", (2, 5), second)
    a = at(harness, "a", (2, 0), first)
    a.go(*middle((5, 0)))
    harness.run(1000)
    assert a.model.found and "Apple:0:0:0" not in lying(b)
    harness.kill(first)
    harness.run(5000)
    assert lying(b)["Apple:0:0:0"][2] == a.model.found[0][1] + 1


def test_a_plot_that_could_not_be_planted_is_tried_again_after_a_minute(orchard, caplog):
    class Late(Orchard):
        fails = True

        def plant(self, plot):
            if self.fails:
                raise LookupError("no such tree")
            return super().plant(plot)

    harness = orchard(play=Late)
    client = at(harness, "a", (0, 3))
    assert lying(client) == {} and "no such tree" in caplog.text
    assert harness.loop.stats["hooks_failed"] > 0
    Late.fails = False
    harness.run(PLANT_FAILED_MS + 2 * SQUARE_AGAIN_MS)
    assert "Apple:0:0:0" in lying(client)


def test_an_operator_removes_what_players_left_and_not_what_was_planted(orchard):
    harness = orchard(nodes=2)
    client = at(harness, "a", (5, 5))
    harness.game_of().takes = False
    client.send(35, "lay", ["rude"])
    harness.run(100)
    assert [thing[5] for thing in lying(client).values() if thing[0] == 1] == ["rude"]
    planted = {id for id in lying(client) if id.startswith("Apple")}
    # A planted thing may have got a text from a player.
    note = Egg((6, 6))
    [note] = harness.node.play.items.check_things([note], (0, 0))
    item = harness.node.play.items.item(note)[1]
    harness.node.store_client.store.put(ORCHARD, [item])
    harness.hosts[1].node.play.content.clear((0, 0))
    harness.run(100)
    assert lying(client).keys() == planted and planted
    assert note.id == "Egg:0:0:0" and harness.node.store_client.store.take(ORCHARD, note.id) is None


def test_things_of_an_older_game_have_the_lowest_values_and_can_be_taken(orchard):
    harness = orchard()
    store = harness.node.store_client.store
    old = msgpack.packb([7, 5, 7, False, {"weight": 3}])
    gone = msgpack.packb([7, 5, 8, False, {}])
    store.put(ORCHARD, [Item("Apple:old", 10**9, "0:0", old), Item("Plum:1", 10**9, "0:0", gone)])
    client = at(harness, "a", (2, 7))
    assert lying(client)["Apple:old"] == [0, "Apple:old", 7, *[x - 0 for x in middle((5, 7))], 1]
    assert "Plum:1" not in lying(client)
    client.walk(1, 0)
    harness.run(1000)
    assert client.model.found == [("Apple:old", 7)]


# What players do.


def test_a_player_whose_connection_is_lost_touches_nothing_until_it_is_back(orchard):
    harness = orchard()
    game = harness.game_of()
    other = at(harness, "b", (9, 9))
    client = at(harness, "a", (8, 8))
    client.walk(-1, 0)
    client.walk(0, 0)
    token = client.model.token
    client.connection.lose()
    harness.run(100)
    tile = other.at(client)[0] // UNIT, other.at(client)[1] // UNIT
    harness.node.play.items.put([Egg(tile)])
    harness.run(1000)
    assert game.touched == []
    harness.client().hello("a", (60, 40), token)
    harness.run(100)
    assert [who for _, who, _ in game.touched] == [client.id]


def test_a_store_that_is_away_is_told_to_the_player_and_harms_nobody(orchard, caplog):
    harness = orchard()
    game, store_client = harness.game_of(), harness.node.store_client
    client = at(harness, "a", (3, 0))
    store, store_client.store = store_client.store, Broken()
    client.walk(1, 0)
    harness.run(1000)
    assert len(game.touched) == 1 and client.model.errors == ["store"]
    assert harness.loop.stats["hooks_failed"] == 1 and "on_touch" not in caplog.text
    store_client.store = store
    client.walk(-1, 0)
    harness.run(1500)
    assert len(client.model.found) == 1


def test_a_thing_that_was_taken_already_is_read_again(orchard):
    harness = orchard()
    client = at(harness, "a", (3, 0))
    # Another program has taken the thing, and tells nobody.
    harness.node.store_client.store.take(ORCHARD, "Apple:0:0:0")
    assert "Apple:0:0:0" in lying(client)
    client.walk(1, 0)
    harness.run(1000)
    assert client.model.found == [] and "Apple:0:0:0" not in lying(client)


def test_a_player_that_is_not_here_any_more_takes_nothing(orchard, caplog):
    class Slow(Orchard):
        def on_touch(self, me, thing):
            resident = self.node.residents.by_id[me.id]
            self.node.residents.detach_and_stop(resident)
            self.node.residents.leave(resident)
            self.touched.append((0, me.id, thing))
            me.take(thing)

    harness = orchard(play=Slow)
    client = at(harness, "a", (5, 5))
    walker = at(harness, "b", (3, 0))
    walker.walk(1, 0)
    harness.run(500)
    assert len(harness.game_of().touched) == 1 and "Apple:0:0:0" in lying(client)
    # The game has not failed.
    assert harness.loop.stats["hooks_failed"] == 0 and "failed" not in caplog.text


def test_nothing_that_the_event_loop_calls_may_wait_for_the_store():
    store_client, asked, told = StoreClient(Broken(), Loop(Counter())), [], []

    def ask():
        try:
            store_client.wait(lambda store: asked.append(store))
        except RuntimeError as error:
            told.append(str(error))

    gevent.get_hub().loop.run_callback(ask)
    gevent.sleep(0.01)
    assert asked == [] and "may not wait" in told[0]
    with pytest.raises(StoreUnavailable):
        store_client.wait(lambda store: store.count("a"))
    # An error of the caller is not taken for an error of the store.
    with pytest.raises(ZeroDivisionError):
        store_client.wait(lambda _store: 1 // 0)


def test_one_object_of_the_game_may_lie_at_several_times(orchard):
    prize = Egg((9, 9), note="prize")

    class Again(Orchard):
        @action(rate=10, burst=20)
        def prize(self, me):
            me.put(prize)

    harness = orchard(play=Again)
    client = at(harness, "a", (9, 9))
    for taken in (1, 2, 3):
        client.send(35, "prize", [])
        harness.run(100)
        assert len(set(client.model.found)) == taken and prize.id == ""


def test_things_that_are_too_many_for_one_message_are_told_in_several(orchard):
    class Book(Thing, reach=0.5):
        words = text(0, 2000)

    class Library(Orchard):
        things = [*Orchard.things, Book]

        @action(rate=10, burst=20)
        def shelve(self, me):
            column, row = me.tile
            me.put(
                *[Book((column + 2, row), words="\U0001f98a" * 2000) for _ in range(THINGS_A_STEP)]
            )

    harness = orchard(play=Library, nodes=2)
    a, b = two(harness, (3, 7))
    a.send(35, "shelve", [])
    harness.run(500)
    for client in (a, b):
        assert len([thing for thing in lying(client).values() if thing[0] == 2]) == THINGS_A_STEP


def test_a_thing_whose_time_has_come_is_let_lie_and_told_without_another_look(orchard):
    harness = orchard()
    harness.game_of().takes = False
    client = at(harness, "a", (20, 20))
    store, looked, egg = harness.node.store_client.store, [], Egg((22, 20))
    egg.after = 1000
    harness.node.play.items.put([egg])
    group = store.group
    store.group = lambda *squares: looked.append(squares) or group(*squares)
    harness.run(3000)
    assert [id for id in lying(client) if id.startswith("Egg")]
    assert ORCHARD not in [queue for queue, *_ in looked]


def test_a_thing_that_waits_and_that_two_nodes_claimed_lies_there_once(orchard):
    harness = orchard(nodes=2)
    first, second = harness.hosts
    clients = two(harness, (20, 20))
    store = first.node.store_client.store
    for tile in ((20, 20), (20, 24)):
        egg = Egg(tile)
        egg.after = 1000
        first.node.play.items.put([egg])
    # The first node has claimed both things, and its lease ends before it continues.
    late = []
    done = first.node.store_client.ask
    first.node.store_client.ask = lambda *arguments: late.append(arguments)
    second.node.store_client.store.claim = lambda *_: []
    harness.run(1500)
    first.node.store_client.ask = done
    claim = [arguments for arguments in late if arguments[1].__name__ == "_claimed"][-1]
    claimed = claim[0](store)
    assert len(claimed) == 2
    del second.node.store_client.store.claim
    [one] = [some.id for some in claimed if msgpack.unpackb(some.body)[2] == 20]
    waits = [item for item in store.each(ORCHARD) if item.id == one][0]
    assert store.take(ORCHARD, one, [(ORCHARD, waits._replace(group="", delay=0))]) is not None
    harness.run(3000)
    found = [thing for client in clients for thing in client.model.found]
    assert [id for id, _version in found] == [one]
    claim[1](claimed)
    harness.run(2000)
    assert [thing for client in clients for thing in client.model.found] == found
    assert one not in [item.id for item in store.each(ORCHARD)]


def test_a_node_that_does_not_know_a_kind_leaves_what_waits_to_others(orchard):
    harness = orchard()
    store = harness.node.store_client.store
    plum = Item("Plum:1", 0, "", msgpack.packb([7, 5, 8, True, {}]))
    store.put(ORCHARD, [plum])
    at(harness, "a", (20, 20))
    harness.run(8000)
    assert [item.body for item in store.each(ORCHARD) if item.id == "Plum:1"] == [plum.body]


class Pear(Thing):
    """No game has it."""


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda plot: Pear((0, 0)), "do not list this class"),
        (lambda plot: Apple((64 * plot[0] + 40, 64 * plot[1])), "was planted for plot ("),
    ],
    ids=["a thing of another game", "a thing in another plot"],
)
def test_a_thing_that_may_not_be_planted_is_an_error_and_nothing_lies_there(
    orchard, caplog, wrong, says
):
    class Wrong(Orchard):
        def plant(self, plot):
            return [*super().plant(plot), wrong(plot)]

    harness = orchard(play=Wrong)
    client = at(harness, "a", (0, 3))
    assert lying(client) == {} and says in caplog.text
    assert harness.loop.stats["hooks_failed"] > 0


def test_many_looks_at_a_board_are_one_question_to_the_store(orchard):
    harness = orchard()
    boards, asked = harness.node.play.boards, []
    gate = gevent.event.Event()

    def slow(store, board, most):
        asked.append(board)
        gate.wait()
        return [1]

    boards._read = slow
    boards._store_client.wait = lambda operation: operation(None)
    looking = [gevent.spawn(boards.top, "apples", 5) for _ in range(20)]
    gevent.sleep(0)
    gate.set()
    gevent.joinall(looking)
    assert asked == ["apples"] and {tuple(one.value) for one in looking} == {(1,)}
    looking[0].value.clear()
    harness.run(TOP_KEPT_MS - 10)
    assert boards.top("apples", 5) == [1] and asked == ["apples"]
    harness.run(20)
    assert boards.top("apples", 5) == [1] and asked == ["apples"] * 2


# When somebody is near.


def test_things_of_a_square_that_comes_into_view_on_the_way_are_touched(orchard):
    harness = orchard()
    harness.game_of().takes = False
    walker = at(harness, "a", (0, 0), size=(8, 8))
    walker.walk(1, 0)
    harness.run(200)
    # Another player lets the node know what lies there before the walker holds the square.
    at(harness, "b", (22, 3), size=(8, 8))
    harness.run(3000)
    touched = [thing.tile for _, who, thing in harness.game_of().touched if who == walker.id]
    assert touched == [(5, 0), (20, 0)]


@pytest.mark.parametrize("late", [0, 1100])
def test_a_thing_that_appears_ahead_beyond_a_border_is_touched_in_passing(orchard, late):
    harness = orchard()
    harness.game_of().takes = False
    other = at(harness, "b", (17, 9))
    walker = at(harness, "a", (8, 9))
    walker.walk(1, 0)
    harness.run(400)
    other.send(35, "lay", ["ahead"])
    harness.run(500)
    # The loop may be late, so that the walker has passed the thing before it is seen to cross.
    harness.clock.time += late
    harness.run(2000)
    [touched] = [one for one in harness.game_of().touched if one[1] == walker.id]
    assert touched[2].tile == (17, 9)


def test_only_who_may_come_to_a_new_thing_is_looked_at_and_nobody_for_one_that_is_gone(orchard):
    harness, looked = orchard(), []
    game, node = harness.game_of(), harness.node

    def certain(resident):
        looked.append(resident.id)
        return node.movement.certain_until(resident)

    node.movement.touches = Touches(
        node.loop,
        node.grid,
        node.outbox.players_by_square,
        node.subscriptions.by_square,
        node.residents.by_id,
        {number: round(kind.reach * UNIT) for number, kind in enumerate(game.things)},
        node.play._touched,
        certain,
    )
    for name, tile in (("b", (9, 6)), ("c", (11, 8)), ("d", (13, 6)), ("e", (11, 4))):
        at(harness, name, tile)
    client = at(harness, "a", (11, 6))
    looked.clear()
    client.send(35, "lay", ["new"])
    harness.run(1000)
    [(_, _, egg)] = game.touched
    assert egg.note == "new" and egg.id not in lying(client)
    # When it begins to lie there, and when the moment of the touch has come.
    assert looked == [client.id] * 2


@pytest.mark.parametrize("what", ["intent", "view", "thing"])
def test_a_thing_that_was_passed_while_the_node_was_late_is_touched(orchard, what):
    harness = orchard()
    harness.game_of().takes = False
    other = at(harness, "b", (2, 9))
    walker = at(harness, "a", (3, 0))
    walker.walk(1, 0)
    harness.run(100)
    # The loop is late, so the messages of the client are read first.
    harness.clock.time += 900
    if what == "intent":
        walker.walk(0, 1)
    elif what == "view":
        walker.send(5, 30, 30)
    else:
        other.send(35, "lay", ["late"])
    harness.run(1000)
    touched = [thing.tile for _, who, thing in harness.game_of().touched if who == walker.id]
    assert touched[:1] == [(5, 0)]


@pytest.mark.parametrize("age", [0, 100, 150, 200])
def test_a_late_intent_lets_nobody_touch_a_thing_twice(orchard, age):
    harness = orchard()
    harness.game_of().takes = False
    client = at(harness, "a", (2, 0))
    client.walk(1, 0)
    harness.run(480)
    client.walk(1, 0, age=age)
    harness.run(2000)
    assert [thing.tile for *_, thing in harness.game_of().touched] == [(5, 0)]


def test_things_where_nobody_is_any_more_are_forgotten(orchard):
    harness = orchard()
    client = at(harness, "a", (0, 3))
    host, touches = client.host.node, client.host.node.movement.touches
    known = [square for square, heard in host.subscriptions.by_square.items() if heard.things.any]
    assert sorted(touches._there) == sorted(known) and known
    host.movement.put(host.residents.by_id[client.id], middle((5000, 5000)))
    harness.run(5000)
    assert not set(known) & touches._there.keys()
    assert touches._there and touches._there.keys() <= host.subscriptions.by_square.keys()


def test_a_touch_that_finds_the_line_full_comes_later(orchard):
    harness = orchard()
    game, lines = harness.game_of(), harness.node.play.hook_queues
    client = at(harness, "a", (3, 0))
    full, lines.full = lines.full, lambda player: True
    client.go(*middle((5, 0)))
    harness.run(1500)
    assert game.touched == [] and harness.loop.stats["hooks_left_out"] > 1
    lines.full = full
    harness.run(1500)
    assert len(game.touched) == 1 and client.model.found


# What a game declares.


def test_a_part_is_told_of_its_own_things_only_and_what_it_plants_lies_beside_others(orchard):
    class Mushroom(Thing, reach=2):
        pass

    class Mushrooms(Part):
        things = [Mushroom]

        def plant(self, plot):
            column, row = (64 * at for at in plot)
            return [Mushroom((column + 10, row)), Apple((column + 9, row + 3))]

        def on_touch(self, me, thing):
            self.game.eaten.append(thing)

    class Wood(Orchard):
        parts = [Mushrooms]
        eaten: list[Thing] = []

    harness = orchard(play=Wood)
    client = at(harness, "a", (0, 0))
    assert lying(client)["Mushroom:0:0:0"][0] == 2
    assert sum(id.startswith("Apple:0:0:") for id in lying(client)) == 3
    client.walk(1, 0)
    harness.run(2500)
    assert [type(one[2]) for one in harness.game_of().touched] == [Apple]
    assert [type(one) for one in Wood.eaten] == [Mushroom]

    class Two(Orchard):
        parts = [type("Other", (Part,), {"things": [Apple]})]

    with pytest.raises(ValueError, match="two classes of things called Apple"):
        Play(harness.node, Two)


@pytest.mark.parametrize(
    ("name", "more", "fields", "says"),
    [
        ("Apple" * 5, {}, {}, "too long"),
        ("Apple", {"reach": 0}, {}, "reach of Apple"),
        ("Apple", {"reach": 7}, {}, "reach of Apple"),
        ("Apple", {"reach": "far"}, {}, "reach of Apple"),
        ("Apple", {"lasts": 0.5}, {}, "must be 1 second or more"),
        ("Apple", {"lasts": "long"}, {}, "must be 1 second or more"),
        ("Apple", {}, {"version": number(0, 1)}, "cannot be called version"),
        ("Apple", {}, {"again": flag()}, "cannot be called again"),
        ("Apple", {}, {"tile": flag()}, "cannot be called tile"),
        ("Apple", {}, {"after": flag()}, "cannot be called after"),
        ("Apple", {}, {"_set": flag()}, "cannot be called _set"),
        ("Apple", {"per_square": 0}, {}, "of Apple must be 1 to 100"),
        ("Apple", {"per_owner": 101}, {}, "of Apple must be 1 to 100"),
        ("Apple", {}, {"a": text(0, 1500), "b": text(0, 501)}, "Apple is too large"),
        ("Apple", {}, {f"f{n}": flag() for n in range(17)}, "Apple is too large"),
    ],
)
def test_an_invalid_kind_is_refused_where_it_is_declared(name, more, fields, says):
    with pytest.raises(ValueError, match=says):
        type(name, (Thing,), fields, **more)


@pytest.mark.parametrize(
    ("bases", "fields", "says"),
    [
        # The class would lose its fields.
        ((Apple,), {}, "must inherit from Thing, Mover, Event or Record itself"),
        *(
            ((Engine,), {what: wrong}, f"{what} must be a list of classes")
            for what in ("things", "events")
            for wrong in (Apple, [Orchard], [3], "Apple")
        ),
    ],
)
def test_an_invalid_class_is_refused_where_it_is_declared(bases, fields, says):
    with pytest.raises(ValueError, match=says):
        type("Bad", bases, fields)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Apple((0.5, 0)), "two whole numbers"),
        (lambda: Apple([0, 0]), "two whole numbers"),
        (lambda: Apple((2**31, 0)), "2\\^31"),
        (lambda: Apple((0, 0), colour=8), "Apple: colour must be"),
        (lambda: Apple((0, 0), colour=True), "Apple: colour must be"),
        # Texts are cleaned like those of a chat.
        *(
            (lambda bad=bad: Egg((0, 0), note=bad), "Egg: note must be")
            for bad in ("x" * 21, "\u202e", "a\x07", "\ud800")
        ),
        (lambda: Apple((0, 0), weight=1), "no field weight"),
        (lambda: Apple((0, 0)).again(after=-1), "seconds, not -1"),
        (lambda: Apple((0, 0)).again(after="soon"), "seconds, not 'soon'"),
        (lambda: Apple((0, 0)).again(colour=0), "Apple: colour must be"),
    ],
)
def test_an_invalid_thing_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
    assert Egg((0, 0), note="  a   b  ").note == "a b"


def test_a_thing_that_cannot_be_taken_or_put_is_refused_and_nothing_happens(orchard):
    lay = orchard().node.play.items
    with pytest.raises(ValueError, match="does not lie anywhere"):
        lay.take(Apple((0, 0)), [], [])
    with pytest.raises(ValueError, match="do not list"):
        lay.put([Thing((0, 0))])
    with pytest.raises(ValueError, match=f"at most {THINGS_A_STEP} things"):
        lay.put([Apple((0, 0))] * (THINGS_A_STEP + 1))
    known = Apple((0, 0))
    known.id = "Apple:0:0:0"
    with pytest.raises(ValueError, match="taken first"):
        lay.put([known])
    for then in ([known, known.again((1, 1))], [known.again(), known.again((1, 1))]):
        with pytest.raises(ValueError, match="cannot lie in two places"):
            lay.take(known, then, [])
    with pytest.raises(ValueError, match="points must be whole numbers"):
        lay.take(known, [], [Score("one", "me", 2**31)])


def test_a_step_gives_all_of_its_points_or_none(orchard):
    harness = orchard()
    at(harness, "a", (2, 2))
    lay, store = harness.node.play.items, harness.node.store_client.store
    [apple] = [thing for thing in here(harness) if thing.id == "Apple:0:0:0"]
    points = [Score("one", "me", 1), Score("two", "me", 5)]
    apple.version += 1
    assert lay.take(apple, [], points) is False and store.top("one", 1) == []
    apple.version -= 1
    assert lay.take(apple, [], points) is True
    assert store.top("one", 1) == [("me", 1)] and store.top("two", 1) == [("me", 5)]


# What players leave, and change.


class Jar(Thing, reach=1, lasts=20, per_square=2, per_owner=3):
    filled = number(0, 9)
    owner = text(0, 20)
    _by = text(0, 60)

    def fuller(self, name):
        if self.filled == 9:
            raise Refused("brimming", "it is full")
        return self.again(filled=self.filled + 1, _by=f"{self._by} {name}")


class Pantry(Engine):
    ground = plain()
    things = [Jar]
    how = {
        "fill": lambda me: lambda jar: jar.fuller(me.name),
        "move": lambda me: lambda jar: jar.again((0, 0)),
        "lose": lambda me: lambda jar: None,
        "hide": lambda me: lambda jar: jar.again(after=60),
        "same": lambda me: lambda jar: jar,
        "wait": lambda me: lambda jar: me.change(jar, Pantry.how["fill"](me)),
    }

    @action(rate=10, burst=50)
    def put(self, me):
        me.put(Jar(me.tile, owner=me.name, _by="secret"))

    @action(rate=10, burst=50)
    def change(self, me, how: str = text(1, 9)):
        for jar in self.things_in(me.square):
            after = me.change(jar, self.how[how](me))
            me.send("jar", after and after.filled)

    @action(rate=10, burst=50)
    def eat(self, me):
        me.take(self.things_in(me.square)[0])


def asks(harness, client, *asked):
    """Let a client ask for actions, one after the other; return the errors that it got."""
    before = len(client.model.errors)
    for name, *fields in asked:
        client.send(35, name, fields)
        harness.run(100)
    return client.model.errors[before:]


def test_the_things_of_a_kind_in_a_square_and_of_a_person_are_limited(orchard):
    harness = orchard(nodes=2, play=Pantry)
    a, b = two(harness, (3, 7), keyed)
    assert asks(harness, at(harness, "nobody", (3, 7)), ["put"]) == ["key"]
    assert asks(harness, a, ["put"]) == asks(harness, b, ["put"]) == []
    assert asks(harness, a, ["put"]) == asks(harness, b, ["put"]) == ["room"]
    assert len(lying(a)) == 2 and lying(b) == lying(a)
    # It still has its two other places: the put refused with "room" has used none.
    for column in (20, 36):
        assert asks(harness, keyed(harness, "a", (column, 7)), ["put"]) == []
    far = keyed(harness, "a", (52, 7))
    assert asks(harness, far, ["put"]) == ["most"]
    # Its place is free at once when anybody takes the thing, and also after it lay too long.
    assert asks(harness, b, ["eat"]) == asks(harness, far, ["put"]) == []
    harness.run(21_000)
    assert lying(a) == {}
    harness.run(QUOTA_CHECK_MS)
    store = harness.node.store_client.store
    assert [item.id for item in store.each(ORCHARD) if not item.id[0].isdigit()] == []


def test_a_thing_that_two_nodes_change_at_once_is_changed_twice_and_hides_its_hidden_field(orchard):
    harness = orchard(nodes=2, play=Pantry)
    a, b = two(harness, (3, 7), keyed)
    asks(harness, a, ["put"])
    for client in (a, b):
        client.send(35, "change", ["fill"])
    harness.run(100)
    [jar] = lying(a).values()
    assert lying(b) == lying(a) and jar[5:] == [2, "a"]
    assert (a.model.messages["jar"], b.model.messages["jar"]) == ([1], [2])
    [item] = [item for item in harness.node.store_client.store.each(ORCHARD) if item.id == jar[1]]
    assert msgpack.unpackb(item.body)[4]["_by"] == "secret a b"
    # A changed jar lies there for as long as a new one.
    harness.run(15_000)
    assert asks(harness, b, ["change", "fill"]) == []
    harness.run(15_000)
    assert jar[1] in lying(a)


def test_a_thing_that_cannot_be_changed_stays_as_it_is(orchard, caplog):
    harness = orchard(play=Pantry)
    a = keyed(harness, "a", (3, 7))
    asks(harness, a, ["put"], *[["change", "fill"]] * 9)
    assert asks(harness, a, ["change", "fill"]) == ["brimming"] and not caplog.records
    for how in ("move", "lose", "hide", "same", "wait"):
        assert asks(harness, a, ["change", how]) == ["failed"]
    # Repeated errors of one kind and line are not all in the log.
    assert [each.exc_info[0] for each in caplog.records] == [ValueError, RuntimeError]
    [jar] = lying(a).values()
    assert jar[5] == 9
    # The jar is gone, but this node has not heard of that.
    store = harness.node.store_client.store
    store.take(ORCHARD, jar[1])
    assert asks(harness, a, ["change", "fill"]) == [] and a.model.messages["jar"] == [None]
    harness.run(100)
    assert lying(a) == {}


def test_a_text_that_cannot_be_shown_is_not_read(orchard):
    harness = orchard(nodes=2, play=Pantry)
    a = at(harness, "a", (3, 7))
    store = harness.node.store_client.store
    body = msgpack.packb([5, 3, 7, False, {"filled": 3, "owner": "\n", "_by": ""}])
    store.put(ORCHARD, [Item("Jar:0,0,0", 10**6, "0:0", body)])
    harness.run(SQUARE_AGAIN_MS + 1000)
    [jar] = harness.game_of().things_in((0, 0))
    assert (jar.filled, jar.owner) == (3, "") and asks(harness, a, ["change", "fill"]) == []


class Shelf(Pantry):
    """A test says what happens to jars."""

    job = None

    @action(rate=100, burst=1000)
    def move(self, me):
        Shelf.result = self.job(me)


def told(harness, client, job):
    """Let a game do something for a player; return the result, or the last error."""
    Shelf.result, Shelf.job = None, lambda _self, me: job(me)
    errors = asks(harness, client, ["move"])
    return errors[-1] if errors else Shelf.result


def places(harness):
    return [
        item.id for item in harness.node.store_client.store.each(ORCHARD) if item.id[:3] == "of "
    ]


def test_the_places_of_a_taken_thing_are_free_at_once_whoever_has_changed_it(orchard):
    harness = orchard(play=Shelf)
    a = keyed(harness, "a", (3, 7))
    told(harness, a, lambda me: me.put(Jar((5, 5))))
    assert len(places(harness)) == 2

    def job(me):
        now = me.change(here(harness)[0], lambda jar: jar.again(filled=1))
        return me.take(now)

    assert told(harness, a, job) is True and places(harness) == []
    # The place of a thing is free when its time is over, not only minutes later.
    for _ in range(2):
        assert told(harness, a, lambda me: me.put(Jar((5, 5)), Jar((6, 6)))) is None
        harness.run(20_000 + GROW_EVERY_MS)
        assert lying(a) == {} and places(harness) == []


def test_a_thing_that_is_changed_just_before_its_end_keeps_its_places(orchard):
    harness = orchard(play=Shelf)
    a = keyed(harness, "a", (3, 7))
    told(harness, a, lambda me: me.put(Jar((5, 5))))
    [jar], store = here(harness), harness.node.store_client.store
    done = store.done

    def late(queue, ids, then=()):
        # The node stands still after it has claimed the jar, and another one changes it.
        if ids == [jar.id]:
            [item] = store.group(ORCHARD, "0:0")
            store.take(ORCHARD, jar.id, [(ORCHARD, item._replace(delay=20_000))])
        return done(queue, ids, then)

    store.done = late
    harness.run(20_000 + GROW_EVERY_MS)
    assert list(lying(a)) == [jar.id] and len(places(harness)) == 2


def test_a_place_that_a_dying_node_has_not_freed_is_free_within_a_day(orchard, monkeypatch):
    # For most of a day nothing happens.
    assert QUOTA_AGAIN_MS == 24 * 3600 * 1000
    monkeypatch.setattr("flatlands.server.storage.upkeep.QUOTA_AGAIN_MS", 3 * UNUSED_QUOTA_MS)

    class Stone(Thing, per_owner=1):
        """It lies there for good."""

    class Rock(Shelf):
        things = [Stone]

    harness = orchard(play=Rock)
    a = keyed(harness, "a", (3, 7))
    told(harness, a, lambda me: me.put(Stone((5, 5))))
    harness.run(UNUSED_QUOTA_MS + 10_000)
    assert told(harness, a, lambda me: me.put(Stone((5, 5)))) == "most"
    harness.node.store_client.store.take(ORCHARD, here(harness)[0].id)
    harness.run(SQUARE_AGAIN_MS)
    assert told(harness, a, lambda me: me.put(Stone((5, 5)))) == "most"
    harness.run(3 * UNUSED_QUOTA_MS)
    assert told(harness, a, lambda me: me.put(Stone((5, 5)))) is None


def test_a_thing_with_limits_or_a_hidden_field_lies_only_where_it_was_left(orchard, caplog):
    class Gold(Thing):
        _ounces = number(0, 9)

    class Mine(Shelf):
        things = [Jar, Gold]

    harness = orchard(play=Mine)
    a = keyed(harness, "a", (3, 7))
    told(harness, a, lambda me: me.put(Jar((5, 5)), Gold((6, 6), _ounces=3)))
    for thing in here(harness):
        then = [thing.again()]
        assert told(harness, a, lambda me, it=thing, then=then: me.take(it, then=then)) == "failed"
    assert len(lying(a)) == 2 and {record.exc_info[0] for record in caplog.records} == {ValueError}
    [gold] = [thing for thing in here(harness) if isinstance(thing, Gold)]
    assert told(harness, a, lambda me: me.change(gold, lambda gold: gold.again())) is not None


def test_things_that_were_left_before_one_was_refused_are_in_the_log(orchard, caplog):
    caplog.set_level("INFO")
    harness = orchard(play=Shelf)
    a = keyed(harness, "a", (3, 7))
    jars = [Jar((5, 5), owner="rude") for _ in range(3)]
    assert told(harness, a, lambda me: me.put(*jars)) == "room"
    logged = [record.fields["id"] for record in caplog.records if record.getMessage() == "thing"]
    assert sorted(logged) == sorted(lying(a)) and len(logged) == 2


def test_a_thing_that_is_left_where_the_clock_is_behind_lies_there_all_the_same(orchard):
    harness = orchard(nodes=2, play=Shelf, skew=-5000)
    a, b = two(harness, (3, 7), keyed)
    told(harness, a, lambda me: me.put(Jar((5, 5)), Jar((5, 6))))
    for _ in range(2):
        assert told(harness, a, lambda me: me.take(here(harness)[0])) is True
    assert told(harness, b, lambda me: me.put(Jar((5, 5)))) is None
    assert len(lying(a)) == 1 and lying(a) == lying(b)


def test_nobody_leaves_a_thing_where_too_many_lie_already(orchard, monkeypatch):
    monkeypatch.setattr("flatlands.server.storage.items.CROWDED", 5)
    harness = orchard()
    harness.game_of().takes = False
    client = at(harness, "a", (9, 9))
    assert asks(harness, client, *[["lay", "egg"]] * 5) == ["room"]


def test_a_name_that_an_operator_clears_is_cleared_where_it_lies_and_where_it_waits(orchard):
    harness = orchard(play=Pantry)
    a = keyed(harness, "Bad", (3, 7))
    asks(harness, a, ["put"])
    waits = Jar((4, 7), owner="Bad")
    waits.after = 5000
    harness.node.play.items.put([waits], "another")
    harness.node.play.content.clear_name("Bad")
    harness.run(100)
    assert [jar[6] for jar in lying(a).values()] == ["?"]
    harness.run(6000)
    assert [jar[6] for jar in lying(a).values()] == ["?", "?"]


@pytest.mark.parametrize("order", ["clear", "clear_name"])
def test_what_an_operator_cleared_before_the_store_failed_is_shown_to_all(
    orchard, monkeypatch, order
):
    harness = orchard(play=Pantry)
    a = keyed(harness, "Bad", (3, 7))
    asks(harness, a, ["put"], ["put"])
    before = lying(a)
    store = harness.node.store_client.store
    take, taken = store.take, []

    def fail_after_one(queue, id, *rest, **more):
        if taken and not id.startswith(QUOTA_PREFIX):
            raise StoreError("the disk is full")
        taken.append(id)
        return take(queue, id, *rest, **more)

    monkeypatch.setattr(store, "take", fail_after_one)
    with pytest.raises(StoreUnavailable):
        getattr(harness.node.play.content, order)((0, 0) if order == "clear" else "Bad")
    harness.run(100)
    shown = [jar for id, jar in lying(a).items() if jar == before[id]]
    assert len(before) == 2 and len(shown) == 1
    assert sorted(row[6] for row in lying(a).values() if row not in shown) == (
        [] if order == "clear" else ["?"]
    )


def test_a_touch_is_at_the_first_ms_at_which_the_thing_is_within_reach():
    chance = random.Random(5)
    near = 0
    for _ in range(2000):
        x, y, reach = chance.randint(-4000, 4000), chance.randint(-4000, 4000), 1024
        dx, dy = chance.randint(-9000, 9000), chance.randint(-9000, 9000)
        lasts = math.ceil(math.hypot(dx, dy) * 1000 / SPEED) or 1
        found = _comes_within(x, y, dx, dy, lasts, reach)
        track = Track(x, y, dx, dy, 0, lasts)
        within = [t for t in range(lasts + 1) if math.hypot(*track.at(t)) <= reach]
        near += bool(within)
        if found == NEVER_MS:
            # Positions are whole units, so at the rim they may be a little nearer.
            assert not within or min(math.hypot(*track.at(t)) for t in within) > reach - 2
        else:
            assert not within or found <= within[0] + 1
            assert math.hypot(*track.at(found)) <= reach + 2
    assert near > 300


class Carried(Engine):
    """A player that leaves the game leaves an egg where it was."""

    ground, things = plain(), [Egg]

    def on_leave(self, me):
        me.put(Egg(me.tile))


@pytest.mark.parametrize("moved", [False, True])
def test_a_player_that_has_left_the_game_may_leave_the_thing_that_it_carried(moved):
    clock = Clock()
    harness = Harness(play=Carried, clock=clock, stores=shared_stores(clock), ready=True)
    a, b = (harness.place(name, (0, 0)) for name in "ab")
    if moved:
        a.walk(1, 0)
    harness.run(1000)
    x, y = a.at()
    a.connection.lose(1000)
    harness.run(3000)
    [egg] = [thing for things in b.model.things.values() for thing in things]
    assert (egg[3] // UNIT, egg[4] // UNIT) == (x // UNIT, y // UNIT)
