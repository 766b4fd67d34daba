"""Splits received bytes into messages, and decodes flushes: once for all bots of a process.

A flush is the same bytes for all clients of a node that hold the same squares, and a batch is the
same in all flushes of one number. So flushes are looked up by their bytes, and batches by their
content. The reader knows no bots, only their views.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

from flatlands import wire
from flatlands.loadtest.swarm.slot_tables import SlotTable
from flatlands.wire import BatchMessage, CrowdMessage

#: Turns for which a batch is remembered after it was read. A flush is remembered for two.
REMEMBERED = 20

#: Batches that are forgotten at once. While bots join, there are tens of thousands in a turn.
FORGOTTEN = 500


#: The fields of a message, a batch or a crowd, as they were unpacked.
Fields = tuple[Any, ...]


class Read:
    """A batch or a crowd, the view that has read it, and what it found; see SlotTable.read.

    `own`: it is surely of the bots' own node, and not of another one.
    """

    __slots__ = ("batch", "view", "dues", "replaced", "lacking", "own")

    def __init__(self, batch: BatchMessage | CrowdMessage, view: SlotTable, now: int) -> None:
        self.batch, self.view = batch, view
        if isinstance(batch, CrowdMessage):
            self.dues, self.replaced, self.lacking = view.follow(batch)
            self.own = any(source == 0 for source, _ in batch.sketches)
        else:
            self.dues, self.replaced, self.lacking = view.read(batch, now)
            self.own = batch.source == 0 and batch.shows_players


class Flush:
    """A flush, as received by all bots that are connected to one node and hold the same squares.

    `size` is in bytes, and `dues` has the times at which the bots' moves were due of which its
    batches were the first to tell this process; `replaced` those of older moves, of which none
    tells any more. `arrivals` are the times, in us of the run's clock, at which bots received it.
    `view` is that of the bots, and `own` says that a batch in it is surely of their own node, and
    not of another one. `message` is as it was unpacked.
    """

    __slots__ = (
        "number",
        "batches",
        "crowds",
        "dues",
        "replaced",
        "events",
        "size",
        "arrivals",
        "view",
        "own",
        "message",
    )

    def __init__(
        self, number: int, reads: list[Read], size: int, view: SlotTable, message: Fields
    ) -> None:
        self.number, self.message = number, message
        self.size = size
        self.view = view
        self.batches: list[BatchMessage] = []
        self.crowds: list[CrowdMessage] = []
        self.dues: list[int] = []
        self.replaced: list[int] = []
        self.events, self.own = 0, False
        for read in reads:
            if isinstance(read.batch, BatchMessage):
                self.batches.append(read.batch)
            else:
                self.crowds.append(read.batch)
            self.dues += read.dues
            self.replaced += read.replaced
            self.events += read.batch.events
            self.own = self.own or read.own
        self.arrivals: list[int] = []


#: A received part: a flush, or the payload of another message, or a control frame's opcode and
#: payload.
Part = Flush | bytes


#: A batch or a crowd as a flush has it: the flush's number and time, the fields, and the class.
#: Batches are found by that, or by that and the view that has read them.
_Told = tuple[int, int, Fields, type[BatchMessage | CrowdMessage]]
_Key = _Told | tuple[int, int, Fields, type[BatchMessage | CrowdMessage], SlotTable]


class Reader:
    """Reads for all bots of a process."""

    def __init__(self) -> None:
        #: Flushes by their frames: those since the last turn, and those before it.
        self.flushes: dict[bytes, Flush] = {}
        self._old: dict[bytes, Flush] = {}
        #: Flushes that were read by views other than the last.
        self._twins: list[Flush] = []
        #: Batches by the flush's number and time and by their fields; and the keys of those that
        #: are new in this turn, of those that were in the turns before it, and of those that are to
        #: be forgotten. To look for the oldest in the dictionary would take ever longer, since that
        #: also passes over what was removed.
        self._batches: dict[_Key, Read] = {}
        self._new: list[_Key] = []
        self._turns: deque[list[_Key]] = deque()
        self._unneeded: list[_Key] = []
        #: How many records named a slot that nobody had.
        self.lacking = 0

    def turn(self) -> list[Flush]:
        """Forget what is old; return the forgotten flushes, which will not come again."""
        past = list({id(flush): flush for flush in [*self._old.values(), *self._twins]}.values())
        self._old, self.flushes, self._twins = self.flushes, {}, []
        self._turns.append(self._new)
        self._new = []
        if len(self._turns) > REMEMBERED:
            self._unneeded += self._turns.popleft()
        return past

    def forget(self) -> bool:
        """Forget some of the batches that are no longer needed; return whether more are left."""
        for key in self._unneeded[-FORGOTTEN:]:
            del self._batches[key]
        del self._unneeded[-FORGOTTEN:]
        return bool(self._unneeded)

    def parts(self, data: bytes, view: SlotTable, now: int) -> Iterator[tuple[Part, int]]:
        """Yield the part of each whole frame among bytes, and where the frame ends.

        They came at the time `now`, to a bot with this view. What a view makes of a flush depends
        on the squares that its bots hold, so a part must be obeyed before the next one is asked
        for. Raises BrokenFrame.
        """
        for begin, start, end in wire.split_frames(data):
            content = data[start:end]
            if data[begin] == 0x80 | wire.BINARY and wire.message_kind(content) == wire.FLUSH:
                yield self._flush(data[begin:end], content, view.now(), now), end
            else:
                yield wire.frame_payload(data[begin], content), end

    def _flush(self, frame: bytes, content: bytes, view: SlotTable, now: int) -> Flush:
        known = self.flushes.get(frame) or self._old.get(frame)
        if known is not None:
            if known.own and known.view is not view:
                view.join(known.view)
            if known.view is view.now():
                return known
            # Each view reads everything that its bots are told, since it follows all players.
            self._twins.append(known)
        message = wire.unpack_message(content)
        number, sent, batches, crowds = wire.read_flush(message)
        some: list[tuple[type[BatchMessage | CrowdMessage], Fields]] = [
            (BatchMessage, b) for b in batches
        ]
        if crowds:
            # Batches that only tell a few bots of their own moves are read last, so that a move is
            # counted with the crowd, of which all are told.
            some.sort(key=lambda one: not any(one[1][5:6]))
            at = sum(any(fields[5:6]) for fields in batches)
            some[at:at] = [(CrowdMessage, crowd) for crowd in crowds]
        while True:
            view = view.now()
            reads = [self._batch((number, sent, fields, kind), view, now) for kind, fields in some]
            if view.now() is view:
                break
        flush = self.flushes[frame] = Flush(number, reads, len(frame), view, message)
        return flush

    def _batch(self, told: _Told, view: SlotTable, now: int) -> Read:
        """Return what a view has read in the batch or crowd with this number and time of its flush,
        these fields, and this class."""
        _, sent, fields, kind = told
        key: _Key = told
        read = self._batches.get(key)
        if read is not None and read.view is view:
            return read
        if read is not None and read.own:
            view.join(read.view)
            view = view.now()
        elif read is not None:
            # The number of a source at another node means another source here.
            key = (*told, view)
            read = self._batches.get(key)
        if read is None:
            self._new.append(key)
            read = self._batches[key] = Read(kind(fields, sent), view, now)
            self.lacking += read.lacking
        elif read.view is not view:
            before, read = read, Read(read.batch, view, now)
            # The view may have taken over everything that the other one knew.
            read.dues = list(dict.fromkeys(before.dues + read.dues))
            read.replaced = list(dict.fromkeys(before.replaced + read.replaced))
            self._batches[key] = read
        return read
