"""Counts what the bots of a process receive, how long moves were under way, and how late they were
sent."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from flatlands.loadtest.kit.histogram import Histogram, Integers
from flatlands.loadtest.swarm.effects import Effects
from flatlands.loadtest.swarm.reader import Flush, Reader
from flatlands.loadtest.swarm.reports import Counted
from flatlands.loadtest.swarm.slot_tables import NEVER, Player

#: Latencies that are counted at once. They fit the processor's nearest caches, and no move waits
#: longer than it takes to count them, about a millisecond.
AT_ONCE = 8192


#: The codes of errors by which an action was not refused, but failed.
FAULTY = ("failed", "store")


class Counters:
    """The counts of a process. Times are in us of the run's clock."""

    def __init__(self) -> None:
        self.reader = Reader()
        self.bytes = self.events = self.snapshots = self.resyncs = self.moves = 0
        self._deliveries = 0
        #: Counts by name; errors and lost connections by their sentences.
        self.counted: Counter[str] = Counter()
        self.complaints: Counter[str] = Counter()
        self.cuts: Counter[str] = Counter()
        #: The pings that took long: (time of the ping, time of its pong).
        self.slow: list[tuple[int, int]] = []
        self.effects = Effects()
        #: Id -> bot of this process.
        self.players: dict[int, Player] = {}
        #: us from the time at which a move was due until a bot read it, or something newer about
        #: the same player; and until it was sent.
        self._latency, self._late = Histogram(), Histogram()
        #: Moves count in `_latency` if they were due at this time or later, and before that time.
        self._begin, self._end = 1, NEVER
        #: us for which moves were under way, and by which they were sent late, that are not yet in
        #: the histograms.
        self._waited: list[int] = []
        self.lateness: list[int] = []
        #: Flushes of which all arrivals are known, and whose latencies are still to be counted.
        self._ready: list[Flush] = []

    def refused(self, rude: bool, asks: bool, code: str, sentence: str) -> None:
        """Count an error message of the server to a bot; `rude`: the bot breaks the rules; `asks`:
        it asks for actions, which a game may refuse."""
        if rude:
            self.counted["rude_refused"] += 1
        elif asks and code not in FAULTY:
            self.counted["refused"] += 1
        else:
            self.complaints[f"{code}: {sentence}"] += 1

    def begin(self, now: int) -> None:
        """Count only latencies of moves and actions that are due from now on."""
        self._begin = now
        self.effects.begin(now)

    def end(self, now: int) -> None:
        """Count no latencies of moves and actions that are due from now on."""
        self._end = now
        self.effects.end(now)

    def wait(self, dues: Iterable[int], now: int, bots: int = 1) -> None:
        """Count moves that no flush has told some bots of, and none will tell any more."""
        self._waited += [now - due for due in dues if self._begin <= due < self._end] * bots
        if len(self._waited) > AT_ONCE:
            self._add_waited()

    def _add_waited(self) -> None:
        self._latency.add(np.array(self._waited, dtype=np.int64))
        self._waited = []

    def turn(self) -> None:
        """Begin a new turn: what came in the one before the last is ready to be counted.

        Flushes of the last turn are left for the next one, since more bots may receive them.
        """
        self._ready += self.reader.turn()
        self._add_waited()
        self._late.add(np.array(self.lateness, dtype=np.int64))
        self.lateness = []

    def count(self, most: int = AT_ONCE) -> bool:
        """Add some of what is ready to the histogram of latencies, and forget some of what is old;
        return whether there is more to do.

        It counts no more after `most` latencies, or after a flush that has more.
        """
        some: list[Flush] = []
        while self._ready and most > 0:
            flush = self._ready.pop()
            some.append(flush)
            self._deliveries += len(flush.dues) * len(flush.arrivals)
            most -= (len(flush.dues) + len(flush.replaced)) * len(flush.arrivals)
        if some:
            self._latency.add(_latencies(some, self._begin, self._end))
        return self.reader.forget() or bool(self._ready)

    def progress(self) -> Counted:
        """Return the counts since the start."""
        return {
            "moves": self.moves,
            "joins": self.counted["joins"],
            "deliveries": self._deliveries,
            "events": self.events,
            "bytes": self.bytes,
            "snapshots": self.snapshots,
            "resyncs": self.resyncs,
            "steps": self.counted["steps"],
            "actions": self.effects.actions,
            "refusals": self.counted["refused"],
            "measured_actions": self.effects.measured,
            "effect": self.effects.took().sparse(),
            "latency": self._latency.sparse(),
            "late": self._late.sparse(),
            "counted": {**self.counted, "lacking": self.reader.lacking},
            "complaints": dict(self.complaints),
            "cuts": dict(self.cuts),
        }


def _latencies(flushes: list[Flush], begin: int, end: int) -> Integers:
    """Return for each arrival of a flush, and each move that it tells of or has replaced, how many
    us had passed since the move was due, if that was at the time `begin`, which is above 0, or
    later, and before `end`. The `dues` of moves of bots elsewhere are negated numbers."""
    flushes = [flush for flush in flushes if flush.dues or flush.replaced]
    arrivals = np.array([at for flush in flushes for at in flush.arrivals], dtype=np.int64)
    moves = [[*flush.dues, *flush.replaced] for flush in flushes]
    dues = np.array([due for some in moves for due in some], dtype=np.int64)
    sizes = np.array([len(some) for some in moves], dtype=np.int64)
    times = np.array([len(flush.arrivals) for flush in flushes], dtype=np.int64)
    # For each arrival, how many moves its flush has, and where they begin among all.
    several = np.repeat(sizes, times)
    first = np.repeat(np.cumsum(sizes) - sizes, times)
    ends = np.cumsum(several)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - several, several)
    due: Integers = dues[np.repeat(first, several) + within]
    return (np.repeat(arrivals, several) - due)[(due >= begin) & (due < end)]
