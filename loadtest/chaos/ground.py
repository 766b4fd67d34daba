"""The server and broker on which faults are inflicted, and the ways of harming them."""

import contextlib
import secrets
import time

import psutil

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.processes import Program, Trouble, children
from flatlands.loadtest.swarm import target
from flatlands.loadtest.swarm.run import RunContext

#: Seconds within which a new server must find the port free, and start.
RESTART_WITHIN = 60.0


class Ground:
    """A server with its broker, for faults. `field` is set while bots play.

    `broker` is the broker's URL, or empty for the server's own; `squares` is the number of squares
    in which newcomers begin.
    """

    def __init__(
        self, stack: contextlib.ExitStack, broker: str, workers: int, squares: int
    ) -> None:
        self._stack, self._workers, self._squares = stack, workers, squares
        self._secret = {"SECRET_KEY": secrets.token_hex()}
        self.target = stack.enter_context(
            target.started(broker, workers, squares, environment=self._secret)
        )
        self.field: RunContext | None = None

    def now(self) -> int:
        """Return the time by the run's clock, in us."""
        assert self.field is not None
        return self.field.now()

    @property
    def server(self) -> psutil.Process:
        """The server's first process: with several workers, the supervisor."""
        assert self.target.program is not None
        return self.target.program.process

    def workers(self) -> list[psutil.Process]:
        """Return the workers, the oldest first."""
        return self.target.workers()

    def forwarder(self) -> psutil.Process:
        """Return the forwarder that the workers share. Raises ValueError while there is none."""
        found = children(self.server).items()
        [forwarder] = [child for child, command in found if "flatlands.brokers.zeromq" in command]
        return forwarder

    def stop(self, process: psutil.Process, seconds: float) -> None:
        """Suspend a process for some seconds."""
        process.suspend()
        signals.sleep(seconds)
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()

    def restart(self) -> None:
        """Start another server in place of one that has ended, as a service manager would."""
        port, url = self.target.address[1], self.target.url
        broker = "" if url == target.OWN else url
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
        """Kill the broker with this index; start it again after some seconds."""
        broker = self.target.brokers[which]
        broker.process.kill()
        signals.sleep(seconds)
        self.target.brokers[which] = self._stack.enter_context(Program(broker.command, broker.name))
