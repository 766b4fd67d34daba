"""A plugin of pytest that runs, for each mutant, the tests that can notice it, in a child process.

All tests are collected in one process, which never runs any of them, so nothing that tests leave
behind, such as caches, hides a mutant. A first child runs all tests, and reports which lines of the
code each executes and how long it takes. The child of a mutant puts the changed code into the
function, and runs the tests that execute the changed line, the quickest first, until one fails.
"""

import gc
import json
import os
import random
import signal
import sys
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.changes import Mutant, mutants_of

#: The most seconds of tests that are run for a mutant, as measured without it.
TESTS_S = 10.0

#: A mutant's child is killed after so many times the seconds of its tests, and so many seconds
#: more: the change has made an endless loop.
PATIENCE, PATIENCE_S = 5, 10

#: The exit codes of a mutant's child.
SURVIVED, KILLED = 0, 1


class Mutants:
    """The plugin. After the run, `tried` is the number of mutants tried out of `of`, and
    `survivors` are those that no test noticed."""

    def __init__(self, path: Path, seconds: float, at_once: int) -> None:
        self._mutants = list(mutants_of(path))
        # If the time is too short for all, those that are tried are a fair sample.
        random.Random(1).shuffle(self._mutants)
        self._path = str(path)
        self._seconds, self._at_once = seconds, at_once
        self.of, self.tried = len(self._mutants), 0
        self.survivors: list[Mutant] = []

    @pytest.hookimpl
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        tests_of_line = self._first_run(session.items)
        functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename == self._path:
                functions[_key(one.__code__)].append(one)
        running: dict[int, Mutant] = {}
        until = time.monotonic() + self._seconds
        for mutant in self._mutants:
            if time.monotonic() > until:
                break
            self.tried += 1
            items, costs = [], 0.0
            for cost, at in tests_of_line[mutant.line]:
                if costs < TESTS_S:
                    items.append(session.items[at])
                    costs += cost
            if len(running) == self._at_once:
                self._await_one(running)
            pid = os.fork()
            if not pid:
                signal.alarm(int(costs * PATIENCE) + PATIENCE_S)
                os._exit(_try_out(items, functions[_key(mutant.code)], mutant.code))
            running[pid] = mutant
        while running:
            self._await_one(running)
        return True

    def _await_one(self, running: dict[int, Mutant]) -> None:
        pid, status = os.wait()
        mutant = running.pop(pid)
        if os.waitstatus_to_exitcode(status) == SURVIVED:
            self.survivors.append(mutant)
            print(f"{os.path.relpath(mutant.path)}:{mutant.line}: {mutant.words}", flush=True)

    def _first_run(self, items: list[pytest.Item]) -> dict[int, list[Any]]:
        """Run all tests in a child; return line -> [(seconds, index of a test), ...].

        The quickest test comes first.
        """
        reading, writing = os.pipe()
        if not os.fork():
            with open(writing, "w") as answer:
                json.dump([_executed(item, self._path) for item in items], answer)
            os._exit(0)
        os.close(writing)
        with open(reading) as answer:
            results = json.load(answer)
        os.wait()
        found = defaultdict(list)
        for at, (seconds, lines) in enumerate(results):
            for line in lines:
                found[line].append((seconds, at))
        return defaultdict(list, {where: sorted(tests) for where, tests in found.items()})


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_name, code.co_firstlineno


def _passes(item: pytest.Item) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def _executed(item: pytest.Item, path: str) -> tuple[float, list[int]]:
    """Run a test; return how many seconds it takes, and the lines of a file that it executes."""
    executed: dict[CodeType, set[int]] = defaultdict(set)

    def trace(frame: FrameType, _event: str, _argument: object) -> Any:
        code = frame.f_code
        if code.co_filename != path:
            return None
        lines = executed[code]
        lines.add(frame.f_lineno)
        # A function whose lines are all known is not traced, since tracing costs much.
        return None if len(lines) == _lines_of(code) else trace

    began = time.process_time()
    sys.settrace(trace)
    passes = _passes(item)
    sys.settrace(None)
    assert passes, f"{item.nodeid} fails without any mutant"
    took = time.process_time() - began
    return took, sorted(set().union(*executed.values()))


@cache
def _lines_of(code: CodeType) -> int:
    """Return how many executable lines a function has, its first included."""
    return len({line for _, _, line in code.co_lines() if line is not None})


def _try_out(items: list[pytest.Item], functions: list[FunctionType], code: CodeType) -> int:
    """Run tests with the changed code of a function; return SURVIVED or KILLED."""
    for function in functions:
        function.__code__ = code
    return SURVIVED if all(map(_passes, items)) else KILLED
