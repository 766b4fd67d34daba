"""Real servers as child processes."""

import json
import resource
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flatlands.loadtest.kit.processes import ROOT, Program, Trouble, clean_environment
from tests.socket_client import SocketClient

__all__ = [
    "BARE",
    "PATIENCE",
    "ROOT",
    "ServerProcess",
    "clean_environment",
    "limited",
    "python",
    "serving",
]

#: The path of the bare game, which servers play here unless a test wants another one.
BARE = str(ROOT / "tests" / "bare.py")

#: Seconds that a server may take to start or to stop, even on a very busy machine.
PATIENCE = 60


def python(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run Python until it ends, in ROOT unless `cwd` is given; return its exit code, and what
    it printed as text. Raises TimeoutExpired."""
    usual = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": PATIENCE}
    return subprocess.run([sys.executable, *arguments], **{**usual, **more})


class Reached:
    """A server at a `url`."""

    url: str

    def get(self, path: str) -> bytes:
        """Return the body of the server's answer to a GET request."""
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as answer:
            return answer.read()

    def reasons(self) -> list[str]:
        """Return the reasons why the server is not ready; an empty list if it is."""
        try:
            return json.loads(self.get("readyz"))["reasons"]
        except urllib.error.HTTPError as refused:
            with refused:
                return json.loads(refused.read())["reasons"]


class ServerProcess(Reached, Program):
    """`python -m server` with some options, on a free port unless `port` is given.

    `module` is another module to run, and `before` are arguments before the options. `descriptors`
    is its limit of file descriptors: a number, or (the limit, how far it may raise it). `folder` is
    where it is started. It plays the bare game unless the options name another one.
    """

    def __init__(
        self,
        *options: str,
        port: int = 0,
        module: str = "server",
        before: Sequence[str] = (),
        descriptors: int | tuple[int, int] | None = None,
        folder: Path = ROOT,
        **environment: str,
    ) -> None:
        own = ["-W", "error", "-m", module, *before, "--port", str(port)]
        super().__init__(
            [sys.executable, *own, *options],
            "the server",
            environment={"GAME": BARE, **environment},
            prepare=limited(descriptors),
            folder=folder,
        )
        try:
            found = self.ready(r"http://\S+:(\d+)", PATIENCE)
        except Trouble:
            self.close()
            raise
        self.shown = found[0]
        self.port = int(found[1])
        self.url = f"http://localhost:{self.port}/"

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> None:
        """End it as an operator would, and check that it has logged no traceback."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) in (0, -signal.SIGKILL)
        errors = self.errors()
        assert "Traceback" not in errors, errors

    def close(self) -> None:
        """End it at once, whatever its state."""
        self.end(0)


def limited(descriptors: int | tuple[int, int] | None) -> Callable[[], None] | None:
    """Return a function that sets a new process's limit of descriptors; see ServerProcess."""
    if descriptors is None:
        return None
    pair = descriptors if isinstance(descriptors, tuple) else (descriptors, descriptors)
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, pair)


@contextmanager
def serving(*options: str, port: int = 0, **more: Any) -> Iterator[ServerProcess]:
    """Run a server while the block runs. It must end without errors."""
    server = ServerProcess(*options, port=port, **more)
    try:
        yield server
        SocketClient.hang_up(server.port)
        server.stop()
    finally:
        server.close()
