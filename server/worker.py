"""A worker's ends of the two pipes to its supervisor (server/supervisor.py).

Once a second, and whenever it was told something, the worker writes a line: a state, then why it
is not ready if it is not. It does so from its event loop: a loop that hangs is silent. What it
reads are commands of one byte each. It decides nothing itself.
"""

import logging
import os
import sys

import gevent
import gevent.socket
from gevent.event import Event

from server.app import Server
from server.loop import keep_running

log = logging.getLogger("flatlands")

#: How a worker's line begins: it is ready for players, it is not, it lets nobody in any more.
READY, UNREADY, SHUT = "+", "-", "."

#: What it is told: to let newcomers in, to let nobody in any more. The end of the pipe means that
#: the supervisor is gone, however that went.
OPEN, CLOSE = b"o", b"c"

#: Seconds between two lines.
TELL_EVERY = 1


class Worker:
    """See the module. It sets `stopping` when the supervisor is gone."""

    def __init__(self, server: Server, stopping: Event) -> None:
        self._server = server
        self._stopping = stopping
        self._shut = False
        self._commands, self._answers = sys.stdin.fileno(), sys.stdout.fileno()
        # A supervisor that was stopped reads nothing: nobody here waits for it.
        os.set_blocking(self._answers, False)

    def start(self) -> None:
        """Begin to tell and to obey; nobody is let in before the supervisor says so."""
        keep_running("telling the supervisor", self._server.stats, self._tell_on)
        keep_running("obeying the supervisor", self._server.stats, self._obey)

    def _tell_on(self) -> None:
        while True:
            self._tell()
            gevent.sleep(TELL_EVERY)

    def _tell(self) -> None:
        reasons = self._server.readiness()
        state = SHUT if self._shut else UNREADY if reasons else READY
        try:
            os.write(self._answers, f"{state}{'; '.join(reasons)}\n".encode())
        except (BlockingIOError, BrokenPipeError):
            # The supervisor stands still, or is gone, of which the other pipe tells.
            return

    def _obey(self) -> None:
        while True:
            gevent.socket.wait_read(self._commands)
            told = os.read(self._commands, 1)
            if not told:
                self._stopping.set()
                return
            if told == CLOSE:
                self._shut = True
                self._server.shut()
            elif told == OPEN and not self._shut:
                self._server.open()
            self._tell()
