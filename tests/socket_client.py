"""A client on a real socket, written from docs/protocol.md and RFC 6455 alone."""

import base64
import os
import select
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, ClassVar

import msgpack

from flatlands.model import Model
from tests.server.client_frames import client_frame

#: Seconds that anything may take, even on a machine that is busy with other things.
PATIENCE = 30.0


class SocketClient:
    """A client after its handshake. `model` is what the client believes about the world."""

    #: The sockets of all clients. conftest.py closes those that a test has left open.
    sockets: ClassVar[set[socket.socket]] = set()

    def __init__(self, port: int, *, path: str = "/ws", receive_buffer: int | None = None) -> None:
        self.port = port
        self.name = ""
        self.socket = socket.socket()
        self.sockets.add(self.socket)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1",
            "Host: localhost",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Protocol: flatlands",
        ]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._bytes = b""
        while b"\r\n\r\n" not in self._bytes:
            data = self.socket.recv(65536)
            assert data, "the server hung up during the handshake"
            self._bytes += data
        head, self._bytes = self._bytes.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 101"), head
        self.model = Model()
        self.messages: list[Any] = []
        self.closed: tuple[int, str] | None = None
        self.offset = 0
        self.number = 0
        self._acknowledged, self._pinged = 0, time.monotonic()
        # Bytes may have come together with the handshake's answer.
        self._receive(b"")

    def now(self) -> int:
        """Return node time in ms, as far as it is known."""
        return int(time.monotonic() * 1000) + self.offset

    def frame(self, payload: bytes, opcode: int = 2) -> None:
        """Send a masked frame."""
        self.socket.sendall(client_frame(opcode, payload, key=os.urandom(4)))

    def send(self, *message: Any) -> None:
        self.frame(msgpack.packb(list(message)))

    def hello(
        self,
        name: str,
        size: tuple[int, int] = (40, 25),
        token: str | None = None,
        near: str | int | None = None,
    ) -> "SocketClient":
        """Send hello, and wait until the player's own enter event has come."""
        self.name = name
        self.send(1, 3, name, *size, token, near, None, None)
        self.until(lambda: self.model.id in self.model.players)
        return self

    def walk(self, dx: int, dy: int) -> None:
        self.number += 1
        self.send(2, self.number, self.now(), dx, dy)

    def go(self, x: int, y: int) -> None:
        self.number += 1
        self.send(3, self.number, self.now(), x, y)

    def ping(self) -> None:
        self._acknowledged, self._pinged = self.model.flush, time.monotonic()
        self.send(7, 1, self.model.flush)

    def at(self, id: int | None = None) -> tuple[int, int]:
        """Return where this player, or another one, is believed to be now: (x, y) in units. After a
        resync, wait until it is known."""
        who = self.model.id if id is None else id
        self.until(lambda: who in self.model.players)
        return self.model.players[who].at(self.now())

    def sees(self, other: "SocketClient") -> bool:
        return other.model.id in self.model.players

    def pump(self, seconds: float = 0.0) -> None:
        """Receive for some seconds, and acknowledge flushes."""
        until = time.monotonic() + seconds
        while self.closed is None:
            left = max(until - time.monotonic(), 0)
            if not select.select([self.socket], [], [], left)[0]:
                break
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                self.closed = self.closed or (1006, "")
                break
            self._receive(data)
        owes = self.model.flush not in (0, self._acknowledged)
        due = owes and time.monotonic() - self._pinged > 0.5
        if due and self.closed is None:
            self.ping()
        self.model.expire(self.now())

    def until(self, condition: Any, seconds: float = PATIENCE) -> None:
        """Receive until a condition is true."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it never came"
            assert self.closed is None or condition(), f"closed: {self.closed}"
            self.pump(0.02)

    def until_closed(self) -> tuple[int, str]:
        """Receive until the server closes; return (code, reason)."""
        deadline = time.monotonic() + PATIENCE
        while self.closed is None:
            assert time.monotonic() < deadline, "it was never closed"
            self.pump(0.02)
        return self.closed

    def close(self, code: int | None = 1000) -> None:
        """Send a close frame, with a code or without, and hang up."""
        if code is not None and self.closed is None and self.socket.fileno() >= 0:
            self.frame(code.to_bytes(2, "big"), 8)
        self.socket.close()

    @classmethod
    def hang_up(cls, port: int) -> None:
        """Close all sockets to a server. It would wait for their clients when it ends."""
        for each in cls.sockets:
            with suppress(OSError):  # it is closed already
                if each.getpeername()[1] == port:
                    each.close()

    def _receive(self, data: bytes) -> None:
        self._bytes += data
        while len(self._bytes) >= 2:
            opcode, length, at = self._bytes[0] & 15, self._bytes[1], 2
            assert self._bytes[0] & 0x80 and not length & 0x80
            if length >= 126:
                at += 2 if length == 126 else 8
                length = int.from_bytes(self._bytes[2:at], "big")
            if len(self._bytes) < at + length:
                return
            payload, self._bytes = self._bytes[at : at + length], self._bytes[at + length :]
            if opcode == 8:
                self.closed = int.from_bytes(payload[:2], "big"), payload[2:].decode()
                return
            if opcode == 9:
                self.frame(payload, 10)
            elif opcode == 2:
                message = msgpack.unpackb(payload)
                if message[0] == 16:
                    self.offset = message[3] - int(time.monotonic() * 1000)
                self.messages.append(message)
                self.model.apply(message, self.now())


def together(
    clients: Iterable[SocketClient], condition: Callable[[], Any], seconds: float = PATIENCE
) -> None:
    """Let all clients receive until a condition is true: one that does not would soon lag."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        for client in clients:
            client.pump(0.01)
