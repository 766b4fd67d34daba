"""`python -m tests.fuzz`: give bytes and messages of all kinds to their readers for some time.

The exit code is 1 if something broke; then it prints the last input and how to repeat the round.
"""

import logging
import random
import sys
import time
import traceback
from collections.abc import Callable

from flatlands.needs import packages

with packages("test"):
    from flatlands.testkit.search import parser, rounds
    from tests.fuzz import readers, servers, worlds
    from tests.fuzz.inputs import Inputs

#: Name of a target -> the function that gives it one stream, message or world, and its calls in a
#: round.
Targets = dict[str, tuple[Callable[[random.Random, Inputs], None], int]]

TARGETS: Targets = {
    "frames": (readers.frames, 100),
    "messages": (readers.messages, 2000),
    "servers": (servers.servers, 1000),
    "sessions": (worlds.sessions, 1),
    "strangers": (worlds.strangers, 1),
    "forgers": (worlds.forgers, 1),
}


def play(
    name: str, seed: int, inputs: Inputs, rounds: int | None = None, targets: Targets = TARGETS
) -> None:
    """Play the round of a seed on one target, with `rounds` calls. Raises what goes wrong."""
    fuzz, count = targets[name]
    # Nodes draw their ids, and where players begin, from the process's own random numbers.
    random.seed(seed)
    chance = random.Random(f"{name} {seed}")
    for _ in range(count if rounds is None else rounds):
        fuzz(chance, inputs)


def counts(given: dict[str, Inputs]) -> str:
    """Return, as text, how many inputs each target got."""
    return ", ".join(f"{name} {inputs.count:,}" for name, inputs in given.items())


def main(program: str, targets: Targets) -> int:
    """Play rounds for as long as the command line of a program says; return the exit code."""
    chosen = parser(program, __doc__).parse_args()
    logging.disable(logging.CRITICAL)
    started, seed = time.monotonic(), 0
    given = {name: Inputs() for name in targets}
    for seed in rounds(chosen, lambda _: counts(given)):
        for name, inputs in given.items():
            try:
                play(name, seed, inputs, targets=targets)
            except Exception as error:
                took = time.monotonic() - started
                print(f"given: {counts(given)}; then, after {took:.1f} s:", flush=True)
                traceback.print_exception(error, limit=-6)
                print(f"{name} broke in the round of seed {seed}; given last, in hex:")
                print(inputs.last.hex())
                print(f"Play it again: make fuzz SEED={seed}")
                return 1
    print(f"all right: {counts(given)}, seeds up to {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main("tests.fuzz", TARGETS))
