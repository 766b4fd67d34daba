"""`mqtt://[[user]:password@]host[:port]`: MQTT 5 with QoS 0; `mqtts://` is the same over TLS.

A channel's name is the topic, so `mosquitto_sub` can watch a square. Each link publishes numbers to
itself, on a topic under PROBES. They prove that messages come back, and a missing number shows that
the server dropped messages for this node. But an MQTT server may drop messages of QoS 0 for a
client that reads too slowly, and a number is missing only if a probe was among them. Therefore the
server must be configured to drop nothing (docs/operations.md). Then a node that lags behind until
its probes stay unanswered ends its link itself, and every loss is followed by a Reset.
"""

import secrets
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import gevent

from flatlands.brokers.base import CHANNELS_CACHED, PAYLOAD_LIMIT, Counters, Message
from flatlands.brokers.inbox import Inbox
from flatlands.brokers.stream import Endpoint, StreamBroker, StreamLink

#: The beginning of the topics of all probes.
PROBES = "flatlands/probe/"

#: Bytes that a packet may have: twice a payload, since it holds the topic too. CONNECT says so to
#: the server.
PACKET_LIMIT = 2 * PAYLOAD_LIMIT

#: Seconds; the server ends a connection after one and a half times as long without a packet.
KEEP_ALIVE = 10

#: Topics that one packet names.
TOPICS_A_PACKET = 512

# The first bytes of packets, by their types.
CONNECT = 0x10
CONNACK = 0x20
PUBLISH = 0x30
SUBSCRIBE = 0x82
SUBACK = 0x90
UNSUBSCRIBE = 0xA2
DISCONNECT = 0xE0

#: Options of a subscription: QoS 0, this client's own messages too, and no retained messages.
OPTIONS = b"\x20"

NO_MQTT = "it does not speak MQTT 5"

#: Reason codes as sentences. Other codes are logged as numbers.
REASONS = {
    1: NO_MQTT,
    0x84: NO_MQTT,
    0x86: "bad user name or password",
    0x87: "not authorized",
    0x8B: "it is shutting down",
    0x95: "a packet was too large for it",
}


@lru_cache(CHANNELS_CACHED)
def topic_of(channel: str) -> bytes:
    """Return a channel's topic, with its length before it. It has no wildcard."""
    return _text(quote(channel, safe="/: "))


def packet(kind: int, body: bytes) -> bytes:
    """Return a packet: its kind, its length in groups of seven bits, and its body."""
    length = len(body)
    if length < 128:
        return b"%c%c%b" % (kind, length, body)
    if length < 16384:
        return b"%c%c%c%b" % (kind, length & 127 | 128, length >> 7, body)
    return b"%c%c%c%c%b" % (kind, length & 127 | 128, length >> 7 & 127 | 128, length >> 14, body)


def parse(chunks: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the packets that the server sends, as (kind, body)."""
    data = b""
    for chunk in chunks:
        data = data + chunk if data else chunk
        at = 0
        # The length of a packet within PACKET_LIMIT has three bytes at most.
        while len(data) >= at + 4 or (len(data) >= at + 2 and data[at + 1] < 128):
            length, body = _number(data, at + 1)
            if length > PACKET_LIMIT:
                raise ConnectionError(NO_MQTT)
            if len(data) < body + length:
                break
            yield data[at], data[body : body + length]
            at = body + length
        data = data[at:]


class MqttLink(StreamLink):
    """A link to an MQTT server, which publishes and is subscribed."""

    _parse = staticmethod(parse)

    def __init__(self, endpoint: Endpoint, counters: Counters, inbox: Inbox) -> None:
        super().__init__(endpoint, counters, inbox)
        #: Topic -> channel.
        self._wanted: dict[bytes, str] = {}
        self._probe_topic = b""
        #: The newest number of a probe that has come back.
        self._echoed = 0

    def put(self, channel: str, payload: bytes) -> bool:
        return self._queue_up(packet(PUBLISH, topic_of(channel) + b"\0" + payload))

    def add(self, channels: Iterable[str]) -> None:
        new = {topic_of(channel): channel for channel in channels}
        topics = [topic for topic in new if topic not in self._wanted]
        self._wanted.update(new)
        self._queue_command(b"".join(_asking(SUBSCRIBE, topics, OPTIONS)))

    def remove(self, channels: Iterable[str]) -> None:
        topics = [t for t in map(topic_of, channels) if self._wanted.pop(t, None) is not None]
        self._queue_command(b"".join(_asking(UNSUBSCRIBE, topics, b"")))

    def _log_in(self) -> None:
        self._connection.secure()
        username, password = self._endpoint.username, self._endpoint.password
        flags = 0x02 | (0x80 if username else 0) | (0x40 if password else 0)
        # One property, the largest packet. The client's id is empty: the server chooses one.
        fixed = struct.pack(">BBHBBIH", 5, flags, KEEP_ALIVE, 5, 0x27, PACKET_LIMIT, 0)
        login = b"".join(_text(text) for text in (username, password) if text)
        self._connection.send(packet(CONNECT, _text("MQTT") + fixed + login))
        kind, body = next(self._items)
        if kind != CONNACK or body[1:2] != b"\0":
            raise ConnectionError(_reason(body[1]) if kind == CONNACK and body[1:] else NO_MQTT)
        # Each connection has its own topic, since a late probe of an old connection proves nothing.
        self._probe_topic, self._echoed = _text(PROBES + secrets.token_hex(8)), -1
        # Waiting commands need not be sent: all wanted subscriptions are sent below.
        self._waiting_commands.clear()
        asking = _asking(SUBSCRIBE, [self._probe_topic, *self._wanted], OPTIONS)
        self._connection.send(b"".join(asking) + self._ping(0))
        missing = len(asking) + 1
        try:
            # Messages that come before were published before all subscriptions took effect.
            while missing:
                kind, body = next(self._items)
                if kind & 0xF0 != PUBLISH or _message(kind, body)[0] == self._probe_topic:
                    self._accept((kind, body))
                    missing -= 1
        except gevent.Timeout:
            raise TimeoutError(f"messages published under {PROBES} do not come back") from None

    def _ping(self, number: int) -> bytes:
        return packet(PUBLISH, self._probe_topic + b"\0" + number.to_bytes(8))

    def _accept(self, item: Any) -> None:
        kind, body = item
        topic, payload = _message(kind, body)
        channel = self._wanted.get(topic)
        if channel is not None:
            self._inbox.put(Message(channel, payload))
        elif topic == self._probe_topic:
            number = int.from_bytes(payload)
            if number != self._echoed + 1:
                # The server has dropped a probe, and it is unknown how many messages with it.
                self._counters.dropped += 1
                self._inbox.reset(None)
            self._echoed = number
            self._ponged(number)
        elif kind == SUBACK:
            length, start = _number(body, 2)
            if refusals := [code for code in body[start + length :] if code > 127]:
                raise ConnectionError(f"it refuses a subscription: {_reason(refusals[0])}")
        elif kind == DISCONNECT:
            raise ConnectionError(_reason(body[0] if body else 0))


class MqttBroker(StreamBroker):
    """A broker of one MQTT server, by QoS 0."""

    kind = "mqtt"
    port = 1883
    tls_port = 8883
    link = MqttLink


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the number of up to three bytes that begins at index `at`, and the index after it."""
    number = shift = 0
    for place in range(at, at + 3):
        number |= (data[place] & 127) << shift
        shift += 7
        if data[place] < 128:
            break
    return number, place + 1


def _asking(kind: int, topics: Sequence[bytes], after: bytes) -> list[bytes]:
    """Return the packets of a kind for all these topics, each followed by the bytes `after`.

    All packets have the identifier 1, for nobody waits for a particular answer.
    """
    parts = (topics[at : at + TOPICS_A_PACKET] for at in range(0, len(topics), TOPICS_A_PACKET))
    return [packet(kind, b"\0\1\0" + after.join(part) + after) for part in parts]


def _message(kind: int, body: bytes) -> tuple[bytes, bytes]:
    """Return the topic, with its length, and the payload of a message; both empty otherwise."""
    if kind & 0xF0 != PUBLISH:
        return b"", b""
    end = 2 + (body[0] << 8 | body[1])
    length, start = _number(body, end)
    return body[:end], body[start + length :]


def _reason(code: int) -> str:
    return REASONS.get(code, f"MQTT reason code {code:#04x}")
