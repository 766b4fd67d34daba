"""Paint the floor: each tile keeps the colour of who walked there last, and a board counts them."""

from flatlands import Cells, Me, action, every, number, plain
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
        self.floor[tiles] = colour(me)

    @action(rate=0.2, burst=1)
    def spill(self, me: Me, reach: int = number(1, 3)) -> None:
        """Paint all tiles within `reach` of a player."""
        column, row = me.tile
        around = range(-reach, reach + 1)
        self.floor[[(column + x, row + y) for x in around for y in around]] = colour(me)

    def on_join(self, me: Me, back: bool) -> None:
        """Tell a newcomer the board, without waiting for the next time."""
        me.tell("board", self.board())

    @every(2)
    def tell(self) -> None:
        """Tell all pages the board."""
        self.tell_all("board", self.board())

    def board(self) -> list[list[int]]:
        """Return colours with the numbers of their tiles, the most first."""
        counts = sorted(self.floor.counts().items(), key=lambda count: -count[1])
        return list(map(list, counts))


def colour(me: Me) -> int:
    """Return the colour of a player, from 1 on."""
    return me.id % COLOURS + 1
