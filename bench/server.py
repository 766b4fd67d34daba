"""`python -m bench.server [COMMIT]`: what the whole server costs here, and at another commit.

Both play Flatlands with real clients, in turn: first the one, then the other, and the next time the
other way round. Each is driven by the swarm of its own commit, since versions of the protocol
differ. The server has one core and the swarm the other. Each pair of runs gives a ratio for every
figure. A pair during which other programs used a core is repeated. Where a core is shared with
other machines its speed changes from second to second, so a loop that is always the same is timed
on the server's core during each run, and costs are compared in units of it.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from flatlands import compiled
from flatlands.needs import packages

with packages("swarm"):
    import psutil

    from bench import command, whole
    from flatlands.loadtest.kit import options
    from flatlands.loadtest.kit.machine import machine
    from flatlands.loadtest.kit.page import write_json
    from flatlands.loadtest.kit.processes import ROOT, Program, Trouble, on_cores
    from flatlands.loadtest.kit.terminal import Terminal
    from flatlands.loadtest.swarm.result_files import run_apart

#: The commit of the last release, 0.4.0, with which .ci/run compares.
RELEASE = "3e09fd89"

#: The folder of other commits' clones, with what was compiled there.
COMMITS = ROOT / "build" / "commits"

#: Runs -> options of the swarm.
RUNS = {
    "400": whole.RUNS["400"],
    "2000": whole.RUNS["2000"],
    "hello": tuple("--scenario churn --bots 400 --squares 400 --rate 0".split()),
    "gem": (
        *("--scenario", str(Path(__file__).with_name("gatherers.py"))),
        *("--bots", "200", "--squares", "400", "--rate", "1"),
    ),
}

#: Each run is measured for so long.
MEASURED_SECONDS = 5
#: A whole run may take so long.
WITHIN_SECONDS = 120

#: us of CPU of a write to a client. A server that others disturb flushes less often, which saves
#: these: it seems cheaper.
SEND = 7.0

#: The program that prints, 20 times a second, how many us of CPU a loop takes which is always the
#: same. It takes about 2 % of a core.
LOOP = """
import time
while True:
    began, total = time.thread_time(), 0
    for number in range(20_000):
        total += number * number
    print((time.thread_time() - began) * 1e6, flush=True)
    time.sleep(0.05)
"""

#: The share of a core that others may use during a pair.
OTHERS = 0.05

#: The exit code if a figure has regressed.
REGRESSION_CODE = 1
#: The exit code if no valid figures were measured.
NOT_VALID_CODE = 3


@dataclass(frozen=True)
class Form:
    """What is measured: the names of runs, how many pairs of each, and how often each may be
    tried. A figure has regressed if the median of its ratios is above 1 + `limit`; if not all of
    them are above 1, that may be chance, and there is no verdict.
    """

    runs: tuple[str, ...]
    pairs: int = 9
    attempts: int = 20
    limit: float = 0.06


FULL = Form(tuple(RUNS))

#: What .ci/run has time for. Three ratios differ more by chance than nine.
SHORT = Form(("2000",), pairs=3, attempts=6, limit=0.1)


@dataclass(frozen=True)
class Side:
    """A clone of Flatlands; `switch` is the value of COMPILED."""

    folder: Path
    switch: str

    def knows(self, run: str) -> bool:
        """Return whether its swarm can play this run: old ones knew no scenarios in files."""
        return run != "gem" or (self.folder / "flatlands" / "bot.py").is_file()


@dataclass
class Pair:
    """A pair of runs: figure -> us of CPU, there and here; and the cores that others used. `loop`
    is how many us the loop took there and here.

    `spoiled` says why it does not count, and is empty if it does. `failed`: the server
    here did something wrong, though nobody disturbed it.
    """

    run: str
    there: dict[str, float] = field(default_factory=dict)
    here: dict[str, float] = field(default_factory=dict)
    loop: tuple[float, float] = (1.0, 1.0)
    others: float = 0.0
    spoiled: str = ""
    failed: bool = False

    def ratios(self) -> dict[str, float]:
        """Return figure -> its ratio, here to there, in units of the loop."""
        there, here = self.loop
        return {name: self.here[name] / cost * there / here for name, cost in self.there.items()}


#: Measures a pair of runs with this name; the flag says whether `here` comes first.
Measure = Callable[[str, bool], Pair]


def gather(form: Form, measure: Measure, say: Callable[[str], None]) -> list[Pair]:
    """Measure until there are enough pairs of each run that count, or one was tried too often.

    Returns all pairs, also those that were spoiled.
    """
    tried: list[Pair] = []
    for _ in range(form.attempts):
        for run in form.runs:
            if (done := len(_counting(tried, run))) == form.pairs:
                continue
            pair = measure(run, done % 2 == 1)
            tried.append(pair)
            what = pair.spoiled and f"repeated, since {pair.spoiled}"
            what = what or ", ".join(f"{name} {ratio:.3f}" for name, ratio in pair.ratios().items())
            say(f"  {run}, pair {done + 1} of {form.pairs}: {what} (others: {pair.others:.1%})")
    return tried


def _counting(tried: Sequence[Pair], run: str) -> list[Pair]:
    return [pair for pair in tried if pair.run == run and not pair.spoiled]


def verdict(form: Form, tried: Sequence[Pair]) -> tuple[int, str]:
    """Return the exit code for these pairs, and a sentence."""
    for run in form.runs:
        if (count := len(_counting(tried, run))) < form.pairs:
            spoiled = [pair for pair in tried if pair.run == run and pair.spoiled]
            failed = [pair for pair in spoiled if pair.failed]
            if 2 * len(failed) > len(spoiled):
                return REGRESSION_CODE, f"failed: of the run {run}, {failed[-1].spoiled}"
            return NOT_VALID_CODE, (
                f"not valid: of {form.attempts} pairs of the run {run} only {count} were "
                f"undisturbed, and {form.pairs} are needed; stop other programs here"
            )
    sure: list[str] = []
    unsure: list[str] = []
    for run in form.runs:
        for name, (_, _, ratios) in columns(_counting(tried, run)).items():
            if (middle := statistics.median(ratios)) > 1 + form.limit:
                (sure if min(ratios) > 1 else unsure).append(f"{name} costs {middle - 1:.1%} more")
    if sure:
        return REGRESSION_CODE, f"regression: {', '.join(sure)}"
    if unsure:
        return (
            NOT_VALID_CODE,
            f"not valid: {', '.join(unsure)}, but not in all pairs; measure again",
        )
    return 0, f"no regression: no figure is more than {form.limit:.0%} above that of there"


def columns(pairs: Sequence[Pair]) -> dict[str, tuple[list[float], list[float], list[float]]]:
    """Return figure -> its values there, here, and its ratios, in the pairs of one run."""
    return {
        name: (
            [pair.there[name] for pair in pairs],
            [pair.here[name] for pair in pairs],
            [pair.ratios()[name] for pair in pairs],
        )
        for name in (pairs[0].there if pairs else ())
    }


def table(form: Form, tried: Sequence[Pair]) -> list[str]:
    """Return a line for each figure: its medians, and the median and the range of its ratios."""
    lines = [f"{'us of CPU, medians':42}{'there':>9}{'here':>9}{'ratio':>8}  range of ratios"]
    for run in form.runs:
        for name, (there, here, ratios) in columns(_counting(tried, run)).items():
            lines.append(
                f"{name:42}{statistics.median(there):>9.1f}{statistics.median(here):>9.1f}"
                f"{statistics.median(ratios):>8.3f}  {min(ratios):.3f} to {max(ratios):.3f}"
                f" ({len(ratios)} pairs)"
            )
    return lines


def figures(run: str, result: dict[str, Any]) -> dict[str, float]:
    """Return figure -> us of CPU, from a result of the swarm. Raises Trouble if the run went wrong,
    or nothing has happened in it."""
    if wrong := [*result["invalid"], *result["faults"]]:
        raise Trouble(wrong[0])
    totals, counted = result["totals"], result["server"]
    cpu = totals["server_cpu"] * 1e6
    if not cpu or not counted.get("cpu_ms"):
        raise Trouble("the server did not tell its numbers")
    # The server counts over a somewhat longer time than the swarm measures.
    part = cpu / 1000 / counted["cpu_ms"]
    times = {
        "hello": totals["joins"],
        "gem": counted.get("things_taken", 0) * part,
    }.get(run, totals["moves"])
    if not times:
        raise Trouble("nothing has happened that could be measured")
    if run in ("hello", "gem"):
        return {f"a {run}": cpu / times}
    sends = counted["writes"] * part
    return {
        f"a move, {run} players": cpu / times,
        f"a move, {run} players, without sends": (cpu - SEND * sends) / times,
    }


def measure(there: Side, here: Side, run: str, here_first: bool) -> Pair:
    """Measure a pair of runs, and what others used meanwhile. Raises Trouble and Interrupted."""
    pair, loops = Pair(run), dict[Side, float]()
    for side in (here, there) if here_first else (there, here):
        words = (*RUNS[run], "--seconds", str(MEASURED_SECONDS), "--sample", "1")
        before = _used()
        with timed_loop() as loop:
            [result] = run_apart(words, WITHIN_SECONDS, side.folder, {compiled.SWITCH: side.switch})
        loops[side] = statistics.mean(loop)
        busy, ours, past = (now - then for then, now in zip(before, _used(), strict=True))
        pair.others = max(pair.others, (busy - ours) / past)
        try:
            (pair.here if side is here else pair.there).update(figures(run, result))
        except Trouble as trouble:
            pair.spoiled = f"the run {'here' if side is here else 'there'} went wrong: {trouble}"
        if pair.others > OTHERS:
            pair.spoiled = f"others used {pair.others:.0%} of a core"
        elif side is here and result["faults"]:
            pair.failed = True
        if pair.spoiled:
            break
    else:
        pair.loop = loops[there], loops[here]
    return pair


@contextmanager
def timed_loop() -> Iterator[list[float]]:
    """Time the loop again and again on the first core that this process may use, which is that of
    the server; the list has the us of CPU of each in the end. Raises Trouble and Interrupted."""
    command, core = [sys.executable, "-c", LOOP], min(os.sched_getaffinity(0))
    with Program(command, "the loop on the server's core", cpus=(core,)) as program:
        times = [float(program.ready(r"^[\d.]+$")[0])]
        yield times
        while (line := program.line()) is not None:
            times.append(float(line))
        if death := program.death():
            raise Trouble(death)


def _used() -> tuple[float, float, float]:
    """Return seconds: that the cores of this process were not idle, that it used itself with all
    that it had started and that has ended, and the time."""
    now, cores = time.monotonic(), os.sched_getaffinity(0)
    times = [one for core, one in enumerate(psutil.cpu_times(percpu=True)) if core in cores]
    idle = sum(one.idle + one.iowait for one in times)
    return len(times) * now - idle, sum(os.times()[:4]), now


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    except OSError as error:
        raise Trouble("git is not installed (Debian: apt-get install git)") from error


def resolved(commit: str) -> str:
    """Return a commit's whole hash, or an empty text if this clone does not have it."""
    return _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").stdout.strip()


def cloned(commit: str) -> Path:
    """Return the folder of a clone at a commit, which is made if there is none. Raises Trouble."""
    folder = COMMITS / commit
    if not folder.is_dir():
        COMMITS.mkdir(parents=True, exist_ok=True)
        new = COMMITS / f"{commit}.{os.getpid()}"
        for words in (
            ("clone", "--quiet", "--no-checkout", str(ROOT), str(new)),
            ("-C", str(new), "checkout", "--quiet", "--detach", commit),
        ):
            if (done := _git(*words)).returncode:
                raise Trouble(f"{commit[:8]} cannot be checked out: {done.stderr.strip()}")
        new.rename(folder)
    for line in "\n".join(
        (folder / name).read_text() for name in ("requirements.txt", "requirements-loadtest.txt")
    ).splitlines():
        if (pin := re.match(r"([\w.-]+)==(\S+)", line)) and _installed(pin[1]) != pin[2]:
            raise Trouble(
                f"{commit[:8]} was made for {pin[0]}, and here is {_installed(pin[1]) or 'none'}: "
                "it cannot be measured in this virtual environment"
            )
    return folder


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def compile_in(folder: Path) -> None:
    """Compile a clone's modules, unless those that it has fit. Raises Trouble and Interrupted."""
    # It was at the top of older clones.
    there = (folder / "flatlands" / "compiled.py").is_file()
    words = [sys.executable, "-m", "flatlands.compiled" if there else "compiled"]
    with Program(words, "the compiler", folder=folder) as program:
        if not program.wait(900) or program.process.poll():
            raise Trouble(f"{folder} cannot be compiled: {program.last_words()}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.server",
        description=__doc__,
        epilog="The exit code is 0 if nothing has become dearer, 1 if something has or a run "
        "failed, and 3 if there is no verdict.",
    )
    parser.add_argument(
        "commit",
        nargs="?",
        default=RELEASE,
        help="the other commit (the last release, %(default)s)",
    )
    parser.add_argument("--sources", action="store_true", help="measure what is not compiled")
    parser.add_argument(
        "--short",
        action="store_true",
        help=f"only {SHORT.pairs} pairs with 2,000 players, from sources, in two minutes",
    )
    parser.add_argument(
        "--pairs", type=options.whole(1, FULL.attempts), help="pairs of each run (9)"
    )
    parser.add_argument("--json", type=options.file, metavar="FILE", help="write all pairs to FILE")
    given = parser.parse_args(arguments)
    terminal = Terminal()
    return command.run("bench.server", lambda: _compare(given, terminal.say), terminal.say)


def _compare(given: argparse.Namespace, say: Callable[[str], None]) -> int:
    commit = resolved(given.commit)
    if not commit:
        say(
            f"not valid: the commit {given.commit} is not in this clone; "
            "git fetch --unshallow fetches all commits"
        )
        return NOT_VALID_CODE
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise Trouble("the server and its clients need a core each, and there is one")
    form = SHORT if given.short else FULL
    sources = given.sources or given.short
    folders = cloned(commit), ROOT
    if not sources:
        for folder in folders:
            say(f"compiling {folder}, unless that is done ...")
            compile_in(folder)
    there, here = (Side(folder, "no" if sources else "") for folder in folders)
    known = tuple(run for run in form.runs if there.knows(run))
    form = Form(known, given.pairs or form.pairs, form.attempts, form.limit)
    kind = "from sources" if sources else "compiled"
    say(f"{commit[:8]} (there) and this tree (here), {kind}; {form.pairs} pairs of each run")
    with on_cores(cores):
        tried = gather(form, lambda *of: measure(there, here, *of), say)
    code, sentence = verdict(form, tried)
    say("")
    for line in table(form, tried):
        say(line)
    for run in RUNS.keys() - form.runs if not given.short else ():
        say(f"a {run}: not measured there, since the swarm of that commit cannot play it")
    say(f"\n{sentence}")
    if given.json is not None:
        found = {"commit": commit, "compiled": not sources, "form": asdict(form)}
        found |= {"machine": machine(), "pairs": [asdict(pair) for pair in tried]}
        write_json(given.json, {**found, "code": code, "verdict": sentence})
    return code


if __name__ == "__main__":
    sys.exit(main())
