"""Frees objects that refer to each other in a circle, without a pause that players would notice.

All other objects are freed at once when nothing refers to them any more. For circles Python looks
through all objects again and again, also because of squares that come and go. With 2,000 players
far from each other that takes 0.3 s each time, in which nobody is served. Here only the objects
that are new since the last time are looked through, and all objects only when there are twice as
many, or after ten minutes.

This is for a process that serves: it changes Python's garbage collection for the whole process.
"""

import gc
import time
from typing import Final

import gevent

#: Seconds between two looks through the new objects.
EVERY: Final = 0.25

#: Looks through the new objects between two counts of all objects.
COUNT_AFTER: Final = 120

#: All objects are looked through if there are GROWTH times as many as after the last time, and more
#: than FEW, which take 100 ms; and after ALL_AFTER seconds, however many there are.
GROWTH: Final = 2
FEW: Final = 100_000
ALL_AFTER: Final = 600.0


def keep_collecting() -> None:
    """Free circles of objects from now on, for ever, in the calling greenlet."""
    gc.disable()
    turn, most, due = 0, FEW, time.monotonic() + ALL_AFTER
    while True:
        gevent.sleep(EVERY)
        gc.collect(0)
        # What is left counts as old: it is not looked through the next time.
        gc.freeze()
        turn += 1
        if turn % COUNT_AFTER:
            continue
        if gc.get_freeze_count() > most or time.monotonic() >= due:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            most = max(FEW, gc.get_freeze_count() * GROWTH)
            due = time.monotonic() + ALL_AFTER
