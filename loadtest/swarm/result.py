"""What a run is told, what is shown of it meanwhile, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from loadtest.swarm.oracle import Verdict
from loadtest.swarm.screens import Returns, Screens

#: One move in a hundred may be sent so many ms after it was due, by a swarm that is believed.
LATE = 50.0


@dataclass
class Options:
    """What a run is told. `url` names a server that runs, and is the target's; else one is started
    with `broker` and `workers`. `sample` bots observe (all of a small swarm). `pin` keeps server
    and swarm apart; `returns` says that who is cut off comes back; `insecure` that any certificate
    will do; `late` is how late, in ms, one move in a hundred may be sent by a swarm that is
    believed."""

    bots: int = 1000
    seconds: float = 30.0
    scenario: str = "wander"
    url: str | None = None
    broker: str = ""
    workers: int = 1
    rate: float | None = None
    squares: int | None = None
    viewport: tuple[int, int] | None = None
    processes: int = 1
    sample: int = 40
    joins: float = 500.0
    pin: bool = True
    returns: bool = True
    insecure: bool = False
    late: float = LATE


@dataclass
class Result:
    """What came of a run. Latencies are ms, from the moment a move was due to a bot's receiving it;
    `series` has one row for each second of the measured time."""

    options: Options
    broker: str = ""
    error: str | None = None
    verdict: Verdict | None = None
    measured: float = 0.0
    totals: dict[str, float] = field(default_factory=dict)
    latency: dict[str, float] = field(default_factory=dict)
    joining: dict[str, float] = field(default_factory=dict)
    series: list[dict[str, float]] = field(default_factory=list)
    server: dict[str, Any] = field(default_factory=dict)
    complaints: dict[str, int] = field(default_factory=dict)
    cuts: dict[str, int] = field(default_factory=dict)
    screens: Screens | None = None
    returns: Returns | None = None
    #: Why the swarm is not to be believed: then nothing is judged.
    invalid: list[str] = field(default_factory=list)
    #: The error is one whatever the swarm was like.
    certain: bool = False

    @property
    def faults(self) -> list[str]:
        """What makes the run fail, in words."""
        found = [self.error] if self.error else []
        if self.invalid:
            return found if self.certain else []
        if self.verdict is not None:
            found += [f"{count} {name}" for name, count in self.verdict.faults.items()]
            if not self.verdict.adds_up:
                found.append("what was expected is not accounted for")
        if self.totals.get("lost"):
            found.append(f"{self.totals['lost']:g} times a bot lost its connection")
            found += [f"{count} times: {why}" for why, count in self.cuts.items()]
        if self.returns is not None:
            found += [f"{count} bots {what}" for what, count in self.returns.faults.items()]
        if self.screens is not None:
            found += [
                f"{count} times {kind} on a screen for too long"
                for kind, count in self.screens.lasting.items()
            ]
        found += [f"{count} times: {why}" for why, count in self.complaints.items()]
        return found


@dataclass
class Progress:
    """What is shown while it runs; rates are those of the last second or so."""

    phase: str
    seconds: float
    bots: int
    moves: float = 0.0
    deliveries: float = 0.0
    p99: float = 0.0
    server: float = 0.0
    broker: float = 0.0
    swarm: float = 0.0


#: Is called with how far a run is, now and then.
Show = Callable[[Progress], None]
