"""A process that claims items and reports: `python -m tests.stores.consumer URL WORLD [STOP]`.

It prints "claimed ID TRIES" for each item that it has, works for a moment, and prints "done ID" for
each that was still its own, or "lost ID" if its lease was over before. It ends when the queue is
empty, or with an error if it loses an item whose lease is not over; after STOP items it stands
still.
"""

import sys
import time

from flatlands.stores import redis, sqlite
from flatlands.stores.registry import open_store

#: One claim has at most so many items.
MOST = 50
#: ms for which the items of a claim are leased.
LEASE = 12_000
#: Seconds of work on an item.
WORK = 0.02


# On a busy machine each of several consumers takes long.
sqlite.BUSY = 60.0
redis.ANSWER_SECONDS = 20.0


def consume(url: str, world: str, stop: str = "0") -> None:
    done = 0
    store = open_store(url, world)
    while store.count("jobs"):
        claimed = time.monotonic()
        some = store.claim("jobs", MOST, LEASE)
        print("".join(f"claimed {one.id} {one.tries}\n" for one in some), end="", flush=True)
        time.sleep(WORK)
        for one in some:
            if store.done("jobs", [one.id]):
                print(f"done {one.id}", flush=True)
                done += 1
                if done == int(stop):
                    time.sleep(600)
            elif time.monotonic() - claimed > LEASE / 1000:
                print(f"lost {one.id}", flush=True)
            else:
                sys.exit(f"{one.id} was lost before its lease was over")
    store.close()


if __name__ == "__main__":
    consume(*sys.argv[1:])
