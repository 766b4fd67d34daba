"""Sketches: rough tracks in six bytes, as clients get them in a crowd.

A sketch says where a player is at one moment, and where its track ends. docs/protocol.md explains
the fields.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Final

from flatlands.world.events import Player
from flatlands.world.grid import Square
from flatlands.world.track import UNIT

#: A square is this many parts wide and high; a sketch says in which of them its player is.
PARTS_PER_SIDE: Final = 256

#: How far a track leads is given in steps of so many units.
STEP_UNITS: Final = UNIT // 16
#: Beyond so many steps, COARSE_STEPS of them count as one, so that a byte suffices for the longest
#: leg.
NEAR_STEPS: Final = 64
COARSE_STEPS: Final = 8

#: The bits of seq and of ack that a sketch has.
LOW_BITS: Final = 15
#: A sketch shows a seq that has risen by at most so much: if it seems to be more, the sketch is
#: old.
RISE_MOST: Final = 7

_SKETCH: Final = struct.Struct("<BBBbb")
_pack: Callable[..., bytes] = _SKETCH.pack


def sketch(player: Player, square: Square, span: int, now: int) -> bytes | None:
    """Return the sketch of a player at the time `now`, in ms, without its first byte, or None if
    the player is outside the square, which is `span` units wide."""
    track = player.track
    x, y = track.at(now)
    part_x = (x - square[0] * span) * PARTS_PER_SIDE // span
    part_y = (y - square[1] * span) * PARTS_PER_SIDE // span
    if not (0 <= part_x < PARTS_PER_SIDE and 0 <= part_y < PARTS_PER_SIDE):
        return None
    return _pack(
        player.seq & LOW_BITS | (player.ack & LOW_BITS) << 4,
        part_x,
        part_y,
        _steps(track.x + track.dx - x),
        _steps(track.y + track.dy - y),
    )


def _steps(way: int) -> int:
    """Return a way along one axis, given in units, as the steps of a sketch."""
    steps = (abs(way) + STEP_UNITS // 2) // STEP_UNITS
    if steps > NEAR_STEPS:
        steps = NEAR_STEPS + (steps - NEAR_STEPS + COARSE_STEPS // 2) // COARSE_STEPS
    return steps if way >= 0 else -steps


def join(sketches: Iterable[tuple[int, bytes]]) -> bytes:
    """Join sketches of one source into the bytes of a message.

    They are (slot, sketch), and no two have the same slot. Each is preceded by the difference
    between its slot and the one before, which is -1 for the first: a byte, after a 0 for every 255
    that do not fit in it.
    """
    parts: list[bytes] = []
    before = -1
    for slot, rest in sorted(sketches):
        gap = slot - before - 1
        parts.append(b"\x00" * (gap // 255) + bytes((gap % 255 + 1,)) + rest)
        before = slot
    return b"".join(parts)
