"""The slots of this node's players: small numbers that name them in the batches of a square.

A slot rests after its player has left the square (SLOT_RESTS in world/batches.py): batches that are
lost or late must not make it another player's. This module knows squares and numbers, no players.
"""

from collections import deque

from flatlands.world.batches import NARROW, SLOT_RESTS
from flatlands.world.grid import Square


class _Row:
    """The slots of one square: `given` were ever given, and of these the free ones have rested.

    The free ones are in the order in which their rest ended, those of one byte apart from others.
    """

    __slots__ = ("given", "narrow", "wide")

    def __init__(self) -> None:
        self.given = 0
        self.narrow: deque[int] = deque()
        self.wide: deque[int] = deque()


class Slots:
    """See the module. Times are node time in ms, and never go back.

    It keeps nothing of a square in which no slot is in use and none rests.
    """

    def __init__(self) -> None:
        self._rows: dict[Square, _Row] = {}
        #: The slots that rest, as (until when, square, slot), in the order of time.
        self._resting: deque[tuple[int, Square, int]] = deque()

    def take(self, square: Square, now: int) -> int:
        """Return a slot for a player that comes into a square: one of one byte if there is one."""
        self._wake(now)
        row = self._rows.get(square)
        if row is None:
            row = self._rows[square] = _Row()
        if row.narrow:
            return row.narrow.popleft()
        if row.wide:
            return row.wide.popleft()
        row.given += 1
        return row.given - 1

    def give_back(self, square: Square, slot: int, now: int) -> None:
        """Let a slot rest, because its player has left the square."""
        self._wake(now)
        self._resting.append((now + SLOT_RESTS, square, slot))

    def _wake(self, now: int) -> None:
        """Free the slots that have rested."""
        resting = self._resting
        while resting and resting[0][0] <= now:
            _, square, slot = resting.popleft()
            row = self._rows[square]
            (row.narrow if slot < NARROW else row.wide).append(slot)
            if len(row.narrow) + len(row.wide) == row.given:
                del self._rows[square]
