"""A client's beliefs about the world, written from docs/protocol.md, section 5, alone.

Tests compare them with what the node holds. It never imports anything of the server or the world.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isqrt
from struct import Struct
from typing import Any

REMEMBERED, IN_TRANSIT = 10_000, 2000

#: A tile that has changed in a layer of cells.
CELL = Struct("<HB")

#: The records of a batch's tracks, with slots of one byte and of two; a sketch after its slot.
SKETCH = Struct("<BBBbb")
RECORD, WIDE = Struct("<BBBhhhhh"), Struct("<HBBhhhhh")


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


def units(steps: int) -> int:
    """Return how far this many steps of a sketch lead, in units."""
    far = abs(steps) if abs(steps) <= 64 else 64 + (abs(steps) - 64) * 8
    return far * 64 if steps >= 0 else -far * 64


@dataclass
class Known:
    """A player as the client knows it.

    `source` and `slot` are those of its last enter or entry, which name it in `square`. `track` is
    (x, y, dx, dy, start, duration), in units and ms, and `rough` says that it is from a sketch.
    `transit` is the node time at which a player that left for a held square is removed if its enter
    has not come, or None.
    """

    id: int
    seq: int
    ack: int
    name: str
    dimmed: bool
    track: tuple[int, ...]
    square: tuple[int, int]
    source: int
    slot: int
    look: int = 0
    pace: int = 100
    values: list[Any] = field(default_factory=list)
    transit: int | None = None
    rough: bool = False

    def at(self, t: int) -> tuple[int, int]:
        x, y, dx, dy, start, duration = self.track
        passed = min(max(t - start, 0), duration)
        if duration == 0 or passed == duration:
            return x + dx, y + dy
        return x + dx * passed // duration, y + dy * passed // duration


@dataclass
class Model:
    """What a client believes. `chat` has (name of the speaker, text) of each chat message, and
    `emotes` (name, emote) of each emote.

    `removed` is id -> (seq, node time until which it is remembered), and `foreign` the number of
    batches of squares that are not held.
    """

    side: int = 16
    speed: int = 5120
    diagonal: int = 3620
    id: int = 0
    held: tuple[int, int, int, int] | None = None
    players: dict[int, Known] = field(default_factory=dict)
    removed: dict[int, tuple[int, int]] = field(default_factory=dict)
    chat: list[tuple[str, str]] = field(default_factory=list)
    emotes: list[tuple[str, int]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    token: str | None = None
    welcome: list[Any] = field(default_factory=list)
    #: The number of the last flush, and of the last one that was acknowledged.
    flush: int = 0
    acknowledged: int = 0
    resyncs: int = 0
    foreign: int = 0
    linked: bool = True
    invitation: str | None = None
    #: Who invited it, and whether that player is in play, as `host` told.
    host: tuple[str, bool] | None = None
    #: Square -> what lies in it, as arrays.
    things: dict[tuple[int, int], list[Any]] = field(default_factory=dict)
    #: (column, row, layer) -> the values of its tiles.
    cells: dict[tuple[int, int, int], bytearray] = field(default_factory=dict)
    #: Name -> what the game told last.
    told: dict[str, list[Any]] = field(default_factory=dict)
    #: The gems that it found, as (id, version), and the last `board`.
    found: list[tuple[str, int]] = field(default_factory=list)
    board: list[Any] | None = None
    #: The map of everybody: the last `totals`, the grain of the dots, how many fresh pictures came,
    #: dot -> (people, computers, node), and dot -> batches that were told of so far.
    totals: list[Any] | None = None
    grain: int | None = None
    pictures: int = 0
    dots: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    batches: Counter[tuple[int, int]] = field(default_factory=Counter)

    def holds(self, square: tuple[int, int]) -> bool:
        if self.held is None:
            return False
        c0, r0, c1, r1 = self.held
        return c0 <= square[0] <= c1 and r0 <= square[1] <= r1

    def apply(self, message: list[Any], now: int) -> None:
        """Apply a message that came at a node time in ms."""
        kind, *fields = message
        if kind == 16:
            self.welcome, self.id = fields, fields[1]
            self.side, self.speed, self.diagonal = fields[6:9]
            self.players.clear()
            self.removed.clear()
            self.things.clear()
            self.cells.clear()
            self.held, self.linked = None, True
        elif kind == 17:
            self.token = fields[0]
        elif kind == 18:
            self.held = tuple(fields[:4])
            for player in list(self.players.values()):
                if not self.holds(player.square):
                    del self.players[player.id]
            self.things = {at: some for at, some in self.things.items() if self.holds(at)}
            self.cells = {at: some for at, some in self.cells.items() if self.holds(at[:2])}
        elif kind == 19:
            column, row, sent, entries = fields[:4]
            self._snapshot(column, row, sent, entries, now)
        elif kind == 21:
            number, written, batches, crowds = (*fields[:4], [])[:4]
            assert number > self.flush
            self.flush = number
            for batch in batches:
                self._batch(written, *batch[:8], now=now)
            for crowd in crowds:
                self._crowd(written, *crowd)
        elif kind == 22:
            self.players.clear()
            self.removed.clear()
            self.things.clear()
            self.cells.clear()
            self.held = None
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
            self.told[name] = values
            if name == "found":
                self.found.append((values[0], values[1]))
            elif name == "board":
                self.board = values
        elif kind == 46:
            self._cells(*fields[:5])
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
        known = self.cells.setdefault((column, row, layer), bytearray(self.side**2))
        if whole:
            assert len(values) == len(known)
            known[:] = values
            return
        for tile, value in CELL.iter_unpack(values):
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

    def expire(self, now: int) -> None:
        """Forget what counts only until this node time in ms."""
        for player in list(self.players.values()):
            if player.transit is not None and player.transit <= now:
                del self.players[player.id]
        self.removed = {id: known for id, known in self.removed.items() if known[1] > now}

    def _snapshot(self, column: int, row: int, sent: int, entries: list[Any], now: int) -> None:
        square = (column, row)
        assert self.holds(square), f"a snapshot of {square}, which is not held"
        for entry in entries:
            self._enter(square, sent, entry[0], entry[1:], now, again=True)
        present = {entry[2] for entry in entries}
        for player in list(self.players.values()):
            if player.square == square and player.transit is None and player.id not in present:
                del self.players[player.id]

    def _batch(
        self,
        written: int,
        column: int,
        row: int,
        source: int,
        ago: int,
        tracks: bytes,
        others: Sequence[Any] = (),
        replaced: int = 0,
        wide: bytes = b"",
        *,
        now: int,
    ) -> None:
        assert replaced >= 0
        square = (column, row)
        if not self.holds(square):
            self.foreign += 1
            return
        for form, records in ((RECORD, tracks), (WIDE, wide)):
            for record in form.iter_unpack(records):
                self._record(square, source, written - ago, record)
        for event in others:
            kind = event[0]
            known = self.players.get(event[1]) if kind in (2, 3, 4, 5) else None
            if kind == 0:
                self._enter(square, written - ago, source, event, now)
            elif kind == 4:
                if known is not None:
                    self.chat.append((known.name, event[2]))
            elif kind == 5:
                # In other games than Flatlands it is another event.
                if known is not None and len(event) > 2:
                    self.emotes.append((known.name, event[2]))
            elif kind in (2, 3) and (known is None or event[2] > known.seq):
                self._leave(known, event, now)

    def _record(
        self, square: tuple[int, int], source: int, sent: int, record: tuple[int, ...]
    ) -> None:
        slot, seq, ack, x, y, dx, dy, age = record
        for known in self.players.values():
            named = (known.square, known.source, known.slot) == (square, source, slot)
            if named and known.transit is None and 0 < (seq - known.seq) % 256 < 128:
                known.seq += (seq - known.seq) % 256
                known.ack += (ack - known.ack) % 256
                middle = self.side * 512
                at = x + middle, y + middle, dx, dy, age
                known.track = self._track(square, sent, at, known.pace)
                known.rough = False

    def _crowd(self, written: int, column: int, row: int, replaced: int, *rest: Any) -> None:
        assert replaced >= 0 and rest
        square = (column, row)
        if not self.holds(square):
            self.foreign += 1
            return
        for source, data in zip(rest[::2], rest[1::2], strict=True):
            for slot, sketch in sketches(data):
                self._sketch(square, source, slot, written, sketch)

    def _sketch(
        self, square: tuple[int, int], source: int, slot: int, now: int, sketch: tuple[int, ...]
    ) -> None:
        marks, px, py, sx, sy = sketch
        for known in self.players.values():
            named = (known.square, known.source, known.slot) == (square, source, slot)
            if named and known.transit is None and 0 < (marks - known.seq) % 16 < 8:
                known.seq += (marks - known.seq) % 16
                known.ack += (marks // 16 - known.ack) % 16
                part = self.side * 1024
                x, y = ((2 * p + 1) * part // 512 for p in (px, py))
                at = x, y, units(sx), units(sy), 0
                known.track = self._track(square, now, at, known.pace)
                known.rough = True

    def _leave(self, known: Known | None, event: list[Any], now: int) -> None:
        id, seq = event[1:3]
        if known is not None and event[0] == 2 and self.holds((event[3], event[4])):
            known.seq, known.square, known.transit = seq, (event[3], event[4]), now + IN_TRANSIT
            return
        self.players.pop(id, None)
        self.removed[id] = max(seq, self.removed.get(id, (0, 0))[0]), now + REMEMBERED

    def _enter(
        self,
        square: tuple[int, int],
        sent: int,
        source: int,
        entry: list[Any],
        now: int,
        again: bool = False,
    ) -> None:
        _, id, seq, ack, name, dimmed, slot = entry[:7]
        removed_seq, until = self.removed.get(id, (-1, 0))
        known = self.players.get(id)
        if until > now and seq <= removed_seq:
            return
        # A snapshot is complete, so its entry also counts if it has the seq that is known.
        if known is not None and (seq < known.seq or (seq == known.seq and not again)):
            return
        track = self._track(square, sent, entry[7:12], entry[13])
        self.players[id] = Known(
            id, seq, ack, name, dimmed, track, square, source, slot, *entry[12:15]
        )

    def _track(
        self, square: tuple[int, int], sent: int, fields: Sequence[int], pace: int
    ) -> tuple[int, ...]:
        x, y, dx, dy, age = fields
        span = self.side * 1024
        lasts = duration(dx, dy, self.speed, self.diagonal, pace)
        return x + square[0] * span, y + square[1] * span, dx, dy, sent - age, lasts
