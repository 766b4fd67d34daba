"""`python -m loadtest.chaos`: inflicts faults on servers under a few hundred bots, and soaks one.

Each fault is inflicted on a new server while bots walk about. The oracle finds out when all
screens were right again, which bots came back as which players, and what was wrong at the end. This
is compared with what docs/operations.md promises. Of the server it uses only the processes, the
pages and the protocol, never the code.
"""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from flatlands.needs import packages

with packages("swarm"):
    from rich.table import Table

    from flatlands.loadtest.chaos.faults import FAULTS, Fault
    from flatlands.loadtest.chaos.ground import Ground
    from flatlands.loadtest.chaos.soak import soak
    from flatlands.loadtest.kit import signals
    from flatlands.loadtest.kit.options import whole
    from flatlands.loadtest.kit.processes import Trouble
    from flatlands.loadtest.kit.signals import Interrupted
    from flatlands.loadtest.swarm import terminal_output
    from flatlands.loadtest.swarm.result import END, Options, Result
    from flatlands.loadtest.swarm.run import RunContext, run

#: The measured time before the fault.
BEFORE_SECONDS = 3.0
#: The measured time after the promised time.
AFTER_SECONDS = 3.0

#: The most times that a fault is tried: a run that is not valid is repeated.
TRIES = 3

#: Bots for each square in which newcomers begin.
SHARE = 20

EPILOG = """faults:
{}

The exit code is 0 if every promise was kept, 1 if one was broken, 2 for bad options, 3 if the swarm
was too slow to tell, 130 after Ctrl-C."""


@dataclass
class Outcome:
    """The result of a fault. `right`: seconds from its end until all screens were right again.

    `broken` are the promises that were not kept, and `invalid` the reasons why the run does not
    count.
    """

    name: str
    fault: Fault
    result: Result | None = None
    right: float = 0.0
    broken: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)


def try_fault(name: str, bots: int, display: terminal_output.Display) -> Outcome:
    """Inflict one fault on a new server, under a number of bots."""
    fault = FAULTS[name]
    seconds = BEFORE_SECONDS + fault.seconds + fault.promise + AFTER_SECONDS
    options = Options(bots=bots, seconds=seconds, sample=30, late=500.0, pin=False)
    outcome = Outcome(name, fault)
    squares = max(bots // SHARE, 1)
    for _ in range(TRIES):
        outcome = Outcome(name, fault)
        over: list[int] = []
        with contextlib.ExitStack() as stack:
            ground = Ground(stack, fault.broker, fault.workers, squares)

            def injection(
                there: RunContext, ground: Ground = ground, over: list[int] = over
            ) -> None:
                ground.field = there
                signals.sleep(BEFORE_SECONDS)
                over.append(fault.injection(ground))

            with display.following(f"{name}: {fault.about}", options) as following:
                result = run(options, following, injection, ground.target)
        outcome.result = result
        signals.check()
        if not result.invalid:
            judge(outcome, result, over)
            return outcome
        outcome.invalid = result.invalid
    return outcome


def judge(outcome: Outcome, result: Result, over: Sequence[int]) -> None:
    """Compare a result with the promises, and note in `outcome` what is broken.

    `over` holds the time in us, by the run's clock, at which the fault was over.
    """
    fault, broken = outcome.fault, outcome.broken
    if result.error:
        broken.append(result.error)
    if not over or result.screens is None or result.returns is None or result.verdict is None:
        return
    outcome.right = result.screens.wrong_until(over[0])
    if outcome.right > fault.promise:
        broken.append(f"screens were wrong for {outcome.right:.1f} s")
    broken += [f"{count} bots {what}" for what, count in result.returns.faults.items()]
    if result.returns.cuts and not fault.cuts:
        broken.append(f"{result.returns.cuts} bots were cut off: {result.returns.why}")
    ends = result.verdict.faults
    broken += [f"{ends[what]} {what} at the end" for what in END if what in ends]
    broken += [f"{count} times {why}" for why, count in result.complaints.items()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    given = _parser().parse_args(arguments)
    display = terminal_output.Display()
    outcomes: list[Outcome] = []
    code = 0
    with signals.remembered():
        try:
            for name in given.faults or FAULTS:
                outcomes.append(try_fault(name, given.bots, display))
                display.say(_line(outcomes[-1]))
            if given.soak:
                code = _soaked(given.soak, given.bots, display)
        except Trouble as trouble:
            display.say(f"chaos: {trouble}")
            code = 1
        except Interrupted:
            display.say("chaos: interrupted")
            code = 130
    if outcomes:
        display.print(_table(outcomes))
    if any(outcome.broken for outcome in outcomes):
        code = code or 1
    return code or (3 if any(outcome.invalid for outcome in outcomes) else 0)


def _soaked(seconds: int, bots: int, display: terminal_output.Display) -> int:
    display.say(f"soak: {bots:,} bots for {seconds} s, who come and go, under faults")
    found = soak(seconds, bots, display)
    for line in found.lines:
        display.say(f"  {line}")
    for what in found.broken:
        display.say(f"  broken: {what}")
    return 1 if found.broken else 3 if found.invalid else 0


def _line(outcome: Outcome) -> str:
    if outcome.invalid:
        why = "; ".join(outcome.invalid)
        return f"  not valid: {why}; stop other programs here, or use fewer --bots"
    kept = "; ".join(outcome.broken) or "kept"
    return f"  right after {outcome.right:.1f} s, promised {outcome.fault.promise:g} s: {kept}"


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for heading in (
        "fault",
        "promised, s",
        "right after, s",
        "cut off",
        "back as themselves",
        "away, s: median",
        "most",
        "not told",
        "",
    ):
        table.add_column(heading, justify="left" if heading in ("fault", "") else "right")
    for outcome in outcomes:
        cells = ["-"] * 6
        result = outcome.result
        if result and result.returns and result.verdict and not outcome.invalid:
            returns, verdict = result.returns, result.verdict
            away = returns.away
            cells = [
                f"{outcome.right:.1f}",
                f"{returns.cuts:,}",
                f"{returns.as_themselves:,}",
                f"{away[len(away) // 2]:.1f}" if away else "-",
                f"{away[-1]:.1f}" if away else "-",
                f"{verdict.missing + verdict.dropped:,}",
            ]
        word = "not valid" if outcome.invalid else "broken" if outcome.broken else "kept"
        table.add_row(outcome.fault.about, f"{outcome.fault.promise:g}", *cells, word)
    return table


def _parser() -> argparse.ArgumentParser:
    faults = "\n".join(f"  {name:15}{fault.about}" for name, fault in FAULTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m loadtest.chaos",
        description="Inflict faults on Flatlands under a swarm, and compare the effects with the "
        "promises.",
        epilog=EPILOG.format(faults),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--bots", type=whole(1, 100_000), default=300, help="number of bots (300)")
    add("--faults", nargs="+", choices=FAULTS, metavar="NAME", help="only these faults; see below")
    add(
        "--soak",
        type=whole(1, 86_400),
        default=0,
        metavar="SECONDS",
        help="then let bots come and go under faults for that long: do they leave anything behind?",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
