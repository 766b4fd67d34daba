"""The faults: how each is done, and how soon afterwards all screens must be right again.

docs/operations.md promises the same times.
"""

import contextlib
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil

from flatlands.loadtest.chaos.ground import RESTART_WITHIN, Ground
from flatlands.loadtest.kit import signals
from flatlands.loadtest.swarm.blocking_client import BlockingClient, connected

#: A function that does a fault, and returns the time in us, by the run's clock, from which the
#: promise counts.
Inject = Callable[[Ground], int]


@dataclass(frozen=True)
class Fault:
    """A fault, and what is promised about it.

    `about` describes it in a few words. After its end all screens are right again within `promise`
    seconds. `seconds` is about how long it takes, and `cuts` says whether clients may lose their
    connections. `broker` is the broker's URL (empty: the server's own), and `workers` how many
    there are.
    """

    about: str
    injection: Inject
    promise: float
    seconds: float = 0.0
    cuts: bool = False
    broker: str = ""
    workers: int = 2


def _kill_worker(ground: Ground) -> int:
    ground.workers()[0].kill()
    return ground.now()


def _stop_worker(seconds: float) -> Inject:
    def injection(ground: Ground) -> int:
        begin = ground.now()
        ground.stop(ground.workers()[0], seconds)
        # A worker that stands still for long is killed and started again meanwhile, so the promise
        # counts from the beginning.
        return ground.now() if seconds < 10 else begin

    return injection


def _kill_supervisor(ground: Ground) -> int:
    ground.server.kill()
    ground.server.wait()
    ground.restart()
    return ground.now()


def _terminate(ground: Ground) -> int:
    assert ground.target.program is not None
    ground.server.terminate()
    ground.target.program.wait(RESTART_WITHIN)
    ground.restart()
    return ground.now()


def _kill_forwarder(ground: Ground) -> int:
    before = ground.forwarder()
    before.kill()
    until = time.monotonic() + RESTART_WITHIN
    while time.monotonic() < until:
        with contextlib.suppress(ValueError, psutil.Error):
            if ground.forwarder() != before:
                break
        signals.sleep(0.1)
    return ground.now()


def _stop(process: Callable[[Ground], psutil.Process]) -> Inject:
    """Return a fault by which a process stands still for five seconds."""

    def injection(ground: Ground) -> int:
        ground.stop(process(ground), 5)
        return ground.now()

    return injection


def _restart_broker(which: int, seconds: float) -> Inject:
    def injection(ground: Ground) -> int:
        ground.restart_broker(which, seconds)
        return ground.now()

    return injection


def _hang_up(times: int) -> Inject:
    def injection(ground: Ground) -> int:
        before = set(ground.workers())
        for turn in range(times):
            if turn:
                signals.sleep(0.7)
            ground.server.send_signal(signal.SIGHUP)
        until = time.monotonic() + RESTART_WITHIN
        while time.monotonic() < until and before & set(ground.workers()):
            signals.sleep(0.1)
        return ground.now()

    return injection


def _http(make: Callable[[], Iterator[bytes]]) -> Inject:
    """Return a fault that floods the server with HTTP for six seconds, on one connection at a time.

    Nobody may notice it, so the promise counts from its beginning.
    """

    def injection(ground: Ground) -> int:
        begin = ground.now()
        until = time.monotonic() + 6
        while time.monotonic() < until:
            with contextlib.suppress(OSError), connected(ground.target.address) as flood:
                answers = threading.Thread(target=_swallow, args=(flood,))
                answers.start()
                try:
                    for data in make():
                        flood.sendall(data)
                        if time.monotonic() > until:
                            break
                finally:
                    with contextlib.suppress(OSError):
                        flood.shutdown(socket.SHUT_RDWR)
                    answers.join()
        return begin

    return injection


def _swallow(source: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while source.recv(65536):
            pass


def _pipelined() -> Iterator[bytes]:
    while True:
        yield b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50


def _chunked() -> Iterator[bytes]:
    yield b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"1\r\nx\r\n" * 200


def _hang_up_before_handover(ground: Ground) -> int:
    for _ in range(30):
        with contextlib.suppress(OSError):
            with BlockingClient(ground.target.address) as visitor:
                token = visitor.hello().token()
            # Any worker may accept it: in about half of the cases not the one with the player.
            for _ in range(3):
                with BlockingClient(ground.target.address) as visitor:
                    visitor.hello(token).reset()
    return ground.now()


def _join_and_drop(ground: Ground) -> int:
    until = time.monotonic() + 4
    while time.monotonic() < until:
        with contextlib.suppress(OSError), BlockingClient(ground.target.address) as visitor:
            visitor.hello().reset()
        signals.sleep(1 / 60)
    return ground.now()


def _close_and_stay(ground: Ground) -> int:
    with contextlib.ExitStack() as staying:
        for _ in range(10):
            with contextlib.suppress(OSError):
                with BlockingClient(ground.target.address) as visitor:
                    token = visitor.hello().token()
                    visitor.close(1012)
                staying.enter_context(BlockingClient(ground.target.address)).hello(token).reset()
        # This is longer than players stay in the world after their connections were lost.
        signals.sleep(12)
    return ground.now()


def _close_codes(ground: Ground) -> int:
    assert ground.field is not None
    for code in (1001, 1012, 1002, 3000, 1012, 4999):
        ground.field.close(code, 0.15)
        signals.sleep(1.5)
    return ground.now()


FAULTS = {
    "kill-worker": Fault("kill -9 of one of two workers", _kill_worker, 10, cuts=True),
    "stop-worker": Fault("a worker is suspended for 15 s", _stop_worker(15), 20, 15, cuts=True),
    "stall": Fault("a worker is suspended for 2.5 s", _stop_worker(2.5), 5, 3),
    "kill-parent": Fault(
        "kill -9 of the parent of two workers; another server takes the port",
        *(_kill_supervisor, 15, 15),
        cuts=True,
    ),
    "terminate": Fault("SIGTERM, and another server", _terminate, 12, 10, cuts=True),
    "kill-forwarder": Fault("kill -9 of the forwarder", _kill_forwarder, 5, 5),
    "stop-forwarder": Fault("the forwarder is suspended for 5 s", _stop(Ground.forwarder), 5, 5),
    "restart-redis": Fault(
        "Redis stops, and restarts after 3 s", _restart_broker(0, 3), 5, 4, broker="redis://"
    ),
    "stop-redis": Fault(
        *("Redis is suspended for 5 s", _stop(lambda ground: ground.target.brokers[0].process)),
        *(5, 5),
        broker="redis://",
    ),
    "dead-member": Fault(
        "one of a ring's three members stops, and restarts after 8 s",
        *(_restart_broker(1, 8), 5, 8),
        broker="redis://,redis://,redis://",
    ),
    "hangup": Fault("kill -HUP: new workers", _hang_up(1), 5, 12, cuts=True),
    "hangup-twice": Fault("kill -HUP, twice", _hang_up(2), 5, 20, cuts=True),
    "pipelined": Fault("6 s of pipelined HTTP", _http(_pipelined), 3, 6),
    "chunked": Fault("6 s of HTTP bodies in one-byte chunks", _http(_chunked), 3, 6),
    "no-grant": Fault("clients show tokens and hang up at once", _hang_up_before_handover, 16, 5),
    "join-and-drop": Fault("joins that are reset, 60 a second", _join_and_drop, 16, 4),
    "close-and-stay": Fault(
        "clients close with 1012, come back, stay, and are cut off",
        *(_close_and_stay, 16, 13),
        workers=1,
    ),
    "close-codes": Fault("clients close with all kinds of codes", _close_codes, 5, 9, cuts=True),
}

#: The faults that end no process. A soak does them again and again.
SOAKING = (
    "stall",
    "restart-redis",
    "pipelined",
    "chunked",
    "no-grant",
    "join-and-drop",
    "close-codes",
)
