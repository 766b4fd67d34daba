"""The tables that can be asked: the live world, and what its store keeps, as rows of sqlite.

Rows are made when a statement needs them, and only for the tables that it reads. This module never
runs a statement of a user.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgpack

from flatlands.server.messages.peer_protocol import ALIVE, DRAINING, STARTING
from flatlands.server.query.watcher import Watcher
from flatlands.server.scores import board
from flatlands.server.things import cairns, garden
from flatlands.stores.base import BATCH_LIMIT, Item, Store
from flatlands.world.grid import Square
from flatlands.world.track import UNIT

Row = tuple[Any, ...]

_STATES = {ALIVE: "alive", DRAINING: "stopping", STARTING: "starting"}


class Source(NamedTuple):
    """Where rows come from. `store` is None if there is none."""

    watcher: Watcher
    store: Store | None


def _players(source: Source) -> Iterator[Row]:
    watcher = source.watcher
    now = watcher.loop.now()
    for square, player in watcher.players():
        x, y = player.track.at(now)
        walking = player.track.end > now and bool(player.track.duration)
        since = now - (player.track.start if walking else player.track.end)
        yield (
            player.id,
            player.name,
            x / UNIT,
            y / UNIT,
            *square,
            player.node,
            walking,
            player.dimmed,
            since,
        )


def _squares(source: Source) -> Iterator[Row]:
    watcher = source.watcher
    inside: dict[tuple[int, int], list[int]] = {}
    for square, player in watcher.players():
        inside.setdefault(square, []).append(player.node)
    for square, nodes in inside.items():
        yield *square, len(nodes), len(set(nodes)), watcher.events_a_second(square)


def _nodes(source: Source) -> Iterator[Row]:
    watcher = source.watcher
    now = watcher.loop.now()
    hosted: dict[int, int] = {}
    squares: dict[int, set[Square]] = {}
    for square, player in watcher.players():
        hosted[player.node] = hosted.get(player.node, 0) + 1
        squares.setdefault(player.node, set()).add(square)
    for id, peer in watcher.peers.peers.items():
        yield (
            id,
            now - peer.last_heard,
            _STATES[peer.state],
            hosted.get(id, 0),
            len(squares.get(id, ())),
            peer.load.connections,
            peer.load.heard,
            peer.load.memory or None,
            peer.offset,
        )


def _items(source: Source, queue: str) -> Iterator[Item]:
    """Yield all items of a queue of the store, if there is one."""
    if source.store is not None:
        yield from source.store.each(queue)


def _gems(source: Source) -> Iterator[Row]:
    for item in _items(source, f"{garden.QUEUE} {source.watcher.ground}"):
        version, *place = msgpack.unpackb(item.body)
        where: Row = (None, None, None, None)
        if place:
            x, y = place
            where = x / UNIT, y / UNIT, *source.watcher.grid.square(x, y)
        yield item.id, "lying" if place else "ripening", version, *where, item.delay


def _cairns(source: Source) -> Iterator[Row]:
    for item in _items(source, f"{cairns.QUEUE} {source.watcher.ground}"):
        cairn = cairns.read(item.body)
        column, row = map(int, item.id.split(":"))
        yield (
            item.id,
            cairn.x / UNIT,
            cairn.y / UNIT,
            column,
            row,
            cairn.player,
            cairn.name,
            cairn.text,
            len(cairn.adders),
            item.delay,
        )


def _scores(source: Source) -> Iterator[Row]:
    players = {item.id: board.read_entry(item.body) for item in _items(source, board.NAMES)}
    skip = 0
    while source.store is not None and (some := source.store.top(board.BOARD, BATCH_LIMIT, skip)):
        for owner, gems in some:
            player, name = players.get(owner, (None, None))
            yield player, owner, name, gems
        skip += len(some)


def _queues(source: Source) -> Iterator[Row]:
    if source.store is not None:
        for name in source.store.names().queues:
            yield name, source.store.count(name)


def _sizes(source: Source) -> Iterator[Row]:
    if source.store is not None:
        yield from source.store.sizes()


class Table(NamedTuple):
    """A table: its columns with their types, what it is for, and what makes its rows."""

    columns: str
    about: str
    rows: Callable[[Source], Iterable[Row]]


#: All tables, by their names. docs/query.md explains the columns.
TABLES = {
    "player": Table(
        "id INTEGER PRIMARY KEY, name TEXT, x REAL, y REAL, col INTEGER, row INTEGER, "
        "node INTEGER, walking INTEGER, dimmed INTEGER, since INTEGER",
        "every player of every node",
        _players,
    ),
    "square": Table(
        "col INTEGER, row INTEGER, players INTEGER, nodes INTEGER, events_s REAL",
        "every square with players",
        _squares,
    ),
    "node": Table(
        "id INTEGER PRIMARY KEY, age_ms INTEGER, state TEXT, players INTEGER, squares INTEGER, "
        "connections INTEGER, heard INTEGER, bytes INTEGER, clock_ms INTEGER",
        "every server process",
        _nodes,
    ),
    "gem": Table(
        "id TEXT PRIMARY KEY, state TEXT, version INTEGER, x REAL, y REAL, col INTEGER, "
        "row INTEGER, due_ms INTEGER",
        "every gem, lying or ripening",
        _gems,
    ),
    "cairn": Table(
        "id TEXT PRIMARY KEY, x REAL, y REAL, col INTEGER, row INTEGER, player INTEGER, "
        "name TEXT, text TEXT, stones INTEGER, due_ms INTEGER",
        "every cairn",
        _cairns,
    ),
    "score": Table(
        "id INTEGER, owner TEXT PRIMARY KEY, name TEXT, gems INTEGER",
        "everybody who ever took a gem",
        _scores,
    ),
    "queue": Table("name TEXT PRIMARY KEY, items INTEGER", "every queue of the store", _queues),
    "size": Table(
        "name TEXT PRIMARY KEY, rows INTEGER, bytes INTEGER", "the parts of the store", _sizes
    ),
}


def create(database: sqlite3.Connection) -> None:
    """Create all tables, without rows."""
    for name, table in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({table.columns})")


def fill(database: sqlite3.Connection, names: Iterable[str], source: Source) -> None:
    """Replace the rows of some tables by what there is now. Raises StoreError and Silent."""
    for name in names:
        database.execute(f"DELETE FROM {name}")
        rows = list(TABLES[name].rows(source))
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
