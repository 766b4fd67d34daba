"""Answers an operator's question in SQL, in a process of its own (docs/query.md).

A statement may need CPU time for some seconds, so it never runs in the process that serves players.
One question is answered at a time. This module never checks who asks.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gevent import subprocess

#: Seconds that a question may take altogether, the most of them for the statement itself, and the
#: most rows of an answer.
PATIENCE, SECONDS, ROWS = 20.0, 5, 1000

#: Seconds between two looks at whether the process has ended.
LOOK_EVERY = 0.05

#: How much less the process insists on CPU time than the server.
NICE = 10


class Reply(NamedTuple):
    """An HTTP status, and what is answered: a JSON object, or a sentence."""

    status: int
    content: dict[str, Any] | str


class Asking:
    """See the module. `environment` has the variables by which the process finds the world."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._busy = False

    def ask(self, statement: str, sleep: Callable[[float], object]) -> Reply:
        """Answer a statement. `sleep` waits for some seconds in which the server does other
        things."""
        if self._busy:
            return Reply(503, "Another question is being answered: ask again in some seconds.")
        self._busy = True
        try:
            return self._answer(statement, sleep)
        finally:
            self._busy = False

    def _answer(self, statement: str, sleep: Callable[[float], object]) -> Reply:
        command = [
            sys.executable, "-m", "server.query", "--json", "--seconds", str(SECONDS), "--rows",
            str(ROWS), "--", statement,
        ]  # fmt: skip
        # Files, since a pipe that is full would stop the process.
        with tempfile.TemporaryFile("w+") as rows, tempfile.TemporaryFile("w+") as words:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=rows, stderr=words,
                env={**os.environ, **self._environment}, preexec_fn=lambda: os.nice(NICE),
            )  # fmt: skip
            try:
                until = time.monotonic() + PATIENCE
                while process.poll() is None:
                    if time.monotonic() > until:
                        return Reply(504, f"There was no answer within {PATIENCE:g} s.")
                    sleep(LOOK_EVERY)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
            rows.seek(0)
            words.seek(0)
            said = words.read().strip().removeprefix("flatlands: ")
            if process.returncode:
                return Reply(400, f"{said[:1].upper()}{said[1:]}.")
            return Reply(200, {"rows": [json.loads(line) for line in rows], "cut": bool(said)})
