"""The grid of squares, and interest: which squares a viewport holds.

Every square is a channel of the broker. It never knows who is in a square.
"""

from typing import NamedTuple

from world.track import UNIT, Track, passing

#: Tiles a side, unless the world is told otherwise, and the sides it may be told.
SIDE = 16
SIDES = range(8, 65)

#: The margins, as shares of a side: a square is held once the viewport grown by the lead touches
#: it, and let go once the viewport grown by the drop margin does not. Between the two, somebody
#: who walks to and fro on a border changes nothing.
LEAD_SHARE = 4
DROP_SHARE = 2

#: Tiles that a viewport may show: it is clamped to these.
WIDTHS = (8, 96)
HEIGHTS = (8, 64)

Square = tuple[int, int]


class Rect(NamedTuple):
    """Squares from column c0 to c1 and row r0 to r1, both included: what is held at a time."""

    c0: int
    r0: int
    c1: int
    r1: int

    def holds(self, square: Square) -> bool:
        """Say whether a square is one of them."""
        return self.c0 <= square[0] <= self.c1 and self.r0 <= square[1] <= self.r1

    def squares(self) -> list[Square]:
        """Return all squares, row by row."""
        columns = range(self.c0, self.c1 + 1)
        return [(column, row) for row in range(self.r0, self.r1 + 1) for column in columns]


class Viewport(NamedTuple):
    """How far a screen shows to each side of its player, in units."""

    half_width: int
    half_height: int


def viewport(width: int, height: int) -> Viewport:
    """Return the viewport of a screen that shows `width` x `height` tiles, clamped."""
    width = min(max(width, WIDTHS[0]), WIDTHS[1])
    height = min(max(height, HEIGHTS[0]), HEIGHTS[1])
    return Viewport(width * UNIT // 2, height * UNIT // 2)


class Grid:
    """Squares of `side` tiles."""

    def __init__(self, side: int = SIDE) -> None:
        if side not in SIDES:
            raise ValueError(f"a square has {SIDES[0]} to {SIDES[-1]} tiles a side, not {side}")
        self.side = side
        self.span = side * UNIT
        self.lead = self.span // LEAD_SHARE
        self.drop = self.span // DROP_SHARE

    def square(self, x: int, y: int) -> Square:
        """Return the square that a position lies in."""
        return x // self.span, y // self.span

    def held(self, before: Rect | None, x: int, y: int, view: Viewport) -> Rect:
        """Return what a screen around (x, y) holds that held `before`.

        Columns and rows are kept apart, so the held squares are always a rectangle.
        """
        c0, c1 = self._hold(x, view.half_width, before and (before.c0, before.c1))
        r0, r1 = self._hold(y, view.half_height, before and (before.r0, before.r1))
        return Rect(c0, r0, c1, r1)

    def _hold(self, p: int, half: int, before: tuple[int, int] | None) -> tuple[int, int]:
        span = self.span
        low, high = (p - half - self.lead) // span, (p + half + self.lead) // span
        if before is not None:
            low = min(low, max(before[0], (p - half - self.drop) // span))
            high = max(high, min(before[1], (p + half + self.drop) // span))
        return low, high

    def next_change(
        self, track: Track, square: Square, held: Rect | None, view: Viewport | None
    ) -> int | None:
        """Return the first time at which a walker on `track` leaves `square`, or its screen holds
        other squares than `held`; None when the track ends before. Without a screen, only the
        square counts."""
        x, y, dx, dy, start, duration = track
        soonest = None
        if dx:
            borders = self._borders(
                dx > 0, square[0], view and view.half_width, held and (held.c0, held.c1)
            )
            soonest = passing(x, dx, duration, borders)
        if dy:
            borders = self._borders(
                dy > 0, square[1], view and view.half_height, held and (held.r0, held.r1)
            )
            after = passing(y, dy, duration, borders)
            if soonest is None or (after is not None and after < soonest):
                soonest = after
        return None if soonest is None else start + soonest

    def _borders(
        self, up: bool, at: int, half: int | None, held: tuple[int, int] | None
    ) -> int:
        """Return the position along one axis at which something changes first."""
        span = self.span
        if up:
            border = (at + 1) * span
            if half is not None and held is not None:
                border = min(
                    border,
                    (held[1] + 1) * span - half - self.lead,
                    (held[0] + 1) * span + half + self.drop,
                )
        else:
            border = at * span
            if half is not None and held is not None:
                border = max(
                    border,
                    held[0] * span + half + self.lead,
                    held[1] * span - half - self.drop,
                )
        return border
