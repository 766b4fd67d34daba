"""RESP, the language of Redis: how a command is packed, and what comes back."""

from collections.abc import Callable, Iterator
from typing import Any

from hiredis import Reader, ReplyError, pack_command

from brokers.stream import Connection

#: Words -> the bytes of one command. (hiredis' own types allow it but one word.)
pack: Callable[[tuple[str | bytes, ...]], bytes] = pack_command  # type: ignore[assignment]

#: What people call such a server, and where it is unless the URL says so.
KIND, PORT = "redis", 6379


def parse(chunks: Iterator[bytes]) -> Iterator[Any]:
    """Yield what the server sends, as it comes: bytes, int, list, None or ReplyError."""
    reader = Reader(protocolError=ConnectionError)
    gets = reader.gets
    for data in chunks:
        reader.feed(data)
        while (reply := gets()) is not False:
            yield reply


def call(connection: Connection, replies: Iterator[Any], *command: str) -> Any:
    """Send one command and return its reply. An error, too, is an OSError."""
    connection.send(pack(command))
    reply = next(replies)
    if isinstance(reply, ReplyError):
        raise ConnectionError(str(reply))
    return reply


def enter(connection: Connection, replies: Iterator[Any]) -> None:
    """Secure a new connection, log in, and prove that the server answers. Raises OSError."""
    connection.secure()
    username, password = connection.endpoint.username, connection.endpoint.password
    if username:
        call(connection, replies, "AUTH", username, password)
    elif password:
        call(connection, replies, "AUTH", password)
    call(connection, replies, "PING")
