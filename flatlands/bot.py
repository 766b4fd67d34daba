"""A player that is a program: it walks, speaks and does what the game lets players do.

It is written from docs/protocol.md alone, and needs only msgpack and what comes with Python, so the
file may be copied. It knows the players in view with their values, the things that lie there, and
the cells. It does not know the ground, nor remember who has left, so players that go from one
square to another may flicker, above all between two servers.
"""

import base64
import math
import os
import random
import socket
import ssl
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from runpy import run_path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgpack

#: The schemes of URLs, with the ports that they mean.
PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}

HELLO, WALK, GO, SAY, PING, KEY, ACK, DO, TICKET = 1, 2, 3, 6, 7, 10, 14, 35, 36
WELCOME, TOKEN, HELD, SNAPSHOT, FLUSH, RESYNC, PONG, ERROR = 16, 17, 18, 19, 21, 22, 23, 24
THINGS, TOLD, CELLS, MOVED = 28, 45, 46, 48
ENTER, LEAVE, GONE, SAID = 0, 2, 3, 4

#: Close codes after which it does not come back: that would not help, or another client plays it.
REFUSED = {1002, 1003, 1007, 1008, 1009, 4001}

#: What a bot is told of itself.
OWN = ("told", "error")

#: Seconds until it comes back after a lost connection, doubled each time up to the second number.
AGAIN, AGAIN_MOST = 0.5, 8.0

#: Units of a tile; seconds between two acknowledgements, of which one in this many is a ping;
#: seconds without a message after which the connection is dead; and seconds to wait for a message
#: before a bot has its turn.
UNIT, ACK_EVERY, PING_EACH, PATIENCE, TURN = 1024, 1.0, 5, 15.0, 0.25

#: Seconds, up to twice as many, until a key is sent again that was one too many.
KEY_AGAIN = 10.0

#: ms by which a clock may drift between two pings.
DRIFT = 1.0

RECORDS = struct.Struct("<BBBhhhhh"), struct.Struct("<HBBhhhhh")
#: A sketch after its slot.
SKETCH = struct.Struct("<BBBbb")


class Refused(Exception):
    """The server does not let the bot play; the text says why."""


class Player:
    """A player in view. `values` are those that the game gives it, and `clockwork` says whether it
    is a computer player of the server."""

    def __init__(self, id: int) -> None:
        self.id, self.seq, self.name, self.clockwork = id, -1, "", id < 65536
        #: How fast it is, in percent.
        self.pace = 100
        self.values: dict[str, Any] = {}
        #: What it is called in records: square, source and slot.
        self.called: tuple[Any, ...] = ()
        #: x, y, dx, dy in units; when it began in ms of node time, and how long it lasts.
        self.track = (0, 0, 0, 0, 0.0, 0.0)

    def at(self, now: float) -> tuple[float, float]:
        """Return where it is at a node time, in tiles."""
        x, y, dx, dy, start, lasts = self.track
        part = min(max((now - start) / lasts, 0.0), 1.0) if lasts else 1.0
        return (x + dx * part) / UNIT, (y + dy * part) / UNIT


class Thing:
    """A thing that lies in view: the name of its kind, its id, the middle of its tile, in tiles,
    and its values."""

    def __init__(self, type: str, id: str, x: float, y: float, values: dict[str, Any]) -> None:
        self.type, self.id, self.x, self.y, self.values = type, id, x, y, values


def _holds(rect: Sequence[int], square: Sequence[int]) -> bool:
    """Return whether a square is one of those of a *held* message."""
    return rect[0] <= square[0] <= rect[2] and rect[1] <= square[1] <= rect[3]


def _way(steps: int) -> int:
    """Return how far this many steps of a sketch lead, in units."""
    far = abs(steps) if abs(steps) <= 64 else 64 + (abs(steps) - 64) * 8
    return far * 64 if steps >= 0 else -far * 64


class Playing:
    """A player as its client has it: what it does, and what it sees. Subclasses join it to a
    server, and define `send` and `now`."""

    def __init__(self, name: str, ticket: str = "") -> None:
        self.name, self._ticket, self._key = name, ticket, os.urandom(16).hex()
        self._token: str | None = None
        #: The id of its player, the number of its last walk, and what was known of it last.
        self.id, self._n, self._own = 0, 0, Player(0)
        self.players: dict[int, Player] = {}
        #: Whatever a bot wants to remember.
        self.notes: dict[str, Any] = {}
        #: What lies in each held square; and cells, by layer and square.
        self._things: dict[tuple[int, int], list[Thing]] = {}
        self._cells: dict[tuple[int, int, int], bytearray] = {}
        self._called: dict[tuple[Any, ...], Player] = {}

    # What it does.

    def send(self, *message: Any) -> None:
        """Send any message of section 2 of docs/protocol.md."""
        raise NotImplementedError

    def now(self) -> float:
        """Return the approximate node time in ms."""
        raise NotImplementedError

    def _greet(self, width: int, height: int) -> None:
        """Begin to play, or come back, with a screen of `width` x `height` tiles."""
        self._n = 0
        if self._ticket:
            self.send(TICKET, self._ticket)
        place: tuple[int | None, ...] = None, None
        if self._token is not None:
            # A server that was killed has told nobody where its players were.
            place = tuple(round(n * UNIT) for n in self._own.at(self.now()))
        self.send(HELLO, 3, self.name, width, height, self._token, None, *place)
        self.send(KEY, self._key)

    def _begin(self, welcome: list[Any]) -> None:
        """Apply the welcome."""
        _, _, self.id, _, self.seed, x, y, self.side, self.speed, self.diagonal, *rest = welcome
        self._own = Player(self.id)
        self._own.track = x, y, 0, 0, 0.0, 0.0
        #: (what, number) -> the name of a kind of the game, and those of its fields.
        self._kinds = {(what, number): (name, names) for what, number, name, names in rest[5]}

    def say(self, text: str) -> None:
        """Say something to all whose screens cover this place: up to 120 characters."""
        self.send(SAY, text[:120])

    def do(self, action: str, *fields: Any) -> None:
        """Ask for an action of the game, such as `do("emote", 1)`, a wave, in Flatlands."""
        self.send(DO, action, fields)

    def walk(self, dx: int, dy: int) -> None:
        """Walk in a direction, each part -1, 0 or 1, until told otherwise; (0, 0): stand."""
        self._n += 1
        self.send(WALK, self._n, int(self.now()), dx, dy)

    def go(self, x: float, y: float) -> None:
        """Walk straight to a place, in tiles."""
        self._n += 1
        self.send(GO, self._n, int(self.now()), round(x * UNIT), round(y * UNIT))

    # What it sees.

    def place(self, id: int | None = None) -> tuple[float, float]:
        """Return where a player in view, or this one, is, in tiles. Raises KeyError."""
        player = self._own if id in (None, self.id) else self.players[id]
        return player.at(self.now())

    @property
    def me(self) -> Player | None:
        """Its own player, or None for a moment after it has joined."""
        return self.players.get(self.id)

    def things(self, type: str = "") -> list[Thing]:
        """Return the things in view: all, or those of a kind."""
        some = [thing for things in self._things.values() for thing in things]
        return [thing for thing in some if type in ("", thing.type)]

    def cell(self, name: str, column: int, row: int) -> int:
        """Return the value of a tile in a layer of cells: 0 if nobody has written there."""
        numbers = [n for (what, n), (it, _) in self._kinds.items() if (what, it) == ("cells", name)]
        square = column // self.side, row // self.side
        known = self._cells.get((*numbers[:1], *square))
        return known[row % self.side * self.side + column % self.side] if known else 0

    # What it is told.

    def _take(self, message: list[Any]) -> list[tuple[str, Player, Any]]:
        """Apply a message; return what has happened, as `Bot.events` yields it."""
        before = dict(self.players)
        news = self._apply(message)
        news += [("came", p, None) for id, p in self.players.items() if id not in before]
        news += [("went", p, None) for id, p in before.items() if id not in self.players]
        self._own = self.me or self._own
        # Of itself it is told only what the game tells it.
        return [event for event in news if event[1].id != self.id or event[0] in OWN]

    def _apply(self, message: list[Any]) -> list[tuple[str, Player, Any]]:
        kind, *fields = message
        own = self.players.get(self.id, Player(self.id))
        if kind == ERROR:
            return [("error", own, tuple(fields[:2]))]
        if kind == TOLD:
            return [("told", own, (fields[0], fields[1]))]
        if kind == TOKEN:
            self._token = fields[0]
        elif kind in (THINGS, CELLS):
            self._lie(*fields) if kind == THINGS else self._write(*fields[:5])
        elif kind == RESYNC:
            self._forget_all()
        elif kind == HELD:
            for player in list(self.players.values()):
                if not _holds(fields, player.called[0]):
                    self._forget(player)
            for square in [at for at in self._things if not _holds(fields, at)]:
                del self._things[square]
            for place in [at for at in self._cells if not _holds(fields, at[1:])]:
                del self._cells[place]
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
            elif kind == SAID and player is not None:
                yield "said", player, event[2]
            elif ("event", kind) in self._kinds and player is not None:
                name, names = self._kinds["event", kind]
                yield name, player, dict(zip(names, event[2:], strict=False))
            elif kind in (LEAVE, GONE) and player is not None and event[2] > player.seq:
                self._forget(player)

    def _crowd(self, now: float, column: int, row: int, _replaced: int, *rest: Any) -> None:
        """Apply the moves of a crowd, which come as sketches."""
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
        _, id, seq, _, name, _, slot, x, y, dx, dy, age, _look, pace, *more = event
        player = self.players.setdefault(id, Player(id))
        if seq < player.seq:
            return
        self._called.pop(player.called, None)
        player.seq, player.name, player.pace = seq, name, pace
        player.called = square, source, slot
        self._called[player.called] = player
        _, names = self._kinds.get(("player", 0), ("", []))
        player.values = dict(zip(names, more[0] if more else (), strict=False))
        span = self.side * UNIT
        self._follow(player, x + square[0] * span, y + square[1] * span, dx, dy, sent - age)

    def _follow(self, player: Player, x: int, y: int, dx: int, dy: int, start: float) -> None:
        far, speed = (
            (abs(dx), self.diagonal) if abs(dx) == abs(dy) else (math.hypot(dx, dy), self.speed)
        )
        player.track = x, y, dx, dy, start, far * 100_000 / (speed * player.pace)

    def _forget_all(self) -> None:
        for known in (self.players, self._called, self._things, self._cells):
            known.clear()

    def _forget(self, player: Player) -> None:
        del self.players[player.id]
        self._called.pop(player.called, None)

    def _lie(self, column: int, row: int, things: list[Any], *_more: Any) -> None:
        """Apply a message of all that lies in a square."""
        left, top = column * self.side, row * self.side
        found = self._things[column, row] = []
        for kind, *fields in things:
            if ("thing", kind) in self._kinds:
                id, _version, x, y, *values = fields
                type, names = self._kinds["thing", kind]
                named = dict(zip(names, values, strict=False))
                found.append(Thing(type, id, left + x / UNIT, top + y / UNIT, named))

    def _write(self, column: int, row: int, layer: int, whole: bool, values: bytes) -> None:
        """Apply what is written on the tiles of a square."""
        known = self._cells.setdefault((layer, column, row), bytearray(self.side**2))
        if whole:
            known[:] = values
        else:
            for at in range(0, len(values), 3):
                known[values[at] + 256 * values[at + 1]] = values[at + 2]


class Bot(Playing):
    """A player at `url`, such as http://localhost:8000 or https://flatlands.example.org, under a
    name; it sees `width` x `height` tiles. `ticket` is the ticket that a game may ask for. Raises
    OSError if nobody answers there or the certificate is not valid, Bot.Refused, and ValueError."""

    #: What it raises if the server does not let it play. `flatlands.Refused` is for games.
    Refused = Refused

    #: When its key is sent again, by its own clock.
    _key_at = math.inf

    def __init__(
        self, url: str, name: str, width: int = 40, height: int = 25, ticket: str = ""
    ) -> None:
        super().__init__(name, ticket)
        self._url = urlsplit(url)
        if self._url.scheme not in PORTS:
            raise ValueError(f"a bot plays at http://HOST:PORT or https://HOST, and not at {url!r}")
        self._size = width, height
        self._waiting: list[tuple[str, Player, Any]] = []
        self._left, self._offset = False, 0.0
        self._connect()

    def _connect(self, elsewhere: SplitResult | None = None) -> None:
        """Begin to play, or continue with the same player, here or `elsewhere`."""
        url = elsewhere or self._url
        host, port = url.hostname or "localhost", PORTS[url.scheme]
        self._socket = socket.create_connection((host, url.port or port), timeout=PATIENCE)
        if port == PORTS["https"]:
            context = ssl.create_default_context()
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
        self._bytes, self._flush = b"", 0
        self._acks, self._acked, self._heard = 0, 0.0, time.monotonic()
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            (
                f"GET {url.path.rstrip('/')}/ws HTTP/1.1\r\nHost: {url.netloc}\r\n"
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: flatlands\r\n\r\n"
            ).encode()
        )
        while b"\r\n\r\n" not in self._bytes:
            self._receive()
        head, self._bytes = self._bytes.split(b"\r\n\r\n", 1)
        if not head.startswith(b"HTTP/1.1 101"):
            self._socket.close()
            raise ConnectionError(head.decode().partition("\r\n")[0])
        self._greet(*self._size)
        self._key_at = math.inf
        welcome = next(message for message in self._messages() if message[0] == WELCOME)
        self._forget_all()
        self._begin(welcome)
        #: ms to add to its own clock, and the shortest round trip by which that was measured.
        self._offset, self._trip = welcome[3] - time.monotonic() * 1000, math.inf

    # What a bot does.

    def send(self, *message: Any) -> None:
        """Send any message of section 2 of docs/protocol.md. It is lost if the connection is."""
        try:
            self._frame(2, msgpack.packb(message))
        except OSError:
            # The reader of the connection finds it lost too, and comes back.
            self._socket.close()

    def leave(self) -> None:
        """Leave for good: `events` ends."""
        self._left = True
        with suppress(OSError):
            # Without a connection it has left already.
            self._frame(8, (1000).to_bytes(2, "big"))
        self._socket.close()

    def now(self) -> float:
        """Return the approximate node time in ms."""
        return time.monotonic() * 1000 + self._offset

    def wait(self, condition: Callable[[], object], seconds: float = 10.0) -> bool:
        """Play until a condition is true, for `seconds` at most; return whether it is. `events`
        yields afterwards what happens meanwhile."""
        until = time.monotonic() + seconds
        some = self._events()
        while not condition() and not self._left and time.monotonic() < until:
            self._waiting += [event for event in next(some) if event[0] != ""]
        return bool(condition())

    # What it is told.

    def events(self) -> Iterator[tuple[str, Player, Any]]:
        """Yield what happens in view, as (what, player, more), until it leaves.

        `what` is "came" and "went" when another player comes into view and goes out of it, "said"
        (`more` is the text), "told" (its own player; `more` is the name, and the fields), "error"
        (the code, and the sentence), the name of a kind of events that the game has (its values),
        "back" when it has come back after a lost connection, or "" some four times a second, with
        its own player, so that a bot has its turn even when nothing happens. Raises Refused.
        """
        some = self._events()
        while not self._left:
            waiting, self._waiting = self._waiting, []
            yield from waiting
            yield from next(some, ())

    def _events(self) -> Iterator[list[tuple[str, Player, Any]]]:
        """Yield the same, in lists: what one message has told, or nothing if none has come."""
        messages, wait, turn = self._messages(), AGAIN, 0.0
        while not self._left:
            try:
                message = next(messages)
                wait = AGAIN
            except OSError:
                yield self._return(wait)
                messages, wait = self._messages(), min(2 * wait, AGAIN_MOST)
                continue
            news, own = self._take(message), self.me
            if message[0] == MOVED and self._move(urlsplit(message[1])):
                messages = self._messages()
            elif message[0] == FLUSH:
                self._flush = message[1]
            elif message[0] == RESYNC:
                # The numbers of flushes may start over.
                self._flush = 0
            elif message[0] == PONG:
                self._set_clock(*message[1:3])
            elif message[:2] == [ERROR, "keys"]:
                self._key_at = time.monotonic() + KEY_AGAIN * random.uniform(1, 2)
            if time.monotonic() >= self._key_at:
                self._key_at = math.inf
                self.send(KEY, self._key)
            if time.monotonic() - self._acked > ACK_EVERY and own is not None:
                self._acked = time.monotonic()
                # A ping acknowledges the last flush too, at twice the cost, and is answered at
                # once: so a dead connection is noticed.
                ping = PING, int(self._acked * 1000)
                self.send(*((ACK,) if self._acks % PING_EACH else ping), self._flush)
                self._acks += 1
            if time.monotonic() - turn >= TURN and own is not None:
                turn = time.monotonic()
                news.append(("", own, None))
            yield news

    def _return(self, wait: float) -> list[tuple[str, Player, Any]]:
        """Wait for this many seconds, then come back after a lost connection."""
        self._socket.close()
        time.sleep(wait)
        try:
            self._connect()
        except OSError:
            return []
        return [("back", Player(self.id), None)]

    def _move(self, address: SplitResult) -> bool:
        """Continue at another machine, if that lets it in; return whether it did."""
        there = copy(self)
        try:
            # No server can lead a bot away from TLS.
            if PORTS.get(address.scheme, 0) < PORTS[self._url.scheme]:
                return False
            there._connect(address)
        except (OSError, Refused):
            if there._socket is not self._socket:
                there._socket.close()
            return False
        self._socket.close()
        vars(self).update(vars(there))
        return True

    def _set_clock(self, sent: int, answered: int) -> None:
        """Set the clock by a ping that was `sent` by its own clock and `answered` by node time."""
        now = time.monotonic() * 1000
        # Clocks drift, so a longer round trip is as good after some time.
        self._trip += DRIFT
        if now - sent <= self._trip:
            self._trip, self._offset = now - sent, answered - (sent + now) / 2

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
                code, why = int.from_bytes(payload[:2], "big"), payload[2:].decode()
                if code in REFUSED:
                    raise Refused(why)
                raise ConnectionError(f"the server hung up: {why}")

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
        if self._socket.fileno() < 0:
            raise ConnectionError("the connection was lost while something was sent")
        self._socket.settimeout(TURN)
        try:
            data = self._socket.recv(65536)
        except TimeoutError:
            if time.monotonic() - self._heard > PATIENCE:
                raise ConnectionError("the server does not answer any more") from None
            return False
        finally:
            self._socket.settimeout(PATIENCE)
        self._heard = time.monotonic()
        if not data:
            raise ConnectionError("the server hung up")
        self._bytes += data
        return True


def turns(turn: Callable[[Playing], object]) -> Callable[[Bot], None]:
    """Return a function for `play` that lets a bot play by turns: it calls `turn(bot)` some four
    times a second."""

    def main(bot: Bot) -> None:
        for what, _player, _more in bot.events():
            if what == "":
                turn(bot)

    return main


def bots_of(game: str) -> tuple[Callable[[Playing], object] | None, str]:
    """Return the function `turn`, or None, and the TICKET, or "", of a game's bot.py. `game` is a
    path, or the name of a shipped game ("" for Flatlands). Raises what bot.py raises."""
    folder = Path(game) if Path(game).is_dir() else Path(game).parent
    if "/" not in game and not game.endswith(".py") and game not in (".", ".."):
        folder = Path(__file__).parent / "games" / (game or "flatlands")
    path = folder / "bot.py"
    found = run_path(str(path)) if path.is_file() else {}
    return found.get("turn"), found.get("TICKET", "")


def play(name: str, main: Callable[[Bot], object], ticket: str = "") -> None:
    """Let `main(bot)` play with a ticket, at the URL on the command line, or at
    http://localhost:8000. If nobody answers there, if it is refused, and at Ctrl-C, the program
    ends with a sentence."""
    url = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8000"
    try:
        main(Bot(url, name, ticket=ticket))
    except KeyboardInterrupt:
        sys.exit(f"{name} has left.")
    except ConnectionRefusedError as error:
        sys.exit(
            f"Nobody answers at {url} ({error}): start the server first, with `flatlands play`, or "
            "in a clone of Flatlands with `make play`."
        )
    except (OSError, Refused, ValueError) as error:
        sys.exit(f"{name} cannot play at {url}: {error}")
