"""Paint the floor: for three minutes each tile keeps the colour of its last visitor, and then the
colour with the most tiles has won."""

import random

from flatlands import Cells, Me, Present, Refused, action, every, number, plain
from flatlands import Game as Engine
from flatlands.games.mushrooms import Mushrooms
from flatlands.server.game.game_node import GameNode
from flatlands.world.track import Tile

#: How many colours there are; a tile without paint has the value 0.
COLOURS = 8

#: Everybody paints for so many seconds, and then looks at the result for so many.
ROUND_SECONDS = 180
PAUSE_SECONDS = 15
TURN_SECONDS = ROUND_SECONDS + PAUSE_SECONDS

#: The most names on a row of the board.
NAMES_MOST = 3


class Painter(Me):
    """A player, whose colour everybody sees: 0 until it has one."""

    colour = number(0, COLOURS)


class Game(Engine[Painter]):
    """A floor, and what players do to it. Rounds follow the clock of the world, so no node begins
    them. The paint of every second round has values of its own, and is forgotten before there is
    such a round again: so each begins with a bare floor."""

    ground = plain()
    page = "page"
    me = Painter
    parts = (Mushrooms,)
    floor = Cells(forget=TURN_SECONDS + 5)
    messages = {"board": {"left": int, "values": int, "rows": list[tuple[int, int, str]]}}

    def __init__(self, node: GameNode, options: object, alone: bool) -> None:
        super().__init__(node, options, alone)
        #: The ids of players of this node; some of them may have left.
        self.painters: set[int] = set()

    @property
    def round(self) -> int:
        """The number of the round."""
        return self.world_now() // (TURN_SECONDS * 1000)

    @property
    def left(self) -> int:
        """The ms that are left of the round: below 0 in the pause after it."""
        return ROUND_SECONDS * 1000 - self.world_now() % (TURN_SECONDS * 1000)

    def value_of(self, colour: int) -> int:
        """Return the value that tiles of a colour have in this round."""
        return colour + self.round % 2 * COLOURS

    def on_step(self, me: Painter, tiles: list[Tile]) -> None:
        """Paint the tiles that a player has come to."""
        if self.left > 0:
            me.write(self.floor, tiles, self.value_of(me.colour))

    @action(rate=0.2, burst=1)
    def spill(self, me: Painter, reach: int = number(1, 3)) -> None:
        """Paint all tiles within `reach` of a player."""
        if self.left <= 0:
            raise Refused("pause", "The round is over: the next one begins in a moment.")
        (column, row), around = me.tile, range(-reach, reach + 1)
        tiles = [(column + x, row + y) for x in around for y in around]
        me.write(self.floor, tiles, self.value_of(me.colour))

    def on_join(self, me: Painter, back: bool) -> None:
        """Give a newcomer one of the colours with the fewest tiles, and send it the board at once,
        before the next `send_board`."""
        if me.colour == 0:
            counts, colours = self.floor.counts(), random.sample(range(1, COLOURS + 1), COLOURS)
            me.colour = min(colours, key=lambda colour: counts.get(self.value_of(colour), 0))
        me.send("board", *self.board())

    @every(1, each=True)
    def note_painters(self, players: Present) -> None:
        """Note who plays here."""
        self.painters.update(players.ids)

    @every(1)
    def send_board(self) -> None:
        """Send the board to all pages."""
        self.broadcast_local("board", *self.board())

    def board(self) -> tuple[int, int, list[list[object]]]:
        """Return the ms that are left of the round, what is added to a colour in this round's
        values, and [colour, number of its tiles, some names] for each colour, the most tiles
        first."""
        here = [me for id in self.painters if (me := self.player(id)) is not None]
        self.painters = {me.id for me in here}
        counts, first = self.floor.counts(), self.value_of(0)
        tiles = {colour: counts.get(first + colour, 0) for colour in range(1, COLOURS + 1)}
        rows = sorted(((n, colour) for colour, n in tiles.items() if n), reverse=True)
        return self.left, first, [[colour, n, names_of(here, colour)] for n, colour in rows]


def names_of(painters: list[Painter], colour: int) -> str:
    """Return the names of some painters with a colour."""
    found = sorted(me.name for me in painters if me.colour == colour)
    more = [f"{len(found) - NAMES_MOST} more"] if len(found) > NAMES_MOST else []
    return ", ".join(found[:NAMES_MOST] + more)
