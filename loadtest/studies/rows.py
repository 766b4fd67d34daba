"""What a row of the same table takes in sqlite, in Redis and in a node, and then what else is in a
node's memory.

The rows are (id, name, x, y), as a player has them, always the same. Each way to keep them has its
own file or redis-server, which ends with it. All are given a thousand rows at a time. This measures
memory and CPU time, and never how long a call takes: uniform.py does.
"""

import gc
import random
import sqlite3
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict

import msgpack
import redis

from flatlands import compiled
from flatlands.loadtest.kit import brokers, signals
from flatlands.loadtest.kit.brokers import server_cpu
from flatlands.loadtest.kit.options import option, whole
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies import memory
from flatlands.loadtest.studies.study import Column, Measure, PlainStudy
from flatlands.server.players.residents import ID_MOST
from flatlands.stores.base import CALL_ITEMS_MOST, NEVER_DUE_MS, Item, Store, StoreError
from flatlands.stores.registry import open_store
from flatlands.world.events import Player
from flatlands.world.grid import Grid
from flatlands.world.track import UNIT, stand

#: Rows are spread over an area around the origin that is so wide and high.
SPREAD_UNITS = 4096 * UNIT
#: A square is so wide and high.
SPAN_UNITS = Grid().span

#: How many keys, or values of one key, MEMORY USAGE samples.
SAMPLE = 1000

#: Where Redis keeps what is in one key.
KEY = "players"

#: The time in ms after which the players in a node's memory begin to stand.
NOW = 10**9


class Row(NamedTuple):
    """A row: `x` and `y` are in units."""

    id: int
    name: str
    x: int
    y: int

    @property
    def rest(self) -> bytes:
        """All but the id, packed."""
        return bytes(msgpack.packb((self.name, self.x, self.y)))


class Found(NamedTuple):
    """What one way to keep the rows takes.

    `size` is in bytes, and `how` says what was measured; `sampled` is what MEMORY USAGE says, for
    Redis only. `client` and `server` are us of CPU time to put one row, `server` None where there
    is no server. `kept` is how many rows are there.
    """

    size: int
    how: str
    client: float
    kept: int
    sampled: int | None = None
    server: float | None = None


class Way(TypedDict):
    """What a way takes, see Found."""

    kind: Literal["way"]
    series: str
    size: int
    how: str
    client: float
    kept: int
    sampled: int | None
    server: float | None


class Kind(TypedDict):
    """What one of a kind takes in a node's memory."""

    kind: Literal["node"]
    series: str
    bytes: int


Point = Way | Kind


def made(number: int) -> list[Row]:
    """Return `number` rows, the same each time. Names have 3 to 16 characters."""
    chance = random.Random(2010)
    ids: set[int] = set()
    while len(ids) < number:
        ids.add(chance.randrange(1, ID_MOST))
    rows = []
    for id in sorted(ids):
        name = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 16)))
        place = (chance.randrange(-SPREAD_UNITS // 2, SPREAD_UNITS // 2) for _ in "xy")
        rows.append(Row(id, name.capitalize(), *place))
    chance.shuffle(rows)
    return rows


def _batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), CALL_ITEMS_MOST):
        signals.check()
        yield rows[start : start + CALL_ITEMS_MOST]


def _spent(put: Callable[[Sequence[Row]], object], rows: Sequence[Row]) -> float:
    """Put all rows; return us of this process's CPU time for each."""
    before = time.process_time()
    for some in _batches(rows):
        put(some)
    return (time.process_time() - before) / len(rows) * 1e6


# Files.


def table(rows: Sequence[Row], index: bool) -> Found:
    """Keep the rows in a table of sqlite, in a file, as stores/sqlite.py opens it."""
    with tempfile.TemporaryDirectory(prefix="flatlands-rows-") as folder:
        path = Path(folder) / "rows.db"
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(
                "CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT, x INTEGER, y INTEGER)"
            )
            if index:
                connection.execute("CREATE INDEX player_name ON player (name)")

            def put(some: Sequence[Row]) -> None:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT INTO player VALUES (?, ?, ?, ?)", some)
                connection.execute("COMMIT")

            client = _spent(put, rows)
            [kept] = connection.execute("SELECT count(*) FROM player").fetchone()
        finally:
            # The log becomes part of the file.
            connection.close()
        return Found(path.stat().st_size, "the file", client, kept)


def store_file(rows: Sequence[Row]) -> Found:
    """Keep the rows as items of the game's store in a file."""
    with tempfile.TemporaryDirectory(prefix="flatlands-rows-") as folder:
        path = Path(folder) / "store.db"
        client, kept = _in_store(open_store(f"sqlite:///{path}", "rows"), rows, lambda: None)
        return Found(path.stat().st_size, "the file", client, kept)


def _in_store(store: Store, rows: Sequence[Row], ready: Callable[[], object]) -> tuple[float, int]:
    """Put the rows into a store, and close it; return us of CPU time for each, and how many are
    there. `ready` is called before the first is put."""

    def put(some: Sequence[Row]) -> None:
        store.put(
            KEY,
            [
                Item(
                    str(row.id),
                    NEVER_DUE_MS,
                    f"{row.x // SPAN_UNITS}:{row.y // SPAN_UNITS}",
                    row.rest,
                )
                for row in some
            ],
        )

    try:
        # The first call opens the file or the connection.
        store.count(KEY)
        ready()
        return _spent(put, rows), store.count(KEY)
    finally:
        store.close()


# Redis.


class Server:
    """A redis-server, started here, that ends with the block, and what it says of itself."""

    def __init__(self, stack: ExitStack) -> None:
        self.url, _ = brokers.start(stack, "redis://")
        self.client = stack.enter_context(redis.Redis.from_url(self.url))
        self._before = self._cpu = 0.0

    def note(self) -> None:
        """Note what it uses before the first row."""
        self._before, self._cpu = self._used(), server_cpu(self.client)

    def _used(self) -> int:
        return int(self.client.info("memory")["used_memory"])

    def found(self, client: float, kept: int, rows: int) -> Found:
        """Return what it has used since `note`; `client` is the us of CPU time of its client."""
        cpu = server_cpu(self.client) - self._cpu
        # What a connection had to buffer is not memory of rows.
        self.client.connection_pool.disconnect()
        size = int(self._used() - self._before)
        keys = self.client.dbsize()
        some = [self.client.randomkey() for _ in range(SAMPLE)] if keys > SAMPLE else None
        asked = some or self.client.keys()
        usage = sum(self.client.memory_usage(key, samples=SAMPLE) for key in asked)
        how = " + ".join(sorted({self.client.object("ENCODING", key).decode() for key in asked}))
        return Found(size, how, client, kept, round(usage * keys / len(asked)), cpu / rows * 1e6)


def store_redis(rows: Sequence[Row]) -> Found:
    """Keep the rows as items of the game's store in Redis."""
    with ExitStack() as stack:
        server = Server(stack)
        client, kept = _in_store(open_store(server.url, "rows"), rows, server.note)
        return server.found(client, kept, len(rows))


def _commands(
    add: Callable[[redis.Redis, Row], object], count: Callable[[redis.Redis], int]
) -> Callable[[Sequence[Row]], Found]:
    """Return a way that sends Redis one command for each row, a thousand in one round trip."""

    def measure(rows: Sequence[Row]) -> Found:
        with ExitStack() as stack:
            server = Server(stack)

            def put(some: Sequence[Row]) -> None:
                pipeline = server.client.pipeline(transaction=False)
                for row in some:
                    add(pipeline, row)
                pipeline.execute()

            server.note()
            client = _spent(put, rows)
            return server.found(client, count(server.client), len(rows))

    return measure


# A node.


def objects(rows: Sequence[Row]) -> Found:
    """Keep the rows as a node keeps players: made from messages, in a dict by their ids."""
    packed = [msgpack.packb(row) for row in rows]

    def put(players: dict[int, Player], some: Sequence[bytes]) -> None:
        for number, one in enumerate(some, len(players) + 1000):
            id, name, x, y = msgpack.unpackb(one)
            players[id] = Player(7, id, number, 0, name, False, stand(x, y, NOW + number))

    # Twice, because to trace memory takes CPU time.
    gc.collect()
    players: dict[int, Player] = {}
    before = time.process_time()
    put(players, packed)
    client = (time.process_time() - before) / len(rows) * 1e6
    signals.check()
    players = {}
    gc.collect()
    tracemalloc.start()
    try:
        put(players, packed)
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return Found(size, "tracemalloc", client, len(players))


#: Name of a way -> what measures it.
WAYS: dict[str, Callable[[Sequence[Row]], Found]] = {
    "sqlite table": lambda rows: table(rows, index=False),
    "sqlite table, index on name": lambda rows: table(rows, index=True),
    "the game's store in a file": store_file,
    "the game's store in Redis": store_redis,
    "Redis: a hash for each row": _commands(
        lambda to, row: to.hset(
            f"player:{row.id}", mapping={"name": row.name, "x": row.x, "y": row.y}
        ),
        lambda client: client.dbsize(),
    ),
    "Redis: one hash, rows packed": _commands(
        lambda to, row: to.hset(KEY, row.id, row.rest), lambda client: client.hlen(KEY)
    ),
    "Redis: a stream": _commands(
        lambda to, row: to.xadd(KEY, {"id": row.id, "name": row.name, "x": row.x, "y": row.y}),
        lambda client: client.xlen(KEY),
    ),
    "Redis: a sorted set, id by x": _commands(
        lambda to, row: to.zadd(KEY, {str(row.id): row.x}), lambda client: client.zcard(KEY)
    ),
    "a node's memory": objects,
}


@dataclass(frozen=True)
class Options:
    """What the user chose: how many rows."""

    rows: int = option("--rows", whole(1, 10**7), 100_000, "N", "how many")


def _each_sampled(way: Way) -> float | None:
    return None if way["sampled"] is None else way["sampled"] / way["kept"]


def _how(row: Way) -> str:
    return row["how"] if row["sampled"] is None else f"used_memory; {row['how']}"


class Rows(PlainStudy[Point, Options]):
    """How many bytes a row takes in each store."""

    program = "-m loadtest.studies rows"
    about = "What the same rows take in sqlite, in Redis and in a node's memory."
    epilog = """MB and bytes a row are the size of the file, the difference of Redis's
used_memory, or what Python's tracemalloc counts. MEMORY USAGE is Redis's own
command, asked for a sample. The sorted set has only the id and one number of
each row. The exit code is 0, or 1 if something failed."""
    title = "What a row takes"
    options = Options
    failures = StoreError, redis.RedisError, sqlite3.Error
    columns = {
        "way": (
            Column("", "series", width=-29),
            Column[Way]("MB", lambda way: way["size"] / 1e6, ".1f", 6),
            Column[Way]("bytes a row", lambda way: way["size"] / way["kept"], ".0f", 11),
            Column("MEMORY USAGE a row", _each_sampled, ".0f", 18),
            Column("client us", "client", ".1f", 9),
            Column("server us", "server", ".1f", 9),
            Column("measured; encoding in Redis", _how, width=-27),
        ),
        "node": (
            Column("in a node's memory", "series", width=-35),
            Column("bytes", "bytes", ",", 7),
        ),
    }

    def facts(self) -> dict[str, object]:
        return {**super().facts(), "compiled": compiled.used()}

    def jobs(self) -> Iterator[tuple[str, Measure[Point]]]:
        """Yield each way to be measured, and then what else a node has."""
        rows = made(self.chosen.rows)
        for name in WAYS:
            yield name, partial(_measure, name, rows)
        yield "what a node has", _measure_node


def _measure_node() -> list[Point]:
    """Return the points of a node. Raises Trouble and Interrupted."""
    return [{"kind": "node", "series": name, "bytes": size} for name, size in memory.each().items()]


def _measure(name: str, rows: Sequence[Row]) -> list[Point]:
    """Return the point of a way. Raises Trouble and Interrupted."""
    found = WAYS[name](rows)
    if found.kept != len(rows):
        raise Trouble(f"of {len(rows):,} rows {found.kept:,} are there")
    return [
        {
            "kind": "way",
            "series": name,
            "size": found.size,
            "how": found.how,
            "client": found.client,
            "kept": found.kept,
            "sampled": found.sampled,
            "server": found.server,
        }
    ]


main = Rows.main
