"""flatlands.testkit as the author of a game uses it; tests/server/ uses the harness below it."""

import argparse
import re
import shutil
import socket
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from flatlands import Cells, Event, Me, Refused, Thing, action, flag, number, plain
from flatlands import Game as Engine
from flatlands.__main__ import TEMPLATE
from flatlands.server.game.loader import InvalidGame
from flatlands.server.squares.layers import Layers
from flatlands.stores.sqlite import SqliteStore
from flatlands.testkit import World
from flatlands.testkit.search import SHORT, Search
from flatlands.testkit.simulate import plan, play, rules_of, search
from tests.processes import ROOT, python
from tests.simulate.test_simulate import leave_things


class Coin(Thing, reach=1):
    worth = number(1, 9)


class Rich(Event):
    coins = number(0, 9)


class Walker(Me):
    coins, hidden = number(0, 9), flag()


class Hunt(Engine):
    ground, things, events, me = plain(), (Coin,), (Rich,), Walker
    floor, worn = Cells(), Cells("sum")

    def on_hello(self, guest, ticket):
        if ticket == "no":
            raise Refused("ticket", "you have none that counts")

    def plant(self, plot):
        return [Coin((3, 0), worth=2)] if plot == (0, 0) else []

    def on_step(self, me, tiles):
        self.floor[tiles] = me.id % 9 + 1
        self.worn[tiles] = 1

    def on_touch(self, me, coin):
        if me.take(coin, scores=[("coins", coin.worth)]):
            me.coins += coin.worth
            me.emit(Rich(coins=me.coins))

    @action(rate=5, burst=5)
    def count(self, me):
        me.send("coins", me.coins)


def test_a_player_sees_what_its_screen_is_told():
    world = World(Hunt, nodes=2, skew=3)
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(0, 2))
    assert [coin.values for coin in ada.things("Coin")] == [{"worth": 2}]
    assert (ada.node, bob.node, bob.tile) == (0, 1, (0, 2))
    ada.walk(1, 0)
    world.run(1)
    ada.walk(0, 0)
    world.run(5)
    world.check()
    assert bob.players[ada.id].values == {"coins": 2, "hidden": False}
    assert ("Rich", "Ada", {"coins": 2}) in [
        (what, who.name, more) for what, who, more in bob.events
    ]
    assert (
        not bob.things() and ada.tile[0] == 5 and bob.place(ada.id)[0] == pytest.approx(5.5, abs=1)
    )
    assert bob.tiles("floor") == ada.tiles("floor") and (4, 0) in bob.tiles("worn")
    ada.do("count")
    assert (ada.message("coins"), bob.message("coins"), ada.message("nothing")) == ([2], None, None)
    ada.say("Hello!")
    world.run(1)
    assert ("said", "Ada", "Hello!") in [(what, who.name, more) for what, who, more in bob.events]
    ada.do("dance")
    assert len(ada.errors()) == 1 and world.game(1).top("coins", 1)[0].points == 2


class Penny(Thing, reach=1):
    pass


class Newcomers(Engine):
    """Whoever begins here begins on a penny."""

    ground, things = plain(), [Penny]

    def __init__(self, *args):
        super().__init__(*args)
        self.owners = []

    def plant(self, plot):
        return [Penny((0, 0))] if plot == (0, 0) else []

    def on_join(self, me, back):
        self.owners.append(me.owner)

    def on_touch(self, me, penny):
        self.owners.append(me.owner)
        me.take(penny, scores=[("pennies", 1)])


def test_the_owner_of_a_newcomer_is_known_when_its_first_hook_is_called():
    world = World(Newcomers)
    ada = world.join("Ada", at=(0, 0))
    world.run(1)
    game = world.game()
    assert len(game.owners) == 2 and len(set(game.owners)) == 1 and game.owners[0]
    assert game.top("pennies", 1)[0].points == 1 and ada.playing


def test_a_game_finds_who_is_near_at_all_nodes():
    world = World(Hunt, nodes=2)
    for n, name in enumerate(("Ada", "Bob", "Cy", "Dan")):
        world.join(name, n % 2, at=(-15 + 6 * n**2, n))
    world.run(1)
    near = world.game(0).players_near

    def names(tile, reach):
        return [one.name for one in near(tile, reach)]

    assert names((-9, 1), 6) == ["Bob", "Ada"] and names((-9, 1), 5) == ["Bob"]
    assert names((-9, 1), 18) == ["Bob", "Ada", "Cy"] and near((-9, 1), 0)[0].tile == (-9, 1)
    assert near((-9, 1), 6)[0].values.coins == 0
    for wrong in (33, -1, 1.5):
        with pytest.raises(ValueError, match="reach must be 0 to 32 tiles"):
            near((0, 0), wrong)


def test_a_name_that_the_game_does_not_have_is_an_error_and_not_empty():
    ada = World(Hunt).join("Ada", at=(9, 9))
    assert ada.cell("floor", 0, 0) == 0 and ada.things("Coin") and ada.things()
    for what in (lambda: ada.cell("flor", 0, 0), lambda: ada.tiles("flor")):
        with pytest.raises(ValueError, match="no layer of cells 'flor': there are floor, worn"):
            what()
    with pytest.raises(ValueError, match="no kind of things 'Coins': there are Coin"):
        ada.things("Coins")


def test_a_player_that_may_not_play_is_told_why():
    world = World(Hunt)
    ada = world.join("Ada", ticket="no")
    assert ada.refused == "you have none that counts"
    with pytest.raises(KeyError):
        _ = ada.tile
    assert world.join("Bob", ticket="yes").refused == ""


@pytest.mark.parametrize("store", [True, False])
def test_games_and_rules_know_whether_there_is_a_store(store):
    class Asks(Hunt):
        def __init__(self, *args):
            super().__init__(*args)
            self.begun_with = self.has_store

    world = World(Asks, store=store)
    world.lose_store()
    assert world.has_store == world.game().has_store == world.game().begun_with == store


def test_what_a_bot_sees_is_printed_with_its_values():
    ada = World(Hunt).join("Ada", at=(0, 0))
    [coin] = ada.things("Coin")
    assert repr(coin) == f"Thing('Coin', {coin.id!r}, 3.5, 0.5, {{'worth': 2}})"
    assert repr(ada.me) == f"Player({ada.id}, 'Ada', {{'coins': 0, 'hidden': False}})"


class Blocking(Hunt):
    """Calls what blocks: in a hook that may not wait, or in one that may."""

    def on_step(self, me, tiles):
        self.blocked()

    def blocked(self):
        """Do nothing."""

    @action()
    def wait(self, me):
        self.blocked()


def connect():
    """Begin to connect."""
    with socket.socket() as some:
        some.settimeout(0)
        some.connect_ex(("127.0.0.1", 9))


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: time.sleep(0), "time.sleep"),
        (lambda: socket.getaddrinfo("127.0.0.1", 80), "socket.getaddrinfo"),
        (connect, "socket.connect"),
        pytest.param(
            lambda: subprocess.Popen(["/nowhere"]), "subprocess.Popen", marks=pytest.mark.process
        ),
    ],
    ids=["sleep", "name", "socket", "program"],
)
def test_a_hook_that_may_not_wait_fails_if_it_calls_what_blocks(monkeypatch, call, name):
    world = World(Blocking)
    ada = world.join("Ada", at=(0, 0))
    monkeypatch.setattr(Blocking, "blocked", lambda self: call())
    ada.walk(1, 0)
    with pytest.raises(RuntimeError, match=f"may not wait calls {name}, and everybody waits"):
        world.run(1)
    ada.walk(0, 0)
    monkeypatch.setattr(Blocking, "blocked", lambda self: time.sleep(0))
    ada.do("wait")
    assert ada.errors() == []


class Slow(Hunt):
    """Sends what happens before and after a question to the store."""

    def on_touch(self, me, coin):
        me.send("begun")
        me.send("taken", me.take(coin))


def test_while_links_are_slow_so_is_the_store():
    world = World(Slow)
    ada = world.join("Ada", at=(0, 0))
    world.delay(0.5)
    ada.go(3.5, 0.5)
    while ada.message("begun") is None:
        world.run(0.01)
    assert ada.message("taken") is None
    world.run(2)
    assert ada.message("taken") == [True]


def test_hooks_of_one_node_wait_for_each_other_at_a_board():
    class Board(Hunt):
        @action(rate=9, burst=9)
        def show(self, me):
            me.send("board", [one.name for one in self.top("coins", 3)])

    world = World(Board)
    players = [world.join(name, at=(0, n)) for n, name in enumerate(("Ada", "Bob", "Cy"))]
    world.run(1)
    world.delay(0.5)
    for player in players:
        player.do("show")
    assert [player.message("board") for player in players] == [None] * 3
    world.run(5)
    assert [player.message("board") for player in players] == [[[]]] * 3


def test_nodes_are_cut_killed_stopped_and_started():
    world = World(Hunt, nodes=2)
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(0, 3))
    world.cut(0, 1)
    ada.walk(1, 0)
    world.run(3)
    ada.walk(0, 0)
    world.run(1)
    with pytest.raises(AssertionError):
        world.check()
    world.heal()
    world.run(60)
    world.check()
    at = ada.tile
    world.kill(0)
    for what in (
        lambda: ada.back(0),
        lambda: ada.walk(1, 0),
        lambda: ada.tile,
        lambda: world.game(0),
    ):
        with pytest.raises(ValueError, match="node 0 is dead"):
            what()
    ada.back(world.start())
    world.run(5)
    assert (ada.node, ada.refused) == (2, "") and abs(ada.tile[0] - at[0]) <= 1
    for what in (lambda: world.kill(0), lambda: world.stop(0), lambda: world.cut(0, 2)):
        with pytest.raises(ValueError, match="node 0 is dead"):
            what()
    world.stop(1)
    bob.back(2)
    world.run(5)
    world.check()
    assert bob.tiles("floor") == ada.tiles("floor") != {}
    bob.lose()
    world.run(1)
    bob.back(2)
    bob.leave()
    world.run(5)
    assert bob.id not in ada.players


class Pit(Hunt):
    walls = Cells(solid=1)

    def begin(self):
        return (5, 5)


def test_a_player_begins_where_the_test_wants_it_if_one_can_stand_there():
    world = World(Pit)
    assert world.join("Ada").tile == (5, 5)
    assert world.join("Bob", at=(9, 2)).tile == (9, 2) and world.join("Cy").tile == (5, 5)
    world.game().walls[9, 3] = 1
    world.run(1)
    with pytest.raises(ValueError, match=r"nobody can stand on \(9, 3\)"):
        world.join("Dan", at=(9, 3))


def test_a_rule_that_does_not_hold_is_found():
    world = World(Hunt, nodes=2)
    _, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(0, 3))
    world.run(1)
    world.cut(0, 1)
    world.game(0).floor[4, 4] = 7
    world.run(0.5)
    with pytest.raises(AssertionError, match="in tile .4, 4. of floor Ada is shown 7, "):
        world.check()
    world.heal()
    world.run(60)
    world.check()
    assert bob.tiles("floor") == {(4, 4): 7}
    [layer] = [one for one in world.game(0).node.play.layers if "floor" in one.name]
    [item, *_] = layer.store.each(layer.rows.queue)
    layer.store.take(layer.rows.queue, item.id)
    with pytest.raises(AssertionError, match="the store counts .*, and has"):
        world.check()


class Faulty(Hunt):
    @action()
    def rich(self, me):
        me.send("top", [place.points for place in self.top("coins", 1)])

    @action()
    def divide(self, me):
        me.send("never", 1 // 0)

    def on_step(self, me, tiles):
        self.top("coins", 1)


def test_a_failure_in_a_game_fails_the_test():
    world = World(Faulty, nodes=2)
    ada = world.join("Ada", 1, at=(0, 0))
    with pytest.raises(ZeroDivisionError):
        ada.do("divide")
    ada.do("rich")
    assert ada.message("top") == [[]] and ada.errors() == ["an error in the game prevented that"]
    world.run(5)
    ada.walk(1, 0)
    with pytest.raises(RuntimeError, match="a callback of the event loop may not wait"):
        world.run(1)


def test_a_world_takes_a_name_or_a_path_of_a_game():
    assert type(World("paint", store=False).game()).__module__ == "flatlands.games.paint.game"
    with pytest.raises(InvalidGame, match="there is no game"):
        World(Path("nowhere"))


@pytest.mark.process
def test_the_tests_of_a_new_game_pass(tmp_path):
    """Run as `flatlands test` does, in a folder that knows nothing of this one."""
    here = {"cwd": tmp_path, "env": {"PYTHONPATH": str(ROOT)}, "timeout": None}
    python("-m", "flatlands", "new", "mygame", check=True, **here)
    ran = python("-m", "flatlands", "test", "mygame", "-q", **here)
    assert ran.returncode == 0 and "2 passed" in ran.stdout, ran.stdout + ran.stderr


BY = number(0, 3)


class Fragile(Hunt):
    @action(rate=5, burst=5)
    def share(self, me, by=BY):
        me.coins = 9 // by


def count_twice(monkeypatch):
    """A store adds points twice."""
    take = SqliteStore.take

    def faulty(self, queue, id, then=(), scores=(), *, only=None):
        return take(self, queue, id, then, [*scores, *scores], only=only)

    monkeypatch.setattr(SqliteStore, "take", faulty)


class Closed(Hunt):
    def on_hello(self, guest, ticket):
        raise Refused("closed", "Nobody may play.")


def believe_no_writes(monkeypatch):
    """A node knows only what it has written itself."""
    monkeypatch.setattr(Layers, "apply_remote", lambda self, node, writes: None)


def random_worlds(game):
    return Search(plan, partial(play, game, lambda world: None), "again ")


def failing(worlds, first):
    """Return the first plan, from a seed on, of a world that is not right."""
    return next(found for found in map(plan, range(first, first + 200)) if worlds.fails(found))


def test_nothing_is_found_in_random_worlds_without_a_fault():
    assert not any(random_worlds(Hunt).fails(plan(seed)) for seed in range(4))


#: Each game, a fault, a seed soon after which a world shows it, and what is told.
FAULTS = [
    (Fragile, lambda monkeypatch: None, 0, "ZeroDivisionError"),
    (Hunt, leave_things, 2, "was taken twice|has 0 points"),
    (Closed, lambda monkeypatch: None, 0, "Nobody may play. .a TICKET in bot.py"),
]


@pytest.mark.parametrize("game, fault, first, found", FAULTS, ids=["own", "store", "closed"])
def test_a_fault_is_found_in_random_worlds_and_shrunk(monkeypatch, game, fault, first, found):
    worlds = random_worlds(game)
    fault(monkeypatch)
    short = worlds.shrink(failing(worlds, first), time.monotonic() + 600)
    assert re.search(found, worlds.fails(short)) and len(short.steps) <= SHORT


@pytest.mark.parametrize(
    "fault, first, found",
    [
        (count_twice, 40, r"on the board \w+ coins \w+ has \d+ points, and not \d+"),
        (believe_no_writes, 47, r"in tile \(-?\d+, -?\d+\) of floor"),
    ],
    ids=["points", "node"],
)
def test_what_a_world_counts_or_shows_wrongly_is_found(monkeypatch, fault, first, found):
    worlds = random_worlds(Hunt)
    fault(monkeypatch)
    assert re.search(found, worlds.fails(failing(worlds, first)))


def test_random_worlds_obey_a_games_own_rules_and_are_the_same_again(tmp_path, capsys):
    folder = tmp_path / "crowded"
    shutil.copytree(TEMPLATE, folder)
    options = argparse.Namespace(seconds=0, first=None, seed=1)
    assert search(folder, rules_of(folder)).run(options) == 0
    (folder / "tests" / "rules.py").write_text(
        "def check(world):\n    assert len(world.players) < 2, 'it is crowded'\n"
    )
    told = []
    for _ in range(2):
        assert search(folder, rules_of(folder)).run(options) == 1
        told.append(capsys.readouterr().out.partition("AssertionError: ")[2])
    assert told[0] == told[1] and told[0].startswith("it is crowded\nseed: 1, ")
    assert f"Play it again: flatlands simulate {folder} --seed 1" in told[0]


def test_random_worlds_say_how_often_they_have_called_which_hooks(tmp_path, capsys):
    game = tmp_path / "greets.py"
    game.write_text(
        "from flatlands import Game as Engine, Part, plain\n"
        "class Greeter(Part):\n"
        "    def on_join(self, me, back): pass\n"
        "class Game(Engine):\n"
        "    ground, parts = plain(), [Greeter]\n"
        "    def on_join(self, me, back): pass\n"
        "    def on_news(self, name, *fields): pass\n"
    )
    assert search(game).run(argparse.Namespace(seconds=0, first=None, seed=1)) == 0
    *_, called, never = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"calls of hooks: greets\.Greeter\.on_join ([1-9]\d*), on_join \1", called)
    assert never == "never called: on_news"


class Jar(Thing, reach=1):
    drops = number(0, 10**9)


class Dripping(Engine):
    """Whoever touches the jar changes it, so that everybody else touches it again."""

    ground, things = plain(), [Jar]

    def plant(self, plot):
        return [Jar((0, 0))] if plot == (0, 0) else []

    def on_touch(self, me, jar):
        me.change(jar, lambda now: now.again(drops=now.drops + 1))


def test_a_game_that_goes_on_for_ever_without_time_fails_and_says_why():
    world = World(Dripping)
    world.join("Ada", at=(0, 0))
    world.run(1)
    with pytest.raises(RuntimeError, match="goes on without end while no time passes"):
        world.join("Bob", at=(0, 0)), world.run(1)


def test_a_world_of_a_seed_has_its_things_at_the_same_places():
    places = []
    for world in (World("snake", seed=seed) for seed in (3, 3, 4)):
        ada = world.join("Ada", at=(0, 0))
        world.run(1)
        places.append({(one.x, one.y) for one in ada.things("Food")})
    assert places[0] == places[1] != places[2] and places[0]
