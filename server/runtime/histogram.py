"""How long things take: durations in buckets, each ending at twice the end of the one before.

Adding one is a single increment in a list: a library's histogram would cost a flush more than what
it measures. It does not matter here what is measured.
"""

from collections.abc import Mapping

#: The times that a node measures (numbers.md explains each).
MEASURED = ("intent_to_write", "flush", "store_call", "broker_round_trip")

#: Bucket n ends at 2**n us. The last one has everything longer than 8 s.
BUCKETS = 25


class Histogram:
    """Durations of one kind. `counts` has the count of each bucket, followed by the sum in us."""

    __slots__ = ("counts", "_before", "_then")

    def __init__(self) -> None:
        self.counts = [0] * (BUCKETS + 1)
        self._before = self._then = self.counts.copy()

    def add(self, us: int) -> None:
        """Count one more duration, of `us` microseconds; a negative one counts as zero."""
        us = max(us, 0)
        self.counts[min((us - 1).bit_length() if us else 0, BUCKETS - 1)] += 1
        self.counts[BUCKETS] += us

    def turn(self) -> None:
        """Begin another minute."""
        self._before, self._then = self._then, self.counts.copy()

    def lately(self) -> list[int]:
        """Return the counts of this minute and the one before."""
        return [count - before for count, before in zip(self.counts, self._before, strict=True)]


def histograms() -> Mapping[str, Histogram]:
    """Return an empty histogram of each thing that a node measures."""
    return {name: Histogram() for name in MEASURED}


def summarize(counts: list[int]) -> dict[str, float]:
    """Return how many durations were counted, and the ms within which half of them and 99 of 100
    were: at most twice the true values."""
    most = {"p50_ms": _within(counts, 0.5), "p99_ms": _within(counts, 0.99)}
    return {"count": sum(counts[:BUCKETS]), **most}


def _within(counts: list[int], share: float) -> float:
    wanted, seen = share * sum(counts[:BUCKETS]), 0
    for bucket, count in enumerate(counts[:BUCKETS]):
        seen += count
        if seen and seen >= wanted:
            return (1 << bucket) / 1000
    return 0.0
