"""What a process of the swarm is told."""

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """`address` is a number and a port, `name` what the server calls itself; `tls` is "", "checked"
    or "unchecked". `epoch` is the monotonic clock, in us, at which the run's clock shows 0;
    `indices` are its bots; `sample` of all bots one in so many observes; `returns` says that who is
    cut off comes back."""

    address: tuple[str, int]
    name: str
    tls: str
    path: str
    scenario: str
    rate: float
    viewport: tuple[int, int]
    indices: range
    sample: int
    joins: float
    epoch: int
    cpus: tuple[int, ...]
    returns: bool

    def now(self) -> int:
        """The run's clock, in us."""
        return time.monotonic_ns() // 1000 - self.epoch
