"""Several workers on one port: binds once, starts them, starts again who dies, replaces all.

Workers are fresh interpreters that inherit the listening descriptor; one that stops only stops
accepting. The supervisor serves nobody itself and knows nothing of the world.
"""

import logging
import os
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence

import gevent
from gevent import socket, subprocess

from server.app import listen
from server.settings import Settings

log = logging.getLogger("flatlands")

#: A worker that dies is started again after so many seconds, twice as many each time up to the
#: latter; one that lived longer than that is forgiven.
RESTART_AFTER, RESTART_AFTER_MOST = 0.5, 15.0

#: Seconds that a worker may take to start, and to stop.
START_WITHIN, STOP_WITHIN = 15, 30


class Worker:
    """One process that serves; it ends by itself when this one does."""

    def __init__(self, arguments: Sequence[str], environment: dict[str, str], fd: int) -> None:
        self.started = time.monotonic()
        # Its end of this pipe tells it when the supervisor is gone, however that went.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "server", *arguments, "--workers", "1", "--listen-fd", str(fd)],
            env=environment,
            pass_fds=[fd],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def wait_ready(self) -> bool:
        """Return whether it serves; False if it died or took too long."""
        with gevent.Timeout(START_WITHIN, False):
            assert self.process.stdout is not None
            return bool(self.process.stdout.readline())
        return False

    def stop(self) -> None:
        """Ask it to send its clients away, and wait until it is gone."""
        if self.process.poll() is None:
            self.process.terminate()
        with gevent.Timeout(STOP_WITHIN, False):
            self.process.wait()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Supervisor:
    """See the module. `arguments` is the command line, for the workers."""

    def __init__(self, settings: Settings, arguments: Sequence[str]) -> None:
        self._settings = settings
        self._arguments = arguments
        self._listener: socket.socket = listen(settings.host, settings.port)
        self._listener.set_inheritable(True)
        self._environment = dict(os.environ)
        self._environment["SECRET_KEY"] = settings.secret or secrets.token_hex()
        self._workers: list[Worker | None] = [None] * settings.workers
        self._stopping = False
        self._forwarder: Forwarder | None = None
        if not settings.broker:
            self._forwarder = Forwarder()
            self._environment["BROKER_URL"] = self._forwarder.url

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Start all workers, and return once they serve. Raises OSError if one does not."""
        if self._forwarder is not None:
            self._forwarder.start()
        for slot in range(len(self._workers)):
            worker = self._start(slot)
            if not worker.wait_ready():
                worker.stop()
                self.stop()
                raise OSError("a worker did not start: see what it said above")
            gevent.spawn(self._look_after, slot, worker)

    def replace(self) -> None:
        """Replace the workers one by one: a new one serves before an old one stops."""
        for slot, old in enumerate(self._workers):
            new = self._start(slot)
            if not new.wait_ready():
                log.error("a new worker did not start: the old ones go on")
                new.stop()
                self._workers[slot] = old
                return
            gevent.spawn(self._look_after, slot, new)
            if old is not None:
                old.stop()
        log.info("all workers were replaced")

    def stop(self) -> None:
        """Stop all workers, and what was started for them."""
        self._stopping = True
        running = [worker for worker in self._workers if worker is not None]
        gevent.joinall([gevent.spawn(worker.stop) for worker in running])
        self._listener.close()
        if self._forwarder is not None:
            self._forwarder.stop()

    def _start(self, slot: int) -> Worker:
        environment = dict(self._environment)
        if slot:
            # The computer players of one worker are enough for all.
            environment["WALKERS"] = "0"
        arguments = _without_option(self._arguments, "--walkers") if slot else self._arguments
        worker = Worker(arguments, environment, self._listener.fileno())
        self._workers[slot] = worker
        return worker

    def _look_after(self, slot: int, worker: Worker) -> None:
        """Start a worker again whenever it dies, as long as nobody else has replaced it."""
        pause = RESTART_AFTER
        while True:
            worker.process.wait()
            if self._stopping or self._workers[slot] is not worker:
                return
            if time.monotonic() - worker.started > RESTART_AFTER_MOST:
                pause = RESTART_AFTER
            log.error("worker %d died (%s)", worker.process.pid, worker.process.returncode)
            gevent.sleep(pause * (0.5 + random.random() / 2))
            pause = min(pause * 2, RESTART_AFTER_MOST)
            if self._stopping or self._workers[slot] is not worker:
                return
            worker = self._start(slot)
            worker.wait_ready()


class Forwarder:
    """A ZeroMQ forwarder of the server's own, over ipc in a folder of its own."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="flatlands-")
        self._prefix = os.path.join(self._folder.name, "zmq")
        self.url = f"zeromq+ipc://{self._prefix}"
        self._process: subprocess.Popen | None = None

    def start(self) -> None:
        """Start it, and return once it forwards. Raises OSError if it does not."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "brokers.zeromq", "--ipc", self._prefix],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        with gevent.Timeout(START_WITHIN, False):
            if self._process.stdout.readline():
                return
        self.stop()
        raise OSError("the ZeroMQ forwarder did not start: see what it said above")

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        self._folder.cleanup()


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
