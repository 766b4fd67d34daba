"""Several workers on one port: binds once, starts them, starts again who dies, replaces all.

Workers are fresh interpreters that inherit the listening descriptor; one that stops only stops
accepting. Where no broker was named, a ZeroMQ forwarder is one more child, over ipc in a folder of
its own. The supervisor serves nobody itself and knows nothing of the world.
"""

import logging
import os
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

import gevent
from gevent import socket, subprocess

from server.app import listen
from server.settings import Settings

log = logging.getLogger("flatlands")

#: A child that dies is started again after so many seconds, twice as many each time up to the
#: latter; one that lived longer than that is forgiven.
RESTART_AFTER, RESTART_AFTER_MOST = 0.5, 15.0

#: Seconds that a child may take to start, and to stop.
START_WITHIN, STOP_WITHIN = 15, 30

#: The slot of the forwarder; those of the workers are counted from 0.
FORWARDER = -1


class Child:
    """One process of the supervisor's; it ends by itself when this one does."""

    def __init__(
        self, module: str, *arguments: str, env: Mapping[str, str], fds: Sequence[int] = ()
    ) -> None:
        self.started = time.monotonic()
        # Its end of the pipe tells a worker when the supervisor is gone, however that went.
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=env,
            pass_fds=fds,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def wait_ready(self) -> bool:
        """Return whether it serves; False if it died or took too long."""
        with gevent.Timeout(START_WITHIN, False):
            assert self.process.stdout is not None
            return bool(self.process.stdout.readline())
        return False

    def stop(self) -> None:
        """Ask it to end well, and wait until it is gone."""
        if self.alive:
            self.process.terminate()
        with gevent.Timeout(STOP_WITHIN, False):
            self.process.wait()
        if self.alive:
            self.process.kill()
            self.process.wait()


class Supervisor:
    """See the module. `arguments` is the command line, for the workers."""

    def __init__(self, settings: Settings, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._count = settings.workers
        self._listener: socket.socket = listen(settings.host, settings.port)
        self._listener.set_inheritable(True)
        self._environment = dict(os.environ)
        self._environment["SECRET_KEY"] = settings.secret or secrets.token_hex()
        #: Who fills each slot; and all that run, those on their way in and out too.
        self._slots: dict[int, Child] = {}
        self._children: list[Child] = []
        self._stopping = False
        # A replacement that is asked for before all workers were started is none.
        self._replacing, self._again = True, False
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if not settings.broker:
            self._folder = tempfile.TemporaryDirectory(prefix="flatlands-")
            self._prefix = os.path.join(self._folder.name, "zmq")
            self._environment["BROKER_URL"] = f"zeromq+ipc://{self._prefix}"

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Start all workers, and return once they serve. Raises OSError if one does not."""
        for slot in range(0 if self._folder is None else FORWARDER, self._count):
            child = self._slots[slot] = self._start(slot)
            if not child.wait_ready():
                self.stop()
                raise OSError(f"{_name(slot)} did not start: see what it said above")
            gevent.spawn(self._look_after, slot, child)
        self._replacing = False

    def replace(self) -> None:
        """Replace the workers one by one: a new one serves before an old one stops.

        Asked for once more meanwhile, it begins anew when it is done.
        """
        self._again = True
        if self._replacing:
            return
        self._replacing = True
        try:
            while self._again:
                self._again = False
                self._replace_all()
        finally:
            self._replacing = False

    def _replace_all(self) -> None:
        for slot in range(self._count):
            new = self._start(slot)
            ready = new.wait_ready()
            if self._stopping:
                return
            if not ready:
                log.error("a new worker did not start: the old ones go on")
                new.stop()
                return
            old, self._slots[slot] = self._slots[slot], new
            gevent.spawn(self._look_after, slot, new)
            old.stop()
            if self._stopping:
                return
        log.info("all workers were replaced")

    def stop(self) -> None:
        """Stop all workers, and what was started for them."""
        self._stopping = True
        forwarder = self._slots.get(FORWARDER)
        workers = [child for child in self._children if child is not forwarder]
        gevent.joinall([gevent.spawn(worker.stop) for worker in workers])
        self._listener.close()
        if forwarder is not None:
            forwarder.stop()
        if self._folder is not None:
            self._folder.cleanup()

    def _start(self, slot: int) -> Child:
        fd, environment, arguments = self._listener.fileno(), self._environment, self._arguments
        if slot == FORWARDER:
            options = ("--ipc", self._prefix, "--parent", str(os.getpid()))
            child = Child("brokers.zeromq", *options, env=environment)
        else:
            if slot:
                # The computer players of one worker are enough for all.
                environment = {**environment, "WALKERS": "0"}
                arguments = _without_option(arguments, "--walkers")
            options = ("--workers", "1", "--listen-fd", str(fd))
            child = Child("server", *arguments, *options, env=environment, fds=[fd])
        self._children = [other for other in self._children if other.alive] + [child]
        return child

    def _look_after(self, slot: int, child: Child) -> None:
        """Start a child again whenever it dies, as long as nobody else has replaced it."""
        pause = RESTART_AFTER
        while True:
            child.process.wait()
            if self._stopping or self._slots[slot] is not child:
                return
            if time.monotonic() - child.started > RESTART_AFTER_MOST:
                pause = RESTART_AFTER
            log.error("%s died (%s)", _name(slot), child.process.returncode)
            gevent.sleep(pause * (0.5 + random.random() / 2))
            pause = min(pause * 2, RESTART_AFTER_MOST)
            if self._stopping or self._slots[slot] is not child:
                return
            try:
                child = self._slots[slot] = self._start(slot)
            except OSError as error:
                log.error("%s cannot be started: %s", _name(slot), error)
                continue
            if not child.wait_ready() and not self._stopping:
                # Dead, or stuck, which is as bad.
                child.stop()


def _name(slot: int) -> str:
    return "the ZeroMQ forwarder" if slot == FORWARDER else f"worker {slot + 1}"


def _without_option(arguments: Sequence[str], option: str) -> list[str]:
    """Return a command line without an option and its value."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument == option:
            skip = True
        elif not argument.startswith(f"{option}="):
            kept.append(argument)
    return kept
