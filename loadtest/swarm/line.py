"""Messages between the leader of a swarm and its generators: MessagePack over a socket.

Each message has four bytes before it that say how long it is. Arrays of numbers and sets stay what
they are; lists come as tuples. Both ends prove that they know the same secret, and never send it.
It never knows what the messages mean.
"""

import hashlib
import hmac
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

#: Bytes of a message, at most: of a stranger, and of who has shown that it knows the secret.
STRANGER, KNOWN = 4096, 2**28

#: Seconds that a stranger may take for a message, and that a message which has begun may take.
GREETING, PATIENCE = 5.0, 30.0

#: The variable that has the secret.
SECRET = "SWARM_SECRET"

_ARRAY, _SET = 1, 2


class Line:
    """One end of a connection. All methods raise OSError if it is lost, or broken."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket, self._most = connection, STRANGER
        connection.settimeout(GREETING)
        with suppress(OSError):
            # Whether a quiet leader is still there is asked by TCP.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def trust(self) -> None:
        """Allow the long messages of who knows the secret."""
        self._most = KNOWN
        self._socket.settimeout(PATIENCE)

    def fileno(self) -> int:
        """Return the socket's descriptor, by which `wait` finds that a message has come."""
        return self._socket.fileno()

    def send(self, message: Any) -> None:
        """Send a message."""
        data = msgpack.packb(message, default=_pack)
        if len(data) > self._most:
            raise OSError(f"a message of {len(data)} bytes is too long")
        self._socket.sendall(len(data).to_bytes(4, "big") + data)

    def recv(self) -> Any:
        """Return the next message; wait for it."""
        size = int.from_bytes(self._read(4), "big")
        if size > self._most:
            raise OSError(f"a message of {size} bytes is too long")
        data = self._read(size)
        try:
            return msgpack.unpackb(data, use_list=False, strict_map_key=False, ext_hook=_unpack)
        except (ValueError, TypeError) as error:
            raise OSError(f"a message is broken: {error}") from error

    def _read(self, size: int) -> bytearray:
        found = bytearray()
        while len(found) < size:
            part = self._socket.recv(min(size - len(found), 2**20))
            if not part:
                raise ConnectionError("the other end has hung up")
            found += part
        return found

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def _pack(value: Any) -> Any:
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value, dtype="<i8")
        return msgpack.ExtType(_ARRAY, msgpack.packb((array.shape, array.tobytes())))
    assert isinstance(value, set), value
    return msgpack.ExtType(_SET, msgpack.packb(list(value), default=_pack))


def _unpack(code: int, data: bytes) -> Any:
    found = msgpack.unpackb(data, use_list=False)
    if code == _SET:
        return set(found)
    shape, content = found
    return np.frombuffer(content, dtype="<i8").reshape(shape).copy()


def secret() -> bytes:
    """Return the secret that the environment has, or an empty one."""
    return os.environ.get(SECRET, "").encode()


def proof(secret: bytes, who: bytes, *nonces: bytes) -> bytes:
    """Return what only `who` can know that has the secret, and for this connection only."""
    return hmac.digest(secret, b"\0".join((who, *nonces)), "sha256")


def digest(paths: "list[Path]") -> str:
    """Return a short text that differs if files do."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def edition() -> str:
    """Return which version of the swarm this is: its own code, and that of bots."""
    here = Path(__file__).resolve().parent
    files = [path for of in (here, here.parent / "kit") for path in sorted(of.glob("*.py"))]
    return digest([*files, here.parent.parent / "flatlands" / "bot.py"])
