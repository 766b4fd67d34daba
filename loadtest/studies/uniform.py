"""Is a call of sqlite, Redis and the game's store as fast as any other?

Each operation is asked for by 1, 10 and 100 callers, greenlets of this process that ask again as
soon as they are answered. So with 100 callers a call waits for 99 others where calls are answered
one by one. Each operation has its own file or redis-server, filled before. This never measures a
server of the game: bench/whole.py does.
"""

import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, TypeVar

import gevent
import hiredis
from gevent import socket
from gevent.threadpool import ThreadPool

from flatlands.brokers.redis.wire import pack
from flatlands.loadtest.kit import brokers, signals
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.options import amount, option
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies.study import Column, Measure, PlainStudy
from flatlands.stores.base import CALL_ITEMS_MOST, Item, Score, Store, StoreError
from flatlands.stores.registry import open_store

CALLERS = (1, 10, 100)

#: So many rows, keys, items and scores are there before.
FILLED_ROWS = 10_000
#: A range has so many of them.
RANGE_ROWS = 10

#: A figure is marked if it differs by more than this factor from the median of the others.
FACTOR = 3.0

#: The value of a key, and the body of an item.
BODY = bytes(40)

QUEUE = "queue"
BOARD = "board"
LEASE_MS = 60_000

#: What CLAIMED_WHERE claims: the calls that it names -> calls a second.
CLAIMED = {"SET, GET of Redis": 110_000, "INSERT, SELECT of Redisql": 95_000}
CLAIMED_WHERE = (
    "the blog post of September 2010 that introduced Redisql: one 3.0 GHz core, all in memory, mean"
    " latencies below a millisecond; not measured here"
)

#: One call, asked for by one caller; its argument is a number that no other call has.
Call = Callable[[int], object]

#: Makes the calls of a number of callers ready, one for each.
Ready = Callable[[int], list[Call]]

#: What a statement of SQL gets, and the rows that it gives.
Values = Sequence[int | str]
Rows = list[tuple[int | str, ...]]

_T = TypeVar("_T")


#: The figures that are compared.
Figure = Literal["p50", "p99", "rate"]
FIGURES: tuple[Figure, ...] = ("p50", "p99", "rate")


class Calls(TypedDict):
    """What a number of callers got: half of the calls took no longer than `p50`, and 99 % of them
    no longer than `p99`, in ms; `rate` is calls a second, of `calls` in all. `beyond` is that of
    mark()."""

    p50: float
    p99: float
    rate: float
    calls: int
    beyond: NotRequired[dict[Figure, bool]]


class Point(TypedDict):
    """What each number of callers of an operation got."""

    series: str
    callers: dict[int, Calls]


def _some() -> int:
    return random.randrange(FILLED_ROWS)


# Redis.


class Line:
    """A connection to Redis for one caller, which lets other greenlets run while it waits."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        host, _, port = url.removeprefix("redis://").partition(":")
        self._socket = stack.enter_context(socket.create_connection((host, int(port))))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader()

    def ask(self, *words: str | bytes) -> object:
        """Send a command and return its reply. Raises OSError and hiredis.HiredisError."""
        self._socket.sendall(pack(words))
        reply: object
        while (reply := self._reader.gets()) is False:
            # Without this no other caller would run if the answer has come already.
            socket.wait_read(self._socket.fileno())
            data = self._socket.recv(65536)
            if not data:
                raise ConnectionError("Redis has closed the connection")
            self._reader.feed(data)
        if isinstance(reply, hiredis.ReplyError):
            raise reply
        return reply


@contextmanager
def _redis(of: Callable[[Line], Call]) -> Iterator[Ready]:
    """Yield a function that gives each caller its own connection; `of` makes its call."""
    with ExitStack() as stack:
        url, _ = brokers.start(stack, "redis://")
        first = Line(url, stack)
        pairs = ((f"key:{number}", BODY) for number in range(FILLED_ROWS))
        first.ask("MSET", *(word for pair in pairs for word in pair))

        def ready(callers: int) -> list[Call]:
            return [of(Line(url, stack)) for _ in range(callers)]

        yield ready


def _set(line: Line) -> Call:
    return lambda _: _is(line.ask("SET", f"key:{_some()}", BODY), b"OK")


def _get(line: Line) -> Call:
    return lambda _: _is(line.ask("GET", f"key:{_some()}"), BODY)


# sqlite.


class Base:
    """A database in a file whose statements one thread executes, as in stores/sqlite.py."""

    def __init__(self, path: Path) -> None:
        self._thread = ThreadPool(1)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = NORMAL",
            "CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT, x INTEGER, y INTEGER)",
            "CREATE TABLE score (id INTEGER PRIMARY KEY, gems INTEGER)",
            "BEGIN",
        ):
            self._connection.execute(statement)
        for number in range(FILLED_ROWS):
            self._connection.execute("INSERT INTO player VALUES (?, ?, ?, ?)", _row(number))
            self._connection.execute("INSERT INTO score VALUES (?, ?)", (number, number % 100))
        self._connection.execute("COMMIT")

    def ask(self, statement: str, values: Values) -> Rows:
        """Execute a statement, in its own transaction, and return its rows.

        Raises sqlite3.Error.
        """
        rows, error = self._thread.apply(self._execute, (statement, values))
        if error is not None:
            raise error
        return rows

    def _execute(self, statement: str, values: Values) -> tuple[Rows, sqlite3.Error | None]:
        # gevent prints what is raised in a thread.
        try:
            return self._connection.execute(statement, values).fetchall(), None
        except sqlite3.Error as error:
            return [], error

    def close(self) -> None:
        """Close the file, and end the thread."""
        self._thread.apply(self._connection.close)
        self._thread.kill()


def _row(number: int) -> tuple[int, str, int, int]:
    return number, f"player {number}", number * 7919, number * 104729


@contextmanager
def _sqlite(of: Callable[[Base], Call]) -> Iterator[Ready]:
    with tempfile.TemporaryDirectory(prefix="flatlands-uniform-") as folder:
        base = Base(Path(folder) / "uniform.db")
        try:
            yield lambda callers: [of(base)] * callers
        finally:
            base.close()


def _insert(base: Base) -> Call:
    statement = "INSERT INTO player VALUES (?, ?, ?, ?)"
    return lambda number: base.ask(statement, _row(FILLED_ROWS + number))


def _by_id(base: Base) -> Call:
    statement = "SELECT name, x, y FROM player WHERE id = ?"
    return lambda _: _is(len(base.ask(statement, (_some(),))), 1)


def _ranged(statement: str) -> Callable[[Base], Call]:
    """Return a function that makes calls to read RANGE_ROWS, from one id to another."""

    def of(base: Base) -> Call:
        def call(_: int) -> None:
            first = random.randrange(FILLED_ROWS - RANGE_ROWS)
            _is(len(base.ask(statement, (first, first + RANGE_ROWS - 1))), RANGE_ROWS)

        return call

    return of


# The game's store.


@contextmanager
def _store(server: str, of: Callable[[Store], Call]) -> Iterator[Ready]:
    with ExitStack() as stack:
        if server == "redis://":
            url, _ = brokers.start(stack, server)
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="flatlands-uniform-"))
            url = f"{server}{folder}/store.db"
        store = open_store(url, "uniform")
        stack.callback(store.close)
        for start in range(0, FILLED_ROWS, CALL_ITEMS_MOST):
            store.put(QUEUE, [_item(number) for number in range(start, start + CALL_ITEMS_MOST)])
        call = of(store)
        yield lambda callers: [call] * callers


def _item(number: int) -> Item:
    return Item(str(number), 0, f"{number % 100}", BODY)


def _put(store: Store) -> Call:
    return lambda number: _is(store.put(QUEUE, [_item(FILLED_ROWS + number)]), 1)


def _claim(store: Store) -> Call:
    """Return a call that claims an item and is done with it. Another one follows, so that the queue
    never becomes shorter."""

    def call(number: int) -> None:
        ids = [claimed.id for claimed in store.claim(QUEUE, 1, LEASE_MS)]
        _is(store.done(QUEUE, ids, [(QUEUE, _item(FILLED_ROWS + number))]), 1)

    return call


def _take(store: Store) -> Call:
    """Return a call that takes an item, which is then put again, as a gem grows again."""

    def call(_: int) -> None:
        item = _item(_some())
        _is(store.take(QUEUE, item.id, [(QUEUE, item)]), BODY)

    return call


def _rank(store: Store) -> Call:
    """Return a call that asks for a place on a board, which is filled first."""
    for number in range(FILLED_ROWS):
        store.add(Score(BOARD, str(number), number % 100 + 1))

    def call(_: int) -> None:
        rank = store.rank(BOARD, str(_some()))
        _is(rank is not None and rank.of, FILLED_ROWS)

    return call


def _is(found: _T, expected: _T) -> _T:
    """Return what was found. Raises Trouble if it is not what must be there."""
    if found != expected:
        raise Trouble(f"{found!r} came instead of {expected!r}")
    return found


_JOIN = (
    "SELECT p.name, s.gems FROM player p JOIN score s USING (id) WHERE p.id BETWEEN ? AND ?"
    " ORDER BY s.gems DESC"
)

#: Name of an operation -> what makes it ready, as long as a block lasts.
OPERATIONS: dict[str, Callable[[], AbstractContextManager[Ready]]] = {
    "Redis: SET": lambda: _redis(_set),
    "Redis: GET": lambda: _redis(_get),
    "sqlite: INSERT": lambda: _sqlite(_insert),
    "sqlite: SELECT by id": lambda: _sqlite(_by_id),
    f"sqlite: SELECT by range of {RANGE_ROWS}": lambda: _sqlite(
        _ranged("SELECT name, x, y FROM player WHERE id BETWEEN ? AND ?")
    ),
    f"sqlite: join of {RANGE_ROWS}": lambda: _sqlite(_ranged(_JOIN)),
    "store in a file: put": lambda: _store("sqlite:///", _put),
    "store in a file: claim, done": lambda: _store("sqlite:///", _claim),
    "store in a file: take": lambda: _store("sqlite:///", _take),
    "store in a file: rank": lambda: _store("sqlite:///", _rank),
    "store in Redis: put": lambda: _store("redis://", _put),
    "store in Redis: claim, done": lambda: _store("redis://", _claim),
    "store in Redis: take": lambda: _store("redis://", _take),
    "store in Redis: rank": lambda: _store("redis://", _rank),
}

#: The errors with which a call may fail.
_FAILURES = Trouble, StoreError, OSError, sqlite3.Error, hiredis.HiredisError


def point(calls: Sequence[Call], seconds: float, numbers: Iterator[int]) -> Calls:
    """Have each of these calls made by one caller, again and again for `seconds`, at least once.

    Raises Trouble, with the first failure, and Interrupted.
    """
    took: list[int] = []
    # All callers end with the first that fails.
    failed: list[Exception] = []
    began = time.perf_counter_ns()
    until = began + int(seconds * 1e9)

    def caller(call: Call) -> None:
        now = time.perf_counter_ns
        try:
            # Each asks once, however late it begins.
            while True:
                start = now()
                call(next(numbers))
                took.append(now() - start)
                if failed or now() >= until:
                    return
        except _FAILURES as error:
            failed.append(error)

    greenlets = [gevent.spawn(caller, call) for call in calls]
    try:
        while not all(one.ready() for one in greenlets):
            gevent.joinall(greenlets, timeout=signals.LOOK)
            signals.check()
    finally:
        gevent.killall(greenlets)
    ended = time.perf_counter_ns()
    if failed:
        raise Trouble(str(failed[0])) from failed[0]
    histogram = Histogram()
    histogram.add([ns / 1000 for ns in took])
    return {
        "p50": round(histogram.percentile(50), 3),
        "p99": round(histogram.percentile(99), 3),
        "rate": round(len(took) * 1e9 / (ended - began), 1),
        "calls": len(took),
    }


def beyond(figures: Sequence[float]) -> list[bool]:
    """Return for each figure whether it is more than FACTOR times, or less than a FACTORth of, the
    median of the others. There must be at least two."""
    found = []
    for at, figure in enumerate(figures):
        middle = statistics.median([*figures[:at], *figures[at + 1 :]])
        found.append(not middle / FACTOR <= figure <= middle * FACTOR)
    return found


def mark(points: Sequence[Point]) -> None:
    """Note for p50, p99 and rate of each operation and number of callers whether they are `beyond`
    those of the other operations."""
    for callers in CALLERS:
        found = [one["callers"][callers] for one in points]
        for name in FIGURES:
            for one, is_beyond in zip(found, beyond([one[name] for one in found]), strict=True):
                one.setdefault("beyond", {})[name] = is_beyond


@dataclass(frozen=True)
class Options:
    """What the user chose: the seconds in which each number of callers asks."""

    seconds: float = option(
        "--seconds", amount(0.01, 600), 2.0, "N", "how long each number of callers asks"
    )


def _cell(callers: int, name: Figure, form: str, row: Point) -> str:
    one = row["callers"][callers]
    return f"{one[name]:{form}}{'*' if one['beyond'][name] else ' '}"


def _columns(callers: int) -> Iterator[Column[Point]]:
    """Yield the columns of p50, p99 and rate for a number of callers."""
    first = f"{callers} caller{'s' * (callers > 1)}: p50"
    figures: tuple[tuple[Figure, str, str], ...]
    figures = ("p50", ".3f", first), ("p99", ".3f", "p99 ms"), ("rate", ",.0f", "a second")
    for name, form, heading in figures:
        yield Column(heading, partial(_cell, callers, name, form), width=max(len(heading), 9))


class Uniform(PlainStudy[Point, Options]):
    """How fast calls of each store are."""

    program = "-m loadtest.studies uniform"
    about = "Latencies of sqlite, Redis and the game's store, side by side."
    epilog = f"""A * marks what is beyond a factor of {FACTOR:g} of the median of the other
operations in its column. The exit code is 0, or 1 if something failed."""
    title = "Calls of sqlite, Redis and the game's store"
    options = Options
    failures = _FAILURES
    columns = {
        "": (
            Column("", "series", width=-28),
            *(column for callers in CALLERS for column in _columns(callers)),
        )
    }

    def facts(self) -> dict[str, object]:
        return {**super().facts(), "claimed": {"calls a second": CLAIMED, "from": CLAIMED_WHERE}}

    def jobs(self) -> Iterator[tuple[str, Measure[Point]]]:
        """Yield one operation after the other, to be measured with each number of callers."""
        random.seed(2010)
        for name in OPERATIONS:
            yield name, partial(self._points, name)

    def _points(self, name: str) -> list[Point]:
        numbers = iter(range(2**40))
        with OPERATIONS[name]() as ready:
            found = {n: point(ready(n), self.chosen.seconds, numbers) for n in CALLERS}
        return [{"series": name, "callers": found}]

    def rows(self, point: Point) -> list[Point]:
        """Return the row of a point that was compared with the others."""
        return [point] if all("beyond" in one for one in point["callers"].values()) else []

    def end(self, code: int) -> int:
        """Compare, and print all."""
        if len(self.points) > 1:
            mark(self.points)
            for row in self.shown():
                self.show(row)
        claims = "; ".join(f"{what} {rate:,} a second" for what, rate in CLAIMED.items())
        print(f"\nClaimed: {claims}. From {CLAIMED_WHERE}.")
        return code


main = Uniform.main
