"""`python -m tests.fuzz`: give bytes and messages of all kinds to what reads them, for some time.

Ends with 1 where something broke, with what was given last and how to give it again.
"""

import argparse
import logging
import os
import random
import sys
import time
import traceback
from collections.abc import Callable

from needs import packages

with packages("test"):
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
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--first", type=int, help="the first seed (default: by chance)")
    parser.add_argument("--seed", type=int, help="play only the round of this seed")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    shown = started = time.monotonic()
    first = arguments.first if arguments.seed is None else arguments.seed
    seed = first if first is not None else random.SystemRandom().randrange(10**9)
    given = {name: Inputs() for name in TARGETS}
    while True:
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
        now = time.monotonic()
        if now - started >= arguments.seconds or arguments.seed is not None:
            break
        if now - shown >= 10:
            shown = now
            print(f"{now - started:.0f} s: {counts(given)}", flush=True)
        seed += 1
    print(f"all right: {counts(given)}, seeds up to {seed}")
    return 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets must not differ when a round is played again.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]])
    sys.exit(main())
