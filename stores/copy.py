"""`python -m stores.copy FROM TO`: copies a world's data from one store into another.

The first store stays as it is. The second must not keep anything of the world yet. Afterwards both
are read again and compared. `--backup` copies the file of a store, as it is at one moment, while
servers use it.
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from flatlands.needs import packages

with packages("play"):
    from flatlands.brokers.base import UNVERIFIED, VERIFIED, bare
    from flatlands.stores.base import CALL_ITEMS_MOST, Score, Store, StoreError
    from flatlands.stores.registry import open_store
    from flatlands.stores.sqlite import FILE, SqliteStore

#: The sentence after a copy that differs.
DIFFERS = (
    "the two stores differ: a server changed one of them during the copy. Stop all servers of the "
    "world, empty the second store, and copy again"
)


class StoreContent(NamedTuple):
    """A summary of what a world keeps: the numbers of its queues, items, boards and scores, and a
    hash of all but the times at which items are due."""

    queues: int
    items: int
    boards: int
    scores: int
    hash: str


def main() -> int:
    """Copy and compare; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m stores.copy",
        description="Copy a world's data from one store into another, and compare the two. "
        "First stop all servers of the world, except for --backup.",
    )
    parser.add_argument(
        "source", metavar="FROM", help="the store to read, such as sqlite:///flatlands.db"
    )
    parser.add_argument(
        "target", metavar="TO", help="the store to write, such as redis://127.0.0.1:6379"
    )
    parser.add_argument(
        "--world",
        default=os.environ.get("WORLD") or "flatlands",
        help="name of the world (default flatlands) [$WORLD]",
    )
    parser.add_argument(
        "--tls",
        default=os.environ.get("BROKER_TLS") or VERIFIED,
        help=f"which certificates to accept: {VERIFIED}, {UNVERIFIED}, or a file [$BROKER_TLS]",
    )
    parser.add_argument(
        "--backup",
        action="store_true",
        help="copy the file FROM, with all its worlds, into a new file; servers may go on using it",
    )
    given = parser.parse_args()
    try:
        if given.backup:
            print(backup(given.source, given.target))
            return 0
        if given.source.startswith(FILE) and not os.path.exists(given.source.removeprefix(FILE)):
            raise StoreError(f"{given.source} does not exist: nothing was copied")
        source = open_store(given.source, given.world, given.tls)
        target = open_store(given.target, given.world, given.tls)
        copy(source, target, lambda text: print(text, file=sys.stderr))
        before, after = content(source), content(target)
    except ValueError as error:
        print(f"flatlands: {error}", file=sys.stderr)
        return 2
    except StoreError as error:
        print(f"flatlands: {error}", file=sys.stderr)
        return 1
    for name, one, other in zip(StoreContent._fields, before, after, strict=True):
        print(f"{name:8} {one!s:>40} {other!s:>40}")
    source.close()
    target.close()
    if before != after:
        print(f"flatlands: {DIFFERS}", file=sys.stderr)
        return 1
    return 0


def backup(source: str, target: str) -> str:
    """Copy the file of a store into a new file; return a sentence about it. Raises StoreError, and
    ValueError if either URL is not that of a file."""
    for url in (source, target):
        if not url.startswith(FILE):
            raise ValueError(
                f"--backup copies from {FILE}PATH to {FILE}PATH, and {bare(url)!r} is neither; "
                "Redis makes its own backups (BGSAVE, appendonly)"
            )
    path = target.removeprefix(FILE)
    store = SqliteStore(source, "")
    store.backup(path)
    store.close()
    return f"{path} is complete, and has {os.path.getsize(path):,} bytes"


def copy(source: Store, target: Store, say: Callable[[str], None] = lambda _text: None) -> None:
    """Put everything that one store keeps into another; `say` gets a text about each part. Raises
    StoreError, also if the second already keeps something, or the first nothing.

    A claimed item becomes one that is due when its lease ends.
    """
    if any(target.names()):
        raise StoreError(
            f"{bare(target.url)} already has data of the world {target.world!r}: nothing was copied"
        )
    names = source.names()
    if not any(names):
        raise StoreError(
            f"{bare(source.url)} has no data of the world {source.world!r}: nothing was copied"
        )
    for queue in names.queues:
        say(f"the items of {queue!r} ...")
        items = source.each(queue)
        while some := list(islice(items, CALL_ITEMS_MOST)):
            target.put(queue, some)
    for board in names.boards:
        say(f"the scores of {board!r} ...")
        for id, n in places(source, board):
            target.add(Score(board, id, n))


def places(store: Store, board: str) -> Iterator[tuple[str, int]]:
    """Yield all scores of a board, the highest first."""
    skip = 0
    while scores := store.top(board, CALL_ITEMS_MOST, skip):
        yield from scores
        skip += len(scores)


def content(store: Store) -> StoreContent:
    """Return what a store keeps. Raises StoreError."""
    digest = hashlib.blake2b(digest_size=8)
    names = store.names()
    items = scores = 0

    def add(*parts: bytes) -> None:
        for part in parts:
            digest.update(len(part).to_bytes(4) + part)

    for queue in names.queues:
        for item in store.each(queue):
            items += 1
            add(queue.encode(), item.group.encode(), item.id.encode(), item.body)
    for board in names.boards:
        for id, n in places(store, board):
            scores += 1
            add(board.encode(), id.encode(), str(n).encode())
    return StoreContent(len(names.queues), items, len(names.boards), scores, digest.hexdigest())


if __name__ == "__main__":
    sys.exit(main())
