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

#: Time between two looks through the new objects.
COLLECT_EVERY_S: Final = 0.25

#: Looks through the new objects between two counts of all objects.
LOOKS_A_COUNT: Final = 120

#: All objects are looked through if there are GROWTH times as many as after the last time, and more
#: than OBJECTS_LEAST, which take 100 ms; and after ALL_AFTER_S, however many there are.
GROWTH: Final = 2
OBJECTS_LEAST: Final = 100_000
ALL_AFTER_S: Final = 600.0


def keep_collecting() -> None:
    """Free circles of objects from now on, for ever, in the calling greenlet."""
    gc.disable()
    turn, most, due = 0, OBJECTS_LEAST, time.monotonic() + ALL_AFTER_S
    while True:
        gevent.sleep(COLLECT_EVERY_S)
        gc.collect(0)
        # What is left counts as old: it is not looked through the next time.
        gc.freeze()
        turn += 1
        if turn % LOOKS_A_COUNT:
            continue
        if gc.get_freeze_count() > most or time.monotonic() >= due:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            most = max(OBJECTS_LEAST, gc.get_freeze_count() * GROWTH)
            due = time.monotonic() + ALL_AFTER_S
