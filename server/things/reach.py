"""From how far a player reaches a thing. It never decides what the player may do with it."""

from flatlands.world.track import Track

#: A player reaches from where it is, from where it was so many ms ago, and from between: for its
#: client it was on the way a moment earlier.
AGO = 200


def reaches(track: Track, now: int, x: int, y: int, most: int) -> bool:
    """Say whether a player on `track` is, or was a moment ago, within `most` units of (x, y)."""
    ax, ay = track.at(now - AGO)
    bx, by = track.at(now)
    dx, dy = bx - ax, by - ay
    length2 = max(dx * dx + dy * dy, 1)
    # The nearest point of the way from a to b.
    along = min(max((x - ax) * dx + (y - ay) * dy, 0), length2)
    far_x, far_y = x - ax - dx * along // length2, y - ay - dy * along // length2
    return far_x * far_x + far_y * far_y <= most * most
