"""Dots of the map of everybody: how squares are joined to them, and areas of the world.

A dot of grain g is an area of the world that is 2^g squares wide and high: a dot of grain 0 is a
square. Each dot lies in one dot of each coarser grain. The squares around the origin are in the
middle of a dot of each grain divisible by 4, so what is close together there is not spread over
four. Clients get dots in patches of 4 x 4. This module is arithmetic, and counts nobody.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from flatlands.server.messages.peer_protocol import CROWD_MOST, PATCH_DOTS_MOST, WIDEST
from flatlands.world.grid import Rect, Square

#: For each four grains: how many squares lie between the corner of dot 0 and the origin.
SHIFTS: Final = tuple(8 * (16**level - 1) // 15 for level in range(WIDEST // 4 + 1))

#: A position on the map: the column and row of a dot of some grain.
DotPosition = tuple[int, int]


class MapArea(NamedTuple):
    """An area of the world that clients look at: the dot (`column`, `row`) of a `grain`. Each node
    publishes its players in it as `most` smaller dots or fewer."""

    grain: int
    column: int
    row: int
    most: int


#: The whole world as one dot: how many are in it.
WORLD_TOTALS: Final = MapArea(WIDEST, 0, 0, 1)

#: The whole world as dots: who is where, roughly if there are many.
WORLD_DOTS: Final = MapArea(WIDEST, 0, 0, PATCH_DOTS_MOST)

#: All squares of the world, whatever that costs, for programs that look at the world.
WORLD_SQUARES: Final = MapArea(WIDEST, 0, 0, CROWD_MOST)


def dot_at(square: Square, grain: int) -> DotPosition:
    """Return the dot of a grain in which a square lies."""
    shift = SHIFTS[grain >> 2]
    return (square[0] + shift) >> grain, (square[1] + shift) >> grain


def patch_of(dot: DotPosition) -> tuple[DotPosition, int]:
    """Return the patch in which a dot lies, and its index there: row by row, from 0 to 15."""
    column, row = dot
    return (column >> 2, row >> 2), (row & 3) << 2 | column & 3


def dots_within(squares: Rect, grain: int) -> Rect:
    """Return the dots of a grain that have any of some squares, as a rectangle."""
    return Rect(*dot_at(squares[:2], grain), *dot_at(squares[2:], grain))


def patches_within(squares: Rect, grain: int) -> Rect:
    """Return the patches of dots of a grain that have any of some squares, as a rectangle."""
    dots = dots_within(squares, grain)
    return Rect(*patch_of(dots[:2])[0], *patch_of(dots[2:])[0])


def areas_around(squares: Rect, grain: int) -> list[MapArea]:
    """Return the areas, four at most, that have all of some squares, and are larger than dots of a
    grain."""
    wide = max(squares.c1 - squares.c0, squares.r1 - squares.r0).bit_length()
    wide = max(wide, grain + 2)
    if wide >= WIDEST:
        return [WORLD_DOTS]
    return [MapArea(wide, *dot, PATCH_DOTS_MOST) for dot in dots_within(squares, wide).squares()]


def finest(squares: Collection[Square], area: MapArea, guess: int) -> int:
    """Return the finest grain at which some squares of an area lie in no more dots than it may
    have. The search begins at `guess`."""
    if len(squares) <= area.most:
        return 0
    if area.most == 1:
        return area.grain

    def fits(grain: int) -> bool:
        shift = SHIFTS[grain >> 2]
        dots = {((column + shift) >> grain, (row + shift) >> grain) for column, row in squares}
        return len(dots) <= area.most

    while not fits(guess):
        guess += 1
    while guess > 1 and fits(guess - 1):
        guess -= 1
    return guess
