"""Questions to the world in SQL: what the tables have, and what a statement may not do."""

import csv
import io
import json
import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from itertools import count

import gevent
import pytest

from flatlands.brokers.registry import open_broker
from flatlands.server.game.loader import GameMaker
from flatlands.server.messages.peer_protocol import ALIVE
from flatlands.server.node import Node
from flatlands.server.query import show
from flatlands.server.query.ask import Answer, QueryError, QueryRunner
from flatlands.server.query.morph import ConversionError, form, from_redis, to_redis
from flatlands.server.query.options import read
from flatlands.server.query.tables import RowSource, tables
from flatlands.server.query.watcher import NoServerHeard, Watcher
from flatlands.server.runtime.loop import Loop, clock_offset
from flatlands.server.squares.peers import NODE_DEAD_MS, NodeLoad
from flatlands.stores.registry import open_store
from flatlands.world.grid import Grid
from flatlands.world.terrain import Terrain
from flatlands.world.track import UNIT, Heading
from tests.brokers.redis_servers import Redis
from tests.brokers.servers import run_url
from tests.processes import BARE, PATIENCE, ROOT, clean_environment, serving
from tests.server.servers import stats, until
from tests.socket_client import SocketClient

NUMBERS = count()

#: The tables that every game has.
TABLES = tables(BARE)


class World:
    """Nodes in this process, joined by a broker, with a store and a watcher. `fast` has the number
    of ms by which each clock is fast. They play a `game` with its `options`."""

    def __init__(self, tmp_path, broker=None, store=None, fast=(0, 0), game=BARE, options=None):
        name = broker or f"memory://query-{next(NUMBERS)}"
        self.store = open_store(store or f"sqlite:///{tmp_path / 'store.db'}", "flatlands")
        self.nodes, self.askers, self.tables = [], [], tables(game)
        for ahead in fast:
            node = Node(
                grid=Grid(),
                terrain=Terrain(2013),
                broker=open_broker(name),
                loop=Loop(Counter(), clock_offset() + ahead),
                store=self.store,
                game=GameMaker(game, options, alone=True),
            )
            gevent.spawn(node.listen)
            node.peers.start()
            self.nodes.append(node)
        until(lambda: all(node.peers.state == ALIVE for node in self.nodes))
        self.watcher = Watcher(open_broker(name), "flatlands")

    def asker(self, seconds=PATIENCE, most=1000, store=None):
        source = RowSource(
            self.watcher.ground_id, self.watcher.node.grid, store or self.store, self.watcher
        )
        self.askers.append(QueryRunner(source, self.tables, seconds, most))
        return self.askers[-1]

    def close(self):
        for asker in self.askers:
            asker._database.close()
        self.watcher.stop()
        for node in self.nodes:
            node.loop.end()
            node.bus.broker.close()
        self.store.close()


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.close()


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """A world with one player, Wren, and a watcher that has started; nothing in it changes."""
    world = World(tmp_path_factory.mktemp("settled"))
    world.nodes[0].residents.join("Wren", (0, 0))
    world.watcher.start()
    yield world
    world.close()


def test_every_player_of_every_node_is_a_row(world):
    one, two = world.nodes
    wren = one.residents.join("Wren", (UNIT // 2, -3 * UNIT))
    tit = two.residents.join("Tit", (200 * UNIT, 7 * UNIT))
    two.peers.set_load(NodeLoad(5_000_000, 3, 9))
    two.movement.act(tit, 1, two.loop.now(), Heading(1, 0))
    world.watcher.start()
    asker = world.asker()
    columns, rows, cut = asker.ask("SELECT * FROM player ORDER BY name")
    assert columns == "id name x y col row node walking dimmed since".split() and not cut
    [first, second] = rows
    assert first[:7] == (tit.id, "Tit", first[2], 7.0, tit.square[0], 0, two.id)
    assert 200 < first[2] < 240 and first[7:9] == (1, 0)
    assert second[:9] == (wren.id, "Wren", 0.5, -3.0, 0, -1, one.id, 0, 0)
    assert asker.ask("SELECT id, players, squares, state FROM node ORDER BY id").rows == sorted(
        (node.id, 1, 1, "alive") for node in world.nodes
    )
    # A node that serves connections tells of them; a node without a server has none.
    assert asker.ask("SELECT connections, heard, bytes FROM node ORDER BY heard").rows == [
        (0, 0, None),
        (3, 9, 5_000_000),
    ]
    assert asker.ask("SELECT col, row, players, nodes FROM square ORDER BY col").rows == [
        (0, -1, 1, 1),
        (*tit.square, 1, 1),
    ]
    # What happens later is seen by the next statement.
    one.residents.leave(wren)
    lark = two.residents.join("Lark", (-200 * UNIT, 0))
    names = "SELECT name FROM player ORDER BY name"
    until(lambda: asker.ask(names).rows == [("Lark",), ("Tit",)])
    two.residents.say(lark, "hello")
    rate = f"SELECT events_s FROM square WHERE col = {lark.square[0]}"
    until(lambda: asker.ask(rate).rows[0][0] > 0)


def test_a_player_that_goes_from_one_square_to_another_is_not_missed(world):
    one, two = world.nodes
    for n in range(30):
        node, place = (one, two)[n % 2], ((n % 10 - 5) * 2 * UNIT, n // 10 * UNIT)
        resident = node.residents.join(f"W{n}", place)
        node.movement.act(resident, 1, node.loop.now(), Heading(n % 2 * 2 - 1, 0))
    world.watcher.start()
    asker = world.asker()
    for _ in range(40):
        gevent.sleep(0.05)
        assert asker.ask("SELECT count(*), count(DISTINCT name) FROM player").rows == [(30, 30)]
    assert one.stats["crossings"] + two.stats["crossings"] > 10
    for id in list(one.residents.by_id)[:5]:
        one.residents.leave(one.residents.by_id[id])
    until(lambda: asker.ask("SELECT count(*) FROM player").rows == [(25,)])


WRITING = """DROP TABLE player; INSERT INTO player (id) VALUES (1); UPDATE player SET name = '';
DELETE FROM player; CREATE TABLE x (y); ATTACH '/etc/passwd' AS x; PRAGMA journal_mode = WAL;
VACUUM INTO '/tmp/x'; SELECT load_extension('x'); BEGIN""".split(";")

ENDLESS = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT max(x) FROM t"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        *[(statement, "a statement may only read") for statement in WRITING],
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("", "the statement ends too early"),
        ("-- nothing", "the statement ends too early"),
        ("SELECT * FROM nobody", "no such table: nobody: there are player, square"),
        ("SELECT wings FROM player", "no such column: wings"),
        ("SELECT * FORM player", "near \"FORM\": syntax error, after 'SELECT * '"),
        ("SELECT 'a\0b'", "nul"),
        ("SELECT randomblob(2000000)", "too big"),
        (
            "WITH RECURSIVE t(x) AS (SELECT zeroblob(900000) UNION ALL SELECT x FROM t)"
            " SELECT * FROM t ORDER BY x",
            "needs more than 256 MB",
        ),
        (ENDLESS, "takes more than 0.3 s"),
        (
            "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t LIMIT 1001)"
            " SELECT x, " + ", ".join(["hex(zeroblob(499999))"] * 30) + " FROM t",
            "the answer has more than 8 MB: ask for fewer rows or columns",
        ),
    ],
)
def test_a_statement_can_only_read_and_not_for_ever(settled, statement, said):
    asker = settled.asker(seconds=0.3 if "0.3 s" in said else PATIENCE)
    with pytest.raises(QueryError) as wrong:
        asker.ask(statement)
    assert said in str(wrong.value) and "\n" not in str(wrong.value)
    assert asker.ask("SELECT name FROM player").rows == [("Wren",)]


def test_rows_beyond_the_limit_are_left_out_and_the_answer_says_so(settled):
    rows = "VALUES (1), (2), (3), (4), (5)"
    answer = settled.asker(most=3).ask(rows)
    assert len(answer.rows) == 3 and answer.cut
    assert not settled.asker(most=5).ask(rows).cut


def test_an_error_says_that_no_server_is_heard():
    watcher = Watcher(open_broker("memory://nobody-is-here"), "flatlands")
    with pytest.raises(NoServerHeard, match="no server of the world 'flatlands' answers"):
        watcher.start()
    watcher.stop()


@pytest.mark.process
def test_a_pause_of_this_process_makes_nobody_gone_and_no_broker_silent(tmp_path):
    with run_url(Redis) as url, closing(World(tmp_path, url)) as world:
        for name, node in zip(("Wren", "Tit"), world.nodes, strict=True):
            node.residents.join(name, (0, 0))
        world.watcher.start()
        asker = world.asker()
        # Messages of the nodes and the broker wait unread.
        time.sleep(NODE_DEAD_MS / 1000 + 0.5)
        for _ in range(2):
            assert asker.ask("SELECT name FROM player ORDER BY name").rows == [("Tit",), ("Wren",)]
            gevent.sleep(0.5)
        assert asker.ask("SELECT count(*) FROM node").rows == [(2,)]


def test_the_world_goes_on_while_a_statement_runs(settled):
    turns = []

    def turn():
        while True:
            turns.append(gevent.sleep(0.01))

    turning = gevent.spawn(turn)
    with pytest.raises(QueryError, match="takes more than 3 s"):
        settled.asker(seconds=3).ask(ENDLESS)
    turning.kill()
    assert len(turns) > 5


ANSWER = Answer(
    ["name", "hits", "x"], [("[red]Wr,en", 3, 1.239), ('\u6771\u4eac"', None, None)], cut=True
)


def test_answers_are_shown_as_tables_lines_or_objects():
    out = io.StringIO()
    show.as_table(ANSWER, out)
    assert out.getvalue().splitlines() == [
        "name        hits     x",
        "----------  ----  ----",
        "[red]Wr,en     3  1.24",
        '\u6771\u4eac"',
        "the first 2 rows: --rows shows more",
    ]
    out = io.StringIO(newline="")
    show.as_csv(ANSWER, out)
    assert list(csv.reader(io.StringIO(out.getvalue(), newline=""))) == [
        ["name", "hits", "x"],
        ["[red]Wr,en", "3", "1.239"],
        ['\u6771\u4eac"', "", ""],
    ]
    out = io.StringIO()
    show.as_json(ANSWER, out)
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {"name": "[red]Wr,en", "hits": 3, "x": 1.239},
        {"name": '\u6771\u4eac"', "hits": None, "x": None},
    ]


def test_all_tables_are_written_into_a_new_file(settled, tmp_path):
    file = tmp_path / "world.db"
    settled.asker().copy(str(file))
    with closing(sqlite3.connect(file)) as database:
        for name in TABLES:
            asked = settled.asker().ask(f"SELECT count(*) FROM {name}")
            assert database.execute(f"SELECT count(*) FROM {name}").fetchall() == asked.rows
        assert database.execute("SELECT count(*) FROM player").fetchone() > (0,)
    before = file.read_bytes()
    for path, said in ((file, "already exists"), (tmp_path / "no" / "folder", "cannot be")):
        with pytest.raises(QueryError, match=said):
            settled.asker().copy(str(path))
    assert file.read_bytes() == before


def columns(tables):
    """Return the columns of some tables, by their names."""
    return {name: sorted(table.columns.split(", ")) for name, table in tables.items()}


def columns_of_the_page():
    """Return the columns of the tables that the page has, which are also those of Flatlands."""
    text = (ROOT / "docs" / "query.md").read_text().split("## Tables")[1]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.M)
    return {table: sorted(re.findall(r"`(\w+)`", cells)) for table, cells in rows}


def test_the_page_has_all_tables_with_all_columns():
    assert len(TABLES) > 4 and columns(TABLES).items() <= columns_of_the_page().items()


# Rows as Redis objects.


@pytest.fixture(scope="module")
def redis():
    with run_url(Redis) as url:
        yield url


ROWS = Answer(
    ["id", "name", "x", "team"],
    [(1, "Wren", 0.5, "a"), (2, "T\u00efts 007", -3.0, "b"), (3, str(2**63), None, "a")],
    cut=False,
)


@pytest.mark.process
@pytest.mark.parametrize(
    ("made", "read", "columns", "rows"),
    [
        (
            "hash player:{id}",
            "hash player:*",
            "id name x team",
            [(f"player:{row[0]}", *row) for row in ROWS.rows],
        ),
        (
            "list all:{team}",
            "list all:*",
            "position value",
            [("all:a", 0, 1), ("all:a", 1, 3), ("all:b", 0, 2)],
        ),
        ("set of {team}", "set of *", "member", [("of a", 1), ("of a", 3), ("of b", 2)]),
    ],
)
def test_rows_become_objects_and_come_back_as_they_were(redis, made, read, columns, rows):
    count = to_redis(redis, form(made), ROWS)
    assert count == len({row[0] for row in rows})
    answer = from_redis(redis, form(read))
    assert answer.columns == ["object_key", *columns.split()] and sorted(answer.rows) == rows
    # An existing file is not replaced, nor is anything written beside it.
    more = Answer(ROWS.columns, [(9, "Lark", 1.0, "c"), *ROWS.rows], cut=False)
    with pytest.raises(ConversionError, match="already exists at .*: nothing was written"):
        to_redis(redis, form(made), more)
    assert sorted(from_redis(redis, form(read)).rows) == rows


@pytest.mark.process
@pytest.mark.parametrize(
    ("text", "answer", "said"),
    [
        ("hash", ROWS, "'hash' must be a kind"),
        ("stream x", ROWS, "'stream x' must be a kind"),
        ("hash player:{ID}", ROWS, "there is no column ID for the key: id, name"),
        ("hash player", ROWS, "two rows would become the hash player: put a column into the key"),
        ("zset board", ROWS, "'Wren' is not a score"),
        ("zset board", Answer(["id"], [(1,)], False), "a zset needs two columns"),
        (
            "zset board",
            Answer(["name", "hits"], [("Wren", 7), ("Tit", 1), ("Wren", 2)], False),
            "two rows would become the member 'Wren' of board: group them",
        ),
        ("set all", ROWS._replace(cut=True), "more rows than --rows allows"),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_a_sentence(redis, text, answer, said):
    with pytest.raises(ConversionError, match=re.escape(said)):
        to_redis(redis, form(text), answer)


def test_a_redis_that_is_not_there_is_reported_with_a_sentence():
    for url, said in (("redis://127.0.0.1:1", "does not answer"), ("mysql://x", "mysql://x: ")):
        with pytest.raises(ConversionError, match=said):
            to_redis(url, form("set x"), ROWS)
        with pytest.raises(ConversionError, match=said):
            from_redis(url, form("set x"))
    with pytest.raises(ConversionError, match="where their keys differ"):
        from_redis("redis://127.0.0.1:1", form("set {x}"))


def test_objects_are_one_more_table(settled):
    asker = settled.asker()
    asker.add_table("redis", Answer(["object_key", 'a "b"'], [("Wren", 1)], cut=False))
    statement = 'SELECT "a ""b""" FROM player JOIN redis ON object_key = name'
    assert asker.ask(statement).rows == [(1,)]
    with pytest.raises(QueryError, match="the table redis"):
        asker.add_table("redis", Answer(["x"], [], cut=False))


def query(*arguments, **environment):
    """Run `python -m server.query` until it ends."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "server.query", *arguments],
        cwd=ROOT,
        env={**clean_environment(), "GAME": BARE, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        input="",
    )


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--rows", "0", "'0' is not a whole number from 1"),
        ("--rows", "9" * 30, "is not a whole number from 1"),
        ("--seconds", "soon", "'soon' is not a number of seconds above 0"),
        ("--watch", "nan", "'nan' is not a number of seconds above 0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_with_a_sentence(capsys, option, value, said):
    with pytest.raises(SystemExit):
        read(["SELECT 1", "--game", BARE, option, value])
    assert said in capsys.readouterr().err


@pytest.mark.process
def test_a_broker_inside_one_process_is_refused_with_a_sentence():
    ended = query("SELECT 1")
    assert ended.returncode == 2 and "Traceback" not in ended.stderr
    assert "which memory:// is not: give --broker" in ended.stderr


def three_join(server):
    """Let three players join a server."""
    for name in ("Wren", "Tit", "Lark"):
        SocketClient(server.port).hello(name)
    until(lambda: stats(server)["residents"] == 3)


@pytest.mark.process
def test_rows_that_are_left_out_and_a_statement_that_takes_too_long_are_reported():
    with run_url(Redis) as url, serving(BROKER_URL=url, STORE_URL="none") as server:
        three_join(server)
        ended = query("--json", "--rows", "2", "SELECT name FROM player", BROKER_URL=url)
        assert ended.returncode == 0 and len(ended.stdout.splitlines()) == 2
        assert ended.stderr == "flatlands: the first 2 rows: --rows shows more\n"
        # A single function may take longer than the whole time limit.
        long = "SELECT instr(zeroblob(999999), zeroblob(499998) || x'01')"
        ended = query("--seconds", "0.5", long, BROKER_URL=url)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.startswith("flatlands: the statement takes more than 0.5 s: let it")


@pytest.mark.process
def test_servers_that_are_joined_by_a_forwarder_are_asked(tmp_path):
    store = f"sqlite:///{tmp_path / 'store.db'}"
    with serving("--workers", "2", STORE_URL=store) as server:
        [url] = set(re.findall(r"zeromq\+ipc://[^\s']+", server.errors()))
        three_join(server)
        ended = query(
            "--csv", "SELECT count(*) AS players FROM player", BROKER_URL=url, STORE_URL=store
        )
        assert (ended.returncode, ended.stdout) == (0, "players\n3\n"), ended.stderr
        ended = query("SELECT x FROM y", "--broker", url)
        assert ended.returncode == 1 and ended.stderr.startswith("flatlands: no such table: y")
