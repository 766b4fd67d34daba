"""The bytes on a bot's socket: RFC 6455 frames, and the messages of docs/protocol.md.

Received bytes are split into frames and decoded once per process, however many bots receive them: a
flush is the same for all clients that hold the same squares. It never knows anything of bots.
"""

import base64
import os
import re
import ssl
from random import getrandbits
from typing import Any

import msgpack
import numpy as np

VERSION = 1
HELLO, WALK, GO, HOME, VIEWPORT, SAY, PING, INVITE, TAKE, KEY, SCORES = range(1, 12)
WELCOME, TOKEN, HELD, SNAPSHOT, BATCH, FLUSH, RESYNC, PONG, ERROR, CLOCKS, LINK = range(16, 27)
INVITATION, THINGS, FOUND, BOARD = range(27, 31)
ENTER, TRACK, LEAVE, GONE, SAID = range(5)
GEM = 0

TEXT, BINARY, CLOSE, WS_PING, WS_PONG = 1, 2, 8, 9, 10

#: An intent's number is the time in us at which it was due. The run's clock begins with this
#: number, so the number in an event (`ack`) says when the move was due, and that it is a bot's.
FIRST_NUMBER = 2**31

#: The beginning of a FLUSH's frame, up to its number: 3 to 11 bytes, an array of two.
_FLUSH_ENDS = re.compile(rb"\x82[\x03-\x0b]\x92\x15", re.DOTALL)

_NOTHING = np.empty(0, dtype=np.int64)


def host(name: str, port: int, secure: bool) -> str:
    """Return a server's name for a request's Host header; the default port is left out."""
    shown = f"[{name}]" if ":" in name else name
    return shown if port == (443 if secure else 80) else f"{shown}:{port}"


def tls(kind: str) -> ssl.SSLContext:
    """Return a context for TLS in which certificates are "checked" or "unchecked"."""
    context = ssl.create_default_context()
    if kind == "unchecked":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def handshake(host: str, path: str) -> bytes:
    """Return the request that opens a WebSocket."""
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: flatlands\r\n\r\n"
    ).encode()


def client_frame(payload: bytes, opcode: int = BINARY) -> bytes:
    """Return a masked frame of a payload under 64 KiB."""
    size = len(payload)
    key = getrandbits(32).to_bytes(4, "big")
    mask = int.from_bytes((key * (size // 4 + 1))[:size], "big")
    masked = (int.from_bytes(payload, "big") ^ mask).to_bytes(size, "big")
    if size < 126:
        return bytes((0x80 | opcode, 0x80 | size)) + key + masked
    return bytes((0x80 | opcode, 0xFE)) + size.to_bytes(2, "big") + key + masked


def message(*fields: Any) -> bytes:
    """Return a message, packed and framed."""
    return client_frame(msgpack.packb(fields))


class Batch:
    """A decoded batch of one square.

    `due` has the numbers, and so the due times, of the bots' moves that came first with this batch
    to this process.
    """

    __slots__ = ("square", "node", "previous", "number", "sent", "replaced", "events", "due")

    def __init__(self, fields: list[Any]) -> None:
        _, column, row, self.node, self.previous, self.number = fields[:6]
        self.sent, self.replaced, self.events = fields[6:9]
        self.square = column, row
        self.due: list[int] = []


class Chunk:
    """Consecutive batches, usually all of a flush.

    `flush` is the number of the flush that ends here, or 0; `size` is in bytes; `due` has the
    numbers of all its batches; `arrivals` are the times, in us of the run's clock, at which bots
    received it.
    """

    __slots__ = ("batches", "flush", "due", "events", "size", "arrivals")

    def __init__(self, batches: list[Batch], flush: int, size: int) -> None:
        self.batches = batches
        self.flush = flush
        self.size = size
        self.events = sum(len(batch.events) for batch in batches)
        due = [number for batch in batches for number in batch.due]
        self.due = np.array(due, dtype=np.int64) if due else _NOTHING
        self.arrivals: list[int] = []


#: A received part: a chunk, or the payload of another message, or a control frame's opcode and
#: payload.
Part = Chunk | bytes


class BrokenFrame(ValueError):
    """The server sent bytes that are no frame of a server."""


class Reader:
    """Splits and decodes received bytes, for all bots of a process.

    `learn(batch)` is called once for each distinct batch, and may fill its `due`.
    """

    def __init__(self, learn: Any) -> None:
        self._learn = learn
        # Chunks and batches by their bytes: those since the last turn, and those before it.
        self._chunks: dict[bytes, Chunk] = {}
        self._old_chunks: dict[bytes, Chunk] = {}
        self._batches: dict[bytes, Batch] = {}
        self._old_batches: dict[bytes, Batch] = {}

    def turn(self) -> list[Chunk]:
        """Forget what is two turns old; return the forgotten chunks, which will not come again."""
        past = list(self._old_chunks.values())
        self._old_chunks, self._chunks = self._chunks, {}
        self._old_batches, self._batches = self._batches, {}
        return past

    def split(self, data: bytes) -> tuple[list[Part], bytes]:
        """Split bytes into the parts of whole frames and the rest. Raises BrokenFrame."""
        chunk = self._chunks.get(data) or self._old_chunks.get(data)
        if chunk is not None:
            return [chunk], b""
        parts: list[Part] = []
        at = 0
        while True:
            # A known flush is also found between other bytes. A match that is no end of a flush
            # does no harm, for no known chunk ends there.
            if mark := _FLUSH_ENDS.search(data, at):
                end = mark.start() + 2 + data[mark.start() + 1]
                known = data[at:end]
                chunk = self._chunks.get(known) or self._old_chunks.get(known)
                if chunk is not None:
                    parts.append(chunk)
                    at = end
                    continue
            part, size = self._first(data, at)
            if part is None:
                return parts, data[at:]
            parts.append(part)
            at += size

    def _first(self, data: bytes, begin: int) -> tuple[Part | None, int]:
        """Return the first part and its size in bytes; None if its frame is not whole."""
        batches: list[Batch] = []
        at, flush = begin, 0
        end = len(data)
        while end - at >= 2 and not flush:
            first, size = data[at], data[at + 1]
            start = at + 2
            if size >= 126:
                width = 2 if size == 126 else 8
                start += width
                if start > end:
                    break
                size = int.from_bytes(data[at + 2 : start], "big")
            if start + size > end:
                break
            message = first == 0x80 | BINARY and size >= 2
            kind = data[start + 1] if message else 0
            if kind == BATCH:
                batches.append(self._batch(data[start : start + size]))
            elif kind == FLUSH:
                flush = msgpack.unpackb(data[start : start + size])[1]
            elif batches:
                break
            else:
                payload = data[start : start + size]
                return payload if message else control(first, payload), start + size - begin
            at = start + size
        if at == begin:
            return None, 0
        chunk = Chunk(batches, flush, at - begin)
        self._chunks[data[begin:at]] = chunk
        return chunk, at - begin

    def _batch(self, payload: bytes) -> Batch:
        batch = self._batches.get(payload) or self._old_batches.get(payload)
        if batch is None:
            batch = self._batches[payload] = Batch(msgpack.unpackb(payload))
            self._learn(batch)
        return batch


def control(first: int, payload: bytes) -> bytes:
    """Return a control frame's opcode and payload; `first` is its first byte.

    Raises BrokenFrame.
    """
    opcode = first & 15
    if not first & 0x80 or first & 0x70 or opcode not in (CLOSE, WS_PING, WS_PONG):
        raise BrokenFrame(f"the server sent a frame that begins with {first:#x}")
    return bytes((opcode,)) + payload
