"""Runs a user's statement over the tables: it may only read, and only for a limited time.

It runs in a separate thread, so that the world goes on meanwhile.
"""

import os
import re
import sqlite3
from contextlib import closing
from typing import Any, NamedTuple

from gevent import get_hub

from flatlands.server.query.tables import Row, RowSource, Tables, create, fill

#: The most bytes of a value, a row or a statement.
LENGTH_BYTES = 1_000_000

#: The most bytes of memory that sqlite may use.
SQLITE_BYTES = 256 * 1024 * 1024

#: The most bytes and characters of an answer.
ANSWER_BYTES = 8_000_000

#: A statement that is interrupted ends between two of sqlite's instructions, one of which may be a
#: function that takes minutes. If it has not ended after this, the program ends.
GRACE_S = 1.0

#: The operations that a statement may use.
_ALLOWED = frozenset(
    (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
)

#: Functions that reach beyond the tables, if sqlite was built with them.
_REFUSED = frozenset(("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"))

#: The beginnings of statements that are only compiled.
_COMPILE = "EXPLAIN "


class QueryError(Exception):
    """The statement cannot be answered; the text is a sentence for its author."""


class Answer(NamedTuple):
    """The answer to a statement: the names of the columns, and the rows. `cut`: there were more
    rows than were wanted."""

    columns: list[str]
    rows: list[Row]
    cut: bool


class QueryRunner:
    """Runs statements, one at a time. `seconds` bounds the time of a statement, and `most` its
    rows. A statement that cannot be stopped in time ends the program, with a sentence and the exit
    code 1."""

    def __init__(self, source: RowSource, tables: Tables, seconds: float, most: int) -> None:
        self._source = source
        self.tables = tables
        self._seconds = seconds
        self._most = most
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        # Without these a statement could fill the memory, or the disk with what it sorts.
        self._database.execute(f"PRAGMA hard_heap_limit = {SQLITE_BYTES}")
        self._database.execute("PRAGMA temp_store = MEMORY")
        create(self._database, tables)
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LENGTH_BYTES)
        self._database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        #: The tables that the statement that runs, or ran last, reads.
        self._read: set[str] = set()

    def add_table(self, name: str, content: Answer) -> None:
        """Add a table with these columns and rows, which stay as they are. Raises QueryError."""
        columns = ", ".join(_quoted(column) for column in content.columns)
        try:
            self._database.execute(f"CREATE TABLE {name} ({columns})")
        except sqlite3.Error as error:
            raise QueryError(f"the table {name}: {error}") from None
        marks = ", ".join("?" * len(content.columns))
        self._database.executemany(f"INSERT INTO {name} VALUES ({marks})", content.rows)

    def ask(self, statement: str) -> Answer:
        """Return the answer to a statement. Raises QueryError, StoreError and NoServerHeard."""
        self._source.living.check()
        self._read.clear()
        # The statement is only compiled, which calls the authorizer with all that it reads.
        self._run(_COMPILE + statement)
        fill(self._database, self.tables, sorted(self._read & self.tables.keys()), self._source)
        return self._run(statement)

    def copy(self, path: str) -> None:
        """Write all tables as they are now into a new file. Raises QueryError, StoreError and
        NoServerHeard."""
        self._source.living.check()
        fill(self._database, self.tables, self.tables, self._source)
        try:
            open(path, "x").close()
            with closing(sqlite3.connect(path)) as file:
                self._database.backup(file)
        except FileExistsError:
            raise QueryError(f"{path} already exists: name a new file") from None
        except (OSError, sqlite3.Error) as error:
            raise QueryError(f"{path} cannot be written: {error}") from None

    def _run(self, statement: str) -> Answer:
        """Return the answer to a statement, or end the program if it cannot be stopped in time.
        Raises QueryError."""
        running: Any = get_hub().threadpool.spawn(self._answer, statement)
        try:
            running.wait(self._seconds)
        finally:
            # After Ctrl-C, too.
            if not running.ready():
                self._database.interrupt()
        running.wait(GRACE_S)
        if not running.ready():
            os.write(2, f"flatlands: {self._too_long()}\n".encode())
            os._exit(1)
        answer: Answer | QueryError = running.get()
        if isinstance(answer, QueryError):
            raise answer
        return answer

    def _answer(self, statement: str) -> Answer | QueryError:
        """Run a statement, in a thread; read one row more than is wanted."""
        self._database.set_authorizer(self._authorize)
        try:
            return self._read_all(self._database.execute(statement))
        except QueryError as wrong:
            return wrong
        except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
            return self._wrong(error, statement)
        finally:
            # This program may do again what a statement may not.
            self._database.set_authorizer(None)

    def _read_all(self, cursor: sqlite3.Cursor) -> Answer:
        if cursor.description is None:
            raise QueryError("the statement returns no rows: begin it with SELECT or WITH")
        rows: list[Row] = []
        size = 0
        for row in cursor:
            size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
            if size > ANSWER_BYTES:
                raise QueryError(
                    f"the answer has more than {ANSWER_BYTES // 1_000_000} MB: ask for fewer rows "
                    "or columns at a time"
                )
            rows.append(row)
            if len(rows) > self._most:
                break
        columns = [column[0] for column in cursor.description]
        return Answer(columns, rows[: self._most], len(rows) > self._most)

    def _too_long(self) -> str:
        return (
            f"the statement takes more than {self._seconds:g} s: let it read less, or allow more "
            "with --seconds"
        )

    def _authorize(
        self, action: int, first: str | None, second: str | None, *_rest: str | None
    ) -> int:
        if action == sqlite3.SQLITE_READ and first is not None:
            self._read.add(first)
        if action == sqlite3.SQLITE_FUNCTION and second in _REFUSED:
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY

    def _wrong(self, error: Exception, statement: str) -> QueryError:
        if isinstance(error, MemoryError):
            return QueryError(
                f"the statement needs more than {SQLITE_BYTES >> 20} MB: make it read less"
            )
        text = str(error)
        if text == "interrupted":
            return QueryError(self._too_long())
        if re.match("not authorized|authorization denied|access to|prohibited", text):
            return QueryError("a statement may only read: begin it with SELECT or WITH")
        if text == "incomplete input":
            return QueryError("the statement ends too early")
        if text.startswith("no such table"):
            return QueryError(f"{text}: there are {', '.join(self.tables)}")
        found = re.search('near "(.*)": syntax error', text)
        if found:
            before = statement.removeprefix(_COMPILE).partition(found[1])[0]
            return QueryError(f"{text}, after {before[-20:]!r}" if before else text)
        return QueryError(text)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
