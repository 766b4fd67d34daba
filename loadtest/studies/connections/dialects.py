"""How a connection speaks: to Flatlands, or to a Redis. A dialect knows bytes, and no socket."""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypedDict
from urllib.parse import unquote, urlsplit

import msgpack

from flatlands import wire

#: The smallest screen, in tiles: it shows few other players.
SCREEN = 8

#: The name under which players join.
NAME = "Idle"

#: Close codes after which a client may try again: the server is full, or restarts.
AGAIN = (1012, 1013)

#: The key that GET asks for.
KEY = b"flatlands:idle"
#: The value of that key.
VALUE = b"x" * 20


class Refused(Exception):
    """The server refuses the connection or a request. `again`: it may take the connection later."""

    def __init__(self, why: str, *, again: bool = False) -> None:
        super().__init__(why)
        self.again = again


@dataclass(slots=True, eq=False)
class Talk:
    """What a dialect keeps of a connection.

    `rest` are bytes of something unfinished. `ready`: requests may be sent. `flush` is the number
    of the last flush, which it `owes` an acknowledgement. `dues` are the times of the requests that
    wait for their answers, as far as the dialect needs them.
    """

    rest: bytes = b""
    opened: bool = False
    ready: bool = False
    owes: bool = False
    flush: int = 0
    dues: "deque[int] | None" = field(default=None)


class Dialect(Protocol):
    """What a connection sends, and how it reads the answers. Times are whole numbers above 0."""

    def begin(self, talk: Talk) -> bytes:
        """Return what a new connection sends first."""

    def ask(self, talk: Talk, request: str, due: int) -> bytes:
        """Return a request that is due at a time."""

    def came(self, talk: Talk, data: bytes) -> tuple[list[int], bytes]:
        """Return when the requests that are answered now were due, and what must be sent at once.
        Raises Refused."""

    def acknowledge(self, talk: Talk) -> bytes:
        """Return the acknowledgement that a connection owes."""


class Game:
    """A player of Flatlands that stands still. `host`, `path` and `login` are those of its
    WebSocket, and its screen is `screen` tiles wide and high."""

    #: The names of its requests.
    requests: tuple[str, ...] = ("ping",)

    def __init__(self, host: str, path: str, login: str = "", screen: int = SCREEN) -> None:
        self._opening = host, path, "flatlands", login
        self._hello = (wire.HELLO, wire.VERSION, NAME, screen, screen, *[None] * 4)

    def begin(self, talk: Talk) -> bytes:
        """See Dialect."""
        return wire.upgrade_request(*self._opening)

    def ask(self, talk: Talk, request: str, due: int) -> bytes:
        """See Dialect. A ping acknowledges the last flush, too."""
        talk.owes = False
        return wire.message_frame(wire.PING, due, talk.flush)

    def acknowledge(self, talk: Talk) -> bytes:
        """See Dialect."""
        return self.ask(talk, "ping", 0)

    def came(self, talk: Talk, data: bytes) -> tuple[list[int], bytes]:
        """See Dialect."""
        if talk.rest:
            data, talk.rest = talk.rest + data, b""
        reply = b""
        if not talk.opened:
            head, separator, data = data.partition(b"\r\n\r\n")
            if not separator:
                talk.rest = head
                return [], b""
            if not head.startswith(b"HTTP/1.1 101"):
                status = head.partition(b"\r\n")[0].partition(b" ")[2].decode(errors="replace")
                raise Refused(f"it answers {status!r}", again=status[:3] in ("429", "503"))
            talk.opened = True
            reply = wire.message_frame(*self._hello)
        dues: list[int] = []
        end = 0
        for begin, start, end in wire.split_frames(data):
            part = wire.frame_payload(data[begin], data[start:end])
            if part[0] == wire.WS_PING:
                reply += wire.client_frame(part[1:], wire.WS_PONG)
            elif part[0] == wire.CLOSE:
                code = int.from_bytes(part[1:3], "big") if len(part) > 2 else 1005
                why = part[3:].decode(errors="replace") or "no reason"
                raise Refused(f"it closes with {code} ({why})", again=code in AGAIN)
            elif part[0] != wire.WS_PONG:
                self._told(talk, part, dues)
        talk.rest = data[end:]
        return dues, reply

    def _told(self, talk: Talk, payload: bytes, dues: list[int]) -> None:
        kind = wire.message_kind(payload)
        if kind == wire.PONG:
            # A ping that only acknowledges a flush carries the time 0.
            if due := msgpack.unpackb(payload)[1]:
                dues.append(due)
        elif kind == wire.FLUSH:
            talk.flush, talk.owes = wire.number_at(payload, wire.kind_offset(payload) + 1), True
        elif kind == wire.WELCOME:
            talk.ready = True
        elif kind == wire.ERROR:
            _, code, sentence = msgpack.unpackb(payload)[:3]
            if code == "flood":
                sentence += "; start the server with --any-rate 1"
            raise Refused(sentence, again=not talk.ready and code == "full")


class Redis:
    """A client of a Redis. Its URL may have a user, a password and a database."""

    #: The names of its requests.
    requests: tuple[str, ...] = ("PING", "GET")
    _REQUESTS = {
        "PING": (b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n"),
        "GET": (
            b"*2\r\n$3\r\nGET\r\n$%d\r\n%b\r\n" % (len(KEY), KEY),
            b"$%d\r\n%b\r\n" % (len(VALUE), VALUE),
        ),
    }

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        first = []
        if parts.password:
            user = [unquote(parts.username)] if parts.username else []
            first.append(["AUTH", *user, unquote(parts.password)])
        if parts.path.strip("/"):
            first.append(["SELECT", parts.path.strip("/")])
        self._begin = b"".join(_command(words) for words in first) + self._REQUESTS["PING"][0]
        self._welcome = b"+OK\r\n" * len(first) + b"+PONG\r\n"
        #: The answer to the last request that was asked.
        self._answer = b"+PONG\r\n"

    def begin(self, talk: Talk) -> bytes:
        """See Dialect."""
        return self._begin

    def ask(self, talk: Talk, request: str, due: int) -> bytes:
        """See Dialect. No connection asks for something else while it waits for an answer."""
        if talk.dues is None:
            talk.dues = deque()
        talk.dues.append(due)
        asked, self._answer = self._REQUESTS[request]
        return asked

    def acknowledge(self, talk: Talk) -> bytes:
        """See Dialect."""
        raise AssertionError("a Redis is owed nothing")

    def came(self, talk: Talk, data: bytes) -> tuple[list[int], bytes]:
        """See Dialect."""
        data = talk.rest + data
        awaited = self._answer if talk.ready else self._welcome
        number = len(data) // len(awaited)
        whole = number * len(awaited)
        answers, talk.rest = data[:whole], data[whole:]
        if answers != awaited * number or not awaited.startswith(talk.rest):
            line = data.partition(b"\r\n")[0].decode(errors="replace")
            raise Refused(f"it answers {line!r}")
        if not talk.ready:
            talk.ready = number > 0
            return [], b""
        if number > len(talk.dues or ()):
            raise Refused("it answers what was not asked")
        assert talk.dues is not None or not number
        return [talk.dues.popleft() for _ in range(number)] if talk.dues else [], b""


def _command(words: list[str]) -> bytes:
    encoded = [word.encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded
    )


class GameConfig(TypedDict):
    """The part of a configuration that is for a Game."""

    kind: Literal["game"]
    host: str
    path: str
    login: str


class RedisConfig(TypedDict):
    """The part of a configuration that is for a Redis."""

    kind: Literal["redis"]
    url: str


def dialect(config: GameConfig | RedisConfig) -> Dialect:
    """Return the dialect of a configuration, see client.py."""
    if config["kind"] == "game":
        return Game(config["host"], config["path"], config["login"])
    return Redis(config["url"])
