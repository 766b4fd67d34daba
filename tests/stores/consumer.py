"""A process that claims and says what it does: `python -m tests.stores.consumer URL WORLD`.

It prints "claimed ID TRIES" for each item that it has, works for a moment, and prints "done ID" for
each that was still its own. It ends when the queue is empty.
"""

import sys
import time

from flatlands.stores.registry import open_store

#: Items of one claim, ms of a lease, seconds of work.
MOST, LEASE, WORK = 50, 6000, 0.02


def consume(url: str, world: str) -> None:
    store = open_store(url, world)
    while store.count("jobs"):
        some = store.claim("jobs", MOST, LEASE)
        print("".join(f"claimed {one.id} {one.tries}\n" for one in some), end="", flush=True)
        time.sleep(WORK)
        for one in some:
            if store.done("jobs", [one.id]):
                print(f"done {one.id}", flush=True)
    store.close()


if __name__ == "__main__":
    consume(*sys.argv[1:])
