"""The tables that Flatlands adds to those that can be asked: gems, cairns and scores."""

from collections.abc import Iterator

import msgpack

from flatlands.games.flatlands.cairns import cairns
from flatlands.games.flatlands.gems.gems import BOARD
from flatlands.server.kept.boards import NAMES, board_name, read_entry
from flatlands.server.kept.lying import QUEUE
from flatlands.server.query.tables import Row, Source, Table, items, place
from flatlands.stores.base import BATCH_LIMIT
from flatlands.world.track import UNIT

#: The name of the game, as it is in those of queues and boards.
GAME = "flatlands"


def _gems(source: Source) -> Iterator[Row]:
    for item in items(source, f"{QUEUE} {GAME} {source.watcher.ground}"):
        if item.id.startswith("Gem:"):
            version, column, row, waits, _values = msgpack.unpackb(item.body)
            where = place(source, *(at * UNIT + UNIT // 2 for at in (column, row)))
            # Nobody is to know where it will lie.
            shown = (None,) * len(where) if waits else where
            yield item.id, "ripening" if waits else "lying", version, *shown, item.delay


def _cairns(source: Source) -> Iterator[Row]:
    for item in items(source, f"{cairns.QUEUE} {source.watcher.ground}"):
        cairn = cairns.read(item.body)
        says = cairn.player, cairn.name, cairn.text, len(cairn.adders)
        yield item.id, *place(source, cairn.x, cairn.y), *says, item.delay


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
