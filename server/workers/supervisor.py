"""Several workers on one port: the supervisor binds it, and starts, watches and replaces workers.

Workers are new interpreters that inherit the listener's descriptor. Two pipes join each of them to
this process (worker.py): a worker reports its state, and the supervisor says when it lets newcomers
in. Once a second, and when a worker becomes full or has room again, it sends all workers the plan
of which of them serves which part of the world (server/cluster/districts.py), and which are full.
If no broker was named, a ZeroMQ forwarder is one more child, reached by Unix sockets in a folder of
its own. The supervisor never serves clients itself, and has nothing of the world but these
districts.
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

from flatlands.server.cluster.districts import Districts, WorkerLoad, pack_plan, shard_name, shards
from flatlands.server.net.socket_passing import Passage
from flatlands.server.runtime.loop import clock_offset
from flatlands.server.runtime.port import listen
from flatlands.server.settings import Settings
from flatlands.server.web.metrics import bury
from flatlands.server.workers.worker import (
    CLOSE_COMMAND,
    FULL_MARK,
    OPEN_COMMAND,
    READY_MARK,
    SHUT_MARK,
    read_load,
)

log = logging.getLogger("flatlands")

#: A child that died is started again after this, and after twice as long each time.
RESTART_AFTER_S = 0.5

#: The longest wait until a child is started again. After a child has served for longer than that,
#: the wait is short again.
RESTART_AFTER_MOST_S = 15.0

#: A child that has been silent for this long is killed.
SILENT_MOST_S = 10

#: How long a child has to start.
START_WITHIN_S = 120

#: How long after its start a new worker must be ready to replace an old one.
READY_WITHIN_S = 60

#: How long a child may take to shut its door.
SHUT_WITHIN_S = 2

#: How long a child may take to stop. Together with SHUT_WITHIN_S this is less than the 30 s after
#: which hosting services kill.
STOP_WITHIN_S = 25

#: A failed replacement is tried again after this, and after twice as long each time.
REPLACE_AFTER_S = 15.0

#: The longest wait until a replacement is tried again.
REPLACE_AFTER_MOST_S = 300.0

#: A worker that has said nothing for this long is sent no players.
QUIET_MOST_S = 3

#: The slot of the forwarder. The slots of the workers are counted from 0.
FORWARDER = -1


class Child:
    """A child process of the supervisor. It ends by itself when the supervisor ends.

    `last_line` is the last line that it wrote, empty until it serves. `silent_s` counts the calls
    of `kill_if_silent` since that line, about one a second; so a supervisor that stood still itself
    does not blame its children. `on_full` is called when it becomes full or has room again.
    """

    def __init__(
        self,
        name: str,
        module: str,
        *arguments: str,
        env: Mapping[str, str],
        fds: Sequence[int] = (),
        on_full: Callable[[], object] = lambda: None,
    ) -> None:
        self.last_line = ""
        self._on_full = on_full
        #: How busy a worker is, or None before it has said so.
        self.load: WorkerLoad | None = None
        self.silent_s = 0
        self.was_killed = False
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
        gevent.spawn(self._read)

    def _read(self) -> None:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            self.silent_s, full = 0, self.is_full
            self.last_line, _, load = line.decode(errors="replace").rstrip("\n").partition("\t")
            self.load = read_load(load)
            if self.serves_since is None:
                self.serves_since = time.monotonic()
            if self.is_full != full:
                self._on_full()

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self.process.poll() is None

    @property
    def is_serving(self) -> bool:
        """Whether it has started to serve, and has not ended."""
        return self.serves_since is not None and self.is_alive

    @property
    def is_starting(self) -> bool:
        """Whether it has neither started nor ended."""
        return self.serves_since is None and self.is_alive

    @property
    def is_ready(self) -> bool:
        """Whether it is ready for players."""
        return self.is_alive and self.last_line.startswith(READY_MARK)

    @property
    def is_full(self) -> bool:
        """Whether it has no room for players."""
        return self.is_alive and self.last_line.startswith(FULL_MARK)

    @property
    def takes_players(self) -> bool:
        """Whether players may be passed to it."""
        return self.is_ready and self.silent_s <= QUIET_MOST_S

    @property
    def is_closed(self) -> bool:
        """Whether it lets nobody in any more."""
        return not self.is_alive or self.last_line.startswith(SHUT_MARK)

    @property
    def has_failed(self) -> bool:
        """Whether it has ended, or was not ready within READY_WITHIN_S."""
        if not self.is_alive:
            return True
        since = self.serves_since
        return since is not None and not self.is_ready and time.monotonic() - since > READY_WITHIN_S

    def why_not_ready(self) -> str:
        """Return a sentence that says why it is not ready."""
        if not self.is_alive and not self.was_killed:
            return f"{self.name} ended with code {self.process.returncode}"
        if self.serves_since is None:
            return f"{self.name} did not answer within {START_WITHIN_S} s"
        if self.was_killed:
            return f"{self.name} was silent for {SILENT_MOST_S} s"
        return f"{self.name} is not ready: {self.last_line[1:] or 'it has just started'}"

    def send(self, command: bytes) -> None:
        """Send a command to a worker. It is no error if the worker has died."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(command)
        except BrokenPipeError:
            return

    def kill_if_silent(self) -> None:
        """Kill it if it has been silent for too long. It must be called once a second."""
        self.silent_s += 1
        most = SILENT_MOST_S if self.last_line else START_WITHIN_S
        if self.silent_s > most and self.is_alive and not self.was_killed:
            said = "was silent for" if self.last_line else "did not answer within"
            log.error("%s %s %s s: killing and restarting it", self.name, said, most)
            self.was_killed = True
            self.process.kill()

    def stop(self) -> None:
        """End it with SIGTERM, and after STOP_WITHIN_S by force; wait for its end."""
        if self.is_alive:
            self.process.terminate()
        with gevent.Timeout(STOP_WITHIN_S, False):  # type: ignore[arg-type]
            self.process.wait()
        if self.is_alive:
            log.error("%s did not stop within %s s: killing it", self.name, STOP_WITHIN_S)
            self.process.kill()
            self.process.wait()


class Supervisor:
    """The parent of all workers.

    `arguments` is the command line, which the workers get too. Once `stopping` is set, nothing here
    waits any longer; whoever sets it calls stop().
    """

    def __init__(self, settings: Settings, arguments: Sequence[str], stopping: Event) -> None:
        self._arguments = arguments
        self._stopping = stopping
        self._workers = range(settings.workers)
        self._listener: socket.socket = listen(settings.host, settings.port)
        self._listener.set_inheritable(True)
        self._environment = dict(os.environ)
        # Messages are not sealed with a secret made here, since other servers do not have it.
        self._seals_messages = settings.sealed
        self._environment["SECRET_KEY"] = settings.secret or secrets.token_hex()
        #: Slot -> the child that fills it; and all children that run, even those that start or end.
        self._slots: dict[int, Child] = {}
        self._children: list[Child] = []
        self._has_started = self._is_replacing = False
        #: How many children are just being started, which are not among the others yet.
        self._starting = 0
        self._replace_again = Event()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._reports = tempfile.TemporaryDirectory(prefix="flatlands-reports-")
        self._clock = clock_offset()
        self._districts = Districts(0) if settings.gather else None
        #: The slots whose workers take players, as last sent to the workers.
        self._taking_slots: list[int] = []
        self._passage = Passage(self._reports.name)
        if not settings.broker:
            self._folder = tempfile.TemporaryDirectory(prefix="flatlands-")
            self._prefix = os.path.join(self._folder.name, "zmq")
            self._environment["BROKER_URL"] = f"zeromq+ipc://{self._prefix}"
            log.info("the workers use the broker %s", self._environment["BROKER_URL"])

    @property
    def port(self) -> int:
        """The port of the listener."""
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Start all workers; return once each serves, or was too slow and is being started again.

        Raises OSError if all of them end by themselves before they serve.
        """
        gevent.spawn(self._supervise)
        if self._folder is not None:
            self._start_initial([FORWARDER])
        self._start_initial(self._workers)
        self._has_started = True

    def _start_initial(self, slots: Sequence[int]) -> None:
        first: list[Child] = []
        self._start_all(slots, first)
        for slot, child in zip(slots, first, strict=False):
            self._slots[slot] = child
            gevent.spawn(self._keep_running, slot, child)
        self._wait_for_starts(first)
        if not any(child.is_serving or child.was_killed for child in first) and self._is_running:
            why = "; ".join(child.why_not_ready() for child in first)
            self.stop()
            raise OSError(f"no process could start: {why}")
        self._wait(lambda: any(self._slots[slot].is_serving for slot in slots))

    def replace(self) -> None:
        """Replace all workers at once: when all new ones are ready, the old ones shut their doors.

        If a new one does not get ready, the old ones go on, and the replacement is tried again
        later. Any number of calls during a replacement cause one further replacement.
        """
        if not self._has_started:
            log.warning("SIGHUP ignored: the workers are still starting")
            return
        self._replace_again.set()
        if self._is_replacing:
            return
        self._is_replacing = True
        pause = REPLACE_AFTER_S
        try:
            while self._replace_again.is_set() and self._is_running:
                self._replace_again.clear()
                if why := self._replace_all():
                    log.error(
                        "no worker was replaced, the old ones keep serving: %s; next try in %g s",
                        why,
                        pause,
                    )
                    gevent.wait([self._replace_again, self._stopping], timeout=pause, count=1)
                    self._replace_again.set()
                    pause = min(pause * 2, REPLACE_AFTER_MOST_S)
        finally:
            self._is_replacing = False

    def _replace_all(self) -> str:
        """Replace all workers; return why it was impossible, or an empty text."""
        new: list[Child] = []
        try:
            self._start_all(self._workers, new)
        except OSError as error:
            self._stop_all(new)
            return f"cannot start a process: {error}"
        self._wait(
            lambda: all(child.is_ready for child in new) or any(child.has_failed for child in new)
        )
        if not self._is_running:
            return ""
        if why := "; ".join(child.why_not_ready() for child in new if not child.is_ready):
            self._stop_all(new)
            return why
        old = [self._slots[slot] for slot in self._workers]
        for slot, child in zip(self._workers, new, strict=True):
            self._slots[slot] = child
            child.send(OPEN_COMMAND)
            gevent.spawn(self._keep_running, slot, child)
        # All shut their doors before any of them sends players away, so that nobody comes back to
        # an old worker.
        self._close(old)
        self._stop_all(old)
        if self._is_running:
            log.info("all workers were replaced")
        return ""

    def stop(self) -> None:
        """Shut all doors, then stop all workers and the forwarder."""
        self._stopping.set()
        while self._starting:
            gevent.sleep(0.02)
        forwarder = self._slots.get(FORWARDER)
        workers = [child for child in self._children if child is not forwarder]
        self._close(workers)
        # No worker accepts any more: connections that still wait are refused at once.
        with suppress(OSError):  # not every system knows this of a socket that listens
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._stop_all(workers)
        if forwarder is not None:
            forwarder.stop()
        if self._folder is not None:
            self._folder.cleanup()
        self._passage.close()
        self._reports.cleanup()

    @property
    def _is_running(self) -> bool:
        return not self._stopping.is_set()

    def _wait(self, done: Callable[[], bool]) -> None:
        """Wait until a condition is true, or until the server stops."""
        while not done() and self._is_running:
            self._stopping.wait(0.05)

    def _wait_for_starts(self, children: Sequence[Child]) -> None:
        self._wait(lambda: not any(child.is_starting for child in children))

    def _close(self, workers: Sequence[Child]) -> None:
        """Let workers shut their doors; wait for them, for SHUT_WITHIN_S at most."""
        for worker in workers:
            worker.send(CLOSE_COMMAND)
        until = time.monotonic() + SHUT_WITHIN_S
        # A worker that has not started has let nobody in.
        while any(not (worker.is_closed or worker.is_starting) for worker in workers):
            if time.monotonic() > until:
                return
            gevent.sleep(0.02)

    def _stop_all(self, workers: Sequence[Child]) -> None:
        gevent.joinall([gevent.spawn(worker.stop) for worker in workers])

    def _start_all(self, slots: Sequence[int], started: list[Child]) -> None:
        """Start a child for each slot, unless the server stops, and add it to those `started`."""
        for slot in slots:
            if self._is_running:
                started.append(self._start(slot))

    def _start(self, slot: int) -> Child:
        """Start a child; other greenlets run meanwhile, and may stop the server."""
        self._starting += 1
        try:
            child = self._make(slot)
            self._children.append(child)
            return child
        finally:
            self._starting -= 1

    def _make(self, slot: int) -> Child:
        self._remove_ended()
        if slot == FORWARDER:
            return Child(
                "the ZeroMQ forwarder",
                "flatlands.brokers.zeromq",
                "--ipc",
                self._prefix,
                "--parent",
                str(os.getpid()),
                env=self._environment,
            )
        fd = self._listener.fileno()
        # If an option is given twice, the last one counts.
        options = [*self._arguments, "--workers", "1", "--listen-fd", str(fd)]
        if not self._seals_messages:
            options.append("--unsealed")
        options += ("--worker", str(slot + 1), "--reports", self._reports.name)
        options += ("--clock", str(self._clock))
        if self._folder is not None:
            options += ("--broker", self._environment["BROKER_URL"])
        return Child(
            f"worker {slot + 1}",
            "flatlands.server",
            *options,
            env=self._environment,
            fds=[fd],
            on_full=self._tell_plan,
        )

    def _remove_ended(self) -> None:
        self._children = [child for child in self._children if child.is_alive]
        try:
            bury(Path(self._reports.name), [child.process.pid for child in self._children])
        except OSError as error:
            # A new worker is started even so: it matters more than the counts of a dead one.
            log.warning("the counters of ended workers are lost: %s", error)

    def _supervise(self) -> None:
        while True:
            gevent.sleep(1)
            for child in self._children:
                child.kill_if_silent()
            if self._districts is not None:
                self._follow(self._districts)
                self._tell_plan()

    def _follow(self, districts: Districts[int]) -> None:
        """Let the plan follow how busy the workers are, and who takes players."""
        loads = {
            slot: child.load._replace(takes=child.takes_players)
            for slot, child in self._slots.items()
            if child.load is not None and child.is_alive
        }
        before = districts.plan
        districts.follow(loads, time.monotonic())
        if districts.plan != before:
            workers = ", ".join(str(slot + 1) for slot in sorted(map(int, shards(districts.plan))))
            log.info(
                "the busiest worker is at %d %%: now workers %s share the players",
                100 * max(load.busy for load in loads.values()),
                workers,
            )
        self._taking_slots = [slot for slot, load in loads.items() if load.takes]

    def _tell_plan(self) -> None:
        """Send all workers the plan, with those who take players and those who are full."""
        if self._districts is None:
            return
        full = [slot for slot, child in self._slots.items() if child.is_full]
        message = pack_plan(self._districts.plan, self._taking_slots, len(self._workers), full)
        for slot in self._workers:
            # A worker that cannot take it now gets it again in a second.
            self._passage.send(shard_name(slot), message)

    def _keep_running(self, slot: int, child: Child) -> None:
        """Let a child open its door, and start it again whenever it dies, until it is replaced."""
        pause = RESTART_AFTER_S
        while True:
            self._wait_for_starts([child])
            if not self._occupies(slot, child):
                return
            if slot != FORWARDER:
                child.send(OPEN_COMMAND)
            code = child.process.wait()
            if not self._occupies(slot, child):
                return
            served = time.monotonic() - (child.serves_since or time.monotonic())
            if served > RESTART_AFTER_MOST_S:
                pause = RESTART_AFTER_S
            if not child.was_killed:
                log.error("%s died (code %s): restarting it", child.name, code)
            self._stopping.wait(pause * (0.5 + random.random() / 2))
            pause = min(pause * 2, RESTART_AFTER_MOST_S)
            if not self._occupies(slot, child):
                return
            try:
                started = self._start(slot)
                if not self._occupies(slot, child):
                    # All workers were replaced meanwhile.
                    return self._stop_all([started])
                child = self._slots[slot] = started
            except OSError as error:
                log.error("cannot restart %s: %s", child.name, error)

    def _occupies(self, slot: int, child: Child) -> bool:
        return self._is_running and self._slots[slot] is child
