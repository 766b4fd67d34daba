"""What the processes of a swarm tell, added up, and what the measured time comes to by it."""

from collections import Counter
from typing import Any

from loadtest.kit.histogram import Histogram
from loadtest.swarm.result import Result
from loadtest.swarm.target import Target

SECOND = 1_000_000

#: A run is not valid if a process of the swarm used more than this share of a core.
BUSY = 0.9


class Told:
    """What each process has told last of all that has happened since its start."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._latest: dict[int, dict[str, Any]] = {}

    def take(self, process: int, progress: dict[str, Any]) -> None:
        """Take in what a process tells."""
        self._latest[process] = progress

    def all_since(self, moment: int) -> bool:
        """Say whether all that is known is not older than a moment, in us."""
        return all(told["at"] >= moment for told in self._latest.values())

    def at(self) -> int:
        """Return the moment, on average, at which the processes told what is known."""
        return sum(told["at"] for told in self._latest.values()) // len(self._latest)

    def total(self) -> dict[str, Any]:
        """Return the sums of all counts."""
        names = (
            "playing", "ready", "moves", "joins", "deliveries", "events", "bytes", "snapshots",
            "resyncs", "steps", "cpu", "unanswered", "away",
        )  # fmt: skip
        total: dict[str, Any] = dict.fromkeys(names, 0)
        counted: Counter[str] = Counter()
        for told in self._latest.values():
            for name in names:
                total[name] += told[name]
            counted.update(told["counted"])
        return {**total, **{name: counted[name] for name in ("lost", "sent_away", "offences")}}

    def words(self, what: str) -> dict[str, int]:
        """Return the sum of what all processes tell with their words."""
        total: Counter[str] = Counter()
        for told in self._latest.values():
            total.update(told[what])
        return dict(total)

    def histograms(self) -> tuple[Histogram, Histogram]:
        """Return the latencies and the latenesses so far."""
        pair = Histogram(), Histogram()
        for told in self._latest.values():
            for histogram, name in zip(pair, ("latency", "late"), strict=True):
                histogram += Histogram.of(*told[name])
        return pair

    def check_busy(self, result: Result, cpu: float, seconds: float) -> None:
        """Let a run not be valid in which the processes took so many CPU seconds in all."""
        busy = cpu / max(seconds, 1.0) / self._processes
        if busy > BUSY:
            result.invalid.append(f"the swarm itself used {busy:.0%} of its cores")


class Window:
    """The measured time, which begins now. `stats` are the server's counters of just before.

    Moments are us of the run's clock; what it comes to is written into `result`.
    """

    def __init__(self, told: Told, target: Target, stats: dict[str, Any], result: Result) -> None:
        self._told, self._target, self._stats, self._result = told, target, stats, result
        self.begin = told.at()
        self._before = self._look()
        self._late = told.histograms()[1]
        self._row = self._before

    def _look(self) -> dict[str, Any]:
        """Return what was told until now, and what all has cost."""
        latency, _ = self._told.histograms()
        told = {**self._told.total(), **self._target.cost()}
        return {**told, "at": self._told.at(), "latency": latency}

    @property
    def end(self) -> int:
        """The moment of the last row."""
        return int(self._row["at"])

    def add_row(self) -> None:
        """Add a row to the series, of what happened since the row before."""
        before, row = self._row, self._look()
        self._row = row
        past = (row["at"] - before["at"]) / SECOND
        rates = ("moves", "deliveries", "bytes", "server_cpu", "broker_cpu", "cpu")
        self._result.series.append(
            {
                "second": round((row["at"] - self.begin) / SECOND, 2),
                "bots": row["playing"],
                # A process that has ended takes with it what it had used.
                **{name: round(max(row[name] - before[name], 0) / past, 4) for name in rates},
                "server_mb": round(row["server_mb"], 1),
                **(row["latency"] - before["latency"]).summary(),
            }
        )

    def sum_up(self) -> None:
        """Write what all of it comes to."""
        result, before, after = self._result, self._before, self._look()
        past = result.measured = max((after.pop("at") - self.begin) / SECOND, 0.001)
        result.latency = (after.pop("latency") - before["latency"]).summary()
        # Of these it counts how it was at the end, of all others how much it grew.
        as_it_was = ("lost", "sent_away", "playing", "server_mb", "broker_mb")
        total = {
            name: value if name in as_it_was else value - before[name]
            for name, value in after.items()
            if name not in ("unanswered", "away")
        }
        for name in ("server_cpu", "broker_cpu"):
            total[name] = max(total[name], 0.0)
        total["swarm_cpu"] = total.pop("cpu")
        lateness = (self._told.histograms()[1] - self._late).percentile(99)
        total["late_p99"] = lateness
        result.totals = {name: round(value, 3) for name, value in total.items()}
        result.complaints, result.cuts = self._told.words("complaints"), self._told.words("cuts")
        now = self._target.stats()
        result.server = {name: n - self._stats.get(name, 0) for name, n in sorted(now.items())}
        self._told.check_busy(result, total["swarm_cpu"], past)
        if lateness > result.options.late:
            result.invalid.append(f"one move in a hundred was sent {lateness:.0f} ms late")
