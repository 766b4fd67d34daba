"""`nats://[[user]:password@]host[:port]`: core NATS; `tls://` is the same over TLS.

`nats://token@host` logs in with a token. A channel's name is the subject, with a dot for each slash
(docs/operations.md tells how to watch one), so a user may be allowed `flatlands.>` and no more.

A server that cannot get rid of what it has for a node cuts the node off, so a Reset tells of every
loss there is. JetStream, queue groups and headers are not used. Of servers in a cluster a node is
linked to one: what another node says on another server may miss it for as long as the servers need
to tell each other of a new subscription.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count
from typing import Any
from urllib.parse import quote

from brokers.base import PAYLOAD_LIMIT, REMEMBERED, Counters, Message
from brokers.inbox import Inbox
from brokers.stream import Endpoint, StreamBroker, StreamLink

log = logging.getLogger("flatlands")

#: Bytes of a line that is not yet whole: more than a server's list of its whole cluster.
LINE_LIMIT = 1024 * 1024


@lru_cache(REMEMBERED)
def subject_of(channel: str) -> bytes:
    """Return a channel's subject, which holds neither a space nor a wildcard, nor an empty part."""
    parts = (quote(part, safe=":").replace(".", "%2E") or "%" for part in channel.split("/"))
    return ".".join(parts).encode()


def parse(chunks: Iterator[bytes]) -> Iterator[Any]:
    """Yield what the server says: a line of it, or of a message its subscription and payload."""
    data = b""
    for chunk in chunks:
        data = data + chunk if data else chunk
        at = 0
        while (end := data.find(b"\r\n", at)) >= 0:
            line, past = data[at:end], end + 2
            if line.startswith(b"MSG "):
                words = line.split()
                body, past = past, past + int(words[-1])
                if len(data) < past + 2:
                    break
                yield words[2], data[body:past]
                at = past + 2
            else:
                yield line
                at = past
        data = data[at:]
        if end < 0 and len(data) > LINE_LIMIT:
            raise ConnectionError("it says what is no NATS")


class NatsLink(StreamLink):
    """A link to a server, for both publishing and hearing."""

    _parse = staticmethod(parse)

    def __init__(self, endpoint: Endpoint, counters: Counters, inbox: Inbox) -> None:
        super().__init__(endpoint, counters, inbox)
        #: Channel -> its subscription's number, and the other way round.
        self._numbers: dict[str, bytes] = {}
        self._channels: dict[bytes, str] = {}
        self._next = map(b"%d".__mod__, count(1))
        self._pongs = 0
        self._complained = False

    def put(self, channel: str, payload: bytes) -> bool:
        return self._queue_up(b"PUB %b %d\r\n%b\r\n" % (subject_of(channel), len(payload), payload))

    def add(self, channels: Iterable[str]) -> None:
        for channel in channels:
            if channel not in self._numbers:
                number = self._numbers[channel] = next(self._next)
                self._channels[number] = channel
                self._order(_subscribe(channel, number))

    def remove(self, channels: Iterable[str]) -> None:
        for channel in channels:
            number = self._numbers.pop(channel, None)
            if number is not None:
                del self._channels[number]
                self._order(b"UNSUB %b\r\n" % number)

    def _enter(self) -> None:
        told, tls = self._info(), self._endpoint.tls
        if tls and not (told.get("tls_required") or told.get("tls_available")):
            raise ConnectionError("it has no TLS: without it the URL begins with nats://")
        if told.get("tls_required") and not tls:
            raise ConnectionError("it wants TLS: with it the URL begins with tls://")
        self._connection.secure()
        # Taken as said: they are all in what follows.
        self._orders.clear()
        subscriptions = b"".join(_subscribe(*one) for one in self._numbers.items())
        self._connection.send(b"CONNECT %b\r\n%bPING\r\n" % (self._login(), subscriptions))
        # What comes before the answer to the ping was said before all subscriptions were in effect.
        while (line := next(self._items)) != b"PONG":
            if type(line) is bytes and line.startswith(b"-ERR"):
                raise ConnectionError(_text(line))
        limit = told.get("max_payload", PAYLOAD_LIMIT)
        if limit < PAYLOAD_LIMIT:
            raise ConnectionError(
                f"its max_payload is {limit} bytes: it must be {PAYLOAD_LIMIT} or more"
            )

    def _info(self) -> dict[str, Any]:
        """Return what the server tells of itself, first of all and without being asked."""
        line = next(self._items)
        try:
            kind, _, text = line.partition(b" ")
            if kind == b"INFO":
                return dict(json.loads(text))
        except (AttributeError, ValueError):
            pass
        raise ConnectionError("it says what is no NATS")

    def _login(self) -> bytes:
        username, password = self._endpoint.username, self._endpoint.password
        login = {"user": username, "pass": password} if password else {"auth_token": username}
        options = {"verbose": False, "pedantic": False, "name": "flatlands", "lang": "python"}
        more = login if username or password else {}
        return json.dumps({**options, "version": "1", **more}).encode()

    def _begin(self, again: bool) -> None:
        super()._begin(again)
        self._pongs = 0

    def _ping(self, number: int) -> bytes:
        return b"PING\r\n"

    def _take(self, item: Any) -> None:
        if type(item) is tuple:
            channel = self._channels.get(item[0])
            if channel is not None:
                self._inbox.put(Message(channel, item[1]))
        elif item == b"PONG":
            self._pongs += 1
            self._ponged(self._pongs)
        elif item == b"PING":
            self._order(b"PONG\r\n")
        elif item.startswith(b"-ERR"):
            self._refused(_text(item))

    def _refused(self, error: str) -> None:
        """The server refuses something, and goes on only if it is this user who may not do it."""
        if not error.startswith("Permissions Violation"):
            raise ConnectionError(error)
        if error.startswith("Permissions Violation for Publish"):
            self._counters.dropped += 1
        if not self._complained:
            self._complained = True
            log.warning("%s refuses: %s", self.name, error)


class NatsBroker(StreamBroker):
    """See the module."""

    kind, port, tls_port, link = "nats", 4222, 4222, NatsLink


def _subscribe(channel: str, number: bytes) -> bytes:
    return b"SUB %b %b\r\n" % (subject_of(channel), number)


def _text(line: bytes) -> str:
    return line.partition(b" ")[2].decode(errors="replace").strip("' ")
