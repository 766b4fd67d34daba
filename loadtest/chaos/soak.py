"""A soak: bots come and go for a long time under faults that end no process.

Afterwards the server must need no more memory, descriptors or entries than before.
"""

import contextlib
import json
import time
from dataclasses import dataclass, field

from flatlands.loadtest.chaos.faults import FAULTS, SOAKING
from flatlands.loadtest.chaos.ground import Ground
from flatlands.loadtest.kit import signals
from flatlands.loadtest.swarm import terminal_output
from flatlands.loadtest.swarm.result import Options
from flatlands.loadtest.swarm.run import RunContext, run

#: The time between two faults.
PAUSE_SECONDS = 8.0
#: The time at the end until all players are gone: a lost player stays for ten seconds.
REST_SECONDS = 25.0

#: Seconds of play before the first measurement. Each fault is done about once in them.
WARM_UP = 100.0

# Freed memory does not all go back to the system.
#: The memory of a process may grow by such a share.
GROWTH_SHARE = 0.10
#: It may grow by so much in any case.
GROWTH_MB = 8.0

#: How many descriptors a process may have gained: a connection to the broker may be made again.
MORE_FDS = 2

#: Numbers of /stats, and by how much each may grow, since a node's own activity varies.
GROWN = {"connections": 0, "residents": 0, "squares": 0, "watchers": 8}


@dataclass
class Soaked:
    """The result of a soak: lines to print, and what was not as before.

    `invalid`: the swarm was too slow, so nothing is proven.
    """

    lines: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    invalid: bool = False


def soak(seconds: float, bots: int, display: terminal_output.Display) -> Soaked:
    """Make bots come and go for `seconds`; compare the server before and after."""
    found = Soaked()
    with contextlib.ExitStack() as stack:
        ground = Ground(stack, "redis://", 2, max(bots // 20, 1))
        # After this, everything that is made only once exists, and queues have had their peaks.
        _play(ground, bots, min(WARM_UP, seconds), display, found)
        signals.sleep(REST_SECONDS)
        before = _measure(ground)
        _play(ground, bots, seconds, display, found)
        signals.sleep(REST_SECONDS)
        after = _measure(ground)
    _compare(before, after, found)
    return found


def _play(
    ground: Ground, bots: int, seconds: float, display: terminal_output.Display, found: Soaked
) -> None:
    options = Options(
        bots=bots, seconds=seconds, scenario="churn", sample=10, late=500.0, pin=False
    )
    until = time.monotonic() + seconds + 8
    done: list[str] = []

    def injection(there: RunContext) -> None:
        ground.field = there
        while time.monotonic() < until - PAUSE_SECONDS:
            for name in SOAKING:
                left = until - time.monotonic()
                if left > PAUSE_SECONDS + FAULTS[name].seconds:
                    FAULTS[name].injection(ground)
                    done.append(name)
                    signals.sleep(PAUSE_SECONDS)
            if left <= PAUSE_SECONDS * 3:
                return

    with display.following(f"soak: {seconds:.0f} s", options) as following:
        result = run(options, following, injection, ground.target)
    if result.error:
        found.broken.append(result.error)
    found.invalid = bool(result.invalid)
    found.lines.append(f"{len(done)} faults were done, and {result.totals['joins']:,.0f} joins")
    if result.returns is not None:
        found.broken += [f"{count} bots {what}" for what, count in result.returns.faults.items()]


def _measure(ground: Ground) -> dict[str, dict[str, float]]:
    """Return memory and descriptors of each process, and GROWN's numbers of all workers."""
    found: dict[str, dict[str, float]] = {}
    for process in (ground.server, *ground.server.children()):
        with process.oneshot():
            memory = process.memory_info().rss / 2**20
            found[f"process {process.pid}"] = {"MB": memory, "descriptors": process.num_fds()}
    with ground.target.open("/stats") as answer:
        shown = json.load(answer)
    found["all workers"] = {name: float(shown[name]) for name in GROWN}
    return found


def _compare(
    before: dict[str, dict[str, float]], after: dict[str, dict[str, float]], found: Soaked
) -> None:
    for what in before.keys() - after.keys():
        found.broken.append(f"{what} is gone")
    for what, now in after.items():
        was = before.get(what, {})
        shown = ", ".join(f"{name} {was.get(name, 0):.4g} -> {n:.4g}" for name, n in now.items())
        found.lines.append(f"{what}: {shown}")
        for name, number in now.items():
            if name in was and number > was[name] + _allowed(name, was[name]):
                found.broken.append(f"{what}: {name} {was[name]:.4g} before, {number:.4g} after")


def _allowed(name: str, before: float) -> float:
    if name == "MB":
        return max(before * GROWTH_SHARE, GROWTH_MB)
    return MORE_FDS if name == "descriptors" else GROWN.get(name, 0)
