"""What faults are done to: a server with its broker."""

import contextlib
import secrets
import time

import psutil

from loadtest.kit import signals
from loadtest.kit.processes import Program, Trouble, children
from loadtest.swarm import target
from loadtest.swarm.run import Field

#: Seconds that a new server may take to find the port free, and to start.
RESTART_WITHIN = 60.0


class Ground:
    """A server with its broker, and what can be done to it. `field` is there while bots play."""

    def __init__(
        self, stack: contextlib.ExitStack, broker: str, workers: int, squares: int
    ) -> None:
        self._stack, self._workers, self._squares = stack, workers, squares
        self._secret = {"SECRET_KEY": secrets.token_hex()}
        self.target = stack.enter_context(
            target.started(broker, workers, squares, environment=self._secret)
        )
        self.field: Field | None = None

    def now(self) -> int:
        """The run's clock, in us."""
        assert self.field is not None
        return self.field.now()

    @property
    def server(self) -> psutil.Process:
        """The process that was started: the supervisor, where there are workers."""
        assert self.target.program is not None
        return self.target.program.process

    def workers(self) -> list[psutil.Process]:
        """The workers, the eldest first."""
        return self._children("server")

    def forwarder(self) -> psutil.Process:
        """The forwarder that the workers share. Raises ValueError while there is none."""
        [found] = self._children("brokers.zeromq")
        return found

    def _children(self, module: str) -> list[psutil.Process]:
        return [child for child, command in children(self.server).items() if module in command]

    def stop(self, process: psutil.Process, seconds: float) -> None:
        """Let a process stand still for a while."""
        process.suspend()
        signals.sleep(seconds)
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()

    def restart(self) -> None:
        """Start another server in the place of one that has ended, as a service manager does."""
        port, url = self.target.address[1], self.target.url
        broker = "" if url == "its own" else url
        until = time.monotonic() + RESTART_WITHIN
        while True:
            try:
                self.target = self._stack.enter_context(
                    target.started(
                        broker, self._workers, self._squares, port=port, environment=self._secret
                    )
                )
                return
            except Trouble:
                if time.monotonic() > until:
                    raise
                signals.sleep(0.5)

    def restart_broker(self, which: int, seconds: float) -> None:
        """Kill one of the brokers; start it again after a while."""
        broker = self.target.brokers[which]
        broker.process.kill()
        signals.sleep(seconds)
        self.target.brokers[which] = self._stack.enter_context(
            Program(broker.command, broker.name)
        )
