"""When two players touch: computed from their tracks, so nobody has to check again and again."""

from itertools import pairwise

from flatlands.world.track import Track


def first_contact(a: Track, b: Track, reach: int, start: int, until: int) -> int | None:
    """Return the first time from `start` to `until`, in ms, at which two players on the tracks `a`
    and `b` are within `reach` units of each other; None if there is none.

    Between the times at which a track begins or ends, both players go straight on or stand, so the
    square of their distance is a parabola in time. Its lowest point says whether they come near
    enough; if so, the first contact is found between the beginning and that point.
    """
    if _away2(a, b, start) <= reach * reach:
        return start
    turns = [t for t in (a.start, a.end, b.start, b.end) if start < t < until]
    for begin, end in pairwise(sorted({start, *turns, until})):
        nearest = _nearest(a, b, begin, end)
        if _away2(a, b, nearest) <= reach * reach:
            return _first_within(a, b, reach, begin, nearest)
    return None


def _nearest(a: Track, b: Track, begin: int, end: int) -> int:
    """Return the time, in ms, at which the two are nearest while both go straight on or stand."""
    x, y = _between(a, b, begin)
    far_x, far_y = _between(a, b, end)
    dx, dy = far_x - x, far_y - y
    length2 = dx * dx + dy * dy
    if not length2:
        return begin
    part = -(x * dx + y * dy) * (end - begin) // length2
    return begin + min(max(part, 0), end - begin)


def _first_within(a: Track, b: Track, reach: int, far: int, near: int) -> int:
    """Return the first time after `far` at which they are within `reach` of each other. They are
    not at `far`, they are at `near`, and in between they come nearer all the time."""
    while near - far > 1:
        middle = (near + far) // 2
        if _away2(a, b, middle) <= reach * reach:
            near = middle
        else:
            far = middle
    return near


def _between(a: Track, b: Track, t: int) -> tuple[int, int]:
    ax, ay = a.at(t)
    bx, by = b.at(t)
    return bx - ax, by - ay


def _away2(a: Track, b: Track, t: int) -> int:
    dx, dy = _between(a, b, t)
    return dx * dx + dy * dy
