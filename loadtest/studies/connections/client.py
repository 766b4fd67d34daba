"""A process with its share of the connections: a worker of the study.

It exchanges lines of JSON with its parent:

    configuration {"kind": "game", "host", "path", "login"} or {"kind": "redis", "url"}, and
                  {"address": [IP, port], "sources": [IP, ..], "number", "processes", "epoch",
                  "tls", "name"}: see wire.tls_context, "" is none; and the server's name
    parent        {"join": connections} of this process; or
                  {"loop", "request", "begin", "end", "every", "first"}
    worker        {"ready": connections} once a second while they join, and {"joined": connections}
                  at the end; then for each loop its figures, see `_measure`; or
                  {"trouble": "a sentence"}, and exit status 1

Times are us of the run's clock, which begins at `epoch` of the monotonic clock. In an open loop
this process sends a request every `every` us, the first at `first`, however late the answers are;
the latency of each counts from when it was due. In a closed loop each connection sends its next
request when the answer to the last one has come. The process reports how late it was itself.
"""

import gc
import random
import select
import socket
import ssl
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from flatlands import wire
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.processes import Trouble, raise_descriptor_limit
from flatlands.loadtest.studies import parent
from flatlands.loadtest.studies.connections.dialects import (
    Dialect,
    GameConfig,
    RedisConfig,
    Refused,
    Talk,
    dialect,
)
from flatlands.loadtest.studies.parent import Parent

SECOND = 1_000_000

#: Bytes of one read.
READ = 16 * 1024

#: A process opens so many connections at the same time.
JOINS_AT_ONCE = 24
#: A connection that was refused is tried again after this long.
AGAIN_SECONDS = 0.5

#: At least one connection must succeed within this time.
STALLED_SECONDS = 30.0
#: The last answers may take this long.
DRAIN_SECONDS = 30.0

#: us between two rounds in which flushes are acknowledged and figures are counted.
ROUND = SECOND // 2

#: us between two looks at the parent's lines.
LOOK = SECOND // 20

#: Sockets that are read before due requests are sent again.
AT_ONCE = 64

#: A socket can be read or written later.
LATER = BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError

#: Makes the kernel choose a port only when it knows both addresses: each pair can use all ports.
BIND_ADDRESS_NO_PORT = 24

#: A name for annotations where `socket` is that of an attribute.
Socket = socket.socket


class Config(TypedDict):
    """The part of the configuration that is for every dialect."""

    address: Sequence[str | int]
    sources: Sequence[str]
    number: int
    processes: int
    epoch: int
    tls: str
    name: str


class GameClientConfig(GameConfig, Config):
    """The configuration of players of Flatlands."""


class RedisClientConfig(RedisConfig, Config):
    """The configuration of clients of a Redis."""


class Report(TypedDict):
    """What a process tells of a loop, see `Client._measure`. Each histogram is its classes, and
    their counts."""

    latency: list[list[int]]
    late: list[list[int]]
    cpu: float
    open: int
    lost: dict[str, int]


@dataclass(slots=True, eq=False)
class Link(Talk):
    """A connection. `unsent` are bytes that the kernel has not accepted yet, `secured` says that
    TLS is there or not wanted, and `asked` is how many requests wait for their answers."""

    socket: Socket = field(kw_only=True)
    unsent: bytes = b""
    secured: bool = False
    asked: int = 0


class Client:
    """Connections that mostly wait, and how late they are answered. It speaks a `dialect`. With
    `keeps_lost` a connection that is lost keeps its place in the order of requests, and its
    requests count as sent."""

    keeps_lost = False

    def __init__(self, config: Config, parent: Parent, dialect: Dialect) -> None:
        # It is opened first, so that its number is low enough for select().
        self._epoll = select.epoll()
        self._parent = parent
        self._dialect = dialect
        host, port = config["address"]
        self._address = str(host), int(port)
        self._sources, self._epoch = config["sources"], int(config["epoch"])
        self._tls = wire.tls_context(config["tls"]) if config["tls"] else None
        self._name = config["name"]
        self._number, self._processes = config["number"], config["processes"]
        self._links: dict[int, Link] = {}
        #: The connections on which requests are sent. How many were ever opened, and were ready.
        self._ready: list[Link] = []
        self._opened = self._succeeded = 0
        #: How many were lost once ready, by reason; and how many were refused for the time being.
        self._lost: Counter[str] = Counter()
        self._later, self._why = 0, "nothing answers"
        #: Connections that owe an acknowledgement, in the order in which they came to owe it.
        self._owing: dict[Link, None] = {}
        self._next_round = self._now() + ROUND
        # The current loop: its name and request; and for an open loop what is due next.
        self._loop = self._request = ""
        self._every = self._due = 0.0
        self._begin = self._end = self._sent = self._open = 0
        self._took: list[int] = []
        self._lateness: list[int] = []
        self._latency, self._late = Histogram(), Histogram()

    def run(self) -> None:
        """Obey the parent's orders, one after the other, for ever."""
        gc.disable()
        while True:
            order = self._parent.poll()
            if order is None:
                self._turn(self._now() + LOOK)
            elif "join" in order:
                self._join(order["join"])
            else:
                self._measure(**order)

    def close(self) -> None:
        """Close all connections."""
        for link in self._links.values():
            link.socket.close()
        self._epoll.close()

    def _now(self) -> int:
        return time.monotonic_ns() // 1000 - self._epoch

    # Joining.

    def _join(self, number: int) -> None:
        progress, told, before = self._now(), self._now(), self._succeeded
        try_again = 0
        while len(self._ready) < number:
            most = min(number, len(self._ready) + JOINS_AT_ONCE)
            while len(self._links) < most and self._now() >= try_again:
                self._open_one()
            later = self._later
            self._turn(self._now() + LOOK)
            now = self._now()
            if self._later > later:
                try_again = now + round(AGAIN_SECONDS * SECOND)
            if self._succeeded > before:
                progress, before = now, self._succeeded
            elif now - progress > STALLED_SECONDS * SECOND:
                raise Trouble(
                    f"only {len(self._ready):,} of {number:,} connections of a process succeeded: "
                    f"{self._why}"
                )
            if now - told >= SECOND:
                told = now
                self._parent.send({"ready": len(self._ready)})
        random.shuffle(self._ready)
        gc.freeze()
        self._parent.send({"joined": len(self._ready)})

    def _open_one(self) -> None:
        made = socket.socket(socket.AF_INET6 if ":" in self._address[0] else socket.AF_INET)
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(socket=made, secured=self._tls is None)
        try:
            if self._sources:
                turn = self._number + self._opened * self._processes
                made.setsockopt(socket.IPPROTO_IP, BIND_ADDRESS_NO_PORT, 1)
                made.bind((self._sources[turn % len(self._sources)], 0))
            made.connect(self._address)
        except BlockingIOError:
            pass
        except OSError as error:
            made.close()
            raise Trouble(f"a connection cannot be made: {error.strerror}") from error
        self._opened += 1
        self._links[made.fileno()] = link
        # It can be written to as soon as it is connected.
        link.unsent = self._dialect.begin(link)
        self._epoll.register(made.fileno(), select.EPOLLIN | select.EPOLLOUT)

    # One loop.

    def _measure(
        self, loop: str, request: str, begin: int, end: int, every: float, first: float
    ) -> None:
        """Run a loop until `end`, and send the figures of its measured time.

        They count what was due, or in a closed loop what was answered, from `begin` on. `open` is
        how many requests have no answer, `cpu` is the share of a core that this process used, and
        `lost` has the connections lost since the last loop, by reason.
        """
        self._latency, self._late = Histogram(), Histogram()
        self._loop, self._request = loop, request
        self._begin, self._end, self._sent = begin, end, 0
        self._every, self._due = every, first
        if loop == "closed":
            now = self._now()
            for link in list(self._ready):
                self._ask(link, now)
        self._until(begin)
        began, used = self._now(), time.process_time()
        self._until(end)
        # What was due while this process had no core is sent nevertheless.
        self._send_due()
        share = (time.process_time() - used) / max(self._now() - began, 1) * SECOND
        self._loop = ""
        deadline = self._now() + DRAIN_SECONDS * SECOND
        while self._open and self._ready and self._now() < deadline:
            self._turn(self._now() + LOOK)
        self._count()
        unanswered, self._open = self._open, 0
        lost, self._lost = dict(self._lost), Counter()
        report: Report = {
            "latency": _listed(self._latency),
            "late": _listed(self._late),
            "cpu": share,
            "open": unanswered,
            "lost": lost,
        }
        self._parent.send(report)

    def _until(self, end: int) -> None:
        while (now := self._now()) < end:
            self._turn(min(end, now + LOOK))

    def _send_due(self) -> None:
        """Send the requests of an open loop that are due."""
        if self._loop != "open" or not self._ready:
            return
        while self._due <= (now := self._now()) and self._due < self._end:
            due = int(self._due)
            link = self._ready[self._sent % len(self._ready)]
            self._sent += 1
            self._due += self._every
            if due >= self._begin:
                self._lateness.append(now - due)
            self._ask(link, due)
            if not self._ready:
                return

    def _ask(self, link: Link, due: int) -> None:
        self._open += 1
        link.asked += 1
        self._write(link, self._dialect.ask(link, self._request, due))

    def _answered(self, link: Link, dues: list[int], now: int) -> None:
        self._open -= len(dues)
        link.asked -= len(dues)
        for due in dues:
            if self._begin <= (due if self._every else now) < self._end:
                self._took.append(now - due)
            if self._loop == "closed":
                self._ask(link, now)

    # The event loop.

    def _turn(self, until: int) -> None:
        """Send what is due and read what has come; wait for either at most until a time."""
        self._send_due()
        if self._loop == "open" and self._ready:
            until = min(until, int(self._due))
        wait = max(until - self._now(), 0) / SECOND
        # epoll waits for whole milliseconds, which would spoil every latency; select does not.
        select.select([self._epoll.fileno()], [], [], wait)
        came: deque[tuple[Link, bytes, int]] = deque()
        # All are read first, since the time of reading is what is measured.
        for turn, (fd, mask) in enumerate(self._epoll.poll(0), 1):
            if turn % AT_ONCE == 0:
                self._send_due()
            link = self._links.get(fd)
            if link is None:
                continue
            if not link.secured:
                self._secure(link)
                continue
            if mask & select.EPOLLOUT:
                self._epoll.modify(fd, select.EPOLLIN)
                self._write(link, b"")
            if mask & ~select.EPOLLOUT and fd in self._links:
                self._read(link, came)
        for turn, (link, data, now) in enumerate(came, 1):
            if turn % AT_ONCE == 0:
                self._send_due()
            if link.socket.fileno() >= 0:
                self._came(link, data, now)
        if self._now() >= self._next_round:
            self._next_round = self._now() + ROUND
            self._go_round()

    def _secure(self, link: Link) -> None:
        """Continue the handshake of TLS."""
        assert self._tls is not None
        fd = link.socket.fileno()
        try:
            if not isinstance(link.socket, ssl.SSLSocket):
                link.socket = self._tls.wrap_socket(
                    link.socket, server_hostname=self._name, do_handshake_on_connect=False
                )
            link.socket.do_handshake()
        except ssl.SSLWantReadError:
            self._epoll.modify(fd, select.EPOLLIN)
        except ssl.SSLWantWriteError:
            self._epoll.modify(fd, select.EPOLLOUT)
        except OSError as error:
            self._lose(link, f"TLS: {error}", again=not isinstance(error, ssl.SSLError))
        else:
            link.secured = True
            self._epoll.modify(fd, select.EPOLLIN)
            self._write(link, b"")

    def _read(self, link: Link, came: "deque[tuple[Link, bytes, int]]") -> None:
        try:
            data = link.socket.recv(READ)
            # TLS may have read more than it returned, of which epoll gives no sign.
            while isinstance(link.socket, ssl.SSLSocket) and data and link.socket.pending():
                data += link.socket.recv(READ)
        except LATER:
            return
        except OSError as error:
            self._lose(link, error.strerror or "it was reset", again=True)
            return
        if data:
            came.append((link, data, self._now()))
        else:
            self._lose(link, "it hung up", again=True)

    def _came(self, link: Link, data: bytes, now: int) -> None:
        was_ready = link.ready
        try:
            dues, reply = self._dialect.came(link, data)
        except Refused as refused:
            self._lose(link, str(refused), again=refused.again)
            return
        if link.ready and not was_ready:
            self._ready.append(link)
            self._succeeded += 1
        if link.owes:
            self._owing[link] = None
        if reply:
            self._write(link, reply)
        if dues:
            self._answered(link, dues, now)

    def _write(self, link: Link, data: bytes) -> None:
        """Send bytes; what the kernel does not accept now is sent when it does."""
        if link.socket.fileno() < 0:
            return
        waiting, data = bool(link.unsent) and bool(data), link.unsent + data
        if waiting:
            link.unsent = data
            return
        try:
            sent = link.socket.send(data)
        except LATER:
            sent = 0
        except OSError as error:
            self._lose(link, error.strerror or "it was reset", again=True)
            return
        link.unsent = data[sent:]
        if link.unsent:
            self._epoll.modify(link.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)

    def _lose(self, link: Link, why: str, again: bool = False) -> None:
        """Close a connection. If it was never ready, it is tried `again`, or else Trouble is
        raised."""
        fd = link.socket.fileno()
        del self._links[fd]
        self._epoll.unregister(fd)
        link.socket.close()
        self._owing.pop(link, None)
        self._open -= link.asked
        if link.ready:
            self._lost[why] += 1
            if not self.keeps_lost:
                self._ready.remove(link)
        elif again:
            self._later, self._why = self._later + 1, why
        else:
            raise Trouble(f"the server refuses a connection: {why}")

    def _go_round(self) -> None:
        owing, self._owing = self._owing, {}
        for link in owing:
            if link.owes and link.socket.fileno() >= 0:
                self._write(link, self._dialect.acknowledge(link))
        self._count()

    def _count(self) -> None:
        self._latency.add(np.array(self._took, dtype=np.int64))
        self._late.add(np.array(self._lateness, dtype=np.int64))
        self._took, self._lateness = [], []


def _listed(histogram: Histogram) -> list[list[int]]:
    """Return a histogram for JSON: its classes, and their counts."""
    return [part.tolist() for part in histogram.sparse()]


def work(config: GameClientConfig | RedisClientConfig, parent: Parent) -> None:
    """Run a process with its share of the connections, for ever. Raises Trouble."""
    raise_descriptor_limit()
    Client(config, parent, dialect(config)).run()


if __name__ == "__main__":
    sys.exit(parent.work(work))
