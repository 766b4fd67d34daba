"""`python -m bench.questions`: what two questions of players cost a node with many cairns and many
lines of books.

One process has a node and a store in a file. It asks as the actions of Flatlands do, for a page of
the almanac, and for cairns by a few letters. While it does, a greenlet looks for how long others
had to wait at most: that is the longest turn of the event loop, and only means something where no
other program runs.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing

from flatlands import compiled
from flatlands.needs import packages

compiled.use()

with packages("swarm"):
    import gevent
    import msgpack

    from bench import command
    from bench.micro import Bench
    from flatlands import Records
    from flatlands.games.flatlands.book.almanac import Almanac
    from flatlands.games.flatlands.notes import DAY, Note, note
    from flatlands.games.flatlands.search import Search
    from flatlands.loadtest.kit.terminal import Terminal
    from flatlands.server.players.names import folded
    from flatlands.server.storage.items import THINGS_QUEUE
    from flatlands.stores.base import CALL_ITEMS_MOST, Item, Store

CAIRNS = 20_000
NOTES = 50_000
#: The cairns are in an area around the origin that is so wide and high.
SPREAD_TILES = 10_000

#: What is looked for: what nearly all texts have, what a few have, and what none has.
WORDS = "a", "otter 7", "zzzz"

#: Name -> the most that it should be.
TARGETS = {
    "a page of the almanac: CPU, ms": 2000.0,
    "a page of the almanac: longest turn, ms": 50.0,
    "cairns are read for the search: CPU, ms": 2000.0,
    "cairns are read for the search: longest turn, ms": 50.0,
    **{f"cairns with {words!r}: CPU of the event loop, ms": 2.0 for words in WORDS},
}


def _fill(store: Store, ground: str, notes: Records[Note]) -> None:
    """Put cairns and lines of books into a store."""
    chance, words = random.Random(1), ["otter", "tern", "rose", "granite", "above", "the", "lake"]
    items, now = [], time.time_ns() // 1_000_000
    for n in range(CAIRNS):
        x, y = (chance.randrange(-SPREAD_TILES // 2, SPREAD_TILES // 2) for _ in "xy")
        line = " ".join([*chance.choices(words, k=12), str(n)])
        values = {"player": n, "name": f"P{n}", "text": line, "stones": 1, "_marks": "ab" * 8}
        body = msgpack.packb([now + n, x, y, False, values])
        items.append(Item(f"Cairn:{n:016x}", 7 * 24 * 3600 * 1000, f"{x // 16}:{y // 16}", body))
    for at in range(0, CAIRNS, CALL_ITEMS_MOST):
        store.put(f"{THINGS_QUEUE} flatlands {ground}", items[at : at + CALL_ITEMS_MOST])
    kinds = ("spark", "landmark", "hand", "spark")
    lines = [note(f"{n // 300:016x}", kinds[n % 4], now, once=f"{n}") for n in range(NOTES)]
    for at in range(0, NOTES, CALL_ITEMS_MOST):
        store.put(notes._queue, [notes._item(one) for one in lines[at : at + CALL_ITEMS_MOST]])


def _timed(do: Callable[[], object]) -> tuple[float, float]:
    """Do something; return the ms of CPU of this process, and of the longest turn meanwhile."""
    longest, done = 0.0, False

    def look() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not done:
            gevent.sleep(0.0005)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    looking = gevent.spawn(look)
    gevent.sleep(0.01)
    longest, began = 0.0, time.process_time()
    try:
        do()
    finally:
        spent, done = time.process_time() - began, True
    looking.join()
    return spent * 1000, longest * 1000


def measure() -> dict[str, float]:
    """Return name -> figure."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, closing(Bench(1, folder)) as bench:
        node = bench.node
        [almanac] = [part for part in node.play._parts if isinstance(part, Almanac)]
        [search] = [part for part in node.play._parts if isinstance(part, Search)]
        store = node.store_client.store
        assert store is not None
        notes = Records(Note)._of(lambda: node.play.items)
        notes.all("nobody")
        _fill(store, node.channels.ground_id, notes)
        day = almanac.now() // DAY
        for name, do in (
            ("a page of the almanac", lambda: gevent.spawn(almanac._shared, day).get()),
            ("cairns are read for the search", lambda: gevent.spawn(search._read).get()),
        ):
            cpu, longest = _timed(do)
            found |= {f"{name}: CPU, ms": cpu, f"{name}: longest turn, ms": longest}
        assert {one.kind for one in almanac.entries.all(str(day))} >= {"loneliest", "oldest"}
        for words in WORDS:
            began = time.thread_time()
            for _ in range(20):
                search._cairns.best(folded(words), 0, 0)
            spent = (time.thread_time() - began) / 20 * 1000
            found[f"cairns with {words!r}: CPU of the event loop, ms"] = spent
    return found


def main() -> int:
    """Measure and print; return the exit code."""
    argparse.ArgumentParser(prog="python -m bench.questions", description=__doc__).parse_args()
    terminal = Terminal()

    def run() -> int:
        terminal.say(f"{CAIRNS} cairns, {NOTES} lines of books")
        for name, figure in measure().items():
            terminal.say(f"{name:56}{figure:>10.2f}{f'≤ {TARGETS[name]:g}':>10}")
        return 0

    return command.run("bench.questions", run, terminal.say)


if __name__ == "__main__":
    sys.exit(main())
