"""The sessions of this process by the squares they hold, and the flush that writes to them.

What arrives for a square is kept until the next flush, joined once for all sessions that hold the
same squares, and written to each with one call. No session has a queue of its own. It never looks
inside a batch.
"""

from typing import TYPE_CHECKING

from server.loop import Loop
from server.messages import protocol
from server.websocket.frames import frame
from world.grid import Rect, Square

if TYPE_CHECKING:
    from server.clients.session import Session

#: From a flush that took c ms to the next one it is at least PAUSE x c, up to CALM ms: a quiet node
#: answers at once, and a busy one spends its time on few large writes instead of many small ones.
PAUSE, CALM = 20, 32

#: On a node with so much to write that CALM leaves little time for anything else it is BUSY x c, up
#: to LONGEST ms: a quarter of its time goes into flushes.
BUSY, LONGEST = 4, 150


class Group:
    """The sessions that hold exactly the squares of `rect`."""

    __slots__ = ("rect", "sessions", "frames")

    def __init__(self, rect: Rect) -> None:
        self.rect = rect
        self.sessions: set[Session] = set()
        self.frames: list[bytes] = []


class Hub:
    """See the module. `first` and `last` of a square are told to the node by return values."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.stats = loop.stats
        self._groups: dict[Rect, Group] = {}
        self._holding: dict[Square, set[Group]] = {}
        self._arrived: dict[Square, list[bytes]] = {}
        self._alarm = loop.alarm(self.flush)
        self._waiting = False
        #: Sessions that hold anything: all that are in play.
        self.sessions_holding = 0
        #: No flush is written before this node time.
        self.not_before = 0
        self.number = 0
        self.interval = 0.0

    def holds(self, square: Square) -> bool:
        """Say whether any session holds a square."""
        return square in self._holding

    def move(
        self, session: "Session", before: Rect | None, after: Rect | None
    ) -> tuple[list[Square], list[Square]]:
        """Note that a session now holds other squares.

        Returns the squares that now have their first session, and those that lost their last.
        """
        self.sessions_holding += (after is not None) - (before is not None)
        first: list[Square] = []
        if after is not None:
            group = self._groups.get(after)
            if group is None:
                group = self._groups[after] = Group(after)
                for square in after.squares():
                    groups = self._holding.get(square)
                    if groups is None:
                        groups = self._holding[square] = set()
                        first.append(square)
                    groups.add(group)
            group.sessions.add(session)
        last: list[Square] = []
        if before is not None:
            group = self._groups[before]
            group.sessions.discard(session)
            if not group.sessions:
                del self._groups[before]
                for square in before.squares():
                    groups = self._holding[square]
                    groups.discard(group)
                    if not groups:
                        del self._holding[square]
                        self._arrived.pop(square, None)
                        last.append(square)
        return first, last

    def sessions(self, square: Square) -> "list[Session]":
        """Return the sessions that hold a square."""
        return [
            session for group in self._holding.get(square, ()) for session in group.sessions
        ]

    def deliver(self, square: Square, payload: bytes) -> None:
        """Take a batch for all who hold a square; it goes out with the next flush."""
        if square not in self._holding:
            return
        frames = self._arrived.get(square)
        if frames is None:
            self._arrived[square] = [frame(payload)]
        else:
            frames.append(frame(payload))
        if not self._waiting:
            self._waiting = True
            now = self._loop.now()
            if now >= self.not_before:
                self._loop.soon(self.flush)
            else:
                self._alarm.set(self.not_before)

    def flush(self) -> None:
        """Write all that has arrived: once per session, the same bytes to all of a group."""
        started = self._loop.seconds()
        arrived, self._arrived = self._arrived, {}
        self._waiting = False
        self.number = number = self.number + 1
        mark = frame(protocol.flush(number))
        groups: list[Group] = []
        for square, frames in arrived.items():
            for group in self._holding.get(square, ()):
                if not group.frames:
                    groups.append(group)
                group.frames += frames
        now = self._loop.now()
        writes = 0
        for group in groups:
            group.frames.append(mark)
            data = b"".join(group.frames)
            group.frames = []
            writes += len(group.sessions)
            # A copy: a write may find the connection dead, and its session leaves the group.
            for session in tuple(group.sessions):
                try:
                    session.flush(data, number, now)
                except Exception:
                    self._loop.failed()
        cost = (self._loop.seconds() - started) * 1000
        self.interval = max(min(PAUSE * cost, CALM), min(BUSY * cost, LONGEST))
        self.not_before = now + round(self.interval)
        self.stats["flushes"] += 1
        self.stats["writes"] += writes
