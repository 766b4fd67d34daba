"""The sight that guests are led to, and the way there by paths: functions of the ground.

It is the nearest landmark beside a path, or else the nearest bridge, or else the first place where
paths meet. Finding it takes many steps, and is done a few at a time, so that nothing waits for it.
This module never knows who walks.
"""

import math
from collections.abc import Generator
from heapq import heappop, heappush
from typing import Final, NamedTuple

from flatlands.games.flatlands.ground.landmarks import Landmarks
from flatlands.server.players.spots import Position, is_straight
from flatlands.world.terrain import BRIDGE, Terrain, plot_index
from flatlands.world.track import UNIT

#: No way is longer: it takes half a minute to walk.
FARTHEST_TILES: Final = 150

#: Nothing is barred within so many tiles of the origin, so that everybody can go straight to the
#: beginning of the way.
BEGINS_TILES: Final = 10

#: Two points of the way are no farther apart.
STRIDE_TILES: Final = 6
#: The search looks at one place of a path in so many tiles.
STEP_TILES: Final = 2

#: A landmark is beside a path if that comes so near.
BESIDE_TILES: Final = 11
#: The way to a landmark ends so far from it.
STANDS_OFF_TILES: Final = 2

#: A shorter bridge is not a sight.
BRIDGE_TILES: Final = 6

#: What a sight is, the best first.
LANDMARK: Final = 0
OVER_WATER: Final = 1
CROSSING: Final = 2

_Tile = tuple[int, int]


class Sight(NamedTuple):
    """A sight of a kind, and the way to it, `length` tiles from the origin. It goes straight from
    each of the `places`, in units, to the next, from BEGINS_TILES off the origin on."""

    kind: int
    length: float
    places: list[Position]


class Sights:
    """Searches the ground for sights. `best` is None until the search has ended."""

    def __init__(self, terrain: Terrain, landmarks: Landmarks) -> None:
        self._terrain = terrain
        self._landmarks = landmarks
        self.best: Sight | None = None
        self._found: list[Sight] = []
        self._searching: Generator[None, None, None] | None = self._search()

    def look(self) -> bool:
        """Look for a sight a little longer; return whether the search has ended."""
        if self._searching is not None:
            try:
                next(self._searching)
            except StopIteration:
                self._searching = None
        return self._searching is None

    def _search(self) -> Generator[None, None, None]:
        """Follow the paths from the origin on, the nearest first."""
        marks: list[_Tile] = []
        for part in ((-1, -1), (-1, 0), (0, -1), (0, 0)):
            marks += filter(None, [self._landmarks.of(*part)])
            yield
        been: set[_Tile] = set()
        ahead: list[tuple[float, _Tile, list[_Tile]]] = [(0.0, (0, 0), [(0, 0)])]
        while ahead:
            length, end, tiles = heappop(ahead)
            if end in been:
                continue
            been.add(end)
            if length > 0:
                self._found.append(Sight(CROSSING, length, _places(tiles)))
            i, j = [plot_index(each) for each in end]
            for x0, y0, x1, y1 in self._terrain.edges(i, j):
                to = (x1, y1) if (x0, y0) == end else (x0, y0)
                if end in ((x0, y0), (x1, y1)) and to not in been:
                    farther, path = self._follow(length, tiles, end, to, marks)
                    if farther <= FARTHEST_TILES:
                        heappush(ahead, (farther, to, path))
                    yield
        best = min(self._found, key=lambda sight: sight[:2])
        self.best = best._replace(places=self._thinned(best.places))

    def _follow(
        self, length: float, tiles: list[_Tile], start: _Tile, to: _Tile, marks: list[_Tile]
    ) -> tuple[float, list[_Tile]]:
        """Follow a path from one waypoint to another, after a way of `length` over `tiles`, and
        note what is beside it; return the length and the tiles of the whole way."""
        tiles, bridge = tiles[:], 0
        steps = max(abs(to[0] - start[0]), abs(to[1] - start[1])) // STEP_TILES
        for step in range(1, steps + 1):
            x, y = [16 * a + 16 * (b - a) * step // steps for a, b in zip(start, to, strict=True)]
            tile = self._terrain.middle(x, y)
            length += math.dist(tile, tiles[-1])
            tiles.append(tile)
            if length > FARTHEST_TILES:
                break
            for mark in marks:
                self._look_at(mark, length, tiles)
            if self._terrain.kind(*tile) == BRIDGE:
                bridge += 1
                continue
            if bridge * STEP_TILES >= BRIDGE_TILES:
                middle = tiles[: -1 - bridge // 2]
                self._found.append(Sight(OVER_WATER, length, _places(middle)))
            bridge = 0
        return length, tiles

    def _look_at(self, mark: _Tile, length: float, tiles: list[_Tile]) -> None:
        """Note a landmark that is near the last of these tiles, with a straight way to it."""
        here, there = _places([tiles[-1], mark])
        away = math.dist(here, there) / UNIT
        if STANDS_OFF_TILES < away <= BESIDE_TILES:
            part = STANDS_OFF_TILES / away
            place = tuple(round(b + (a - b) * part) for a, b in zip(here, there, strict=True))
            end = place[0], place[1]
            if is_straight(self._terrain, here, end):
                self._found.append(Sight(LANDMARK, length + away, [*_places(tiles), end]))

    def _thinned(self, places: list[Position]) -> list[Position]:
        """Return those places of a way that are needed, from BEGINS_TILES off the origin on."""
        begins = next(
            at for at, place in enumerate(places) if math.hypot(*place) > BEGINS_TILES * UNIT
        )
        way, at = [places[begins]], begins
        while at < len(places) - 1:
            # One can always go to the next place.
            at = next(
                to
                for to in range(min(at + STRIDE_TILES // STEP_TILES, len(places) - 1), at, -1)
                if to == at + 1 or is_straight(self._terrain, places[at], places[to])
            )
            way.append(places[at])
        return way


def _places(tiles: list[_Tile]) -> list[Position]:
    """Return the middles of tiles, in units."""
    return [(x * UNIT + UNIT // 2, y * UNIT + UNIT // 2) for x, y in tiles]
