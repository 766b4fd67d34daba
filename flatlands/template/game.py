"""NAME_OF_THE_GAME: whoever walks paints the floor."""

from flatlands import Cells, Me, action, every, number, plain
from flatlands import Game as Engine

COLOURS = 8


class Game(Engine):
    """The game: the server calls the methods that `flatlands docs` lists."""

    ground = plain()
    page = "page"
    floor = Cells()  # a byte for each tile of the world

    def colour(self, me: Me) -> int:
        """Return the colour of a player, 1 to COLOURS."""
        return me.id % COLOURS + 1

    def on_step(self, me: Me, tiles: list[tuple[int, int]]) -> None:
        """Paint the tiles to which a player has come."""
        me.write(self.floor, tiles, self.colour(me))

    @action(rate=0.2, burst=1)
    def spill(self, me: Me, reach: int = number(1, 3)) -> None:
        """Paint all tiles around a player, once in five seconds."""
        column, row = me.tile
        around = range(-reach, reach + 1)
        tiles = [(column + x, row + y) for x in around for y in around]
        me.write(self.floor, tiles, self.colour(me))

    #: What is sent to pages, and its fields.
    messages = {"board": {"rows": list[tuple[int, int]]}}

    @every(2)
    def send_board(self) -> None:
        """Send to all pages how many tiles have which colour."""
        self.broadcast_local("board", [[colour, n] for colour, n in self.floor.counts().items()])
