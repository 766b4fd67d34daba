"""What a message of the benchmark holds, and what a subscriber makes of those it got.

Pure: no sockets and no clock; times are arguments, in nanoseconds of CLOCK_MONOTONIC, which all
processes of one machine share.
"""

import struct
from typing import Any

import numpy as np

from loadtest.kit.histogram import Histogram

#: When it was sent, by which publisher, in which run, and its number there, from 0.
STAMP = struct.Struct("<QHHQ")
_STAMPS = np.dtype([("sent", "<u8"), ("publisher", "<u2"), ("run", "<u2"), ("number", "<u8")])

#: The publisher of those messages by which a subscriber proves that it hears a channel.
HELLO = 0xFFFF

#: Numbers from here on are no publisher's of ours: a billion messages are hours.
NUMBER_LIMIT = 10**9

SECOND = 10**9


class Tally:
    """What one subscriber got of the messages of one run: each message is counted by its number."""

    def __init__(self, run: int, publishers: int, size: int, start: int, stop: int) -> None:
        """Count for the window from `start` to `stop`; a message has `size` bytes."""
        self._run, self._size = run, size
        self._start, self._stop = start, stop
        self._seen = [np.zeros(1 << 16, dtype=bool) for _ in range(publishers)]
        self._latency = Histogram()
        self._seconds = np.zeros(max(0, -(-(stop - start) // SECOND)), dtype=np.int64)
        self.received = 0
        self.foreign = 0

    def add(self, payloads: list[bytes], arrivals: list[int]) -> None:
        """Count messages that came at these times."""
        size = self._size
        data = b"".join(payloads)
        if any(len(payload) != size for payload in payloads):
            ours = [n for n, payload in enumerate(payloads) if len(payload) == size]
            self.foreign += len(payloads) - len(ours)
            data = b"".join(payloads[n] for n in ours)
            arrivals = [arrivals[n] for n in ours]
        stamps = np.frombuffer(
            np.frombuffer(data, dtype=np.uint8).reshape(-1, size)[:, : STAMP.size].tobytes(),
            dtype=_STAMPS,
        )
        came = np.array(arrivals, dtype=np.int64)
        known = stamps["run"] == self._run
        hello = known & (stamps["publisher"] == HELLO)
        known &= (stamps["publisher"] < len(self._seen)) & (stamps["number"] < NUMBER_LIMIT)
        self.foreign += int(np.count_nonzero(~known & ~hello))
        self._count(stamps[known], came[known])

    def _count(self, stamps: Any, came: Any) -> None:
        self.received += len(stamps)
        for publisher, seen in enumerate(self._seen):
            numbers = stamps["number"][stamps["publisher"] == publisher]
            if len(numbers):
                most = int(numbers.max())
                if most >= len(seen):
                    wider = np.zeros(2 * (most + 1), dtype=bool)
                    wider[: len(seen)] = seen
                    self._seen[publisher] = seen = wider
                seen[numbers] = True
        inside = (came >= self._start) & (came < self._stop)
        came = came[inside]
        self._seconds += np.bincount(
            (came - self._start) // SECOND, minlength=len(self._seconds)
        ).astype(np.int64)
        self._latency.add((came - stamps["sent"][inside].astype(np.int64)) / 1000)

    def missing(self, sent: list[int]) -> int:
        """Return how many of the messages that were sent have not come."""
        return sum(sent) - sum(self._delivered(sent))

    def _delivered(self, sent: list[int]) -> list[int]:
        return [
            int(np.count_nonzero(seen[:past]))
            for seen, past in zip(self._seen, sent, strict=True)
        ]

    def report(self, sent: list[int]) -> dict[str, Any]:
        """Return what was counted; `sent` is how many each publisher sent.

        `delivered` is a number for each publisher, each message counted once; `duplicates` came
        again; `impossible` bear numbers that nobody sent; `foreign` are not of this run.
        `per_second` and `latency` (class of kit/histogram.py -> messages) are of the window only.
        """
        delivered = self._delivered(sent)
        classes, counts = self._latency.sparse()
        distinct = sum(int(np.count_nonzero(seen)) for seen in self._seen)
        return {
            "received": self.received,
            "delivered": delivered,
            "duplicates": self.received - distinct,
            "impossible": distinct - sum(delivered),
            "foreign": self.foreign,
            "per_second": self._seconds.tolist(),
            "latency": dict(zip(classes.tolist(), counts.tolist(), strict=True)),
        }
