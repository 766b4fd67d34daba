"""The log of one life of a bot: what it intended, and where it was told that it is.

It never decides where to go, and never sends anything: loadtest/swarm/bot.py does.
"""

from array import array
from bisect import bisect_left
from operator import itemgetter

import numpy as np

from flatlands.loadtest.swarm.reports import LifeLog
from flatlands.wire import Square

#: us: a move sent later than this after it was due is not judged: the bot was elsewhere by then.
TOO_LATE = 500_000


class IntentLog:
    """One life. Times are in us of the run's clock, but those of the bot's node in ms of the node's
    clock, as the starts of tracks are. `former` is the player's last seq in the life before, or 0.
    """

    def __init__(self, former: int = 0) -> None:
        self.former = former
        #: When each of its intents was due, and those of them that were sent too late.
        self.intents, self.late = array("q"), array("q")
        #: x, y, dx, dy (1/1024 tile), start, duration (ms).
        self.position: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
        #: Its own events: seq, due, column, row and position; and the times at which they came.
        self.timeline: list[tuple[int, ...]] = []
        self.told_at = array("q")

    @property
    def seq(self) -> int:
        """The last seq of the player, or 0."""
        return self.timeline[-1][0] if self.timeline else self.former

    def intend(self, due: int, now: int) -> int:
        """Note an intent that was due at the time `due` and is sent now; return its number."""
        self.intents.append(due)
        if now - due > TOO_LATE:
            self.late.append(due)
        return len(self.intents)

    def go_on(self, square: Square, now: int) -> None:
        """Note that a player that has come back stands in a square, with the last seq it had."""
        self.timeline.append((self.former, 0, *square, *self.position))
        self.told_at.append(now)

    def moved(self, square: Square, seq: int, ack: int, track: tuple[int, ...], now: int) -> None:
        """Note an event of its own, which says where it really is.

        `ack` is a number of an intent, and `track` is as `position` has it.
        """
        if seq <= self.former:
            # Another bot was told late of its last life, which is no part of this one.
            return
        # Events of its last life may have numbers that this one has not reached yet.
        due = self.intents[ack - 1] if 0 < ack <= len(self.intents) else 0
        row = seq, due, *square, *track
        timeline = self.timeline
        if not timeline or seq > timeline[-1][0]:
            self.position = track
            timeline.append(row)
            self.told_at.append(now)
        elif seq > timeline[0][0]:
            at = bisect_left(timeline, seq, key=itemgetter(0))
            if timeline[at][0] != seq:
                timeline.insert(at, row)
                self.told_at.insert(at, self.told_at[at])

    def arrays(self) -> LifeLog:
        """Return the log for a report."""
        return {
            "intents": np.array(self.intents, dtype=np.int64),
            "late": np.array(self.late, dtype=np.int64),
            "timeline": np.array(self.timeline, dtype=np.int64).reshape(-1, 10),
            "told_at": np.array(self.told_at, dtype=np.int64),
        }

    @property
    def answered(self) -> bool:
        """Whether an event of its own has answered its last intent, if it was told of any event."""
        last = self.intents[-1] if self.intents else 0
        return not self.timeline or last <= self.timeline[-1][1]

    def at(self, node_now: int) -> tuple[int, int]:
        """Return its position (x, y) in 1/1024 tile, by what it was told."""
        x, y, dx, dy, start, duration = self.position
        gone = node_now - start
        if gone >= duration or duration == 0:
            # The start of standing may lie in the future of the bot's clock.
            return x + dx, y + dy
        gone = max(gone, 0)
        return x + dx * gone // duration, y + dy * gone // duration

    def over(self, node_now: int) -> bool:
        """Return whether its last track is over."""
        return node_now >= self.position[4] + self.position[5]
