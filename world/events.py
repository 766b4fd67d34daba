"""What happens in a square: events, the batches that carry them, and the replica they make.

An event is a tuple that begins with its kind; docs/protocol.md gives its fields. Positions are
counted in units from the square's corner, and an age in ms before the moment that the batch was
begun. It never packs or sends anything.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from world.grid import Square
from world.track import Track

ENTER, TRACK, LEAVE, GONE, SAY = range(5)

#: A removed player's seq is remembered for so many ms: two seconds longer than clients remember it,
#: so that whatever a client still takes for old is known here to be taken so.
REMEMBERED = 12_000


class EnterEvent(NamedTuple):
    """All of a player, who came into the square or has something new besides its track. The entries
    of snapshots and of full states are such events too."""

    kind: int
    id: int
    seq: int
    ack: int
    name: str
    dimmed: bool
    x: int
    y: int
    dx: int
    dy: int
    age: int
    duration: int


class TrackEvent(NamedTuple):
    """A player of the square has a new track."""

    kind: int
    id: int
    seq: int
    ack: int
    x: int
    y: int
    dx: int
    dy: int
    age: int
    duration: int


class LeaveEvent(NamedTuple):
    """A player went to another square."""

    kind: int
    id: int
    seq: int
    column: int
    row: int


class GoneEvent(NamedTuple):
    """A player left the game, or nobody knows of it any more."""

    kind: int
    id: int
    seq: int


class SayEvent(NamedTuple):
    """A player said something."""

    kind: int
    id: int
    text: str


#: What changes something of a player: it has a seq.
Change = EnterEvent | TrackEvent | LeaveEvent | GoneEvent
Event = Change | SayEvent

#: The fields of an EnterEvent without their names: a third of the cost, for what is only sent.
Entry = tuple[int, int, int, int, str, bool, int, int, int, int, int, int]

#: The class of each kind of event.
EVENTS: dict[int, type[Event]] = {
    ENTER: EnterEvent, TRACK: TrackEvent, LEAVE: LeaveEvent, GONE: GoneEvent, SAY: SayEvent,
}  # fmt: skip


def named(fields: Sequence[Any]) -> Event:
    """Return the event whose kind and fields these are, which must be right."""
    return EVENTS[fields[0]]._make(fields)


class Player:
    """What everybody may know of a player.

    `seq` grows with whatever changes, across incarnations too; `ack` is the number of the last
    intent obeyed; `dimmed` says that its connection is lost; `node` hosts it.
    """

    __slots__ = ("node", "id", "seq", "ack", "name", "dimmed", "track")

    def __init__(
        self, node: int, id: int, seq: int, ack: int, name: str, dimmed: bool, track: Track
    ) -> None:
        self.node = node
        self.id = id
        self.seq = seq
        self.ack = ack
        self.name = name
        self.dimmed = dimmed
        self.track = track


class Corner:
    """Turns positions and times to those of one square's batch, and back.

    `sent` is the moment in ms that ages count from; `span` a square's side in units.
    """

    __slots__ = ("x", "y", "sent")

    def __init__(self, square: Square, span: int, sent: int) -> None:
        self.x, self.y = square[0] * span, square[1] * span
        self.sent = sent

    def entry(self, p: Player) -> Entry:
        """Return the fields of the event that tells all of a player, to be sent only."""
        x, y, dx, dy, start, duration = p.track
        return (
            ENTER, p.id, p.seq, p.ack, p.name, p.dimmed,
            x - self.x, y - self.y, dx, dy, self.sent - start, duration,
        )  # fmt: skip

    def enter(self, p: Player) -> EnterEvent:
        """Return the event that tells all of a player."""
        return EnterEvent._make(self.entry(p))

    def track(self, p: Player) -> TrackEvent:
        """Return the event that tells a player's new track."""
        x, y, dx, dy, start, duration = p.track
        return TrackEvent(
            TRACK, p.id, p.seq, p.ack,
            x - self.x, y - self.y, dx, dy, self.sent - start, duration,
        )  # fmt: skip

    def read(self, event: EnterEvent | TrackEvent) -> Track:
        """Return the track that an event tells."""
        return Track(
            event.x + self.x, event.y + self.y, event.dx, event.dy,
            self.sent - event.age, event.duration,
        )  # fmt: skip


class Batch:
    """The events of one square that go out together, at most one a player besides what is said.

    A player's newer event replaces its older one.
    """

    __slots__ = ("corner", "_replaced", "_states", "_said")

    def __init__(self, corner: Corner) -> None:
        self.corner = corner
        self._states: dict[int, Change] = {}
        #: How many events a player's event has replaced, if any.
        self._replaced: dict[int, int] = {}
        self._said: list[SayEvent] = []

    def enter(self, p: Player) -> None:
        """A player came into the square, or something but its track has changed."""
        self._put(p.id, self.corner.enter(p))

    def track(self, p: Player) -> None:
        """A player of the square has a new track."""
        before = self._states.get(p.id)
        entered = isinstance(before, EnterEvent)
        self._put(p.id, self.corner.enter(p) if entered else self.corner.track(p))

    def leave(self, p: Player, to: Square) -> None:
        """A player went to another square."""
        self._put(p.id, LeaveEvent(LEAVE, p.id, p.seq, *to))

    def gone(self, id: int, seq: int) -> None:
        """A player left the game, or nobody knows of it any more."""
        self._put(id, GoneEvent(GONE, id, seq))

    def say(self, p: Player, text: str) -> None:
        """A player said something."""
        self._said.append(SayEvent(SAY, p.id, text))

    def _put(self, id: int, event: Change) -> None:
        if id in self._states:
            self._replaced[id] = self._replaced.get(id, 0) + 1
        self._states[id] = event

    def parts(self, most: int) -> Iterator[tuple[list[Event], int]]:
        """Yield what is to be sent, `most` events at a time, with how many they replaced."""
        events: list[Event] = [*self._states.values(), *self._said]
        for start in range(0, len(events), most):
            some = events[start : start + most]
            replaced = 0
            if self._replaced:
                changes = (event for event in some if not isinstance(event, SayEvent))
                replaced = sum(self._replaced.get(event.id, 0) for event in changes)
            yield some, replaced


class Departed:
    """Who was removed from replicas not long ago, and with which seq.

    What comes late from another node must not raise them again. Clients remember it in the same
    way, over all squares, so all replicas of a node share one of these.
    """

    def __init__(self) -> None:
        self._removed: dict[int, tuple[int, int]] = {}

    def note(self, id: int, seq: int, now: int) -> None:
        """Remember that a player was removed by an event with this seq."""
        removed = self._removed
        # Insertion order is the order of time: the oldest is looked at first.
        while removed:
            oldest = next(iter(removed))
            if removed[oldest][1] > now:
                break
            del removed[oldest]
        before = removed.pop(id, (0, 0))[0]
        removed[id] = max(seq, before), now + REMEMBERED

    def seq(self, id: int, now: int) -> int:
        """Return the seq with which a player was removed, -1 where that is not remembered."""
        seq, until = self._removed.get(id, (-1, 0))
        return seq if now < until else -1


class Replica:
    """The players of one square, as its channel tells them. Times are this node's."""

    def __init__(self, square: Square, span: int, departed: Departed) -> None:
        self.square = square
        self._span = span
        self._departed = departed
        self.players: dict[int, Player] = {}

    def apply(self, node: int, sent: int, events: Sequence[Event], now: int) -> None:
        """Take in a batch of a node. What is older than what is known changes nothing."""
        corner = Corner(self.square, self._span, sent)
        players = self.players
        for event in events:
            if isinstance(event, SayEvent):
                continue
            known = players.get(event.id)
            if known is not None and event.seq <= known.seq:
                continue
            if isinstance(event, TrackEvent):
                # Known at another node: that it came to this one was lost, and is asked for.
                if known is not None and known.node == node:
                    known.seq, known.ack = event.seq, event.ack
                    known.track = corner.read(event)
            elif isinstance(event, EnterEvent):
                self._enter(node, corner, event, now)
            else:
                self.remove(event.id, event.seq, now)

    def replace(
        self, node: int, sent: int, entries: Sequence[EnterEvent], now: int
    ) -> tuple[bool, list[int]]:
        """Take in all that a node has in the square; return whether that changed anything, and who
        was removed as by `drop`."""
        corner = Corner(self.square, self._span, sent)
        changed = False
        present = set()
        for entry in entries:
            present.add(entry.id)
            known = self.players.get(entry.id)
            if known is None or entry.seq > known.seq:
                changed |= self._enter(node, corner, entry, now)
        gone = self.drop(node, present)
        return changed or bool(gone), gone

    def drop(self, node: int, but: Collection[int] = ()) -> list[int]:
        """Remove the players that a node hosts, but for some; return who was removed.

        Nobody said that they left, so they may be told of again with the same seq.
        """
        gone = [p.id for p in self.players.values() if p.node == node and p.id not in but]
        for id in gone:
            del self.players[id]
        return gone

    def hosts(self, node: int) -> bool:
        """Say whether a node hosts any of the players."""
        return any(player.node == node for player in self.players.values())

    def snapshot(self, sent: int) -> list[Entry]:
        """Return every player's entry, with ages before `sent`."""
        corner = Corner(self.square, self._span, sent)
        return [corner.entry(p) for p in self.players.values()]

    def _enter(self, node: int, corner: Corner, entry: EnterEvent, now: int) -> bool:
        id, seq = entry.id, entry.seq
        if seq <= self._departed.seq(id, now):
            return False
        self.players[id] = Player(
            node, id, seq, entry.ack, entry.name, entry.dimmed, corner.read(entry)
        )
        return True

    def remove(self, id: int, seq: int, now: int) -> None:
        """Remove a player, as of one of its events, and remember that."""
        self.players.pop(id, None)
        self._departed.note(id, seq, now)
