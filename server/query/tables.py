"""The tables that can be queried: the live world, and what its store keeps, as rows of sqlite.

Rows are made when a statement needs them, and only for the tables that it reads.
"""

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gevent import get_hub

from flatlands.server.game.loader import attribute_of
from flatlands.server.messages.peer_protocol import ALIVE, DRAINING, STARTING
from flatlands.server.query.watcher import Watcher
from flatlands.stores.base import Item, Store
from flatlands.world.grid import Grid, Square
from flatlands.world.track import UNIT

if TYPE_CHECKING:
    from flatlands.server.game.game import Part

Row = tuple[Any, ...]

#: How many rows are put into a table at a time.
ROWS_AT_ONCE: Final = 1000

# What a game's own statements may cost.

#: The most items that are read from one queue of the store.
QUEUE_ITEMS: Final = 500_000

#: The most that all tables take.
TABLES_BYTES: Final = 128 * 1024 * 1024

#: The longest time that a statement takes.
STATEMENT_S: Final = 5.0

#: The most rows of an answer.
ANSWER_ROWS: Final = 100_000

#: After how many steps of SQLite a statement looks at the time: a ms or less.
LOOK_EVERY_STEPS: Final = 10_000

_STATES = {ALIVE: "alive", DRAINING: "stopping", STARTING: "starting"}


class RowSource(NamedTuple):
    """The source of all rows.

    `ground_id` is as in the names of channels. `store` is None if there is none, and `watcher`,
    which has all players, is None for the tables of a game, which need no players. `most` items of
    a queue are read; None: all.
    """

    ground_id: str
    grid: Grid
    store: Store | None
    watcher: Watcher | None = None
    most: int | None = None

    @property
    def living(self) -> Watcher:
        """The watcher, which has all players. Raises ValueError."""
        if self.watcher is None:
            raise ValueError("a game can read only its own tables")
        return self.watcher


def place(source: RowSource, x: int, y: int) -> Row:
    """Return a position in tiles, and its square; `x` and `y` are in units."""
    return x / UNIT, y / UNIT, *source.grid.square(x, y)


def _players(source: RowSource) -> Iterator[Row]:
    now = source.living.loop.now()
    for square, player in source.living.players():
        x, y = player.track.at(now)
        walking = player.track.end > now and bool(player.track.duration)
        since = now - (player.track.start if walking else player.track.end)
        does = player.node, walking, player.dimmed, since
        yield player.id, player.name, x / UNIT, y / UNIT, *square, *does


def _squares(source: RowSource) -> Iterator[Row]:
    inside: dict[Square, list[int]] = {}
    for square, player in source.living.players():
        inside.setdefault(square, []).append(player.node)
    for square, nodes in inside.items():
        yield *square, len(nodes), len(set(nodes)), source.living.events_a_second(square)


def _nodes(source: RowSource) -> Iterator[Row]:
    hosted: dict[int, list[Square]] = {}
    for square, player in source.living.players():
        hosted.setdefault(player.node, []).append(square)
    now = source.living.loop.now()
    for id, peer in source.living.node.peers.peers.items():
        squares = hosted.get(id, [])
        says = now - peer.last_heard, _STATES[peer.state], len(squares), len(set(squares))
        memory, connections, heard, _ = peer.load
        yield id, *says, connections, heard, memory or None, peer.offset


def items(source: RowSource, queue: str) -> Iterator[Item]:
    """Yield the items of a queue of the store, if there is one: all, or the source's `most`."""
    if source.store is not None:
        yield from islice(source.store.each(queue), source.most)


def _queues(source: RowSource) -> Iterator[Row]:
    if source.store is not None:
        for name in source.store.names().queues:
            yield name, source.store.count(name)


def _sizes(source: RowSource) -> Iterator[Row]:
    if source.store is not None:
        yield from source.store.sizes()


class Table(NamedTuple):
    """A table: its columns, what it is for, and what makes its rows."""

    columns: str
    about: str
    rows: Callable[[RowSource], Iterable[Row]]


#: Tables by their names.
Tables = Mapping[str, Table]

#: The tables of every game. docs/query.md explains the columns.
_ALWAYS: Tables = {
    "player": Table(
        "id, name, x, y, col, row, node, walking, dimmed, since",
        "every player of every node",
        _players,
    ),
    "square": Table("col, row, players, nodes, events_s", "every square with players", _squares),
    "node": Table(
        "id, age_ms, state, players, squares, connections, heard, bytes, clock_ms",
        "every server process",
        _nodes,
    ),
    "queue": Table("name, items", "every queue of the store", _queues),
    "size": Table("name, rows, bytes", "the parts of the store", _sizes),
}


def tables(game: str) -> Tables:
    """Return all tables while this game is played: its own come last."""
    return {**_ALWAYS, **(attribute_of(game, "TABLES") or {})}


def create(database: sqlite3.Connection, tables: Tables) -> None:
    """Create tables, without rows."""
    for name, table in tables.items():
        database.execute(f"CREATE TABLE {name} ({table.columns})")


def fill(
    database: sqlite3.Connection, tables: Tables, names: Iterable[str], source: RowSource
) -> None:
    """Replace the rows of some of the tables with what there is now, in a thread. Raises StoreError
    and NoServerHeard."""
    run = get_hub().threadpool.apply
    for name in names:
        database.execute(f"DELETE FROM {name}")
        rows, marks = iter(tables[name].rows(source)), "?" + ", ?" * tables[name].columns.count(",")
        while some := list(islice(rows, ROWS_AT_ONCE)):
            run(database.executemany, (f"INSERT INTO {name} VALUES ({marks})", some))


def select(part: "Part", tables: Tables, *statements: str) -> list[list[Row]]:
    """Return the rows, as tuples, of each statement; they read from tables of the game that `part`
    belongs to. It reads these tables from the store, up to QUEUE_ITEMS of a queue, and waits for
    that. Raises StoreUnavailable, ValueError, and sqlite3.Error, also if the tables need more than
    TABLES_BYTES, a statement more than STATEMENT_S, or its answer more than ANSWER_ROWS."""
    node = part.node
    read = [name for name in tables if re.search(rf"\b{name}\b", " ".join(statements))]

    def operation(store: Store) -> list[list[Row]]:
        with closing(sqlite3.connect(":memory:", check_same_thread=False)) as database:
            [page_size] = database.execute("PRAGMA page_size").fetchone()
            # The limit that QueryRunner sets counts the memory of the store in this process too.
            database.execute(f"PRAGMA max_page_count = {TABLES_BYTES // page_size}")
            create(database, {name: tables[name] for name in read})
            source = RowSource(node.channels.ground_id, node.grid, store, most=QUEUE_ITEMS)
            fill(database, tables, read, source)
            return [_answer(database, each) for each in statements]

    found: list[list[Row]] = node.store_client.wait(operation)
    return found


def _answer(database: sqlite3.Connection, statement: str) -> list[Row]:
    """Return the answer to a statement, which is run in a thread. Raises sqlite3.Error."""

    def run() -> list[Row] | sqlite3.Error:
        # Its time begins now: if all threads were busy, it has waited before.
        until = time.monotonic() + STATEMENT_S
        database.set_progress_handler(lambda: time.monotonic() > until, LOOK_EVERY_STEPS)
        # gevent prints what is raised in a thread.
        try:
            return database.execute(statement).fetchmany(ANSWER_ROWS + 1)
        except sqlite3.Error as error:
            return error

    running: Any = get_hub().threadpool.spawn(run)
    try:
        answer: list[Row] | sqlite3.Error = running.get()
    finally:
        if not running.ready():
            database.interrupt()
    if isinstance(answer, sqlite3.Error):
        raise answer
    if len(answer) > ANSWER_ROWS:
        raise sqlite3.DataError(f"the answer has more than {ANSWER_ROWS} rows: select fewer")
    return answer
