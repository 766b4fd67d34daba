"""Real servers as child processes, and a proxy that can cut or stall what goes through it."""

import resource
import signal
import socket
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from loadtest.kit.processes import ROOT, Program, Trouble, clean_environment

__all__ = ["PATIENCE", "ROOT", "Proxy", "ServerProcess", "clean_environment", "limited", "serving"]

#: Seconds that a server may take to start or to stop: as many as a machine that is busy with other
#: things may ever need.
PATIENCE = 60


class ServerProcess(Program):
    """`python -m server` with some options; the port is free unless told.

    `module` is another one to run, and `before` what it is told before the options. `descriptors`
    are how many files it may open: a number, or what it is given and what it may raise that to.
    """

    def __init__(
        self, *options: str, port: int = 0, module: str = "server", before: Sequence[str] = (),
        descriptors: int | tuple[int, int] | None = None, **environment: str,
    ) -> None:  # fmt: skip
        own = ["-W", "error", "-m", module, *before, "--port", str(port)]
        super().__init__(
            [sys.executable, *own, *options], "the server", environment=environment,
            prepare=limited(descriptors),
        )  # fmt: skip
        try:
            told = self.ready(r"http://\S+:(\d+)", PATIENCE)
        except Trouble:
            self.close()
            raise
        self.shown = told[0]
        self.port = int(told[1])
        self.url = f"http://localhost:{self.port}/"

    def get(self, path: str) -> bytes:
        """Return what the server answers to GET."""
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as answer:
            return answer.read()

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> None:
        """End it as an operator would, and check that it had nothing to complain about."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) in (0, -signal.SIGKILL)
        errors = self.errors()
        assert "Traceback" not in errors, errors

    def close(self) -> None:
        """Let go of it, whatever state it is in."""
        self.end(0)


def limited(descriptors: int | tuple[int, int] | None) -> Callable[[], None] | None:
    """Return what lets a child open so many files only; see ServerProcess."""
    if descriptors is None:
        return None
    pair = descriptors if isinstance(descriptors, tuple) else (descriptors, descriptors)
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, pair)


@contextmanager
def serving(*options: str, port: int = 0, **more: Any) -> Iterator[ServerProcess]:
    """Run a server for as long as the block lasts; it must end well."""
    server = ServerProcess(*options, port=port, **more)
    try:
        yield server
        server.stop()
    finally:
        server.close()


class Proxy:
    """A TCP proxy on loopback, one thread a direction.

    While it is stalled nothing goes through, and nobody is told, as where a link is dead.
    """

    def __init__(self, to_port: int) -> None:
        self._to = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._flows = threading.Event()
        self._flows.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._to))
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self._flows.wait()
                sink.sendall(data)
            self._flows.wait()
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def stall(self) -> None:
        """Let nothing through; what comes is kept."""
        self._flows.clear()

    def flow(self) -> None:
        """Let everything through again."""
        self._flows.set()

    def cut(self) -> None:
        """End every connection at once, without a goodbye."""
        connections, self._open = self._open, []
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()

    def close(self) -> None:
        self._listener.close()
        self.flow()
        self.cut()
