"""`python -m bench.pairs CLONE`: what a move and a flush cost here, and in another clone, in turn.

A process of each clone lives all the time, and they take turns of a second: so what else runs on
the machine troubles both alike, and each pair gives a ratio. The costs are those of micro.py.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import command
from flatlands import compiled
from flatlands.loadtest.kit.options import whole
from flatlands.loadtest.kit.processes import Program, Trouble
from flatlands.loadtest.kit.terminal import Terminal

#: Turns of each clone, those of them that are left out since caches are cold, and the seconds that
#: one may take.
TURNS, COLD, WITHIN = 60, 3, 120.0

#: What runs in either clone, from its folder: it must also run in versions without this module.
CHILD = """
from gevent import monkey
monkey.patch_all()
from flatlands import compiled
compiled.use()
import gc, json, os, random, sys, tempfile
from bench.micro import PLAYERS, Bench
random.seed(1)
# Both on one core, in turn: others may be slower.
os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
with tempfile.TemporaryDirectory() as folder:
    bench = Bench(PLAYERS, folder)
    gc.collect()
    gc.freeze()
    print(json.dumps(compiled.used()), flush=True)
    while sys.stdin.buffer.raw.read(64):
        costs = bench.moves(1000, "walk"), bench.moves(1000, "go"), bench.flushes(20)
        print(json.dumps(costs), flush=True)
    bench.close()
"""

#: The names of the costs that it prints.
COSTS = ("a walk", "a click", "a write of a flush, without the kernel")


def measure(other: Path, turns: int, switch: str) -> list[tuple[list[float], list[float]]]:
    """Return pairs of costs in us of CPU, there and here. `switch` is the value of COMPILED. Raises
    Trouble and Interrupted.

    Which process is started first changes a flush's cost by up to a tenth: each is first once.
    """
    here = Path(__file__).resolve().parent.parent
    late = _measure((other, here), turns // 2, switch)
    early = _measure((here, other), turns - turns // 2, switch)
    return [*late, *((there, own) for own, there in early)]


def _measure(
    folders: tuple[Path, Path], turns: int, switch: str
) -> list[tuple[list[float], list[float]]]:
    children, environment = [], {compiled.SWITCH: switch}
    try:
        for folder in folders:
            child = [sys.executable, "-c", CHILD]
            children.append(
                Program(child, str(folder), folder=folder, environment=environment, with_input=True)
            )
            if _answer(children[-1]) != (switch != "no"):
                raise Trouble(f"{folder} has no compiled modules that fit: run make fast there")
        pairs = []
        for turn in range(turns + COLD):
            got: dict[int, list[float]] = {}
            for which in (0, 1) if turn % 2 else (1, 0):
                children[which].send({})
                got[which] = _answer(children[which])
            pairs.append((got[0], got[1]))
        return pairs[COLD:]
    finally:
        for program in children:
            program.end()


def _answer(program: Program) -> Any:
    line = program.line(WITHIN)
    if line is None:
        raise Trouble(f"{program.name} has measured nothing: {program.last_words()}")
    return json.loads(line)


def shown(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[str]:
    """Return a line for each cost: its medians, and the median and middle half of its ratios."""
    lines = [f"{'us of CPU, medians of ' + str(len(pairs)) + ' pairs':40}  there   here  ratio"]
    for which, name in enumerate(COSTS):
        there, here = ([costs[which] for costs in side] for side in zip(*pairs, strict=True))
        ratios = [ours / theirs for theirs, ours in zip(there, here, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        medians = f"{statistics.median(there):6.2f} {statistics.median(here):6.2f}"
        lines.append(f"{name:40} {medians}  {middle:.3f} (middle half {low:.3f} to {high:.3f})")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.pairs", description=__doc__)
    parser.add_argument("clone", type=Path, help="the folder of the other clone")
    parser.add_argument(
        "--turns", type=whole(4, 10_000), default=TURNS, help="pairs that count (%(default)s)"
    )
    parser.add_argument("--compiled", action="store_true", help="measure what make fast has made")
    given = parser.parse_args(arguments)
    terminal = Terminal()

    def work() -> int:
        if not (given.clone / "bench" / "micro.py").is_file():
            raise Trouble(f"{given.clone} is no clone of Flatlands: it has no bench/micro.py")
        found = measure(given.clone.resolve(), given.turns, "" if given.compiled else "no")
        for line in shown(found):
            terminal.print(line)
        return 0

    return command.run("bench.pairs", work, terminal.say)


if __name__ == "__main__":
    sys.exit(main())
