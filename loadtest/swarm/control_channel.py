"""Messages between the leader of a swarm and a generator: MessagePack over TCP.

Arrays of whole numbers and sets arrive as such, and lists as tuples. Both ends prove that
they know the same secret, and never send it. Nothing that comes is ever run.
"""

import hashlib
import os
import socket
import struct
from collections.abc import Iterable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from flatlands.loadtest.kit.processes import Trouble

MESSAGE_BYTES_MOST = 2**28
#: The other end may take this long in the middle of a message.
PATIENCE_SECONDS = 10

#: The environment variable that holds the secret.
SECRET = "SWARM_SECRET"

_ARRAY = 1
_SET = 2


def secret() -> bytes:
    """Return the secret that the environment has, or an empty one."""
    return os.environ.get(SECRET, "").encode()


class ControlChannel:
    """One end of a connection; `who` is what sentences call the other end.

    Its methods raise Trouble if the other end has hung up, or sends "trouble" with a sentence.
    """

    def __init__(self, end: socket.socket, who: str, *, leads: bool) -> None:
        patience = struct.pack("ll", PATIENCE_SECONDS, 0)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            end.setsockopt(socket.SOL_SOCKET, option, patience)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end.setblocking(True)
        self._end, self.who = Connection(end.detach()), who
        self.fileno, self.close = self._end.fileno, self._end.close
        try:
            for prove in (deliver_challenge, answer_challenge)[:: 1 if leads else -1]:
                prove(self._end, secret())
        except AuthenticationError as error:
            self.close()
            raise Trouble(f"{who} has another {SECRET}: give both the same") from error
        except (OSError, EOFError) as error:
            self.close()
            raise Trouble(f"{who} hung up or fell silent before a run") from error

    def send(self, message: tuple[object, ...]) -> None:
        """Send a message: a word that says what it is, and its content."""
        try:
            self._end.send_bytes(msgpack.packb(message, default=_pack))
        except OSError as error:
            raise Trouble(f"{self.who} ended during the run ({error})") from error

    def recv(self) -> Any:
        """Wait for the next message, and return it."""
        try:
            data = self._end.recv_bytes(MESSAGE_BYTES_MOST)
            told = msgpack.unpackb(data, use_list=False, strict_map_key=False, ext_hook=_unpack)
        except (OSError, EOFError, ValueError) as error:
            why = str(error) or "it has hung up"
            raise Trouble(f"{self.who} ended during the run ({why})") from error
        if told[0] == "trouble":
            raise Trouble(f"{self.who} says: {told[1]}")
        return told


def _pack(value: Any) -> Any:
    if isinstance(value, set):
        return msgpack.ExtType(_SET, msgpack.packb(list(value), default=_pack))
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value, dtype="<i8")
        return msgpack.ExtType(_ARRAY, msgpack.packb((array.shape, array.tobytes())))
    return int(value)


def _unpack(code: int, data: bytes) -> object:
    found = msgpack.unpackb(data, use_list=False)
    if code == _SET:
        return set(found)
    return np.frombuffer(found[1], dtype="<i8").reshape(found[0]).copy()


def digest(paths: Iterable[Path]) -> str:
    """Return a short digest of the contents of files."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def edition() -> str:
    """Return which version of the swarm this is."""
    return digest(sorted(Path(__file__).resolve().parent.parent.rglob("*.py")))
