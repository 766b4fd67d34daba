"""The protocols of the peers, as far as a client needs them to join, to move and to stay connected.

What a peer sends is never decoded: its answers are recognised by a few of their bytes.
"""

import http.client
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgpack

from flatlands.loadtest.swarm.wire import BINARY, TEXT

Address = tuple[str, int]
Square = tuple[int, int]

#: Each line is (bytes to wait for, payload to send then); either may be empty. A player plays when
#: all its lines are done.
Lines = Sequence[tuple[bytes, bytes]]


class Refused(Exception):
    """A peer does not answer as it should. The text is a sentence for people."""


class Dialect(Protocol):
    """What every dialect implements.

    `opcode` is that of all frames it sends. `heartbeat` is (payload of one byte, its answer), or
    None.
    """

    opcode: int
    heartbeat: tuple[bytes, bytes] | None

    def path(self, address: Address, square: Square) -> str:
        """Return the path at which a player in a square connects. Raises Refused."""

    def lines(self, square: Square) -> Lines:
        """Return the lines with which a player joins in a square."""

    def move(self, x: int, y: int, marker: str) -> bytes:
        """Return the payload of a move."""


@dataclass(frozen=True)
class PlainJson:
    """JSON objects of this project's own design."""

    opcode: int = TEXT
    heartbeat: tuple[bytes, bytes] | None = None

    def path(self, address: Address, square: Square) -> str:
        """See Dialect."""
        return "/"

    def lines(self, square: Square) -> Lines:
        """See Dialect."""
        join = {"type": "join", "column": square[0], "row": square[1]}
        return (b"", _json(join)), (b"joined", b"")

    def move(self, x: int, y: int, marker: str) -> bytes:
        """See Dialect."""
        return _json({"type": "move", "x": x, "y": y, "marker": marker})


@dataclass(frozen=True)
class SocketIo:
    """Socket.IO 5 over Engine.IO 4: a packet is text that begins with the digits of its kinds."""

    opcode: int = TEXT
    heartbeat: tuple[bytes, bytes] | None = (b"2", b"3")

    def path(self, address: Address, square: Square) -> str:
        """See Dialect."""
        return "/socket.io/?EIO=4&transport=websocket"

    def lines(self, square: Square) -> Lines:
        """See Dialect."""
        return (b'0{"sid"', b"40"), (b"40{", b"42" + _json(["join", *square])), (b"joined", b"")

    def move(self, x: int, y: int, marker: str) -> bytes:
        """See Dialect."""
        return b"42" + _json(["move", x, y, marker])


@dataclass(frozen=True)
class Colyseus:
    """Colyseus 0.17: a seat is reserved over HTTP, then used over a WebSocket."""

    opcode: int = BINARY
    heartbeat: tuple[bytes, bytes] | None = None
    #: Address -> the connection that is kept open for all players' reservations.
    _http: dict[Address, http.client.HTTPConnection] = field(default_factory=dict)

    def path(self, address: Address, square: Square) -> str:
        """See Dialect."""
        if address not in self._http:
            self._http[address] = http.client.HTTPConnection(*address, timeout=10)
        connection = self._http[address]
        body = _json({"column": square[0], "row": square[1]})
        headers = {"Content-Type": "application/json"}
        try:
            connection.request("POST", "/matchmake/joinOrCreate/squares", body, headers)
            answer = connection.getresponse()
            seat: dict[str, Any] = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise Refused(f"no seat was given: {error!r}") from error
        if "sessionId" not in seat:
            raise Refused(f"no seat was given: {seat.get('error', answer.status)}")
        return f"/{seat['processId']}/{seat['roomId']}?sessionId={seat['sessionId']}"

    def lines(self, square: Square) -> Lines:
        """See Dialect."""
        # The first message names the serializer, "schema". The reply of kind 10 confirms the seat.
        return (b"schema", b"\x0a"), (b"joined", b"")

    def move(self, x: int, y: int, marker: str) -> bytes:
        """See Dialect."""
        return b"\x0d\xa4move" + msgpack.packb({"x": x, "y": y, "marker": marker})


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
