"""World time: the clock of the store, at nodes whose own clocks differ."""

from flatlands import Game, plain
from flatlands.server.storage.world_clock import ASKED_EVERY_MS
from flatlands.testkit import World
from tests.server.harness import Broken, Harness


class Town(Game):
    """It has nothing."""

    ground = plain()


def times(world):
    return [world.game(node).world_now() for node in range(2)]


def test_nodes_with_different_clocks_have_one_world_time_and_so_have_pages():
    world = World(Town, nodes=2, skew=60)
    one, two = times(world)
    assert abs(one - two) <= 2 and world.game(0).now() - world.game(1).now() == -60_000
    for node in range(2):
        player = world.join("Ada", node, at=(1, 1))
        ahead, _ = player._kinds.get(("clock", 0), (0, []))
        assert abs(player.now() + ahead - times(world)[0]) < 100


def test_world_time_follows_the_store_by_a_millisecond_a_second_and_never_goes_back():
    world = World(Town, nodes=2)
    store = world._harness.hosts[0].node.store_client.store
    world.run(ASKED_EVERY_MS / 1000)
    game, real = world.game(0), store._now
    for wrong in (-500, 500):
        store._now = lambda wrong=wrong: real() + wrong
        last = game.world_now()
        world.run(ASKED_EVERY_MS / 1000)
        start = game.world_now() - game.now()
        for _ in range(50):
            world.run(1)
            assert game.world_now() >= last
            last = game.world_now()
        gained = game.world_now() - game.now() - start
        assert gained == (50 if wrong > 0 else -50)


def test_without_a_store_and_until_it_answers_world_time_is_node_time():
    world = World(Town, nodes=2, skew=60, store=False)
    for node in range(2):
        assert world.game(node).world_now() == world.game(node).now()
    harness = Harness(play=Town, stores=Broken)
    assert harness.game_of().world_now() == harness.game_of().now()
