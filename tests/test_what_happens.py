"""docs/what-happens.md: a game notices of each fault exactly what the page says."""

import pytest

from flatlands import Cells, Me, StoreUnavailable, Thing, every, number, plain
from flatlands import Game as Engine
from flatlands.testkit import World


class Coin(Thing, reach=1):
    """The only coin of the world."""


class Walker(Me):
    coins, team = number(0, 9), number(0, 2, persist=True)


class Game(Engine):
    ground, things, me = plain(), (Coin,), Walker
    floor, firm, worn = Cells(), Cells("first", persist="write-through"), Cells("sum")
    #: What all nodes have noticed, and the node times at which one was called alone.
    noticed, ticks = [], []

    def plant(self, plot):
        return [Coin((3, 0))] if plot == (0, 0) else []

    def on_join(self, me, back):
        self.noticed.append(f"{me.name} is {'back' if back else 'new'} with {me.coins}")
        self.noticed += [f"{me.name} has no team"] if back and not me.team else []
        me.team = 2

    def on_leave(self, me):
        self.noticed.append(f"{me.name} has left")

    def on_meet(self, me, other):
        self.noticed.append(f"{me.name} meets {other.name}")

    def on_touch(self, me, coin):
        try:
            me.coins += me.take(coin, scores=[("coins", 1)])
        except StoreUnavailable:
            self.noticed.append("away")

    def on_step(self, me, tiles):
        for cells in (self.floor, self.firm, self.worn):
            cells[tiles] = 1

    @every(1, once=True)
    def tick(self):
        self.ticks.append(self.now())


@pytest.fixture
def world():
    world = World(Game, nodes=2)
    yield world
    world.heal()
    world.run(60)
    world.check()


@pytest.fixture
def noticed():
    Game.noticed.clear()
    return Game.noticed


@pytest.fixture
def ada(world, noticed):
    """A player that has the coin."""
    ada = world.join("Ada", 0, at=(0, 0))
    world.run(1)
    ada.go(3.5, 0.5)
    world.run(3)
    assert ada.me.values == {"coins": 1, "team": 2} and noticed == ["Ada is new with 0"]
    noticed.clear()
    return ada


@pytest.mark.parametrize("end", [World.kill, World.stop])
def test_a_node_ends(world, noticed, ada, end):
    bob = world.join("Bob", 1, at=(0, 4))
    end(world, 0)
    ada.back(1)
    world.run(2)
    assert noticed == ["Bob is new with 0", "Ada is back with 0"]
    assert (ada.tile, bob.place(ada.id)) == ((3, 0), (3.5, 0.5))
    assert len(ada.tiles("floor")) == len(bob.tiles("floor")) > 2 and ada.things() == []
    assert [one.points for one in world.game(1).top("coins", 5)] == [1]


@pytest.mark.parametrize(
    "seconds, told", [(5, ["Ada is back with 1"]), (30, ["Ada has left", "Ada is back with 0"])]
)
@pytest.mark.parametrize("node", [0, 1])
def test_a_connection_is_lost(world, noticed, ada, seconds, told, node):
    ada.lose()
    world.run(seconds)
    ada.back(node)
    world.run(1)
    assert noticed == told and ada.tile == (3, 0)


@pytest.mark.parametrize("node", [0, 1])
def test_a_connection_is_lost_again_at_once(world, noticed, ada, node):
    ada.lose()
    world.run(1)
    ada.back(node)
    ada.lose()
    world.run(5)
    ada.back(node)
    world.run(1)
    assert noticed == ["Ada is back with 1"] * 2


def test_two_nodes_do_not_hear_each_other(world, noticed):
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(6, 0))
    world.run(1)
    world.cut(0, 1)
    noticed.clear()
    for player in (ada, bob):
        player.go(3.5, 0.5)
    world.run(6)
    assert set(ada.players) == {ada.id} and set(bob.players) == {bob.id}
    assert ada.me.values["coins"] + bob.me.values["coins"] == 1 and noticed == []
    world.heal()
    world.run(5)
    assert ada.players.keys() == bob.players.keys() == {ada.id, bob.id}
    assert sorted(noticed) == ["Ada meets Bob", "Bob meets Ada"]
    assert ada.tiles("floor") == bob.tiles("floor") and len(ada.tiles("floor")) >= 5


def test_the_store_is_away(world, noticed):
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(0, 4))
    world.run(5)
    world.lose_store()
    noticed.clear()
    ada.go(3.5, 0.5)
    world.run(5)
    Game.ticks.clear()
    cy = world.join("Cy", 1, at=(1, 1))
    world.run(10)
    assert noticed == ["away", "Cy is new with 0"] and cy.playing and Game.ticks == []
    assert [len(bob.tiles(name)) for name in ("floor", "firm", "worn")] == [3, 0, 0]
    world.heal()
    world.run(10)
    assert [len(bob.tiles(name)) for name in ("floor", "firm", "worn")] == [3, 3, 3]
    assert len(bob.things()) == 1 and Game.ticks


def test_clocks_differ(noticed):
    world = World(Game, nodes=2, skew=60)
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(0, 4))
    for player in (ada, bob):
        player.walk(1, 0)
    world.run(3)
    assert ada.tiles("floor") == bob.tiles("floor") and len(ada.players) == 2


def test_the_server_is_full(world, ada):
    world._hosts[0].admission.capacity = 1
    assert not world.join("Bob").playing
    ada.lose()
    world.run(5)
    bob = world.join("Bob")
    ada.back()
    assert bob.playing and ada.playing
    ada.lose()
    world.run(11)
    ada.back()
    assert not ada.playing
