"""Terrain as a function of the world's seed and a tile: it needs no file, and is never sent.

static/terrain.js is this module's twin; tests/vectors/terrain.json holds both to the same digits.
Only + - *, floor division and 32-bit multiplication are used, so that both languages agree. It
never uses a float, and keeps nothing except a bounded cache.

The ground has three layers. Value noise over lattices of 64, 32 and 16 tiles makes the height: low
ground is water, high ground is rock. A second noise turns some of the grass between into woods. A
grid of waypoints, one in each cell of 64 tiles, makes the paths: each waypoint is joined to its
neighbours, and a third noise bends the paths. They lead over everything, so a player that follows
them can walk on for ever.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from math import isqrt

DEEP, WATER, SAND, GRASS, WOOD, ROCK, PATH, BRIDGE, PLAZA = range(9)

#: The kinds of tiles that nobody can stand on.
BLOCKED = frozenset((DEEP, WATER, ROCK))

#: The side, in tiles, of the pieces in which terrain is computed. (They are no squares.)
CHUNK = 16

#: Tiles from -LIMIT to LIMIT - 1 have ground; all beyond is deep water.
LIMIT = 2**30

#: Chunks that one Terrain keeps, of about 500 bytes each.
CACHED_CHUNKS = 8192

#: The blocked tiles of a chunk are one number, with bit y * CHUNK + x for each tile. _BOX[h][w] is
#: the number of a box of w + 1 by h + 1 tiles in the first corner.
_BLOCKED_DIGIT = bytes(ord("1") if kind in BLOCKED else ord("0") for kind in range(256))
_BOX = [
    [sum((2 << w) - 1 << y * CHUNK for y in range(h + 1)) for w in range(CHUNK)]
    for h in range(CHUNK)
]

# Heights and woods are 0..65535.
DEEP_BELOW, WATER_BELOW, SAND_BELOW, ROCK_FROM = 19500, 23500, 25500, 43500
WOOD_FROM = 35000
MEADOW = 33000

#: Half the width of a path, and the largest distance to one that is computed, in 1/16 tile.
PATH_WITHIN, PATH_FAR = 24, 160

CELL = 64  # tiles between waypoints
STRAY = 20  # tiles: how far a waypoint may be from the middle of its cell, along each axis
WARP = 96  # 1/16 tile: how far the bending noise moves a path at most

PLAZA_WITHIN = 7  # tiles
CLEARING = 12  # tiles from the origin within which all is meadow ...
CLEARING_ENDS = 44  # ... and from which on nothing is changed for the meadow

_MASK = 0xFFFFFFFF


def hash32(x: int) -> int:
    """Mix 32 bits: `lowbias32` of Chris Wellons' hash-prospector (public domain)."""
    x &= _MASK
    x = (x ^ (x >> 16)) * 0x7FEB352D & _MASK
    x = (x ^ (x >> 15)) * 0x846CA68B & _MASK
    return x ^ (x >> 16)


def _smooth(length: int) -> list[int]:
    """Return smoothstep at 0..length-1 of `length`, in 1/1024."""
    return [f * f * (3 * length - 2 * f) * 1024 // length**3 for f in range(length)]


_SMOOTH = {length: _smooth(length) for length in (16, 32, 64)}


class Terrain:
    """The ground of one world.

    `seed` is any integer; only its low 32 bits count.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed & _MASK
        self._salts = [hash32(self.seed + hash32(layer)) for layer in range(1, 9)]
        #: Chunk -> the kinds of its tiles, and the number that says which are blocked.
        self._chunks: dict[tuple[int, int], tuple[bytes, int]] = {}

    def kind(self, x: int, y: int) -> int:
        """Return the kind (DEEP .. PLAZA) of the tile in column `x`, row `y`."""
        return self.chunk(x // CHUNK, y // CHUNK)[y % CHUNK * CHUNK + x % CHUNK]

    def blocked(self, x: int, y: int) -> bool:
        """Say whether nobody can stand on the tile."""
        key = x // CHUNK, y // CHUNK
        _, bits = self._chunks.get(key) or self._make(key)
        return bits >> y % CHUNK * CHUNK + x % CHUNK & 1 == 1

    def free(self, x0: int, y0: int, x1: int, y1: int) -> bool:
        """Say whether no tile is blocked from column x0 to x1 and row y0 to y1, all included."""
        first, last = (x0 // CHUNK, y0 // CHUNK), (x1 // CHUNK, y1 // CHUNK)
        keys: Iterable[tuple[int, int]] = (first,)
        if first != last:
            keys = product(range(first[0], last[0] + 1), range(first[1], last[1] + 1))
        for key in keys:
            _, bits = self._chunks.get(key) or self._make(key)
            if bits:
                # The part of the box that is in this chunk.
                left, top = key[0] * CHUNK, key[1] * CHUNK
                left, right = max(x0 - left, 0), min(x1 - left, CHUNK - 1)
                top, bottom = max(y0 - top, 0), min(y1 - top, CHUNK - 1)
                if bits >> top * CHUNK + left & _BOX[bottom - top][right - left]:
                    return False
        return True

    def chunk(self, cx: int, cy: int) -> bytes:
        """Return the kinds of the CHUNK x CHUNK tiles of a chunk, row after row."""
        kinds, _ = self._chunks.get((cx, cy)) or self._make((cx, cy))
        return kinds

    def _make(self, key: tuple[int, int]) -> tuple[bytes, int]:
        if len(self._chunks) >= CACHED_CHUNKS:
            del self._chunks[next(iter(self._chunks))]
        kinds = bytes(kind for kind, *_ in self.fields(*key))
        # The first tile is the lowest bit, and so the last digit.
        chunk = self._chunks[key] = kinds, int(kinds.translate(_BLOCKED_DIGIT)[::-1], 2)
        return chunk

    def fields(self, cx: int, cy: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield (kind, height, wood, distance to the nearest path in 1/16 tile) of each tile."""
        left, top = cx * CHUNK, cy * CHUNK
        if not (-LIMIT <= left < LIMIT and -LIMIT <= top < LIMIT):
            for _ in range(CHUNK * CHUNK):
                yield DEEP, 0, 0, PATH_FAR
            return
        coarse = self._noise(0, 64, left, top)
        middle = self._noise(1, 32, left, top)
        fine = self._noise(2, 16, left, top)
        groves = self._noise(3, 32, left, top)
        trees = self._noise(4, 16, left, top)
        paths = self._paths(left, top)
        for i in range(CHUNK * CHUNK):
            x, y = left + i % CHUNK, top + i // CHUNK
            height = (4 * coarse[i] + 2 * middle[i] + fine[i]) // 7
            wood = (2 * groves[i] + trees[i]) // 3
            if abs(x) < CLEARING_ENDS and abs(y) < CLEARING_ENDS:
                wild = (x * x + y * y - CLEARING**2) * 1024 // (CLEARING_ENDS**2 - CLEARING**2)
                wild = min(max(wild, 0), 1024)
                height = MEADOW + (height - MEADOW) * wild // 1024
                wood = wood * wild // 1024
            path = paths[i]
            if x * x + y * y <= PLAZA_WITHIN**2:
                kind = PLAZA
            elif path <= PATH_WITHIN:
                kind = BRIDGE if height < WATER_BELOW else PATH
            elif height < DEEP_BELOW:
                kind = DEEP
            elif height < WATER_BELOW:
                kind = WATER
            elif height < SAND_BELOW:
                kind = SAND
            elif height >= ROCK_FROM:
                kind = ROCK
            elif wood >= WOOD_FROM:
                kind = WOOD
            else:
                kind = GRASS
            yield kind, height, wood, path

    def _hash(self, layer: int, x: int, y: int) -> int:
        return hash32(hash32(x * 0x9E3779B1 + self._salts[layer]) + y * 0x85EBCA77)

    def _noise(self, layer: int, length: int, left: int, top: int) -> list[int]:
        """Return value noise (0..65535) for each tile of a chunk, over a lattice of `length` tiles.

        `length` is a multiple of CHUNK, so that a whole chunk lies between four corners. `left` and
        `top` are the chunk's first column and row.
        """
        smooth = _SMOOTH[length]
        i, j = left // length, top // length
        x0, y0 = left - i * length, top - j * length
        a, b = self._hash(layer, i, j) >> 16, self._hash(layer, i + 1, j) >> 16
        c, d = self._hash(layer, i, j + 1) >> 16, self._hash(layer, i + 1, j + 1) >> 16
        upper = [a * 1024 + (b - a) * s for s in smooth[x0 : x0 + CHUNK]]
        lower = [c * 1024 + (d - c) * s for s in smooth[x0 : x0 + CHUNK]]
        return [
            (u * 1024 + (v - u) * s) // 1048576
            for s in smooth[y0 : y0 + CHUNK]
            for u, v in zip(upper, lower, strict=True)
        ]

    def waypoint(self, i: int, j: int) -> tuple[int, int]:
        """Return the tile at which paths meet in cell (i, j); in cell (0, 0) it is the origin."""
        if i == 0 and j == 0:
            return 0, 0
        h = self._hash(5, i, j)
        return (
            i * CELL + (h & 0xFFFF) % (2 * STRAY + 1) - STRAY,
            j * CELL + (h >> 16) % (2 * STRAY + 1) - STRAY,
        )

    def edges(self, i: int, j: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield the paths, as tiles (x0, y0, x1, y1), that may pass through cell (i, j).

        All neighbours in a row are joined. Neighbours in a column are all joined in even columns,
        and half of them in odd ones: so everything is connected, and looks less like a grid.
        """
        here = self.waypoint(i, j)
        for k in (i - 1, i):
            yield *self.waypoint(k, j), *self.waypoint(k + 1, j)
        if i % 2 == 0 or self._hash(5, i, j - 1) & 0x8000:
            yield *self.waypoint(i, j - 1), *here
        if i % 2 == 0 or self._hash(5, i, j) & 0x8000:
            yield *here, *self.waypoint(i, j + 1)

    def _paths(self, left: int, top: int) -> list[int]:
        """Return for each tile of a chunk the distance to the nearest path, in 1/16 tile."""
        # Bending moves a tile by up to WARP, perhaps into the next cell.
        reach = (WARP + PATH_FAR) // 16 + 1
        edges: set[tuple[int, int, int, int]] = set()
        for j in {(y + CELL // 2) // CELL for y in (top - reach, top + CHUNK + reach)}:
            for i in {(x + CELL // 2) // CELL for x in (left - reach, left + CHUNK + reach)}:
                edges.update(self.edges(i, j))
        near = []
        for x0, y0, x1, y1 in edges:
            if (
                min(x0, x1) - reach <= left + CHUNK
                and max(x0, x1) + reach >= left
                and min(y0, y1) - reach <= top + CHUNK
                and max(y0, y1) + reach >= top
            ):
                ax, ay = (x0 - left) * 16, (y0 - top) * 16
                dx, dy = (x1 - x0) * 16, (y1 - y0) * 16
                near.append((ax, ay, dx, dy, dx * dx + dy * dy))
        if not near:
            return [PATH_FAR] * (CHUNK * CHUNK)
        bend_x = self._noise(6, 32, left, top)
        bend_y = self._noise(7, 32, left, top)
        distances = []
        for i in range(CHUNK * CHUNK):
            px = i % CHUNK * 16 + (bend_x[i] - 32768) * WARP // 32768
            py = i // CHUNK * 16 + (bend_y[i] - 32768) * WARP // 32768
            best = PATH_FAR * PATH_FAR
            for ax, ay, dx, dy, length2 in near:
                rx, ry = px - ax, py - ay
                along = rx * dx + ry * dy
                if along <= 0:
                    d2 = rx * rx + ry * ry
                elif along >= length2:
                    d2 = (rx - dx) * (rx - dx) + (ry - dy) * (ry - dy)
                else:
                    cross = rx * dy - ry * dx
                    d2 = cross * cross // length2
                if d2 < best:
                    best = d2
            distances.append(isqrt(best))
        return distances
