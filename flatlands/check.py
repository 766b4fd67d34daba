"""`flatlands check`: is a game right? One after the other it writes and checks the types, runs the
tests, plays random worlds, and lets a swarm play; then it gives one verdict.

It never loads the game: each step is one of the other commands, in a process of its own.
"""

import argparse
import json
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.processes import Program, Trouble
from flatlands.needs import apart, missing

#: Bots of the swarm.
BOTS = 30
#: ms by which these may be late: whether all is right can still be judged then.
MOST_LATE_MS = 500

#: The exit code of pytest if there are no tests.
NO_TESTS = 5
#: The exit code of the swarm if it was too slow itself.
NOT_VALID = 3

#: The result of a step that found nothing.
RIGHT = "all right"
#: That of one that found something.
FAILED = "failed"
#: That of one for which something is missing.
NOT_DONE = "not done"


@dataclass
class StepResult:
    """What came of a step. `says` has lines: what was found, and what was not done. `output` has
    all that its programs have printed, if it failed, and `story` the shortest world that fails."""

    result: str = RIGHT
    seconds: float = 0.0
    says: list[str] = field(default_factory=list)
    output: str = ""
    story: dict[str, Any] | None = None

    def fail(self, output: str, *says: str) -> None:
        """Note that it has failed."""
        self.result = FAILED
        self.output += output
        self.says += says or [_last_line(output)]

    def leave_out(self, why: str) -> None:
        """Note that it could not be done."""
        self.result = NOT_DONE
        self.says.append(why)


class Check:
    """The steps for a game: a folder, or one file. Programs write reports into a folder."""

    def __init__(self, game: Path, kept: Path) -> None:
        self._game, self._kept = game, kept
        self._folder = game if game.is_dir() else game.parent
        #: False once the game was found not to load: then no other step can find anything.
        self.loads = True

    def types(self) -> StepResult:
        """Write the types of the page, and check them and the game, if there is what does that."""
        step, report = StepResult(), self._kept / "types.json"
        code, output = self._flatlands("types", "--json", str(report))
        if not report.exists():
            self.loads = False
            step.fail(output)
            return step
        page = json.loads(report.read_text())["page"]
        if page is None:
            step.says.append("the game has no page whose types could be checked")
        elif code:
            step.fail(output)
        else:
            self._check_page(Path(page), step)
        if find_spec("mypy") is None:
            step.says.append("mypy did not check game.py: pip install mypy installs it")
        else:
            file = self._game / "game.py" if self._game.is_dir() else self._game
            code, output = _ran([sys.executable, "-m", "mypy", str(file)], self._folder)
            if code:
                step.fail(output, *_errors(output))
        return step

    def _check_page(self, page: Path, step: StepResult) -> None:
        tsc = _tsc(page)
        if tsc is None:
            step.says.append(
                "TypeScript did not check the page: npm install -g typescript installs it"
            )
            return
        config = str(page / "jsconfig.json")
        code, output = _ran([tsc, "-p", config, "--noEmit", "--pretty", "false"], self._folder)
        if code:
            step.fail(output, *_errors(output))

    def tests(self) -> StepResult:
        """Run the tests."""
        step, report = StepResult(), self._kept / "tests.xml"
        if not has_tests(self._game):
            step.leave_out("there is no folder tests: flatlands new creates one to start from")
            return step
        code, output = self._flatlands("test", f"--junitxml={report}")
        if code == NO_TESTS:
            step.leave_out("there are no tests in the folder tests: write one")
        elif code:
            step.fail(output, *(_failures(report) if report.exists() else ()))
        return step

    def simulate(self, seconds: float) -> StepResult:
        """Play random worlds."""
        step, report = StepResult(), self._kept / "simulate.json"
        code, output = self._flatlands(
            "simulate", "--seconds", f"{seconds:g}", "--json", str(report)
        )
        found = json.loads(report.read_text()) if report.exists() else None
        if code and found is not None:
            step.story = story = found["story"]
            step.fail(
                output,
                f"a world of {len(story['steps'])} steps fails: {story['error']}",
                f"play it again: {story['again']}",
            )
        elif code or found is None:
            step.fail(output)
        else:
            step.says += found["summary"]
        return step

    def swarm(self, seconds: float) -> StepResult:
        """Let bots play on a server."""
        step, report = StepResult(), self._kept / "swarm.json"
        options = "--bots", str(BOTS), "--late", str(MOST_LATE_MS), "--seconds", f"{seconds:g}"
        code, output = self._flatlands("swarm", *options, "--json", str(report))
        [run] = json.loads(report.read_text())["runs"] if report.exists() else [None]
        if code == NOT_VALID and run is not None:
            step.leave_out(f"the machine was too busy to judge: {'; '.join(run['invalid'])}")
        elif code:
            step.fail(output, *(run["faults"] if run is not None else ()))
        if run is not None and run["options"]["scenario"] != "own":
            step.says.append("there is no bot.py with turn(bot), so the bots only walked")
        return step

    def _flatlands(self, command: str, *options: str) -> tuple[int, str]:
        """Run another command over the game."""
        return _ran([sys.executable, "-m", "flatlands", command, str(self._game), *options])


def has_tests(game: Path) -> bool:
    """Return whether a game has a folder of tests."""
    return ((game if game.is_dir() else game.parent) / "tests").is_dir()


def _ran(command: Sequence[str], folder: Path | None = None) -> tuple[int, str]:
    """Run a program to its end, in a folder; return its exit code and what it has printed. Raises
    Trouble and Interrupted."""
    name, where = Path(command[0]).name, folder or Path.cwd()
    with Program(command, name, environment=apart(), folder=where) as program:
        program.wait(math.inf)
        return program.process.returncode, program.errors() + program.output()


def _tsc(page: Path) -> str | None:
    """Return the path of the TypeScript that is installed beside a page or above it, or else for
    all; None if there is none."""
    found = (folder / "node_modules" / ".bin" / "tsc" for folder in (page, *page.parents))
    return next((str(path) for path in found if path.exists()), shutil.which("tsc"))


def _errors(output: str) -> list[str]:
    """Return the lines in which tsc or mypy say what is wrong."""
    return [line for line in output.splitlines() if ": error" in line]


def _failures(path: Path) -> list[str]:
    """Return in words which tests have failed, by what pytest has written."""
    found = []
    for case in ElementTree.parse(path).iter("testcase"):
        for why in (*case.iter("failure"), *case.iter("error")):
            said = (why.get("message") or "").partition("\n")[0]
            found.append(f"{case.get('name')} failed: {said}")
    return found


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1].removeprefix("flatlands: ") if lines else "it said nothing"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a game; return the exit code."""
    given = _parser().parse_args(arguments)
    needed = [("pytest", "test")] if has_tests(given.game) else []
    needed += [(name, "swarm") for name in ("numpy", "psutil", "rich")]
    for name, extra in needed:
        if find_spec(name) is None:
            print(f"flatlands: {missing(name, extra)}", file=sys.stderr)
            return 2
    shown = redirect_stdout(sys.stderr) if given.json else nullcontext()
    try:
        with signals.remembered(), tempfile.TemporaryDirectory(prefix="flatlands-check-") as kept:
            with shown:
                steps = _all(Check(given.game.resolve(), Path(kept)), given)
                code = _verdict(steps)
    except signals.Interrupted:
        print("\nflatlands: the check was interrupted", file=sys.stderr)
        return 130
    except Trouble as trouble:
        print(f"\nflatlands: {trouble}", file=sys.stderr)
        return 2
    if given.json:
        found = {name: asdict(step) for name, step in steps.items()}
        print(json.dumps({"right": code == 0, "steps": found}, indent=2))
    return code


def _all(check: Check, given: argparse.Namespace) -> dict[str, StepResult]:
    """Do all steps, and show each; return what came of them by name."""
    steps = dict[str, StepResult]()
    for name, about, do in (
        ("types", "", check.types),
        ("tests", "", check.tests),
        ("simulate", f", {given.simulate:g} s", lambda: check.simulate(given.simulate)),
        ("swarm", f", {given.swarm:g} s", lambda: check.swarm(given.swarm)),
    ):
        print(f"{name}{about} ... ", end="", flush=True)
        begun = time.monotonic()
        if check.loads:
            step = steps[name] = do()
        else:
            step = steps[name] = StepResult()
            step.leave_out("the game does not load: correct that first")
        step.seconds = round(time.monotonic() - begun, 1)
        print(f"{step.result} ({step.seconds} s)")
        for line in step.output.splitlines():
            print(f"    {line}")
        for why in step.says:
            print(f"  {why}", flush=True)
    return steps


def _verdict(steps: dict[str, StepResult]) -> int:
    """Print the verdict; return the exit code."""
    named = {
        result: ", ".join(name for name, step in steps.items() if step.result == result)
        for result in (FAILED, RIGHT, NOT_DONE)
    }
    print("; ".join(f"{result}: {names}" for result, names in named.items() if names))
    return 1 if named[FAILED] else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="flatlands check",
        description="Check a game: types (by tsc and mypy, if they are installed), tests, random "
        f"worlds, and {BOTS} bots at a server of their own. The exit code is 0 if nothing failed, "
        "1 if something did, and 2 if the check could not begin.",
    )
    where = "a folder with a game.py, or a Python file (default: the current folder)"
    parser.add_argument("game", metavar="GAME", nargs="?", type=Path, default=Path(), help=where)
    about = "print the results as one JSON object, with the shortest world that fails and the "
    about += "command that plays it again; all else goes to standard error"
    parser.add_argument("--json", action="store_true", help=about)
    for name, seconds, what in (
        ("simulate", 60, "play random worlds"),
        ("swarm", 20, "let the bots play"),
    ):
        parser.add_argument(
            f"--{name}",
            type=_seconds,
            default=seconds,
            metavar="SECONDS",
            help=f"for how long to {what} (default {seconds})",
        )
    return parser


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 1 <= number <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 86400")
    return number


if __name__ == "__main__":
    sys.exit(main())
