"""A worker's ends of the two pipes to its supervisor (server/workers/supervisor.py).

Once a second, after every command, and when it becomes full or has room again, the worker writes a
line: its state, the reasons if it is not ready, and after a tab how busy it is (`pack_load`). It
writes from its event loop, so a loop that hangs is silent. It reads commands of one byte each.
"""

import logging
import os
import sys
from itertools import count
from typing import Protocol

import gevent
import gevent.socket
from gevent.event import Event

from flatlands.server.cluster.districts import Line, WorkerLoad
from flatlands.server.runtime.loop import Loop

log = logging.getLogger("flatlands")

#: The first character of a worker's line: it is ready for players; it is not; it is not because it
#: is full; or it is shut, so that it lets nobody in any more.
READY_MARK = "+"
UNREADY_MARK = "-"
FULL_MARK = "="
SHUT_MARK = "."

#: The commands: let newcomers in; let nobody in any more. The end of the pipe means that the
#: supervisor has ended, in whatever way.
OPEN_COMMAND = b"o"
CLOSE_COMMAND = b"c"

#: Time between two looks at whether the worker is full.
LOOK_EVERY_S = 0.1

#: Looks until the next line, if nothing has changed.
LOOKS = 10


def pack_load(load: WorkerLoad) -> str:
    """Return how busy a worker is, as its line has it: the number, and the axis and place of the
    line that divides its players, if there is one."""
    return " ".join(map(str, (round(load.busy, 3), *(load.line or ()))))


def read_load(text: str) -> WorkerLoad | None:
    """Return what `pack_load` has packed, or None for an empty text."""
    if not text:
        return None
    busy, *line = text.split()
    return WorkerLoad(float(busy), Line(*map(int, line)) if line else None)


class WorkerServer(Protocol):
    """The server of a worker (server/app.py), as the supervisor's commands need it."""

    @property
    def loop(self) -> Loop:
        """Its event loop."""

    @property
    def full(self) -> bool:
        """Whether it has no room for one more player."""

    def readiness(self) -> list[str]:
        """Return why it is not ready for players; nothing if it is."""

    def load(self) -> WorkerLoad | None:
        """Return how busy it is, if it is one of several workers."""

    def open(self) -> None:
        """Let newcomers in."""

    def shut(self) -> None:
        """Let nobody in any more."""


class Worker:
    """Reports the state of this worker to the supervisor, and obeys its commands. It reads standard
    input, and writes to the descriptor `answers`. It sets `stopping` when the supervisor is
    gone."""

    def __init__(self, server: WorkerServer, stopping: Event, answers: int) -> None:
        self._server = server
        self._stopping = stopping
        self._shut = self._full = False
        self._commands, self._answers = sys.stdin.fileno(), answers
        # A stopped supervisor reads nothing, and a worker must not wait for it.
        os.set_blocking(self._answers, False)

    def start(self) -> None:
        """Begin to report and to obey. Nobody is let in before the supervisor says so."""
        loop = self._server.loop
        loop.keep_running("reporting to the supervisor", self._keep_reporting)
        loop.keep_running("obeying the supervisor", self._obey)

    def _keep_reporting(self) -> None:
        for look in count():
            if look % LOOKS == 0 or self._full != self._server.full:
                self._report()
            gevent.sleep(LOOK_EVERY_S)

    def _report(self) -> None:
        reasons, self._full = self._server.readiness(), self._server.full
        if self._shut:
            state = SHUT_MARK
        elif self._full:
            state = FULL_MARK
        else:
            state = UNREADY_MARK if reasons else READY_MARK
        known = self._server.load()
        load = "" if known is None else pack_load(known)
        try:
            os.write(self._answers, f"{state}{'; '.join(reasons)}\t{load}\n".encode())
        except (BlockingIOError, BrokenPipeError):
            # The supervisor stands still or has ended; in the latter case the other pipe ends too.
            return

    def _obey(self) -> None:
        while True:
            gevent.socket.wait_read(self._commands)
            command = os.read(self._commands, 1)
            if not command:
                self._stopping.set()
                return
            if command == CLOSE_COMMAND:
                self._shut = True
                self._server.shut()
            elif command == OPEN_COMMAND and not self._shut:
                self._server.open()
            self._report()
