"""The replica of a square: its players, as the batches and full states on its channel make them.

The module also has what all replicas of a node share: which of them know a player, and which
players were removed recently.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

from flatlands.world.batches import RECORD, SEQ_STEP_MOST, WIDE, BatchContent, SquareCoordinates
from flatlands.world.events import EnterEvent, GoneEvent, LeaveEvent, Player
from flatlands.world.grid import Square
from flatlands.world.track import Track, duration

#: A node remembers the seq of a removed player for so long. That is two seconds longer than clients
#: remember it, so a node knows of every event that a client may still ignore as too old.
REPLICA_REMOVED_MS: Final = 12_000

#: The highest whole number that JavaScript holds exactly.
_NUMBER: Final = 2**53 - 1


class Tombstones:
    """The players that events have recently removed from replicas, and the seqs of these events.

    An older event that comes late must not bring a player back. All replicas of a node share one
    Tombstones, since clients remember removed players in the same way, over all squares.
    """

    def __init__(self) -> None:
        self._removed: dict[int, tuple[int, int]] = {}

    def note(self, id: int, seq: int, now: int) -> None:
        """Remember that a player was removed by an event with this seq, at the node time `now`."""
        removed = self._removed
        # The dict is in order of time, so this loop ends at the first one that is still remembered.
        while removed:
            oldest = next(iter(removed))
            if removed[oldest][1] > now:
                break
            del removed[oldest]
        before = removed.pop(id, (0, 0))[0]
        removed[id] = max(seq, before), now + REPLICA_REMOVED_MS

    def seq(self, id: int, now: int) -> int:
        """Return the seq with which a player was removed, or -1 if that is not remembered."""
        seq, until = self._removed.get(id, (-1, 0))
        return seq if now < until else -1


class PlayerIndex:
    """An index of the replicas of a node by the players in them. All replicas share one, so that a
    player is found without looking at every square."""

    def __init__(self) -> None:
        #: Player -> the replicas that know it: nearly always one. Unknown players are left out.
        self._replicas: dict[int, tuple[Replica, ...]] = {}

    def add(self, id: int, replica: "Replica") -> None:
        """Note that a replica knows a player, which it did not know before."""
        self._replicas[id] = (*self._replicas.get(id, ()), replica)

    def remove(self, id: int, replica: "Replica") -> None:
        """Note that a replica no longer knows a player that it knew before."""
        others = tuple([other for other in self._replicas[id] if other is not replica])
        if others:
            self._replicas[id] = others
        else:
            del self._replicas[id]

    def each(self) -> "Iterable[tuple[int, tuple[Replica, ...]]]":
        """Return each player that is known, with the replicas that know it."""
        return self._replicas.items()

    def of(self, id: int) -> "tuple[Replica, ...]":
        """Return the replicas that know a player."""
        return self._replicas.get(id, ())


class UnsentMoves:
    """The players of a replica that have moved and whose moves clients have not been sent yet.

    `before` is player -> its seq and ack before the first of these moves. For the last applied
    batch, `jumped` is the number of older events that its records have replaced, and `passed` that
    of moves in `before` that its enters, leaves and gones have replaced.
    """

    __slots__ = ("before", "jumped", "passed")

    def __init__(self) -> None:
        self.before: dict[int, tuple[int, int]] = {}
        self.jumped = self.passed = 0


class Replica:
    """The players of one square, as received. Times are in ms of this node's clock. `moved` is None
    unless somebody wants to know who moves."""

    def __init__(
        self, square: Square, span: int, tombstones: Tombstones, player_index: PlayerIndex
    ) -> None:
        self.square = square
        self._span = span
        self._tombstones = tombstones
        self._player_index = player_index
        self.players: dict[int, Player] = {}
        #: Node -> slot -> the player that it names. Each player is in it once.
        self._named: dict[int, dict[int, Player]] = {}
        self.moved: UnsentMoves | None = None

    def apply(self, node: int, sent: int, content: BatchContent, now: int) -> list[int]:
        """Apply a batch of a node. Events that are older than what is known change nothing.

        Returns the ids of players that were removed because another one has their slot now.
        """
        coordinates = SquareCoordinates(self.square, self._span, sent)
        if self.moved is not None:
            self.moved.jumped = self.moved.passed = 0
        if content.tracks:
            self._move(node, coordinates, RECORD.iter_unpack(content.tracks))
        if content.wide:
            self._move(node, coordinates, WIDE.iter_unpack(content.wide))
        gone: list[int] = []
        for event in content.others:
            if not isinstance(event, EnterEvent | LeaveEvent | GoneEvent):
                continue
            known = self.players.get(event.id)
            if known is not None and event.seq <= known.seq:
                continue
            if isinstance(event, EnterEvent):
                self._enter(node, coordinates, event, now, gone)
            else:
                self.remove(event.id, event.seq, now)
        return gone

    def _move(
        self, node: int, coordinates: SquareCoordinates, records: Iterable[tuple[Any, ...]]
    ) -> None:
        """Give the players that a node's records name their new tracks.

        A record that names nobody changes nothing: the enter was lost, and will be asked for.
        """
        named = self._named.get(node)
        if named is None:
            return
        x, y, sent, moved = coordinates.middle_x, coordinates.middle_y, coordinates.sent, self.moved
        for slot, seq, ack, from_x, from_y, dx, dy, age in records:
            known = named.get(slot)
            if known is None:
                continue
            newer = (seq - known.seq) & 255
            if newer == 0 or newer > SEQ_STEP_MOST:
                continue
            if moved is not None:
                moved.before.setdefault(known.id, (known.seq, known.ack))
                moved.jumped += newer - 1
            known.seq += newer
            known.ack = (known.ack + ((ack - known.ack) & 255)) & _NUMBER
            lasts = duration(dx, dy, known.pace)
            known.track = Track(x + from_x, y + from_y, dx, dy, sent - age, lasts)

    def replace(
        self, node: int, sent: int, entries: Sequence[EnterEvent], now: int
    ) -> tuple[bool, list[int]]:
        """Apply the full state of a node.

        Returns whether that changed anything, and the ids of players that were removed because they
        were not in it.
        """
        coordinates = SquareCoordinates(self.square, self._span, sent)
        changed = False
        present = set()
        gone: list[int] = []
        for entry in entries:
            present.add(entry.id)
            known = self.players.get(entry.id)
            if known is None or entry.seq > known.seq:
                changed |= self._enter(node, coordinates, entry, now, gone)
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
        """Return whether a node hosts any of the players."""
        return node in self._named

    def end(self) -> None:
        """Take the players out of the player_index: the node no longer follows the square."""
        for id in self.players:
            self._player_index.remove(id, self)

    def snapshot(self, sent: int, source: Callable[[int], int]) -> list[tuple[Any, ...]]:
        """Return an entry for each player, with ages in ms before `sent`, each preceded by what
        `source` returns for the player's node."""
        coordinates = SquareCoordinates(self.square, self._span, sent)
        return [(source(p.node), *coordinates.entry(p)) for p in self.players.values()]

    def _enter(
        self,
        node: int,
        coordinates: SquareCoordinates,
        entry: EnterEvent,
        now: int,
        gone: list[int],
    ) -> bool:
        """Enter a player, unless a newer event has removed it; return whether it was entered.

        If another player had the slot, its id is appended to `gone`: it must have left, or its node
        would not have reused the slot, and the event that said so was lost.
        """
        id, seq, slot = entry.id, entry.seq, entry.slot
        if seq <= self._tombstones.seq(id, now):
            return False
        before = self.players.get(id)
        if before is not None:
            self._take_out(before)
        named = self._named.get(node)
        if named is not None and slot in named:
            gone.append(named[slot].id)
            self._take_out(named[slot])
        player = Player(node, id, seq, entry.ack, entry.name, entry.dimmed, coordinates.read(entry))
        player.slot, player.look = slot, entry.look
        player.pace, player.values = entry.pace, entry.values
        self.players[id] = self._named.setdefault(node, {})[slot] = player
        self._player_index.add(id, self)
        return True

    def remove(self, id: int, seq: int, now: int) -> None:
        """Remove a player because of its event with this seq, and remember the seq."""
        player = self.players.get(id)
        if player is not None:
            self._take_out(player)
        self._tombstones.note(id, seq, now)

    def _take_out(self, player: Player) -> None:
        if self.moved is not None and (before := self.moved.before.pop(player.id, None)):
            self.moved.passed += player.seq - before[0]
        del self.players[player.id]
        self._player_index.remove(player.id, self)
        named = self._named[player.node]
        del named[player.slot]
        if not named:
            del self._named[player.node]
