"""A TCP proxy in front of a server of this machine: a link that is slow, stalls, or is cut.

`flatlands play --lag` has one, and so have tests. Each connection has two threads, one for each
direction, which together hold 2 MB at most.
"""

import math
import random
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

#: How much is read at once.
CHUNK_BYTES = 16 * 1024

#: What is on its way in one direction. Once it is that much, no more is read, so the sender waits.
UNDER_WAY_BYTES = 1024 * 1024

#: A packet of most networks has so many bytes of a connection.
PACKET_BYTES = 1460

#: The least pause before a lost packet is sent again (Linux; RFC 6298 has a second). The round trip
#: is added to it.
RETRANSMISSION_MS = 200


class LinkQuality(NamedTuple):
    """How slow a link is. A round trip takes `lag` ms longer, and up to `jitter` ms more than that,
    by chance; half of it in each direction. Of all packets, `loss` percent are lost: they, and all
    that follows them, come after the pause of a retransmission."""

    lag: float = 0
    jitter: float = 0
    loss: float = 0

    def delay(self, size: int) -> float:
        """Return how many seconds later some bytes come."""
        ms = (self.lag + random.uniform(0, self.jitter)) / 2
        packets = max(math.ceil(size / PACKET_BYTES), 1)
        if random.random() >= (1 - self.loss / 100) ** packets:
            ms += RETRANSMISSION_MS + self.lag
        return ms / 1000


#: A link that takes no time.
DIRECT = LinkQuality()


class Proxy:
    """A proxy in front of the server at `to_port`, which may change, as seen by new connections.

    It listens on `port` of `host`; 0 chooses a free one. `spoil` gets what a client sends, and
    returns what the server gets. Raises OSError.
    """

    def __init__(
        self,
        to_port: int,
        link: LinkQuality = DIRECT,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        spoil: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.to_port = to_port
        self._link = link
        self._spoil = spoil
        [(family, _, _, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        self._listener = socket.create_server(address, family=family, backlog=1024)
        self.address: str
        self.port: int
        self.address, self.port, *_ = self._listener.getsockname()
        self._open: set[socket.socket] = set()
        self._flows = threading.Event()
        self._flows.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def stall(self) -> None:
        """Let nothing through, but keep what comes: neither side can know that, as on a dead
        link."""
        self._flows.clear()

    def flow(self) -> None:
        """Let everything through again."""
        self._flows.set()

    def cut(self) -> None:
        """End every connection at once."""
        for one in list(self._open):
            _end(one)

    def close(self) -> None:
        """Listen no more, and end every connection."""
        _end(self._listener)
        self._listener.close()
        self.flow()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near:
            try:
                far = socket.create_connection(("127.0.0.1", self.to_port))
            except OSError:
                # There is no server just now.
                return
            with far:
                both = {near, far}
                for one in both:
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open |= both
                back = threading.Thread(target=self._pump, args=(far, near, bytes), daemon=True)
                back.start()
                self._pump(near, far, self._spoil)
                back.join()
                self._open -= both

    def _pump(
        self, source: socket.socket, sink: socket.socket, change: Callable[[bytes], bytes]
    ) -> None:
        """Pass on what comes, in its order and in its time, until its end. If one side breaks the
        connection off, break off the other."""
        try:
            self._pass_on(source, sink, change)
        except OSError:
            _end(source)
            _end(sink)

    def _pass_on(
        self, source: socket.socket, sink: socket.socket, change: Callable[[bytes], bytes]
    ) -> None:
        #: When what comes is due, and what it is; nothing at the end.
        waiting: deque[tuple[float, bytes]] = deque()
        comes = select.poll()
        comes.register(source, select.POLLIN)
        # Nothing sets out before the round trip in which a connection is made.
        connected = time.monotonic() + 2 * self._link.delay(0)
        due, under_way, ended = 0.0, 0, False
        while True:
            while waiting and waiting[0][0] <= time.monotonic():
                data = waiting.popleft()[1]
                self._flows.wait()
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(change(data))
                under_way -= len(data)
            left = max(waiting[0][0] - time.monotonic(), 0) if waiting else None
            if left is not None and (ended or under_way >= UNDER_WAY_BYTES):
                time.sleep(left)
            elif comes.poll(None if left is None else math.ceil(left * 1000)):
                data = source.recv(CHUNK_BYTES)
                sets_out = max(time.monotonic(), connected)
                due = max(due, sets_out + self._link.delay(len(data)))
                waiting.append((due, data))
                under_way += len(data)
                ended = not data


def _end(connection: socket.socket) -> None:
    # It may have ended by itself.
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
