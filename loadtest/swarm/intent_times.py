"""When the intents of all bots were due, in memory that all processes of a run share.

Events carry the number of the last intent that a player's node has obeyed. This table says when it
was due, whichever process sent it. Times are in us of the run's clock.
"""

from collections.abc import Iterator
from ctypes import Array, c_longlong
from multiprocessing.sharedctypes import RawArray
from typing import TypeAlias

import numpy as np

#: The last intents of each bot that are kept. Events tell the low byte of an intent's number.
KEPT = 256

#: The memory for the due times.
Memory: TypeAlias = Array[c_longlong]


def room(bots: int) -> Memory:
    """Return the memory for this many bots. It may be handed to a process that is being started."""
    return RawArray(c_longlong, bots * (1 + KEPT))


class IntentTimes:
    """The due times of all bots. `memory` is what `room` returned for `bots`; `elsewhere`: more
    bots play on other machines."""

    def __init__(self, memory: Memory, bots: int, elsewhere: bool = False) -> None:
        self._elsewhere = elsewhere
        cells = memoryview(memory).cast("B").cast("q")
        #: The id of each bot's player, by the bot's index; 0 if it has none yet.
        self._ids = np.frombuffer(cells[:bots], dtype=np.int64)
        self._cells = cells[bots:]
        #: A player's id -> where its bot's row begins, or -1 if it is not a bot.
        self._rows: dict[int, int] = {}

    def name(self, index: int, id: int) -> None:
        """Note which player a bot is. It must be noted before the bot's first intent."""
        self._ids[index] = id

    def knows(self, id: int) -> bool:
        """Return whether a player is a bot of this run."""
        return bool((self._ids == id).any())

    def put(self, index: int, number: int, due: int) -> None:
        """Note when the intent with this number of a bot was due."""
        self._cells[index * KEPT + number % KEPT] = due

    def get(self, id: int, number: int) -> int:
        """Return when the intent with this number of a player was due.

        That is 0 for the number 0, for players that are not bots, and for intents of a bot that
        were not noted. If there are bots elsewhere, it is the negated number for players that are
        not bots here.
        """
        if not number:
            return 0
        row = self._rows.get(id)
        if row is None:
            found = np.flatnonzero(self._ids == id)
            # A bot is named before its first intent, so a player that is no bot now never will be.
            row = self._rows[id] = int(found[-1]) * KEPT if len(found) else -1
        if row < 0:
            return -number if self._elsewhere else 0
        return self._cells[row + number % KEPT]

    def back(self, id: int, number: int, since: int) -> Iterator[int]:
        """Yield when the intent with this number of a player, and those before it, were due, as far
        as that was after the time `since`; nothing of players that are not bots here."""
        later, due = 2**62, self.get(id, number)
        while max(since, 0) < due < later:
            yield due
            number -= 1
            later, due = due, self.get(id, number)

    def after(self, id: int, number: int) -> Iterator[int]:
        """Yield when the intents of a player after the one with this number were due; nothing after
        the number 0, and of players that are not bots here."""
        before = self.get(id, number)
        while 0 < before < (due := self.get(id, number := number + 1)):
            yield due
            before = due
