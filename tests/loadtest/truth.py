"""Whether the swarm tells the truth, many times over: python -m tests.loadtest.truth

Beside a process that takes a whole core a run may be not valid, but never failed; and where one
message in ten thousand is thrown away on its way to the clients, a run that is valid has failed.
"""

import argparse
import contextlib
import sys
from collections import Counter
from collections.abc import Iterator

from needs import packages

with packages("test"):
    from loadtest.kit.options import whole
    from loadtest.kit.processes import Program, Trouble
    from loadtest.swarm import target
    from loadtest.swarm.result import Options, Result
    from loadtest.swarm.run import run
    from loadtest.swarm.scenarios import SCENARIOS

BROKERS = (
    "memory://", "redis://", "zeromq://", "nats://", "mqtt://", "redis://,redis://",
    "rediscluster://",
)  # fmt: skip

#: One in so many messages to clients is thrown away.
ONE_IN = 10_000

#: Seconds of a run that loses some: so many messages that one is bound to be among those that must
#: be heard.
LOSING_FOR = 10.0


@contextlib.contextmanager
def busy_core() -> Iterator[None]:
    """Let a process take all it gets of a core."""
    with Program([sys.executable, "-c", "while True: pass"], "a busy process"):
        yield


def said(result: Result) -> str:
    """Return the word for what came of a run."""
    if result.invalid and not result.certain:
        return "not valid"
    return "failed" if result.faults else "all right"


def beside_a_busy_core(broker: str, bots: int = 100, seconds: float = 3.0) -> Result:
    """Do a run of a server that keeps its word beside a process that takes a core."""
    with busy_core():
        return run(Options(bots=bots, seconds=seconds, broker=broker), lambda _: None)


def losing(broker: str, bots: int = 100, late: float = 400.0) -> Result:
    """Do a run of a server that throws messages away."""
    options = Options(bots=bots, seconds=LOSING_FOR, broker=broker, sample=bots, late=late)
    module = ("tests.loadtest.faulty_server", f'{{"lose": {ONE_IN}}}')
    squares = SCENARIOS["wander"].squares(bots)
    with target.started(broker, 1, squares, module=module) as server:
        return run(options, lambda _: None, target=server)


def main() -> int:
    """Do as many runs as the command line says; return 1 if any was not told truly."""
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
                word = said(result)
                found[word] += 1
                if word == wrong:
                    code = 1
                    print(f"  {broker}, {what}: {word}: {'; '.join(result.faults)}", flush=True)
            told = ", ".join(f"{count} {word}" for word, count in sorted(found.items()))
            print(f"{broker}, {what}: {told}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
