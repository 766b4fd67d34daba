"""How a client speaks to each peer: just enough to join, to move and to be kept.

What a peer sends is not decoded: its answers are known by a few of their bytes.
"""

import http.client
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgpack

from loadtest.swarm.wire import BINARY, TEXT

Address = tuple[str, int]
Square = tuple[int, int]

#: What is waited for (b"": nothing), and the payload that is then sent (b"": nothing). Who has
#: got to the end of its lines plays.
Lines = Sequence[tuple[bytes, bytes]]


class Refused(Exception):
    """A peer does not answer as it should; the text is one sentence for people."""


class Dialect(Protocol):
    """What all dialects know. `opcode` is that of every frame they send; `heartbeat` a payload
    of one byte that is answered with another one, or nothing."""

    opcode: int
    heartbeat: tuple[bytes, bytes] | None

    def path(self, address: Address, square: Square) -> str:
        """Return the path at which a player in a square connects. Raises Refused."""

    def lines(self, square: Square) -> Lines:
        """Return what is said until the player is in its square."""

    def move(self, x: int, y: int, marker: str) -> bytes:
        """Return the payload of a move."""


@dataclass(frozen=True)
class PlainJson:
    """Objects in JSON, of our own making."""

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
    """Socket.IO 5 in Engine.IO 4: a packet is text that begins with its kinds."""

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
    """Colyseus 0.17: a seat is asked for over HTTP, then taken over a WebSocket."""

    opcode: int = BINARY
    heartbeat: tuple[bytes, bytes] | None = None
    #: Kept open, one for each address, as all players come from one place.
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
            told: dict[str, Any] = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise Refused(f"no seat was given: {error!r}") from error
        if "sessionId" not in told:
            raise Refused(f"no seat was given: {told.get('error', answer.status)}")
        return f"/{told['processId']}/{told['roomId']}?sessionId={told['sessionId']}"

    def lines(self, square: Square) -> Lines:
        """See Dialect."""
        # The first message names the serializer, "schema"; the same kind (10) confirms the seat.
        return (b"schema", b"\x0a"), (b"joined", b"")

    def move(self, x: int, y: int, marker: str) -> bytes:
        """See Dialect."""
        return b"\x0d\xa4move" + msgpack.packb({"x": x, "y": y, "marker": marker})


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
