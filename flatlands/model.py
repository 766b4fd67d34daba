"""A client's beliefs about the world, written from docs/protocol.md, section 5, alone.

They are what the program that judges goes by: tests compare them with what the node holds, and the
swarm's oracle with what other bots did. So it shares no code with the server, nor with wire.py, and
what one of these gets wrong shows as a difference.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isqrt
from typing import Any

#: The time for which the seq of a player that was removed is remembered.
REMOVED_MS = 10_000
#: The time for which a player that left for a held square is drawn on without its enter.
IN_TRANSIT_MS = 2000

#: Ids below it are those of movers of the game.
FIRST_PERSON_ID = 2**31

# The kinds of events.
ENTER = 0
TRACK = 1
LEAVE = 2
GONE = 3
SAID = 4
#: A game's events have kinds from here on, in the order in which it declares them.
FIRST_GAME_EVENT = 5
#: Stands for the kind of an event where a snapshot has an entry of a player.
SNAPSHOT_ENTRY = 9

Square = tuple[int, int]

#: What names a player in records and sketches: square, source and slot.
Place = tuple[Square, int, int]

#: A tile that has changed in a layer of cells.
TILE_VALUE = struct.Struct("<HB")

#: A sketch after its slot.
SKETCH = struct.Struct("<BBBbb")
#: A record of a batch's tracks, with a slot of one byte.
RECORD = struct.Struct("<BBBhhhhh")
#: A record of a batch's tracks, with a slot of two bytes.
WIDE = struct.Struct("<HBBhhhhh")


def duration(dx: int, dy: int, speed: int, diagonal: int, pace: int) -> int:
    """Return how many ms a track lasts, by the speeds that welcome gives, and a player's pace."""
    if abs(dx) == abs(dy):
        return -(-abs(dx) * 1000 // (diagonal * pace // 100))
    return -(-isqrt(dx * dx + dy * dy) * 1000 // (speed * pace // 100))


def sketches(data: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield (slot, fields of its sketch) for each of some joined sketches."""
    slot, at = -1, 0
    while at < len(data):
        slot += data[at] or 255
        if data[at]:
            yield slot, SKETCH.unpack_from(data, at + 1)
            at += SKETCH.size
        at += 1


@cache
def units(steps: int) -> int:
    """Return how far this many steps of a sketch lead, in units."""
    far = abs(steps) if abs(steps) <= 64 else 64 + (abs(steps) - 64) * 8
    return far * 64 if steps >= 0 else -far * 64


@dataclass(slots=True)
class KnownPlayer:
    """A player as the client knows it.

    `place` is that of its last enter or entry, or None since it has left. `track` is (x, y, dx, dy,
    start, duration), in units and ms, and `rough` says that it is from a sketch. `transit` is the
    time at which a player that left for a held square is removed if its enter has not come, and
    `over` the one at which an entry of it came again, or it was removed; or None.
    """

    id: int
    seq: int
    ack: int
    name: str
    dimmed: bool
    track: tuple[int, ...]
    square: Square
    place: Place | None
    look: int = 0
    pace: int = 100
    values: list[object] = field(default_factory=list)
    transit: int | None = None
    rough: bool = False
    over: int | None = None

    def at(self, t: int) -> tuple[int, int]:
        x, y, dx, dy, start, duration = self.track
        passed = min(max(t - start, 0), duration)
        if duration == 0 or passed == duration:
            return x + dx, y + dy
        return x + dx * passed // duration, y + dy * passed // duration


@dataclass
class Model:
    """What a client believes. Times are in ms, of any clock that never runs backwards, except those
    of tracks, which are node time. `chat` has (name of the speaker, text) of each chat message, and
    `game_events` (name, first field) of each event of the game's first kind.

    `removed` is id -> (seq, time until which it is remembered), and `foreign` the number of batches
    of squares that are not held. `places` has the player whose last full entry had a place, also
    for a while after it has left: what it did there may come after what it did in the next square.
    """

    side: int = 16
    speed: int = 5120
    diagonal: int = 3620
    id: int = 0
    held: tuple[int, int, int, int] | None = None
    players: dict[int, KnownPlayer] = field(default_factory=dict)
    removed: dict[int, tuple[int, int]] = field(default_factory=dict)
    places: dict[Place, KnownPlayer] = field(default_factory=dict)
    chat: list[tuple[str, str]] = field(default_factory=list)
    game_events: list[tuple[str, int]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    #: Of the actions that it has asked for: the number of each, and whether it was done.
    answers: list[tuple[int, bool]] = field(default_factory=list)
    token: str | None = None
    welcome: list[Any] = field(default_factory=list)
    #: The number of the last flush, and of the last one that was acknowledged.
    flush: int = 0
    acknowledged: int = 0
    resyncs: int = 0
    foreign: int = 0
    linked: bool = True
    invitation: str | None = None
    #: Who invited it, and whether that player is in play, as in the message `host`.
    host: tuple[str, bool] | None = None
    #: Square -> the things in it, as arrays.
    things: dict[tuple[int, int], list[Any]] = field(default_factory=dict)
    #: (column, row, layer) -> the values of its tiles.
    cells: dict[tuple[int, int, int], bytearray] = field(default_factory=dict)
    #: Name -> the fields of the game's last message with it.
    messages: dict[str, list[object]] = field(default_factory=dict)
    #: The first two fields of each message `found`, which games send whoever has taken a thing: its
    #: id and version.
    found: list[tuple[str, int]] = field(default_factory=list)
    #: The map of everybody: the last `totals`, the grain of the dots, how many fresh pictures came,
    #: dot -> (people, computers, node), and dot -> how many batches were counted so far.
    totals: list[object] | None = None
    grain: int | None = None
    pictures: int = 0
    dots: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    batches: Counter[tuple[int, int]] = field(default_factory=Counter)

    def holds(self, square: Square) -> bool:
        if self.held is None:
            return False
        c0, r0, c1, r1 = self.held
        return c0 <= square[0] <= c1 and r0 <= square[1] <= r1

    # What a subclass may note.

    def note_batch(
        self, square: Square, source: int, sent: int, events: int, replaced: int
    ) -> None:
        """Take a batch that was begun at the node time `sent`; of a crowd, `source` is -1."""

    def note_event(self, kind: int, id: int, seq: int, ack: int) -> None:
        """Take an event of a held square before it is believed or ignored, or what a snapshot says
        of a player: SNAPSHOT_ENTRY, or GONE. `ack` is 0 if the event has none. A sketch that tells
        nothing new is left out."""

    def note_nobody(self) -> None:
        """Take a record or a sketch that names nobody."""

    def apply(self, message: Sequence[Any], now: int) -> None:
        """Apply a message that came at this time."""
        kind, *fields = message
        # What comes most often comes first.
        if kind == 21:
            number, written, batches, crowds = (*fields[:4], [])[:4]
            assert number > self.flush
            self.flush = number
            for batch in batches:
                self._batch(now, written, *batch[:8])
            for crowd in crowds:
                self._crowd(now, written, *crowd)
        elif kind == 46:
            self._cells(*fields[:5])
        elif kind == 16:
            self.welcome, self.id = fields, fields[1]
            self.side, self.speed, self.diagonal = fields[6:9]
            self._forget()
            self.linked = True
        elif kind == 17:
            self.token = fields[0]
        elif kind == 18:
            c0, r0, c1, r1 = fields[:4]
            self.held = c0, r0, c1, r1
            for player in list(self.players.values()):
                if not self.holds(player.square):
                    self._remove(player, now)
            self.places = {at: some for at, some in self.places.items() if self.holds(at[0])}
            self.things = {at: some for at, some in self.things.items() if self.holds(at)}
            self.cells = {at: some for at, some in self.cells.items() if self.holds(at[:2])}
        elif kind == 19:
            column, row, sent, entries = fields[:4]
            self._snapshot(column, row, sent, entries, now)
        elif kind == 22:
            self._forget()
            # Numbers of flushes may start over: the player may have been passed to another worker.
            self.flush = self.acknowledged = 0
            self.resyncs += 1
        elif kind == 24:
            self.errors.append(fields[0])
        elif kind == 26:
            self.linked = fields[0]
        elif kind == 27:
            self.invitation = fields[0]
        elif kind == 28:
            self.things[fields[0], fields[1]] = fields[2]
        elif kind == 45:
            name, values = fields[:2]
            self.messages[name] = values
            if name == "found":
                self.found.append((values[0], values[1]))
        elif kind == 49:
            self.answers.append((fields[0], fields[1]))
        elif kind == 44:
            self.host = (fields[0], fields[1])
        elif kind == 31:
            self.totals = fields
        elif kind == 40:
            self._dots(*fields[:3])

    def _cells(self, column: int, row: int, layer: int, whole: bool, values: bytes) -> None:
        if not self.holds((column, row)):
            self.foreign += 1
            return
        known = self.cells.get((column, row, layer))
        if known is None:
            known = self.cells[column, row, layer] = bytearray(self.side**2)
        if whole:
            assert len(values) == len(known)
            known[:] = values
            return
        for tile, value in TILE_VALUE.iter_unpack(values):
            known[tile] = value

    def _dots(self, grain: int, fresh: bool, patches: list[Any]) -> None:
        if fresh:
            self.grain, self.pictures = grain, self.pictures + 1
            self.dots.clear()
        assert grain == self.grain
        for column, row, flat, *_ in patches:
            for at in range(0, len(flat), 5):
                index, people, computers, node, batches = flat[at : at + 5]
                dot = 4 * column + index % 4, 4 * row + index // 4
                self.batches[dot] += batches
                self.dots.pop(dot, None)
                if people or computers:
                    self.dots[dot] = people, computers, node

    def _forget(self) -> None:
        """Forget everything that is in the world, and what is held."""
        for known in (self.players, self.removed, self.places, self.things, self.cells):
            known.clear()
        self.held = None

    def _remove(self, player: KnownPlayer, now: int) -> None:
        player.place, player.over = None, now
        del self.players[player.id]

    def expire(self, now: int) -> None:
        """Forget what counts only until this time."""
        for player in list(self.players.values()):
            if player.transit is not None and player.transit <= now:
                self._remove(player, now)
        self.removed = {id: known for id, known in self.removed.items() if known[1] > now}

    def _snapshot(self, column: int, row: int, sent: int, entries: Sequence[Any], now: int) -> None:
        square = (column, row)
        assert self.holds(square), f"a snapshot of {square}, which is not held"
        for source, *entry in entries:
            self.note_event(SNAPSHOT_ENTRY, *entry[1:4])
            self._enter(square, sent, source, entry, now, again=True)
        present = {entry[2] for entry in entries}
        for player in list(self.players.values()):
            if player.square == square and player.transit is None and player.id not in present:
                self.note_event(GONE, player.id, player.seq, 0)
                self._remove(player, now)

    def _batch(
        self,
        now: int,
        written: int,
        column: int,
        row: int,
        source: int,
        ago: int,
        tracks: bytes = b"",
        others: Sequence[Any] = (),
        replaced: int = 0,
        wide: bytes = b"",
    ) -> None:
        assert replaced >= 0
        square, sent = (column, row), written - ago
        records = list(RECORD.iter_unpack(tracks))
        if wide:
            records += WIDE.iter_unpack(wide)
        self.note_batch(square, source, sent, len(records) + len(others), replaced)
        if not self.holds(square):
            self.foreign += 1
            return
        half = self.side * 512
        for slot, low_seq, low_ack, x, y, dx, dy, age in records:
            place = square, source, slot
            known = self.places.get(place)
            if known is None or (known.over is not None and known.over + REMOVED_MS < now):
                # After that time the slot may be another's whose enter was lost.
                self.note_nobody()
                continue
            risen = (low_seq - known.seq) % 256
            if risen < 128:
                seq, ack = known.seq + risen, known.ack + (low_ack - known.ack) % 256
            else:
                seq = known.seq - (known.seq - low_seq) % 256
                ack = known.ack - (known.ack - low_ack) % 256
            self.note_event(TRACK, known.id, seq, ack)
            if seq > known.seq and known.place == place:
                at = x + half, y + half, dx, dy, age
                known.seq, known.ack, known.rough = seq, ack, False
                known.track = self._track(square, sent, at, known.pace)
        for event in others:
            kind = event[0]
            if kind == ENTER:
                self.note_event(kind, *event[1:4])
                self._enter(square, sent, source, event, now)
                continue
            known = (
                self.players.get(event[1])
                if kind in (LEAVE, GONE, SAID, FIRST_GAME_EVENT)
                else None
            )
            if kind == SAID:
                if known is not None:
                    self.chat.append((known.name, event[2]))
            elif kind == FIRST_GAME_EVENT:
                if known is not None and len(event) > 2:
                    self.game_events.append((known.name, event[2]))
            elif kind in (LEAVE, GONE):
                self.note_event(kind, event[1], event[2], 0)
                if known is None or event[2] > known.seq:
                    self._leave(known, event, now)

    def _crowd(
        self, now: int, written: int, column: int, row: int, replaced: int, *rest: Any
    ) -> None:
        assert replaced >= 0 and rest
        square = (column, row)
        moves = [
            ((square, source, slot), sketch)
            for source, data in zip(rest[::2], rest[1::2], strict=True)
            for slot, sketch in sketches(data)
        ]
        part = self.side * 1024
        self.note_batch(square, -1, written, len(moves), replaced)
        if not self.holds(square):
            self.foreign += 1
            return
        for place, (marks, px, py, sx, sy) in moves:
            known = self.places.get(place)
            if known is None or (known.over is not None and known.over + REMOVED_MS < now):
                self.note_nobody()
                continue
            risen = (marks - known.seq) % 16
            if not 0 < risen < 8:
                continue
            seq, ack = known.seq + risen, known.ack + (marks // 16 - known.ack) % 16
            self.note_event(TRACK, known.id, seq, ack)
            if known.place == place:
                x, y = (2 * px + 1) * part // 512, (2 * py + 1) * part // 512
                at = x, y, units(sx), units(sy), 0
                known.seq, known.ack, known.rough = seq, ack, True
                known.track = self._track(square, written, at, known.pace)

    def _leave(self, known: KnownPlayer | None, event: Sequence[Any], now: int) -> None:
        id, seq = event[1:3]
        if known is not None and event[0] == LEAVE and self.holds((event[3], event[4])):
            known.seq, known.square, known.place = seq, (event[3], event[4]), None
            known.transit = now + IN_TRANSIT_MS
            return
        if known is not None:
            self._remove(known, now)
        self.removed[id] = max(seq, self.removed.get(id, (0, 0))[0]), now + REMOVED_MS

    def _enter(
        self,
        square: Square,
        sent: int,
        source: int,
        entry: Sequence[Any],
        now: int,
        again: bool = False,
    ) -> None:
        _, id, seq, ack, name, dimmed, slot = entry[:7]
        removed_seq, until = self.removed.get(id, (-1, 0))
        known = self.players.get(id)
        # A snapshot is complete, so its entry also counts if it has the seq that is known.
        if known is not None and (seq < known.seq or (seq == known.seq and not again)):
            if not again:
                # What it did there comes by that slot, before its leave.
                self.places[square, source, slot] = known
            return
        if until > now and seq <= removed_seq:
            return
        if known is not None:
            known.place, known.over = None, now
        track, place = self._track(square, sent, entry[7:12], entry[13]), (square, source, slot)
        self.players[id] = self.places[place] = KnownPlayer(
            id, seq, ack, name, dimmed, track, square, place, *entry[12:15]
        )

    def _track(
        self, square: Square, sent: int, fields: Sequence[int], pace: int
    ) -> tuple[int, ...]:
        x, y, dx, dy, age = fields
        span = self.side * 1024
        lasts = duration(dx, dy, self.speed, self.diagonal, pace)
        return x + square[0] * span, y + square[1] * span, dx, dy, sent - age, lasts
