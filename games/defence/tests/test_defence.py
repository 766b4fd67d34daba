"""Defence: monsters come from both gates, fall at towers, and enter the castle, each once."""

import pytest

from flatlands.games.defence.game import BOUNTY, CASTLE, COST, GOLD, LIVES, Game
from flatlands.testkit import World

SIZE = 64, 40


@pytest.fixture
def world():
    world = World(Game, nodes=2)
    world.run(3)
    return world


def told(world):
    """Return the lives and the round, as the pages of all who play know them."""
    known = {tuple(player.message("castle")) for player in world.players if player.playing}
    assert len(known) == 1
    return known.pop()


def test_monsters_from_both_gates_enter_the_castle_once_each(world):
    ada, bob = (world.join(name, n, at=(10, n), size=SIZE) for n, name in enumerate(("Ada", "Bob")))
    seen = set()
    for _ in range(6):
        world.run(5)
        seen |= set(ada.movers)
        assert set(ada.movers) == set(bob.movers)
    assert {round(ada.place(id)[1] - 0.5) for id in ada.movers} & {-9, 9}
    world.run(1.6)
    lives, number = told(world)
    gone = seen - set(ada.movers)
    assert lives == LIVES - len(gone) < LIVES and number <= 2
    world.check()


def test_towers_fell_monsters_for_gold(world):
    ada = world.join("Ada", 0, at=(-16, -9), size=SIZE)
    for column in (-18, -16, -14, -12):
        ada.do("build", column, -8)
        world.run(1)
    assert ada.errors() == [f"A tower costs {COST} gold: towers earn it."]
    assert len(ada.things("Tower")) == 3 and ada.message("purse") == [GOLD - 3 * COST]
    ada.do("build", -18, -8)
    world.run(1)
    ada.do("build", 30, 30)
    world.run(1)
    assert ada.errors()[1:] == [
        "There is a tower already.",
        "Come nearer: you build within 6 tiles.",
    ]
    world.run(20)
    ada.do("look")
    world.run(1)
    points = world.game().top("monsters", 1)[0].points
    assert points > 1 and ada.message("purse") == [points * BOUNTY]
    world.check()


@pytest.mark.parametrize("node", [0, 1])
def test_the_game_goes_on_when_a_node_is_killed(world, node):
    people = [world.join(name, n, at=(10, n), size=SIZE) for n, name in enumerate(("Ada", "Bob"))]
    world.run(15)
    world.kill(node)
    world.run(6)
    left = people[1 - node]
    before = {id: left.place(id) for id in left.movers}
    world.run(1)
    walk = [id for id, at in before.items() if id in left.movers and left.place(id) != at]
    assert len(walk) >= len(before) - 1 > 1
    world.run(15)
    assert told(world)[0] < LIVES
    world.check()


def test_a_ruin_becomes_a_castle_again(world):
    world.join("Ada", 0, at=CASTLE, size=SIZE)
    seen = []
    for _ in range(50):
        world.run(5)
        seen.append(told(world))
    fell = next(n for n, (lives, _) in enumerate(seen) if lives == 0)
    assert (LIVES, 1) in seen[fell:] and seen[fell][1] > 1
