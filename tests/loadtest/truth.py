"""Checks many times that the swarm judges rightly: python -m tests.loadtest.truth

Beside a process that uses a whole core, a run of a correct server may be not valid, but must never
fail. With a server that loses one message in ten thousand, every valid run must fail.
"""

import argparse
import contextlib
import sys
from collections import Counter
from collections.abc import Iterator

from flatlands.needs import packages

with packages("test"):
    from flatlands.loadtest.kit.options import whole
    from flatlands.loadtest.kit.processes import Program, Trouble
    from flatlands.loadtest.swarm import target
    from flatlands.loadtest.swarm.result import Options, Result
    from flatlands.loadtest.swarm.run import run
    from flatlands.loadtest.swarm.scenarios import SCENARIOS

BROKERS = (
    "memory://",
    "redis://",
    "zeromq://",
    "nats://",
    "mqtt://",
    "redis://,redis://",
    "rediscluster://",
)

#: The faulty server loses one in this many messages to clients.
ONE_IN = 10_000

#: Seconds of such a run, in which about a dozen messages are lost: half of them must be delivered.
LOSING_FOR = 8.0


@contextlib.contextmanager
def busy_core() -> Iterator[None]:
    """Let a process use a whole core while the block runs."""
    with Program([sys.executable, "-c", "while True: pass"], "a busy process"):
        yield


def outcome(result: Result) -> str:
    """Return a run's outcome in a word."""
    if result.invalid and not result.certain:
        return "not valid"
    return "failed" if result.faults else "all right"


def beside_a_busy_core(broker: str, bots: int = 100, seconds: float = 3.0) -> Result:
    """Do a run of a correct server beside a process that uses a whole core."""
    options = Options(bots=bots, seconds=seconds, broker=broker)
    with target.started(broker, 1, SCENARIOS["wander"].squares(bots)) as server, busy_core():
        return run(options, lambda _: None, target=server)


def losing(broker: str, bots: int = 100, late: float = 400.0) -> Result:
    """Do a run of a server that loses messages."""
    options = Options(bots=bots, seconds=LOSING_FOR, broker=broker, sample=bots, late=late)
    module = ("tests.loadtest.faulty_server", f'{{"lose": {ONE_IN}}}')
    squares = SCENARIOS["wander"].squares(bots)
    with target.started(broker, 1, squares, module=module) as server:
        return run(options, lambda _: None, target=server)


def main() -> int:
    """Do as many runs as the command line says; return 1 if any was judged wrongly."""
    parser = argparse.ArgumentParser(prog="python -m tests.loadtest.truth", description=__doc__)
    add = parser.add_argument
    add("--runs", type=whole(1, 100_000), default=100, help="of each kind on each broker (100)")
    add("--brokers", nargs="+", default=BROKERS, metavar="URL")
    given = parser.parse_args()
    code = 0
    for broker in given.brokers:
        for what, do, wrong in (
            ("beside a busy core", beside_a_busy_core, "failed"),
            (f"one message in {ONE_IN:,} thrown away", losing, "all right"),
        ):
            found: Counter[str] = Counter()
            for _ in range(given.runs):
                try:
                    result = do(broker)
                except Trouble as trouble:
                    print(f"truth: {trouble}")
                    return 2
                word = outcome(result)
                found[word] += 1
                if word == wrong:
                    code = 1
                    print(f"  {broker}, {what}: {word}: {'; '.join(result.faults)}", flush=True)
            summary = ", ".join(f"{count} {word}" for word, count in sorted(found.items()))
            print(f"{broker}, {what}: {summary}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
