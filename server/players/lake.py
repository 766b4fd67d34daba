"""The nearest lake to the plaza, and the way there: functions of the ground.

Finding them takes many steps, and is done a few at a time, so that nothing waits for it. This
module never knows who walks.
"""

from collections import deque
from collections.abc import Generator, Iterator
from typing import Final

from server.players.spots import Place, is_straight
from world.terrain import DEEP, WATER, Terrain
from world.track import UNIT

#: Tiles that are looked at before the search is given up, and those that are looked at in a row.
MOST_TILES: Final = 40_000
AT_ONCE: Final = 250

#: Tiles from the origin within which nothing is barred, so that everybody can go straight to the
#: beginning of the way.
BEGINS: Final = 10

#: The most tiles of the way between two of its points.
STRIDE: Final = 6

#: Water is a lake if it reaches so many tiles from the shore, and so many to each side there.
DEPTHS: Final = (1, 3, 5, 7)
WIDTH: Final = 3

_SIDES: Final = ((1, 0), (-1, 0), (0, 1), (0, -1))

_Tile = tuple[int, int]


class Lake:
    """See the module. `place` is where the way ends, in units, beside the lake.

    `place` is None, and `way` is empty, until the lake is found, and if there is none near by.
    """

    def __init__(self, terrain: Terrain) -> None:
        self._terrain = terrain
        self.place: Place | None = None
        #: The points of the way, in units, from BEGINS tiles off the origin on. Between each two of
        #: them one can go straight.
        self.way: list[Place] = []
        self._searching: Generator[None, None, None] | None = self._search()

    def look(self) -> bool:
        """Look for the lake a little longer; return whether the search has ended."""
        if self._searching is not None:
            try:
                next(self._searching)
            except StopIteration:
                self._searching = None
        return self._searching is None

    def _search(self) -> Generator[None, None, None]:
        """Find the shortest way over free tiles from the origin to a shore."""
        blocked = self._terrain.blocked
        came: dict[_Tile, _Tile] = {(0, 0): (0, 0)}
        waiting = deque(came)
        looked = 0
        while waiting and len(came) < MOST_TILES:
            tile = waiting.popleft()
            for dx, dy in _SIDES:
                beside = tile[0] + dx, tile[1] + dy
                if beside in came:
                    continue
                if not blocked(*beside):
                    came[beside] = tile
                    waiting.append(beside)
                elif self._is_lake(tile, dx, dy):
                    self._found(list(_back(came, tile))[::-1])
                    return
            looked += 1
            if looked % AT_ONCE == 0:
                yield

    def _is_lake(self, shore: _Tile, dx: int, dy: int) -> bool:
        """Say whether a lake begins beside a tile, in the direction (dx, dy)."""
        x, y = shore
        places = [(x + dx * far, y + dy * far) for far in DEPTHS]
        middle_x, middle_y = places[len(places) // 2]
        places += [(middle_x + dy * side, middle_y + dx * side) for side in (-WIDTH, WIDTH)]
        return all(self._terrain.kind(*place) in (DEEP, WATER) for place in places)

    def _found(self, tiles: list[_Tile]) -> None:
        """Use the tiles of the way to the lake, from the origin on."""
        tiles = [tile for tile in tiles if tile[0] ** 2 + tile[1] ** 2 >= BEGINS**2] or tiles[-1:]
        places = list(map(_middle, tiles))
        self.place, at = places[-1], 0
        self.way.append(places[0])
        while at < len(places) - 1:
            # One can always go to the next tile.
            at = next(
                to for to in range(min(at + STRIDE, len(places) - 1), at, -1)
                if to == at + 1 or is_straight(self._terrain, places[at], places[to])
            )  # fmt: skip
            self.way.append(places[at])


def _back(came: dict[_Tile, _Tile], tile: _Tile) -> Iterator[_Tile]:
    """Yield a tile, and those over which the search came to it, back to the origin."""
    while True:
        yield tile
        if came[tile] == tile:
            return
        tile = came[tile]


def _middle(tile: _Tile) -> Place:
    return tile[0] * UNIT + UNIT // 2, tile[1] * UNIT + UNIT // 2
