"""A connection to a Flatlands server for bots, written from docs/protocol.md alone.

It needs msgpack (pip install msgpack), and nothing else that does not come with Python. It keeps
the players that its own player can see, and leaves out what bots seldom need: gems, cairns, the
ember, coming back after a lost connection, and the ground. It does not remember who has left, nor
draw anybody on after a leave, so players who go from one square to another may flicker, above all
between two servers.
"""

import base64
import math
import os
import select
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import msgpack

HELLO, GO, SAY, PING, ACK, DO = 1, 3, 6, 7, 14, 35
WELCOME, HELD, SNAPSHOT, FLUSH, RESYNC, ERROR = 16, 18, 19, 21, 22, 24
ENTER, LEAVE, GONE, SAID, EMOTED = 0, 2, 3, 4, 5

#: Units of a tile; seconds between two acknowledgements, of which each fifth is a ping; those
#: without a message after which the connection is dead, and those for which it waits for a message
#: before a bot has its turn.
UNIT, ACK_EVERY, PING_EACH, PATIENCE, TURN = 1024, 1.0, 5, 15.0, 0.25

RECORDS = struct.Struct("<BBBhhhhh"), struct.Struct("<HBBhhhhh")
#: A sketch after its slot.
SKETCH = struct.Struct("<BBBbb")


class Player:
    """A player in view. `clockwork` says whether it is a computer player of the server."""

    def __init__(self, id: int) -> None:
        self.id, self.seq, self.name, self.clockwork = id, -1, "", id < 65536
        #: How fast it is, in percent.
        self.pace = 100
        #: What it is called in records: square, source and slot.
        self.called: tuple[Any, ...] = ()
        #: x, y, dx, dy in units; when it began in ms of node time, and how long it lasts.
        self.track = (0, 0, 0, 0, 0.0, 0.0)

    def at(self, now: float) -> tuple[float, float]:
        """Return where it is at a node time, in tiles."""
        x, y, dx, dy, start, lasts = self.track
        part = min(max((now - start) / lasts, 0.0), 1.0) if lasts else 1.0
        return (x + dx * part) / UNIT, (y + dy * part) / UNIT


def _way(steps: int) -> int:
    """Return how far so many steps of a sketch lead, in units."""
    far = abs(steps) if abs(steps) <= 64 else 64 + (abs(steps) - 64) * 8
    return far * 64 if steps >= 0 else -far * 64


class World:
    """One player in the world at `url`, such as http://localhost:8000, under a name."""

    def __init__(self, url: str, name: str, width: int = 40, height: int = 25) -> None:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port or 80
        self.players: dict[int, Player] = {}
        self._called: dict[tuple[Any, ...], Player] = {}
        self._socket = socket.create_connection((host, port), timeout=PATIENCE)
        self._bytes, self._offset, self._flush, self._n = b"", 0.0, 0, 0
        self._acks, self._acked, self._heard = 0, 0.0, time.monotonic()
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            (
                f"GET {parts.path.rstrip('/')}/ws HTTP/1.1\r\nHost: {parts.netloc}\r\n"
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: flatlands\r\n\r\n"
            ).encode()
        )
        while b"\r\n\r\n" not in self._bytes:
            self._receive()
        head, self._bytes = self._bytes.split(b"\r\n\r\n", 1)
        if not head.startswith(b"HTTP/1.1 101"):
            raise ConnectionError(head.decode().partition("\r\n")[0])
        self.send(HELLO, 3, name, width, height, None, None, None, None)
        welcome = next(message for message in self._messages() if message[0] == WELCOME)
        _, _, self.id, now, self.seed, _, _, self.side, self.speed, self.diagonal, *_ = welcome
        self._offset = now - time.monotonic() * 1000

    # What a bot does.

    def send(self, *message: Any) -> None:
        """Send any message of section 2 of docs/protocol.md."""
        self._frame(2, msgpack.packb(message))

    def say(self, text: str) -> None:
        """Say something to all whose screens cover this place: up to 120 characters."""
        self.send(SAY, text[:120])

    def emote(self, emote: int = 1) -> None:
        """Make an emote: 1 is a wave."""
        self.send(DO, "emote", [emote])

    def go(self, x: float, y: float) -> None:
        """Walk straight to a place, in tiles."""
        self._n += 1
        self.send(GO, self._n, int(self.now()), round(x * UNIT), round(y * UNIT))

    def now(self) -> float:
        """Return node time in ms, about."""
        return time.monotonic() * 1000 + self._offset

    def place(self, id: int | None = None) -> tuple[float, float]:
        """Return where a player, or this one, is, in tiles."""
        return self.players[self.id if id is None else id].at(self.now())

    # What it is told.

    def events(self) -> Iterator[tuple[str, Player, Any]]:
        """Yield for ever what happens in view, as (what, player, more), to others than this one.

        `what` is "came" and "went" when a player comes into view and goes out of it, "said" (`more`
        is the text), "emoted" (its number), or "" about once a second, with its own player, so that
        a bot has its turn also when nothing happens.
        """
        for message in self._messages():
            kind = message[0]
            before = dict(self.players)
            news = self._apply(message)
            news += [("came", p, None) for id, p in self.players.items() if id not in before]
            news += [("went", p, None) for id, p in before.items() if id not in self.players]
            yield from (event for event in news if event[1].id != self.id)
            if kind == FLUSH:
                self._flush = message[1]
            if time.monotonic() - self._acked > ACK_EVERY and self.id in self.players:
                self._acked = time.monotonic()
                # A ping acknowledges the last flush too, at twice the cost, and is answered at
                # once: so a dead connection is noticed.
                self.send(*((ACK,) if self._acks % PING_EACH else (PING, 0)), self._flush)
                self._acks += 1
                yield "", self.players[self.id], None

    def _apply(self, message: list[Any]) -> list[tuple[str, Player, Any]]:
        kind, *fields = message
        if kind == ERROR and fields[0] != "flood":
            print("The server says:", fields[1])
        elif kind == RESYNC:
            self.players.clear()
            self._called.clear()
            # Flushes may be numbered anew.
            self._flush = 0
        elif kind == HELD:
            c0, r0, c1, r1 = fields[:4]
            for player in list(self.players.values()):
                column, row = player.called[0]
                if not (c0 <= column <= c1 and r0 <= row <= r1):
                    self._forget(player)
        elif kind == SNAPSHOT:
            column, row, sent, entries = fields[:4]
            there = {entry[2] for entry in entries}
            for player in list(self.players.values()):
                if player.called[0] == (column, row) and player.id not in there:
                    self._forget(player)
            for source, *entry in entries:
                self._enter((column, row), source, sent, entry)
        elif kind == FLUSH:
            _, now, batches, *crowds = fields
            news = [one for batch in batches for one in self._batch(now, *batch)]
            for crowd in crowds[0] if crowds else ():
                self._crowd(now, *crowd)
            return news
        return []

    def _batch(
        self,
        now: float,
        column: int,
        row: int,
        source: int,
        ago: int,
        tracks: bytes = b"",
        others: Any = (),
        _replaced: int = 0,
        wide: bytes = b"",
        *_more: Any,
    ) -> Iterator[tuple[str, Player, Any]]:
        square, sent = (column, row), now - ago
        middle = [(n * self.side + self.side // 2) * UNIT for n in square]
        for form, records in zip(RECORDS, (tracks, wide), strict=True):
            for slot, seq, _, x, y, dx, dy, age in form.iter_unpack(records):
                player = self._called.get((square, source, slot))
                if player is not None and 0 < (seq - player.seq) & 255 < 128:
                    player.seq += (seq - player.seq) & 255
                    self._follow(player, x + middle[0], y + middle[1], dx, dy, sent - age)
        for event in others:
            kind, *fields = event
            player = self.players.get(fields[0]) if fields else None
            if kind == ENTER:
                self._enter(square, source, sent, event)
            elif kind in (SAID, EMOTED) and player is not None:
                yield "said" if kind == SAID else "emoted", player, event[2]
            elif kind in (LEAVE, GONE) and player is not None and event[2] > player.seq:
                self._forget(player)

    def _crowd(self, now: float, column: int, row: int, _replaced: int, *rest: Any) -> None:
        """Take the moves of a crowd, which come as sketches."""
        span = self.side * UNIT
        for source, data in zip(rest[::2], rest[1::2], strict=True):
            slot, at = -1, 0
            while at < len(data):
                slot, at = slot + (data[at] or 255), at + 1
                if not data[at - 1]:
                    continue
                marks, px, py, sx, sy = SKETCH.unpack_from(data, at)
                at += SKETCH.size
                player = self._called.get(((column, row), source, slot))
                if player is not None and 0 < (marks - player.seq) & 15 < 8:
                    player.seq += (marks - player.seq) & 15
                    x, y = (
                        n * span + (2 * p + 1) * span // 512 for n, p in ((column, px), (row, py))
                    )
                    self._follow(player, x, y, _way(sx), _way(sy), now)

    def _enter(self, square: tuple[int, int], source: int, sent: float, event: Any) -> None:
        _, id, seq, _, name, _, slot, x, y, dx, dy, age, _look, pace = event[:14]
        player = self.players.setdefault(id, Player(id))
        if seq < player.seq:
            return
        self._called.pop(player.called, None)
        player.seq, player.name, player.pace = seq, name, pace
        player.called = square, source, slot
        self._called[player.called] = player
        span = self.side * UNIT
        self._follow(player, x + square[0] * span, y + square[1] * span, dx, dy, sent - age)

    def _follow(self, player: Player, x: int, y: int, dx: int, dy: int, start: float) -> None:
        far, speed = (
            (abs(dx), self.diagonal) if abs(dx) == abs(dy) else (math.hypot(dx, dy), self.speed)
        )
        player.track = x, y, dx, dy, start, far * 100_000 / (speed * player.pace)

    def _forget(self, player: Player) -> None:
        del self.players[player.id]
        self._called.pop(player.called, None)

    # The WebSocket: RFC 6455, as far as the server needs it.

    def _messages(self) -> Iterator[list[Any]]:
        """Yield what the server sends, and [-1] whenever nothing has come for a moment."""
        while True:
            opcode, payload = self._next_frame()
            if opcode == 2:
                yield msgpack.unpackb(payload)
            elif opcode == -1:
                yield [-1]
            elif opcode == 9:
                self._frame(10, payload)
            elif opcode == 8:
                raise ConnectionError(f"the server hung up: {payload[2:].decode()}")

    def _next_frame(self) -> tuple[int, bytes]:
        while True:
            data = self._bytes
            at, size = 2, data[1] if len(data) > 1 else 0
            if size > 125:
                at = 4 if size == 126 else 10
                size = int.from_bytes(data[2:at], "big")
            if len(data) >= at and len(data) >= at + size:
                self._bytes = data[at + size :]
                return data[0] & 15, data[at : at + size]
            if not self._receive():
                return -1, b""

    def _frame(self, opcode: int, payload: bytes) -> None:
        """Send a frame, masked as a client's frames must be."""
        key, size = os.urandom(4), len(payload)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        masked = bytes(byte ^ key[at % 4] for at, byte in enumerate(payload))
        self._socket.sendall(bytes([0x80 | opcode]) + length + key + masked)

    def _receive(self) -> bool:
        """Wait for bytes for a moment; return whether some came."""
        now = time.monotonic()
        if not select.select([self._socket], [], [], TURN)[0]:
            if now - self._heard > PATIENCE:
                raise ConnectionError("the server does not answer any more")
            return False
        self._heard = now
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionError("the server hung up")
        self._bytes += data
        return True
