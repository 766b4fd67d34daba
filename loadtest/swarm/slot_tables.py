"""Which player a slot means, for all bots of a process that are connected to one node.

A record names its player by the slot that the player's node has given it in the square, and that
node by a number that the client's own node has given it. So only what bots of one node are told can
be read together. Each bot begins with a separate view. When two bots have received the same batch
of their own nodes in the same flush, their nodes are the same, and their views become one.

A view knows a square as long as any of its bots holds it, since it is then told of every enter. It
judges nothing; what an observing bot believes is kept by observer.py.
"""

import os
from collections import Counter
from itertools import count
from typing import NamedTuple, Protocol

from flatlands.loadtest.swarm.intent_times import IntentTimes
from flatlands.wire import (
    ENTER,
    GONE,
    LEAVE,
    BatchMessage,
    CrowdMessage,
    Enter,
    Square,
    TrackReader,
    unpack_message,
)

#: A player whose seq is this much higher than a view knows is taken as a snapshot shows it. Low
#: bytes tell only differences below 128.
BEHIND = 100

#: The seq of a player that comes to another node begins there at least this much higher
#: (docs/nodes.md, incarnations). At one node it rises by one with each event.
ELSEWHERE = 2**23

#: Later than all times.
NEVER = 2**62

_names = count()


class SlotPlayer:
    """A player as a view knows it: `seq` and `ack` are those of its newest event, and `pace` is how
    fast it is. The view is told of each of its moves that is due after `since`, in us, or of a
    newer one: NEVER if it is, as far as is known, in no square that the view holds."""

    __slots__ = ("id", "seq", "ack", "pace", "since")

    def __init__(self, id: int, seq: int, ack: int, pace: int = 100) -> None:
        self.id, self.seq, self.ack, self.pace = id, seq, ack, pace
        self.since = NEVER


#: (source, slot) -> the player that has it, and the seq of its enter.
Slots = dict[tuple[int, int], tuple[SlotPlayer, int]]


class Found(NamedTuple):
    """What a batch or a crowd tells: when the moves were due that it is the first to acknowledge,
    and those that these have replaced; and how many records name a slot that nobody has."""

    dues: list[int]
    replaced: list[int]
    lacking: int


class Player(Protocol):
    """A bot of the process, as a view knows it (bot.py)."""

    view: "SlotTable"

    def moved(
        self, square: Square, seq: int, ack: int, track: tuple[int, ...], now: int
    ) -> None: ...


class SlotTable:
    """The slots of one node. `players` are the process's bots (bot.py) by their players' ids."""

    def __init__(
        self, track_reader: TrackReader, intent_times: IntentTimes, players: dict[int, Player]
    ) -> None:
        self._track_reader, self._intent_times, self._players = track_reader, intent_times, players
        #: A number that no other view has, in any process of a run.
        self.name = os.getpid() << 32 | next(_names)
        #: The view that this one has become a part of, or None.
        self._into: SlotTable | None = None
        self.bots: set[Player] = set()
        #: Square -> how many of its bots hold it.
        self.held: Counter[Square] = Counter()
        #: Square -> which player has which slot there.
        self._slots: dict[Square, Slots] = {}
        #: All players that it was ever told of, in any square.
        self._known: dict[int, SlotPlayer] = {}
        #: The newest snapshots that were not read, because nothing in them was needed.
        self._unread: dict[Square, bytes] = {}

    def now(self) -> "SlotTable":
        """Return the view that this one has become."""
        view = self
        while view._into is not None:
            view = view._into
        return view

    def join(self, other: "SlotTable") -> None:
        """Become one with another view, which is of the same node."""
        # Of two of the same size this one stays: what it is about to read may be news to it.
        small, large = sorted((other.now(), self.now()), key=lambda view: len(view.bots))
        if small is large:
            return
        small._into = large
        for bot in small.bots:
            bot.view = large
        large.bots |= small.bots
        large.held.update(small.held)
        for id, known in small._known.items():
            large._catch_up(id, known.seq, known.ack, here=known.since != NEVER)
        for square, slots in small._slots.items():
            mine = large._slots.setdefault(square, {})
            for key, (known, seq) in slots.items():
                mine.setdefault(key, (large._known[known.id], seq))
        large._unread.update(small._unread)

    # What its bots hold.

    def hold(self, before: set[Square], after: set[Square]) -> None:
        """Note that a bot holds the squares `after`, and no longer `before`."""
        self.held.update(after - before)
        for square in before - after:
            self.held[square] -= 1
            if not self.held[square]:
                del self.held[square]
                for known, _ in self._slots.pop(square, {}).values():
                    known.since = NEVER
                self._unread.pop(square, None)

    def snapshot(
        self, square: Square, payload: bytes, now: int, missed: int | None = None
    ) -> list[int]:
        """Note a square's snapshot that came at the time `now`. It is read when a slot is needed
        that is not known.

        `missed`: its bot has missed all events since then, and perhaps all others have too. Then it
        is read at once, because a slot may have become another player's, and because nothing else
        may tell the process's bots of their own players. Returns when the moves were due that its
        bot has missed.
        """
        if missed is not None:
            return self._read(square, payload, now, missed)
        if self.held[square]:
            self._unread[square] = payload
        return []

    # What its bots are told.

    def read(self, batch: BatchMessage, now: int) -> Found:
        """Read a batch, new to this view, that came to the process at the time `now`."""
        dues: list[int] = []
        replaced: list[int] = []
        lacking = 0
        square, source = batch.square, batch.source
        slots = self._slots.setdefault(square, {})
        for record in batch.records:
            has = slots.get((source, record[0]))
            if has is None:
                self._read(square, self._unread.pop(square, b""))
                has = slots.get((source, record[0]))
                if has is None:
                    lacking += 1
                    continue
            known, since = has
            seq, ack = known.seq, known.ack
            if seq - since > ELSEWHERE:
                # It comes late, from a node that had the player before: low bytes tell nothing.
                lacking += 1
                continue
            later = record[1] - seq & 255
            if later > 127:
                # What the player did in the next square was read first.
                seq, ack = seq - (seq - record[1] & 255), ack - (ack - record[2] & 255)
            else:
                # What a snapshot has shown already is told the bot once more: it may not know it.
                known.seq = seq = seq + later
                if acked := record[2] - ack & 255:
                    if acked > 1:
                        replaced += self._replaced(known, ack + acked)
                    known.ack = ack = ack + acked
                    if due := self._intent_times.get(known.id, ack):
                        dues.append(due)
            if known.id in self._players:
                track = self._track_reader.track_of_record(square, batch.sent, record, known.pace)
                self._players[known.id].moved(square, seq, ack, track, now)
        for event in batch.others:
            kind = event[0]
            if kind == ENTER:
                enter = Enter.read(event)
                id, seq, ack = enter[:3]
                before = self._known.get(id)
                new = before is None or ack != before.ack and seq > before.seq
                older = self._replaced(before, ack) if before is not None and new else ()
                if self._enter(slots, source, enter) and new:
                    replaced += older
                    if due := self._intent_times.get(id, ack):
                        dues.append(due)
                if id in self._players:
                    track = self._track_reader.track_of_enter(square, batch.sent, enter)
                    self._players[id].moved(square, seq, ack, track, now)
            elif kind in (LEAVE, GONE):
                replaced += self._leave(slots, *event[1:])
        if not self.held[square]:
            # The batch was under way when the last bot that held the square left it.
            del self._slots[square], self.held[square]
        return Found(dues, replaced, lacking)

    def follow(self, crowd: CrowdMessage) -> Found:
        """Read the moves of a crowd."""
        dues: list[int] = []
        replaced: list[int] = []
        lacking = 0
        square = crowd.square
        slots = self._slots.setdefault(square, {})
        for source, (slot, marks, *_) in crowd.sketches:
            has = slots.get((source, slot))
            if has is None:
                self._read(square, self._unread.pop(square, b""))
                has = slots.get((source, slot))
                if has is None:
                    lacking += 1
                    continue
            known = has[0]
            risen = marks - known.seq & 15
            if 0 < risen < 8:
                known.seq += risen
                if acked := (marks >> 4) - known.ack & 15:
                    if acked > 1:
                        replaced += self._replaced(known, known.ack + acked)
                    known.ack += acked
                    if due := self._intent_times.get(known.id, known.ack):
                        dues.append(due)
        if not self.held[square]:
            del self._slots[square], self.held[square]
        return Found(dues, replaced, lacking)

    def outstanding(self, square: Square) -> list[int]:
        """Return when the moves of players in a square were due that no batch has told of yet."""
        players = {known for known, _ in self._slots.get(square, {}).values()}
        return [due for known in players for due in self._intent_times.after(known.id, known.ack)]

    def _replaced(self, known: SlotPlayer, ack: int) -> list[int]:
        """Return when those moves of a player were due that an event replaces which acknowledges
        the move `ack`, or nothing, since the player has come back or left the game."""
        if known.since == NEVER:
            return []
        if not ack:
            return list(self._intent_times.after(known.id, known.ack))
        told = self._intent_times.get(known.id, known.ack)
        return list(self._intent_times.back(known.id, ack - 1, max(told, known.since)))

    def _catch_up(self, id: int, seq: int, ack: int, *, here: bool) -> SlotPlayer:
        """Note what is known of a player without having been told by a batch; return the player.
        `here`: it is in a square that is held.

        This view may be the first to read batches that are still to come, so a player that it
        already follows stays as it is: the next low bytes will say how far it is. They cannot if it
        has fallen too far behind.
        """
        known = self._known.get(id)
        if known is None:
            known = self._known[id] = SlotPlayer(id, seq, ack)
        elif seq > known.seq + BEHIND:
            known.seq, known.ack = seq, ack
        if here and known.since == NEVER:
            known.since = self._intent_times.get(id, ack)
        return known

    def _enter(self, slots: Slots, source: int, enter: Enter) -> bool:
        """Give a player a slot unless something newer is known of it; return whether it got it."""
        id, seq, ack = enter[:3]
        known = self._known.get(id)
        if known is not None and seq < known.seq:
            return False
        if known is None:
            known = self._known[id] = SlotPlayer(id, seq, ack)
        known.seq, known.ack, known.pace = seq, ack, enter.pace
        if known.since == NEVER:
            known.since = self._intent_times.get(id, ack)
        slots[source, enter.slot] = known, seq
        return True

    def _leave(self, slots: Slots, id: int, seq: int, *to: int) -> list[int]:
        """Note that a player went to the square `to`, or out of the game; return when the moves
        were due that this replaces."""
        known, replaced = self._known.get(id), list[int]()
        if known is None:
            # An old snapshot must not give it its slot again.
            self._known[id] = SlotPlayer(id, seq, 0)
            return replaced
        if seq > known.seq:
            known.seq = seq
            if not to:
                replaced = self._replaced(known, 0)
            if to not in self.held:
                known.since = NEVER
        for key, (other, since) in list(slots.items()):
            if other is known and since < seq:
                del slots[key]
        return replaced

    def _read(
        self, square: Square, payload: bytes, now: int | None = None, missed: int = NEVER
    ) -> list[int]:
        """Learn from a snapshot who has which slot in a square; b"" stands for none. With `now`,
        the time at which it came, the process's players learn from it where they are. Returns when
        the moves in it, and those that they have replaced, were due, as far as that was after the
        time `missed`."""
        dues: list[int] = []
        if not payload:
            return dues
        slots = self._slots.setdefault(square, {})
        sent, entries = unpack_message(payload)[3:5]
        for entry in entries:
            enter = Enter.read(entry, 2)
            if now is not None and enter.id in self._players:
                track = self._track_reader.track_of_enter(square, sent, enter)
                self._players[enter.id].moved(square, enter.seq, enter.ack, track, now)
            dues += self._intent_times.back(enter.id, enter.ack, missed)
            known = self._known.get(enter.id)
            if known is None or enter.seq >= known.seq:
                known = self._catch_up(enter.id, enter.seq, enter.ack, here=True)
                known.pace = enter.pace
                slots[entry[0], enter.slot] = known, enter.seq
        return dues
