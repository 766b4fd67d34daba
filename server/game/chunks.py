"""Ground that is made in pieces by a function of its game: a byte for each tile.

Values from BARRED on bar players; lower ones do not. Otherwise the game decides how they are drawn.
The function gets the seed, and the column and the row of a piece, and always returns the same for
them: each node calls it, and browsers keep what it returns. A piece for which it fails is barred,
and is asked for again some seconds later.
"""

import inspect
import logging
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import ClassVar, Final

from flatlands.brokers.base import short_hash
from flatlands.brokers.guard import Throttle
from flatlands.world.lru_cache import LRUCache
from flatlands.world.terrain import GROUND_LIMIT

log = logging.getLogger("flatlands")

#: Tiles along each side of a piece.
PIECE_SIDE: Final = 64

#: The lowest value of a tile on which nobody can stand.
BARRED: Final = 128

#: Pieces that are kept for players that walk.
WALKED_PIECES: Final = 1024

#: Pieces that are kept for browsers, which ask by HTTP.
SHOWN_PIECES: Final = 256

#: The function is called again this long after it has failed for a piece.
FAILED_AGAIN_S: Final = 5.0

#: Value -> 1 if it bars.
_BARS: Final = bytes(value >= BARRED for value in range(256))

MakePiece = Callable[[int, int, int], bytes]


class PieceFailed(Exception):
    """The game's function raised an exception for a piece."""


class Chunks:
    """Ground made by a function of a game.

    Each game has a subclass with its function as `make`, and as `source` a text that changes
    whenever the function does.
    """

    #: See Terrain: clients ask for its pieces.
    function: Final = 1

    make: ClassVar[MakePiece]
    source: ClassVar[str] = ""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        #: Identifies the ground: another seed or function has another stamp.
        self.stamp = short_hash(f"{self.source} {seed}")
        self._pieces: LRUCache[tuple[int, int], bytes] = LRUCache(self._bars, WALKED_PIECES)
        self._shown: LRUCache[tuple[int, int], bytes] = LRUCache(self._try_make, SHOWN_PIECES)
        self._failed: dict[tuple[int, int], float] = {}
        self._warnings = Throttle()
        # If the function fails at once, the server does not start.
        self._call_make((0, 0))

    def piece(self, column: int, row: int) -> bytes:
        """Return the values of a piece's tiles, row after row, to be shown. Raises PieceFailed, and
        ValueError if there is no ground so far away."""
        if not max(abs(column), abs(row)) <= GROUND_LIMIT // PIECE_SIDE:
            raise ValueError("the world has no ground so far out")
        return self._shown[column, row]

    def value(self, x: int, y: int) -> int | None:
        """Return the value of a tile, to be shown; None if the function fails there, or if there is
        no ground so far away."""
        try:
            piece = self.piece(x // PIECE_SIDE, y // PIECE_SIDE)
        except (PieceFailed, ValueError):
            return None
        return piece[y % PIECE_SIDE * PIECE_SIDE + x % PIECE_SIDE]

    def blocked(self, x: int, y: int) -> bool:
        """Return whether nobody can stand on a tile."""
        try:
            bars = self._pieces[x // PIECE_SIDE, y // PIECE_SIDE]
            return bars[y % PIECE_SIDE * PIECE_SIDE + x % PIECE_SIDE] == 1
        except PieceFailed:
            return True

    def free(self, x0: int, y0: int, x1: int, y1: int) -> bool:
        """Return whether no tile is blocked in the box that has two tiles as opposite corners."""
        left, right = min(x0, x1), max(x0, x1)
        try:
            for y in range(y0, y1 + 1) if y0 <= y1 else range(y0, y1 - 1, -1):
                for column in range(left // PIECE_SIDE, right // PIECE_SIDE + 1):
                    bars = self._pieces[column, y // PIECE_SIDE]
                    first = y % PIECE_SIDE * PIECE_SIDE
                    begin = first + max(left - column * PIECE_SIDE, 0)
                    end = first + min(right - column * PIECE_SIDE, PIECE_SIDE - 1)
                    if 1 in bars[begin : end + 1]:
                        return False
        except PieceFailed:
            return False
        return True

    def high(self, _x: int, _y: int) -> bool:
        """Return whether a tile may have no way down: see terrain.py."""
        return False

    def _bars(self, place: tuple[int, int]) -> bytes:
        return self._try_make(place).translate(_BARS)

    def _call_make(self, place: tuple[int, int]) -> bytes:
        values: object = type(self).make(self.seed, *place)
        if not isinstance(values, bytes | bytearray) or len(values) != PIECE_SIDE**2:
            name = type(self).make.__name__
            raise ValueError(f"{name} must return {PIECE_SIDE**2} bytes, not {values!r:.60}")
        return bytes(values)

    def _try_make(self, place: tuple[int, int]) -> bytes:
        now = monotonic()
        if now < self._failed.get(place, 0):
            raise PieceFailed
        try:
            return self._call_make(place)
        except Exception as error:
            if len(self._failed) >= WALKED_PIECES:
                self._failed.clear()
            self._failed[place] = now + FAILED_AGAIN_S
            if self._warnings.allows(now):
                log.exception("the game's ground failed for piece %d, %d", *place)
            raise PieceFailed from error


def chunks(make: MakePiece) -> type[Chunks]:
    """Return ground that a function makes. From the seed of the world, and the column and the row
    of a piece of 64 x 64 tiles, the function makes the piece's 4,096 bytes, row after row.

    Nobody can stand on tiles with values from 128 on. The function always returns the same for the
    same piece, does not wait, and takes a few ms at most, which also count for a hook that looks at
    the ground; a node keeps 1,024 pieces. If it fails, all of that piece is barred for five
    seconds; if it fails for piece (0, 0), the server does not start.
    """
    path = inspect.getsourcefile(make)
    source = "" if path is None else Path(path).read_text()
    return type("Ground", (Chunks,), {"make": staticmethod(make), "source": source})
