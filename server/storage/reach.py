"""The places of things: the names of squares in the store, and how far a player reaches."""

from flatlands.world.grid import Square
from flatlands.world.track import Track

#: A player reaches from where it is, from where it was this long ago, and from in between: its
#: client saw it on the way a moment earlier.
AGO_MS = 200


def name_of(square: Square) -> str:
    """Return the name of a square in the store."""
    return f"{square[0]}:{square[1]}"


def square_of(name: str) -> Square:
    """Return the square with this name."""
    column, row = map(int, name.split(":"))
    return column, row


def reaches(track: Track, now: int, x: int, y: int, most: int) -> bool:
    """Return whether a player on `track` is, or was a moment ago, within `most` units of (x, y)."""
    ax, ay = track.at(now - AGO_MS)
    bx, by = track.at(now)
    dx, dy = bx - ax, by - ay
    length2 = max(dx * dx + dy * dy, 1)
    # The nearest point of the way from a to b.
    along = min(max((x - ax) * dx + (y - ay) * dy, 0), length2)
    far_x, far_y = x - ax - dx * along // length2, y - ay - dy * along // length2
    return far_x * far_x + far_y * far_y <= most * most
