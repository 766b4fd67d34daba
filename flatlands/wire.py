"""The client's side of docs/protocol.md, for all programs here that play: RFC 6455 frames, and the
messages in them.

It decodes each message by itself, without earlier ones. It is written from that page alone and
needs only msgpack, so that bot.py can be copied with it. model.py reads the same messages for those
who judge, and neither imports the other.
"""

import base64
import os
import ssl
import struct
from collections.abc import Iterator, Sequence
from math import isqrt
from random import getrandbits
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote

import msgpack

VERSION = 3

# The kinds of messages that a client sends.
HELLO = 1
WALK = 2
GO = 3
HOME = 4
VIEWPORT = 5
SAY = 6
PING = 7
INVITE = 8
KEY = 10
ACK = 14
DO = 35
TICKET = 36

# The kinds of messages that a server sends.
WELCOME = 16
TOKEN = 17
HELD = 18
SNAPSHOT = 19
FLUSH = 21
RESYNC = 22
PONG = 23
ERROR = 24
LINK = 26
INVITATION = 27
THINGS = 28
MESSAGE = 45
CELLS = 46
MOVED = 48

# The kinds of events: higher ones are the game's.
ENTER = 0
#: A track comes as a record of a batch.
TRACK = 1
LEAVE = 2
GONE = 3
SAY_EVENT = 4

# The opcodes of WebSocket frames.
TEXT = 1
BINARY = 2
CLOSE = 8
WS_PING = 9
WS_PONG = 10

#: A record of `tracks`: slot, the low bytes of seq and ack, x, y, dx, dy, age.
_RECORD = struct.Struct("<BBBhhhhh")
#: A record of `wide`: likewise.
_WIDE = struct.Struct("<HBBhhhhh")

#: A sketch of a crowd after its slot: seq and ack, part of the square, steps.
_SKETCH = struct.Struct("<BBBbb")

#: Each step of a sketch beyond this many counts _COARSE_STEPS times.
_NEAR_STEPS = 64
_COARSE_STEPS = 8
_STEP_UNITS = 64

#: The values of a batch's items after `ago` that are left out: tracks, others, replaced, wide.
_LEFT_OUT: tuple[object, ...] = (b"", (), 0, b"")

#: The lengths, in bytes, of MessagePack's unsigned numbers by their first byte.
_WIDTHS = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}

#: The lengths, in bytes, of the heads of its arrays of more than 15 items, likewise.
_HEADS = {0xDC: 3, 0xDD: 5}

Square = tuple[int, int]
Record = tuple[int, ...]


def host_header(name: str, port: int, secure: bool) -> str:
    """Return a server's name for a request's Host header; the default port is left out."""
    shown = f"[{name}]" if ":" in name else name
    return shown if port == (443 if secure else 80) else f"{shown}:{port}"


def tls_context(kind: str) -> ssl.SSLContext:
    """Return a context for TLS in which certificates are "checked" or "unchecked", or those in the
    file with this path are trusted."""
    trusted = None if kind in ("checked", "unchecked") else kind
    context = ssl.create_default_context(cafile=trusted)
    if kind == "unchecked":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def basic_auth(parts: SplitResult) -> str:
    """Return the user and password of a URL as HTTP sends them, or an empty text."""
    if parts.username is None:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def upgrade_request(host: str, path: str, protocol: str = "flatlands", login: str = "") -> bytes:
    """Return the request that opens a WebSocket, with a protocol and a login if they are given."""
    more = f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else ""
    more += f"Authorization: {login}\r\n" if login else ""
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key}\r\n{more}\r\n"
    ).encode()


class _Masks(dict[int, tuple[bytes, int]]):
    """Heads of frames for clients, by the size of a payload, each with the mask as a whole number.
    They are made when needed, and replaced with the next key."""

    def __init__(self) -> None:
        super().__init__()
        self.renew()

    def renew(self) -> None:
        """Choose another key."""
        self.key = getrandbits(32).to_bytes(4, "big")
        self.clear()

    def __missing__(self, size: int) -> tuple[bytes, int]:
        key = self.key
        length = bytes((0x80 | size,)) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        mask = int.from_bytes((key * (size // 4 + 1))[:size], "big")
        self[size] = found = bytes((0x80 | BINARY,)) + length + key, mask
        return found


_masks = _Masks()


def renew_key() -> None:
    """Mask frames with another random key from now on. A key protects proxies against pages, so
    programs may keep one for many frames, which is cheaper."""
    _masks.renew()


def client_frame(payload: bytes, opcode: int = BINARY) -> bytes:
    """Return a masked frame of a payload under 64 KiB."""
    size = len(payload)
    head, mask = _masks[size]
    if opcode != BINARY:
        head = bytes((0x80 | opcode,)) + head[1:]
    return head + (int.from_bytes(payload, "big") ^ mask).to_bytes(size, "big")


def message_frame(*fields: object) -> bytes:
    """Return a message, packed and framed."""
    return client_frame(msgpack.packb(fields))


class Enter(NamedTuple):
    """The fields of an enter event, or of an entry of a snapshot after its source. `values` are
    what the game has of the player."""

    id: int
    seq: int
    ack: int
    name: str
    dimmed: bool
    slot: int
    x: int
    y: int
    dx: int
    dy: int
    age: int
    look: int
    pace: int
    values: Any

    @classmethod
    def read(cls, event: Any, first: int = 1) -> "Enter":
        """Return the fields of an event, or of an entry of a snapshot, in which the `first` is item
        2. Both may have more items at their ends."""
        return cls(*event[first : first + 14])


class TrackReader:
    """Reads the tracks in events, records and sketches, by the speeds of the world. `span` is the
    length of a square's side in units."""

    def __init__(self) -> None:
        self.span = 0
        self._speed = self._diagonal = 1

    def set(self, side: int, speed: int, diagonal: int) -> None:
        """Note the length of a square's side in tiles, and the speeds in units a second."""
        self.span = side * 1024
        self._speed, self._diagonal = speed, diagonal

    def duration(self, dx: int, dy: int, pace: int = 100) -> int:
        """Return how many ms a track by (dx, dy), in units, takes at a pace."""
        if abs(dx) == abs(dy):
            return -(-abs(dx) * 1000 // (self._diagonal * pace // 100))
        return -(-isqrt(dx * dx + dy * dy) * 1000 // (self._speed * pace // 100))

    def track_of_enter(self, square: Square, sent: int, enter: Enter) -> tuple[int, ...]:
        """Return the track of a player that enters, as `_track` does."""
        at = square[0] * self.span + enter.x, square[1] * self.span + enter.y
        return self._track(*at, enter.dx, enter.dy, sent - enter.age, enter.pace)

    def track_of_record(
        self, square: Square, sent: int, record: "Record", pace: int
    ) -> tuple[int, ...]:
        """Return the track in a record, which counts from the square's centre."""
        _, _, _, x, y, dx, dy, age = record
        span, half = self.span, self.span // 2
        column, row = square
        at = column * span + half + x, row * span + half + y
        return self._track(*at, dx, dy, sent - age, pace)

    def track_of_sketch(
        self, square: Square, sent: int, sketch: "Record", pace: int
    ) -> tuple[int, ...]:
        """Return the track in a sketch, which holds from the time `sent` on."""
        _, _, px, py, sx, sy = sketch
        span, (column, row) = self.span, square
        x, y = (at * span + (2 * p + 1) * span // 512 for at, p in ((column, px), (row, py)))
        return self._track(x, y, _units(sx), _units(sy), sent, pace)

    def _track(self, x: int, y: int, dx: int, dy: int, start: int, pace: int) -> tuple[int, ...]:
        """Return x, y, dx, dy, start, duration: a place in the world, and ms of node time."""
        return x, y, dx, dy, start, self.duration(dx, dy, pace)


class BatchMessage:
    """A decoded batch: the events that a node has published in one square.

    `sent` is when it was begun, in ms of the clock of the client's node. `records` has (slot, low
    bytes of seq and ack, x, y, dx, dy, age), and `others` the events of other kinds; `events` is
    how many both are together. Raises BrokenFrame.
    """

    __slots__ = ("square", "source", "sent", "records", "others", "replaced", "events")

    def __init__(self, fields: tuple[Any, ...], now: int) -> None:
        try:
            column, row, self.source, ago = fields[:4]
            tracks, self.others, self.replaced, wide = fields[4:8] + _LEFT_OUT[len(fields) - 4 :]
            self.records: list[Record] = list(_RECORD.iter_unpack(tracks))
            if wide:
                self.records += _WIDE.iter_unpack(wide)
        except (TypeError, ValueError, struct.error) as error:
            raise BrokenFrame(f"the server sent a batch that cannot be read: {error}") from error
        self.square = column, row
        self.sent = now - ago
        self.events = len(self.records) + len(self.others)

    @property
    def shows_players(self) -> bool:
        """Whether players walk or enter by it: then its node certainly has players."""
        return bool(self.records) or any(event[0] == ENTER for event in self.others)


class CrowdMessage:
    """The decoded moves of a crowd, which hold for the time `sent` of their flush, in ms of the
    clock of the client's node.

    `sketches` has (source, (slot, seq and ack, px, py, sx, sy)); `events` is how many these are.
    Raises BrokenFrame.
    """

    __slots__ = ("square", "sent", "sketches", "replaced", "events")

    def __init__(self, fields: tuple[Any, ...], now: int) -> None:
        self.sketches: list[tuple[int, Record]] = []
        try:
            column, row, self.replaced, *rest = fields
            for source, data in zip(rest[::2], rest[1::2], strict=True):
                self._read(source, data)
        except (TypeError, ValueError, struct.error) as error:
            raise BrokenFrame(f"the server sent a crowd that cannot be read: {error}") from error
        self.square = column, row
        self.sent = now
        self.events = len(self.sketches)

    def _read(self, source: int, data: bytes) -> None:
        slot, at = -1, 0
        while at < len(data):
            slot += data[at] or 255
            at += 1
            if data[at - 1]:
                self.sketches.append((source, (slot, *_SKETCH.unpack_from(data, at))))
                at += _SKETCH.size


def _units(steps: int) -> int:
    """Return how many units the steps of a sketch stand for."""
    far = abs(steps)
    far = far if far <= _NEAR_STEPS else _NEAR_STEPS + (far - _NEAR_STEPS) * _COARSE_STEPS
    return far * _STEP_UNITS if steps >= 0 else -far * _STEP_UNITS


class BrokenFrame(ValueError):
    """The server sent bytes that are not a server's frame, or not a message."""


def number_at(data: bytes, at: int) -> int:
    """Return the number, which is not negative, that MessagePack has packed at an offset."""
    first = data[at]
    if first < 0x80:
        return first
    return int.from_bytes(data[at + 1 : at + 1 + _WIDTHS[first]], "big")


def kind_offset(payload: bytes) -> int:
    """Return the offset of a message's kind, which depends on how many items it has; for what is
    not a message, return that of its end."""
    first = payload[0]
    return 1 if first & 0xF0 == 0x90 else _HEADS.get(first, len(payload))


def message_kind(payload: bytes) -> int:
    """Return a message's kind, or a number that is no kind of this version."""
    at = kind_offset(payload)
    return payload[at] if at < len(payload) else -1


def unpack_message(payload: bytes) -> tuple[Any, ...]:
    """Return a message: its kind and its fields, in which arrays are tuples. Raises BrokenFrame."""
    try:
        found = msgpack.unpackb(payload, use_list=False)
    except ValueError as error:
        raise BrokenFrame(f"the server sent a message that cannot be read: {error}") from error
    if not isinstance(found, tuple):
        raise BrokenFrame("the server sent a message that is no array")
    return found


def read_flush(message: Sequence[Any]) -> tuple[int, int, Sequence[Any], Sequence[Any]]:
    """Return a flush's number, its time and the fields of its batches and crowds.

    Raises BrokenFrame.
    """
    try:
        _, number, now, batches, *more = message
    except ValueError as error:
        raise BrokenFrame(f"the server sent a flush that cannot be read: {error}") from error
    return number, now, batches, more[0] if more else ()


def split_frames(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield where each whole frame begins, where its payload begins, and where both end."""
    at, end = 0, len(data)
    while end - at >= 2:
        size = data[at + 1]
        start = at + 2
        if size >= 126:
            start += 2 if size == 126 else 8
            if start > end:
                return
            size = int.from_bytes(data[at + 2 : start], "big")
        if start + size > end:
            return
        yield at, start, start + size
        at = start + size


def frame_payload(first: int, content: bytes) -> bytes:
    """Return a frame's message, or a control frame's opcode and payload.

    `first` is the frame's first byte, and `content` its payload. A message has at least two bytes.
    Raises BrokenFrame.
    """
    return (
        content if first == 0x80 | BINARY and len(content) >= 2 else control_payload(first, content)
    )


def control_payload(first: int, payload: bytes) -> bytes:
    """Return a control frame's opcode and payload; `first` is its first byte.

    Raises BrokenFrame.
    """
    opcode = first & 15
    if not first & 0x80 or first & 0x70 or opcode not in (CLOSE, WS_PING, WS_PONG):
        raise BrokenFrame(f"the server sent a frame that begins with {first:#x}")
    return bytes((opcode,)) + payload
