"""Painters at a node that dies: what others were shown is kept."""

import random

import pytest

from flatlands.server.game.cell_layer import SAVE_EVERY_MS
from flatlands.server.game.cells import Cells
from flatlands.server.game.game import Game
from tests.server.test_cells import in_store, world


def painting(how):
    """Return a game in which players paint each tile to which they come."""

    class Painting(Game):
        floor = Cells(persist=how)

        def on_step(self, me, tiles):
            self.floor[tiles] = me.id % 255 + 1

    return Painting


def painted(client):
    """Return the tiles that a client is shown, with their values."""
    return {
        (column * 16 + place % 16, row * 16 + place // 16): value
        for (column, row, _layer), values in client.model.cells.items()
        for place, value in enumerate(values)
        if value
    }


@pytest.mark.parametrize("how", [True, "write-through"], ids=["behind", "through"])
@pytest.mark.parametrize("after", range(0, SAVE_EVERY_MS, SAVE_EVERY_MS // 5))
def test_what_others_were_shown_is_kept_when_the_node_of_all_painters_dies(how, after):
    harness, painter, watcher = world(play=painting(how))
    watcher.send(5, 96, 64)
    painters = [harness.place(str(n), (0, 0), host=painter.host) for n in range(9)]

    def kept():
        return in_store(harness, "tiles test_painters.floor 2013-16")

    # They paint over each other's tiles.
    for _ in range((5000 + after) // 50):
        random.choice(painters).walk(random.randint(-1, 1), random.randint(-1, 1))
        harness.run(50)
        # Nothing is told before the store has it.
        assert how != "write-through" or painted(watcher).keys() <= kept().keys()
    shown = painted(watcher)
    assert len(shown) > 40
    harness.kill(painter.host)
    harness.run(12_000)
    assert how == "write-through" or shown.items() <= kept().items()
    # Nobody was told of the last writes in the store: they are read within a minute.
    harness.run(60_000)
    assert painted(watcher) == kept()
