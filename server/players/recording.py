"""The way of a player while it is recorded: where it was and when, as points.

From each point the player has gone straight on to the next one. Whatever is no such walk ends the
recording: a leap, a pause of the node, for which the walk is uncertain, or too many points.
"""

from collections.abc import Sequence
from typing import Final

from flatlands.world.track import Track

#: The most points of a recording. A player led by a held mouse turns up to eight times a second.
POINTS_MOST: Final = 256

#: The node time in ms, and the place in units.
Point = tuple[int, int, int]


def follow(points: Sequence[Point], before: Track, after: Track) -> tuple[Point, ...]:
    """Return what is recorded once a player goes on from one track to another: nothing if that ends
    the recording."""
    start = after.start
    if before.at(start) != (after.x, after.y) or len(points) >= POINTS_MOST:
        return ()
    # If its intent is late, the recording may have begun meanwhile.
    return *[one for one in until(points, before, start) if one[0] < start], (
        start,
        after.x,
        after.y,
    )


def until(points: Sequence[Point], track: Track, now: int) -> list[Point]:
    """Return the points of a recording, ending with where the player is now on its track; none if
    it is not recorded."""
    found = list(points)
    for t in (track.end, now):
        if found and found[-1][0] < t <= now:
            found.append((t, *track.at(t)))
    return found


def aged(points: Sequence[Point], track: Track, now: int) -> list[int]:
    """Return a recording as nodes, whose clocks differ, send it to each other: for each point how
    many ms ago it was, x and y."""
    return [number for t, x, y in until(points, track, now) for number in (now - t, x, y)]


def dated(ages: Sequence[int], now: int) -> tuple[Point, ...]:
    """Return the points of a recording that another node has just sent."""
    points = zip(ages[::3], ages[1::3], ages[2::3], strict=True)
    return tuple([(now - age, x, y) for age, x, y in points])
