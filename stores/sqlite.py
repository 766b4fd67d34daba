"""A store in a file that all workers of one machine share, or in memory for one process.

The file is a sqlite database with a write-ahead log. What was answered survives the end of any
process, even by kill -9; a machine that loses power may lose the last moments. Its clock is the
machine's. A call waits for another process BUSY seconds at most; the first one, which opens the
file, may wait longer.

A process that has the file open would continue to use it after it was deleted or replaced, while
others open what is there now. Each call therefore first checks that the file is still there.
"""

import os
import random
import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path

from flatlands.brokers.base import short_hash
from flatlands.stores.base import (
    NEVER_DUE_MS,
    Claimed,
    If,
    Item,
    ItemChange,
    Rank,
    Score,
    Size,
    Store,
    StoreError,
    Swap,
    Then,
)

#: The version of the tables; the file has it.
SCHEMA = 1

#: Seconds that a call waits while another process writes.
BUSY = 2.0

_ONE_MORE = (
    "INSERT INTO tally VALUES (new.world, new.board, new.n, 1)"
    " ON CONFLICT DO UPDATE SET players = players + 1;"
)
_ONE_LESS = (
    "UPDATE tally SET players = players - 1"
    " WHERE world = old.world AND board = old.board AND n = old.n;",
    "DELETE FROM tally"
    " WHERE world = old.world AND board = old.board AND n = old.n AND players = 0;",
)

_TABLES = """
CREATE TABLE item (
    world TEXT, queue TEXT, id TEXT, due INTEGER, "group" TEXT, holder TEXT, tries INTEGER,
    body BLOB, PRIMARY KEY (world, queue, id)
) WITHOUT ROWID;
CREATE INDEX item_due ON item (world, queue, due, id);
CREATE INDEX item_group ON item (world, queue, "group");
CREATE TABLE score (
    world TEXT, board TEXT, id TEXT, n INTEGER, PRIMARY KEY (world, board, id)
) WITHOUT ROWID;
CREATE INDEX score_n ON score (world, board, n, id);
"""

#: Additions since, without a new version, so that older programs can use the files too: the id of
#: the file, and how many have how many points on a board, which triggers keep right.
_ADDED = (
    "CREATE TABLE store (id TEXT)",
    "CREATE TABLE tally (world TEXT, board TEXT, n INTEGER, players INTEGER,"
    " PRIMARY KEY (world, board, n)) WITHOUT ROWID",
    "INSERT INTO tally SELECT world, board, n, count(*) FROM score GROUP BY world, board, n",
    *(
        f"CREATE TRIGGER score_{event} AFTER {event} ON score BEGIN {''.join(statements)} END"
        for event, statements in {
            "insert": (_ONE_MORE,),
            "update": (_ONE_MORE, *_ONE_LESS),
            "delete": _ONE_LESS,
        }.items()
    ),
)

#: What the URL of a file begins with.
FILE = "sqlite:///"

#: The ends of the names of what sqlite keeps beside a file.
SUFFIXES_BESIDE = ("-wal", "-shm")

#: Errors after which the file is opened again.
_BROKEN = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR")

_Execute = Callable[..., sqlite3.Cursor]


def _touch(path: str) -> None:
    """Make an empty file that only its owner can read. sqlite gives the files beside it the same
    mode. Raises OSError, also if there is such a file."""
    if path != ":memory:":
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


class SqliteStore(Store):
    """A store in a sqlite database. `url` is sqlite:///PATH, or memory://."""

    def __init__(self, url: str, world: str) -> None:
        super().__init__(url, world)
        self._path = ":memory:" if url == "memory://" else url.removeprefix(FILE)
        if not self._path:
            raise ValueError("sqlite:/// must be followed by the path of a file")
        if re.search(r"\?\w+=", self._path):
            raise ValueError(
                "sqlite:/// is followed by the path of a file, without options after ?"
            )
        self._connection: sqlite3.Connection | None = None
        #: What the connection has open, as `_on_disk` returned it then.
        self._files: list[tuple[int, int] | None] = [None, None, None]

    def _open(self) -> None:
        with self._reading():
            return

    def _connect(self) -> sqlite3.Connection:
        """Return the connection, which belongs to the store's thread. Raises StoreError."""
        if self._connection is not None and _on_disk(self._path) != self._files:
            self._leave()
            self.identity = ""
            raise StoreError(
                f"{self._path} was deleted or replaced while servers used it: they continue with "
                "what is there now, or start afresh; stop all servers before you replace the file"
            )
        if self._connection is None:
            with suppress(OSError):  # sqlite says what is wrong
                _touch(self._path)
            connection = sqlite3.connect(self._path, timeout=BUSY, isolation_level=None)
            try:
                id = prepare(self._path, connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._files = connection, _on_disk(self._path)
            # A copy of a file has the same id, but another number.
            self.identity = short_hash(f"{socket.gethostname()} {id} {self._files[0]}")
        return self._connection

    def _leave(self) -> None:
        """Close a file that has lost its name, and delete what sqlite still keeps of it beside that
        name: it would be taken for part of the file that has the name now."""
        (opened, *beside), (found, *found_beside) = self._files, _on_disk(self._path)
        for end, before, now in zip(SUFFIXES_BESIDE, beside, found_beside, strict=True):
            if found != opened and before == now:
                Path(self._path + end).unlink(missing_ok=True)
        self._close()

    def backup(self, path: str) -> None:
        """Copy the file, with all worlds in it, as it is at one moment, into a new file at `path`.
        Nobody who uses it waits meanwhile. Raises StoreError."""
        if not Path(self._path).exists():
            raise StoreError(f"{self._path} does not exist: nothing was copied")
        self._wait(self._backup, path)

    def _backup(self, path: str) -> None:
        try:
            # An existing file is never replaced.
            _touch(path)
        except FileExistsError:
            raise StoreError(f"{path} already exists: nothing was copied") from None
        except OSError as error:
            raise StoreError(f"{path} cannot be made: {error.strerror}") from error
        try:
            with closing(sqlite3.connect(path)) as copy:
                try:
                    # In one step: with several, whatever is written in between starts it over.
                    self._connect().backup(copy)
                    [found] = copy.execute("PRAGMA quick_check(1)").fetchone()
                except sqlite3.Error as error:
                    raise StoreError(f"nothing was copied to {path}: {error}") from error
            if found != "ok":
                raise StoreError(f"nothing was copied to {path}: {self._path} is damaged: {found}")
        except BaseException:
            Path(path).unlink()
            raise

    def _now(self) -> int:
        """Return the machine's time in ms."""
        return time.time_ns() // 1_000_000

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[_Execute]:
        """Yield a function that executes statements; they take effect together, or not at all."""
        try:
            connection = self._connect()
            connection.execute(begin)
            try:
                yield connection.execute
            except BaseException:
                connection.rollback()
                raise
            connection.commit()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "").startswith(_BROKEN):
                # Somebody may put the file right.
                self._close()
            raise StoreError(_sentence(self._path, error)) from error

    def _reading(self) -> AbstractContextManager[_Execute]:
        """Yield a function for statements that only read: they all see the same moment, and no
        other process's writing delays them."""
        return self._transaction("BEGIN DEFERRED")

    def _put(self, queue: str, items: Sequence[Item]) -> int:
        with self._transaction() as execute:
            return self._insert(execute, ((queue, item) for item in items))

    def _insert(
        self, execute: _Execute, items: Iterable[tuple[str, Item]], scores: Iterable[Score] = ()
    ) -> int:
        """Put items, as (queue, item), and add scores; return how many items are new."""
        now, new = self._now(), 0
        for queue, (id, delay, group, body) in items:
            new += execute(
                "INSERT INTO item VALUES (?, ?, ?, ?, ?, '', 0, ?) ON CONFLICT DO NOTHING",
                (self.world, queue, id, now + delay, group, body),
            ).rowcount
        for score in scores:
            self._score(execute, score)
        return new

    def _claim(self, queue: str, most: int, lease: int) -> list[Claimed]:
        with self._transaction() as execute:
            now = self._now()
            found = execute(
                "SELECT id, body, tries + 1 FROM item WHERE world = ? AND queue = ? AND due <= ?"
                " ORDER BY due, id LIMIT ?",
                (self.world, queue, now, most),
            ).fetchall()
            for id, _body, tries in found:
                execute(
                    "UPDATE item SET due = ?, holder = ?, tries = ?"
                    " WHERE world = ? AND queue = ? AND id = ?",
                    (now + lease, self._caller, tries, self.world, queue, id),
                )
            return [Claimed(*row) for row in found]

    def _remove(self, queue: str, ids: Sequence[str], if_: If, then: Then) -> list[bytes]:
        with self._transaction() as execute:
            bodies = [
                body
                for id in ids
                for (body,) in execute(
                    "DELETE FROM item WHERE world = ? AND queue = ? AND id = ?"
                    " AND holder = coalesce(?, holder) AND body = coalesce(?, body) RETURNING body",
                    (self.world, queue, id, *if_),
                ).fetchall()
            ]
            if bodies:
                self._insert(execute, *then)
            return bodies

    def _swap(self, queue: str, swaps: Sequence[Swap]) -> list[bool]:
        put: list[bool] = []
        with self._transaction() as execute:
            for before, item, scores in swaps:
                gone = (
                    before is None
                    or execute(
                        "DELETE FROM item WHERE world = ? AND queue = ? AND id = ? AND body = ?",
                        (self.world, queue, item.id, before),
                    ).rowcount
                )
                put.append(bool(gone and self._insert(execute, [(queue, item)])))
                if put[-1]:
                    self._insert(execute, (), scores)
        return put

    def _transact(self, changes: Sequence[ItemChange], scores: Sequence[Score]) -> bool:
        with self._transaction() as execute:
            for queue, id, before, _, _ in changes:
                found = execute(
                    "SELECT body FROM item WHERE world = ? AND queue = ? AND id = ?",
                    (self.world, queue, id),
                ).fetchone()
                if found != (None if before is None else (before,)):
                    return False
            gone = [each for each in changes if each.before is not None and not each.stays]
            for queue, id, *_ in gone:
                execute(
                    "DELETE FROM item WHERE world = ? AND queue = ? AND id = ?",
                    (self.world, queue, id),
                )
            put = [(each.queue, each.after) for each in changes if each.after is not None]
            self._insert(execute, put, scores)
        return True

    def _renew(
        self, queue: str, items: Sequence[tuple[str, bytes | None]], lease: int
    ) -> list[str]:
        with self._transaction() as execute:
            due = self._now() + lease
            return [
                id
                for id, body in items
                if execute(
                    "UPDATE item SET due = ?, body = coalesce(?, body)"
                    " WHERE world = ? AND queue = ? AND id = ? AND holder = ?",
                    (due, body, self.world, queue, id, self._caller),
                ).rowcount
            ]

    def _get(self, queue: str, ids: Sequence[str]) -> list[Item]:
        return self._select(queue, "id", ids)

    def _group(self, queue: str, names: Sequence[str]) -> list[Item]:
        return self._select(queue, '"group"', names)

    def _select(self, queue: str, column: str, values: Sequence[str]) -> list[Item]:
        """Return the items that have one of some values in a column, the soonest due first."""
        with self._reading() as execute:
            rows = execute(
                f'SELECT id, min(max(due - ?, 0), {NEVER_DUE_MS}), "group", body FROM item'
                f" WHERE world = ? AND queue = ? AND {column} IN"
                f" ({', '.join('?' * len(values))}) ORDER BY due, id",
                (self._now(), self.world, queue, *values),
            )
            return [Item(*row) for row in rows]

    def _count(self, queue: str) -> int:
        with self._reading() as execute:
            number: int = execute(
                "SELECT count(*) FROM item WHERE world = ? AND queue = ?", (self.world, queue)
            ).fetchone()[0]
            return number

    def _add(self, score: Score) -> int:
        with self._transaction() as execute:
            return self._score(execute, score)

    def _score(self, execute: _Execute, score: Score) -> int:
        [n] = execute(
            "INSERT INTO score VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET n = n + excluded.n RETURNING n",
            (self.world, *score),
        ).fetchone()
        points: int = n
        return points

    def _top(self, board: str, most: int, skip: int) -> list[tuple[str, int]]:
        with self._reading() as execute:
            rows: list[tuple[str, int]] = execute(
                "SELECT id, n FROM score WHERE world = ? AND board = ?"
                " ORDER BY n DESC, id DESC LIMIT ? OFFSET ?",
                (self.world, board, most, skip),
            ).fetchall()
            return rows

    def _rank(self, board: str, id: str) -> Rank | None:
        with self._reading() as execute:
            row = execute(
                "SELECT n FROM score WHERE world = ? AND board = ? AND id = ?",
                (self.world, board, id),
            ).fetchone()
            if row is None:
                return None
            as_many, everybody = execute(
                "SELECT sum(players) FILTER (WHERE n <= ?), sum(players) FROM tally"
                " WHERE world = ? AND board = ?",
                (*row, self.world, board),
            ).fetchone()
            return Rank(everybody - as_many + 1, everybody, *row)

    def _names(self) -> tuple[set[str], set[str]]:
        with self._reading() as execute:
            queues = execute("SELECT DISTINCT queue FROM item WHERE world = ?", (self.world,))
            found = {name for (name,) in queues}
            boards = execute("SELECT DISTINCT board FROM score WHERE world = ?", (self.world,))
            return found, {name for (name,) in boards}

    def _scan(self, queue: str, most: int, after: tuple[str, str] | None) -> list[Item]:
        with self._reading() as execute:
            later = "" if after is None else 'AND ("group", id) > (?, ?)'
            rows = execute(
                f'SELECT id, min(max(due - ?, 0), {NEVER_DUE_MS}), "group", body FROM item'
                f' WHERE world = ? AND queue = ? {later} ORDER BY "group", id LIMIT ?',
                (self._now(), self.world, queue, *(after or ()), most),
            )
            return [Item(*row) for row in rows]

    def _sizes(self) -> list[Size]:
        with self._reading() as execute:
            # The virtual table dbstat is part of sqlite, but a build may leave it out.
            found = execute(
                "SELECT s.name, s.tbl_name, d.pgsize FROM dbstat d JOIN sqlite_schema s"
                " USING (name) WHERE d.aggregate = TRUE ORDER BY s.name"
            ).fetchall()
            rows = {
                table: execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in {table for _, table, _ in found}
            }
            return [Size(name, rows[table], size) for name, table, size in found]

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _on_disk(path: str) -> list[tuple[int, int] | None]:
    """Return the device and number of the file, and of what is beside it, as they are now on the
    disk; None for what is not there."""
    found: list[tuple[int, int] | None] = []
    for end in ("", *SUFFIXES_BESIDE):
        try:
            about = os.stat(path + end)
        except OSError:
            found.append(None)
        else:
            found.append((about.st_dev, about.st_ino))
    return found


def _turn_to_wal(connection: sqlite3.Connection) -> None:
    """Give the file a write-ahead log. sqlite does not wait here for others that use the file, such
    as workers that start together."""
    deadline = time.monotonic() + BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def prepare(path: str, connection: sqlite3.Connection) -> str:
    """Create what the file does not have yet; return its id."""
    _turn_to_wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            if connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
                raise StoreError(f"{path} is the database of another program: name another file")
            for statement in _TABLES.split(";")[:-1]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
        elif version != SCHEMA:
            raise StoreError(
                f"{path} has version {version} of the store's format, and this version of Flatlands"
                f" needs version {SCHEMA}: use the Flatlands that wrote it, or another file"
            )
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'store'").fetchone():
            for statement in _ADDED:
                connection.execute(statement)
            id = f"{random.getrandbits(64):016x}"
            connection.execute("INSERT INTO store VALUES (?)", (id,))
        [id] = connection.execute("SELECT id FROM store").fetchone()
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
    return str(id)


def _sentence(path: str, error: sqlite3.Error) -> str:
    """Return what an operator should know of an error."""
    name = getattr(error, "sqlite_errorname", "")
    folder = Path(path).absolute().parent
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"another process has kept {path} locked for {BUSY:g} s"
    if name.startswith("SQLITE_FULL"):
        return f"the disk with {path} is full"
    if name.startswith("SQLITE_READONLY"):
        return f"{path} or its folder is not writable: check their owner and permissions"
    if Path(path).is_dir():
        return f"{path} is a folder: name a file in it"
    if name.startswith("SQLITE_CANTOPEN"):
        return f"{path} cannot be opened: check that {folder} exists and is writable"
    if name.startswith("SQLITE_NOTADB"):
        return f"{path} is not a store of Flatlands: name another file"
    return f"{path} fails: {error}"
