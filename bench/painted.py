"""A plain on which all who walk paint the floor: bench/whole.py compares it with one on which they
only walk."""

from flatlands import Cells, Me, plain
from flatlands import Game as Engine
from flatlands.world.track import Tile


class Game(Engine):
    """Whoever comes to a tile paints it."""

    ground = plain()
    floor = Cells()

    def on_step(self, me: Me, tiles: list[Tile]) -> None:
        """Paint them."""
        me.write(self.floor, tiles, me.id % 8 + 1)
