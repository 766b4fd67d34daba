"""Gardens: for each gem found, a player can plant something on free ground. What nobody visits for
a month goes back to meadow.

A tile is claimed for a minute by the first player that plants there, then paid for, and then
planted. If the node dies in between, asking for the same thing again costs nothing. This module
never knows who has planted what: the layer of cells does, for operators.
"""

from typing import Final

from flatlands import (
    Cells,
    Me,
    Part,
    Present,
    Record,
    Records,
    Refused,
    action,
    every,
    number,
    text,
)
from flatlands.games.flatlands.ground.landmarks import PART, Landmarks
from flatlands.games.flatlands.notes import LINES, Note, note
from flatlands.games.flatlands.treasure import BOARD
from flatlands.server.game.game import Game
from flatlands.server.messages.table import NUMBER
from flatlands.world.terrain import CLEARING, GRASS, PLOT_SIDE, SAND, WOOD
from flatlands.world.track import Tile

#: How many kinds of plants there are, from 1 on: the page knows which.
KINDS: Final = 2

#: A plant that nobody visits is gone after this long.
PLANT_SECONDS = 30 * 24 * 3600
#: A visit renews a plant that was not renewed for this long.
RENEW_SECONDS = 24 * 3600
#: A node looks so often for visitors.
LOOK_SECONDS = 20

#: The most plants of one person.
PLANTS_MOST: Final = 200

#: The most tiles from the origin.
FAR: Final = 2**30

#: The tiles within which a player can plant.
REACH: Final = 2.5

#: Nothing is planted nearer to the middle of a path, in 1/16 tile.
FROM_PATH = 40
#: Nothing is planted within so many tiles of a landmark, along each axis.
FROM_LANDMARK = 6
#: Nothing is planted within so many tiles of what lies in the world, along each axis.
FROM_THINGS = 1

#: What a player reads that has no gem.
NO_GEM: Final = "planting costs a gem, and you have none left: find one"

#: The kinds of ground on which something can be planted.
SOIL: Final = frozenset((GRASS, SAND, WOOD))


class Purse(Record):
    """How many gems a person has planted, and what it last paid for."""

    planted = number(0, NUMBER)
    last = text(0, 40)


class Claim(Record, lasts=60):
    """Who is planting on a tile at the moment."""

    owner = text(0, 32)


class Gardens(Part):
    """The gardens of all players."""

    plants = Cells(persist="write-through", per_owner=PLANTS_MOST, forget=PLANT_SECONDS)
    purses = Records(Purse)
    claims = Records(Claim)
    notes = Records(Note)

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._landmarks = Landmarks(self.node.terrain)

    @action(rate=1, burst=5)
    def purse(self, me: Me) -> None:
        """Answer with how many gems a player can still plant."""
        purse = self.purses.read(me.owner) if me.owner else None
        me.send("purse", me.rank(BOARD).n - (0 if purse is None else purse.planted))

    @action(rate=1, burst=5, address=(1 / 5, 60))
    def sow(
        self,
        me: Me,
        kind: int = number(1, KINDS),
        column: int = number(-FAR, FAR),
        row: int = number(-FAR, FAR),
    ) -> None:
        """Plant something on a tile near a player, and send it where, and how many gems it has
        left. Raises Refused."""
        if not me.owner:
            raise Refused(
                "garden", "send a key first, so that the server can tell which gems are yours"
            )
        tile = column, row
        if not me.near(tile, REACH):
            raise Refused("far", "you are too far away to plant there", None)
        self._check(tile)
        if self.plants.read(tile):
            raise Refused("garden", "something already grows there")
        found, what = me.rank(BOARD).n, f"{kind} {column} {row}"
        # Before the claim, which keeps others from planting there.
        if not self._can_pay(self.purses.read(me.owner), what, found):
            raise Refused("garden", NO_GEM)
        mine = Claim(f"{column} {row}", owner=me.owner)
        claim = self.claims.change(mine.id, lambda there: mine if there is None else None)
        if claim is not None and claim.owner != me.owner:
            raise Refused("garden", "somebody else is planting there right now")
        try:
            purse = self._pay(me.owner, what, found)
        except Refused:
            # Its last gem was planted elsewhere meanwhile.
            self.claims.forget(mine)
            raise
        try:
            me.write(self.plants, tile, kind)
        except Refused:
            # There is no room, or too much is written here: the gem is given back.
            self.purses.change(
                me.owner, lambda had: had and had.again(planted=had.planted - 1, last="")
            )
            raise
        where = f"{self.now() // (RENEW_SECONDS * 1000)} {column // PLOT_SIDE} {row // PLOT_SIDE}"
        line = note(me.owner, "plant", self.now(), n=kind, x=column, y=row, once=where)
        self.notes.add(line, LINES)
        me.send("sown", kind, column, row, found - purse.planted)

    def _can_pay(self, purse: Purse | None, what: str, found: int) -> bool:
        """Return whether an owner with this purse, who has found `found` gems, has one for `what`,
        or has paid for it."""
        return found > 0 if purse is None else purse.last == what or purse.planted < found

    def _pay(self, owner: str, what: str, found: int) -> Purse:
        """Take a gem from an owner that has found `found` of them, unless it last paid for `what`;
        return its purse. Raises Refused."""

        def pay(purse: Purse | None) -> Purse | None:
            purse = Purse(owner) if purse is None else purse
            if purse.last == what:
                return None
            if not self._can_pay(purse, what, found):
                raise Refused("garden", NO_GEM)
            return purse.again(planted=purse.planted + 1, last=what)

        purse = self.purses.change(owner, pay)
        assert purse is not None
        return purse

    def _check(self, tile: Tile) -> None:
        """Raise Refused if nothing can be planted on a tile."""
        column, row = tile
        kind, _, _, path = self.node.terrain.tile(column, row)
        if column * column + row * row < CLEARING**2:
            raise Refused("garden", "you cannot plant on the plaza: walk on a little")
        if kind not in SOIL or path < FROM_PATH:
            raise Refused("garden", "nothing grows there: plant on a meadow, on sand or in a wood")
        mark = self._landmarks.of(column // PART, row // PART)
        if mark is not None and max(abs(mark[0] - column), abs(mark[1] - row)) <= FROM_LANDMARK:
            raise Refused("garden", "you cannot plant so close to a landmark")
        near = range(-FROM_THINGS, FROM_THINGS + 1)
        tiles = {(column + x, row + y) for x in near for y in near}
        squares = {(x // self.side, y // self.side) for x, y in tiles}
        if any(thing.tile in tiles for square in squares for thing in self.things_in(square)):
            raise Refused("garden", "something already lies there")

    @every(LOOK_SECONDS, each=True)
    def visit(self, players: Present) -> None:
        """Keep what grows around players from being forgotten."""
        squares = {(column // self.side, row // self.side) for column, row in players.tiles}
        near = (-1, 0, 1)
        for square in {(c + x, r + y) for c, r in squares for x in near for y in near}:
            self.plants.renew(square, RENEW_SECONDS)
