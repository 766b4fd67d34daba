"""The stamp that each message of the benchmark holds, and the counts of a subscriber.

It has neither sockets nor a clock. Times are arguments, in nanoseconds of CLOCK_MONOTONIC, which
all processes of a machine share.
"""

import struct
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flatlands.loadtest.kit.histogram import Histogram

#: The time of sending, the publisher, the run, and the message's number, from 0 for each publisher.
STAMP = struct.Struct("<QHHQ")
_STAMPS = np.dtype([("sent", "<u8"), ("publisher", "<u2"), ("run", "<u2"), ("number", "<u8")])

#: The publisher's number in messages by which a subscriber proves that it receives a channel.
HELLO = 0xFFFF

#: No publisher reaches this number: a billion messages take hours.
NUMBER_LIMIT = 10**9

SECOND = 10**9


class Counts(TypedDict):
    """What a subscriber has counted, see Tally.report."""

    received: int
    delivered: list[int]
    duplicates: int
    impossible: int
    foreign: int
    per_second: list[int]
    latency: dict[int, int]


class Tally:
    """Counts the messages of one run that a subscriber received, each by its number."""

    def __init__(self, run: int, publishers: int, size: int, start: int, stop: int) -> None:
        """Count messages of `size` bytes in the window from `start` to `stop`, in ns.

        `run` is the run's number, and `publishers` how many there are.
        """
        self._run, self._size = run, size
        self._start, self._stop = start, stop
        #: For each publisher: number of a message -> whether it has come.
        self._flags = [np.zeros(1 << 16, dtype=bool) for _ in range(publishers)]
        self._latency = Histogram()
        self._seconds = np.zeros(max(0, -(-(stop - start) // SECOND)), dtype=np.int64)
        self.received = 0
        self.foreign = 0

    def add(self, payloads: list[bytes], arrivals: list[int]) -> None:
        """Count messages; `arrivals` are the times, in ns, at which they came."""
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
        known &= (stamps["publisher"] < len(self._flags)) & (stamps["number"] < NUMBER_LIMIT)
        self.foreign += int(np.count_nonzero(~known & ~hello))
        self._count(stamps[known], came[known])

    def _count(self, stamps: NDArray[np.void], came: NDArray[np.int64]) -> None:
        self.received += len(stamps)
        for publisher, flags in enumerate(self._flags):
            numbers = stamps["number"][stamps["publisher"] == publisher]
            if len(numbers):
                most = int(numbers.max())
                if most >= len(flags):
                    wider = np.zeros(2 * (most + 1), dtype=bool)
                    wider[: len(flags)] = flags
                    self._flags[publisher] = flags = wider
                flags[numbers] = True
        inside = (came >= self._start) & (came < self._stop)
        came = came[inside]
        self._seconds += np.bincount(
            (came - self._start) // SECOND, minlength=len(self._seconds)
        ).astype(np.int64)
        self._latency.add((came - stamps["sent"][inside].astype(np.int64)) / 1000)

    def missing(self, sent: list[int]) -> int:
        """Return how many messages have not come; `sent` is how many each publisher has sent."""
        return sum(sent) - sum(self._delivered(sent))

    def _delivered(self, sent: list[int]) -> list[int]:
        return [
            int(np.count_nonzero(flags[:past]))
            for flags, past in zip(self._flags, sent, strict=True)
        ]

    def report(self, sent: list[int]) -> Counts:
        """Return all counts; `sent` is how many messages each publisher has sent.

        `delivered` has a number for each publisher, with each message counted once; `duplicates`
        came again; `impossible` have numbers that nobody sent; `foreign` are not of this run.
        `per_second` and `latency` (class of a Histogram -> messages) count the window only.
        """
        delivered = self._delivered(sent)
        classes, counts = self._latency.sparse()
        distinct = sum(int(np.count_nonzero(flags)) for flags in self._flags)
        return {
            "received": self.received,
            "delivered": delivered,
            "duplicates": self.received - distinct,
            "impossible": distinct - sum(delivered),
            "foreign": self.foreign,
            "per_second": self._seconds.tolist(),
            "latency": dict(zip(classes.tolist(), counts.tolist(), strict=True)),
        }
