"""Colyseus 0.17: a seat is reserved over HTTP, then used over a WebSocket."""

import http.client
import json

import msgpack

from flatlands.loadtest.studies.peers.dialect import Address, Lines, Refused, Square

#: Address -> the connection that is kept open for all players' reservations.
_http: dict[Address, http.client.HTTPConnection] = {}


def path(address: Address, square: Square) -> str:
    """Reserve a seat, and return its path. Raises Refused."""
    if address not in _http:
        _http[address] = http.client.HTTPConnection(address[0], address[1], timeout=10)
    connection = _http[address]
    body = json.dumps({"column": square[0], "row": square[1]})
    headers = {"Content-Type": "application/json"}
    try:
        connection.request("POST", "/matchmake/joinOrCreate/squares", body, headers)
        answer = connection.getresponse()
        seat = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        connection.close()
        raise Refused(f"no seat was given: {error!r}") from error
    if "sessionId" not in seat:
        raise Refused(f"no seat was given: {seat.get('error', answer.status)}")
    return f"/{seat['processId']}/{seat['roomId']}?sessionId={seat['sessionId']}"


def lines(square: Square) -> Lines:
    """The first message names the serializer, "schema". The reply of kind 10 confirms the seat."""
    return (b"schema", b"\x0a"), (b"joined", b"")


def move(x: int, y: int, marker: str) -> bytes:
    """Return a message of kind 13 with its name, and an object."""
    return b"\x0d\xa4move" + bytes(msgpack.packb({"x": x, "y": y, "marker": marker}))
