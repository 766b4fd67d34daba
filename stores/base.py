"""The contract that every store keeps; tests/stores/test_contract.py tests each of them.

A store holds what lasts, and what must happen exactly once even if the node that does it dies. It
has queues of items, and boards of scores. Queues rest on one idea: *an item's time is the moment
from which somebody may have it next.* Delayed: that moment is in the future. Claimed: it is the end
of the lease. Done: the item is gone. So nobody has to clean up after a node that died: the leases
of its items end, and others may claim them.

A store never looks inside a body, and publishes nothing: what players see comes through the broker.
"""

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar, cast

from gevent.threadpool import ThreadPool

from flatlands.brokers.base import bare

#: The body of an item has at most so many bytes.
BODY_BYTES_MOST = 16 * 1024
#: A name or an id has at most so many characters.
NAME_CHARACTERS_MOST = 200
#: One call has, or returns, at most so many items.
CALL_ITEMS_MOST = 1000

#: One transaction has at most so many items, and bodies with so many bytes.
TRANSACTION_ITEMS_MOST = 100
TRANSACTION_BYTES_MOST = 64 * 1024

#: The delay of an item that nobody should claim: some 35,000 years. `take` gets it all the same.
NEVER_DUE_MS = 2**50

_T = TypeVar("_T")


class StoreError(Exception):
    """The store cannot do what it was asked, now; the text is a sentence for operators.

    If a connection ended meanwhile, nobody knows whether it was done all the same.
    """


class Item(NamedTuple):
    """An item of a queue. `delay` is the ms until somebody may claim it, from 0 to NEVER_DUE_MS;
    `group` is a name by which items that belong together are found, or empty."""

    id: str
    delay: int
    group: str
    body: bytes


class Claimed(NamedTuple):
    """An item that the caller has claimed until its lease ends; `tries` is how often it was
    claimed, this time included."""

    id: str
    body: bytes
    tries: int


class Score(NamedTuple):
    """`n` points for somebody on a board."""

    board: str
    id: str
    n: int


class Rank(NamedTuple):
    """A place on a board, from 1 to `of`, with `n` points; equal points share a place."""

    place: int
    of: int
    n: int


class Names(NamedTuple):
    """The names of queues and of boards, each in order."""

    queues: list[str]
    boards: list[str]


class Size(NamedTuple):
    """The size of a part of a store: its rows or members, and its bytes."""

    name: str
    rows: int
    bytes: int


class Swap(NamedTuple):
    """A compare-and-swap of an item: it replaces the one with its id if that has the body `before`,
    or is put if there is none and `before` is None. The scores are added if it is put."""

    before: bytes | None
    item: Item
    scores: Sequence[Score] = ()


class ItemChange(NamedTuple):
    """A step of a transaction, about an item of a queue that has the body `before`, or is not there
    if that is None. It is replaced with the item `after`, or removed if that is None. `stays`: it
    is left alone, and must only be as it was read."""

    queue: str
    id: str
    before: bytes | None
    after: Item | None = None
    stays: bool = False


class If(NamedTuple):
    """The condition under which items are removed: `holder` has claimed them, and they have the
    body `body`; None stands for any."""

    holder: str | None = None
    body: bytes | None = None


class Then(NamedTuple):
    """The consequences of a removal, in the same step: items, as (queue, item), are put, and scores
    are added."""

    items: Sequence[tuple[str, Item]]
    scores: Sequence[Score]


class StoreOperations(ABC):
    """What one kind of store implements; subclass Store for that. Each method does what the method
    of Store does that has its name without the underscore, or as it says itself. It is called in
    the thread of the store, with arguments within the limits, and raises StoreError.
    """

    @abstractmethod
    def _open(self) -> object: ...

    @abstractmethod
    def _put(self, queue: str, items: Sequence[Item]) -> int: ...

    @abstractmethod
    def _claim(self, queue: str, most: int, lease: int) -> list[Claimed]: ...

    @abstractmethod
    def _renew(
        self, queue: str, items: Sequence[tuple[str, bytes | None]], lease: int
    ) -> list[str]: ...

    @abstractmethod
    def _remove(self, queue: str, ids: Sequence[str], if_: If, then: Then) -> list[bytes]:
        """Remove items as `if_` says, return their bodies, and do `then` if there were any."""

    @abstractmethod
    def _swap(self, queue: str, swaps: Sequence[Swap]) -> list[bool]: ...

    @abstractmethod
    def _transact(self, changes: Sequence[ItemChange], scores: Sequence[Score]) -> bool: ...

    @abstractmethod
    def _get(self, queue: str, ids: Sequence[str]) -> list[Item]: ...

    @abstractmethod
    def _group(self, queue: str, names: Sequence[str]) -> list[Item]: ...

    @abstractmethod
    def _count(self, queue: str) -> int: ...

    @abstractmethod
    def _add(self, score: Score) -> int: ...

    @abstractmethod
    def _top(self, board: str, most: int, skip: int) -> list[tuple[str, int]]: ...

    @abstractmethod
    def _rank(self, board: str, id: str) -> Rank | None: ...

    @abstractmethod
    def _names(self) -> tuple[set[str], set[str]]: ...

    @abstractmethod
    def _scan(self, queue: str, most: int, after: tuple[str, str] | None) -> list[Item]: ...

    @abstractmethod
    def _sizes(self) -> list[Size]: ...

    @abstractmethod
    def _now(self) -> int:
        """Return the store's time in ms since 1970."""

    @abstractmethod
    def _close(self) -> None: ...


class Store(StoreOperations):
    """A store. A kind of store inherits from it, and implements the methods of StoreOperations.

    Calls are done one by one in a thread of its own. Only the calling greenlet waits for an answer,
    never the event loop, and any greenlet may call. When a call fails, those that waited for it
    fail with it, so that none waits for many to fail in turn.

    Each call takes effect as a whole or not at all. Each may raise StoreError, and ValueError for
    what is beyond the limits above. Times are the store's own, so the clocks of nodes need not
    agree.
    """

    def __init__(self, url: str, world: str) -> None:
        self.url = url
        self.world = world
        #: Who claims: this object, for as long as it lives.
        self._caller = f"{random.getrandbits(64):016x}"
        #: A short text that is the same for all processes that use the same store, and a different
        #: one if another store takes its place; "" before it was opened.
        self.identity = ""
        self._thread = ThreadPool(1)
        self._closed = False
        #: How often a call has changed what is kept.
        self.written = 0
        #: Why and when a call last failed; the time is in seconds of a clock that only rises.
        self._failure, self._failed_at = "", 0.0

    def open(self) -> None:
        """Open the store; otherwise the first call does. Raises StoreError.

        A server that does not answer is tried for some seconds: it may be about to start.
        """
        self._wait(self._open)

    def put(self, queue: str, items: Iterable[Item]) -> int:
        """Add items to a queue; return how many are new. An item whose id is already there is left
        alone, so putting it again is harmless."""
        return self._write(self._put, _queue(queue), _items(items))

    def claim(self, queue: str, most: int, lease: int) -> list[Claimed]:
        """Claim up to `most` due items for `lease` ms, and return them: the oldest first, and those
        due in the same millisecond in the order of their ids."""
        if not 0 < most <= CALL_ITEMS_MOST:
            raise ValueError(f"claim 1 to {CALL_ITEMS_MOST} items")
        _lease(lease)
        return self._write(self._claim, _queue(queue), most, lease)

    def done(
        self,
        queue: str,
        ids: Iterable[str],
        then: Iterable[tuple[str, Item]] = (),
        scores: Iterable[Score] = (),
    ) -> int:
        """Remove items that this caller has claimed; return how many were still its own.

        If any was, put what follows, as (queue, item), and add scores, in the same step.
        """
        mine, following = If(holder=self._caller), _following(then, scores)
        return len(self._write(self._remove, _queue(queue), _ids(ids), mine, following))

    def renew(self, queue: str, items: Iterable[tuple[str, bytes | None]], lease: int) -> list[str]:
        """Give items that this caller has claimed new bodies, as (id, body), and a lease of `lease`
        ms from now; return the ids of those that were still its own. With None an item keeps its
        body. Others are left alone."""
        _lease(lease)
        some = _few([(_name(id), None if body is None else _body(body)) for id, body in items])
        return self._write(self._renew, _queue(queue), some, lease)

    def take(
        self,
        queue: str,
        id: str,
        then: Iterable[tuple[str, Item]] = (),
        scores: Iterable[Score] = (),
        *,
        only: bytes | None = None,
    ) -> bytes | None:
        """Remove an item, due or not; return its body, or None if it is not there. Of any number of
        callers, exactly one gets it. If it was there, what follows is put as by `done`.

        If `only` is given, an item with another body counts as not there.
        """
        if_, following = If(body=only if only is None else _body(only)), _following(then, scores)
        bodies = self._write(self._remove, _queue(queue), _ids([id]), if_, following)
        return bodies[0] if bodies else None

    def swap(self, queue: str, swaps: Iterable[Swap]) -> list[bool]:
        """Replace items that are still as the caller has read them, all in one step; return which
        were put. The others are left alone."""
        some = _few([_swap(swap) for swap in swaps])
        return self._write(self._swap, _queue(queue), some) if some else []

    def transact(self, changes: Iterable[ItemChange], scores: Iterable[Score] = ()) -> bool:
        """Change items of several queues, and add scores, if all items are still as the caller has
        read them; return whether they were. If one is not, nothing changes.

        At most TRANSACTION_ITEMS_MOST items, each once, with TRANSACTION_BYTES_MOST bytes in all;
        there may be none if there are scores.
        """
        some, points = _changes(changes), _few(list(map(_score, scores)))
        if not some and not points:
            raise ValueError("a transaction has items or scores")
        return self._write(self._transact, some, points)

    def get(self, queue: str, ids: Iterable[str]) -> dict[str, Item]:
        """Return id -> item for those of the items of a queue that are there, due or not, claimed
        or not."""
        found = self._wait(self._get, _queue(queue), _ids(dict.fromkeys(ids)))
        return {item.id: item for item in found}

    def group(self, queue: str, *names: str) -> list[Item]:
        """Return all items of a queue that belong to any of these groups, the soonest due first."""
        return self._wait(self._group, _queue(queue), _ids(dict.fromkeys(names)))

    def change(
        self, queue: str, id: str, make: Callable[[Item | None], Item | None]
    ) -> Item | None:
        """Replace an item with what `make` returns for it, or for None if it is not there; return
        what is there then. If `make` returns None, nothing changes.

        If somebody else is faster, `make` is called again with what is there now.
        """
        while True:
            before = self.get(queue, [id]).get(id)
            after = make(before)
            if after is None:
                return before
            if self.swap(queue, [Swap(None if before is None else before.body, after)])[0]:
                return after

    def replace(self, queue: str, item: Item) -> None:
        """Put an item, and replace the one with its id if there is one."""
        self.change(queue, item.id, lambda _old: item)

    def count(self, queue: str) -> int:
        """Return how many items a queue has: waiting, delayed and claimed."""
        return self._wait(self._count, _queue(queue))

    def add(self, score: Score) -> int:
        """Add points to a score, which begins at 0; return what it is now."""
        return self._write(self._add, _score(score))

    def top(self, board: str, most: int, skip: int = 0) -> list[tuple[str, int]]:
        """Return up to `most` (id, points) with the most points, the highest first, without the
        first `skip` of them."""
        if not 0 < most <= CALL_ITEMS_MOST or skip < 0:
            raise ValueError(f"ask for 1 to {CALL_ITEMS_MOST} places")
        return self._wait(self._top, _queue(board), most, skip)

    def rank(self, board: str, id: str) -> Rank | None:
        """Return the place of somebody on a board, or None if they have no points there."""
        return self._wait(self._rank, _queue(board), _name(id))

    def clock(self) -> int:
        """Return the store's time in ms since 1970, by which items are due."""
        return self._wait(self._now)

    # For programs that look at everything there is.

    def names(self) -> Names:
        """Return the names of all queues that have items, and of all boards that have scores."""
        queues, boards = self._wait(self._names)
        return Names(sorted(queues), sorted(boards))

    def scan(self, queue: str, most: int, after: Item | None = None) -> list[Item]:
        """Return up to `most` items of a queue, in the order of their groups and then their ids,
        beginning after the item `after` (None: with the first).

        Items that are put, done or taken meanwhile may or may not be among them. A claimed item has
        the rest of its lease as its delay.
        """
        if not 0 < most <= CALL_ITEMS_MOST:
            raise ValueError(f"ask for 1 to {CALL_ITEMS_MOST} items")
        key = None if after is None else (_name(after.group), _name(after.id))
        return self._wait(self._scan, _queue(queue), most, key)

    def each(self, queue: str) -> Iterator[Item]:
        """Yield all items of a queue, a piece at a time, as `scan` returns them."""
        last = None
        while piece := self.scan(queue, CALL_ITEMS_MOST, last):
            yield from piece
            last = piece[-1]

    def sizes(self) -> list[Size]:
        """Return the parts in which the store keeps what it has, with their sizes.

        In a file these are tables and indexes, of all worlds together, in whole pages. In Redis
        they are the keys of this world; a large one is sampled. Finding out reads everything.
        """
        return self._wait(self._sizes)

    def close(self) -> None:
        """End the connection, at once: calls that wait fail. Closing it again is no error; using it
        again is one."""
        self._closed = True
        self._thread.apply(self._close)

    def _write(self, call: Callable[..., _T], *arguments: object) -> _T:
        """Wait for a call that returns what it has changed, as a number or a list, and count it."""
        changed = self._wait(call, *arguments)
        self.written += any(changed) if isinstance(changed, list) else bool(changed)
        return changed

    def _wait(self, call: Callable[..., _T], *arguments: object) -> _T:
        result, failure = self._thread.apply(self._answer, (time.monotonic(), call, arguments))
        if failure is not None:
            raise StoreError(failure)
        return cast(_T, result)

    def _answer(
        self, asked: float, call: Callable[..., _T], arguments: tuple[object, ...]
    ) -> tuple[_T | None, str | None]:
        """Return what a call returns, and the sentence of its StoreError, since gevent prints what
        is raised in a thread. `asked` is when it began to wait."""
        if self._closed:
            return None, f"{bare(self.url)} was closed"
        if asked < self._failed_at:
            return None, self._failure
        try:
            return call(*arguments), None
        except StoreError as error:
            self._failure, self._failed_at = str(error), time.monotonic()
            return None, self._failure


def _name(text: str) -> str:
    if type(text) is not str or len(text) > NAME_CHARACTERS_MOST or "\0" in text:
        raise ValueError(
            f"a name must be a text of at most {NAME_CHARACTERS_MOST} characters, without NUL"
        )
    return text


def _queue(text: str) -> str:
    if not _name(text):
        raise ValueError("a queue or a board must have a name")
    return text


def _few(some: list[_T]) -> list[_T]:
    if len(some) > CALL_ITEMS_MOST:
        raise ValueError(f"one call may have at most {CALL_ITEMS_MOST} items")
    return some


def _ids(ids: Iterable[str]) -> list[str]:
    return _few([_name(id) for id in ids])


def _body(body: bytes) -> bytes:
    if type(body) is not bytes or len(body) > BODY_BYTES_MOST:
        raise ValueError(f"a body must be bytes, at most {BODY_BYTES_MOST}")
    return body


def _lease(lease: int) -> None:
    if type(lease) is not int or not 0 < lease <= NEVER_DUE_MS:
        raise ValueError(f"a lease must be 1 to {NEVER_DUE_MS} ms")


def _item(item: Item) -> Item:
    _name(item.id)
    _name(item.group)
    _body(item.body)
    if type(item.delay) is not int or not 0 <= item.delay <= NEVER_DUE_MS:
        raise ValueError(f"a delay must be 0 to {NEVER_DUE_MS} ms")
    return item


def _items(items: Iterable[Item]) -> list[Item]:
    return _few([_item(item) for item in items])


def _score(score: Score) -> Score:
    _queue(score.board)
    _name(score.id)
    if type(score.n) is not int or not -(2**31) < score.n < 2**31:
        raise ValueError("points must be whole numbers below 2^31")
    return score


def _swap(swap: Swap) -> Swap:
    before, item, scores = swap
    scores = _few(list(map(_score, scores)))
    return Swap(None if before is None else _body(before), _item(item), scores)


def _changes(changes: Iterable[ItemChange]) -> list[ItemChange]:
    some = list(changes)
    if len(some) > TRANSACTION_ITEMS_MOST:
        raise ValueError(f"a transaction has at most {TRANSACTION_ITEMS_MOST} items")
    size = 0
    for queue, id, before, after, stays in some:
        _queue(queue)
        _name(id)
        size += len(b"" if before is None else _body(before))
        if after is not None:
            size += len(_item(after).body)
            if after.id != id or stays:
                raise ValueError("an item is replaced with one of the same id, or stays")
        elif before is None and not stays:
            raise ValueError("an item that is not there cannot be removed")
    if size > TRANSACTION_BYTES_MOST:
        raise ValueError(f"the bodies of a transaction have at most {TRANSACTION_BYTES_MOST} bytes")
    if len({change[:2] for change in some}) < len(some):
        raise ValueError("a transaction has each item once")
    return some


def _following(then: Iterable[tuple[str, Item]], scores: Iterable[Score]) -> Then:
    some = _few([(_queue(queue), _item(item)) for queue, item in then])
    return Then(some, _few(list(map(_score, scores))))
