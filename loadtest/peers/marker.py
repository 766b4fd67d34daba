"""The marker that every move carries, and how deliveries are counted by it.

A marker is ASCII text of one length: the moment its move was due, in us of the run's clock. Every
peer passes it on as it is, whatever it wraps round it, so that one count is right for all of them.
"""

from typing import Any

import numpy as np

from loadtest.kit.histogram import Histogram

DIGITS = 12

#: Bytes of a marker.
SIZE = DIGITS + 2

#: Begins and ends a marker. No peer writes it by itself, and JSON leaves it as it is.
FENCE = b"~"

#: Bytes that are gathered before they are looked through: one look costs some 50 us.
BLOCK = 128 * 1024

_POWERS = 10 ** np.arange(DIGITS - 1, -1, -1, dtype=np.int64)


def marker(due: int) -> str:
    """Return the marker of a move that is due then, in us."""
    return f"~{due:0{DIGITS}d}~"


def find(data: bytes) -> tuple[Any, Any]:
    """Return where markers begin in some bytes, and their moments in us: arrays of one length."""
    values = np.frombuffer(data, dtype=np.uint8)
    starts = np.flatnonzero(values[: max(len(values) - SIZE + 1, 0)] == FENCE[0])
    starts = starts[values[starts + SIZE - 1] == FENCE[0]]
    # Unsigned: what is below "0" comes out far above 9.
    digits = values[starts[:, None] + np.arange(1, SIZE - 1)] - np.uint8(ord("0"))
    whole = (digits <= 9).all(axis=1)
    return starts[whole], digits[whole].astype(np.int64) @ _POWERS


class Tally:
    """Counts deliveries, of the moves that were due from `begin` to before `end` (us)."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end
        self.bytes = 0
        #: From the moment a move was due to its arrival, for those due in the window.
        self.latency = Histogram()
        #: What arrived in the window, whenever it was due.
        self.arrived = 0
        self._chunks: list[bytes] = []
        self._arrivals: list[int] = []
        self._size = 0

    def add(self, chunk: bytes, at: int) -> None:
        """Take whole frames that arrived at a moment, in us."""
        self._chunks.append(chunk)
        self._arrivals.append(at)
        self._size += len(chunk)
        if self._size >= BLOCK:
            self.count()

    def count(self) -> None:
        """Look through what was taken since the last time."""
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
        """How many deliveries were counted of moves that were due in the window."""
        return self.latency.total
