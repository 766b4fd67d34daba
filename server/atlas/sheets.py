"""The sheets of the map of everybody: how squares are joined to dots, and dots to sheets.

A dot of grain g is a part of the world that is 2^g squares wide and high: a dot of grain 0 is a
square. A sheet has 16 x 16 dots. A sheet of level n has dots of grain 4n, and is itself one dot of
level n + 1. The squares around the origin are in the middle of a sheet of each level, so what is
close together there is not spread over four sheets. Clients are told of dots in patches of 4 x 4.
This module is arithmetic, and counts nobody.
"""

from typing import Final, NamedTuple

from flatlands.world.grid import Rect, Square

#: The level of the one sheet that has the whole world. Its dots are so large that the outermost of
#: them are empty.
TOP: Final = 7

#: The largest grain of a dot.
COARSEST: Final = 4 * TOP + 3

#: For each level: how many squares lie between the corner of dot 0 and the origin.
SHIFTS: Final = tuple(8 * (16**level - 1) // 15 for level in range(TOP + 1))

#: A position on the map: the column and row of a dot, or of a sheet, of some grain.
Place = tuple[int, int]


class Sheet(NamedTuple):
    """A sheet that has a channel: one of 16 x 16 dots of grain 4 x level."""

    level: int
    column: int
    row: int


ROOT: Final = Sheet(TOP, 0, 0)


def dot_at(square: Square, grain: int) -> Place:
    """Return the dot of a grain in which a square lies."""
    shift = SHIFTS[grain >> 2]
    return (square[0] + shift) >> grain, (square[1] + shift) >> grain


def around(dot: Place) -> tuple[Place, int]:
    """Return the sheet in which a dot lies, and its index there: row by row, from 0 to 255."""
    column, row = dot[0] + 8, dot[1] + 8
    return (column >> 4, row >> 4), (row & 15) << 4 | column & 15


def dot_of(sheet: Place, index: int) -> Place:
    """Return the dot with an index in a sheet."""
    return 16 * sheet[0] - 8 + (index & 15), 16 * sheet[1] - 8 + (index >> 4)


def patch_of(dot: Place) -> tuple[Place, int]:
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
