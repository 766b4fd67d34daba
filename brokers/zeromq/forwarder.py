"""The forwarder of zeromq://: it receives messages of all brokers and sends them to subscribers.

It receives on a PULL socket and sends on a PUB socket. With XSUB and XPUB the publishers would
filter by subscriptions, which reach each of them at a different time; then a probe that comes back
to one broker would say nothing about the others. The forwarder holds no state that matters: it may
be killed and started again, and the brokers reconnect.

It never forwards a late message. A publisher's queue, the network or a stopped forwarder can all
delay a message until its publisher has already reported it as lost. So each message carries its
link and its time. Instead of a message that is late, or that comes from a link which its broker has
given up, the forwarder sends a mark of loss.
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

from flatlands import output
from flatlands.brokers.zeromq.wire import (
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

#: Messages that may wait for one subscriber. An overflow resets all channels of a subscriber, while
#: an overflow of a broker's inbox resets single ones; so this is more than an inbox holds.
SUBSCRIBER_LIMIT = 100_000

#: Seconds between two frames with the number of overflows, and two signs of life to a parent.
BEAT_S = 1.0

#: Messages of one publisher that may wait for this process. Few, because it is better that they
#: wait at the publisher, which counts what it drops.
PUBLISHER_LIMIT = 1_000

#: Seconds by which a message may be later than the quickest one of its link. It is less than the
#: time after which a broker gives a link up, so nothing that was sent on a dead link comes later.
LATE_S = 2.0

#: Seconds that one clock may lose against another in each second, so the quickest message does not
#: remain the measure for ever.
DRIFT_PER_SECOND = 0.001

#: Seconds without a probe after which a broker is forgotten.
FORGET_S = 60.0

#: A forwarder sends heartbeats so often.
HEARTBEAT_MS = 1000
#: A forwarder disconnects a subscriber that answers no heartbeat for so long: its machine is gone,
#: or it reads nothing, and it costs up to SUBSCRIBER_LIMIT messages of memory.
HEARTBEAT_TIMEOUT_MS = 3000

#: Seconds of silence after which the kernel checks whether a publisher's machine is still there.
KEEPALIVE_S = 60

#: The longest wait for a message, in milliseconds; timed work may be late by that much.
WAIT_MS = 250


class _Link:
    """The newest link of one broker."""

    __slots__ = ("epoch", "offset", "probed")

    def __init__(self, epoch: int, offset: float, now: float) -> None:
        self.epoch = epoch
        #: Seconds: our time minus the sender's, for the message that came quickest.
        self.offset = offset
        self.probed = now


class Relay:
    """Decides what is sent for each received frame. It uses no sockets; times are arguments."""

    def __init__(self) -> None:
        self._links: dict[bytes, _Link] = {}
        self.forwarded = 0
        self.late = 0
        self.refused = 0

    def pass_on(self, frame: bytes, now: float) -> bytes | None:
        """Return what to send: the frame, a mark of its loss, or None for nothing.

        `now` is a monotonic time in seconds.
        """
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
        link.offset = min(offset, link.offset + DRIFT_PER_SECOND * (now - link.probed))
        link.probed = now
        return True

    def forget(self, now: float) -> None:
        """Forget brokers that have sent no probe for FORGET_S."""
        gone = [broker for broker, link in self._links.items() if now - link.probed > FORGET_S]
        for broker in gone:
            del self._links[broker]

    def __str__(self) -> str:
        return (
            f"forwarded {self.forwarded}, late {self.late}, refused {self.refused}, "
            f"brokers {len(self._links)}"
        )


class _Out:
    """The PUB socket. By the number of overflows a subscriber finds out whether it missed
    messages."""

    def __init__(self, pub: "zmq.Socket[bytes]") -> None:
        self._pub = pub
        self.overflows = 0
        pub.setsockopt(zmq.XPUB_NODROP, 1)

    def send(self, frame: bytes) -> None:
        """Send to all subscribers whose queues are not full."""
        try:
            self._pub.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            # ZeroMQ raises this once for each subscriber whose queue is full, until it has room.
            self.overflows += 1
            self._pub.setsockopt(zmq.XPUB_NODROP, 0)
            self._pub.send(self._mark(True), zmq.NOBLOCK)
            self._pub.send(frame, zmq.NOBLOCK)
            self._pub.setsockopt(zmq.XPUB_NODROP, 1)

    def send_overflows(self) -> None:
        """Send the number of overflows to all subscribers."""
        self.send(self._mark(False))

    def _mark(self, is_new: bool) -> bytes:
        return OVERFLOW + OVERFLOW_NUMBER.pack(is_new, self.overflows)


class _Stop(BaseException):
    """SIGTERM or SIGINT came."""


def _stop(*_: object) -> NoReturn:
    raise _Stop


def run(addresses: Addresses, limit: int, stats: float, parent: int = 0) -> int:
    """Forward until a signal comes or the parent ends; return the exit status of the process.

    `limit` is the number of messages that may wait for one subscriber, `stats` the seconds between
    two printed lines of counts (0: none). `parent` is the id of a process with which this one ends
    (0: none). It gets a sign of life on standard output every BEAT_S seconds. When the parent has
    ended, the folder of the Unix sockets, which was the parent's own, is removed.
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
        pub.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
        pub.setsockopt(zmq.HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS)
        # The PULL socket has no heartbeats: libzmq 4.3 aborts the process at the next heartbeat if
        # the peer is lost while its messages wait. A PUB socket never lets its peers wait.
        pull.setsockopt(zmq.TCP_KEEPALIVE, 1)
        pull.setsockopt(zmq.TCP_KEEPALIVE_IDLE, KEEPALIVE_S)
        pull.rcvhwm = PUBLISHER_LIMIT
        pull.rcvtimeo = WAIT_MS
        pub.sndhwm = limit
        # A PUB socket receives subscriptions. None of them must wait or be lost.
        pub.rcvhwm = 0
        for sock, address in ((pull, addresses.pull), (pub, addresses.pub)):
            if trouble := _bind(sock, address):
                print(f"The forwarder cannot listen on {address}: {trouble}.", file=sys.stderr)
                return 1
        print(f"ready: in {addresses.pull}, out {addresses.pub}")
        _forward(pull, out, relay, stats, parent)
    except _Stop:
        print(f"stopped: {_counts(relay, out)}\n", end="")
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
    """Listen at an address; return the reason why it is impossible, or an empty text."""
    path = address.removeprefix("ipc://")
    # ZeroMQ would take the path over from a forwarder that listens there, which would not notice.
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


def _forward(pull: "zmq.Socket[bytes]", out: _Out, relay: Relay, stats: float, parent: int) -> None:
    """Forward until the parent ends; without a parent, for ever."""
    now = time.monotonic()
    sweep, beat = now + FORGET_S, now + BEAT_S
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
                # The frame does not come from a broker of this project.
                relay.refused += 1
                passed = None
            if passed is not None:
                send(passed)
        if now >= beat:
            if parent and os.getppid() != parent:
                return
            out.send_overflows()
            if parent:
                print(".")
            beat = now + BEAT_S
        if now >= sweep:
            relay.forget(now)
            sweep = now + FORGET_S
        if now >= report:
            # A signal may interrupt print: in one piece, the line is never written by half.
            print(f"{_counts(relay, out)}\n", end="")
            report = now + stats


def _remove(addresses: Addresses) -> None:
    """Remove the Unix sockets and their folder."""
    paths = [address.removeprefix("ipc://") for address in addresses]
    for path in paths:
        os.unlink(path)
    os.rmdir(os.path.dirname(paths[0]))


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65536:
        raise argparse.ArgumentTypeError(f"{port} is not a port")
    return port


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def main(arguments: list[str] | None = None) -> int:
    """Run a forwarder with the options of the command line; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m brokers.zeromq",
        description="Connect the nodes whose broker is zeromq://: pass messages on to subscribers.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--pull", type=_port, default=PULL_PORT, help="port to which nodes publish (%(default)s)"
    )
    parser.add_argument(
        "--pub", type=_port, help="port at which nodes subscribe (the one after --pull)"
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
        help="most messages that wait for one subscriber (%(default)s)",
    )
    # The id of the process that started this one, which ends with it.
    parser.add_argument("--parent", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument(
        "--stats",
        type=float,
        default=0,
        metavar="SECONDS",
        help="print counts every SECONDS seconds",
    )
    options = parser.parse_args(arguments)
    output.install()
    if options.ipc:
        addresses = ipc_addresses(os.path.abspath(options.ipc))
    else:
        addresses = tcp_addresses(options.host, options.pull, options.pub)
        if not _is_loopback(options.host):
            print(
                f"The forwarder listens on {options.host}: anybody who reaches its ports can read "
                "and hold back all messages, and forge them if the servers have no SECRET_KEY. "
                "Keep others out with a firewall or a private network.",
                file=sys.stderr,
                flush=True,
            )
    return run(addresses, options.hwm, options.stats, options.parent)
