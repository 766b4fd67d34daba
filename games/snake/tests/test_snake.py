"""Snake on two nodes: bodies, which snakes fall, what is left of them, and which grow."""

from flatlands.games.snake.game import BODY_SECONDS, PACE_PER_BITE, Food, Game
from flatlands.world.track import UNIT
from tests.server.test_cells import world


class Field(Game):
    """A field with food on one tile only."""

    def plant(self, plot):
        return [Food((20, 40))] if plot == (0, 1) else []


#: The number of the kind of thing that a crumb is.
CRUMB = 1


def snakes():
    """Return a harness and two snakes, on a node each: at (0, 40), and ten tiles east of that."""
    harness, a, b = world(play=Field)
    for client, column in ((a, 0), (b, 10)):
        put(client, column, 40)
        client.send(10, f"a-key-of-sixteen-or-more-{column}")
    harness.run(1000)
    return harness, a, b


def put(client, column, row):
    place = column * UNIT + UNIT // 2, row * UNIT + UNIT // 2
    client.host.node.movement.put(client.host.node.residents.by_id[client.id], place)


def body(client, of):
    """Return the tiles of a snake's body as a client knows them."""
    colour = of.id % 255 + 1
    return sorted(
        (column * 16 + place % 16, row * 16 + place // 16)
        for (column, row, _), values in client.model.cells.items()
        for place, value in enumerate(values)
        if value == colour
    )


def test_everybody_sees_a_body_as_long_as_its_snake_is_fast():
    harness, a, b = snakes()
    a.walk(0, 1)
    harness.run(4000)
    tiles = body(a, a)
    assert tiles == body(b, a) and abs(tiles[-1][1] - a.at()[1] / UNIT) < 2
    assert abs(len(tiles) - BODY_SECONDS * 5) <= 2
    a.walk(0, 0)
    harness.run(BODY_SECONDS * 1000 + 500)
    assert body(b, a) == []


def test_a_snake_that_runs_into_another_one_falls_apart_into_food():
    harness, a, b = snakes()
    a.walk(0, 1)
    harness.run(1500)
    put(b, -3, 43)
    b.walk(1, 0)
    harness.run(2000)
    colour, middle = a.id % 255 + 1, UNIT // 2
    assert b.model.players[b.id].values == [0, True] == a.model.players[b.id].values
    assert b.at() == (middle, 43 * UNIT + middle)
    # The model has events of a game's first kind among its emotes.
    assert b.model.game_events == a.model.game_events == [("1", colour)]
    assert a.model.players[a.id].values == [0, False]
    b.send(35, "restart", [])
    harness.run(1000)
    assert b.model.players[b.id].values == [0, False] and b.at() != (middle, 43 * UNIT + middle)
    crumbs = [thing for things in a.model.things.values() for thing in things if thing[0] == CRUMB]
    assert len(crumbs) == 3
    b.send(35, "restart", [])
    harness.run(1000)
    assert b.model.players[b.id].values == [0, False], "it has not fallen again"


def test_a_snake_that_eats_gets_faster_and_is_on_the_board():
    harness, a, b = snakes()
    b.walk(1, 0)
    harness.run(4000)
    grown = a.model.players[b.id]
    assert grown.values == [1, False] and grown.pace == round(100 * (1 + PACE_PER_BITE))
    b.send(35, "board", [])
    harness.run(1000)
    assert b.model.messages["board"] == [[["1", 1]]]
