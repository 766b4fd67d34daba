"""What happens in a square: events, the batches that carry them, and the replica they make.

An event is a list that begins with its kind, as docs/protocol.md gives it: positions are counted
from the square's corner, times are ages before the moment the batch was begun. It never packs or
sends anything.
"""

from collections.abc import Collection, Iterator
from typing import Any

from world.grid import Square
from world.track import Track

ENTER, TRACK, LEAVE, GONE, SAY = range(5)

#: A removed player's seq is remembered for so many ms: two seconds longer than clients remember it,
#: so that whatever a client still takes for old is known here to be taken so.
REMEMBERED = 12_000

#: An event, its fields in the order of docs/protocol.md.
Event = list[Any]


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

    def enter(self, p: Player) -> Event:
        """Return the event that tells all of a player; also its entry in a snapshot."""
        x, y, dx, dy, start, duration = p.track
        return [
            ENTER, p.id, p.seq, p.ack, p.name, p.dimmed,
            x - self.x, y - self.y, dx, dy, self.sent - start, duration,
        ]  # fmt: skip

    def track(self, p: Player) -> Event:
        """Return the event that tells a player's new track."""
        x, y, dx, dy, start, duration = p.track
        return [
            TRACK, p.id, p.seq, p.ack,
            x - self.x, y - self.y, dx, dy, self.sent - start, duration,
        ]  # fmt: skip

    def read(self, fields: Event) -> Track:
        """Return the track in an event's last six fields."""
        x, y, dx, dy, age, duration = fields[-6:]
        return Track(x + self.x, y + self.y, dx, dy, self.sent - age, duration)


class Batch:
    """The events of one square that go out together, at most one a player besides what is said.

    A player's newer event replaces its older one.
    """

    __slots__ = ("corner", "_replaced", "_states", "_said")

    def __init__(self, corner: Corner) -> None:
        self.corner = corner
        self._states: dict[int, Event] = {}
        #: How many events a player's event has replaced, if any.
        self._replaced: dict[int, int] = {}
        self._said: list[Event] = []

    def enter(self, p: Player) -> None:
        """A player came into the square, or something but its track has changed."""
        self._put(p.id, self.corner.enter(p))

    def track(self, p: Player) -> None:
        """A player of the square has a new track."""
        before = self._states.get(p.id)
        entered = before is not None and before[0] == ENTER
        self._put(p.id, self.corner.enter(p) if entered else self.corner.track(p))

    def leave(self, p: Player, to: Square) -> None:
        """A player went to another square."""
        self._put(p.id, [LEAVE, p.id, p.seq, to[0], to[1]])

    def gone(self, id: int, seq: int) -> None:
        """A player left the game, or nobody knows of it any more."""
        self._put(id, [GONE, id, seq])

    def say(self, p: Player, text: str) -> None:
        """A player said something."""
        self._said.append([SAY, p.id, text])

    def _put(self, id: int, event: Event) -> None:
        if id in self._states:
            self._replaced[id] = self._replaced.get(id, 0) + 1
        self._states[id] = event

    def parts(self, most: int) -> Iterator[tuple[list[Event], int]]:
        """Yield what is to be sent, `most` events at a time, with how many they replaced."""
        events = [*self._states.values(), *self._said]
        for start in range(0, len(events), most):
            some = events[start : start + most]
            replaced = 0
            if self._replaced:
                ids = (event[1] for event in some if event[0] != SAY)
                replaced = sum(self._replaced.get(id, 0) for id in ids)
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

    def apply(self, node: int, sent: int, events: list[Event], now: int) -> None:
        """Take in a batch of a node. What is older than what is known changes nothing."""
        corner = Corner(self.square, self._span, sent)
        players = self.players
        for event in events:
            kind, id = event[0], event[1]
            if kind == SAY:
                continue
            known = players.get(id)
            if known is not None and event[2] <= known.seq:
                continue
            if kind == TRACK:
                # Known at another node: that it came to this one was lost, and is asked for.
                if known is not None and known.node == node:
                    known.seq, known.ack = event[2], event[3]
                    known.track = corner.read(event)
            elif kind == ENTER:
                self._enter(node, corner, event, now)
            else:
                self.remove(id, event[2], now)

    def replace(
        self, node: int, sent: int, entries: list[Event], now: int
    ) -> tuple[bool, list[int]]:
        """Take in all that a node has in the square; return whether that changed anything, and who
        was removed as by `drop`."""
        corner = Corner(self.square, self._span, sent)
        changed = False
        present = set()
        for entry in entries:
            id = entry[1]
            present.add(id)
            known = self.players.get(id)
            if known is None or entry[2] > known.seq:
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

    def snapshot(self, sent: int) -> list[Event]:
        """Return every player's entry, with ages before `sent`."""
        corner = Corner(self.square, self._span, sent)
        return [corner.enter(p) for p in self.players.values()]

    def _enter(self, node: int, corner: Corner, entry: Event, now: int) -> bool:
        _, id, seq, ack, name, dimmed = entry[:6]
        if seq <= self._departed.seq(id, now):
            return False
        self.players[id] = Player(node, id, seq, ack, name, dimmed, corner.read(entry))
        return True

    def remove(self, id: int, seq: int, now: int) -> None:
        """Remove a player, as of one of its events, and remember that."""
        self.players.pop(id, None)
        self._departed.note(id, seq, now)
