"""The plan of a process of the swarm: all that it needs to know at its start."""

from dataclasses import dataclass
from time import monotonic_ns

from flatlands.loadtest.swarm.intent_times import Memory


@dataclass(frozen=True)
class ProcessOptions:
    """What one process of the swarm is to do.

    `address` is (IP address, port) and `name` the server's name; `tls` is "", "checked" or
    "unchecked", and `login` what a proxy in front of it asks for. `game` is the one whose own bots
    play, if the scenario is that. `rate` is in moves a second of each bot, `joins` in bots a
    second. `viewports` are in tiles, and bots have them in equal shares. `indices` are the
    process's bots; one bot in `sample` observes. `epoch` is the reading of the monotonic clock, in
    us, at which the run's clock is 0. `returns`: bots that are cut off come back. `bots` is the
    number of bots in all processes, and `dues` the memory for their due times, see intent_times.py
    (None on the way to another machine); `elsewhere`: some of them are on other machines. Each bot
    chooses by `seed` and its index.
    """

    address: tuple[str, int]
    name: str
    tls: str
    path: str
    login: str
    scenario: str
    game: str
    rate: float
    viewports: tuple[tuple[int, int], ...]
    indices: range
    sample: int
    joins: float
    epoch: int
    cpus: tuple[int, ...]
    returns: bool
    bots: int
    dues: Memory | None
    elsewhere: bool
    seed: int

    def now(self) -> int:
        """Return the time by the run's clock, in us."""
        return monotonic_ns() // 1000 - self.epoch
