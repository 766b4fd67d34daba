"""Paint the floor: each tile keeps the colour of its last visitor, and a board counts the tiles."""

import random

from flatlands import Cells, Me, action, every, number, plain
from flatlands import Game as Engine
from flatlands.games.mushrooms import Mushrooms
from flatlands.world.track import Tile

#: How many colours there are; a tile without paint has the value 0.
COLOURS = 8


class Painter(Me):
    """A player, whose colour everybody sees: 0 until it has one."""

    colour = number(0, COLOURS)


class Game(Engine[Painter]):
    """A floor, and what players do to it."""

    ground = plain()
    page = "page"
    me = Painter
    parts = (Mushrooms,)
    floor = Cells()
    messages = {"board": {"rows": list[tuple[int, int]]}}

    def on_step(self, me: Painter, tiles: list[Tile]) -> None:
        """Paint the tiles that a player has come to."""
        me.write(self.floor, tiles, me.colour)

    @action(rate=0.2, burst=1)
    def spill(self, me: Painter, reach: int = number(1, 3)) -> None:
        """Paint all tiles within `reach` of a player."""
        column, row = me.tile
        around = range(-reach, reach + 1)
        me.write(self.floor, [(column + x, row + y) for x in around for y in around], me.colour)

    def on_join(self, me: Painter, back: bool) -> None:
        """Give a newcomer one of the colours with the fewest tiles, and send it the board at once,
        before the next `send_board`."""
        if me.colour == 0:
            counts, colours = self.floor.counts(), random.sample(range(1, COLOURS + 1), COLOURS)
            me.colour = min(colours, key=lambda colour: counts.get(colour, 0))
        me.send("board", self.board())

    @every(2)
    def send_board(self) -> None:
        """Send the board to all pages."""
        self.broadcast_local("board", self.board())

    def board(self) -> list[list[int]]:
        """Return [colour, number of its tiles] for each colour, the most tiles first."""
        counts = sorted(self.floor.counts().items(), key=lambda count: -count[1])
        return list(map(list, counts))
