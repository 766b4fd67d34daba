"""`python -m tests.fuzz`: give bytes and messages of all kinds to what reads them, for some time.

Ends with 1 where something broke, with what was given last and how to give it again.
"""

import random
import sys
import time
import traceback
from collections.abc import Callable

from needs import packages

with packages("test"):
    from tests import seeds
    from tests.fuzz import readers, worlds
    from tests.fuzz.inputs import Inputs

#: What is fuzzed: name -> what gives it one stream, message, or world; and how many in a round.
TARGETS: dict[str, tuple[Callable[[random.Random, Inputs], None], int]] = {
    "frames": (readers.frames, 100),
    "messages": (readers.messages, 2000),
    "sessions": (worlds.sessions, 1),
    "strangers": (worlds.strangers, 1),
    "forgers": (worlds.forgers, 1),
}


def play(name: str, seed: int, inputs: Inputs, rounds: int | None = None) -> None:
    """Play the round of a seed on one target, all of it or less. Raises what goes wrong."""
    fuzz, count = TARGETS[name]
    # Nodes draw from the one of the process: their ids, and where players begin.
    random.seed(seed)
    chance = random.Random(f"{name} {seed}")
    for _ in range(count if rounds is None else rounds):
        fuzz(chance, inputs)


def counts(given: dict[str, Inputs]) -> str:
    """Return how much each target was given."""
    return ", ".join(f"{name} {inputs.count:,}" for name, inputs in given.items())


def main() -> int:
    """Play rounds for as long as the command line says; return 1 where one breaks."""
    chosen = seeds.read("tests.fuzz", __doc__)
    started, seed = time.monotonic(), 0
    given = {name: Inputs() for name in TARGETS}
    for seed in seeds.rounds(chosen, lambda _: counts(given)):
        for name, inputs in given.items():
            try:
                play(name, seed, inputs)
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
    sys.exit(main())
