"""What happens in a square: events, the batches that carry them, and the replica that they make.

A new track is a record of 13 or 14 bytes, which names the player by its slot. Every other event is
a tuple that begins with its kind. docs/protocol.md explains the fields of both. Positions are in
units from the square's corner in tuples and from its centre in records; an age is in ms before the
time at which the batch was begun. This module never packs or sends messages.
"""

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from world.grid import Square
from world.track import Track, duration

#: The kinds of the events that are tuples.
ENTER: Final = 0
LEAVE: Final = 2
GONE: Final = 3
SAY: Final = 4
EMOTE: Final = 5
EMBER: Final = 6

#: The record of a track: slot, low byte of seq, low byte of ack, x, y, dx, dy, age. The second form
#: is for slots that do not fit one byte.
RECORD: Final = struct.Struct("<BBBhhhhh")
WIDE: Final = struct.Struct("<HBBhhhhh")

#: Slots below it fit one byte.
NARROW: Final = 256

#: A record can tell of a seq that has risen by so much, and of an ack.
FOLLOWED: Final = 127

#: The seq of a removed player is remembered for so many ms. This is two seconds longer than clients
#: remember it: so a node knows of every event that a client may still ignore as too old.
REMEMBERED: Final = 12_000

#: A slot names nobody else in its square until so many ms after its player has left. Who may have
#: missed that long ago who has which slot must not read records.
SLOT_RESTS: Final = 12_000

#: The highest whole number that JavaScript holds exactly.
_NUMBER: Final = 2**53 - 1


class EnterEvent(NamedTuple):
    """Everything about a player that came into the square, or that has changed in more than its
    track. The entries of snapshots and of full states are such events too."""

    kind: int
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


class LeaveEvent(NamedTuple):
    """A player went to the square (`column`, `row`)."""

    kind: int
    id: int
    seq: int
    column: int
    row: int


class GoneEvent(NamedTuple):
    """A player left the game, or its node has it no longer."""

    kind: int
    id: int
    seq: int


class SayEvent(NamedTuple):
    """A player said something."""

    kind: int
    id: int
    text: str


class EmoteEvent(NamedTuple):
    """A player made an emote."""

    kind: int
    id: int
    emote: int


class EmberEvent(NamedTuple):
    """A player carries the ember since `age` ms, after so many `passes`. Player `before` had it
    before, or nobody (0), and kept it for `kept` ms."""

    kind: int
    id: int
    passes: int
    age: int
    before: int
    kept: int


#: The events, other than tracks, that change something about a player, and therefore have a seq.
Change = EnterEvent | LeaveEvent | GoneEvent
Event = Change | SayEvent | EmoteEvent | EmberEvent

#: The fields of an EnterEvent as a plain tuple. It costs a third of a named tuple, and is enough
#: where it is only sent.
Entry = tuple[int, int, int, int, str, bool, int, int, int, int, int, int, int]

#: The class of each kind of event.
EVENTS: dict[int, type[Event]] = {
    ENTER: EnterEvent, LEAVE: LeaveEvent, GONE: GoneEvent, SAY: SayEvent, EMOTE: EmoteEvent,
    EMBER: EmberEvent,
}  # fmt: skip


def named(fields: Sequence[Any]) -> Event:
    """Return the event with this kind and these fields, [kind, field ...], which must be valid."""
    return EVENTS[fields[0]]._make(fields)


class Content(NamedTuple):
    """What a batch says: records of tracks, all other events, and records with slots of two bytes.

    `replaced` is the number of older events that these have replaced.
    """

    tracks: bytes
    others: Sequence[Event] = ()
    replaced: int = 0
    wide: bytes = b""

    @property
    def events(self) -> int:
        """The number of events in it."""
        records = len(self.tracks) // RECORD.size + len(self.wide) // WIDE.size
        return records + len(self.others)


class Player:
    """What everybody may know about a player.

    `node` is the node that hosts it, and `slot` its number among that node's players in its square;
    -1 while it is in none. `seq` grows with every change, from one incarnation to the
    next too. `ack` is the number of the last intent that was obeyed. `dimmed` says that the
    player's connection is lost. `look` is how its client wants it to be drawn, a number that no
    server knows the meaning of.
    """

    __slots__ = ("node", "id", "seq", "ack", "name", "dimmed", "track", "slot", "look")

    def __init__(
        self, node: int, id: int, seq: int, ack: int, name: str, dimmed: bool, track: Track,
        slot: int = -1, look: int = 0,
    ) -> None:  # fmt: skip
        self.node = node
        self.id = id
        self.seq = seq
        self.ack = ack
        self.name = name
        self.dimmed = dimmed
        self.track = track
        self.slot = slot
        self.look = look


class Corner:
    """Converts positions and times to those in the messages of one square, and back.

    `span` is the length of a square's side in units, and `sent` the time in ms before which ages
    are counted.
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
            ENTER, p.id, p.seq, p.ack, p.name, p.dimmed, p.slot,
            track.x - self.x, track.y - self.y, track.dx, track.dy, self.sent - track.start,
            p.look,
        )  # fmt: skip

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
                slot, p.seq & 255, p.ack & 255,
                track.x - self.middle_x, track.y - self.middle_y, track.dx, track.dy,
                self.sent - track.start,
            )  # fmt: skip
        except struct.error:
            return None

    def read(self, event: EnterEvent) -> Track:
        """Return the track in an event, with its position in the world and its start in ms."""
        dx, dy = event.dx, event.dy
        return Track(
            event.x + self.x, event.y + self.y, dx, dy, self.sent - event.age, duration(dx, dy)
        )


_pack_narrow: Callable[..., bytes] = RECORD.pack
_pack_wide: Callable[..., bytes] = WIDE.pack


class Batch:
    """The events of one square that are published together.

    It has at most one event of each player, since a newer one replaces an older one, and all chat
    messages and emotes.
    """

    __slots__ = ("corner", "enters", "_replaced", "_states", "_said")

    def __init__(self, corner: Corner) -> None:
        self.corner = corner
        #: Whether an enter was added.
        self.enters = False
        #: Player -> its event; bytes are the record of a track.
        self._states: dict[int, Change | bytes] = {}
        #: Player -> how many events its event has replaced. Players without any are left out.
        self._replaced: dict[int, int] = {}
        self._said: list[Event] = []

    def enter(self, p: Player) -> None:
        """Add that a player came into the square, or has changed in more than its track."""
        self.enters = True
        self._put(p.id, self.corner.enter(p))

    def track(self, p: Player, replaces: int = 0, leaps: bool = False) -> None:
        """Add a player's new track, which replaces so many that were never added.

        It becomes an enter if an enter is already in the batch, if something about it does not fit
        a record, and if its seq or ack may have risen by more than a record can tell: `leaps` says
        that numbers of intents were left out.
        """
        replaced = self._replaced.get(p.id, 0) + replaces
        if replaces:
            self._replaced[p.id] = replaced
        record = None
        if not (leaps or replaced > FOLLOWED - 2 or isinstance(self._states.get(p.id), EnterEvent)):
            record = self.corner.record(p)
        self._put(p.id, self.corner.enter(p) if record is None else record)

    def leave(self, p: Player, to: Square) -> None:
        """Add that a player went to the square `to`."""
        self._put(p.id, LeaveEvent(LEAVE, p.id, p.seq, *to))

    def gone(self, id: int, seq: int) -> None:
        """Add that a player left the game, or that its node has it no longer."""
        self._put(id, GoneEvent(GONE, id, seq))

    def say(self, p: Player, text: str) -> None:
        """Add a chat message."""
        self._said.append(SayEvent(SAY, p.id, text))

    def emote(self, p: Player, emote: int) -> None:
        """Add an emote."""
        self._said.append(EmoteEvent(EMOTE, p.id, emote))

    def ember(self, event: EmberEvent) -> None:
        """Add who carries the ember."""
        self._said.append(event)

    def _put(self, id: int, event: Change | bytes) -> None:
        if id in self._states:
            self._replaced[id] = self._replaced.get(id, 0) + 1
        self._states[id] = event

    def parts(self, most: int) -> Iterator[Content]:
        """Yield what it says in parts of at most `most` events."""
        states, said = list(self._states.items()), self._said
        for start in range(0, len(states) + len(said), most):
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
            others += said[first : max(start + most - len(states), 0)]
            yield Content(b"".join(tracks), others, replaced, b"".join(wide))


class Departed:
    """The players that events have removed from replicas not long ago, and these events' seqs.

    An older event that comes late must not bring a player back. All replicas of a node share one
    Departed, since clients remember removed players in the same way, over all squares.
    """

    def __init__(self) -> None:
        self._removed: dict[int, tuple[int, int]] = {}

    def note(self, id: int, seq: int, now: int) -> None:
        """Remember that a player was removed by an event with this seq, at the node time `now`."""
        removed = self._removed
        # The dict is in the order of time, so this loop ends at the first that is still remembered.
        while removed:
            oldest = next(iter(removed))
            if removed[oldest][1] > now:
                break
            del removed[oldest]
        before = removed.pop(id, (0, 0))[0]
        removed[id] = max(seq, before), now + REMEMBERED

    def seq(self, id: int, now: int) -> int:
        """Return the seq with which a player was removed, or -1 if that is not remembered."""
        seq, until = self._removed.get(id, (-1, 0))
        return seq if now < until else -1


class Whereabouts:
    """Which replicas of a node know a player. All of them share one, so that a player is found
    without a look at every square."""

    def __init__(self) -> None:
        #: Player -> the replicas that know it: nearly always one. Unknown players are left out.
        self._replicas: dict[int, tuple[Replica, ...]] = {}

    def add(self, id: int, replica: "Replica") -> None:
        """Note that a replica knows a player, which it did not know before."""
        self._replicas[id] = (*self._replicas.get(id, ()), replica)

    def remove(self, id: int, replica: "Replica") -> None:
        """Note that a replica, which knew a player, does not know it any more."""
        others = tuple([other for other in self._replicas[id] if other is not replica])
        if others:
            self._replicas[id] = others
        else:
            del self._replicas[id]

    def of(self, id: int) -> "tuple[Replica, ...]":
        """Return the replicas that know a player."""
        return self._replicas.get(id, ())


class Moved:
    """The players of a replica that have moved, until screens are told of it.

    `before` is player -> its seq and ack before the first of these moves. `jumped` and `passed`
    count events of which the batch that was applied last tells nothing: those that its records have
    replaced, and moves in `before` that something newer in it has replaced.
    """

    __slots__ = ("before", "jumped", "passed")

    def __init__(self) -> None:
        self.before: dict[int, tuple[int, int]] = {}
        self.jumped = self.passed = 0


class Replica:
    """The players of one square, as the batches and full states on its channel make them.

    Times are in ms of this node's clock. `moved` is None unless somebody wants to know who moves.
    """

    def __init__(
        self, square: Square, span: int, departed: Departed, whereabouts: Whereabouts
    ) -> None:
        self.square = square
        self._span = span
        self._departed = departed
        self._whereabouts = whereabouts
        self.players: dict[int, Player] = {}
        #: Node -> slot -> the player that it names. Each player is in it once.
        self._named: dict[int, dict[int, Player]] = {}
        self.moved: Moved | None = None

    def apply(self, node: int, sent: int, content: Content, now: int) -> list[int]:
        """Apply a batch of a node. Events that are older than what is known change nothing.

        Returns the ids of players that were removed because another one has their slot now.
        """
        corner = Corner(self.square, self._span, sent)
        if self.moved is not None:
            self.moved.jumped = self.moved.passed = 0
        if content.tracks:
            self._move(node, corner, RECORD.iter_unpack(content.tracks))
        if content.wide:
            self._move(node, corner, WIDE.iter_unpack(content.wide))
        gone: list[int] = []
        for event in content.others:
            if isinstance(event, SayEvent | EmoteEvent | EmberEvent):
                continue
            known = self.players.get(event.id)
            if known is not None and event.seq <= known.seq:
                continue
            if isinstance(event, EnterEvent):
                self._enter(node, corner, event, now, gone)
            else:
                self.remove(event.id, event.seq, now)
        return gone

    def _move(self, node: int, corner: Corner, records: Iterable[tuple[Any, ...]]) -> None:
        """Let the players whom a node's records name follow their new tracks.

        A record that names nobody changes nothing: the enter was lost, and will be asked for.
        """
        named = self._named.get(node)
        if named is None:
            return
        x, y, sent, moved = corner.middle_x, corner.middle_y, corner.sent, self.moved
        for slot, seq, ack, from_x, from_y, dx, dy, age in records:
            known = named.get(slot)
            if known is None:
                continue
            newer = (seq - known.seq) & 255
            if newer == 0 or newer > FOLLOWED:
                continue
            if moved is not None:
                moved.before.setdefault(known.id, (known.seq, known.ack))
                moved.jumped += newer - 1
            known.seq += newer
            known.ack = (known.ack + ((ack - known.ack) & 255)) & _NUMBER
            known.track = Track(
                x + from_x, y + from_y, dx, dy, sent - age, duration(dx, dy)
            )

    def replace(
        self, node: int, sent: int, entries: Sequence[EnterEvent], now: int
    ) -> tuple[bool, list[int]]:
        """Apply the full state of a node.

        Returns whether that changed anything, and the ids of players that were removed because they
        were not in it.
        """
        corner = Corner(self.square, self._span, sent)
        changed = False
        present = set()
        gone: list[int] = []
        for entry in entries:
            present.add(entry.id)
            known = self.players.get(entry.id)
            if known is None or entry.seq > known.seq:
                changed |= self._enter(node, corner, entry, now, gone)
        gone += self.drop(node, present)
        return changed or bool(gone), gone

    def drop(self, node: int, but: Collection[int] = ()) -> list[int]:
        """Remove the players that a node hosts, except `but`, and return the ids of those removed.

        No event said that they left, so an event with the same seq may bring them back.
        """
        gone = [p for p in self._named.get(node, {}).values() if p.id not in but]
        for player in gone:
            self._take_out(player)
        return [player.id for player in gone]

    def hosts(self, node: int) -> bool:
        """Say whether a node hosts any of the players."""
        return node in self._named

    def end(self) -> None:
        """Let nobody find a player here any more, because the node does not follow the square."""
        for id in self.players:
            self._whereabouts.remove(id, self)

    def snapshot(self, sent: int, source: Callable[[int], int]) -> list[tuple[Any, ...]]:
        """Return an entry for each player, with ages in ms before `sent`, each followed by what
        `source` returns for the player's node."""
        corner = Corner(self.square, self._span, sent)
        return [(*corner.entry(p), source(p.node)) for p in self.players.values()]

    def _enter(
        self, node: int, corner: Corner, entry: EnterEvent, now: int, gone: list[int]
    ) -> bool:
        """Enter a player, unless it was removed by a newer event, and say whether it was done.

        The id of the player that had the slot is appended to `gone`: it has left, or its node would
        not have given the slot to another one, and the event that said so was lost.
        """
        id, seq, slot = entry.id, entry.seq, entry.slot
        if seq <= self._departed.seq(id, now):
            return False
        before = self.players.get(id)
        if before is not None:
            self._take_out(before)
        named = self._named.get(node)
        if named is not None and slot in named:
            gone.append(named[slot].id)
            self._take_out(named[slot])
        player = Player(
            node, id, seq, entry.ack, entry.name, entry.dimmed, corner.read(entry), slot, entry.look
        )
        self.players[id] = self._named.setdefault(node, {})[slot] = player
        self._whereabouts.add(id, self)
        return True

    def remove(self, id: int, seq: int, now: int) -> None:
        """Remove a player because of its event with this seq, and remember the seq."""
        player = self.players.get(id)
        if player is not None:
            self._take_out(player)
        self._departed.note(id, seq, now)

    def _take_out(self, player: Player) -> None:
        if self.moved is not None and (before := self.moved.before.pop(player.id, None)):
            self.moved.passed += player.seq - before[0]
        del self.players[player.id]
        self._whereabouts.remove(player.id, self)
        named = self._named[player.node]
        del named[player.slot]
        if not named:
            del self._named[player.node]
