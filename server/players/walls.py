"""Walls: tiles that nobody can enter because of what a game has written on them.

A node has the walls of the squares that it receives, among them those around its players. When
walls appear, a player whose way leads over them goes another way from where it is, and a player who
stands in one is put beside it.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Final

from flatlands.server.players.movement import Movement
from flatlands.server.players.resident import Resident
from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.outbox import Outbox
from flatlands.server.squares.subscription import Subscription
from flatlands.world.grid import Grid, Square
from flatlands.world.track import REACH, UNIT, Land, Tile, is_barred, tile_at

#: Time between two looks at who stands in a wall, however that has come about.
WALLS_EVERY_MS: Final = 1000

#: The distance within which a place beside a wall is looked for.
BESIDE_WALL_TILES: Final = 16

#: The steps to all places within that distance, the nearest first.
_NEAR: Final = sorted(
    product(range(-BESIDE_WALL_TILES, BESIDE_WALL_TILES + 1), repeat=2),
    key=lambda step: step[0] ** 2 + step[1] ** 2,
)


class Walls:
    """The ground of the game with walls on it; it can do all else that the ground can.

    `solid` has the layers that have walls, by their numbers, and the lowest value that is a wall.
    """

    def __init__(
        self,
        ground: Land,
        grid: Grid,
        loop: Loop,
        squares: Mapping[Square, Subscription],
        outbox: Outbox,
        movement: Movement,
        solid: Mapping[int, int],
    ) -> None:
        self._ground, self._side, self._loop = ground, grid.side, loop
        self._squares, self._present, self._movement = squares, outbox.players_by_square, movement
        self._solid = list(solid.items())
        #: The tiles that have changed in this turn of the event loop.
        self._changed: dict[Square, set[Tile]] = {}
        loop.every(WALLS_EVERY_MS, self._let_out)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ground, name)

    def blocked(self, x: int, y: int) -> bool:
        """Return whether nobody can enter a tile."""
        return self._ground.blocked(x, y) or self._is_wall(x, y)

    def _is_wall(self, x: int, y: int) -> bool:
        side = self._side
        place = y % side * side + x % side
        layers = self._layers((x // side, y // side))
        return any(values[place] >= least for values, least in layers)

    def free(self, x0: int, y0: int, x1: int, y1: int) -> bool:
        """Return whether no tile is blocked in the box of which two tiles are opposite corners."""
        side = self._side
        left, right, top, bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
        columns, rows = (
            range(left // side, right // side + 1),
            range(top // side, bottom // side + 1),
        )
        for column, row in product(columns, rows):
            for values, least in self._layers((column, row)):
                first = max(left - column * side, 0)
                last = min(right - column * side, side - 1)
                for y in range(max(top - row * side, 0), min(bottom - row * side, side - 1) + 1):
                    if max(values[y * side + first : y * side + last + 1]) >= least:
                        return False
        return self._ground.free(x0, y0, x1, y1)

    def _layers(self, square: Square) -> Iterator[tuple[bytearray, int]]:
        """Yield the values of those layers of a square that have walls, and the lowest wall."""
        subscription = self._squares.get(square)
        if subscription is not None and subscription.layers is not None:
            for number, least in self._solid:
                if tiles := subscription.layers.tiles.get(number):
                    yield tiles.values, least

    # What becomes of players in the way.

    def tiles_changed(self, square: Square, places: Iterable[int]) -> None:
        """Note that tiles of a square, by their numbers there, have other values."""
        if not self._changed:
            self._loop.call_soon(self._redirect_walkers)
        left, top = square[0] * self._side, square[1] * self._side
        tiles = ((left + place % self._side, top + place // self._side) for place in places)
        self._changed.setdefault(square, set()).update(tiles)

    def _redirect_walkers(self) -> None:
        """Send players whose way leads over new walls another way."""
        changed, self._changed = self._changed, {}
        for square, tiles in changed.items():
            walls = {tile for tile in tiles if self._is_wall(*tile)}
            for resident in self._near(square) if walls else ():
                now = self._loop.now()
                if tile_at(resident.track, now) in walls:
                    self._put_beside(resident)
                elif resident.walks(now) and self._leads_over(resident, walls, now):
                    self._movement.replan(resident)

    def _near(self, square: Square) -> list[Resident]:
        """Return the players of this node whose ways may lead into a square."""
        reach = -(-REACH // (self._side * UNIT))
        around = range(-reach, reach + 1)
        return [
            resident
            for i, j in product(around, around)
            for resident in self._in((square[0] + i, square[1] + j))
        ]

    def _in(self, square: Square) -> list[Any]:
        return list(self._present.get(square, {}).values())

    def _leads_over(self, resident: Resident, walls: set[Tile], now: int) -> bool:
        track = resident.track
        (x0, y0), (x1, y1) = tile_at(track, now), tile_at(track, track.end)
        left, right, top, bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
        passed = any(left <= x <= right and top <= y <= bottom for x, y in walls)
        return passed and is_barred(self, track, now, resident.pace)

    def _let_out(self) -> None:
        """Put players who stand in walls beside them."""
        for square in list(self._present):
            for resident in self._in(square) if any(True for _ in self._layers(square)) else ():
                if self._is_wall(*tile_at(resident.track, self._loop.now())):
                    self._put_beside(resident)

    def _put_beside(self, resident: Resident) -> None:
        """Put a player on the nearest tile that is free, if there is one."""
        column, row = tile_at(resident.track, self._loop.now())
        for i, j in _NEAR:
            x, y = column + i, row + j
            if not self.blocked(x, y):
                self._movement.put(resident, (x * UNIT + UNIT // 2, y * UNIT + UNIT // 2))
                return
