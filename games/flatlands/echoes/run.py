"""Runs: the part of a recorded way that leads from one signpost to another, and how it is kept.

A way is a list of points (ms, x, y), places in units, as `Me.recorded` returns it. This module
never looks at a clock, and never asks the store.
"""

from base64 import b64encode
from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from struct import Struct
from typing import Final

from flatlands.world.track import UNIT

#: The radius of the ring around a signpost, in tiles: a run begins where it leaves the first ring,
#: and ends where it enters the second.
RING: Final = 4

#: The most characters of a packed run.
LENGTH: Final = 1000

#: Units by which a packed run may be off the true one, if that makes it short enough.
BESIDE: Final = UNIT // 16

#: The most points in a row that are left out: otherwise packing a long run takes long.
IN_A_ROW: Final = 16

#: A packed point: ms, and x and y from the signpost in 1/128 tile. No run of LONGEST ms exceeds it.
_POINT: Final = Struct("<Hhh")
_FINE: Final = UNIT // 128

Point = tuple[int, int, int]
Place = tuple[int, int]


def between(way: Sequence[Point], start: Place, goal: Place) -> list[Point] | None:
    """Return the part of a way from where it last leaves the ring around `start` to where it first
    enters the ring around `goal`; None if it does not."""
    left: tuple[int, Point] | None = None
    for n, (one, other) in enumerate(pairwise(way)):
        stays, comes = _inside(one, other, start), _inside(one, other, goal)
        if stays is not None and (comes is None or stays[1] < comes[0]):
            left = n, _at(one, other, stays[1])
        if comes is not None:
            if left is None:
                return None
            return [left[1], *way[left[0] + 1 : n + 1], _at(one, other, comes[0])]
    return None


def packed(run: Sequence[Point], start: Place) -> str:
    """Return a run as base64 text: for each point the ms since the first one, in two bytes, and x
    and y from `start`, in 1/128 tile, in two bytes each. Points that a straight way passes closely
    are left out."""
    beside, kept = BESIDE, _simpler(run, BESIDE)
    while len(kept) * _POINT.size * 4 / 3 > LENGTH:
        beside *= 2
        kept = _simpler(run, beside)
    (begun, *_), (left, top) = run[0], start
    points = [(t - begun, (x - left) // _FINE, (y - top) // _FINE) for t, x, y in kept]
    return b64encode(b"".join(_POINT.pack(*point) for point in points)).decode()


def _inside(one: Point, other: Point, place: Place) -> tuple[float, float] | None:
    """Return the shares of a straight way between which it is in the ring around a place."""
    x, y, dx, dy = one[1] - place[0], one[2] - place[1], other[1] - one[1], other[2] - one[2]
    length, along, over = dx * dx + dy * dy, x * dx + y * dy, x * x + y * y - (RING * UNIT) ** 2
    if not length:
        return (0, 1) if over <= 0 else None
    root = along * along - length * over
    if root < 0:
        return None
    first, last = ((-along + side * sqrt(root)) / length for side in (-1, 1))
    return (max(first, 0), min(last, 1)) if first <= 1 and last >= 0 else None


def _at(one: Point, other: Point, share: float) -> Point:
    t, x, y = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return t, x, y


def _simpler(run: Sequence[Point], beside: int) -> list[Point]:
    """Return a run without points that are within `beside` units of the straight way from the last
    point that is kept to the next one; at most IN_A_ROW in a row are left out."""
    kept, last = [run[0]], 0
    for n in range(1, len(run) - 1):
        left_out, ends = run[last + 1 : n + 1], (run[last], run[n + 1])
        if len(left_out) > IN_A_ROW or any(_off(*ends, one) > beside for one in left_out):
            kept.append(run[n])
            last = n
    return [*kept, run[-1]]


def _off(one: Point, other: Point, point: Point) -> float:
    """Return how far a point is from where a straight way is at the point's time."""
    share = (point[0] - one[0]) / max(other[0] - one[0], 1)
    return max(abs(one[n] + (other[n] - one[n]) * share - point[n]) for n in (1, 2))
