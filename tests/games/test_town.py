"""The town: rooms with their last lines, whispers, and who is online, on two nodes."""

import pytest

from flatlands.testkit import World
from tests.games.town import Game, middle


@pytest.fixture
def two():
    world = World(Game, nodes=2)
    ada, bob = world.join("Ada", 0), world.join("Bob", 1)
    world.run(2)
    return world, ada, bob


def lines(player):
    return [(name, words) for _at, name, words in player.message("lines")[0]]


def test_whoever_comes_to_a_room_reads_what_was_said_there_also_after_a_kill(two):
    world, ada, bob = two
    for words in ("hello", "anybody here?"):
        ada.say(words)
        world.run(1)
    ada.do("enter", 2)
    world.run(1)
    assert ada.tile == middle(2) and lines(ada) == []
    ada.say("quiet here")
    world.kill(0)
    world.run(2)
    ada.back(1)
    world.run(2)
    # Back in the room, which is kept, with what was said there.
    assert ada.tile == middle(2) and lines(ada) == [("Ada", "quiet here")]
    cay = world.join("Cay", 1)
    world.run(1)
    assert lines(cay) == [("Ada", "hello"), ("Ada", "anybody here?")]


def test_a_room_keeps_its_last_fifty_lines(two):
    world, ada, _bob = two
    for n in range(55):
        ada.say(f"line {n}")
        world.run(1.1)
    cay = world.join("Cay", 1)
    world.run(1)
    assert lines(cay) == [("Ada", f"line {n}") for n in range(5, 55)]


def test_a_whisper_reaches_one_person_in_another_room_at_another_node(two):
    world, ada, bob = two
    bob.do("enter", 4)
    world.run(1)
    ada.do("whisper", bob.id, "psst")
    world.run(1)
    assert bob.message("whispered") == [ada.id, "Ada", "psst"] and ada.message("heard") == [True]
    bob.leave()
    world.run(3)
    ada.do("whisper", bob.id, "psst")
    assert ada.errors() == ["This player is not here."]


def test_the_count_is_that_of_the_whole_world(two):
    world, _ada, _bob = two
    cay = world.join("Cay", 0)
    # Who has just come is not in the store yet.
    assert cay.message("online") == [2]
    world.run(2)
    assert world.join("Dan", 1).message("online") == [3]
