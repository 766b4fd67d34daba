"""The target of a run: a server with its broker, started for the run or already running.

It reads the CPU and memory of their processes. It knows nothing of bots.
"""

import contextlib
import http.client
import json
import re
import socket
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import psutil

from flatlands import wire
from flatlands.loadtest.kit import brokers, signals
from flatlands.loadtest.kit.options import bare
from flatlands.loadtest.kit.processes import START_SECONDS, Program, Trouble, children, cost


@dataclass
class Target:
    """A server that answers at `address`: (IP address, port).

    `program` is the server and `brokers` are the brokers that were started with it; a server that
    was running already has neither. `url` is the broker's URL as the server got it, "" if the
    server was running already. `name` is the server's host name, and `tls` is "", "checked" or
    "unchecked". `token` opens the server's numbers: "" if it needs none, and None if they are not
    to be asked for. `elsewhere`: a broker of the server was not started with it. `login` is the
    Authorization header that a proxy in front of the server asks for.
    """

    address: tuple[str, int]
    path: str
    url: str = ""
    program: Program | None = None
    brokers: list[Program] = field(default_factory=list)
    name: str = "127.0.0.1"
    tls: str = ""
    token: str | None = ""
    elsewhere: bool = False
    login: str = ""
    #: CPU seconds and MB of memory, as the server last reported them.
    told: tuple[float | None, float | None] = (None, None)

    @property
    def died(self) -> str:
        """A sentence that says how the server has ended, or an empty text while it runs."""
        return self.program.death() if self.program is not None else ""

    def workers(self) -> list[psutil.Process]:
        """Return the workers of the server, the oldest first; none if it is one process."""
        assert self.program is not None
        found = children(self.program.process).items()
        return [child for child, command in found if "flatlands.server" in command]

    def cost(self) -> dict[str, float | None]:
        """Return CPU seconds since the start, and MB of resident memory, of server and broker; None
        stands for what is not known, and for a broker that is not a process."""
        servers: set[psutil.Process] = set()
        others: set[psutil.Process] = {broker.process for broker in self.brokers}
        if self.program is not None:
            servers.add(self.program.process)
            for child, command in children(self.program.process).items():
                (others if "flatlands.brokers.zeromq" in command else servers).add(child)
        server_cpu, server_mb = cost(servers) if self.program is not None else self.told
        known = others and not self.elsewhere
        broker_cpu, broker_mb = cost(others) if known else (None, None)
        return {
            "server_cpu": server_cpu,
            "server_mb": server_mb,
            "broker_cpu": broker_cpu,
            "broker_mb": broker_mb,
        }

    def stats(self) -> "dict[str, int]":
        """Return the counters of all workers of the server; none if it does not answer."""
        return self.counted(5.0) or {}

    def counted(self, patience: float) -> "dict[str, int] | None":
        """Return the counters of all workers; None if there is no answer in `patience` seconds."""
        if self.token is None:
            return None
        try:
            with self.open("/stats", patience) as answer:
                shown = json.load(answer)
        except (OSError, ValueError, http.client.HTTPException):
            return None
        cpu, memory = shown["counted"].get("cpu_ms", 0), shown.get("memory_bytes", 0)
        self.told = cpu / 1000, memory / 2**20
        broker = {f"broker_{name}": n for name, n in shown["broker"].items()}
        return {**shown["counted"], **broker}

    def failures(self) -> list[str]:
        """Return which methods of the game have failed, and how, by the log of a server that was
        started. That the store did not answer is no failure there."""
        log = "" if self.program is None else self.program.errors()
        found = (f"{hook} of the game failed: {why}" for hook, why in FAILURE.findall(log))
        return list(dict.fromkeys(found))

    def open(self, page: str, patience: float = 5.0) -> http.client.HTTPResponse:
        """Return the answer to a request for a page beside the WebSocket's path. Raises OSError."""
        scheme, context = ("https", wire.tls_context(self.tls)) if self.tls else ("http", None)
        host = wire.host_header(self.name, self.address[1], bool(self.tls))
        folder = urlsplit(self.path).path.rpartition("/")[0]
        url = f"{scheme}://{host}{folder}{page}"
        login = f"Bearer {self.token}" if self.token else self.login
        headers = {"Authorization": login} if login else {}
        request = urllib.request.Request(url, headers=headers)
        answer: http.client.HTTPResponse
        answer = urllib.request.urlopen(request, timeout=patience, context=context)
        return answer


#: A failure of a method of the game in the log: its name, and the last line of the traceback.
FAILURE = re.compile(r"(\w+) of the game failed\nTraceback .*\n(?: .*\n)+(\S.*)")

#: The counters of a server, or its broker, that grow when something is, or may be, lost.
LOSSES = (
    "gaps",
    "overdue_batches",
    "refused_batches",
    "resets",
    "repairs",
    "nodes_lost",
    "broker_dropped",
)


class Watch:
    """Reads the server's counters once a second, in a separate thread.

    `losses` has the periods (begin, end), in us by `clock`, in which losses were counted.
    """

    def __init__(self, target: Target, clock: Callable[[], int]) -> None:
        self._target, self._clock = target, clock
        self.losses: list[tuple[int, int]] = []
        #: The time at which the last look began, and the sum of the losses that it found.
        self._last: tuple[int, int] | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self.look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(1.0):
            self.look()

    def look(self) -> None:
        """Look at the counters now, if the server answers."""
        began = self._clock()
        counted = self._target.counted(2.0)
        if counted is None:
            return
        total = sum(counted.get(name, 0) for name in LOSSES)
        if self._last is not None:
            since, before = self._last
            if total > before:
                self.losses.append((since, self._clock()))
        self._last = began, total


def there(url: str, insecure: bool = False, token: str | None = None) -> Target:
    """Return the target at a ws:// or wss:// URL. `insecure` accepts any certificate. `token` is
    the server's admin token; without one its numbers are not asked for.

    Raises Trouble if nothing answers there, or the token does not open the numbers.
    """
    wrong = Trouble(f"{bare(url)!r} is not the address of a server, such as ws://HOST:PORT/ws")
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "wss" else 80)
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise wrong
    url = bare(url)
    tls = "" if parts.scheme == "ws" else "unchecked" if insecure else "checked"
    try:
        with socket.create_connection((parts.hostname, port), timeout=5) as connection:
            address = connection.getpeername()[:2]
            if tls:
                wire.tls_context(tls).wrap_socket(
                    connection, server_hostname=parts.hostname
                ).close()
    except ssl.SSLCertVerificationError as error:
        raise Trouble(
            f"the certificate of {url} cannot be verified ({error.verify_message}): --insecure "
            "accepts any certificate"
        ) from error
    except OSError as error:
        raise Trouble(
            f"nothing answers at {url} ({error.strerror or error}): start a server there, or leave "
            "out --url to have one started"
        ) from error
    path = (parts.path or "/ws") + (f"?{parts.query}" if parts.query else "")
    target = Target(address, path, name=parts.hostname, tls=tls, token=token)
    target.login = wire.basic_auth(parts)
    if token is not None:
        try:
            target.open("/stats").close()
        except OSError as error:
            raise Trouble(
                f"the server at {url} refuses its numbers ({error}): give its --admin-token, or "
                "leave that out"
            ) from error
    return target


#: The `url` of a target whose broker is left to the server.
OWN = "its own"


@contextlib.contextmanager
def started(
    broker: str,
    workers: int,
    spread: int,
    cpus: Sequence[int] = (),
    port: int = 0,
    environment: Mapping[str, str] | None = None,
    module: Sequence[str] = ("flatlands.server",),
    options: Sequence[str] = (),
    game: str = "",
) -> Iterator[Target]:
    """Start a server and its broker, and yield the target; both end with the block.

    `broker` is a URL; one without a host, such as redis://, is started here, and "" leaves it to
    the server. The server may use the cores `cpus` (none given: all). `spread` and `port` are
    options of the server. `environment` is added to its variables. `module` is the module to run,
    with arguments that come first; `options` are added at the end. `game` is what it plays, "" for
    Flatlands without computer players. Nothing is stored, unless `options` name a store.
    Raises Trouble and Interrupted.
    """
    with contextlib.ExitStack() as stack:
        url, programs = brokers.start(stack, broker)
        command = [
            *(sys.executable, "-m", *module, "--port", str(port), "--workers", str(workers)),
            *("--spread", str(spread), "--log-level", "WARNING"),
            *(("--game", game) if game else ("--walkers", "0", "--deer", "0")),
            # All bots come from one address.
            *("--max-per-address", "0", "--store", "none", *options),
            *(("--broker", url) if url else ()),
        ]
        server = stack.enter_context(
            Program(
                command,
                "the server",
                cpus=cpus,
                environment={**brokers.certificates(), **(environment or {})},
            )
        )
        found = server.ready(r"http://\S+:(\d+)")
        target = Target(("127.0.0.1", int(found[1])), "/ws", url or OWN, server, programs)
        target.elsewhere = bool(re.search("://[^,]", broker))
        _wait_ready(target)
        yield target


def _wait_ready(target: Target) -> None:
    """Wait until the server is ready for players: several workers must first know each other."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with target.open("/readyz"):
                return
        except urllib.error.HTTPError as error:
            why = error.read().decode().strip()
        except OSError as error:
            why = str(error)
        if target.died or time.monotonic() > deadline:
            raise Trouble(f"the server did not become ready: {target.died or why}")
        signals.sleep(0.05)
