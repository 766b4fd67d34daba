"""Several workers on one port: binds once, starts and watches them, replaces them.

Workers are fresh interpreters that inherit the listening descriptor. Two pipes join each to this
process (server/worker.py): a worker tells once a second how it is, and is told when to let
newcomers in. Where no broker was named, a ZeroMQ forwarder is one more child, over ipc in a folder
of its own. The supervisor serves nobody itself and knows nothing of the world.
"""

import logging
import os
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import gevent
from gevent import socket, subprocess
from gevent.event import Event

from server.app import listen
from server.settings import Settings
from server.web.metrics import bury
from server.worker import CLOSE, OPEN, READY, SHUT

log = logging.getLogger("flatlands")

#: A child that dies is started again after so many seconds, twice as many each time up to the
#: latter; one that served for longer than that is forgiven.
RESTART_AFTER, RESTART_AFTER_MOST = 0.5, 15.0

#: A child that says nothing for so many seconds is killed; at its start, for the latter.
SILENT_MOST, START_WITHIN = 10, 120

#: A new worker that has served for so many seconds and is not ready replaces nobody.
READY_WITHIN = 60

#: Seconds that a child may take to let nobody in any more, and to stop. Together they are less than
#: the 30 after which hosts kill.
SHUT_WITHIN, STOP_WITHIN = 2, 25

#: Workers that could not be replaced are tried again after so many seconds, twice as many each time
#: up to the latter.
REPLACE_AFTER, REPLACE_AFTER_MOST = 15.0, 300.0

#: The slot of the forwarder; those of the workers are counted from 0.
FORWARDER = -1


class Child:
    """One process of the supervisor's; it ends by itself when this one does.

    `said` is the last line that it wrote, nothing before it serves; `silent` how many seconds ago
    that was, by this process' own turns: who was stopped itself has not heard anybody.
    """

    def __init__(
        self,
        name: str,
        module: str,
        *arguments: str,
        env: Mapping[str, str],
        fds: Sequence[int] = (),
    ) -> None:
        self.said = ""
        self.silent = 0
        self.killed = False
        self.serves_since: float | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=env,
            pass_fds=fds,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.name = f"{name} (process {self.process.pid})"
        gevent.spawn(self._hear)

    def _hear(self) -> None:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            self.silent = 0
            self.said = line.decode(errors="replace").strip()
            if self.serves_since is None:
                self.serves_since = time.monotonic()

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    @property
    def serves(self) -> bool:
        """Whether it has started, and has not ended."""
        return self.serves_since is not None and self.alive

    @property
    def starts(self) -> bool:
        """Whether it has neither started nor ended."""
        return self.serves_since is None and self.alive

    @property
    def ready(self) -> bool:
        """Whether it is ready for players."""
        return self.alive and self.said.startswith(READY)

    @property
    def shut(self) -> bool:
        """Whether it lets nobody in any more."""
        return not self.alive or self.said.startswith(SHUT)

    @property
    def hopeless(self) -> bool:
        """Whether it ended, or was not ready within the time that it had."""
        if not self.alive:
            return True
        since = self.serves_since
        return (
            since is not None and not self.ready and time.monotonic() - since > READY_WITHIN
        )

    def why_not_ready(self) -> str:
        """Return a sentence about a child that is not ready."""
        if not self.alive and not self.killed:
            return f"{self.name} ended with code {self.process.returncode}"
        if self.serves_since is None:
            return f"{self.name} did not answer within {START_WITHIN} s"
        if self.killed:
            return f"{self.name} said nothing for {SILENT_MOST} s"
        return f"{self.name} is not ready: {self.said[1:] or 'it has just started'}"

    def tell(self, command: bytes) -> None:
        """Tell a worker something; one that has died is no error."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(command)
        except BrokenPipeError:
            return

    def watch(self) -> None:
        """Kill it if it has been silent for too long; to be called each second."""
        self.silent += 1
        most = SILENT_MOST if self.said else START_WITHIN
        if self.silent > most and self.alive and not self.killed:
            said = "said nothing for" if self.said else "did not answer within"
            log.error("%s %s %s s: it is killed and started again", self.name, said, most)
            self.killed = True
            self.process.kill()

    def stop(self) -> None:
        """Ask it to end well, and wait until it is gone."""
        if self.alive:
            self.process.terminate()
        with gevent.Timeout(STOP_WITHIN, False):  # type: ignore[arg-type]
            self.process.wait()
        if self.alive:
            log.error("%s did not end within %s s: it is killed", self.name, STOP_WITHIN)
            self.process.kill()
            self.process.wait()


class Supervisor:
    """See the module. `arguments` is the command line, for the workers; who sets `stopping` ends
    whatever is waited for here, and calls stop()."""

    def __init__(self, settings: Settings, arguments: Sequence[str], stopping: Event) -> None:
        self._arguments = arguments
        self._stopping = stopping
        self._workers = range(settings.workers)
        self._listener: socket.socket = listen(settings.host, settings.port)
        self._listener.set_inheritable(True)
        self._environment = dict(os.environ)
        # One that is made here would keep other servers of the same broker from being heard.
        self._sealed = settings.sealed
        self._environment["SECRET_KEY"] = settings.secret or secrets.token_hex()
        #: Who fills each slot; and all that run, those on their way in and out too.
        self._slots: dict[int, Child] = {}
        self._children: list[Child] = []
        self._started = self._replacing = False
        self._again = Event()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._reports = tempfile.TemporaryDirectory(prefix="flatlands-reports-")
        if not settings.broker:
            self._folder = tempfile.TemporaryDirectory(prefix="flatlands-")
            self._prefix = os.path.join(self._folder.name, "zmq")
            self._environment["BROKER_URL"] = f"zeromq+ipc://{self._prefix}"

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Start all workers; return once each serves, or was too slow and is tried again.

        Raises OSError if all of them end by themselves before they serve.
        """
        gevent.spawn(self._watch)
        if self._folder is not None:
            self._start_first([FORWARDER])
        self._start_first(self._workers)
        self._started = True

    def _start_first(self, slots: Sequence[int]) -> None:
        first = [self._start(slot) for slot in slots]
        for slot, child in zip(slots, first, strict=True):
            self._slots[slot] = child
            gevent.spawn(self._look_after, slot, child)
        self._await_starts(first)
        if not any(child.serves or child.killed for child in first) and self._goes_on:
            why = "; ".join(child.why_not_ready() for child in first)
            self.stop()
            raise OSError(f"nothing was started: {why}")
        self._wait(lambda: any(self._slots[slot].serves for slot in slots))

    def replace(self) -> None:
        """Replace all workers at once: the new ones are ready before the old ones let nobody in.

        If one of them is not, all the old ones go on, and it is tried again later. Asked for once
        more meanwhile, it begins anew when it is done.
        """
        if not self._started:
            log.warning("the workers are still starting: none is replaced")
            return
        self._again.set()
        if self._replacing:
            return
        self._replacing = True
        pause = REPLACE_AFTER
        try:
            while self._again.is_set() and self._goes_on:
                self._again.clear()
                if why := self._replace_all():
                    log.error(
                        "no worker was replaced, the old ones go on: %s; next try in %g s",
                        why, pause,
                    )  # fmt: skip
                    gevent.wait([self._again, self._stopping], timeout=pause, count=1)
                    self._again.set()
                    pause = min(pause * 2, REPLACE_AFTER_MOST)
        finally:
            self._replacing = False

    def _replace_all(self) -> str:
        """Replace all workers, or say why not."""
        new: list[Child] = []
        try:
            for slot in self._workers:
                new.append(self._start(slot))
        except OSError as error:
            self._end(new)
            return f"a process cannot be started: {error}"
        self._wait(
            lambda: all(child.ready for child in new) or any(child.hopeless for child in new)
        )
        if not self._goes_on:
            return ""
        if why := "; ".join(child.why_not_ready() for child in new if not child.ready):
            self._end(new)
            return why
        old = [self._slots[slot] for slot in self._workers]
        for slot, child in zip(self._workers, new, strict=True):
            self._slots[slot] = child
            child.tell(OPEN)
            gevent.spawn(self._look_after, slot, child)
        # All of them before anybody is sent away: who comes back shall not meet another old one.
        self._close(old)
        self._end(old)
        if self._goes_on:
            log.info("all workers were replaced")
        return ""

    def stop(self) -> None:
        """Let nobody in any more, stop all workers, and what was started for them."""
        self._stopping.set()
        forwarder = self._slots.get(FORWARDER)
        workers = [child for child in self._children if child is not forwarder]
        self._close(workers)
        # Once nobody accepts: who waits to be accepted is refused now, and not when all are gone.
        with suppress(OSError):  # not every system knows this of a socket that listens
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._end(workers)
        if forwarder is not None:
            forwarder.stop()
        if self._folder is not None:
            self._folder.cleanup()
        self._reports.cleanup()

    @property
    def _goes_on(self) -> bool:
        return not self._stopping.is_set()

    def _wait(self, done: Callable[[], bool]) -> None:
        """Return once something is so, or when all is to stop."""
        while not done() and self._goes_on:
            self._stopping.wait(0.05)

    def _await_starts(self, children: Sequence[Child]) -> None:
        self._wait(lambda: not any(child.starts for child in children))

    def _close(self, workers: Sequence[Child]) -> None:
        """Return once none of them lets anybody in, or one takes too long."""
        for worker in workers:
            worker.tell(CLOSE)
        until = time.monotonic() + SHUT_WITHIN
        # Who has not started has let nobody in yet.
        while any(not (worker.shut or worker.starts) for worker in workers):
            if time.monotonic() > until:
                return
            gevent.sleep(0.02)

    def _end(self, workers: Sequence[Child]) -> None:
        gevent.joinall([gevent.spawn(worker.stop) for worker in workers])

    def _start(self, slot: int) -> Child:
        self._forget_the_dead()
        if slot == FORWARDER:
            child = Child(
                "the ZeroMQ forwarder", "brokers.zeromq", "--ipc", self._prefix,
                "--parent", str(os.getpid()), env=self._environment,
            )  # fmt: skip
        else:
            fd = self._listener.fileno()
            # Of an option that is given twice the last one holds.
            options = [*self._arguments, "--workers", "1", "--listen-fd", str(fd)]
            if slot:
                # The computer players of one worker are enough for all.
                options += ("--walkers", "0")
            if not self._sealed:
                options.append("--unsealed")
            options += ("--worker", str(slot + 1), "--reports", self._reports.name)
            child = Child(
                f"worker {slot + 1}", "server", *options, env=self._environment, fds=[fd]
            )
        self._children.append(child)
        return child

    def _forget_the_dead(self) -> None:
        self._children = [child for child in self._children if child.alive]
        try:
            bury(Path(self._reports.name), [child.process.pid for child in self._children])
        except OSError as error:
            # The numbers of a dead worker are not worth a living one.
            log.warning("what workers counted that have ended is lost: %s", error)

    def _watch(self) -> None:
        while True:
            gevent.sleep(1)
            for child in self._children:
                child.watch()

    def _look_after(self, slot: int, child: Child) -> None:
        """Open a child's door, and start it again whenever it dies, as long as nobody else has
        replaced it."""
        pause = RESTART_AFTER
        while True:
            self._await_starts([child])
            if not self._fills(slot, child):
                return
            if slot != FORWARDER:
                child.tell(OPEN)
            code = child.process.wait()
            if not self._fills(slot, child):
                return
            served = time.monotonic() - (child.serves_since or time.monotonic())
            if served > RESTART_AFTER_MOST:
                pause = RESTART_AFTER
            if not child.killed:
                log.error("%s died (code %s): it is started again", child.name, code)
            self._stopping.wait(pause * (0.5 + random.random() / 2))
            pause = min(pause * 2, RESTART_AFTER_MOST)
            if not self._fills(slot, child):
                return
            try:
                child = self._slots[slot] = self._start(slot)
            except OSError as error:
                log.error("%s cannot be started again: %s", child.name, error)

    def _fills(self, slot: int, child: Child) -> bool:
        return self._goes_on and self._slots[slot] is child
