"""Paint the floor: each tile keeps the colour of who walked there last, and a board counts them."""

from flatlands import Cells, Me, every, plain
from flatlands import Game as Engine
from flatlands.world.track import Tile

#: How many colours there are; a tile without paint has the value 0.
COLOURS = 8


class Game(Engine):
    """See the module."""

    ground, page = plain(), "page"
    floor = Cells(counted=True)

    def on_step(self, me: Me, tiles: list[Tile]) -> None:
        """Paint the tiles to which a player has come."""
        self.floor[tiles] = me.id % COLOURS + 1

    @every(2)
    def tell(self) -> None:
        """Tell the pages how many tiles have which colour, the most first."""
        counts = sorted(self.floor.counts().items(), key=lambda count: -count[1])
        self.tell_all("board", list(map(list, counts)))
