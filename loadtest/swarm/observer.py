"""What an observing bot believes about the world, and a log of the messages that made it so.

It keeps the players as docs/protocol.md says in section 5. It judges nothing except the order of
what comes: loadtest/swarm/oracle.py compares the log with what the bot had to be told.
"""

from array import array
from dataclasses import dataclass
from typing import Any

import msgpack
import numpy as np

from flatlands.loadtest.swarm.dues import Dues
from flatlands.loadtest.swarm.wire import (
    ENTER,
    GONE,
    LEAVE,
    SNAPSHOT,
    TRACK,
    Batch,
    Crowd,
    Rules,
    Square,
)

#: us for which a player that left for a held square is kept without its enter event.
DRAWN_ON = 2_000_000

#: us for which the seq of a removed player is remembered.
REMEMBERED = 10_000_000

#: The kind, in the log, of an entry of a snapshot.
SHOWN = 9

#: ms by which a batch of another node may seem to be older than the one before it, because the
#: bot's node has estimated the other's clock again.
ADJUSTED = 100


#: The seqs of a player that comes to another node begin there at the next multiple of this, plus
#: one (docs/nodes.md, incarnations).
INCARNATION = 2**24


@dataclass(slots=True, eq=False)
class Belief:
    """A player as an observer believes it to be.

    `ack` is the number of the last intent that its node had obeyed. `track` is (x, y, dx, dy,
    start, duration): absolute positions in 1/1024 tile, times in ms of the clock of the bot's node.
    `until` is the time at which the player is removed because its enter has not come, or None.
    `over` is the time at which it was told in full again, or removed, or None. `rough`: the track
    is from a sketch. `pace` is how fast it is.
    """

    id: int
    seq: int
    ack: int
    square: Square
    track: tuple[int, ...]
    pace: int
    until: int | None = None
    over: int | None = None
    rough: bool = False


#: A square, and the source and slot of a player in it.
Place = tuple[Square, int, int]


class Observer:
    """The beliefs and the log of one observing bot. Times are in us of the run's clock.

    The log names a move not by its number, but by the time at which it was due: 0 if the event
    acknowledges none.
    """

    def __init__(self, dues: Dues) -> None:
        self._dues = dues
        self.rules: Rules
        self.players: dict[int, Belief] = {}
        #: The player that was last told in full to have a place. It stays for REMEMBERED when it
        #: leaves: what it did there may come after what it did in the next square.
        self._places: dict[Place, Belief] = {}
        self.held: tuple[int, int, int, int] | None = None
        self._removed: dict[int, tuple[int, int]] = {}
        #: (square, source) -> when the last batch was begun; (square, player) -> last seq in a
        #: batch.
        self._begun: dict[tuple[Square, int], int] = {}
        self._seqs: dict[tuple[Square, int], int] = {}
        #: Squares that were a crowd. For these the server itself makes batches of moves that it
        #: tells exactly. It begins them when it writes them, and other batches before.
        self._crowds: set[Square] = set()
        # The log has a row for each event or snapshot's entry of a player ...
        self._ids, self._acks, self._at = array("q"), array("q"), array("q")
        self._kinds, self._sources, self._news_seqs = array("b"), array("l"), array("q")
        # ... and one for each batch: (time, column, row, number of events, replaced events).
        self._rows: list[tuple[int, int, int, int, int]] = []
        self.duplicate = self.reordered = 0
        #: Records whose slot no player had that it knew.
        self.lacking = 0
        #: For each resync: the time of the last message before it, and its own time.
        self.behind: list[tuple[int, int]] = []
        self.last = 0
        #: (time, rectangle of squares held from then on).
        self._held_log: list[tuple[int, int, int, int, int]] = []
        #: (time, whether the server was linked to its other nodes from then on).
        self._links: list[tuple[int, int]] = []
        # The screen at each look: (time, number of players), and these players with their seqs.
        self._looks: list[tuple[int, int]] = []
        self._on_screen, self._screen_seqs = array("q"), array("q")

    def batch(self, batch: Batch, now: int) -> None:
        """Apply a batch that came at the time `now`."""
        self.last = now
        square, source = batch.square, batch.source
        before = self._begun.get((square, source), batch.sent)
        # The bot's own node begins a batch when the one before it has been published.
        late = batch.sent < before - (ADJUSTED if source else 0) and square not in self._crowds
        if batch.sent > before or (square, source) not in self._begun:
            self._begun[square, source] = batch.sent
        row = len(self._rows)
        self._rows.append((now, *square, batch.events, batch.replaced))
        if not self._holds(square):
            return
        for record in batch.records:
            known = self._named((square, source, record[0]), now)
            if known is None:
                continue
            later = record[1] - known.seq & 255
            if 0 < later < 128:
                seq, ack = known.seq + later, known.ack + (record[2] - known.ack & 255)
            else:
                seq = known.seq - (known.seq - record[1] & 255)
                ack = known.ack - (known.ack - record[2] & 255)
            if self._heard(square, known.id, seq, late=late):
                self._note(known.id, ack, TRACK, now, row, seq)
                # A player that is kept without its enter has lost that. If this seq were noted, the
                # enter would be refused when it comes again.
                there = known.until is None and known.over is None
                if there and known.square == square and seq > known.seq:
                    known.seq, known.ack = seq, ack
                    known.track = self.rules.tracked(square, batch.sent, record, known.pace)
                    known.rough = False
        for event in batch.others:
            kind = event[0]
            if kind not in (ENTER, LEAVE, GONE):
                # It changes nothing about the player, or its kind is unknown.
                continue
            id, seq = event[1], event[2]
            known = self.players.get(id)
            newest = max(self._seqs.get((square, id), 0), known.seq if known else 0)
            if kind == GONE and seq // INCARNATION < newest // INCARNATION:
                # The node that handed it over says so last, for clients that missed its next node.
                continue
            if self._heard(square, id, seq, late=late):
                self._note(id, event[3] if kind == ENTER else 0, kind, now, row, seq)
                if kind == ENTER:
                    self._enter(square, source, batch.sent, event, now)
                else:
                    self._leave(kind, event, now)

    def crowd(self, crowd: Crowd, now: int) -> None:
        """Apply the moves of a crowd that came at the time `now`."""
        self.last = now
        square = crowd.square
        row = len(self._rows)
        self._rows.append((now, *square, crowd.events, crowd.replaced))
        if not self._holds(square):
            return
        self._crowds.add(square)
        for source, sketch in crowd.sketches:
            known = self._named((square, source, sketch[0]), now)
            if known is None:
                continue
            risen = sketch[1] - known.seq & 15
            # It already knows its own moves, and those that a snapshot has shown.
            if 0 < risen < 8:
                seq, ack = known.seq + risen, known.ack + ((sketch[1] >> 4) - known.ack & 15)
                self._heard(square, known.id, seq, late=False)
                self._note(known.id, ack, TRACK, now, row, seq)
                if known.until is None and known.over is None and known.square == square:
                    known.seq, known.ack, known.rough = seq, ack, True
                    known.track = self.rules.sketched(square, crowd.sent, sketch, known.pace)

    def _named(self, place: Place, now: int) -> Belief | None:
        """Return the player that a record or sketch names by a place; count it if there is none."""
        known = self._places.get(place)
        if known is None or (known.over is not None and known.over + REMEMBERED < now):
            self.lacking += 1
            return None
        return known

    def _heard(self, square: Square, id: int, seq: int, *, late: bool) -> bool:
        """Count an event of a batch; return False if it repeats the last one of its player."""
        before = self._seqs.get((square, id), -1)
        if seq == before:
            self.duplicate += 1
            return False
        # A node that heard too late that a player went elsewhere may tell of it once more: screens
        # ignore events of an earlier incarnation.
        if late or seq < before and seq // INCARNATION == before // INCARNATION:
            self.reordered += 1
        self._seqs[square, id] = max(seq, before)
        return True

    def snapshot(self, payload: bytes, now: int) -> None:
        """Apply the payload of a snapshot that came at the time `now`."""
        self.last = now
        kind, column, row, sent, entries = msgpack.unpackb(payload, use_list=False)[:5]
        assert kind == SNAPSHOT
        square = column, row
        if not self._holds(square):
            return
        present = set()
        for source, *entry in entries:
            id, seq, ack = entry[1:4]
            present.add(id)
            known = self.players.get(id)
            if known is None or seq > known.seq:
                self._note(id, ack, SHOWN, now, -1, seq)
            self._enter(square, source, sent, tuple(entry), now, entry=True)
        for id, player in list(self.players.items()):
            if player.square == square and id not in present and player.until is None:
                self._note(id, 0, GONE, now, -1, player.seq)
                self._remove(player, now)

    def hold(self, rect: tuple[int, int, int, int], now: int) -> None:
        """Note the rectangle (c0, r0, c1, r1) of squares that are held from now on."""
        self.held = rect
        self._held_log.append((now, *rect))
        for player in list(self.players.values()):
            if not self._holds(player.square):
                self._remove(player, now)
        for place in [place for place in self._places if not self._holds(place[0])]:
            del self._places[place]
        self._crowds = {square for square in self._crowds if self._holds(square)}
        for table in (self._begun, self._seqs):
            for key in [key for key in table if not self._holds(key[0])]:
                del table[key]

    def resync(self, now: int) -> None:
        """Forget everything: the server has skipped events and sends everything again."""
        self.behind.append((self.last, now))
        self.players.clear()
        self._removed.clear()
        self._places.clear()
        self._begun.clear()
        self._seqs.clear()
        self._crowds.clear()
        self.held = None

    def link(self, up: bool, now: int) -> None:
        """Note whether the server is linked to its other nodes."""
        self._links.append((now, int(up)))

    def look(self, now: int) -> None:
        """Log which players are on the screen."""
        self.expire(now)
        self._looks.append((now, len(self.players)))
        for id, player in self.players.items():
            self._on_screen.append(id)
            self._screen_seqs.append(player.seq)

    def expire(self, now: int) -> None:
        """Remove the players whose enter has not come in time."""
        for player in list(self.players.values()):
            if player.until is not None and player.until <= now:
                self._remove(player, now)

    def report(self) -> dict[str, Any]:
        """Return the log and the beliefs as arrays."""
        news = [self._at, self._ids, self._acks, self._kinds, self._sources, self._news_seqs]
        screens = [self._on_screen, self._screen_seqs]
        return {
            "news": np.array([np.array(column, dtype=np.int64) for column in news]).T,
            "rows": np.array(self._rows, dtype=np.int64).reshape(-1, 5),
            "beliefs": np.array(
                [
                    (id, p.seq, self._dues.get(id, p.ack), *p.square, *p.track, p.rough)
                    for id, p in self.players.items()
                ],
                dtype=np.int64,
            ).reshape(-1, 12),
            "behind": self.behind,
            "holds": np.array(self._held_log, dtype=np.int64).reshape(-1, 5),
            "links": self._links,
            "looks": np.array(self._looks, dtype=np.int64).reshape(-1, 2),
            "screens": np.array([np.array(column, dtype=np.int64) for column in screens]).T,
            "duplicate": self.duplicate,
            "reordered": self.reordered,
            "lacking": self.lacking,
        }

    def _holds(self, square: Square) -> bool:
        held = self.held
        return (
            held is not None and held[0] <= square[0] <= held[2] and held[1] <= square[1] <= held[3]
        )

    def _note(self, id: int, ack: int, kind: int, now: int, row: int, seq: int) -> None:
        """Log an event of a player. `row` is that of its batch, or -1 for a snapshot's entry."""
        self._at.append(now)
        self._ids.append(id)
        self._acks.append(self._dues.get(id, ack))
        self._kinds.append(kind)
        self._sources.append(row)
        self._news_seqs.append(seq)

    def _leave(self, kind: int, event: tuple[Any, ...], now: int) -> None:
        """Believe a leave or a gone."""
        id, seq = event[1:3]
        known = self.players.get(id)
        if known is not None and seq <= known.seq:
            return
        to = (event[3], event[4]) if kind == LEAVE else None
        if to is not None and self._holds(to):
            if known is not None:
                known.seq, known.square, known.until = seq, to, now + DRAWN_ON
        else:
            if known is not None:
                self._remove(known, now)
            before = self._removed.get(id, (0, 0))[0]
            self._removed[id] = max(seq, before), now + REMEMBERED

    def _remove(self, player: Belief, now: int) -> None:
        player.over = now
        del self.players[player.id]

    def _enter(
        self,
        square: Square,
        source: int,
        sent: int,
        event: tuple[Any, ...],
        now: int,
        *,
        entry: bool = False,
    ) -> None:
        """Believe an enter, or an entry of a snapshot."""
        id, seq, ack = event[1:4]
        known = self.players.get(id)
        if known is not None and (seq < known.seq or (seq == known.seq and not entry)):
            if not entry:
                # What it did there is told by that slot, before its leave.
                self._places[square, source, event[6]] = known
            return
        if id in self._removed:
            removed, until = self._removed[id]
            if seq <= removed and now < until:
                return
            del self._removed[id]
        if known is not None:
            known.over = now
        track = self.rules.entered(square, sent, event)
        belief = self.players[id] = Belief(id, seq, ack, square, track, event[13])
        self._places[square, source, event[6]] = belief
