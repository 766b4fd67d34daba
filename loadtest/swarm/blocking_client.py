"""A simple client with a blocking socket, for faults inflicted on a server on this machine.

If the server refuses something or hangs up, it raises OSError.
"""

import socket
import struct
from typing import Any

import msgpack

from flatlands import wire

#: Seconds that it waits for the server to answer.
PATIENCE = 5

#: Tiles that its screen shows.
VIEWPORT = 40, 25

Address = tuple[str, int]


def connected(to: Address) -> socket.socket:
    """Return a TCP connection to a server."""
    return socket.create_connection(to, timeout=PATIENCE)


class BlockingClient:
    """A client with a WebSocket. At the end of its block it hangs up without a close frame."""

    def __init__(self, to: Address) -> None:
        self.socket = connected(to)
        try:
            self.socket.sendall(wire.upgrade_request(wire.host_header(*to, secure=False), "/ws"))
            self.rest = b""
            while b"\r\n\r\n" not in self.rest:
                self._receive()
        except OSError:
            self.socket.close()
            raise
        self.rest = self.rest.split(b"\r\n\r\n", 1)[1]

    def __enter__(self) -> "BlockingClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _receive(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the server hung up")
        self.rest += data

    def hello(self, token: str | None = None, name: str = "visitor") -> "BlockingClient":
        """Send hello, with a token to come back as the same player; return itself."""
        hello = wire.HELLO, wire.VERSION, name, *VIEWPORT, token, None, None, None
        self.socket.sendall(wire.message_frame(*hello))
        return self

    def token(self) -> str:
        """Wait for the welcome; return the token with which it could come back."""
        return str(self._await(wire.TOKEN)[1])

    def _await(self, kind: int) -> list[Any]:
        """Return the first message of a kind among those that come."""
        while True:
            for begin, start, end in wire.split_frames(self.rest):
                content = self.rest[start:end]
                if self.rest[begin] == 0x80 | wire.BINARY and wire.message_kind(content) == kind:
                    self.rest = self.rest[end:]
                    return list(msgpack.unpackb(content))
            self._receive()

    def close(self, code: int) -> None:
        """Send a close frame with a code."""
        self.socket.sendall(wire.client_frame(code.to_bytes(2, "big"), wire.CLOSE))

    def reset(self) -> None:
        """Have the connection reset, instead of closed, at the end of the block."""
        linger = struct.pack("ii", 1, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
