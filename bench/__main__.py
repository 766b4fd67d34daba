"""`python -m bench`: figures beside their targets and those of the recorded run."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from flatlands import compiled
from flatlands.needs import packages

# The modules that `python -m server` would use, compiled or not, are measured.
compiled.use()

with packages("swarm"):
    from bench import both, command, micro, whole
    from flatlands.loadtest.kit.options import file
    from flatlands.loadtest.kit.page import write_json
    from flatlands.loadtest.kit.terminal import Terminal

RECORDED = Path(__file__).resolve().parent / "recorded.json"

#: Figure -> its target: the most that it should be, or with a + the least.
TARGETS = {
    "a leg on fresh land, us": "150",
    "400 players: deliveries a CPU second, k": "+600",
    "2000 players: deliveries a CPU second, k": "+1800",
    "50 players: p50, ms": "15",
    "20 players: p50, ms": "15",
    "100 players: p50, ms": "15",
    "400 players: p50, ms": "25",
    "2000 players: p99, ms": "100",
    "8000 players: p99, ms": "250",
    "2000 players: memory, MB": "120",
    "2000 players, pace: p99, ms": "100",
    "2000 players: bytes an event": "15",
    "2000 players: KB/s to each": "6",
    "redis, 2 workers: share of the figure of one, %": "+70",
    "zeromq, 2 workers: share of the figure of one, %": "+70",
    "crossings: CPU against none": "1.5",
    "2000 explorers: CPU, %": "10",
    "2000 explorers: p99, ms": "100",
    "500 in one square: p99, ms": "300",
    "500 painters: CPU against walkers": "1.5",
    "500 painters: bytes against walkers": "1.5",
    "10000 movers: CPU, %": "30",
    "10000 movers: memory, MB": "80",
    "a join storm: p99 of all, ms": "200",
    "a join storm: longest until complete, s": "8",
    "idle players: CPU, %": "3",
    "idle players: memory of each, KB": "25",
}


EPILOG = """The exit code is 0, 1 if a run failed, 3 if the swarm was too slow to be believed: then
nothing is recorded."""


def main() -> int:
    """Measure and print; return the exit code. A missed target is not a failure."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, epilog=EPILOG)
    parser.add_argument("--record", action="store_true", help="keep the figures to compare with")
    parser.add_argument(
        "--full",
        action="store_true",
        help="more shapes, each three times: medians; takes half an hour",
    )
    parser.add_argument(
        "--both",
        action="store_true",
        help="instead: what a move, a flush and a snapshot cost with the sources and with the "
        "compiled modules (make fast), in turn; takes five minutes",
    )
    parser.add_argument("--json", type=file, metavar="FILE", help="write all results there")
    given = parser.parse_args()
    terminal, figures = Terminal(), _both if given.both else _figures
    return command.run("bench", lambda: figures(given, terminal.say), terminal.say)


def _both(given: argparse.Namespace, say: Callable[[str], None]) -> int:
    _keep(given, both.measure(say))
    return 0


def _figures(given: argparse.Namespace, say: Callable[[str], None]) -> int:
    say(f"compiled: {'yes' if compiled.used() else 'no'}")
    say("one move, one flush, one snapshot (bench/micro.py) ...")
    found = {f"{name}, us": figure for name, figure in micro.measure().items()}
    say("the whole server (bench/whole.py) ...")
    results = whole.measure(say, given.full)
    found |= whole.figures(results)
    _keep(given, {"figures": found, "results": results})
    before = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    say(f"\n{'':58}{'here':>10}{'target':>10}{'recorded':>10}")
    for name, figure in found.items():
        target = TARGETS.get(name, "")
        shown = target.replace("+", "≥ ") if "+" in target else target and f"≤ {target}"
        missed = "  missed" if target and not _met(figure, target) else ""
        old = f"{before[name]:.4g}" if name in before else "-"
        say(f"{name:58}{figure:>10.4g}{shown:>10}{old:>10}{missed}")
    wrong = [name for name, runs in results.items() if not whole.good(runs)]
    if wrong:
        say(f"\nwithout figures, for what is told above: {', '.join(wrong)}")
        failed = any(result["faults"] for name in wrong for result in results[name])
        return 1 if failed else 3
    if given.record:
        RECORDED.write_text(json.dumps({k: round(v, 4) for k, v in found.items()}, indent=1) + "\n")
    return 0


def _keep(given: argparse.Namespace, found: object) -> None:
    if given.json is not None:
        write_json(given.json, found)


def _met(figure: float, target: str) -> bool:
    return figure >= float(target[1:]) if target[0] == "+" else figure <= float(target)


if __name__ == "__main__":
    sys.exit(main())
