"""The programs of one point: brokers and workers. A wait for one notices the end of any.

A point is one series measured with one number of clients.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from flatlands.loadtest.kit import brokers, signals
from flatlands.loadtest.kit.processes import Program, Trouble

#: Seconds between two looks at all programs.
LOOK_S = 0.05


class Children:
    """All programs of one point. They end with the block."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._all: list[Program] = []

    def __enter__(self) -> "Children":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def broker(self, url: str, cpus: Sequence[int] = ()) -> brokers.Started:
        """Start the brokers that a URL without hosts names, on these cores (none given: all);
        return their URL and the programs."""
        url, programs = brokers.start(self._stack, url)
        for program in programs if cpus else ():
            os.sched_setaffinity(program.process.pid, cpus)
        self._all += programs
        return url, programs

    def worker(self, name: str, command: list[str], cpus: Sequence[int] = ()) -> Program:
        """Start a worker on these cores (none given: all). Raises Trouble."""
        program = self._stack.enter_context(
            Program(command, name, cpus=cpus, environment=brokers.certificates(), with_input=True)
        )
        self._all.append(program)
        return program

    def module(
        self, name: str, module: str, config: Mapping[str, object], cpus: Sequence[int] = ()
    ) -> Program:
        """Start a module of studies/, such as "growth.others", as a worker: see parent.work."""
        module = f"{__package__}.{module}"
        return self.worker(name, [sys.executable, "-m", module, json.dumps(config)], cpus)

    def kill(self, worker: Program) -> None:
        """Kill a worker, without raising Trouble later; what it has written can still be read."""
        self._all.remove(worker)
        worker.process.kill()
        worker.process.wait()

    def wait(self, done: Callable[[], bool], seconds: float, missing: str) -> None:
        """Wait until `done()` is true. After `seconds`, raise Trouble with the text `missing`.

        Also raises Trouble when a program ends, and Interrupted.
        """
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                raise Trouble(missing)
            self._look()
            signals.sleep(LOOK_S)

    def sleep(self, seconds: float) -> None:
        """Wait for some seconds. Raises Trouble when a program ends, and Interrupted."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._look()
            signals.sleep(min(LOOK_S, left))

    def _look(self, besides: Program | None = None) -> None:
        for child in self._all:
            if child is not besides and (death := child.death()):
                raise Trouble(_reported_trouble(child) or death)

    def check(self, worker: Program, said: Mapping[str, object]) -> None:
        """Raise Trouble if a worker reports trouble in what it said."""
        if trouble := said.get("trouble"):
            # If another program has died, that is the cause, and is raised instead.
            signals.sleep(LOOK_S)
            self._look(besides=worker)
            raise Trouble(str(trouble))

    def answers(self, workers: list[Program], seconds: float) -> list[Any]:
        """Wait for a line of JSON from each worker, and return what they say, in their order.

        What they say has no type here: who asks says its shape. Raises Trouble after `seconds`, and
        when a worker reports trouble.
        """
        found: dict[Program, Any] = {}

        def all_there() -> bool:
            for worker in workers:
                if worker not in found and (line := worker.line()):
                    found[worker] = json.loads(line)
                    self.check(worker, found[worker])
            return len(found) == len(workers)

        self.wait(all_there, seconds, f"some of the workers have not answered for {seconds:.0f} s")
        return [found[worker] for worker in workers]


def _reported_trouble(child: Program) -> str:
    """Return the trouble that a worker reported before it ended, or an empty text."""
    while line := child.line():
        if line.startswith('{"trouble"'):
            return str(json.loads(line)["trouble"])
    return ""
