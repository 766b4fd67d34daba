"""The base of the real servers that the tests of brokers start as child processes on loopback."""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

from flatlands.loadtest.kit import guard
from flatlands.loadtest.kit.brokers import free_ports

#: Seconds that a server may take to start, or the nodes of a cluster to agree, also on a machine
#: that is busy.
PATIENCE = 60

USER = "us@r"
PASSWORD = "pa:ss@word"
#: The user, quoted for a URL.
QUOTED_USER = "us%40r"
#: The password, quoted for a URL.
QUOTED = "pa%3Ass%40word"


#: How often to start a server that ends before it is ready.
ATTEMPTS = 3

_Found = TypeVar("_Found")


def free_port() -> int:
    """Return a port of loopback on which nobody listens."""
    return free_ports(1)[0]


def eventually(condition: Callable[[], _Found], what: str) -> _Found:
    """Return the first true value of `condition()`; after PATIENCE seconds fail with the
    sentence `what`."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
    return found


@cache
def certify() -> tuple[Path, Path]:
    """Return the paths of a key and of a self-signed certificate for this machine."""
    folder = Path(tempfile.mkdtemp(prefix="flatlands-certificate-"))
    atexit.register(shutil.rmtree, folder)
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return key, certificate


def suspend(pid: int) -> None:
    """Stop a child process until it gets SIGCONT; return when all of its threads have stopped."""
    os.kill(pid, signal.SIGSTOP)
    # A busy machine lets some of its threads go on for a while.
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)


_S = TypeVar("_S", bound="Server")


class NotStarted(Exception):
    """A server ended before it was ready; the text is the end of its log."""


class Server:
    """A server that can be killed, stalled and started again on the same port."""

    #: The schemes of its URLs, without and with TLS, and its program.
    scheme = ""
    tls_scheme = ""
    program = ""
    #: User and password as they stand in its URL, if it requires a login.
    who = f"{QUOTED_USER}:{QUOTED}@"

    def __init__(self, *options: str, tls: bool = False, login: bool = False) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix=f"flatlands-{self.program}-"))
        self.tls = tls
        self.login = login
        # Servers are often in a folder that only root has on its PATH.
        program = shutil.which(self.program) or shutil.which(self.program, path="/usr/sbin")
        self._command = [program or self.program, *self.configured(*options)]
        self.process: subprocess.Popen[bytes] | None = None

    def configured(self, *options: str) -> list[str]:
        """Return the program's arguments, for listening on `port`, with a password if `login`.

        May write files into `folder`.
        """
        raise NotImplementedError

    def answers(self) -> bool:
        """Return whether the server is ready."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    @property
    def address(self) -> str:
        """Return its URL without the login."""
        if self.tls:
            return f"{self.tls_scheme}://localhost:{self.port}"
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Return its URL with the login, and with an option that accepts any certificate."""
        scheme, _, rest = self.address.partition("://")
        return f"{scheme}://{self.who if self.login else ''}{rest}" + (
            "?ssl_cert_reqs=none" if self.tls else ""
        )

    def start(self) -> None:
        """Start it, for the first time or again."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True
            )
        guard.watch(self.process.pid)
        eventually(self._answers_or_ended, f"{self.program} does not start")

    def _answers_or_ended(self) -> bool:
        """Return whether the server is ready. Raises NotStarted if it has ended."""
        if self.process.poll() is not None:
            raise NotStarted((self.folder / "log").read_text(errors="replace")[-500:])
        return self.answers()

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait(PATIENCE)
        guard.forget(self.process.pid)

    def stall(self) -> None:
        """Stop it from doing anything; its connections stay open."""
        suspend(self.process.pid)

    def resume(self) -> None:
        """Let it continue after `stall`."""
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, whatever its state, and remove its files."""
        if self.process:
            self.kill()
        shutil.rmtree(self.folder)


@contextmanager
def run(kind: type[_S], *options: str, tls: bool = False, login: bool = False) -> Iterator[_S]:
    """Run a server of this kind; with `login` it requires a password."""
    server = started(lambda: kind(*options, tls=tls, login=login))
    try:
        yield server
    finally:
        server.close()


#: What ends the servers that the tests of this process share: conftest.py does.
SHARED = ExitStack()


@cache
def shared(running: Callable[..., AbstractContextManager[_Found]], **how: bool) -> _Found:
    """Return the server that `running(**how)` runs: one for all tests of this process that neither
    kill nor stall nor configure it."""
    return SHARED.enter_context(running(**how))


def started(make: Callable[[], _S]) -> _S:
    """Return a server that is ready. If one ends before that, make others: another process may
    have taken its port in the meantime."""
    for attempt in range(ATTEMPTS):
        server = make()
        try:
            server.start()
            return server
        except BaseException as error:
            server.close()
            if not isinstance(error, NotStarted) or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("there is at least one attempt")


@contextmanager
def run_url(kind: type[Server], tls: bool = False, login: bool = False) -> Iterator[str]:
    """Run a server and yield its URL."""
    with run(kind, tls=tls, login=login) as server:
        yield server.url


@contextmanager
def three(url: Callable[[], AbstractContextManager[str]]) -> Iterator[str]:
    """Start three servers of a kind and yield the URL of their ring."""
    with ExitStack() as stack:
        yield ",".join(stack.enter_context(url()) for _ in range(3))
