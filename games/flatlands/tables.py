"""The tables that Flatlands adds to those that can be asked: gems, cairns and scores."""

from collections.abc import Iterator
from typing import Any

import msgpack

from flatlands.games.flatlands.gems.gems import BOARD
from flatlands.server.kept.boards import NAMES, board_name, read_entry
from flatlands.server.kept.lying import QUEUE
from flatlands.server.query.tables import Row, Source, Table, items, place
from flatlands.stores.base import BATCH_LIMIT, Item
from flatlands.world.track import UNIT

#: The name of the game, as it is in those of queues and boards.
GAME = "flatlands"


def _things(source: Source, kind: str) -> Iterator[tuple[Item, int, Row, bool, dict[str, Any]]]:
    """Yield each item of a kind of things, and what it has: its version, its place, whether it
    waits, and its values."""
    for item in items(source, f"{QUEUE} {GAME} {source.ground}"):
        if item.id.startswith(f"{kind}:"):
            version, column, row, waits, values, *_ = msgpack.unpackb(item.body)
            where = place(source, *(at * UNIT + UNIT // 2 for at in (column, row)))
            yield item, version, where, waits, values


def _gems(source: Source) -> Iterator[Row]:
    for item, version, where, waits, _values in _things(source, "Gem"):
        # Nobody is to know where it will lie.
        shown = (None,) * len(where) if waits else where
        yield item.id, "ripening" if waits else "lying", version, *shown, item.delay


def _cairns(source: Source) -> Iterator[Row]:
    for item, _version, where, _waits, values in _things(source, "Cairn"):
        says = [values[name] for name in ("player", "name", "text", "stones")]
        yield item.id, *where, *says, item.delay


def _scores(source: Source) -> Iterator[Row]:
    players = {item.id: read_entry(item.body) for item in items(source, NAMES)}
    board, skip = board_name(GAME, BOARD), 0
    while source.store is not None and (some := source.store.top(board, BATCH_LIMIT, skip)):
        for owner, gems in some:
            player, name = players.get(owner, (None, None))
            yield player, owner, name, gems
        skip += len(some)


#: Their names -> what they are. docs/query.md explains the columns.
TABLES = {
    "gem": Table(
        "id, state, version, x, y, col, row, due_ms", "every gem, lying or ripening", _gems
    ),
    "cairn": Table(
        "id, x, y, col, row, player, name, text, stones, due_ms", "every cairn", _cairns
    ),
    "score": Table("id, owner, name, gems", "everybody who ever took a gem", _scores),
}
