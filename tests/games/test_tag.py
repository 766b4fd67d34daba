"""Tag: exactly one player is it, on all pages, whoever leaves and whichever node dies."""

import pytest

from flatlands.testkit import World
from tests.games.tag import Game


@pytest.fixture
def world():
    return World(Game, nodes=2)


def told(*players):
    return {player.message("it")[0] for player in players}


def test_the_first_player_is_it_and_passes_it_on_by_touch(world):
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(9, 1))
    world.run(2)
    assert told(ada, bob) == {ada.id}
    ada.go(9.5, 1.5)
    world.run(4)
    assert told(ada, bob) == {bob.id}
    # Whoever is it walks a fifth faster, at whichever node.
    paces = [world.game(n).node.residents.by_id[one.id].pace for n, one in enumerate((ada, bob))]
    assert paces == [100, 120]
    # Not back at once, though they still stand together.
    assert world.game(0).tags.read("tag").it == bob.id


@pytest.mark.parametrize("how", ["leave", "kill"])
def test_if_whoever_is_it_goes_somebody_else_is_it(world, how):
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(30, 1))
    world.run(2)
    assert told(ada, bob) == {ada.id}
    if how == "leave":
        ada.leave()
        world.run(4)
    else:
        world.kill(0)
        world.run(16)
    assert bob.message("it") == [bob.id]
    assert world.game(1).tags.read("tag").it == bob.id


def test_whoever_comes_back_within_ten_seconds_still_is_it_and_is_fast_again(world):
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(30, 1))
    world.run(2)
    world.kill(0)
    world.run(2)
    ada.back(1)
    world.run(20)
    assert told(ada, bob) == {ada.id}
    assert world.game(1).node.residents.by_id[ada.id].pace == 120
