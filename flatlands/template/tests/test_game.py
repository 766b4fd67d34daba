"""The game on two nodes, in a time that only the test moves: flatlands test."""

from pathlib import Path

from flatlands.testkit import World

HERE = Path(__file__).parent.parent


def test_all_see_the_same_floor_after_a_cut_and_a_kill() -> None:
    world = World(HERE, nodes=2)
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(2, 3))
    world.cut(0, 1)
    for player in (ada, bob):
        player.walk(1, 0)
    world.run(1)
    for player in (ada, bob):
        player.walk(0, 0)
    world.heal()
    world.run(60)
    world.check()
    assert ada.tiles("floor") == bob.tiles("floor") and len(ada.tiles("floor")) >= 10
    world.kill(0)
    ada.back(1)
    world.run(5)
    world.check()
    assert ada.tiles("floor") == bob.tiles("floor")


def test_paint_is_spilled_around_a_player_and_not_too_often() -> None:
    world = World(HERE)
    ada = world.join("Ada", at=(8, 8))
    ada.do("spill", 2)
    world.run(3)
    assert set(ada.tiles("floor")) == {(x, y) for x in range(6, 11) for y in range(6, 11)}
    [[_colour, tiles]] = ada.message("board")[0]
    assert tiles == 25
    ada.do("spill", 2)
    assert "too often" in ada.errors()[0]
