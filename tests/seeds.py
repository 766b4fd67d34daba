"""The command line, and the seeds, of programs that try one seed after the other for some time."""

import argparse
import logging
import os
import random
import sys
import time
from collections.abc import Callable, Iterator

from flatlands.loadtest.kit.options import amount, whole

#: Seconds between two lines about the progress.
SHOWN_EVERY = 10


def read(program: str, description: str | None) -> argparse.Namespace:
    """Return the options of the command line of `python -m program`. From now on nothing is logged.

    The process is started again with a fixed hash seed if it has none, so that the order of sets,
    and with it each round, is the same in every run.
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


def rounds(given: argparse.Namespace, progress: Callable[[int], str]) -> Iterator[int]:
    """Yield seeds for as long as the command line says, and print the progress.

    `progress` returns a text about it after so many rounds.
    """
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
            print(f"{now - started:.0f} s: {progress(count)}", flush=True)
        seed += 1
