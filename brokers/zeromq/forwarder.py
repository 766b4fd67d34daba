"""The forwarder of zeromq://: what brokers push comes in, and goes out to those subscribed.

It takes in by PULL and gives out by PUB. With XSUB and XPUB publishers would filter by
subscriptions that reach each of them at its own time, and a broker's own echo would prove nothing
of the others. It holds no state that matters: kill it, start it, and the brokers mend themselves.

It passes nothing on that is late. A publisher's queue, the network and a stopped forwarder can all
hold messages back for longer than the outage that their publisher has meanwhile seen; so each
carries its link and its time, and of a message that is late, or of a link that its broker has
given up, only the mark of its loss goes out.
"""

import argparse
import ipaddress
import os
import signal
import socket
import sys
import time
from typing import NoReturn

import zmq

from brokers.zeromq.wire import (
    END,
    FRAME_LIMIT,
    OVERFLOW,
    OVERFLOW_NUMBER,
    PROBE,
    PULL_PORT,
    TRAILER,
    Addresses,
    ipc_addresses,
    tcp_addresses,
)

#: Messages that may wait for one subscriber. What comes on top it can only be told of in general,
#: so it is more than a broker falls behind by before its own inbox is full, which tells channels.
SUBSCRIBER_LIMIT = 100_000

#: Seconds between two tellings of the number of overflows.
TELL_S = 1.0

#: Messages taken in that may wait for this process, a publisher. Few: what waits is better off
#: with its publisher, which counts what it drops.
PUBLISHER_LIMIT = 1_000

#: How late a message may be, in seconds, against the quickest of its link. Less than a broker
#: waits before it gives a link up: what was sent on a dead link must not come after its end.
LATE_S = 2.0

#: Seconds that a clock may lose against another's, a second: what was the quickest goes stale.
DRIFT = 0.001

#: Seconds after which a broker that probes no more is forgotten.
FORGET_S = 60.0

#: Milliseconds between heartbeats, and until a peer that answers none is cut off: its machine is
#: gone, or its reader is stuck, and it costs up to SUBSCRIBER_LIMIT messages of memory.
HEARTBEAT_MS, HEARTBEAT_TIMEOUT_MS = 1000, 3000

#: The longest wait for a message, in milliseconds, and so the grain of what is due otherwise.
WAIT_MS = 250


class _Link:
    """The newest link of one broker."""

    __slots__ = ("epoch", "offset", "probed")

    def __init__(self, epoch: int, offset: float, now: float) -> None:
        self.epoch = epoch
        #: The least of "our time minus the sender's" seen: what came without waiting.
        self.offset = offset
        self.probed = now


class Relay:
    """Decides what goes out for what came in. It knows no sockets, and time is an argument."""

    def __init__(self) -> None:
        self._links: dict[bytes, _Link] = {}
        self.forwarded = 0
        self.late = 0
        self.refused = 0

    def pass_on(self, frame: bytes, now: float) -> bytes | None:
        """Return the frame, the mark of its loss, or None where nobody is to hear of it."""
        trailer = len(frame) - TRAILER.size
        if trailer < 2:
            self.refused += 1
            return None
        broker, epoch, sent = TRAILER.unpack_from(frame, trailer)
        link = self._links.get(broker)
        if frame[:1] == PROBE:
            return frame if self._probed(broker, link, epoch, now - sent, now) else None
        if link is None:
            # Every link begins with a probe.
            self.refused += 1
            return None
        if epoch != link.epoch or now - sent - link.offset > LATE_S:
            self.late += 1
            return frame[: frame.index(END) + 1]
        self.forwarded += 1
        return frame

    def _probed(
        self, broker: bytes, link: _Link | None, epoch: int, offset: float, now: float
    ) -> bool:
        if link is None or epoch > link.epoch:
            self._links[broker] = _Link(epoch, offset, now)
            return True
        if epoch < link.epoch or offset - link.offset > LATE_S:
            return False
        link.offset = min(offset, link.offset + DRIFT * (now - link.probed))
        link.probed = now
        return True

    def forget(self, now: float) -> None:
        """Forget brokers that are gone."""
        gone = [broker for broker, link in self._links.items() if now - link.probed > FORGET_S]
        for broker in gone:
            del self._links[broker]

    def __str__(self) -> str:
        return (
            f"forwarded {self.forwarded}, late {self.late}, refused {self.refused}, "
            f"brokers {len(self._links)}"
        )


class _Out:
    """The PUB socket, which lets nobody miss a message without a chance to learn of it."""

    def __init__(self, pub: "zmq.Socket[bytes]") -> None:
        self._pub = pub
        self.overflows = 0
        pub.setsockopt(zmq.XPUB_NODROP, 1)

    def send(self, frame: bytes) -> None:
        """Send to all who are subscribed and have room."""
        try:
            self._pub.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            # Of each subscriber that is full this is said once, until it has made room.
            self.overflows += 1
            self._pub.setsockopt(zmq.XPUB_NODROP, 0)
            self._pub.send(self._mark(True), zmq.NOBLOCK)
            self._pub.send(frame, zmq.NOBLOCK)
            self._pub.setsockopt(zmq.XPUB_NODROP, 1)

    def tell(self) -> None:
        """Send the number of overflows."""
        self.send(self._mark(False))

    def _mark(self, is_new: bool) -> bytes:
        return OVERFLOW + OVERFLOW_NUMBER.pack(is_new, self.overflows)


class _Stop(BaseException):
    """SIGTERM or SIGINT came."""


def _stop(*_: object) -> NoReturn:
    raise _Stop


def run(addresses: Addresses, limit: int, stats: float, parent: int = 0) -> int:
    """Forward until a signal comes, or the parent ends; return the process's exit status.

    A parent is told every TELL_S seconds that it goes on. With the parent's end goes the folder of
    the Unix sockets, which was the parent's own.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    context = zmq.Context()
    pull, pub = context.socket(zmq.PULL), context.socket(zmq.PUB)
    relay, out = Relay(), _Out(pub)
    try:
        for sock in (pull, pub):
            sock.linger = 0
            sock.maxmsgsize = FRAME_LIMIT
            sock.ipv6 = "[" in addresses.pull
            sock.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
            sock.setsockopt(zmq.HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS)
        pull.rcvhwm = PUBLISHER_LIMIT
        pull.rcvtimeo = WAIT_MS
        pub.sndhwm = limit
        # What a PUB socket receives is subscriptions. They must neither wait nor be lost.
        pub.rcvhwm = 0
        for sock, address in ((pull, addresses.pull), (pub, addresses.pub)):
            if trouble := _bind(sock, address):
                print(f"The forwarder cannot listen at {address}: {trouble}.", file=sys.stderr)
                return 1
        print(f"ready: in {addresses.pull}, out {addresses.pub}", flush=True)
        if parent:
            os.set_blocking(sys.stdout.fileno(), False)
        _forward(pull, out, relay, stats, parent)
    except _Stop:
        print(f"stopped: {_counts(relay, out)}", flush=True)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        pull.close()
        pub.close()
        context.term()
    if parent and os.getppid() != parent:
        _remove(addresses)
    return 0


def _bind(sock: "zmq.Socket[bytes]", address: str) -> str:
    """Listen at an address; return what stands against it, or nothing."""
    path = address.removeprefix("ipc://")
    # ZeroMQ takes a path over from whoever listens there, and the two would never know.
    if path != address and _is_answered(path):
        return "it is in use"
    try:
        sock.bind(address)
    except zmq.ZMQError as error:
        return "it is in use" if error.errno == zmq.EADDRINUSE else os.strerror(error.errno or 0)
    except OSError as error:
        return str(error.strerror)
    return ""


def _is_answered(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _counts(relay: Relay, out: _Out) -> str:
    return f"{relay}, overflows {out.overflows}"


def _forward(
    pull: "zmq.Socket[bytes]", out: _Out, relay: Relay, stats: float, parent: int
) -> None:
    """Forward until the parent ends, if there is one to end with."""
    now = time.monotonic()
    sweep, tell = now + FORGET_S, now + TELL_S
    report = now + stats if stats else float("inf")
    receive, send, clock, pass_on = pull.recv, out.send, time.monotonic, relay.pass_on
    while True:
        try:
            frame = receive()
        except zmq.Again:
            frame = b""
        now = clock()
        if frame:
            try:
                passed = pass_on(frame, now)
            except ValueError:
                # Whoever sent this is no broker of ours.
                relay.refused += 1
                passed = None
            if passed is not None:
                send(passed)
        if now >= tell:
            if parent and os.getppid() != parent:
                return
            out.tell()
            if parent:
                _tell_parent()
            tell = now + TELL_S
        if now >= sweep:
            relay.forget(now)
            sweep = now + FORGET_S
        if now >= report:
            print(_counts(relay, out), flush=True)
            report = now + stats


def _remove(addresses: Addresses) -> None:
    """Remove Unix sockets, and the folder that held nothing else."""
    paths = [address.removeprefix("ipc://") for address in addresses]
    for path in paths:
        os.unlink(path)
    os.rmdir(os.path.dirname(paths[0]))


def _tell_parent() -> None:
    try:
        os.write(sys.stdout.fileno(), b".\n")
    except (BlockingIOError, BrokenPipeError):
        # It stands still and reads nothing, or has just ended: nobody waits for it.
        return


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65536:
        raise argparse.ArgumentTypeError(f"{port} is no port")
    return port


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def main(arguments: list[str] | None = None) -> int:
    """Run a forwarder as the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m brokers.zeromq",
        description="Join nodes whose broker is zeromq://: pass messages on to subscribers.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--pull", type=_port, default=PULL_PORT, help="port that nodes publish to (%(default)s)"
    )
    parser.add_argument(
        "--pub", type=_port, help="port that nodes subscribe at (the one after --pull)"
    )
    parser.add_argument(
        "--ipc",
        metavar="PREFIX",
        help="listen on the Unix sockets PREFIX.pull and PREFIX.pub instead",
    )
    parser.add_argument(
        "--hwm",
        type=int,
        default=SUBSCRIBER_LIMIT,
        help="number of messages that may wait for one subscriber (%(default)s)",
    )
    # For those who start one of their own: their process id, so that it does not outlive them.
    parser.add_argument("--parent", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument(
        "--stats",
        type=float,
        default=0,
        metavar="SECONDS",
        help="print counts every SECONDS seconds",
    )
    told = parser.parse_args(arguments)
    if told.ipc:
        addresses = ipc_addresses(os.path.abspath(told.ipc))
    else:
        addresses = tcp_addresses(told.host, told.pull, told.pub)
        if not _is_loopback(told.host):
            print(
                f"The forwarder listens at {told.host}: whoever reaches its ports can read and "
                "hold back all messages, and where servers have no SECRET_KEY forge them. "
                "Let a firewall or a private network keep others out.",
                file=sys.stderr,
                flush=True,
            )
    return run(addresses, told.hwm, told.stats, told.parent)
