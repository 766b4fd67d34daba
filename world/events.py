"""What happens in a square: events, the batches that carry them, and the replica that they make.

An event is a tuple that begins with its kind; docs/protocol.md explains its fields. Its position is
in units from the square's corner, and its age in ms before the time at which the batch was begun.
This module never packs or sends anything.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from world.grid import Square
from world.track import Track

#: The kinds of events.
ENTER: Final = 0
TRACK: Final = 1
LEAVE: Final = 2
GONE: Final = 3
SAY: Final = 4

#: The seq of a removed player is remembered for so many ms. This is two seconds longer than clients
#: remember it: so a node knows of every event that a client may still ignore as too old.
REMEMBERED: Final = 12_000


class EnterEvent(NamedTuple):
    """Everything about a player that came into the square, or that has changed in more than its
    track. The entries of snapshots and of full states are such events too."""

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


#: The events that change something about a player, and therefore have a seq.
Change = EnterEvent | TrackEvent | LeaveEvent | GoneEvent
Event = Change | SayEvent

#: The fields of an EnterEvent as a plain tuple. It costs a third of a named tuple, and is enough
#: where it is only sent.
Entry = tuple[int, int, int, int, str, bool, int, int, int, int, int, int]

#: The class of each kind of event.
EVENTS: dict[int, type[Event]] = {
    ENTER: EnterEvent, TRACK: TrackEvent, LEAVE: LeaveEvent, GONE: GoneEvent, SAY: SayEvent,
}  # fmt: skip


def named(fields: Sequence[Any]) -> Event:
    """Return the event with this kind and these fields, [kind, field ...], which must be valid."""
    return EVENTS[fields[0]]._make(fields)


class Player:
    """What everybody may know about a player.

    `node` is the node that hosts it. `seq` grows with every change, from one incarnation to the
    next too. `ack` is the number of the last intent that was obeyed. `dimmed` says that the
    player's connection is lost.
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
    """Converts positions and times to those in the messages of one square, and back.

    `span` is the length of a square's side in units, and `sent` the time in ms before which ages
    are counted.
    """

    __slots__ = ("x", "y", "sent")

    def __init__(self, square: Square, span: int, sent: int) -> None:
        self.x, self.y = square[0] * span, square[1] * span
        self.sent = sent

    def entry(self, p: Player) -> Entry:
        """Return everything about a player as a plain tuple, to be sent."""
        x, y, dx, dy, start, duration = p.track
        return (
            ENTER, p.id, p.seq, p.ack, p.name, p.dimmed,
            x - self.x, y - self.y, dx, dy, self.sent - start, duration,
        )  # fmt: skip

    def enter(self, p: Player) -> EnterEvent:
        """Return the enter event of a player."""
        return EnterEvent._make(self.entry(p))

    def track(self, p: Player) -> TrackEvent:
        """Return the track event of a player."""
        x, y, dx, dy, start, duration = p.track
        # The constructor, which counts the fields, would take twice as long.
        return tuple.__new__(TrackEvent, (
            TRACK, p.id, p.seq, p.ack,
            x - self.x, y - self.y, dx, dy, self.sent - start, duration,
        ))  # fmt: skip

    def read(self, event: EnterEvent | TrackEvent) -> Track:
        """Return the track in an event, with its position in the world and its start in ms."""
        return tuple.__new__(Track, (
            event.x + self.x, event.y + self.y, event.dx, event.dy,
            self.sent - event.age, event.duration,
        ))  # fmt: skip


class Batch:
    """The events of one square that are published together.

    It has at most one event of each player, since a newer one replaces an older one, and all chat
    messages.
    """

    __slots__ = ("corner", "enters", "_replaced", "_states", "_said")

    def __init__(self, corner: Corner) -> None:
        self.corner = corner
        #: Whether an enter was added.
        self.enters = False
        self._states: dict[int, Change] = {}
        #: Player -> how many events its event has replaced. Players without any are left out.
        self._replaced: dict[int, int] = {}
        self._said: list[SayEvent] = []

    def enter(self, p: Player) -> None:
        """Add that a player came into the square, or has changed in more than its track."""
        self.enters = True
        self._put(p.id, self.corner.enter(p))

    def track(self, p: Player, replaces: int = 0) -> None:
        """Add a player's new track, which replaces so many that were never added.

        An enter that is already in the batch stays an enter.
        """
        if replaces:
            self._replaced[p.id] = self._replaced.get(p.id, 0) + replaces
        before = self._states.get(p.id)
        entered = isinstance(before, EnterEvent)
        self._put(p.id, self.corner.enter(p) if entered else self.corner.track(p))

    def leave(self, p: Player, to: Square) -> None:
        """Add that a player went to the square `to`."""
        self._put(p.id, LeaveEvent(LEAVE, p.id, p.seq, *to))

    def gone(self, id: int, seq: int) -> None:
        """Add that a player left the game, or that its node has it no longer."""
        self._put(id, GoneEvent(GONE, id, seq))

    def say(self, p: Player, text: str) -> None:
        """Add a chat message."""
        self._said.append(SayEvent(SAY, p.id, text))

    def _put(self, id: int, event: Change) -> None:
        if id in self._states:
            self._replaced[id] = self._replaced.get(id, 0) + 1
        self._states[id] = event

    def parts(self, most: int) -> Iterator[tuple[list[Event], int]]:
        """Yield lists of at most `most` events, each with the number of events they replaced."""
        events: list[Event] = [*self._states.values(), *self._said]
        for start in range(0, len(events), most):
            some = events[start : start + most]
            replaced = 0
            if self._replaced:
                changes = (event for event in some if not isinstance(event, SayEvent))
                replaced = sum(self._replaced.get(event.id, 0) for event in changes)
            yield some, replaced


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


class Replica:
    """The players of one square, as the batches and full states on its channel make them.

    Times are in ms of this node's clock.
    """

    def __init__(self, square: Square, span: int, departed: Departed) -> None:
        self.square = square
        self._span = span
        self._departed = departed
        self.players: dict[int, Player] = {}

    def apply(self, node: int, sent: int, events: Sequence[Event], now: int) -> None:
        """Apply a batch of a node. Events that are older than what is known change nothing."""
        corner = Corner(self.square, self._span, sent)
        players = self.players
        for event in events:
            if isinstance(event, SayEvent):
                continue
            known = players.get(event.id)
            if known is not None and event.seq <= known.seq:
                continue
            if isinstance(event, TrackEvent):
                # If the player is known at another node, its enter at this one was lost. It is
                # asked for, and the track is ignored.
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
        """Apply the full state of a node.

        Returns whether that changed anything, and the ids of players that were removed because they
        were not in it.
        """
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
        """Remove the players that a node hosts, except `but`, and return the ids of those removed.

        No event said that they left, so an event with the same seq may bring them back.
        """
        gone = [p.id for p in self.players.values() if p.node == node and p.id not in but]
        for id in gone:
            del self.players[id]
        return gone

    def hosts(self, node: int) -> bool:
        """Say whether a node hosts any of the players."""
        return any(player.node == node for player in self.players.values())

    def snapshot(self, sent: int) -> list[Entry]:
        """Return an entry for each player, with ages in ms before `sent`."""
        corner = Corner(self.square, self._span, sent)
        return [corner.entry(p) for p in self.players.values()]

    def _enter(self, node: int, corner: Corner, entry: EnterEvent, now: int) -> bool:
        """Enter a player, unless it was removed by a newer event, and say whether it was done."""
        id, seq = entry.id, entry.seq
        if seq <= self._departed.seq(id, now):
            return False
        self.players[id] = Player(
            node, id, seq, entry.ack, entry.name, entry.dimmed, corner.read(entry)
        )
        return True

    def remove(self, id: int, seq: int, now: int) -> None:
        """Remove a player because of its event with this seq, and remember the seq."""
        self.players.pop(id, None)
        self._departed.note(id, seq, now)
