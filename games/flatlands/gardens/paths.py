"""Paths: feet wear the grass. Where many people walk, a path appears and becomes a road, on which
players are faster; within a week without feet it is grown over again.

Nobody counts steps. Once a second each node looks where its people walk, and wears a few of those
tiles, so a thousand people wear no more than ten do. This module never looks at a move.
"""

import random
from typing import Final

from flatlands import Cells, Part, Present, Refused, every
from flatlands.games.flatlands.pace import FASTER, races
from flatlands.server.game.game import Game
from flatlands.world.terrain import GRASS, SAND, WOOD
from flatlands.world.track import Tile

#: Seconds after which a tile that nobody has worn is grown over.
WEEK: Final = 7 * 24 * 3600

#: The most tiles that a node wears in a second.
MOST: Final = 4

#: A tile is a road from this value on. Of five people who cross a tile one wears it, since they
#: walk five tiles a second.
ROAD: Final = 6

#: For how many seconds a player is faster after it was seen on a road.
LASTS: Final = 1.5

#: The ground that feet wear. Where a path was built, nothing is left to wear.
SOFT: Final = frozenset((GRASS, SAND, WOOD))


class Paths(Part):
    """Paths: they appear where many feet wear the grass, become roads, and grow over."""

    worn = Cells("sum", forget=WEEK)

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        #: Where people have walked since tiles were last worn.
        self._trodden: list[Tile] = []

    @every(1, each=True)
    def tread(self, players: Present) -> None:
        """Note where players walk, and let them go faster on a road, but not in a race: there all
        go at the same pace."""
        worn, trodden = self.worn, self._trodden
        for id, tile, walks in zip(*players, strict=True):
            if walks:
                trodden.append(tile)
                if worn[tile] >= ROAD and (me := self.player(id)) and not races(me):
                    me.pace(FASTER, LASTS)

    @every(1)
    def wear(self) -> None:
        """Wear some of the tiles on which people walk."""
        trodden, self._trodden = self._trodden, []
        for tile in random.sample(trodden, min(len(trodden), MOST)):
            if self.node.terrain.kind(*tile) in SOFT:
                try:
                    self.worn[tile] = 1
                except Refused:
                    # No more tiles can be worn until some have grown over.
                    return
