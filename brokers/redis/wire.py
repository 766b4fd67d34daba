"""RESP, the protocol of Redis: packs commands, parses replies, and logs in."""

from collections.abc import Callable, Iterator
from typing import Any

from hiredis import Reader, ReplyError, pack_command

from flatlands.brokers.stream import Connection

#: The words of a command -> its bytes. (hiredis declares its type for a single word only.)
pack: Callable[[tuple[str | bytes, ...]], bytes] = pack_command  # type: ignore[assignment]

#: What people call such a server, and its default port.
KIND, PORT = "redis", 6379


#: Bytes that a reply may have: more than a cluster needs to list its slots.
LIMIT = 1024 * 1024


def parse(chunks: Iterator[bytes]) -> Iterator[Any]:
    """Yield the server's replies as they come: bytes, int, bool, list, None or ReplyError."""
    incomplete = object()  # not False, hiredis's own sign: RESP3 has a reply that is False
    reader = Reader(protocolError=ConnectionError, notEnoughData=incomplete)
    gets = reader.gets
    kept = 0
    for data in chunks:
        reader.feed(data)
        kept += len(data)
        while (reply := gets()) is not incomplete:
            kept = 0
            yield reply
        if kept > LIMIT:
            raise ConnectionError("it does not speak RESP")


def call(connection: Connection, replies: Iterator[Any], *command: str) -> Any:
    """Send one command and return its reply. Raises OSError, also if the reply is an error."""
    connection.send(pack(command))
    reply = next(replies)
    if isinstance(reply, ReplyError):
        raise ConnectionError(str(reply))
    return reply


def log_in(connection: Connection, replies: Iterator[Any]) -> None:
    """Secure a new connection, log in, and prove that the server answers. Raises OSError."""
    connection.secure()
    username, password = connection.endpoint.username, connection.endpoint.password
    if username:
        call(connection, replies, "AUTH", username, password)
    elif password:
        call(connection, replies, "AUTH", password)
    call(connection, replies, "PING")
