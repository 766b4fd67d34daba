"""A player that is a program: it walks, speaks and does what the game lets players do.

It and wire.py, which reads what the server sends, are written from docs/protocol.md alone. The two
need only msgpack and what comes with Python, so they may be copied. It knows the players in view
with their values, the things that lie there, and the cells, but not the ground.
"""

import math
import os
import random
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from runpy import run_path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgpack

from flatlands import wire

#: The schemes of URLs, with the ports that they mean.
PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}

#: Close codes after which it does not come back: that would not help, or another client plays it.
REFUSED = {1002, 1003, 1007, 1008, 1009, 4001}

#: Ids below it are those of movers of the game.
FIRST_PERSON_ID = 2**31

#: The messages about the bot itself.
OWN = ("message", "error")

#: The pause before a bot comes back after a lost connection. It is twice as long after each attempt
#: that fails.
RECONNECT_SECONDS = 0.5
#: It waits no longer before an attempt.
RECONNECT_SECONDS_MOST = 8.0

#: The units of a tile.
UNIT = 1024
#: The interval at which a bot acknowledges flushes.
ACK_EVERY_SECONDS = 1.0
#: One acknowledgement in this many is a ping.
ACKS_PER_PING = 5
#: A connection on which nothing comes for this long is dead.
SILENCE_SECONDS = 15.0
#: The time for which a bot waits for a message before it has its turn.
TURN_SECONDS = 0.25

#: A key that was refused as one too many (`keys`) is sent again after this many seconds, or up to
#: twice as many.
KEY_AGAIN = 10.0

#: The most by which a clock drifts between two pings.
DRIFT_MS = 1.0

#: The time for which a player that left for a held square is drawn on without its enter.
IN_TRANSIT_MS = 2000
#: The time for which the seq of a player that was removed is remembered.
REMOVED_MS = 10_000


class Refused(Exception):
    """The server does not let the bot play; the text says why."""


class Player:
    """A player or mover in view. `type` is the name of the kind of a mover, and "" for a player.
    `values` are those that the game gives it."""

    def __init__(self, id: int) -> None:
        self.id, self.seq, self.ack, self.name = id, -1, 0, ""
        self.type = ""
        #: Whether its connection is lost, how it looks, and how fast it is, in percent.
        self.dimmed, self.look, self.pace = False, 0, 100
        self.values: dict[str, Any] = {}
        #: The square in which it is, and by what records name it: square, source and slot.
        self.square, self.record_key = (0, 0), ((0, 0), 0, -1)
        #: x, y, dx, dy in units; when it began in ms of node time, and how long it lasts.
        self.track: tuple[int, ...] = (0, 0, 0, 0, 0, 0)

    def __repr__(self) -> str:
        return f"Player({self.id}, {self.type or self.name!r}, {self.values})"

    def at(self, now: float) -> tuple[float, float]:
        """Return where it is at a node time, in tiles."""
        x, y, dx, dy, start, lasts = self.track
        part = min(max((now - start) / lasts, 0.0), 1.0) if lasts else 1.0
        return (x + dx * part) / UNIT, (y + dy * part) / UNIT


#: What has happened, as `Bot.events` yields it.
News = tuple[str, Player, Any]


class Thing:
    """A thing that lies in view: the name of its kind, its id, the middle of its tile, in tiles,
    and its values."""

    def __init__(self, type: str, id: str, x: float, y: float, values: dict[str, Any]) -> None:
        self.type, self.id, self.x, self.y, self.values = type, id, x, y, values

    def __repr__(self) -> str:
        return f"Thing({self.type!r}, {self.id!r}, {self.x}, {self.y}, {self.values})"


class BaseBot:
    """A player as its client has it: what it does, and what it sees. Subclasses join it to a
    server, and define `send` and `now`."""

    def __init__(self, name: str, ticket: str = "") -> None:
        self.name, self._ticket, self._key = name, ticket, os.urandom(16).hex()
        self._token: str | None = None
        #: The id of its player, the number of its last walk, and what was known of it last.
        self.id, self._n, self._own = 0, 0, Player(0)
        #: The players in view, and the movers, by their ids; and both.
        self.players: dict[int, Player] = {}
        self.movers: dict[int, Player] = {}
        self._known: dict[int, Player] = {}
        self._track_reader = wire.TrackReader()
        #: Whatever a bot wants to remember.
        self.notes: dict[str, Any] = {}
        #: What lies in each held square; and cells, by layer and square.
        self._things: dict[tuple[int, int], list[Thing]] = {}
        self._cells: dict[tuple[int, int, int], bytearray] = {}
        #: The players by what records name them; the ids of those that left for a held square, and
        #: until when they are drawn on; and of those that were removed, with the seq that is
        #: remembered, and until when. The earliest come first.
        self._by_record_key: dict[tuple[wire.Square, int, int], Player] = {}
        self._leaving: dict[int, float] = {}
        self._removed: dict[int, tuple[int, float]] = {}
        #: The columns and rows of the squares that it holds: c0, r0, c1, r1.
        self.held: tuple[int, int, int, int] | None = None

    # What it does.

    def send(self, *message: object) -> None:
        """Send any message of section 2 of docs/protocol.md."""
        raise NotImplementedError

    def now(self) -> float:
        """Return the approximate node time in ms."""
        raise NotImplementedError

    def _greet(self, width: int, height: int) -> None:
        """Begin to play, or come back, with a screen of `width` x `height` tiles."""
        self._n = 0
        if self._ticket:
            self.send(wire.TICKET, self._ticket)
        place: tuple[int | None, ...] = None, None
        if self._token is not None:
            # A server that was killed has published nothing of where its players were.
            place = tuple(round(n * UNIT) for n in self._own.at(self.now()))
        self.send(wire.KEY, self._key)
        hello = wire.HELLO, wire.VERSION, self.name, width, height
        self.send(*hello, self._token, None, *place)

    def _begin(self, welcome: list[Any]) -> None:
        """Apply the welcome."""
        _, _, self.id, _, self.seed, x, y, self.side, speed, diagonal, *rest = welcome
        self._track_reader.set(self.side, speed, diagonal)
        self._own = Player(self.id)
        self._own.track = x, y, 0, 0, 0, 0
        #: (what, number) -> the name of a kind of the game, and those of its fields.
        self._kinds = {(what, number): (name, names) for what, number, name, names in rest[5]}

    def say(self, text: str) -> None:
        """Say something to all whose screens cover this place: up to 120 characters."""
        self.send(wire.SAY, text[:120])

    def do(self, action: str, *fields: object) -> None:
        """Ask for an action of the game, such as `do("emote", 1)`, a wave, in Flatlands."""
        self.send(wire.DO, action, fields)

    def walk(self, dx: int, dy: int) -> None:
        """Walk in a direction, each part -1, 0 or 1, until the next call; (0, 0): stand."""
        self._n += 1
        self.send(wire.WALK, self._n, int(self.now()), dx, dy)

    def go(self, x: float, y: float) -> None:
        """Walk straight to a place, in tiles."""
        self._n += 1
        self.send(wire.GO, self._n, int(self.now()), round(x * UNIT), round(y * UNIT))

    # What it sees.

    def place(self, id: int | None = None) -> tuple[float, float]:
        """Return where a player or mover in view, or this player, is, in tiles. Raises KeyError."""
        player = self._own if id in (None, self.id) else self._known[id]
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

    # What it receives.

    def _take(self, message: list[Any]) -> list[News]:
        """Apply a message; return what has happened, as `Bot.events` yields it."""
        before = dict(self.players)
        self._expire()
        news = self._apply(message)
        news += [("came", p, None) for id, p in self.players.items() if id not in before]
        news += [("went", p, None) for id, p in before.items() if id not in self.players]
        self._own = self.me or self._own
        # About itself it gets only messages of the game.
        return [event for event in news if event[1].id != self.id or event[0] in OWN]

    def _apply(self, message: Sequence[Any]) -> list[News]:
        kind, *fields = message
        if kind == wire.ERROR:
            return [("error", self.me or Player(self.id), tuple(fields[:2]))]
        if kind == wire.MESSAGE:
            return [("message", self.me or Player(self.id), (fields[0], fields[1]))]
        if kind in (wire.SNAPSHOT, wire.THINGS, wire.CELLS) and not self._holds(fields):
            return []
        if kind == wire.TOKEN:
            self._token = fields[0]
        elif kind == wire.THINGS:
            self._set_things(*fields)
        elif kind == wire.CELLS:
            self._write(*fields[:5])
        elif kind == wire.RESYNC:
            self._forget_all()
        elif kind == wire.HELD:
            self._hold(*fields[:4])
        elif kind == wire.SNAPSHOT:
            self._show(*fields[:4])
        elif kind == wire.FLUSH:
            _, now, batches, crowds = wire.read_flush(message)
            return self._apply_flush(
                [wire.BatchMessage(tuple(batch), now) for batch in batches],
                [wire.CrowdMessage(tuple(crowd), now) for crowd in crowds],
            )
        return []

    def _holds(self, square: Sequence[int]) -> bool:
        c0, r0, c1, r1 = self.held or (0, 0, -1, -1)
        return c0 <= square[0] <= c1 and r0 <= square[1] <= r1

    def _hold(self, c0: int, r0: int, c1: int, r1: int) -> None:
        self.held = c0, r0, c1, r1
        for player in list(self._known.values()):
            if not self._holds(player.square):
                self._forget(player)
        for square in [at for at in self._things if not self._holds(at)]:
            del self._things[square]
        for place in [at for at in self._cells if not self._holds(at[1:])]:
            del self._cells[place]

    def _show(self, column: int, row: int, sent: int, entries: Sequence[Any]) -> None:
        """Apply a snapshot."""
        for entry in entries:
            self._enter((column, row), entry[0], sent, wire.Enter.read(entry, 2), again=True)
        stay = self._leaving.keys() | {entry[2] for entry in entries}
        for player in list(self._known.values()):
            if player.square == (column, row) and player.id not in stay:
                self._forget(player)

    def _apply_flush(
        self, batches: Iterable[wire.BatchMessage], crowds: Iterable[wire.CrowdMessage]
    ) -> list[News]:
        """Apply what a flush brings."""
        news = [one for batch in batches for one in self._batch(batch)]
        for crowd in crowds:
            for source, sketch in crowd.sketches if self._holds(crowd.square) else ():
                player = self._by_record_key.get((crowd.square, source, sketch[0]))
                if player is not None and 0 < (sketch[1] - player.seq) & 15 < 8:
                    player.seq += (sketch[1] - player.seq) & 15
                    player.ack += ((sketch[1] >> 4) - player.ack) & 15
                    track = self._track_reader.track_of_sketch(
                        crowd.square, crowd.sent, sketch, player.pace
                    )
                    player.track = track
        return news

    def _batch(self, batch: wire.BatchMessage) -> Iterator[News]:
        square, source, sent = batch.square, batch.source, batch.sent
        if not self._holds(square):
            return
        for record in batch.records:
            player = self._by_record_key.get((square, source, record[0]))
            if player is not None and 0 < (record[1] - player.seq) & 255 < 128:
                player.seq += (record[1] - player.seq) & 255
                player.ack += (record[2] - player.ack) & 255
                player.track = self._track_reader.track_of_record(square, sent, record, player.pace)
        for event in batch.others:
            kind, *fields = event
            player = self._known.get(fields[0]) if fields else None
            if kind == wire.ENTER:
                self._enter(square, source, sent, wire.Enter.read(event))
            elif kind == wire.SAY_EVENT and player is not None:
                yield "said", player, event[2]
            elif ("event", kind) in self._kinds and player is not None:
                name, names = self._kinds["event", kind]
                yield name, player, dict(zip(names, event[2:], strict=False))
            elif kind in (wire.LEAVE, wire.GONE) and (player is None or event[2] > player.seq):
                self._leave(player, event)

    def _enter(
        self,
        square: wire.Square,
        source: int,
        sent: int,
        enter: wire.Enter,
        *,
        again: bool = False,
    ) -> None:
        """Apply an enter, or, with `again`, an entry of a snapshot."""
        removed, until = self._removed.get(enter.id, (-1, 0.0))
        if enter.seq <= removed and self.now() < until:
            return
        player = self._known.get(enter.id)
        if player is None:
            player = self._known[enter.id] = Player(enter.id)
            mover = self._kinds.get(("mover", enter.values[0])) if enter.values else None
            if enter.id < FIRST_PERSON_ID and mover is not None:
                player.type = mover[0]
            (self.movers if player.type else self.players)[enter.id] = player
        elif enter.seq < player.seq or (enter.seq == player.seq and not again):
            return
        self._free_record_key(player)
        player.seq, player.ack, player.name, player.dimmed = enter[1:5]
        player.look, player.pace = enter.look, enter.pace
        player.square, player.record_key = square, (square, source, enter.slot)
        self._by_record_key[player.record_key] = player
        if player.type:
            _, names = self._kinds["mover", enter.values[0]]
            player.values = dict(zip(names, enter.values[2:], strict=False))
        else:
            _, names = self._kinds.get(("player", 0), ("", []))
            player.values = dict(zip(names, enter.values, strict=False))
        player.track = self._track_reader.track_of_enter(square, sent, enter)

    def _leave(self, player: Player | None, event: Sequence[Any]) -> None:
        kind, id, seq, *to = event
        if player is not None and kind == wire.LEAVE and self._holds(to):
            self._free_record_key(player)
            player.seq, player.square = seq, (to[0], to[1])
            self._leaving[id] = self.now() + IN_TRANSIT_MS
            return
        if player is not None:
            self._forget(player)
        before, _ = self._removed.pop(id, (0, 0.0))
        self._removed[id] = max(seq, before), self.now() + REMOVED_MS

    def _expire(self) -> None:
        """Forget whose time is over."""
        if not self._leaving and not self._removed:
            return
        now = self.now()
        for id in [id for id, until in self._leaving.items() if until <= now]:
            self._forget(self._known[id])
        while self._removed and next(iter(self._removed.values()))[1] <= now:
            del self._removed[next(iter(self._removed))]

    def _forget_all(self) -> None:
        for known in (self._known, self.players, self.movers):
            known.clear()
        for records in (self._by_record_key, self._leaving, self._removed):
            records.clear()
        for held in (self._things, self._cells):
            held.clear()
        self.held = None

    def _forget(self, player: Player) -> None:
        for known in (self._known, self.players, self.movers):
            known.pop(player.id, None)
        self._free_record_key(player)

    def _free_record_key(self, player: Player) -> None:
        """Let no record name a player any more."""
        self._leaving.pop(player.id, None)
        if self._by_record_key.get(player.record_key) is player:
            del self._by_record_key[player.record_key]

    def _set_things(self, column: int, row: int, things: list[Any], *_more: object) -> None:
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
        known = self._cells.get((layer, column, row))
        if known is None:
            known = self._cells[layer, column, row] = bytearray(self.side**2)
        if whole:
            known[:] = values
        else:
            for at in range(0, len(values), 3):
                known[values[at] + 256 * values[at + 1]] = values[at + 2]


class Bot(BaseBot):
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
        self._waiting: list[News] = []
        self._left, self._offset = False, 0.0
        self._connect()

    def _connect(self, elsewhere: SplitResult | None = None) -> None:
        """Begin to play, or continue with the same player, here or `elsewhere`."""
        url = elsewhere or self._url
        host, port = url.hostname or "localhost", PORTS[url.scheme]
        self._socket = socket.create_connection((host, url.port or port), timeout=SILENCE_SECONDS)
        secure = port == PORTS["https"]
        if secure:
            self._socket = wire.tls_context("checked").wrap_socket(
                self._socket, server_hostname=host
            )
        self._bytes, self._flush = b"", 0
        self._acks, self._acked, self._heard = 0, 0.0, time.monotonic()
        # A full server lets in only who may have a place there.
        path = f"{url.path.rstrip('/')}/ws{'' if self._token is None else '?back'}"
        called = wire.host_header(host, url.port or port, secure)
        self._socket.sendall(wire.upgrade_request(called, path, login=wire.basic_auth(url)))
        while b"\r\n\r\n" not in self._bytes:
            self._receive()
        head, self._bytes = self._bytes.split(b"\r\n\r\n", 1)
        if not head.startswith(b"HTTP/1.1 101"):
            self._socket.close()
            raise ConnectionError(head.decode().partition("\r\n")[0])
        self._greet(*self._size)
        self._key_at = math.inf
        welcome = next(message for message in self._messages() if message[0] == wire.WELCOME)
        self._forget_all()
        self._begin(welcome)
        #: ms to add to its own clock, and the shortest round trip by which that was measured.
        self._offset, self._trip = welcome[3] - time.monotonic() * 1000, math.inf

    # What a bot does.

    def send(self, *message: object) -> None:
        """Send any message of section 2 of docs/protocol.md. It is lost if the connection is."""
        try:
            self._frame(msgpack.packb(message))
        except OSError:
            # The reader of the connection finds it lost too, and comes back.
            self._socket.close()

    def leave(self) -> None:
        """Leave for good: `events` ends."""
        self._left = True
        with suppress(OSError):
            # Without a connection it has left already.
            self._frame((1000).to_bytes(2, "big"), wire.CLOSE)
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

    # What it receives.

    def events(self) -> Iterator[News]:
        """Yield what happens in view, as (what, player, more), until it leaves.

        `what` is "came" and "went" when another player comes into view and goes out of it, "said"
        (`more` is the text), "message" (its own player; `more` is the name and the fields), "error"
        (the code and the sentence), the name of a kind of events that the game has (its values),
        "back" when it has come back after a lost connection, or "" some four times a second, with
        its own player, so that a bot has its turn even when nothing happens. Raises Refused.
        """
        some = self._events()
        while not self._left:
            waiting, self._waiting = self._waiting, []
            yield from waiting
            yield from next(some, ())

    def _events(self) -> Iterator[list[News]]:
        """Yield the same, in lists: the events of one message, or none if no message has come."""
        messages, wait, turn = self._messages(), RECONNECT_SECONDS, 0.0
        while not self._left:
            try:
                message = next(messages)
                wait = RECONNECT_SECONDS
            except OSError:
                yield self._return(wait)
                messages, wait = self._messages(), min(2 * wait, RECONNECT_SECONDS_MOST)
                continue
            news, own = self._take(message), self.me
            if message[0] == wire.MOVED and self._move(urlsplit(message[1])):
                messages = self._messages()
            elif message[0] == wire.FLUSH:
                self._flush = message[1]
            elif message[0] == wire.RESYNC:
                # The numbers of flushes may start over.
                self._flush = 0
            elif message[0] == wire.PONG:
                self._set_clock(*message[1:3])
            elif message[:2] == [wire.ERROR, "keys"]:
                self._key_at = time.monotonic() + KEY_AGAIN * random.uniform(1, 2)
            if time.monotonic() >= self._key_at:
                self._key_at = math.inf
                self.send(wire.KEY, self._key)
            if time.monotonic() - self._acked > ACK_EVERY_SECONDS and own is not None:
                self._acked = time.monotonic()
                # A ping acknowledges the last flush too, at twice the cost, and is answered at
                # once: so a dead connection is noticed.
                ping = wire.PING, int(self._acked * 1000)
                self.send(*((wire.ACK,) if self._acks % ACKS_PER_PING else ping), self._flush)
                self._acks += 1
            if time.monotonic() - turn >= TURN_SECONDS and own is not None:
                turn = time.monotonic()
                news.append(("", own, None))
            yield news

    def _return(self, wait: float) -> list[News]:
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
        self._trip += DRIFT_MS
        if now - sent <= self._trip:
            self._trip, self._offset = now - sent, answered - (sent + now) / 2

    # The WebSocket.

    def _messages(self) -> Iterator[list[Any]]:
        """Yield what the server sends, and [-1] whenever nothing has come for a moment."""
        while True:
            part = self._next_part()
            first = part[0] if part else -1
            if first == -1:
                yield [-1]
            elif first == wire.WS_PING:
                self._frame(part[1:], wire.WS_PONG)
            elif first == wire.CLOSE:
                code, why = int.from_bytes(part[1:3], "big"), part[3:].decode()
                if code in REFUSED:
                    raise Refused(why)
                raise ConnectionError(f"the server hung up: {why}")
            elif first != wire.WS_PONG:
                yield msgpack.unpackb(part)

    def _next_part(self) -> bytes:
        """Return the next message or control frame, as `wire.frame_payload` does; b"" if none has
        come for a moment."""
        while True:
            data = self._bytes
            for begin, start, end in wire.split_frames(data):
                self._bytes = data[end:]
                return wire.frame_payload(data[begin], data[start:end])
            if not self._receive():
                return b""

    def _frame(self, payload: bytes, opcode: int = wire.BINARY) -> None:
        """Send a frame, with a mask of its own."""
        wire.renew_key()
        self._socket.sendall(wire.client_frame(payload, opcode))

    def _receive(self) -> bool:
        """Wait for bytes for a moment; return whether some came."""
        if self._socket.fileno() < 0:
            raise ConnectionError("the connection was lost while something was sent")
        self._socket.settimeout(TURN_SECONDS)
        try:
            data = self._socket.recv(65536)
        except TimeoutError:
            if time.monotonic() - self._heard > SILENCE_SECONDS:
                raise ConnectionError("the server does not answer any more") from None
            return False
        finally:
            self._socket.settimeout(SILENCE_SECONDS)
        self._heard = time.monotonic()
        if not data:
            raise ConnectionError("the server hung up")
        self._bytes += data
        return True


def turns(turn: Callable[[BaseBot], object]) -> Callable[[Bot], None]:
    """Return a function for `play` that lets a bot play by turns: it calls `turn(bot)` some four
    times a second."""

    def main(bot: Bot) -> None:
        for what, _player, _more in bot.events():
            if what == "":
                turn(bot)

    return main


def bots_of(game: str) -> tuple[Callable[[BaseBot], object] | None, str]:
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
