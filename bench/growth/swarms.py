"""The series that the swarm measures: the same players on more and more workers, and crowds.

Each function yields the points of a series, and calls `note` with what goes on.
"""

from collections.abc import Callable, Iterator

from bench.growth import sizes
from bench.growth.laws import Point
from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.swarm.result import Options, Progress, Result
from flatlands.loadtest.swarm.run import run as run_swarm


def workers(note: Callable[[str], None]) -> Iterator[Point]:
    """Yield a point for each number of workers, in each scenario. Raises Trouble and Interrupted.

    `us` are those of CPU for each delivery, `times` what that is of one worker's; `cpu` and
    `broker` are shares of a core, latencies are in ms, and `bytes_event` is what a player gets for
    each event that it is told.
    """
    for scenario in sizes.SCENARIOS:
        alone = None
        for number in sizes.WORKERS:
            name = f"{scenario}, {sizes.BOTS} players, {number} workers"
            options = Options(
                bots=sizes.BOTS,
                squares=sizes.SQUARES,
                scenario=scenario,
                workers=number,
                broker=sizes.BROKER,
                seconds=sizes.SECONDS,
                warm_up=sizes.SETTLED,
                pin=False,
            )
            result = _swarm(options, name, note)
            found = result.figures
            us = 1e6 / found["per CPU s"] if found["per CPU s"] else None
            alone = us if number == 1 else alone
            yield {
                "series": "workers",
                "size": number,
                "scenario": scenario,
                "us": us,
                "times": us / alone if us and alone else None,
                "cpu": found["server"],
                "broker": found["broker"],
                "deliveries": found["deliveries/s"],
                "bytes_event": result.totals["bytes"] / max(result.totals["events"], 1),
                "p50": found["p50"],
                "p99": found["p99"],
                "faults": result.faults,
                "invalid": result.invalid,
            }


def crowds(note: Callable[[str], None]) -> Iterator[Point]:
    """Yield a point for each crowd in one square. Raises Trouble and Interrupted.

    `told` and `replaced` are events a second that the node published, and those that newer ones
    have replaced before that; `bytes_each` is what each player gets in a second. `lagging` counts
    how often a player had to be told everything anew.
    """
    for number in sizes.CROWDS:
        options = Options(
            bots=number,
            squares=1,
            scenario="crowd",
            rate=sizes.CROWD_MOVES,
            seconds=sizes.SECONDS,
            joins=number / sizes.CROWD_JOINS,
            processes=sizes.CROWD_PROCESSES,
            pin=False,
        )
        result = _swarm(options, f"a crowd of {number:,}", note)
        found = result.figures
        seconds = result.measured
        told, replaced = (result.server.get(name, 0) / seconds for name in ("events", "replaced"))
        yield {
            "series": "crowd",
            "size": number,
            "cpu": found["server"],
            "p50": found["p50"],
            "p99": found["p99"],
            "told": told,
            "replaced": replaced,
            "bytes_each": result.totals["bytes"] / seconds / number,
            "lagging": result.totals["resyncs"],
            "faults": result.faults,
            "invalid": result.invalid,
        }


def _swarm(options: Options, name: str, note: Callable[[str], None]) -> Result:
    def told(progress: Progress) -> None:
        note(f"{name}: {progress.phase}, {progress.bots:,} players")

    result = run_swarm(options, told)
    # A run that was interrupted returns what it has measured.
    signals.check()
    if not result.measured:
        raise Trouble(f"{name}: nothing was measured: {result.error}")
    return result
