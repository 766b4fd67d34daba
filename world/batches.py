"""Batches: the events of a square that are published together, and the records of tracks in them.

A record has 13 or 14 bytes, and names the player by its slot; docs/protocol.md explains its fields.
Positions are in units from the square's corner in tuples and from its centre in records; an age is
in ms before the time at which the batch was begun.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from flatlands.world.events import (
    ENTER,
    GONE,
    LEAVE,
    SAID,
    Change,
    EnterEvent,
    Entry,
    Event,
    GoneEvent,
    LeaveEvent,
    Player,
    SayEvent,
)
from flatlands.world.grid import Square
from flatlands.world.tiles import pack
from flatlands.world.track import Track, duration

#: The record of a track: slot, low byte of seq, low byte of ack, x, y, dx, dy, age. The second form
#: is for slots that do not fit one byte.
RECORD: Final = struct.Struct("<BBBhhhhh")
WIDE: Final = struct.Struct("<HBBhhhhh")

#: One message has at most so many writes, so that they fit a broker's payload with all the rest.
WRITES_MOST: Final = 500

#: Slots below this fit in one byte.
NARROW: Final = 256

#: The most by which a seq or an ack may have risen for a record to show it.
SEQ_STEP_MOST: Final = 127

#: A slot names nobody else in its square until this many ms after its player has left. A node that
#: may have missed batches for that long must not read records: a slot may name another player.
SLOT_RESTS: Final = 12_000

#: What a game wrote on tiles: alternately the number of a layer, and its writes as bytes
#: (tiles.py).
Writes: TypeAlias = Sequence[Any]


class BatchContent(NamedTuple):
    """The content of a batch: records of tracks, all other events, and records with slots of two
    bytes.

    `replaced` is the number of older events that these have replaced. `writes` is for nodes only.
    """

    tracks: bytes
    others: Sequence[Event] = ()
    replaced: int = 0
    wide: bytes = b""
    writes: Writes = ()

    @property
    def events(self) -> int:
        """The number of events in this content."""
        records = len(self.tracks) // RECORD.size + len(self.wide) // WIDE.size
        return records + len(self.others)


class SquareCoordinates:
    """Converts positions and times to those in the messages of one square, and back.

    `span` is the length of a square's side in units, and `sent` the time in ms from which ages are
    counted back.
    """

    __slots__ = ("x", "y", "middle_x", "middle_y", "sent")

    def __init__(self, square: Square, span: int, sent: int) -> None:
        self.x, self.y = square[0] * span, square[1] * span
        self.middle_x, self.middle_y = self.x + span // 2, self.y + span // 2
        self.sent = sent

    def entry(self, p: Player) -> Entry:
        """Return everything about a player as a plain tuple, to be sent."""
        track = p.track
        return (
            ENTER,
            p.id,
            p.seq,
            p.ack,
            p.name,
            p.dimmed,
            p.slot,
            track.x - self.x,
            track.y - self.y,
            track.dx,
            track.dy,
            self.sent - track.start,
            p.look,
            p.pace,
            p.values,
        )

    def enter(self, p: Player) -> EnterEvent:
        """Return the enter event of a player."""
        return EnterEvent._make(self.entry(p))

    def record(self, p: Player) -> bytes | None:
        """Return the record of a player's track, or None if something about it does not fit: the
        slot, a place far outside the square, or an old start."""
        track, slot = p.track, p.slot
        pack = _pack_narrow if slot < NARROW else _pack_wide
        try:
            return pack(
                slot,
                p.seq & 255,
                p.ack & 255,
                track.x - self.middle_x,
                track.y - self.middle_y,
                track.dx,
                track.dy,
                self.sent - track.start,
            )
        except struct.error:
            return None

    def read(self, event: EnterEvent) -> Track:
        """Return the track in an event, with its position in the world and its start in ms."""
        dx, dy, lasts = event.dx, event.dy, duration(event.dx, event.dy, event.pace)
        return Track(event.x + self.x, event.y + self.y, dx, dy, self.sent - event.age, lasts)


_pack_narrow: Callable[..., bytes] = RECORD.pack
_pack_wide: Callable[..., bytes] = WIDE.pack


class Batch:
    """A batch while events are put into it.

    It has at most one event of each player, since a newer one replaces an older one; all chat
    messages and events of the game; and what the game wrote on tiles.
    """

    __slots__ = ("coordinates", "enters", "_replaced", "_states", "_unreplaced", "_writes")

    def __init__(self, coordinates: SquareCoordinates) -> None:
        self.coordinates = coordinates
        #: Whether an enter was added.
        self.enters = False
        #: Player -> its event; bytes are the record of a track.
        self._states: dict[int, Change | bytes] = {}
        #: Player -> how many events its event has replaced. Players without any are left out.
        self._replaced: dict[int, int] = {}
        #: Chat messages and events of the game, which no newer one replaces.
        self._unreplaced: list[Event] = []
        #: Layer -> the tile, or (tile, stamp) -> (tile, value, stamp).
        self._writes: dict[int, dict[Any, tuple[int, int, int]]] = {}

    def enter(self, p: Player) -> None:
        """Add the enter of a player that came into the square or changed in more than its track."""
        self.enters = True
        self._put(p.id, self.coordinates.enter(p))

    def track(self, p: Player, replaces: int = 0, leaps: bool = False) -> None:
        """Add a player's new track, which replaces `replaces` tracks that were never added.

        It becomes an enter if the batch already has the player's enter, if something does not fit a
        record, or if its seq or ack may have risen by more than a record can show. `leaps` says
        that numbers of intents were skipped.
        """
        replaced = self._replaced.get(p.id, 0) + replaces
        if replaces:
            self._replaced[p.id] = replaced
        record = None
        if not (
            leaps or replaced > SEQ_STEP_MOST - 2 or isinstance(self._states.get(p.id), EnterEvent)
        ):
            record = self.coordinates.record(p)
        self._put(p.id, self.coordinates.enter(p) if record is None else record)

    def leave(self, p: Player, to: Square) -> None:
        """Add the event that a player went to the square `to`."""
        self._put(p.id, LeaveEvent(LEAVE, p.id, p.seq, *to))

    def gone(self, id: int, seq: int) -> None:
        """Add the event that a player left the game, or that its node no longer has it.

        If the player has since come back to the node and left the square, that newer event stays.
        """
        known = self._states.get(id)
        if known is None or isinstance(known, bytes) or known.seq < seq:
            self._put(id, GoneEvent(GONE, id, seq))

    def say(self, p: Player, text: str) -> None:
        """Add a chat message."""
        self._unreplaced.append(SayEvent(SAID, p.id, text))

    def emit(self, event: Event) -> None:
        """Add an event of a kind that the game declares."""
        self._unreplaced.append(event)

    def write(self, layer: int, writes: Sequence[tuple[int, int, int]], instead: bool) -> None:
        """Add what a game writes on tiles of the layer with this number, each (tile, value, stamp)
        as in tiles.py. If `instead`, it replaces what the batch has for these tiles."""
        waiting = self._writes.setdefault(layer, {})
        for write in writes:
            waiting[write[0] if instead else write[::2]] = write

    def mentions(self, id: int) -> bool:
        """Return whether the batch has an event of a player."""
        return id in self._states or any(event[1] == id for event in self._unreplaced)

    def _put(self, id: int, event: Change | bytes) -> None:
        if id in self._states:
            self._replaced[id] = self._replaced.get(id, 0) + 1
        self._states[id] = event

    def parts(self, most: int) -> Iterator[BatchContent]:
        """Yield the content of the batch in parts of at most `most` events."""
        states, unreplaced = list(self._states.items()), self._unreplaced
        writes = self._some_writes() if self._writes else []
        events = len(states) + len(unreplaced)
        for start in range(0, max(events, len(writes) * most), most):
            tracks: list[bytes] = []
            wide: list[bytes] = []
            others: list[Event] = []
            replaced = 0
            for id, event in states[start : start + most]:
                if not isinstance(event, bytes):
                    others.append(event)
                elif len(event) == RECORD.size:
                    tracks.append(event)
                else:
                    wide.append(event)
                if self._replaced:
                    replaced += self._replaced.get(id, 0)
            first = max(start - len(states), 0)
            others += unreplaced[first : max(start + most - len(states), 0)]
            wrote = writes.pop() if writes else ()
            yield BatchContent(b"".join(tracks), others, replaced, b"".join(wide), wrote)

    def _some_writes(self) -> list[list[Any]]:
        """Return the writes in pieces that each fit a message."""
        return [
            [layer, pack(some[at : at + WRITES_MOST])]
            for layer, waiting in self._writes.items()
            for some in (list(waiting.values()),)
            for at in range(0, len(some), WRITES_MOST)
        ]
