"""The rounds of paint: they end at one moment on all nodes, and each begins with a bare floor."""

from flatlands.games.paint.game import COLOURS, PAUSE_SECONDS, ROUND_SECONDS, TURN_SECONDS
from flatlands.testkit import World


def board(player):
    """Return what a player was sent: ms left, what is added to colours, and the rows."""
    return player.message("board")


def test_a_round_ends_everywhere_and_the_next_one_begins_with_a_bare_floor():
    world = World("paint", 2)
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(0, 9))
    world.run(3)
    left, first, _ = board(ada)
    # Into the beginning of a round.
    world.run((left + PAUSE_SECONDS * 1000) / 1000 + 2)
    left, after, rows = board(ada)
    assert after == COLOURS - first and rows == [] and left > (ROUND_SECONDS - 5) * 1000
    ada.do("spill", 2)
    bob.do("spill", 1)
    world.run(3)
    for player in (ada, bob):
        assert sorted(tiles for _, tiles, _ in board(player)[2]) == [9, 25]
    # Each node names its own players.
    assert {names for *_, names in board(ada)[2]} == {"", "Ada"}
    assert {names for *_, names in board(bob)[2]} == {"", "Bob"}
    world.run(board(ada)[0] / 1000 + 2)
    before = board(ada)[2]
    assert board(ada)[0] < 0 and len(before) == 2
    ada.do("spill", 3)
    ada.go(5, 0)
    world.run(5)
    assert board(ada)[2] == before and "The round is over" in ada.errors()[-1]
    world.run(PAUSE_SECONDS)
    for player in (ada, bob):
        left, values, rows = board(player)
        assert (values, rows) == (first, []) and left > 0
    # Nor has the round after the next one, whose values are the same, any of the old paint.
    world.run(TURN_SECONDS)
    assert board(bob)[1] == after and board(bob)[2] == []


def test_who_has_left_is_not_named():
    world = World("paint", 1)
    ada, bob = world.join("Ada", at=(0, 0)), world.join("Bob", at=(0, 9))
    world.run(3)
    world.run(max(board(ada)[0], 0) / 1000 + PAUSE_SECONDS + 2)
    bob.do("spill", 1)
    world.run(3)
    assert board(ada)[2][0][2] == "Bob"
    bob.leave()
    world.run(15)
    assert board(ada)[2][0][2] == ""
