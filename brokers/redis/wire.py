"""RESP, the protocol of Redis: packs commands, parses replies, and logs in."""

from collections.abc import Callable, Iterator
from typing import Any

from hiredis import Reader, ReplyError, pack_command

from flatlands.brokers.stream import StreamConnection

#: The words of a command -> its bytes. (hiredis declares its type for a single word only.)
pack: Callable[[tuple[str | bytes, ...]], bytes] = pack_command  # type: ignore[assignment]

#: The name of such a server for people.
REDIS_KIND = "redis"
#: The default port of such a server.
REDIS_PORT = 6379


#: Asks who the server is. Every user may ask, also one who may not PING; and it is answered while
#: the server cannot save, when it answers a PING with an error (MISCONF).
HELLO_COMMAND = "HELLO", "3"

#: The role of a replica in its answer to HELLO. KeyDB's active replicas are none.
REPLICAS = b"replica", b"slave"

#: Bytes that a reply may have: more than a cluster needs to list its slots.
REPLY_BYTES_MOST = 1024 * 1024


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
        if kept > REPLY_BYTES_MOST:
            raise ConnectionError("it does not speak RESP")


def call(connection: StreamConnection, replies: Iterator[Any], *command: str) -> Any:
    """Send one command and return its reply. Raises OSError, also if the reply is an error."""
    connection.send(pack(command))
    reply = next(replies)
    if isinstance(reply, ReplyError):
        raise ConnectionError(str(reply))
    return reply


def log_in(connection: StreamConnection, replies: Iterator[Any]) -> Any:
    """Secure a new connection, log in, choose RESP3, and return who the server says that it is.
    Raises OSError."""
    connection.secure()
    username, password = connection.endpoint.username, connection.endpoint.password
    if username:
        call(connection, replies, "AUTH", username, password)
    elif password:
        call(connection, replies, "AUTH", password)
    return call(connection, replies, *HELLO_COMMAND)


def refuse_replica(hello: Any) -> None:
    """Raise ConnectionError if a server's answer to HELLO is an error, or says that the server is a
    replica: there others do not receive what is published."""
    if isinstance(hello, ReplyError):
        raise ConnectionError(str(hello))
    if hello.get(b"role") in REPLICAS:
        raise ConnectionError(
            "it is a replica, whose messages reach only its own clients: use the address of the "
            "primary, or let this one lead to it"
        )
