"""Plays random worlds, one seed after the other; shrinks and shows the first one that fails.

A world is a plan, which follows from its seed: some steps, and what the world is like. It is the
same whenever it is played again.
"""

import argparse
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from flatlands.server.settings import seconds, whole

#: Seconds between two lines about the progress.
SHOWN_EVERY = 10

#: A shrunk plan with more steps than this is shrunk once more, with more tries.
SHORT = 15

#: Seconds that shrinking one plan may take.
SHRINK_WITHIN = 60

#: The step after which what must hold is checked.
QUIET_STEP = "quiet"


class Step(NamedTuple):
    """The step `what` is done after `wait` ms. The numbers a, b and c say who does it, and how."""

    wait: int
    what: str
    a: int
    b: int
    c: int


class WorldPlan(Protocol):
    """A world, as a NamedTuple."""

    @property
    def seed(self) -> int:
        """The number from which all of it follows."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is done in it, in order."""

    @property
    def _replace(self) -> Callable[..., Any]:
        """Returns the same world with other fields."""

    @property
    def _asdict(self) -> Callable[[], dict[str, object]]:
        """Returns all fields by their names."""


_P = TypeVar("_P", bound=WorldPlan)


class Search(Generic[_P]):
    """A search for a seed whose world fails. `plan` returns the plan of a seed. `play` plays a
    world to its end, and returns the ms that players have played; it raises what goes wrong. To
    `hook_calls` it adds how often it has called each hook, by name. `again` is the command that
    plays a seed again."""

    def __init__(
        self,
        plan: Callable[[int], _P],
        play: Callable[[_P], int],
        again: str,
        hook_calls: Mapping[str, int] | None = None,
    ) -> None:
        self._plan, self._play, self._again = plan, play, again
        self._hook_calls = {} if hook_calls is None else hook_calls

    def run(self, given: argparse.Namespace, kept: Path | None = None) -> int:
        """Play worlds for as long as the command line says; return the exit code. What came of it
        is `kept` in a file, as JSON."""
        started, seed = time.monotonic(), 0
        worlds = player_ms = 0
        for seed in rounds(given, lambda played: f"{played} worlds"):
            world = self._plan(seed)
            try:
                player_ms += self._play(world)
            except Exception as error:
                took = time.monotonic() - started
                print(f"{worlds} worlds were right; then, after {took:.1f} s:", flush=True)
                traceback.print_exception(error, limit=-4)
                short = self.shrink(world, time.monotonic() + SHRINK_WITHIN)
                why, again = self.fails(short), f"{self._again}{seed}"
                print(f"\nThe world of seed {short.seed} breaks: {why}")
                _show(short)
                print(f"Play it again: {again}")
                _keep(kept, worlds=worlds, story={"error": why, "again": again, **_as_dict(short)})
                return 1
            worlds += 1
        hours = player_ms / 3_600_000
        summary = [
            f"{worlds} worlds, {hours:.1f} player-hours, seeds up to {seed}",
            *_describe_calls(self._hook_calls),
        ]
        _keep(kept, worlds=worlds, summary=summary, hook_calls=self._hook_calls, story=None)
        print("all right:", "\n".join(summary))
        return 0

    def fails(self, plan: _P) -> str:
        """Play a world; return in one line what goes wrong, or an empty text."""
        try:
            self._play(plan)
        except Exception as error:
            # A bare assertion says nothing but its line.
            line = traceback.extract_tb(error.__traceback__)[-1].line
            return (
                f"{type(error).__name__}: {error}"
                if str(error)
                else f"{type(error).__name__}: {line}"
            )
        return ""

    def shrink(self, plan: _P, until: float) -> _P:
        """Return the shortest plan that still fails and that is found before the time `until`, in
        seconds of time.monotonic."""
        # Steps after the first quiet in which something is wrong do not matter.
        for n, step in enumerate(plan.steps):
            if step.what == QUIET_STEP and self.fails(plan._replace(steps=plan.steps[:n])):
                plan = plan._replace(steps=plan.steps[:n])
                break
        plan = self._leave_out(plan, until, 1)
        if len(plan.steps) > SHORT:
            # Without a step, all after it is drawn differently, so several seeds are tried.
            plan = self._leave_out(plan, until, 5)
        return self._hasten(plan, until)

    def _leave_out(self, plan: _P, until: float, chances: int) -> _P:
        """Leave out steps, first many at once and then single ones, while the world still fails.

        `chances` is the number of seeds that are tried without them.
        """
        size = max(len(plan.steps) // 2, 1)
        while size and time.monotonic() < until:
            at, shorter = 0, False
            while at < len(plan.steps) and time.monotonic() < until:
                steps = plan.steps[:at] + plan.steps[at + size :]
                tries = (plan._replace(seed=plan.seed + n, steps=steps) for n in range(chances))
                less = next((less for less in tries if self.fails(less)), None)
                if less is not None:
                    plan, shorter = less, True
                else:
                    at += size
            if not shorter:
                size //= 2
        return plan

    def _hasten(self, plan: _P, until: float) -> _P:
        """Shorten the waits while the world still fails."""
        for n, step in enumerate(plan.steps):
            for wait in (0, step.wait // 2):
                if wait < plan.steps[n].wait and time.monotonic() < until:
                    steps = plan.steps[:n] + (step._replace(wait=wait),) + plan.steps[n + 1 :]
                    if self.fails(plan._replace(steps=steps)):
                        plan = plan._replace(steps=steps)
                        break
        return plan


def _show(plan: WorldPlan) -> None:
    """Print what a world is like, and its steps."""
    of = [f"{name}: {value}" for name, value in plan._asdict().items() if name != "steps"]
    print(", ".join(of))
    for step in plan.steps:
        print(f"  after {step.wait:5} ms  {step.what:18} {step.a:5} {step.b:5} {step.c:5}")


def _as_dict(plan: WorldPlan) -> dict[str, Any]:
    """Return a world as a value for JSON."""
    return {**plan._asdict(), "steps": [step._asdict() for step in plan.steps]}


def _describe_calls(hook_calls: Mapping[str, int]) -> list[str]:
    """Return lines that say how often each hook was called, by name, and which ones never."""
    called = [f"{name} {n:,}" for name, n in sorted(hook_calls.items()) if n]
    never = [name for name, n in sorted(hook_calls.items()) if not n]
    lines = [f"calls of hooks: {', '.join(called)}"] if called else []
    return lines + ([f"never called: {', '.join(never)}"] if never else [])


def _keep(path: Path | None, **found: object) -> None:
    """Write what was found, as JSON."""
    if path is not None:
        path.write_text(json.dumps(found))


def parser(program: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the command line of `python -m program`.

    The process is started again with a fixed hash seed if it has none, so that the order of sets,
    and with it each round, is the same in every run.
    """
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", program, *sys.argv[1:]])
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    add, seed = parser.add_argument, whole(0, 10**12)
    add("--seconds", type=seconds, default=60, help="seconds to run (default 60)")
    add("--first", type=seed, help="the first seed (default: random)")
    add("--seed", type=seed, help="play only the world of this seed")
    return parser


def rounds(given: argparse.Namespace, progress: Callable[[int], str]) -> Iterator[int]:
    """Yield seeds for as long as the command line says, and print the progress.

    `progress` returns a text about it after a number of rounds.
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
