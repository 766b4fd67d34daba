"""Terrain as a function of the world's seed and a tile: it needs no file, and is never sent.

static/terrain.js is this module's twin; tests/vectors/terrain.json holds both to the same digits.
Only + - *, floor division and 32-bit multiplication are used, so that both languages agree. The
module never uses a float, and keeps nothing except bounded caches.

The ground has three layers. Value noise over lattices of 64, 32 and 16 tiles makes the height: low
ground is water, high ground is plateaus, and the slope below each of them is a rim of rock. A
second noise turns some of the grass between into woods. A waypoint in each plot of 64 tiles makes
the paths: each is joined to some of its neighbours, so that all are connected, and a third noise
bends the paths. They lead over everything, so a player that follows them can walk on for ever.

A plateau is climbed on a path or by a ramp. Each chunk of 16 by 16 tiles has two strips, one along
its rows and one along its columns. Wherever a strip leads over a rim, from ground that is low
across its whole width to a plateau, the rock in it is a ramp. So a ramp is never a dead end, and a
chunk knows its ramps from its own heights.

`Terrain.tile` computes all this for one tile, and is slow. Walks ask only which tiles are blocked,
often on ground that nobody has seen yet, so this is computed for the 256 tiles of a chunk at once
(world/lanes.py), and only as far as needed: if the height blocks no tile of the chunk, paths are
not looked for.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import product
from math import isqrt
from struct import Struct
from typing import Final

from flatlands.world import lanes
from flatlands.world.lru_cache import LRUCache

# The kinds of tiles.
DEEP: Final = 0
WATER: Final = 1
SAND: Final = 2
GRASS: Final = 3
WOOD: Final = 4
ROCK: Final = 5
PATH: Final = 6
BRIDGE: Final = 7
PLAZA: Final = 8
RAMP: Final = 9
PLATEAU: Final = 10

#: Grows whenever the same seed makes different ground, so that a page knows that it must be loaded
#: again. The version of the messages between nodes must then grow too.
GROUND: Final = 3

#: The kinds of tiles that nobody can stand on.
BLOCKED: Final = frozenset((DEEP, WATER, ROCK))

#: The kinds of free tiles that are high. A small plateau may have no way up, so nothing that must
#: be reached is put on them.
HIGH: Final = frozenset((RAMP, PLATEAU))

#: The side, in tiles, of the pieces in which blocked tiles are computed. (They are not squares.)
CHUNK: Final = 16

#: Tiles from -GROUND_LIMIT to GROUND_LIMIT - 1 have ground; all beyond is deep water.
GROUND_LIMIT: Final = 2**30

#: One Terrain keeps so many chunks, of about 400 bytes each.
CACHED_CHUNKS = 16384
#: One Terrain keeps so many plots, of about 700 bytes each.
CACHED_PLOTS = 4096

# The blocked tiles of a chunk are one number, with bit y * CHUNK + x for each tile. _BOX[h][w] is
# the number of a box of w + 1 by h + 1 tiles in the first corner.
_BOX: Final = [
    [sum((2 << w) - 1 << y * CHUNK for y in range(h + 1)) for w in range(CHUNK)]
    for h in range(CHUNK)
]
_ALL_BLOCKED: Final = _BOX[-1][-1]

# Heights and woods are 0..65535.
DEEP_BELOW: Final = 19500
WATER_BELOW: Final = 23500
SAND_BELOW: Final = 25500
ROCK_FROM: Final = 43500
_LOW: Final = (DEEP_BELOW, WATER_BELOW)
#: The height at which plateaus begin. Outside the clearing, the heights of adjacent tiles differ by
#: less than the height of a rim (2634 at most), so no rim has a gap.
PLATEAU_FROM: Final = 46140
WOOD_FROM: Final = 35000
MEADOW: Final = 33000

#: Half the width of a path, and the largest distance to one that is computed, in 1/16 tile.
PATH_WITHIN: Final = 24
PATH_FAR: Final = 160

PLOT_SIDE: Final = 64  # tiles between waypoints
STRAY: Final = 24  # tiles: how far a waypoint may be from the middle of its plot, along each axis
WARP: Final = 96  # 1/16 tile: how far the bending noise moves a path at most
MIDDLE_STEPS: Final = 6  # in which the middle of a bent path is found

#: The width of a ramp, and the most tiles from low ground to the plateau.
RAMP_WIDTH: Final = 3
RAMP_LONGEST: Final = 9

PLAZA_WITHIN: Final = 7  # tiles
CLEARING: Final = 12  # tiles from the origin within which all is meadow ...
CLEARING_ENDS: Final = 44  # ... and from which on nothing is changed for the meadow

# Value noises: the layer of their hashes, and the tiles between the points of their lattice. The
# length is a multiple of CHUNK, so that a whole chunk lies between four points.
_HEIGHT: Final = (0, 64), (1, 32), (2, 16)
_WOODS: Final = (3, 32), (4, 16)
_WAYPOINTS: Final = 5
_BEND: Final = (6, 32), (7, 32)
_BLOCKS: Final = 8
_RAMPS: Final = 9

_MASK: Final = 0xFFFFFFFF
_ACROSS: Final = 0x9E3779B1
_DOWN: Final = 0x85EBCA77

# Words of 64 bits for 8 and 12 hashes, with their mask for hash32; and the high halves of four.
_WORDS: Final = {n: (Struct(f"<{n}Q"), sum(_MASK << 64 * k for k in range(n))) for n in (8, 12)}
_FOUR_CORNERS: Final = Struct("<2xH4x2xH4x2xH4x2xH4x")

_Noises = Sequence[tuple[int, int]]


def hash32(x: int, mask: int = _MASK) -> int:
    """Mix 32 bits: `lowbias32` of Chris Wellons' hash-prospector (public domain).

    With a mask that has _MASK in each 64 bits, it mixes 32 of each 64 bits of `x`.
    """
    x &= mask
    x = (x ^ x >> 16 & mask) * 0x7FEB352D & mask
    x = (x ^ x >> 15 & mask) * 0x846CA68B & mask
    return x ^ x >> 16 & mask


def _smooth(length: int) -> list[int]:
    """Return smoothstep at 0..length-1 of `length`, in 1/1024."""
    return [f * f * (3 * length - 2 * f) * 1024 // length**3 for f in range(length)]


_SMOOTH: Final = {length: _smooth(length) for length in (16, 32, 64)}


def _weights(length: int, left: int, top: int) -> tuple[int, int, int, int]:
    """Return the weight of each corner of a lattice's cell for the tiles of a chunk in it.

    Weights are lanes, in 1/2^20; `left` and `top` are the chunk's first column and row in the cell.
    """
    across = _SMOOTH[length][left : left + CHUNK] * CHUNK
    down = [part for part in _SMOOTH[length][top : top + CHUNK] for _ in range(CHUNK)]
    both = list(zip(across, down, strict=True))
    return (
        lanes.pack([(1024 - x) * (1024 - y) for x, y in both]),
        lanes.pack([x * (1024 - y) for x, y in both]),
        lanes.pack([(1024 - x) * y for x, y in both]),
        lanes.pack([x * y for x, y in both]),
    )


_WEIGHTS: Final = {
    (length, left, top): _weights(length, left, top)
    for length in _SMOOTH
    for left, top in product(range(0, length, CHUNK), repeat=2)
}

# The columns and rows of a chunk's tiles, in 1/16 tile.
_COLUMNS: Final = lanes.pack([i % CHUNK * 16 for i in range(CHUNK * CHUNK)])
_ROWS: Final = lanes.pack([i // CHUNK * 16 for i in range(CHUNK * CHUNK)])

# The middle of all places to which bending may move the chunk's tiles, in 1/16 tile from WARP
# before its corner; and how far from there, along an axis, a path that reaches them may run.
_MIDDLE: Final = (CHUNK * 16 + 2 * WARP) // 2
_NEAR: Final = _MIDDLE + PATH_WITHIN + 1


class _Chunk:
    """The blocked tiles of a chunk: bit y * CHUNK + x for each, in one number and in bytes.

    The number is for boxes of tiles. One tile is found faster in the bytes.
    """

    __slots__ = ("bits", "octets")

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.octets = bits.to_bytes(CHUNK * CHUNK // 8, "little")


class Terrain:
    """The ground of one world.

    `seed` is any integer; only its low 32 bits count.
    """

    #: The number by which clients know the function that makes it.
    function: Final = GROUND

    def __init__(self, seed: int) -> None:
        self.seed = seed & _MASK
        self._salts = [hash32(self.seed + hash32(layer)) for layer in range(1, 11)]
        #: Chunk -> its blocked tiles; plot -> its paths.
        self._chunks = LRUCache(self._blocked_tiles, CACHED_CHUNKS)
        self._plots = LRUCache(self._joined, CACHED_PLOTS)
        #: The column and row of the chunk in which `blocked` looked last, and that chunk's tiles.
        #: Initially that is a chunk far beyond GROUND_LIMIT.
        self._column = self._row = GROUND_LIMIT
        self._octets = _Chunk(_ALL_BLOCKED).octets

    def kind(self, x: int, y: int) -> int:
        """Return the kind (DEEP .. PLATEAU) of the tile in column `x`, row `y`."""
        return self.tile(x, y)[0]

    def high(self, x: int, y: int) -> bool:
        """Return whether the tile is free, and high: a ramp or a plateau."""
        # Most ground is low, and its height alone says so.
        return self._height(x, y) >= ROCK_FROM and self.kind(x, y) in HIGH

    def blocked(self, x: int, y: int) -> bool:
        """Return whether nobody can stand on the tile."""
        column, row = x // CHUNK, y // CHUNK
        # A walk asks for many tiles of one chunk in a row.
        if column != self._column or row != self._row:
            self._octets = self._chunks[column, row].octets
            self._column, self._row = column, row
        octets = self._octets
        tile = y % CHUNK * CHUNK + x % CHUNK
        return octets[tile >> 3] >> (tile & 7) & 1 == 1

    def free(self, x0: int, y0: int, x1: int, y1: int) -> bool:
        """Return whether no tile is blocked in the box with these opposite corners.

        Chunks are checked from (x0, y0) on, until one of them decides.
        """
        cx, cy, last_cx, last_cy = x0 // CHUNK, y0 // CHUNK, x1 // CHUNK, y1 // CHUNK
        first_cy = cy
        while True:
            bits = self._chunks[cx, cy].bits
            if bits:
                # The part of the box that is in this chunk.
                left, top = cx * CHUNK, cy * CHUNK
                x, right = (x0 - left, x1 - left) if x0 <= x1 else (x1 - left, x0 - left)
                y, bottom = (y0 - top, y1 - top) if y0 <= y1 else (y1 - top, y0 - top)
                x, right = max(x, 0), min(right, CHUNK - 1)
                y, bottom = max(y, 0), min(bottom, CHUNK - 1)
                if bits >> y * CHUNK + x & _BOX[bottom - y][right - x]:
                    return False
            if cy != last_cy:
                cy += 1 if cy < last_cy else -1
            elif cx != last_cx:
                cx, cy = cx + (1 if cx < last_cx else -1), first_cy
            else:
                return True

    def tile(self, x: int, y: int) -> tuple[int, int, int, int]:
        """Return (kind, height, wood, distance to the nearest path in 1/16 tile) of a tile."""
        if not (-GROUND_LIMIT <= x < GROUND_LIMIT and -GROUND_LIMIT <= y < GROUND_LIMIT):
            return DEEP, 0, 0, PATH_FAR
        height, path = self._height(x, y), self._path(x, y)
        groves, trees = [self._noise(layer, length, x, y) for layer, length in _WOODS]
        wood = (2 * groves + trees) // 3 * _wild(x, y) // 1024
        if x * x + y * y <= PLAZA_WITHIN**2:
            kind = PLAZA
        elif path <= PATH_WITHIN:
            kind = BRIDGE if height < WATER_BELOW else PATH
        elif height < SAND_BELOW:
            kind = bisect(_LOW, height)  # DEEP, WATER or SAND
        elif height >= PLATEAU_FROM:
            kind = PLATEAU
        elif height >= ROCK_FROM:
            kind = ROCK if self.blocked(x, y) else RAMP
        elif wood >= WOOD_FROM:
            kind = WOOD
        else:
            kind = GRASS
        return kind, height, wood, path

    def _height(self, x: int, y: int) -> int:
        """Return the height of a tile."""
        coarse, middle, fine = [self._noise(layer, length, x, y) for layer, length in _HEIGHT]
        height = (4 * coarse + 2 * middle + fine) // 7
        return MEADOW + (height - MEADOW) * _wild(x, y) // 1024

    def _strips(self, cx: int, cy: int) -> tuple[int, int]:
        """Return the first row and the first column of the two strips of a chunk, 0 to 13."""
        h = self._hash(_RAMPS, cx, cy)
        return (h & 0xFFFF) % (CHUNK - RAMP_WIDTH + 1), (h >> 16) % (CHUNK - RAMP_WIDTH + 1)

    def _noise(self, layer: int, length: int, x: int, y: int) -> int:
        """Return value noise (0..65535) at a tile, over a lattice of `length` tiles."""
        i, j = x // length, y // length
        right, lower = _SMOOTH[length][x % length], _SMOOTH[length][y % length]
        a, b = self._hash(layer, i, j) >> 16, self._hash(layer, i + 1, j) >> 16
        c, d = self._hash(layer, i, j + 1) >> 16, self._hash(layer, i + 1, j + 1) >> 16
        upper, under = a * 1024 + (b - a) * right, c * 1024 + (d - c) * right
        return (upper * 1024 + (under - upper) * lower) // 1048576

    def _hash(self, layer: int, x: int, y: int) -> int:
        return hash32(hash32(x * _ACROSS + self._salts[layer]) + y * _DOWN)

    def waypoint(self, i: int, j: int) -> tuple[int, int]:
        """Return the tile at which paths meet in plot (i, j); in plot (0, 0) it is the origin."""
        if i == 0 and j == 0:
            return 0, 0
        h = self._hash(_WAYPOINTS, i, j)
        return (
            i * PLOT_SIDE + (h & 0xFFFF) % (2 * STRAY + 1) - STRAY,
            j * PLOT_SIDE + (h >> 16) % (2 * STRAY + 1) - STRAY,
        )

    def edges(self, i: int, j: int) -> Sequence[tuple[int, int, int, int]]:
        """Return the paths, as tiles (x0, y0, x1, y1), that may pass through plot (i, j).

        Every four plots form a block. Three of the four pairs of neighbours in it are joined, and
        one of the two pairs across its border with each adjacent block, so everything is connected
        and nothing looks like a grid. The origin is joined to all its neighbours.
        """
        return self._plots[i, j]

    def middle(self, px: int, py: int) -> tuple[int, int]:
        """Return the tile nearest to a point of a path. The point is given in 1/16 tile, as if no
        noise bent the path."""
        x, y, best, least = px // 16, py // 16, (0, 0), GROUND_LIMIT
        for _ in range(MIDDLE_STEPS):
            bend_x, bend_y = [self._noise(layer, length, x, y) for layer, length in _BEND]
            dx = px - x * 16 - (bend_x - 32768) * WARP // 32768
            dy = py - y * 16 - (bend_y - 32768) * WARP // 32768
            if dx * dx + dy * dy < least:
                least, best = dx * dx + dy * dy, (x, y)
            x, y = x + (dx + 8) // 16, y + (dy + 8) // 16
        return best

    def _joined(self, plot: tuple[int, int]) -> Sequence[tuple[int, int, int, int]]:
        i, j = plot
        edges = []
        for k in (i - 1, i):
            if self._joins_right(k, j):
                edges.append((*self.waypoint(k, j), *self.waypoint(k + 1, j)))
        for k in (j - 1, j):
            if self._joins_down(i, k):
                edges.append((*self.waypoint(i, k), *self.waypoint(i, k + 1)))
        return edges

    def _joins_right(self, i: int, j: int) -> bool:
        """Return whether a path joins the waypoints of the plots (i, j) and (i + 1, j)."""
        if j == 0 and -1 <= i <= 0:
            return True
        # Two bits of a block's hash say which pair in it is not joined, and one bit each says in
        # which of its rows and columns it is joined to the next blocks.
        h = self._hash(_BLOCKS, i // 2, j // 2)
        return h >> 2 & 1 == j % 2 if i % 2 else h & 3 != j % 2

    def _joins_down(self, i: int, j: int) -> bool:
        """Return whether a path joins the waypoints of the plots (i, j) and (i, j + 1)."""
        if i == 0 and -1 <= j <= 0:
            return True
        h = self._hash(_BLOCKS, i // 2, j // 2)
        return h >> 3 & 1 == i % 2 if j % 2 else h & 3 != 2 + i % 2

    def _path(self, x: int, y: int) -> int:
        """Return the distance from a tile to the nearest path, in 1/16 tile."""
        bend_x, bend_y = [self._noise(layer, length, x, y) for layer, length in _BEND]
        px = x * 16 + (bend_x - 32768) * WARP // 32768
        py = y * 16 + (bend_y - 32768) * WARP // 32768
        best = PATH_FAR * PATH_FAR
        for x0, y0, x1, y1 in self._edges_around(x, y):
            dx, dy = (x1 - x0) * 16, (y1 - y0) * 16
            rx, ry = px - x0 * 16, py - y0 * 16
            along, length2 = rx * dx + ry * dy, dx * dx + dy * dy
            if along <= 0:
                d2 = rx * rx + ry * ry
            elif along >= length2:
                d2 = (rx - dx) * (rx - dx) + (ry - dy) * (ry - dy)
            else:
                cross = rx * dy - ry * dx
                d2 = cross * cross // length2
            best = min(best, d2)
        return isqrt(best)

    def _edges_around(self, x: int, y: int) -> set[tuple[int, int, int, int]]:
        """Return the paths that may be within PATH_FAR of a tile."""
        # Bending moves a tile by up to WARP, perhaps into the next plot.
        reach = (WARP + PATH_FAR) // 16 + 1
        return {
            edge
            for j in {plot_index(y - reach), plot_index(y + reach)}
            for i in {plot_index(x - reach), plot_index(x + reach)}
            for edge in self._plots[i, j]
        }

    def _blocked_tiles(self, chunk: tuple[int, int]) -> _Chunk:
        """Return the blocked tiles of a chunk."""
        left, top = chunk[0] * CHUNK, chunk[1] * CHUNK
        if not (-GROUND_LIMIT <= left < GROUND_LIMIT and -GROUND_LIMIT <= top < GROUND_LIMIT):
            return _Chunk(_ALL_BLOCKED)
        coarse, middle, fine = self._noises(_HEIGHT, left, top)
        heights = 4 * coarse + 2 * middle + fine
        if max(abs(left), abs(top)) < CLEARING_ENDS + CHUNK:
            heights = _cleared(heights, left, top)
        low = lanes.between(heights, 7 * WATER_BELOW, 7 * ROCK_FROM) & lanes.FLAGS
        blocked = low ^ lanes.FLAGS
        high = blocked and lanes.at_least(heights, 7 * PLATEAU_FROM) & lanes.FLAGS
        blocked ^= high
        if not blocked:
            return _Chunk(0)
        bits = lanes.flag_bits(self._without_paths(blocked, left, top))
        if low and high:
            bits &= ~self._ramps(lanes.flag_bits(low), lanes.flag_bits(high), *chunk)
        return _Chunk(bits)

    def _ramps(self, low: int, high: int, cx: int, cy: int) -> int:
        """Return the tiles of a chunk's ramps, among others that are not blocked.

        `low` and `high` are its free tiles below rims, and its plateaus, as in a _Chunk. Water is
        never beside a rim.
        """
        row, column = self._strips(cx, cy)
        ramps = 0
        for i in _climbs(_rows(low, row), _rows(high, row)):
            ramps |= _BOX[RAMP_WIDTH - 1][0] << row * CHUNK + i
        for i in _climbs(_columns(low, column), _columns(high, column)):
            ramps |= _BOX[0][RAMP_WIDTH - 1] << i * CHUNK + column
        return ramps

    def _noises(self, noises: _Noises, left: int, top: int) -> Iterator[int]:
        """Yield for each noise (layer, length) its lanes for the tiles of a chunk, as in _noise.

        It adds the corners' values times their weights, which gives the same whole number.
        """
        corners = self._corners(noises, left, top)
        for (a, b, c, d), (_, length) in zip(corners, noises, strict=True):
            at_a, at_b, at_c, at_d = _WEIGHTS[length, left % length, top % length]
            yield (a * at_a + b * at_b + c * at_c + d * at_d) >> 20 & lanes.LOW_16

    def _corners(self, noises: _Noises, left: int, top: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield the values of each noise at the four points of its lattice around a chunk.

        They are the high halves of _hash, which is computed for all of them at once.
        """
        columns: list[int] = []
        rows: list[int] = []
        for layer, length in noises:
            column = left // length * _ACROSS + self._salts[layer]
            row = top // length * _DOWN
            columns += column, column + _ACROSS, column, column + _ACROSS
            rows += row, row, row + _DOWN, row + _DOWN
        words, mask = _WORDS[len(columns)]
        across = int.from_bytes(words.pack(*[x & _MASK for x in columns]), "little")
        down = int.from_bytes(words.pack(*[y & _MASK for y in rows]), "little")
        hashes = hash32(hash32(across, mask) + down, mask)
        return _FOUR_CORNERS.iter_unpack(hashes.to_bytes(words.size, "little"))

    def _without_paths(self, blocked: int, left: int, top: int) -> int:
        """Clear the flags of the tiles that are within PATH_WITHIN of a path.

        All these paths pass through the chunk's plot: bending and half a path's width together are
        less than 8 tiles, and STRAY keeps other paths 8 tiles away from the plot.
        """
        i, j = plot_index(left), plot_index(top)
        # In 1/16 tile, from where the chunk's corner is if bending moves it farthest back.
        x, y = left * 16 - WARP, top * 16 - WARP
        paths = [
            (x0 * 16 - x, y0 * 16 - y, (x1 - x0) * 16, (y1 - y0) * 16)
            for x0, y0, x1, y1 in self._plots[i, j]
        ]
        near = [path for path in paths if _is_near(*path)]
        if not near:
            return blocked
        bend_x, bend_y = self._noises(_BEND, left, top)
        px = _COLUMNS + (bend_x * WARP >> 15 & lanes.LOW_16)
        py = _ROWS + (bend_y * WARP >> 15 & lanes.LOW_16)
        for path in near:
            blocked ^= blocked & _beside(px, py, *path)
        end_x, end_y = self.waypoint(i, j)
        return blocked ^ _around(blocked, px, py, end_x * 16 - x, end_y * 16 - y)


def plot_index(tile: int) -> int:
    """Return the column or row of the plot in which a column or row of tiles lies."""
    return (tile + PLOT_SIDE // 2) // PLOT_SIDE


def _wild(x: int, y: int) -> int:
    """Return how much of its own height and wood a tile keeps, in 1/1024: less in the clearing."""
    if abs(x) >= CLEARING_ENDS or abs(y) >= CLEARING_ENDS:
        return 1024
    wild = (x * x + y * y - CLEARING**2) * 1024 // (CLEARING_ENDS**2 - CLEARING**2)
    return min(max(wild, 0), 1024)


def _cleared(heights: int, left: int, top: int) -> int:
    """Return the heights of a chunk, in 1/7, after the clearing has moved them."""
    moved = []
    for i in range(CHUNK * CHUNK):
        height, wild = lanes.value(heights, i) // 7, _wild(left + i % CHUNK, top + i // CHUNK)
        moved.append(7 * (MEADOW + (height - MEADOW) * wild // 1024))
    return lanes.pack(moved)


def _rows(bits: int, row: int) -> int:
    """Return the columns in which a strip that begins at a row of a chunk has all tiles set."""
    bits >>= row * CHUNK
    for _ in range(RAMP_WIDTH - 1):
        bits &= bits >> CHUNK
    return bits & _BOX[0][-1]


def _columns(bits: int, column: int) -> int:
    """Return the rows in which a strip that begins at a column of a chunk has all tiles set."""
    bits >>= column
    for _ in range(RAMP_WIDTH - 1):
        bits &= bits >> 1
    return sum((bits >> i * CHUNK & 1) << i for i in range(CHUNK))


def _climbs(lows: int, highs: int) -> Iterator[int]:
    """Yield the places of a strip, 0 to CHUNK - 1, that are on a ramp.

    `lows` and `highs` have a bit for each place that is low, or on a plateau, in its whole width.
    What lies between a low and a high place is a ramp, if it is not too long.
    """
    last, was_high = CHUNK, False
    for i in range(CHUNK):
        is_high = highs >> i & 1 == 1
        if is_high or lows >> i & 1:
            if is_high != was_high and 0 < i - last - 1 <= RAMP_LONGEST:
                yield from range(last + 1, i)
            last, was_high = i, is_high


def _is_near(ax: int, ay: int, dx: int, dy: int) -> bool:
    """Return whether a path from (ax, ay) by (dx, dy) may be near enough to have a tile on it."""
    # From here on, the middle is the origin.
    ax, ay = ax - _MIDDLE, ay - _MIDDLE
    return (
        min(ax, ax + dx) <= _NEAR
        and max(ax, ax + dx) >= -_NEAR
        and min(ay, ay + dy) <= _NEAR
        and max(ay, ay + dy) >= -_NEAR
        and abs(ax * dy - ay * dx) <= _NEAR * (abs(dx) + abs(dy))
    )


def _beside(px: int, py: int, ax: int, ay: int, dx: int, dy: int) -> int:
    """Set the flag where (px, py) is beside a path from (ax, ay) by (dx, dy), and close to it.

    That is what _path computes: `isqrt(d2) <= PATH_WITHIN` is `cross**2 < (PATH_WITHIN + 1)**2 *
    length2`. Both products are without (ax, ay) here, so the bounds are moved instead.
    """
    length2 = dx * dx + dy * dy
    within = isqrt((PATH_WITHIN + 1) ** 2 * length2 - 1)
    start, line = ax * dx + ay * dy, ax * dy - ay * dx
    along, cross = px * dx + py * dy, px * dy - py * dx
    return lanes.between(along, start + 1, start + length2) & lanes.between(
        cross, line - within, line + within + 1
    )


def _around(blocked: int, px: int, py: int, x: int, y: int) -> int:
    """Return the flags of `blocked` where (px, py) is close to (x, y), where paths end."""
    flags, reach = 0, PATH_WITHIN + 1
    if abs(x - _MIDDLE) >= _NEAR or abs(y - _MIDDLE) >= _NEAR:
        return flags
    box = lanes.between(px, x - PATH_WITHIN, x + reach)
    box &= lanes.between(py, y - PATH_WITHIN, y + reach)
    # Lanes cannot be multiplied by each other, but few are left.
    for lane in lanes.numbers_of(lanes.flag_bits(box & blocked)):
        rx, ry = lanes.value(px, lane) - x, lanes.value(py, lane) - y
        if rx * rx + ry * ry < reach * reach:
            flags |= lanes.flag(lane)
    return flags
