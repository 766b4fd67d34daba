"""What goes over a bot's socket: RFC 6455 frames, and the messages of docs/protocol.md.

What comes in is cut into frames and decoded once per process, however many bots receive the same
bytes: a flush is the same for all who hold the same squares. It knows nothing of bots.
"""

import base64
import os
from random import getrandbits
from typing import Any

import msgpack
import numpy as np

VERSION = 1
HELLO, WALK, GO, HOME, VIEWPORT, SAY, PING = range(1, 8)
WELCOME, TOKEN, HELD, SNAPSHOT, BATCH, FLUSH, RESYNC, PONG, ERROR, CLOCKS, LINK = range(16, 27)
ENTER, TRACK, LEAVE, GONE, SAID = range(5)

TEXT, BINARY, CLOSE, WS_PING, WS_PONG = 1, 2, 8, 9, 10

#: Intents are numbered by the moment they are due, in us, counted so that none is below this: with
#: it the number in an event (`ack`) tells when its move was due, and that a bot made it.
FIRST_NUMBER = 2**31

_NOTHING = np.empty(0, dtype=np.int64)


def handshake(host: str, port: int, path: str) -> bytes:
    """Return the request that opens a WebSocket."""
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
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
    """Return the frame of a message."""
    return client_frame(msgpack.packb(fields))


class Batch:
    """One square's batch, decoded.

    `due` has the numbers of the bots' moves that it is the first to tell of in this process.
    """

    __slots__ = ("square", "node", "previous", "number", "sent", "replaced", "events", "due")

    def __init__(self, fields: list[Any]) -> None:
        _, column, row, self.node, self.previous, self.number = fields[:6]
        self.sent, self.replaced, self.events = fields[6:9]
        self.square = column, row
        self.due: list[int] = []


class Chunk:
    """Bytes that one read may bring: whole frames, of which some are batches.

    `arrivals` are the moments, in us of the run's clock, at which bots received it.
    """

    __slots__ = ("parts", "batches", "others", "flush", "due", "events", "size", "arrivals")

    def __init__(self, parts: "list[Batch | bytes]", flush: int, size: int) -> None:
        #: In their order: batches, the payloads of all other messages but flushes, and control
        #: frames with their opcode before their payload.
        self.parts = parts
        self.batches = batches = [part for part in parts if isinstance(part, Batch)]
        self.others = [part for part in parts if not isinstance(part, Batch)]
        self.flush = flush
        self.size = size
        self.events = sum(len(batch.events) for batch in batches)
        due = [number for batch in batches for number in batch.due]
        self.due = np.array(due, dtype=np.int64) if due else _NOTHING
        self.arrivals: list[int] = []


class BrokenFrame(ValueError):
    """What the server sent is no frame that a server may send."""


class Reader:
    """Cuts and decodes what comes in, for all bots of a process.

    `learn(batch)` is called once for each distinct batch, and may fill its `due`.
    """

    def __init__(self, learn: Any) -> None:
        self._learn = learn
        # Chunks and batches by their bytes: those of now, and those of a while ago.
        self._chunks: dict[bytes, Chunk] = {}
        self._old_chunks: dict[bytes, Chunk] = {}
        # Those that begin or end within a flush, or hold more than it: they do not come again.
        self._odd: list[Chunk] = []
        self._batches: dict[bytes, Batch] = {}
        self._old_batches: dict[bytes, Batch] = {}

    def turn(self) -> list[Chunk]:
        """Forget what is two turns old; return the chunks that will not come again."""
        past = [*self._old_chunks.values(), *self._odd]
        self._odd = []
        self._old_chunks, self._chunks = self._chunks, {}
        self._old_batches, self._batches = self._batches, {}
        return past

    def take(self, data: bytes) -> tuple[Chunk, bytes]:
        """Return what whole frames `data` begins with, and the rest. Raises BrokenFrame."""
        chunk = self._chunks.get(data) or self._old_chunks.get(data)
        if chunk is not None:
            return chunk, b""
        parts: list[Batch | bytes] = []
        flush = at = 0
        end = len(data)
        while end - at >= 2:
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
            if first != 0x80 | BINARY or size < 2:
                parts.append(control(first, data[start : start + size]))
            else:
                kind = data[start + 1]
                if kind == BATCH:
                    parts.append(self._batch(data[start : start + size]))
                elif kind == FLUSH:
                    flush = msgpack.unpackb(data[start : start + size])[1]
                else:
                    parts.append(data[start : start + size])
            at = start + size
        chunk = Chunk(parts, flush, at)
        if chunk.batches and not chunk.others and at == end:
            self._chunks[data] = chunk
            return chunk, b""
        if chunk.batches:
            self._odd.append(chunk)
        return chunk, data[at:]

    def _batch(self, payload: bytes) -> Batch:
        batch = self._batches.get(payload) or self._old_batches.get(payload)
        if batch is None:
            batch = self._batches[payload] = Batch(msgpack.unpackb(payload))
            self._learn(batch)
        return batch


def control(first: int, payload: bytes) -> bytes:
    """Return a control frame as its opcode and its payload. Raises BrokenFrame."""
    opcode = first & 15
    if not first & 0x80 or first & 0x70 or opcode not in (CLOSE, WS_PING, WS_PONG):
        raise BrokenFrame(f"the server sent a frame that begins with {first:#x}")
    return bytes((opcode,)) + payload
