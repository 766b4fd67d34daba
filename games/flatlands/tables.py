"""The tables that Flatlands adds to those that can be queried: gems, cairns, scores, landmarks, and
the lines of books."""

from collections.abc import Collection, Iterator
from typing import Any

import gevent
import msgpack

from flatlands.games.flatlands.finds import MARK, Carved
from flatlands.games.flatlands.finds import QUEUE as FINDERS
from flatlands.games.flatlands.ground.landmarks import Landmarks
from flatlands.games.flatlands.notes import LASTS, Note
from flatlands.games.flatlands.treasure import BOARD
from flatlands.server.query.tables import Row, RowSource, Table, items, place
from flatlands.server.storage.boards import NAMES, board_name, read_entry
from flatlands.server.storage.items import RECORDS_QUEUE, THINGS_QUEUE
from flatlands.server.storage.kinds import Record
from flatlands.stores.base import CALL_ITEMS_MOST, Item
from flatlands.world.terrain import Terrain
from flatlands.world.track import UNIT

#: The name of the game in the names of queues and boards.
GAME = "flatlands"

#: How many parts of the world, each way from the plaza, are searched for landmarks.
AROUND = 3


def _things(source: RowSource, kind: str) -> Iterator[tuple[Item, int, Row, bool, dict[str, Any]]]:
    """Yield each item of a kind of thing, with its version, its place, whether it waits, and its
    values."""
    for item in items(source, f"{THINGS_QUEUE} {GAME} {source.ground_id}"):
        if item.id.startswith(f"{kind}:"):
            version, column, row, waits, values, *_ = msgpack.unpackb(item.body)
            where = place(source, *(at * UNIT + UNIT // 2 for at in (column, row)))
            yield item, version, where, waits, values


def _gems(source: RowSource) -> Iterator[Row]:
    for item, version, where, waits, _values in _things(source, "Gem"):
        # Nobody may know where it will lie.
        shown = (None,) * len(where) if waits else where
        yield item.id, "ripening" if waits else "lying", version, *shown, item.delay


def _cairns(source: RowSource) -> Iterator[Row]:
    for item, version, where, _waits, values in _things(source, "Cairn"):
        says = [values[name] for name in ("player", "name", "text", "stones")]
        # Its version begins as node time, and grows by one with each stone.
        yield item.id, *where, *says, item.delay, version


def _records(source: RowSource, kind: type[Record]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the id and the values of each record of a kind."""
    for item in items(source, f"{RECORDS_QUEUE} {GAME} {kind.__name__} {source.ground_id}"):
        yield item.id, msgpack.unpackb(item.body)


def _notes(source: RowSource) -> Iterator[Row]:
    for id, values in _records(source, Note):
        yield id.partition("/")[0], *[values[field.name] for field in Note.fields]


def newest(kinds: Collection[str], age: int) -> Table:
    """Return the table `note` with the lines of some kinds only, which are kept once under the name
    of their kind, that are at most `age` ms old. Others are not unpacked."""
    marks = tuple(f"{kind} " for kind in kinds)

    def rows(source: RowSource) -> Iterator[Row]:
        for item in items(source, f"{RECORDS_QUEUE} {GAME} {Note.__name__} {source.ground_id}"):
            owner, _, name = item.id.partition("/")
            if name.startswith(marks) and item.delay >= LASTS * 1000 - age:
                values = msgpack.unpackb(item.body)
                yield owner, *[values[field.name] for field in Note.fields]

    return TABLES["note"]._replace(rows=rows)


def _landmarks(source: RowSource) -> Iterator[Row]:
    marks = Landmarks(Terrain(int(source.ground_id.rpartition("-")[0])))
    counts = {
        item.id: len(item.body) // MARK for item in items(source, f"{FINDERS} {source.ground_id}")
    }
    first = {id: values["name"] for id, values in _records(source, Carved)}
    near = [(i, j) for i in range(-AROUND, AROUND) for j in range(-AROUND, AROUND)]
    found = [tuple(map(int, name.split(":"))) for name in counts]
    for i, j in sorted({*near, *found}):
        # Finding out where one stands takes a few ms. After 0 s no socket would have had its turn.
        gevent.sleep(0.001)
        name, tile = f"{i}:{j}", marks.of(i, j)
        if tile is not None:
            yield i, j, *tile, counts.get(name, 0), first.get(name)


def _scores(source: RowSource) -> Iterator[Row]:
    players = {item.id: read_entry(item.body) for item in items(source, NAMES)}
    board, skip = board_name(GAME, BOARD), 0
    while source.store is not None and (some := source.store.top(board, CALL_ITEMS_MOST, skip)):
        for owner, gems in some:
            player, name = players.get(owner, (None, None))
            yield player, owner, name, gems
        skip += len(some)


#: The tables by their names. docs/query.md explains the columns.
TABLES = {
    "gem": Table(
        "id, state, version, x, y, col, row, due_ms", "every gem, lying or ripening", _gems
    ),
    "cairn": Table(
        "id, x, y, col, row, player, name, text, stones, due_ms, built",
        "every cairn",
        _cairns,
    ),
    "landmark": Table(
        "part_x, part_y, x, y, finders, first",
        "landmarks that somebody has found, or that stand near the plaza",
        _landmarks,
    ),
    "note": Table(
        f"person, {', '.join(field.name for field in Note.fields)}",
        "every line of every book",
        _notes,
    ),
    "score": Table("id, owner, name, gems", "everybody who ever took a gem", _scores),
}
