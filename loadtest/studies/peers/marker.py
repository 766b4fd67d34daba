"""The marker in every move, and the count of deliveries by their markers.

A marker is ASCII text of a fixed length: the time at which its move was due, in us of the run's
clock. Every peer forwards it unchanged, whatever it puts around it, so one way of counting is right
for all of them.
"""

import numpy as np
from numpy.typing import NDArray

from flatlands.loadtest.kit.histogram import Histogram

DIGITS = 12

#: Bytes of a marker.
SIZE = DIGITS + 2

#: The first and last byte of a marker. No peer sends it by itself, and JSON leaves it unchanged.
FENCE = b"~"

#: Bytes that are gathered before they are searched: each search costs some 50 us.
BLOCK = 128 * 1024

_POWERS = 10 ** np.arange(DIGITS - 1, -1, -1, dtype=np.int64)


def marker(due: int) -> str:
    """Return the marker of a move that is due at this time, in us."""
    return f"~{due:0{DIGITS}d}~"


def find(data: bytes) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the indices at which markers begin, and their times in us: arrays of one length."""
    values = np.frombuffer(data, dtype=np.uint8)
    starts = np.flatnonzero(values[: max(len(values) - SIZE + 1, 0)] == FENCE[0])
    starts = starts[values[starts + SIZE - 1] == FENCE[0]]
    # The bytes are unsigned, so a byte below "0" becomes a number far above 9.
    digits = values[starts[:, None] + np.arange(1, SIZE - 1)] - np.uint8(ord("0"))
    whole = (digits <= 9).all(axis=1)
    return starts[whole], digits[whole].astype(np.int64) @ _POWERS


class Tally:
    """Counts deliveries of the moves that were due in the window: from `begin` to before `end`, in
    us."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end
        self.bytes = 0
        #: us from the time at which a move was due to its arrival, for moves due in the window.
        self.latency = Histogram()
        #: Number of deliveries in the window, whenever they were due.
        self.arrived = 0
        self._chunks: list[bytes] = []
        self._arrivals: list[int] = []
        self._size = 0

    def add(self, chunk: bytes, at: int) -> None:
        """Add whole frames that arrived at the time `at`, in us."""
        self._chunks.append(chunk)
        self._arrivals.append(at)
        self._size += len(chunk)
        if self._size >= BLOCK:
            self.count()

    def count(self) -> None:
        """Search the frames that were added since the last time for markers."""
        if not self._chunks:
            return
        starts, due = find(b"".join(self._chunks))
        ends = np.cumsum([len(chunk) for chunk in self._chunks])
        at = np.array(self._arrivals, dtype=np.int64)[np.searchsorted(ends, starts, side="right")]
        self.bytes += self._size
        self.arrived += int(((at >= self.begin) & (at < self.end)).sum())
        expected = (due >= self.begin) & (due < self.end)
        self.latency.add((at - due)[expected])
        self._chunks, self._arrivals, self._size = [], [], 0

    @property
    def delivered(self) -> int:
        """Number of deliveries of moves that were due in the window."""
        return self.latency.total
