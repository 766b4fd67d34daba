"""Splits received bytes into messages, and decodes flushes: once for all bots of a process.

A flush is the same bytes for all clients of a node that hold the same squares, and a batch is the
same in all flushes of one number. So flushes are looked up by their bytes, and batches by what
stands in them. It never knows bots, only their views.
"""

from collections import deque
from itertools import islice
from typing import Any

from loadtest.swarm import wire
from loadtest.swarm.views import View
from loadtest.swarm.wire import Batch

#: Turns for which a batch is remembered after it was read. A flush is for two.
REMEMBERED = 20


class Read:
    """A batch, the view that has read it, and what it found; see View.read.

    `own`: it is of the bots' own node, and surely none of another's.
    """

    __slots__ = ("batch", "view", "dues", "lacking", "own")

    def __init__(self, batch: Batch, view: View, now: int) -> None:
        self.batch, self.view = batch, view
        self.dues, self.lacking = view.read(batch, now)
        self.own = batch.source == 0 and bool(batch.records)


class Flush:
    """A flush, as all bots receive it that are connected to one node and hold the same squares.

    `size` is in bytes, and `dues` has the times at which those bots' moves were due that came first
    to this process with one of its batches. `arrivals` are the times, in us of the run's clock, at
    which bots received it. `view` is that of the bots, and `own` says that a batch in it is of
    their own node, and surely none of another's.
    """

    __slots__ = ("number", "batches", "dues", "events", "size", "arrivals", "view", "own")

    def __init__(self, number: int, reads: list[Read], size: int, view: View) -> None:
        self.number = number
        self.size = size
        self.view = view
        self.batches: list[Batch] = []
        self.dues: list[int] = []
        self.events, self.own = 0, False
        for read in reads:
            self.batches.append(read.batch)
            self.dues += read.dues
            self.events += read.batch.events
            self.own = self.own or read.own
        self.arrivals: list[int] = []


#: A received part: a flush, or the payload of another message, or a control frame's opcode and
#: payload.
Part = Flush | bytes


class Reader:
    """See the module."""

    def __init__(self) -> None:
        #: Flushes by their frames: those since the last turn, and those before it.
        self.flushes: dict[bytes, Flush] = {}
        self._old: dict[bytes, Flush] = {}
        #: Flushes that other views than the last have read.
        self._twins: list[Flush] = []
        #: Batches by the flush's number and time and by their fields, the oldest first; and how
        #: many there are of each turn.
        self._batches: dict[tuple[Any, ...], Read] = {}
        self._turns: deque[int] = deque()
        #: How many records had a slot that nobody had.
        self.lacking = 0

    def turn(self) -> list[Flush]:
        """Forget what is old; return the forgotten flushes, which will not come again."""
        past = list({id(flush): flush for flush in [*self._old.values(), *self._twins]}.values())
        self._old, self.flushes, self._twins = self.flushes, {}, []
        self._turns.append(len(self._batches) - sum(self._turns))
        if len(self._turns) > REMEMBERED:
            for key in list(islice(self._batches, self._turns.popleft())):
                del self._batches[key]
        return past

    def split(self, data: bytes, view: View, now: int) -> tuple[list[Part], bytes]:
        """Split bytes into the parts of whole frames and the rest.

        They came at the time `now`, to a bot with this view. Raises BrokenFrame.
        """
        parts: list[Part] = []
        at = 0
        for begin, start, at in wire.frames(data):
            content = data[start:at]
            if data[begin] == 0x80 | wire.BINARY and wire.is_flush(content):
                parts.append(self._flush(data[begin:at], content, view.now(), now))
            else:
                parts.append(wire.payload(data[begin], content))
        return parts, data[at:]

    def _flush(self, frame: bytes, content: bytes, view: View, now: int) -> Flush:
        known = self.flushes.get(frame) or self._old.get(frame)
        if known is not None:
            if known.own and known.view is not view:
                view.join(known.view)
            if known.view is view.now():
                return known
            # Each view reads everything that its bots are told, since it follows all players.
            self._twins.append(known)
        number, sent, batches = wire.flush(content)
        while True:
            view = view.now()
            reads = [self._batch((number, sent, fields), view, now) for fields in batches]
            if view.now() is view:
                break
        flush = self.flushes[frame] = Flush(number, reads, len(frame), view)
        return flush

    def _batch(self, key: tuple[Any, ...], view: View, now: int) -> Read:
        """Return what a view has read in the batch with this number and time of its flush, and
        these fields."""
        _, sent, fields = key
        read = self._batches.get(key)
        if read is not None and read.view is view:
            return read
        if read is not None and read.own:
            view.join(read.view)
            view = view.now()
        elif read is not None:
            # What another node calls a source is another one here.
            key = (*key, view)
            read = self._batches.get(key)
        if read is None:
            read = self._batches[key] = Read(Batch(fields, sent), view, now)
            self.lacking += read.lacking
        elif read.view is not view:
            before, read = read, Read(read.batch, view, now)
            # The view may have taken over from the other one whatever that knew.
            read.dues = list(dict.fromkeys(before.dues + read.dues))
            self._batches[key] = read
        return read
