"""The grid of squares, and interest: which squares a viewport holds.

Every square has a channel at the broker.
"""

from typing import Final, NamedTuple

from flatlands.world.track import UNIT, Track, passing

#: The default length of a square's side in tiles, and the lengths that a world may have.
SIDE: Final = 16
SIDES: Final = range(8, 65)

# A square is held once the viewport with the lead margin around it touches it, and dropped once the
# viewport with the larger drop margin does not. So a player that walks back and forth over a border
# changes nothing.
#: The lead margin is the side of a square divided by this.
LEAD_DIVISOR: Final = 4
#: The drop margin is the side of a square divided by this.
DROP_DIVISOR: Final = 2

#: The least and the most tiles that a viewport may show: other sizes are clamped.
WIDTHS: Final = (8, 96)
HEIGHTS: Final = (8, 64)

Square = tuple[int, int]


class Rect(NamedTuple):
    """The squares from column c0 to c1 and from row r0 to r1, all included."""

    c0: int
    r0: int
    c1: int
    r1: int

    def holds(self, square: Square) -> bool:
        """Return whether a square is one of them."""
        return self.c0 <= square[0] <= self.c1 and self.r0 <= square[1] <= self.r1

    def squares(self) -> list[Square]:
        """Return all squares, row by row."""
        columns = range(self.c0, self.c1 + 1)
        return [(column, row) for row in range(self.r0, self.r1 + 1) for column in columns]


class Viewport(NamedTuple):
    """The size of a screen: how far it shows to each side of its player, in units of 1/1024
    tile."""

    half_width: int
    half_height: int


def viewport(width: int, height: int) -> Viewport:
    """Return the viewport of a screen of `width` x `height` tiles, clamped to the limits."""
    width = min(max(width, WIDTHS[0]), WIDTHS[1])
    height = min(max(height, HEIGHTS[0]), HEIGHTS[1])
    return Viewport(width * UNIT // 2, height * UNIT // 2)


class Grid:
    """A grid of squares with sides of `side` tiles."""

    def __init__(self, side: int = SIDE) -> None:
        if side not in SIDES:
            raise ValueError(f"a square has {SIDES[0]} to {SIDES[-1]} tiles a side, not {side}")
        self.side = side
        self.span = side * UNIT
        self.lead = self.span // LEAD_DIVISOR
        self.drop = self.span // DROP_DIVISOR

    def square(self, x: int, y: int) -> Square:
        """Return the square in which the position (x, y), in units, lies."""
        return x // self.span, y // self.span

    def held(self, before: Rect | None, x: int, y: int, view: Viewport) -> Rect:
        """Return the squares that a screen around (x, y) holds, if it held `before` until now.

        Columns and rows are decided separately, so the held squares are always a rectangle.
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
        """Return the time in ms at which a player on `track` first leaves `square`, or its screen
        first holds squares other than `held`.

        Returns None if the track ends before that. Without a screen (`held` or `view` is None),
        only the square counts.
        """
        soonest = None
        if track.dx:
            border = self._border(
                track.dx > 0, square[0], view and view.half_width, held and (held.c0, held.c1)
            )
            soonest = passing(track.x, track.dx, track.duration, border)
        if track.dy:
            border = self._border(
                track.dy > 0, square[1], view and view.half_height, held and (held.r0, held.r1)
            )
            after = passing(track.y, track.dy, track.duration, border)
            if soonest is None or (after is not None and after < soonest):
                soonest = after
        return None if soonest is None else track.start + soonest

    def _border(self, up: bool, at: int, half: int | None, held: tuple[int, int] | None) -> int:
        """Return the position along one axis, in units, at which something changes first.

        `up`: the track goes towards higher positions. `at` is the column or row, `half` half the
        viewport's size, and `held` the first and last held column or row.
        """
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
