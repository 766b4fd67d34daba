"""A client's connection without a socket."""

from collections.abc import Callable
from typing import Any

import msgpack

from flatlands.model import Model
from flatlands.testkit.clock import ManualLoop


class FakeConnection:
    """A server.net.connection.Connection without a socket: a client's model gets everything.

    While it is `stuck`, the first write becomes a remainder, and later ones are refused. While it
    is `dead`, nothing that the client sends arrives, not even pongs.
    """

    def __init__(self, loop: ManualLoop) -> None:
        self.loop = loop
        self.on_message: Callable[[int, bytes], object] = lambda *_: None
        self.on_close: Callable[[int, str], object] = lambda *_: None
        self.on_drain: Callable[[], object] = lambda: None
        self.address = "127.0.0.1"
        self.model = Model()
        self.messages: list[Any] = []
        self.bytes = 0
        self.writes = 0
        self.stuck = self.dead = self.more = False
        self.last_heard = loop.time / 1000
        self.pings = 0
        #: Seconds that its client has taken to answer the last ping; 0 before the first one.
        self.round_trip = 0.0
        self.remainder: list[bytes] = []
        self.closed: tuple[int, str] | None = None
        self.closed_by_peer = False
        #: Whether a part of a message has come that is not whole yet.
        self.half = False
        self.client: Any = None

    @property
    def at_rest(self) -> bool:
        return self.closed is None and not self.remainder and not self.half

    @property
    def socket(self) -> "FakeConnection":
        return self

    def start(self) -> None:
        pass

    def abort(self) -> None:
        self.close(1006)

    def release(self) -> None:
        """Give up the client, whose next connection gets the model and the messages of this one."""
        assert self.at_rest
        self.on_message = lambda *_: None
        self.on_close = lambda *_: None
        self.closed = 0, "released"

    @property
    def backlogged(self) -> bool:
        return bool(self.remainder)

    @property
    def open(self) -> bool:
        return self.closed is None

    def send(self, data: bytes) -> bool:
        if self.remainder or self.closed:
            return False
        self.writes += 1
        self.bytes += len(data)
        self._receive(data)
        return True

    def send_control(self, data: bytes) -> bool:
        if self.closed:
            return False
        self._receive(data)
        return True

    def _receive(self, data: bytes) -> None:
        if self.stuck:
            self.remainder.append(data)
            return
        for payload in frame_payloads(data):
            message = msgpack.unpackb(payload)
            self.messages.append(message)
            self.model.apply(message, self.loop.now())

    def ping(self) -> None:
        self.pings += 1
        if not self.dead:
            self.last_heard = self.loop.time / 1000
            self.round_trip = 0.001

    def drain(self) -> None:
        """Let the client get what was stuck."""
        self.stuck = False
        waiting, self.remainder = self.remainder, []
        for data in waiting:
            self._receive(data)
        self.on_drain()

    def close(self, code: int, reason: str = "") -> None:
        if self.closed is None:
            self.closed = (code, reason)
            self.loop.call_soon(lambda: self.on_close(code, reason))

    def lose(self, code: int = 1006) -> None:
        """Let the client leave with this close code; 1006 stands for a lost connection."""
        if self.closed is None:
            self.closed_by_peer = code != 1006
        self.close(code)


def frame_payloads(data: bytes) -> list[bytes]:
    """Return the payloads of whole, unmasked binary frames."""
    payloads, at = [], 0
    while at < len(data):
        assert data[at] == 0x82
        length, at = data[at + 1], at + 2
        if length >= 126:
            size = 2 if length == 126 else 8
            length, at = int.from_bytes(data[at : at + size], "big"), at + size
        payloads.append(data[at : at + length])
        at += length
    return payloads
