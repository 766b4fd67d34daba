"""What is tried with one seed after the other for some time: its command line, and its round."""

import argparse
import logging
import os
import random
import sys
import time
from collections.abc import Callable, Iterator

from loadtest.kit.options import amount, whole

#: Seconds between two lines about how far it is.
SHOWN_EVERY = 10


def read(program: str, description: str | None) -> argparse.Namespace:
    """Return what the command line of `python -m program` says; from here on nothing is logged.

    The process is started again where the order of its sets would differ from run to run: a round
    must be the same when it is played again.
    """
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", program, *sys.argv[1:]])
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    add, seed = parser.add_argument, whole(0, 10**12)
    add("--seconds", type=amount(0, 10**9), default=60, help="how long (default 60)")
    add("--first", type=seed, help="the first seed (default: by chance)")
    add("--seed", type=seed, help="play only the round of this seed")
    logging.disable(logging.CRITICAL)
    return parser.parse_args()


def rounds(given: argparse.Namespace, told: Callable[[int], str]) -> Iterator[int]:
    """Yield seeds for as long as the command line says; `told` says how far it
    is after so many rounds."""
    shown = started = time.monotonic()
    first = given.first if given.seed is None else given.seed
    seed = first if first is not None else random.SystemRandom().randrange(10**9)
    count = 0
    while True:
        yield seed
        count += 1
        now = time.monotonic()
        if now - started >= given.seconds or given.seed is not None:
            return
        if now - shown >= SHOWN_EVERY:
            shown = now
            print(f"{now - started:.0f} s: {told(count)}", flush=True)
        seed += 1
