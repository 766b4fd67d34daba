"""The options of a run, its progress while it goes on, and its result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from flatlands.loadtest.kit.thresholds import Threshold
from flatlands.loadtest.swarm.oracle import Verdict
from flatlands.loadtest.swarm.screens import Returns, Screens

#: Faults of the oracle that the end of a run must not show, whatever happened before.
END = ("ghosts", "unseen", "wrong", "misplaced", "foreign", "duplicate")

#: The most faults that are described in words.
TOLD = 3

#: ms: a run is not valid if one move in a hundred is sent later than this after it was due.
LATE = 50.0


@dataclass
class Options:
    """The options of a run.

    `url` names a running server; without it, a server is started with `broker`, `workers`, `game`
    and `store`. An empty `game` is Flatlands; an empty `store` is none, unless bots play by the
    game's own bot. `rate` is in moves a second of each bot, `joins` in bots a second, `viewport` in
    tiles; None stands for the scenario's own value. `sample` bots observe (all of a small swarm).
    `pin` gives server and swarm separate cores, see `pinned` in loadtest/kit/machine.py. `returns`:
    bots that are cut off come back. `insecure`: any certificate is accepted. `late` is in ms, see
    LATE. `warm_up` is how many seconds bots move before the measured time, if not WARM_UP. Bots
    choose alike in runs with the same `seed`. `fail_if` has thresholds not to be crossed.
    """

    bots: int = 1000
    seconds: float = 30.0
    scenario: str = "wander"
    url: str | None = None
    broker: str = ""
    workers: int = 1
    game: str = ""
    store: str = ""
    rate: float | None = None
    squares: int | None = None
    viewport: tuple[int, int] | None = None
    processes: int = 1
    sample: int = 40
    joins: float = 500.0
    pin: bool | None = None
    returns: bool = True
    insecure: bool = False
    late: float = LATE
    warm_up: float | None = None
    seed: int | None = None
    fail_if: tuple[Threshold, ...] = ()


class GeneratorClock(TypedDict):
    """What is said of a generator on another machine: its name, its processes, and in ms how long
    a message and its answer took, how far its clock moved, and by how much it may be wrong."""

    name: str
    processes: int
    trip_ms: float
    moved_ms: float
    uncertain_ms: float


@dataclass
class Result:
    """The result of a run.

    Latencies are in ms, from the time at which a move was due until a bot received it, or something
    newer about the same player, or until the end of the run. `latency` is that of the moves that
    were due in the measured time. `series` has a row for each second of that time, with the
    latencies of what came in that second. `measured` is that time in seconds.
    """

    options: Options
    broker: str = ""
    error: str | None = None
    verdict: Verdict | None = None
    measured: float = 0.0
    totals: dict[str, float | None] = field(default_factory=dict)
    latency: dict[str, float] = field(default_factory=dict)
    #: The share of actions whose effect their bots have `seen`, and percentiles in ms of how long
    #: that took from when they were due.
    effect: dict[str, float] = field(default_factory=dict)
    joining: dict[str, float] = field(default_factory=dict)
    series: list[dict[str, float | None]] = field(default_factory=list)
    server: dict[str, int] = field(default_factory=dict)
    complaints: dict[str, int] = field(default_factory=dict)
    cuts: dict[str, int] = field(default_factory=dict)
    #: Which methods of the game have failed, and how, in words.
    failures: list[str] = field(default_factory=list)
    screens: Screens | None = None
    returns: Returns | None = None
    #: Reasons why the swarm was too slow for the figures to be believed. Then nothing is judged.
    invalid: list[str] = field(default_factory=list)
    #: The seed of its bots' choices.
    seed: int = 0
    #: The generators on other machines; and how long moves took from one of them
    #: to another, in the form of `latency`.
    generators: list[GeneratorClock] = field(default_factory=list)
    between: dict[str, float] = field(default_factory=dict)
    #: Whether `error` counts even if the run is not valid.
    certain: bool = False

    @property
    def figures(self) -> dict[str, float | None]:
        """The figures for tables and charts; see the function `figures`."""
        found = figures(self.totals, self.latency, self.measured, self.options.processes)
        of_effects = ("seen", "p50", "p95", "p99")
        return {**found, **{f"effect {key}": self.effect.get(key) for key in of_effects}}

    @property
    def faults(self) -> list[str]:
        """The reasons why the run has failed, in words."""
        found = [self.error] if self.error else []
        if self.invalid:
            return found if self.certain else []
        if self.verdict is not None:
            found += [f"{count} {name}" for name, count in self.verdict.faults.items()]
            found += self.verdict.words[:TOLD]
            if not self.verdict.adds_up:
                found.append("what was expected is not accounted for")
        if self.returns is not None:
            found += [f"{count} bots {what}" for what, count in self.returns.faults.items()]
        if self.totals.get("lost"):
            found.append(f"{self.totals['lost']:g} times a bot lost its connection")
            found += [f"{count} times: {why}" for why, count in self.cuts.items()]
        if self.screens is not None:
            found += [
                f"{count} times {kind} on a screen for too long"
                for kind, count in self.screens.lasting.items()
            ]
        found += [f"{count} times: {why}" for why, count in self.complaints.items()]
        return found + self.failures


def figures(
    totals: Mapping[str, float | None],
    latency: Mapping[str, float | None],
    seconds: float,
    processes: int,
) -> dict[str, float | None]:
    """Return the figures for tables and charts of what happened within `seconds`.

    `totals` and `latency` are those of a Result. Latencies are in ms, CPU in cores. `per CPU s` is
    the number of deliveries in each second of the server's CPU. None stands for what is not known.
    """

    def rate(name: str, of: float = 1.0) -> float | None:
        total = totals.get(name)
        return None if total is None else total / (seconds or 1.0) / of

    cpu, deliveries = totals.get("server_cpu"), totals.get("deliveries") or 0
    percentiles = ("p50", "p90", "p99", "p99.9", "max")
    return {
        "moves/s": rate("moves"),
        "deliveries/s": rate("deliveries"),
        "actions/s": rate("actions"),
        "refusals/s": rate("refusals"),
        "events/s": rate("events"),
        **{key: latency.get(key) or None for key in percentiles},
        "server": rate("server_cpu"),
        "broker": rate("broker_cpu"),
        "swarm": rate("swarm_cpu", processes),
        "per CPU s": deliveries / cpu if cpu else None,
        "MB": totals.get("server_mb"),
    }


@dataclass
class Progress:
    """What is shown while a run goes on.

    `now` are the figures of about the last second. `so_far` is the result since the measured time
    began, or before that since the beginning; nothing in it is judged by the oracle yet.
    """

    phase: str
    seconds: float
    bots: int
    now: dict[str, float | None]
    so_far: Result


#: Called now and then with the progress of a run.
Show = Callable[[Progress], None]
