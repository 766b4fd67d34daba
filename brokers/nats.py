"""`nats://[[user]:password@]host[:port]`: core NATS; `tls://` is the same over TLS.

`nats://token@host` logs in with a token. A channel's name becomes the subject, with a dot for each
slash (docs/operations.md says how to watch one), so a user needs permission for `flatlands.>` only.

A NATS server disconnects a node that does not read its messages in time, so every loss is followed
by a Reset. JetStream, queue groups and headers are never used. In a cluster of NATS servers, a node
is linked to one of them. After it subscribes, it may miss messages that are published at another
server until the servers have told each other of the subscription.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count
from typing import Any
from urllib.parse import quote

from flatlands.brokers.base import CHANNELS_CACHED, PAYLOAD_LIMIT, Counters, Message
from flatlands.brokers.inbox import Inbox
from flatlands.brokers.stream import Endpoint, StreamBroker, StreamLink

log = logging.getLogger("flatlands")

#: Bytes that a line or a message may have: more than a server needs to list its whole cluster, and
#: a server's default limit for what others publish.
ITEM_BYTES_MOST = 1024 * 1024

NO_NATS = "it does not speak NATS"


@lru_cache(CHANNELS_CACHED)
def subject_of(channel: str) -> bytes:
    """Return a channel's subject: it has no space, no wildcard and no empty part."""
    parts = (quote(part, safe=":").replace(".", "%2E") or "%" for part in channel.split("/"))
    return ".".join(parts).encode()


def parse(chunks: Iterator[bytes]) -> Iterator[Any]:
    """Yield what the server sends: for a message (subscription's number, payload), else a line."""
    data = b""
    for chunk in chunks:
        data = data + chunk if data else chunk
        at = 0
        while (end := data.find(b"\r\n", at)) >= 0:
            line, past = data[at:end], end + 2
            if line.startswith(b"MSG "):
                words = line.split()
                if not words[-1].isdigit() or (size := int(words[-1])) > ITEM_BYTES_MOST:
                    raise ConnectionError(NO_NATS)
                body, past = past, past + size
                if len(data) < past + 2:
                    break
                yield words[2], data[body:past]
                at = past + 2
            else:
                yield line
                at = past
        data = data[at:]
        if end < 0 and len(data) > ITEM_BYTES_MOST:
            raise ConnectionError(NO_NATS)


class NatsLink(StreamLink):
    """A link to a NATS server, which publishes and is subscribed."""

    _parse = staticmethod(parse)

    def __init__(self, endpoint: Endpoint, counters: Counters, inbox: Inbox) -> None:
        super().__init__(endpoint, counters, inbox)
        #: Channel -> the number of its subscription, in digits; and the reverse.
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
                self._queue_command(_subscribe(channel, number))

    def remove(self, channels: Iterable[str]) -> None:
        for channel in channels:
            number = self._numbers.pop(channel, None)
            if number is not None:
                del self._channels[number]
                self._queue_command(b"UNSUB %b\r\n" % number)

    def _log_in(self) -> None:
        info, tls = self._info(), self._endpoint.tls
        if tls and not (info.get("tls_required") or info.get("tls_available")):
            raise ConnectionError("it does not offer TLS: use a URL that begins with nats://")
        if info.get("tls_required") and not tls:
            raise ConnectionError("it requires TLS: use a URL that begins with tls://")
        self._connection.secure()
        # Waiting commands need not be sent: all wanted subscriptions are sent below.
        self._waiting_commands.clear()
        subscriptions = b"".join(_subscribe(*one) for one in self._numbers.items())
        self._connection.send(b"CONNECT %b\r\n%bPING\r\n" % (self._login(), subscriptions))
        # Messages that come before the pong were published before all subscriptions took effect.
        while (line := next(self._items)) != b"PONG":
            if type(line) is bytes and line.startswith(b"-ERR"):
                raise ConnectionError(_text(line))
        limit = info.get("max_payload", PAYLOAD_LIMIT)
        if limit < PAYLOAD_LIMIT:
            raise ConnectionError(
                f"its max_payload is {limit} bytes: it must be {PAYLOAD_LIMIT} or more"
            )

    def _info(self) -> dict[str, Any]:
        """Return the server's INFO, which it sends first and without being asked."""
        line = next(self._items)
        try:
            kind, _, text = line.partition(b" ")
            if kind == b"INFO":
                return dict(json.loads(text))
        except (AttributeError, TypeError, ValueError):
            pass
        raise ConnectionError(NO_NATS)

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

    def _accept(self, item: Any) -> None:
        if type(item) is tuple:
            channel = self._channels.get(item[0])
            if channel is not None:
                self._inbox.put(Message(channel, item[1]))
        elif item == b"PONG":
            self._pongs += 1
            self._ponged(self._pongs)
        elif item == b"PING":
            self._queue_command(b"PONG\r\n")
        elif item.startswith(b"-ERR"):
            self._refused(_text(item))

    def _refused(self, error: str) -> None:
        """Log, once, that the server has refused something for want of a permission.

        Raises ConnectionError for any other error, after which the server ends the connection.
        """
        if not error.startswith("Permissions Violation"):
            raise ConnectionError(error)
        if error.startswith("Permissions Violation for Publish"):
            self._counters.dropped += 1
        if not self._complained:
            self._complained = True
            log.warning("%s refuses: %s", self.name, error)


class NatsBroker(StreamBroker):
    """A broker of one NATS server."""

    kind = "nats"
    port = 4222
    tls_port = 4222
    link = NatsLink


def _subscribe(channel: str, number: bytes) -> bytes:
    return b"SUB %b %b\r\n" % (subject_of(channel), number)


def _text(line: bytes) -> str:
    return line.partition(b" ")[2].decode(errors="replace").strip("' ")
