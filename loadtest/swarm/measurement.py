"""Adds up the progress of the swarm's processes, and computes the figures of the measured time."""

from collections import Counter
from typing import Literal, NamedTuple

from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.swarm.reports import COUNTS, Progress
from flatlands.loadtest.swarm.result import Result
from flatlands.loadtest.swarm.target import Target

SECOND = 1_000_000

#: A run is not valid if a process of the swarm used more than this share of a core.
BUSY = 0.9

#: What sentences call the processes that play if they are on this machine.
ITSELF = "the swarm itself"


class ProgressTotals:
    """The latest progress of each process: counts of everything since its start."""

    def __init__(self, processes: dict[str, int]) -> None:
        #: Who plays, as sentences call it -> the number of its processes.
        self._processes = processes
        self._latest: dict[tuple[str, int], Progress] = {}

    def update(self, who: str, process: int, progress: Progress) -> None:
        """Store the latest progress of the process with this number at `who`."""
        self._latest[who, process] = progress

    def all_since(self, moment: int) -> bool:
        """Return whether the progress of each process is of this time, in us, or later."""
        return all(progress["at"] >= moment for progress in self._latest.values())

    def at(self) -> int:
        """Return the average time, in us, of the processes' progress; 0 if there is none yet."""
        total: int = sum(progress["at"] for progress in self._latest.values())
        return total // (len(self._latest) or 1)

    def total(self) -> dict[str, float]:
        """Return the sums of all counts, by their names."""
        total: dict[str, float] = dict.fromkeys(COUNTS, 0)
        counted: Counter[str] = Counter()
        for progress in self._latest.values():
            for name in COUNTS:
                total[name] += progress[name]
            counted.update(progress["counted"])
        return {**total, **{name: counted[name] for name in ("lost", "sent_away", "offences")}}

    def words(self, what: Literal["complaints", "cuts"]) -> dict[str, int]:
        """Return the sums of counts that have sentences as keys: "complaints" or "cuts"."""
        total: Counter[str] = Counter()
        for (who, _), progress in self._latest.items():
            of = "" if who == ITSELF else f"{who}: "
            total.update({of + words: count for words, count in progress[what].items()})
        return dict(total)

    def latency(self) -> Histogram:
        """Return the latencies of moves since the start."""
        found = Histogram()
        for progress in self._latest.values():
            found += Histogram.of(*progress["latency"])
        return found

    def effect(self) -> tuple[Histogram, int]:
        """Return how long effects of actions took, and of how many actions, due in the measured
        time."""
        found, actions = Histogram(), 0
        for progress in self._latest.values():
            found += Histogram.of(*progress["effect"])
            actions += progress["measured_actions"]
        return found, actions

    def each(self) -> dict[str, tuple[float, Histogram]]:
        """Return for each that plays its CPU seconds, and how late it sent moves."""
        found = {who: (0.0, Histogram()) for who in self._processes}
        for (who, _), progress in self._latest.items():
            cpu, late = found[who]
            late += Histogram.of(*progress["late"])
            found[who] = cpu + progress["cpu"], late
        return found

    def check(
        self, result: Result, before: dict[str, tuple[float, Histogram]], past: float
    ) -> None:
        """Mark a run as not valid if one that plays was too busy or too late in the `past` seconds,
        since `each` returned `before`."""
        for who, (cpu, late) in self.each().items():
            busy = (cpu - before[who][0]) / max(past, 1.0) / self._processes[who]
            if busy > BUSY:
                result.invalid.append(f"{who} used {busy:.0%} of its cores")
            lateness = (late - before[who][1]).percentile(99)
            if lateness > result.options.late:
                result.invalid.append(
                    f"one move in a hundred was sent {lateness:.0f} ms late by {who}"
                )


class _Counts(NamedTuple):
    """The counts until the time `at`, and the CPU and memory of server and broker."""

    at: int
    counts: dict[str, float | None]
    latency: Histogram


def _growth(before: _Counts, after: _Counts, name: str) -> float | None:
    """Return how much a count has grown; None if it is not known. The CPU time of a process that
    has ended is no longer counted."""
    was, now = before.counts[name], after.counts[name]
    return None if was is None or now is None else max(now - was, 0)


class Measurement:
    """The measured time, or any other time span; it begins now.

    `stats` are the server's counters just before. Times are in us of the run's clock.
    """

    def __init__(self, latest: ProgressTotals, target: Target, stats: dict[str, int]) -> None:
        self._latest, self._target, self._stats = latest, target, stats
        self.begin = latest.at()
        self._before = self._row = self._look()
        self._each = latest.each()

    def _look(self) -> _Counts:
        counts = {**self._latest.total(), **self._target.cost()}
        return _Counts(self._latest.at(), counts, self._latest.latency())

    @property
    def end(self) -> int:
        """The time of the last row."""
        return self._row.at

    def row(self) -> dict[str, float | None]:
        """Return a row of the series: what has happened since the last row."""
        before, row = self._row, self._look()
        self._row = row
        past = max((row.at - before.at) / SECOND, 0.001)
        grown = {
            name: _growth(before, row, name)
            for name in ("moves", "deliveries", "bytes", "server_cpu", "broker_cpu", "cpu")
        }
        return {
            "second": round((row.at - self.begin) / SECOND, 2),
            "bots": row.counts["playing"],
            **{name: n if n is None else round(n / past, 4) for name, n in grown.items()},
            "server_mb": row.counts["server_mb"],
            **(row.latency - before.latency).summary(),
        }

    def latency(self) -> dict[str, float]:
        """Return percentiles in ms of how long moves took that were counted until now."""
        return (self._latest.latency() - self._before.latency).summary()

    def effect(self) -> dict[str, float]:
        """Return the share of actions whose effect was seen, and percentiles in ms of how long that
        took; nothing of what there was not."""
        found, actions = self._latest.effect()
        seen = {"seen": round(found.total / actions, 4)} if actions else {}
        took = {f"p{n}": round(found.percentile(n), 3) for n in (50, 95, 99) if found.total}
        return {**seen, **took}

    def sum_up(self, result: Result, server: dict[str, int] | None = None) -> Result:
        """Write the figures of the whole time into a result, and return that.

        `server` are the server's counters now: to ask for them also updates what `_look` reads.
        """
        before, after = self._before, self._look()
        past = result.measured = max((after.at - self.begin) / SECOND, 0.001)
        result.latency = self.latency()
        result.effect = self.effect()
        # These are given as they were at the end; of the others, the growth is given.
        as_it_was = ("lost", "sent_away", "playing", "server_mb", "broker_mb")
        total = {
            name: value if name in as_it_was else _growth(before, after, name)
            for name, value in after.counts.items()
            if name not in ("unanswered", "away")
        }
        total["swarm_cpu"] = total.pop("cpu")
        late = Histogram()
        for who, (_, lateness) in self._latest.each().items():
            late += lateness - self._each[who][1]
        total["late_p99"] = late.percentile(99)
        result.totals = {name: n if n is None else round(n, 3) for name, n in total.items()}
        result.complaints = self._latest.words("complaints")
        result.cuts = self._latest.words("cuts")
        if server is not None:
            result.server = {n: of - self._stats.get(n, 0) for n, of in sorted(server.items())}
        self._latest.check(result, self._each, past)
        return result
