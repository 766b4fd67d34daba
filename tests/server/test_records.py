"""Records of a game: in the store by an id, changed by all, lost by none; methods that may wait."""

from collections import Counter
from itertools import pairwise

import gevent
import pytest
from gevent import GreenletExit

from flatlands import (
    Game,
    Part,
    Record,
    Records,
    Refused,
    StoreUnavailable,
    Thing,
    action,
    every,
    number,
    plain,
    text,
)
from flatlands.server.game import schedule
from flatlands.server.game.hooks import Hook
from flatlands.server.game.schedule import one_at_a_time
from flatlands.server.storage.upkeep import GROW_EVERY_MS, RECORDS_SWEEP_MS
from flatlands.testkit import World
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from tests.processes import PATIENCE
from tests.server.harness import Broken, Harness


class Run(Record):
    """The best run of a course."""

    ms = number(0, 10**6)
    name = text(0, 20)
    _way = text(0, 100)


class Line(Record, lasts=100):
    """A line in somebody's diary."""

    what = text(0, 20)


class Prize(Thing, reach=2):
    """It lies in the middle."""


class Runs(Game):
    """A page says that its player has run a course; the run counts if it was faster."""

    ground, things = plain(), [Prize]
    best, lines = Records(Run), Records(Line)

    def __init__(self, node, options=None, alone=True):
        super().__init__(node, options, alone)
        self.rounds = []

    def plant(self, plot):
        return [Prize((0, 0))] if plot == (0, 0) else []

    def on_touch(self, me, prize):
        if me.take(prize, [Line(f"{me.name}/prize", what="a prize"), prize.again(after=5)]):
            me.send("taken")

    @action(rate=100, burst=100)
    def run(self, me, ms: int = number(0, 10**6)):
        def faster(run):
            if run is not None and run.ms <= ms:
                raise Refused("slow", f"{run.name} was faster")
            return Run("course", ms=ms, name=me.name, _way="east")

        self.best.change("course", faster)

    @every(1, waits=True)
    def round(self):
        self.rounds.append(self.now())
        self.lines.all("nobody")


@pytest.fixture
def world():
    return World(Runs, nodes=2)


def test_an_author_reads_the_values_of_a_record_and_of_a_thing():
    assert repr(Run("east", ms=7, name="Ada")) == "Run('east', ms=7, name='Ada', _way='')"
    assert repr(Prize((3, -1))).startswith("Prize((3, -1), id=")


def test_of_all_changes_to_a_record_the_best_one_counts_at_all_nodes(world):
    ada, bob = world.join("Ada", 0), world.join("Bob", 1)
    ada.do("run", 300), bob.do("run", 200), ada.do("run", 250)
    world.run(1)
    here, there = (world.game(n).best.read("course") for n in (0, 1))
    assert (here.ms, here.name, here._way) == (there.ms, there.name, there._way)
    assert (here.ms, here.name, here._way) == (200, "Bob", "east")
    assert "Bob was faster" in ada.errors() and bob.errors() == []
    assert world.game(0).best.read("another") is None


def test_two_changes_to_a_record_at_the_same_time_both_count(world):
    one, other = (world.game(n).best for n in (0, 1))
    calls = []

    def add(run):
        calls.append(run and run.ms)
        if len(calls) == 1:
            # Another node is faster.
            other.change("sum", lambda run: Run("sum", ms=5))
        return Run("sum", ms=(run.ms if run else 0) + 1)

    # Code that runs within a step may not wait there: the store is asked directly.
    real = other._items._store_client
    other._items._store_client = type(
        "Now", (), {"wait": lambda self, operation: operation(real.store)}
    )()
    assert one.change("sum", add).ms == 6
    assert calls == [None, 5] and one.read("sum").ms == 6


def test_of_all_who_add_or_forget_a_record_exactly_one_succeeds(world):
    lines = [world.game(n).lines for n in (0, 1)]
    assert [some.add(Line("ada/1", what=f"at {n}")) for n, some in enumerate(lines)] == [1, 0]
    lines[0].add(Line("ada/2", what="second")), lines[0].add(Line("bob/1", what="another"))
    assert [one.what for one in lines[1].all("ada")] == ["at 0", "second"]
    found = lines[0].read("ada/1")
    assert [some.forget(found) for some in lines] == [True, False]
    assert [one.id for one in lines[0].all("ada")] == ["ada/2"]
    # A caller that has read an older version forgets nothing.
    old = lines[0].read("ada/2")
    lines[1].change("ada/2", lambda line: line.again(what="later"))
    assert not lines[0].forget(old) and lines[0].read("ada/2").what == "later"


def test_forgetting_a_record_adds_others_in_the_same_step_or_none(world):
    game, other = world.game(0), world.game(1)
    game.lines.add(Line("ada/1")), game.lines.add(Line("ada/2", what="there"))
    old = game.lines.read("ada/1")
    then = [Run("course", ms=3), Line("ada/2", what="another"), Line("ada/3")]
    assert game.lines.forget(old, then) and not other.lines.forget(old, [Line("ada/4")])
    assert other.best.read("course").ms == 3
    assert [(one.id, one.what) for one in other.lines.all("ada")] == [
        ("ada/2", "there"),
        ("ada/3", ""),
    ]
    with pytest.raises(ValueError, match="the game has no Records of this class"):
        game.lines.forget(old, [type("Odd", (Record,), {})("x")])


def test_a_thing_put_in_the_same_step_lies_there_for_everybody_and_only_once(world):
    ada = world.join("Ada", 1, at=(1, 1))
    world.run(1)
    game, other = world.game(0), world.game(1)
    game.lines.add(Line("ada/9", what="old"))
    old = game.lines.read("ada/9")
    prizes = [(one.x, one.y) for one in ada.things("Prize")]
    assert game.lines.forget(old, [Prize((9, 1)), Line("ada/10")])
    assert not other.lines.forget(old, [Prize((8, 1))])
    world.run(1)
    assert [(one.x, one.y) for one in ada.things("Prize")] == [*prizes, (9.5, 1.5)]
    assert game.lines.read("ada/9") is None and game.lines.read("ada/10")


def test_a_record_whose_time_is_over_is_gone(world):
    lines = world.game(0).lines
    lines.add(Line("ada/1")), lines.add(Line("ada/2"))
    world.run(60)
    lines.change("ada/2", lambda line: line.again(what="still"))
    world.run(50)
    assert [one.id for one in lines.all("ada")] == ["ada/2"] and lines.read("ada/1") is None
    assert lines.add(Line("ada/1")), "it is not there any more"
    world.run(100 + 2 * RECORDS_SWEEP_MS / 1000)
    store = world.game(0).node.store_client.store
    assert [store.count(one) for one in store.names().queues if "Line" in one] == []


def test_records_are_added_in_the_step_that_takes_a_thing_or_not_at_all(world):
    ada = world.join("Ada", 0, at=(0, 1))
    world.run(3)
    assert ada.message("taken") == []
    assert [one.what for one in world.game(1).lines.all("Ada")] == ["a prize"]
    world.run(8)
    # A player that already has such a record has taken the thing all the same.
    assert [one.what for one in world.game(1).lines.all("Ada")] == ["a prize"]
    ada.leave()
    bob = world.join("Bob", 1, at=(0, 0))
    world.run(8)
    assert bob.message("taken") == [] and len(world.game(0).lines.all("Bob")) == 1


def test_a_thing_that_is_gone_adds_no_record():
    clock = Clock()
    harness = Harness(nodes=1, stores=shared_stores(clock), clock=clock, play=Runs)
    client = harness.stand("Ada", (10 * 1024, 0), (60, 40))
    harness.run(GROW_EVERY_MS * 3)
    game, node = harness.game_of(), harness.node
    [prize] = [one for square in node.subscriptions.by_square for one in game.things_in(square)]
    me = game.me(node, node.residents.by_id[client.id])
    assert me.take(prize, [Line("x/1")]) and not me.take(prize, [Line("x/2")])
    assert [one.id for one in game.lines.all("x")] == ["x/1"]

    class Other(Record):
        pass

    with pytest.raises(ValueError, match="Other.*: the game has no Records of this class"):
        me.take(prize, [Other("x")])


def test_a_store_that_is_away_is_reported_and_records_of_newer_servers_are_left_alone(
    world, caplog
):
    game = world.game(0)
    game.best.add(Run("course", ms=3))

    class Newer(Runs):
        best = Records(type("Run", (Record,), {"ms": number(0, 10**7), "hat": number(0, 3)}))

    other = World(Newer)
    # It uses the same store from now on.
    mine, theirs = (one.node.play.items for one in (game, other.game(0)))
    theirs._store_client, theirs._fields._identity = mine._store_client, ""
    theirs.records = dict.fromkeys(theirs.records, mine.records[Run])
    assert other.game(0).best.change("course", lambda run: run.again(ms=5, hat=2)).hat == 2
    with pytest.raises(StoreUnavailable, match="a newer version of the game"):
        game.best.read("course")
    with pytest.raises(StoreUnavailable):
        game.best.change("course", lambda run: Run("course"))
    assert other.game(0).best.read("course").ms == 5
    # A hook that fails by that is in the log, and one that fails by the store is not once more.
    hook = Hook(game.node, "on_join", lambda: game.best.read("course"), waits=True)
    hook()
    assert "on_join of the game failed" in caplog.text and "a newer version" in caplog.text
    game.node.store_client.store = Broken()
    with pytest.raises(StoreUnavailable):
        game.best.read("course")
    caplog.clear()
    hook()
    assert "on_join" not in caplog.text


def test_a_name_that_an_operator_clears_is_cleared_in_records(world):
    game = world.game(0)
    game.best.add(Run("a", name="Rude")), game.best.add(Run("b", name="Ada"))
    game.node.play.content.clear_name("Rude")
    world.run(1)
    assert [game.best.read(name).name for name in "ab"] == ["?", "Ada"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Run(""), "the id of a record must have"),
        (lambda: Run("x" * 121), "the id of a record must have"),
        (lambda: Run("a\nb"), "the id of a record must have"),
        (lambda: Run("a", ms=-1), "Run: ms"),
        (lambda: Run("a", far=1), "Run has no field far"),
        (lambda: Records(Thing), "write Records"),
        (lambda: type("Short", (Record,), {}, lasts=0.5), "must be 1 second or more"),
        (lambda: type("Bad", (Record,), {"id": number(0, 1)}), "cannot be called id"),
        (lambda: type("Bad", (Part,), {"things": [], "side": Records(Run)}), "records cannot"),
    ],
)
def test_an_invalid_record_or_declaration_of_one_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_two_kinds_with_one_name_are_refused():
    class Twice(Game):
        things = [Prize]
        more = Records(type("Prize", (Record,), {}))

    with pytest.raises(ValueError, match="two classes called Prize in the store"):
        World(Twice)


def test_a_method_that_may_wait_is_called_as_often_as_declared(world):
    world.run(3.5)
    rounds = world.game(0).rounds
    assert {b - a for a, b in pairwise(rounds)} == {1000} and len(rounds) >= 3


def test_a_method_that_waits_is_not_called_again_before_it_has_ended():
    calls, ends = [], gevent.event.Event()

    def hook():
        calls.append(1)
        ends.wait()
        if len(calls) == 2:
            raise GreenletExit

    begin = one_at_a_time(gevent.spawn, hook)
    for ended, called in ((False, 1), (False, 1), (True, 2), (True, 3)):
        if ended:
            ends.set()
            gevent.sleep(0.001)
        begin()
        gevent.sleep(0.001)
        assert len(calls) == called


def test_a_method_that_fails_in_its_round_is_counted_and_called_again(caplog):
    class Fails(Game):
        calls = 0

        @every(1, waits=True)
        def fall(self):
            Fails.calls += 1
            raise Refused("no", "there is nobody to tell")

    clock = Clock()
    harness = Harness(nodes=1, stores=shared_stores(clock), clock=clock, play=Fails)
    harness.run(2500)
    assert Fails.calls == 2 == harness.node.stats["hooks_failed"]
    assert "fall of the game failed" in caplog.text


def test_a_method_for_each_player_is_called_at_that_players_node(monkeypatch):
    monkeypatch.setattr(schedule, "EACH_AT_ONCE", 2)

    class Counts(Runs):
        def __init__(self, *made):
            super().__init__(*made)
            self.called = Counter()

        @every(1, each=True)
        def count(self, players):
            assert 0 < len(players.ids) <= 2
            for id, tile, walks in zip(*players, strict=True):
                me = self.player(id)
                assert (tile, walks) == (me.tile, me.track.end > self.now())
                self.called[me.name] += 1

    world = World(Counts, nodes=2)
    players = [
        world.join(name, n % 2) for n, name in enumerate(["Ada", "Bob", "Cid", "Dan", "Eve"])
    ]
    players[4].leave()
    world.run(3)
    before = [Counter(world.game(n).called) for n in (0, 1)]
    world.run(4)
    assert [world.game(n).called - before[n] for n in (0, 1)] == [
        {"Ada": 4, "Cid": 4},
        {"Bob": 4, "Dan": 4},
    ]


def test_a_method_for_each_player_may_wait_for_the_store(monkeypatch):
    monkeypatch.setattr(schedule, "EACH_AT_ONCE", 2)

    class Counts(Runs):
        @every(1, each=True, waits=True)
        def count(self, players):
            assert 0 < len(players.ids) <= 2
            for name in [self.player(id).name for id in players.ids]:
                self.best.add(Run(name))
                self.best.change(name, lambda run: run.again(ms=run.ms + 1))

    world = World(Counts, nodes=2)
    for n, name in enumerate(("Ada", "Bob", "Cid", "Dan", "Eve", "Fay")):
        world.join(name, n % 2)
    world.run(5)
    assert {world.game(1).best.read(name).ms for name in ("Ada", "Bob", "Eve", "Fay")} == {5}


def wait_for(some, count):
    """Let greenlets run until a list has so many items."""
    with gevent.Timeout(PATIENCE):
        while len(some) < count:
            gevent.sleep(0.001)


def test_calls_for_each_player_that_wait_come_one_after_the_other(monkeypatch):
    monkeypatch.setattr(schedule, "EACH_AT_ONCE", 1)
    answers = gevent.event.Event()
    began, ended = [], []

    class Waits(Game):
        ground = plain()

        @every(1, each=True, waits=True)
        def look(self, players):
            [id] = players.ids
            began.append(id)
            answers.wait()
            ended.append(self.player(id))

    harness = Harness(play=Waits)
    harness.waits, harness.hosts[0].spawn = True, gevent.spawn
    ada, bob, cid = (harness.place(name, (0, 0)) for name in ("Ada", "Bob", "Cid"))
    harness.run(5000)
    assert (began, ended) == ([ada.id], [])
    for gone in (ada, bob):
        gone.connection.lose(1000)
    harness.run(1000)
    answers.set()
    wait_for(ended, 2)
    assert began == [ada.id, cid.id]
    assert ended == [None, harness.game_of().player(cid.id)]
    harness.run(1000)
    wait_for(ended, 3)
    assert began[2:] == [cid.id]


def test_hooks_come_less_often_while_the_node_is_late_and_moves_do_not():
    class Busy(Runs):
        def __init__(self, *made):
            super().__init__(*made)
            self.called = Counter()

        @every(1)
        def think(self):
            self.called["every"] += 1

        @every(0.1)
        def tick(self):
            self.called["tick"] += 1

        def on_step(self, me, tiles):
            self.called["on_step"] += 1
            self.called["tiles"] += len(tiles)

    harness = Harness(play=Busy)
    ada = harness.place("Ada", (0, 0))
    called = {}
    for lag in (0, 200):
        harness.loop.lag_ms = lag
        harness.run(6000)
        harness.game_of().called.clear()
        ada.walk(1, 0)
        harness.run(12_000)
        ada.walk(0, 0)
        harness.run(3000)
        called[lag] = dict(harness.game_of().called)
        assert ada.at()[0] == harness.node.residents.by_id[ada.id].track.x
    assert called[0]["every"] == 15 and called[200]["every"] == 5
    assert called[0]["tick"] == 150 and called[200]["tick"] == 30
    # Each tile is told of, in fewer calls. Twelve seconds may touch one tile more or less.
    assert abs(called[200]["tiles"] - called[0]["tiles"]) <= 1 and called[0]["tiles"] > 50
    assert called[200]["on_step"] < called[0]["on_step"] // 4
