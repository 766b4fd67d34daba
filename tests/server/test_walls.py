"""Walls that players build: at no node does anybody walk through them, and nobody gets stuck."""

import pytest

from flatlands.server.game.actions import action, number
from flatlands.server.game.cells import Cells
from flatlands.server.game.game import Game
from flatlands.server.players.walls import WALLS_EVERY_MS
from flatlands.world.track import UNIT
from tests.server.test_cells import world


class Yard(Game):
    walls = Cells(solid=5)

    @action(rate=50, burst=50)
    def build(
        self, me, x: int = number(-99, 99), y: int = number(-99, 99), kind: int = number(0, 9)
    ):
        me.write(self.walls, (x, y), kind)


def wall(client, tiles, kind=9):
    for x, y in tiles:
        client.send(35, "build", [x, y, kind])
    client.harness.run(60)


def tile(client):
    return tuple(at // UNIT for at in client.at())


@pytest.mark.parametrize("builder", [0, 1])
def test_a_wall_stops_a_player_that_walks_towards_it_and_is_gone_once_dug_away(builder):
    harness, *clients = world(play=Yard)
    a, b = clients
    column, row = tile(a)
    a.walk(1, 0)
    harness.run(400)
    barrier = [(column + 5, row + n) for n in range(-6, 7)]
    wall(clients[builder], barrier)
    harness.run(3000)
    assert tile(a) == (column + 4, row)
    harness.check()
    # A value below the least solid one is no wall.
    wall(clients[builder], [(column + 5, row)], kind=4)
    a.walk(1, 0)
    harness.run(1000)
    assert tile(a)[0] > column + 6
    harness.check()


def test_a_player_on_the_way_to_a_goal_goes_along_a_wall_built_meanwhile():
    harness, a, _ = world(play=Yard)
    column, row = tile(a)
    a.go((column + 10) * UNIT, (row + 4) * UNIT)
    harness.run(300)
    x, y = tile(a)
    wall(a, [(x + 2, row + n) for n in range(-6, 3)])
    walls = a.host.node.game.walls
    for _ in range(60):
        harness.run(50)
        assert walls[tile(a)] == 0
    harness.check()
    assert tile(a)[1] > y


def test_a_wall_elsewhere_changes_nobodys_way():
    harness, a, _ = world(play=Yard)
    column, row = tile(a)
    a.walk(1, 0)
    harness.run(400)
    track = a.host.node.residents.by_id[a.id].track
    wall(a, [(column - 3, row), (column + 5, row + 3)])
    assert a.host.node.residents.by_id[a.id].track is track


def test_a_player_that_stands_in_a_wall_is_put_beside_it():
    harness, a, b = world(play=Yard)
    column, row = tile(a)
    wall(b, [(column + i, row + j) for i in range(-1, 3) for j in range(-1, 2)])
    harness.run(100)
    assert tile(a) in {(column - 2, row), (column, row - 2), (column, row + 2)}
    harness.check()


def test_a_player_that_comes_back_into_a_wall_is_put_beside_it():
    harness, a, b = world(play=Yard)
    at, token = tile(a), a.model.token
    a.connection.lose(1000)
    harness.run(2000)
    wall(b, [at])
    again = harness.client(b.host).hello("A", token=token)
    harness.run(WALLS_EVERY_MS + 100)
    assert again.model.id == a.model.id and tile(again) != at
    assert max(abs(p - q) for p, q in zip(tile(again), at, strict=True)) == 1


def test_walls_stop_a_player_whose_node_did_not_know_them_before():
    harness, a, b = world(play=Yard)
    far = tile(a)[0] + 60
    row = tile(a)[1]
    a.host.node.game.walls[[(far, row + n) for n in range(-6, 7)]] = 9
    harness.run(15_000)
    b.walk(1, 0)
    harness.run(20_000)
    assert tile(b) == (far - 1, row)


def test_a_newcomer_whose_place_is_all_built_over_is_put_beside_it():
    harness, a, _ = world(play=Yard)
    node = a.host.node
    node.game.walls[[(n, m) for n in range(-12, 12) for m in range(-12, 12)]] = 5
    harness.run(100)
    assert node.game.blocked((3, 3)) and not node.game.blocked((13, 3))
    late = harness.client(a.host).hello("Late")
    harness.run(WALLS_EVERY_MS + 100)
    assert not node.game.blocked(tile(late))


@pytest.mark.parametrize("wrong", [0, 256, True, "1"])
def test_a_wrong_solid_is_refused_with_a_sentence(wrong):
    with pytest.raises(ValueError, match="solid must be 1 to 255, not"):
        Cells(solid=wrong)


def test_a_page_is_told_from_which_value_on_a_layer_is_solid():
    harness, a, _ = world(play=Yard)
    assert ["solid", 0, 5, []] in harness.node.play.kinds()
