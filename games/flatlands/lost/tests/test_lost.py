"""The lost thing of the day: one lies somewhere, one finds it, whatever dies."""

from math import dist, hypot

import pytest

from flatlands.games.flatlands.lost.lost import (
    DAY_MS,
    FARTHEST_TILES,
    NEAREST_TILES,
    READ_SECONDS,
    LostAndFound,
)
from games.flatlands.tests.worlds import ask, lonely, noted, part


def rows(world, player):
    """Return what a player is sent of lost things."""
    world.run(6)
    assert not ask(world, player, "lost")
    return player.message("lost")[0]


def beside(world, x, y):
    """Return a tile some steps from a place, from which somebody can walk straight there."""
    terrain = world.game(0).node.terrain
    ways = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
    free = [
        (dx, dy)
        for dx, dy in ways
        if not any(terrain.blocked(x + n * dx, y + n * dy) for n in range(6))
    ]
    dx, dy = free[0]
    return x + 5 * dx, y + 5 * dy


def begun(nodes=2, **more):
    """Return a world in which the thing of the day lies, a player of each node, and its row."""
    world = lonely(nodes, **more)
    world.run(READ_SECONDS * 2 + 1)
    players = [world.join(f"P{node}", node, at=(0, node)) for node in range(nodes)]
    [row] = rows(world, players[0])
    return world, players, row


@pytest.mark.parametrize("seed", range(4))
def test_each_day_one_thing_lies_far_from_the_plaza_at_all_nodes(seed):
    world, players, row = begun(3, seed=seed)
    _day, _what, x, y, *found = row
    assert NEAREST_TILES <= hypot(x, y) <= FARTHEST_TILES and found == [0, "", 0]
    assert all(rows(world, player) == [row] for player in players)
    scout = world.join("Scout", at=beside(world, x, y))
    world.run(3)
    [thing] = scout.things("Lost")
    assert dist((thing.x, thing.y), (x + 0.5, y + 0.5)) < 0.1
    part(world, LostAndFound).look()
    world.run(READ_SECONDS * 3)
    assert len(scout.things("Lost")) == 1


def test_the_first_who_comes_to_it_wears_it_and_all_are_told():
    world, (ada, bob), row = begun()
    x, y = row[2:4]
    finders = [
        world.join(name, node, at=beside(world, x, y)) for node, name in enumerate(("Cid", "Dan"))
    ]
    world.run(2)
    for finder in finders:
        finder.go(x + 0.5, y + 0.5)
    world.run(5)
    [[*_, player, name, at]] = rows(world, ada)
    assert (player, name) in [(one.id, one.name) for one in finders] and at > 0
    # Nobody has asked for it again.
    assert bob.message("lost")[0][0][4] == player
    assert sorted(len(noted(world, one, "lost")) for one in finders) == [0, 1]
    assert not finders[0].things("Lost") and not finders[1].things("Lost")


def test_what_was_found_stays_known_when_the_node_of_its_finder_dies():
    world, (_ada, bob), row = begun()
    x, y = row[2:4]
    cid = world.join("Cid", 0, at=beside(world, x, y))
    world.run(2)
    cid.go(x + 0.5, y + 0.5)
    world.run(4)
    world.kill(0)
    world.run(READ_SECONDS + 5)
    [[*_, player, _name, _at]] = rows(world, bob)
    assert player == cid.id
    # The next day another one lies somewhere, and this one is still remembered.
    world.run(DAY_MS / 1000)
    after, before = rows(world, bob)
    assert after[0] == before[0] + 1 and before[4] == cid.id and after[4] == 0


def test_a_world_without_a_store_loses_nothing():
    world = lonely(1, store=False)
    ada = world.join("Ada", at=(0, 0))
    world.run(READ_SECONDS * 2)
    assert rows(world, ada) == []
