"""The screens of this process by the squares they hold, and the flush that writes to them.

What arrives for a square is kept until the next flush, joined once for all screens that hold the
same squares, and written to each with one call. No screen has a queue of its own. It never looks
inside a batch.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from server.loop import Loop
from server.messages import protocol
from server.messages.protocol import Refused
from server.websocket.frames import frame
from world.grid import Rect, Square

#: From a flush that took c ms to the next one it is at least PAUSE x c, up to CALM ms: a quiet node
#: answers at once, and a busy one spends its time on few large writes instead of many small ones.
PAUSE, CALM = 20, 32

#: On a node with so much to write that CALM leaves little time for anything else it is BUSY x c, up
#: to LONGEST ms: a quarter of its time goes into flushes.
BUSY, LONGEST = 4, 150


class Screen(Protocol):
    """What holds squares: a client, as its node sees it. Times are node time in ms."""

    @property
    def address(self) -> str:
        """The IP address of the client."""

    @property
    def last_heard(self) -> int:
        """When the client gave its last sign of life."""

    def ping(self) -> None:
        """Ask the client for a sign of life."""

    def hold(self, before: Rect | None, rect: Rect) -> None:
        """It holds the squares of `rect` from now on, instead of those of `before`."""

    def show(self, squares: Iterable[Square]) -> None:
        """Show all there is in some of its squares, for the first time or anew."""

    def flush(self, data: bytes, number: int, now: int) -> None:
        """Show what has happened in its squares: the frames of flush `number`."""

    def tell_clocks(self) -> None:
        """The clocks of other nodes are known, or known better."""

    def tell_link(self) -> None:
        """This node hears the others no more, or again."""

    def give_up(self) -> None:
        """Its player goes on elsewhere."""

    def refuse(self, refused: Refused) -> None:
        """Tell the client why it is not obeyed, and send it away where that is the end of it."""


class Group:
    """The screens that hold exactly the squares of `rect`."""

    __slots__ = ("rect", "screens", "frames")

    def __init__(self, rect: Rect) -> None:
        self.rect = rect
        self.screens: set[Screen] = set()
        self.frames: list[bytes] = []


class Hub:
    """See the module. `before_flush` is called before each flush: what screens are to be shown
    first, so that none is told what happened in a square that it was not shown."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.stats = loop.stats
        self.before_flush: Callable[[], None] = lambda: None
        self._groups: dict[Rect, Group] = {}
        self._holding: dict[Square, set[Group]] = {}
        self._arrived: dict[Square, list[bytes]] = {}
        self._alarm = loop.alarm(self.flush)
        self._waiting = False
        #: Screens that hold anything: those of all who are in play.
        self.screens_holding = 0
        #: No flush is written before this node time.
        self.not_before = 0
        self.number = 0
        self.interval = 0.0

    def move(
        self, screen: Screen, before: Rect | None, after: Rect | None
    ) -> tuple[list[Square], list[Square]]:
        """Note that a screen now holds other squares.

        Returns the squares that it alone holds now, and those that nobody holds any more.
        """
        self.screens_holding += (after is not None) - (before is not None)
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
            group.screens.add(screen)
        last: list[Square] = []
        if before is not None:
            group = self._groups[before]
            group.screens.discard(screen)
            if not group.screens:
                del self._groups[before]
                for square in before.squares():
                    groups = self._holding[square]
                    groups.discard(group)
                    if not groups:
                        del self._holding[square]
                        self._arrived.pop(square, None)
                        last.append(square)
        return first, last

    def screens(self, squares: Iterable[Square]) -> dict[Screen, list[Square]]:
        """Return the screens that hold any of some squares, each with those that it holds."""
        found: dict[Screen, list[Square]] = {}
        for square in squares:
            for group in self._holding.get(square, ()):
                for screen in group.screens:
                    found.setdefault(screen, []).append(square)
        return found

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
        """Write all that has arrived: once per screen, the same bytes to all of a group."""
        # Whatever fails in it, what has arrived is written.
        self._loop.guarded(self.before_flush)
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
            writes += len(group.screens)
            # A copy: a write may find the connection dead, and its screen leaves the group.
            for screen in tuple(group.screens):
                try:
                    screen.flush(data, number, now)
                except Exception:
                    self._loop.failed()
        cost = (self._loop.seconds() - started) * 1000
        self.interval = max(min(PAUSE * cost, CALM), min(BUSY * cost, LONGEST))
        self.not_before = now + round(self.interval)
        self.stats["flushes"] += 1
        self.stats["writes"] += writes
