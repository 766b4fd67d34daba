"""Movement as a function of time: tracks, and the planning of the next leg of a walk.

A track is a straight segment of limited length. A walk is a chain of tracks: in a direction or
towards a goal, along an obstacle, and on. static/track.js is this module's twin
(tests/vectors/track.json holds both to the same digits), so only whole numbers and floor division
are used, and no product passes 2^53. This module never decides when a leg is planned, nor who may
walk.
"""

from collections.abc import Callable
from math import isqrt
from typing import Final, Protocol

from flatlands.world.terrain import Terrain

#: Positions are whole numbers of 1/UNIT tile.
UNIT: Final = 1024

#: The speed in units a second, and along each axis of a diagonal: floor(SPEED / sqrt 2).
SPEED: Final = 5120
DIAGONAL: Final = 3620

#: A player's pace is how fast it is, in percent of these speeds. Most players have this one.
PACE_USUAL: Final = 100
PACE_LEAST: Final = 25
PACE_MOST: Final = 400

#: The longest leg, in units along one axis: 16 bits hold it (world/batches.py). A longer walk is a
#: chain of legs.
REACH: Final = 32 * UNIT - 1

#: A goal that is farther than this, in units along an axis, counts as this far away.
GOAL_REACH: Final = 256 * UNIT

#: A player that is barred straight ahead steps aside by at most this many tiles to get past.
ASIDE: Final = 2

#: A leg is checked in pieces of about so many columns or rows, since many are free as a whole.
PIECE_TILES: Final = 8

#: A time that no track reaches.
NEVER_MS: Final = 2**62


class Ground(Protocol):
    """The ground on which a walk is planned; world/terrain.py implements it."""

    def blocked(self, x: int, y: int) -> bool:
        """Return whether nobody can stand on the tile in column `x`, row `y`."""

    def free(self, x0: int, y0: int, x1: int, y1: int) -> bool:
        """Return whether no tile is blocked in the box with these opposite corners.

        The ground is looked at from (x0, y0) on, and no further than needed. An implementation may
        also return False if it does not know.
        """


#: Compiled code calls a Terrain faster than other grounds, which only tests have.
Land = Terrain | Ground


# Tracks and intents are not named tuples: compiled code reads attributes of its own classes many
# times faster than those of tuples, and the interpreter is no slower.


class Track:
    """A segment from (x, y) by (dx, dy), in units, from the time `start` for `duration`, in ms.

    The player is at (x, y) before the start, and stays at the segment's end after it. A track
    without length and duration stands for a player that stands still. A track never changes.
    """

    __slots__ = ("x", "y", "dx", "dy", "start", "duration")

    def __init__(self, x: int, y: int, dx: int, dy: int, start: int, duration: int) -> None:
        self.x = x
        self.y = y
        self.dx = dx
        self.dy = dy
        self.start = start
        self.duration = duration

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Track) and self.numbers() == other.numbers()

    def __repr__(self) -> str:
        return f"Track{self.numbers()}"

    def numbers(self) -> tuple[int, int, int, int, int, int]:
        """Return the numbers that make up the track."""
        return self.x, self.y, self.dx, self.dy, self.start, self.duration

    @property
    def end(self) -> int:
        """The first millisecond at the segment's end."""
        return self.start + self.duration

    def at(self, t: int) -> tuple[int, int]:
        """Return the position (x, y) at time `t` in ms."""
        passed, duration = t - self.start, self.duration
        if passed >= duration:
            return self.x + self.dx, self.y + self.dy
        if passed <= 0:
            return self.x, self.y
        return self.x + self.dx * passed // duration, self.y + self.dy * passed // duration

    @property
    def renewable(self) -> bool:
        """Whether it ends because of REACH, and not because of an obstacle or the goal."""
        return abs(self.dx) >= REACH or abs(self.dy) >= REACH


def stand(x: int, y: int, t: int) -> Track:
    """Return the track of a player that stands at (x, y) from time `t` on."""
    return Track(x, y, 0, 0, t, 0)


class Heading:
    """An intent to walk in a direction: x and y are -1, 0 or 1, and not both 0."""

    __slots__ = ("x", "y")

    def __init__(self, x: int, y: int) -> None:
        self.x = x
        self.y = y

    def __repr__(self) -> str:
        return f"Heading({self.x}, {self.y})"


class Goal:
    """An intent to walk to a position, in units."""

    __slots__ = ("x", "y")

    def __init__(self, x: int, y: int) -> None:
        self.x = x
        self.y = y

    def __repr__(self) -> str:
        return f"Goal({self.x}, {self.y})"


Intent = Heading | Goal | None

#: The kinds of intents, by the numbers that they have in messages between nodes.
INTENTS: Final[tuple[type[Heading | Goal] | None, ...]] = (None, Heading, Goal)


def passing(x: int, dx: int, duration: int, border: int) -> int | None:
    """Return after how many ms a track first passes a border along one axis, or None.

    The border lies between the units `border` - 1 and `border`. A track that goes up has passed it
    at `border` or above; one that goes down, below `border`. The result is 0 if it has already
    passed the border at its start.
    """
    if dx > 0:
        if x >= border:
            return 0
        return -((x - border) * duration // dx) if x + dx >= border else None
    if x < border:
        return 0
    return (x - border) * duration // -dx + 1 if x + dx < border else None


#: A tile: column and row.
Tile = tuple[int, int]


def tile_at(track: Track, t: int) -> Tile:
    """Return the tile on which a player on a track is at the time `t`."""
    x, y = track.at(t)
    return x // UNIT, y // UNIT


def tiles_between(track: Track, since: int, until: int) -> list[Tile]:
    """Return, in order, the tiles that a track enters after the time `since` and by the time
    `until`. A player that passes two borders in the same millisecond enters the tile behind both.
    """
    (col, row), last = tile_at(track, since), tile_at(track, until)
    step_x, step_y = (1 if track.dx > 0 else -1), (1 if track.dy > 0 else -1)
    passed: list[Tile] = []
    while (col, row) != last:
        at_x = _next_border(track.x, track.dx, track.duration, col, last[0])
        at_y = _next_border(track.y, track.dy, track.duration, row, last[1])
        if at_x <= at_y:
            col += step_x
        if at_y <= at_x:
            row += step_y
        passed.append((col, row))
    return passed


def next_tile_at(track: Track, after: int) -> int | None:
    """Return the time after `after` at which a track first leads to another tile; None if never."""
    (col, row), last = tile_at(track, after), tile_at(track, track.end)
    at_x = _next_border(track.x, track.dx, track.duration, col, last[0])
    at_y = _next_border(track.y, track.dy, track.duration, row, last[1])
    soonest = min(at_x, at_y)
    return None if soonest == NEVER_MS else track.start + soonest


def leg(
    ground: Land, x: int, y: int, intent: Intent, start: int, pace: int = PACE_USUAL
) -> Track | None:
    """Return the next track of a player at (x, y) with an intent, from the time `start`.

    It goes straight on as far as possible; if the way ahead is barred at once, it goes along the
    obstacle until that ends. A player that walks along one axis also steps aside a little to get
    past it. Returns None if there is nowhere to go: the goal is reached, or all ways are barred.
    """
    if intent is None:
        return None
    if isinstance(intent, Goal):
        far_x, far_y = intent.x - x, intent.y - y
        if not (-GOAL_REACH <= far_x <= GOAL_REACH and -GOAL_REACH <= far_y <= GOAL_REACH):
            far_x = min(max(far_x, -GOAL_REACH), GOAL_REACH)
            far_y = min(max(far_y, -GOAL_REACH), GOAL_REACH)
    else:
        far_x, far_y = intent.x * REACH, intent.y * REACH
    dx, dy = _shorten(far_x, far_y)
    dx, dy, barred = _straight(ground, x, y, dx, dy, pace)
    if not dx and not dy and barred is not None:
        dx, dy = _slide(ground, x, y, far_x, far_y, barred)
        if not dx and not dy and isinstance(intent, Heading):
            dx, dy = _aside(ground, x, y, intent)
    if not dx and not dy:
        return None
    return Track(x, y, dx, dy, start, duration(dx, dy, pace))


def is_barred(ground: Land, track: Track, t: int, pace: int) -> bool:
    """Return whether the rest of a track, from the time `t` on, leads over a blocked tile."""
    x, y = track.at(t)
    dx, dy = track.x + track.dx - x, track.y + track.dy - y
    return (dx != 0 or dy != 0) and _first_block(ground, x, y, dx, dy, pace) is not None


def _shorten(dx: int, dy: int) -> tuple[int, int]:
    """Cut a displacement to at most REACH along each axis."""
    if -REACH <= dx <= REACH and -REACH <= dy <= REACH:
        return dx, dy
    longest = max(abs(dx), abs(dy))
    return _part(dx, REACH, longest), _part(dy, REACH, longest)


def _part(d: int, numerator: int, denominator: int) -> int:
    """Return d * numerator / denominator, rounded towards 0."""
    return d * numerator // denominator if d >= 0 else -(-d * numerator // denominator)


def duration(dx: int, dy: int, pace: int = PACE_USUAL) -> int:
    """Return how many ms a displacement takes at a pace, rounded up; 0 for none.

    No message has a duration: the reader of a track computes it.
    """
    ax, ay = abs(dx), abs(dy)
    if ax == ay:
        return -(-ax * 1000 // (DIAGONAL if pace == PACE_USUAL else DIAGONAL * pace // PACE_USUAL))
    distance = ax + ay if not ax or not ay else isqrt(ax * ax + ay * ay)
    return -(-distance * 1000 // (SPEED if pace == PACE_USUAL else SPEED * pace // PACE_USUAL))


def _straight(
    ground: Land, x: int, y: int, dx: int, dy: int, pace: int
) -> tuple[int, int, str | None]:
    """Cut a displacement where its track would enter a blocked tile.

    Returns (dx, dy, the axis that was barred: "x", "y" or None). A cut changes the rounding along
    the other axis, which may lead into another tile, so a cut track is checked again.
    """
    barred = None
    while dx or dy:
        block = _first_block(ground, x, y, dx, dy, pace)
        if block is None:
            break
        axis, tile = block
        if axis == "x":
            free = (tile + 1) * UNIT - 1 - x if dx > 0 else tile * UNIT - x
            dx, dy = free, _part(dy, abs(free), abs(dx))
        else:
            free = (tile + 1) * UNIT - 1 - y if dy > 0 else tile * UNIT - y
            dx, dy = _part(dx, abs(free), abs(dy)), free
        barred = axis
    return dx, dy, barred


def _first_block(
    ground: Land, x: int, y: int, dx: int, dy: int, pace: int
) -> tuple[str, int] | None:
    """Follow a track from tile to tile until it would enter a blocked one.

    Returns the axis ("x" or "y") along which it would enter the blocked tile, and the last free
    column or row; or None if all tiles are free. Two borders that are passed in the same
    millisecond are a corner. A corner is barred if the tile behind it is blocked, or if both tiles
    beside it are.
    """
    col, row = x // UNIT, y // UNIT
    last_col, last_row = (x + dx) // UNIT, (y + dy) // UNIT
    wide, high = abs(last_col - col), abs(last_row - row)
    # A large box is seldom free as a whole, and most of its terrain would be computed for nothing.
    small = not wide or not high or max(wide, high) < 2 * PIECE_TILES
    if small and ground.free(col, row, last_col, last_row):
        return None
    # A track along one axis, as most are, needs no comparison of times.
    if row == last_row:
        return _first_on_axis("x", col, last_col, lambda tile: ground.blocked(tile, row))
    if col == last_col:
        return _first_on_axis("y", row, last_row, lambda tile: ground.blocked(col, tile))
    lasts = duration(dx, dy, pace)
    pieces = max(wide, high) // PIECE_TILES + 1
    for piece in range(1, pieces + 1):
        # The tile at the end of the piece is found as in Track.at.
        t = lasts * piece // pieces
        end_col, end_row = (x + dx * t // lasts) // UNIT, (y + dy * t // lasts) // UNIT
        if pieces == 1 or not ground.free(col, row, end_col, end_row):
            block = _first_block_between(
                ground, x, y, dx, dy, lasts, (col, row), (end_col, end_row)
            )
            if block is not None:
                return block
        col, row = end_col, end_row
    return None


def _first_on_axis(
    axis: str, first: int, last: int, blocked: Callable[[int], bool]
) -> tuple[str, int] | None:
    """Do what _first_block does for a track that stays in one row or column."""
    step = 1 if first < last else -1
    for tile in range(first, last, step):
        if blocked(tile + step):
            return axis, tile
    return None


def _first_block_between(
    ground: Land,
    x: int,
    y: int,
    dx: int,
    dy: int,
    lasts: int,
    start: tuple[int, int],
    end: tuple[int, int],
) -> tuple[str, int] | None:
    """Do what _first_block does for the piece of a track between two of its tiles."""
    col, row = start
    last_col, last_row = end
    step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    at_x = _next_border(x, dx, lasts, col, last_col)
    at_y = _next_border(y, dy, lasts, row, last_row)
    while col != last_col or row != last_row:
        next_col = col + step_x if at_x <= at_y else col
        next_row = row + step_y if at_y <= at_x else row
        corner = next_col != col and next_row != row
        side_x = corner and ground.blocked(next_col, row)
        if ground.blocked(next_col, next_row) or (side_x and ground.blocked(col, next_row)):
            return ("x", col) if side_x or next_row == row else ("y", row)
        # Only an axis along which the track went on has a new border, and a new time.
        if next_col != col:
            col = next_col
            at_x = _next_border(x, dx, lasts, col, last_col)
        if next_row != row:
            row = next_row
            at_y = _next_border(y, dy, lasts, row, last_row)
    return None


def _next_border(at: int, d: int, lasts: int, tile: int, last: int) -> int:
    """Return after how many ms a track leaves a column or row; NEVER_MS if that is its `last`."""
    passes = passing(at, d, lasts, (tile + (d > 0)) * UNIT) if tile != last else None
    return NEVER_MS if passes is None else passes


def _slide(ground: Land, x: int, y: int, far_x: int, far_y: int, barred: str) -> tuple[int, int]:
    """Return the displacement along an obstacle that bars one axis.

    It ends where the obstacle ends, where the other axis is barred too, or where the player wants
    to go no farther along it.
    """
    blocked = ground.blocked
    col, row = x // UNIT, y // UNIT
    if barred == "x":
        side = col + (1 if far_x > 0 else -1)
        return 0, _along(y, far_y, lambda r: blocked(col, r), lambda r: blocked(side, r))
    side = row + (1 if far_y > 0 else -1)
    return _along(x, far_x, lambda c: blocked(c, row), lambda c: blocked(c, side)), 0


def _aside(ground: Land, x: int, y: int, heading: Heading) -> tuple[int, int]:
    """Return the step aside after which a barred heading along one axis is free, or (0, 0).

    So players slide along slanted obstacles, such as the railing of a bridge. From there, at least
    one tile ahead is free, so nobody goes back and forth.
    """
    blocked = ground.blocked
    col, row = x // UNIT, y // UNIT
    if not heading.y:
        side = col + heading.x
        return 0, _to_gap(y, lambda r: blocked(col, r), lambda r: blocked(side, r))
    if not heading.x:
        side = row + heading.y
        return _to_gap(x, lambda c: blocked(c, row), lambda c: blocked(c, side)), 0
    return 0, 0


def _to_gap(p: int, ahead: Callable[[int], bool], beside: Callable[[int], bool]) -> int:
    """Return how far it is from `p` along one axis to the nearest tile beside which there is a gap.

    That tile is at most ASIDE tiles away, and all tiles up to it are free; otherwise the result is
    0. `ahead` and `beside` are as for _along. Of two equally near tiles, the one with the lower
    number is taken.
    """
    tile = p // UNIT
    nearest = 0
    for step in (-1, 1):
        for away in range(1, ASIDE + 1):
            if ahead(tile + step * away):
                break
            if beside(tile + step * away):
                continue
            far = (tile + away) * UNIT - p if step > 0 else (tile - away + 1) * UNIT - 1 - p
            if not nearest or abs(far) < abs(nearest):
                nearest = far
            break
    return nearest


def _along(p: int, far: int, ahead: Callable[[int], bool], beside: Callable[[int], bool]) -> int:
    """Return how far a player can go from `p` along one axis, by at most `far` and REACH.

    The way ends before a tile that is blocked (`ahead`), and at a tile beside which the obstacle
    has ended (`beside` is false). Both functions take a column or row.
    """
    if not far:
        return 0
    step = 1 if far > 0 else -1
    far = min(max(far, -REACH), REACH)
    tile = p // UNIT
    while True:
        first = (tile + 1) * UNIT if step > 0 else tile * UNIT - 1
        if (first - p) * step > far * step:
            return far
        if ahead(tile + step):
            return first - step - p
        tile += step
        if not beside(tile):
            return first - p
