"""Counts latencies in logarithmic classes: 128 for each power of two, so within 0.8 % of the value.

This is the layout of a high dynamic range histogram (Gil Tene's HdrHistogram). The sign, exponent
and leading bits of a 32-bit float are such a class already, so whole arrays are counted at once. It
never knows when a value was measured.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

#: An array of whole numbers.
Integers: TypeAlias = npt.NDArray[np.int64]

#: Number of classes, for floats from 0 up to 2^31.
CLASSES = (127 + 31) * 128

PERCENTILES = (50.0, 90.0, 99.0, 99.9)


class Histogram:
    """Counts of values in us. A negative value counts as 0."""

    def __init__(self, counts: Integers | None = None) -> None:
        self.counts = np.zeros(CLASSES, dtype=np.int64) if counts is None else counts

    def add(self, values: npt.ArrayLike) -> None:
        """Count an array of values in us, of any shape."""
        floats = np.maximum(values, 0).astype(np.float32).reshape(-1)
        classes = floats.view(np.int32) >> 16
        self.counts += np.bincount(classes, minlength=CLASSES)

    def __iadd__(self, other: "Histogram") -> "Histogram":
        self.counts += other.counts
        return self

    def __sub__(self, other: "Histogram") -> "Histogram":
        return Histogram(self.counts - other.counts)

    def sparse(self) -> tuple[Integers, Integers]:
        """Return the classes that are not empty, and their counts: two arrays of equal length."""
        found = np.flatnonzero(self.counts)
        return found, self.counts[found]

    @classmethod
    def of(cls, classes: npt.ArrayLike, counts: npt.ArrayLike) -> "Histogram":
        """Return the histogram with these classes and counts, as `sparse` returns them."""
        found = cls()
        found.counts[np.array(classes, dtype=np.int64)] = counts
        return found

    @property
    def total(self) -> int:
        """How many values were counted."""
        return int(self.counts.sum())

    def percentile(self, percent: float) -> float:
        """Return the value in ms that `percent` % of the values do not exceed; 0 if empty."""
        total = self.total
        if not total:
            return 0.0
        rank = max(int(np.ceil(total * percent / 100)), 1)
        return _upper(int(np.searchsorted(np.cumsum(self.counts), rank))) / 1000

    @property
    def most(self) -> float:
        """The largest value in ms."""
        found = np.flatnonzero(self.counts)
        return _upper(int(found[-1])) / 1000 if len(found) else 0.0

    def summary(self) -> dict[str, float]:
        """Return percentiles and the maximum in ms, by their names: p50, ..., max."""
        found = {f"p{percent:g}": round(self.percentile(percent), 3) for percent in PERCENTILES}
        return {**found, "max": round(self.most, 3)}


def _upper(index: int) -> float:
    """Return the largest value, in us, of a class."""
    return float(np.array([((index + 1) << 16) - 1], dtype=np.int32).view(np.float32)[0])
