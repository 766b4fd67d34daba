"""The game decides how players walk, and where they begin."""

import pytest

from flatlands import Game as Engine
from flatlands.world.track import UNIT
from tests.server.harness import Harness


def play(**of_class):
    """Return a harness that plays a game whose class has these attributes."""
    return Harness(play=type("Some", (Engine,), of_class))


@pytest.mark.parametrize(
    ("walking", "east", "diagonal", "goal"),
    [
        ("free", True, True, True),
        ("straight", True, False, False),
        ("none", False, False, False),
    ],
)
def test_players_walk_only_as_the_game_lets_them(walking, east, diagonal, goal):
    harness = play(walking=walking)
    client = harness.place("Ada", (0, 0))
    ways = (lambda: client.walk(1, 0), lambda: client.walk(1, 1), lambda: client.go(9000, 9000))
    for way, may in zip(ways, (east, diagonal, goal), strict=True):
        before = harness.node.residents.by_id[client.id].track.at(client.now())
        client.model.errors.clear()
        way()
        harness.run(400)
        after = harness.node.residents.by_id[client.id].track.at(client.now())
        assert (after != before, client.model.errors) == (may, [] if may else ["walk"])
        client.walk(0, 0)
        harness.run(400)
    # An intent that is not obeyed does not count, but a stop always does.
    assert client.model.players[client.id].ack == client.number and client.connection.open
    client.model.errors.clear()
    client.home()
    assert client.model.errors == ([] if walking == "free" else ["walk"])


def test_a_newcomer_begins_where_the_game_says_and_a_returning_player_where_it_was():
    harness = play(begin=lambda self: (100, -7))
    client = harness.client().hello("Ada")
    assert client.at() == (100 * UNIT + 512, -7 * UNIT + 512)
    friend = harness.client().hello("Bea", near=client.id)
    assert friend.at() != client.at() and abs(friend.at()[0] - client.at()[0]) < 9 * UNIT
    client.walk(1, 0)
    harness.run(1000)
    client.connection.lose()
    harness.run(500)
    again = harness.client().hello("Ada", token=client.model.token)
    assert again.at()[0] > 101 * UNIT


@pytest.mark.parametrize(
    ("begin", "failed"),
    [(lambda self: None, 0), (lambda self: (0.5, 1), 1), (lambda self: 1 / 0, 1)],
)
def test_a_player_that_can_begin_nowhere_begins_near_the_origin(begin, failed):
    harness = play(begin=begin)
    client = harness.client().hello("Ada")
    assert max(map(abs, client.at())) < 20 * UNIT
    assert harness.node.stats["hooks_failed"] == failed


def test_an_unknown_way_to_walk_is_refused():
    with pytest.raises(ValueError, match="one of free, straight, none"):
        play(walking="diagonal")
