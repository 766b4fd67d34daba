"""Where things lie: the names of squares in the store, and from how far a player reaches a thing.

This module never decides what the player may do with it.
"""

from flatlands.server.messages.protocol import Refused
from flatlands.server.squares.replicas import Replicas
from flatlands.world.grid import Square
from flatlands.world.things import Thing
from flatlands.world.track import Track

#: A player reaches from where it is, from where it was so many ms ago, and from between: for its
#: client it was on the way a moment earlier.
AGO = 200


def name_of(square: Square) -> str:
    """Return the name by which the store knows a square."""
    return f"{square[0]}:{square[1]}"


def square_of(name: str) -> Square:
    """Return the square with this name."""
    column, row = map(int, name.split(":"))
    return column, row


def thing_of(replicas: Replicas, square: Square, id: str) -> Thing | None:
    """Return the thing with this id in a square, as far as this node knows it."""
    heard = replicas.squares.get(square)
    return None if heard is None else heard.things.get(id)


def check_reach(track: Track, now: int, x: int, y: int, most: int) -> None:
    """Raise Refused unless a player on `track` is, or was a moment ago, within `most` units of
    (x, y)."""
    ax, ay = track.at(now - AGO)
    bx, by = track.at(now)
    dx, dy = bx - ax, by - ay
    length2 = max(dx * dx + dy * dy, 1)
    # The nearest point of the way from a to b.
    along = min(max((x - ax) * dx + (y - ay) * dy, 0), length2)
    far_x, far_y = x - ax - dx * along // length2, y - ay - dy * along // length2
    if far_x * far_x + far_y * far_y > most * most:
        raise Refused("far", "you do not stand close to it", None)
