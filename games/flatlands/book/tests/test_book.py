"""The book of a person: what it has found and done, and what others did for it, whatever dies."""

import random
import sqlite3
from contextlib import closing
from math import dist

import gevent
import pytest
from gevent.event import Event
from gevent.threadpool import ThreadPool

from flatlands import Records
from flatlands.games.flatlands import emotes
from flatlands.games.flatlands.book import almanac, book
from flatlands.games.flatlands.emotes import WAVE_MS
from flatlands.games.flatlands.events import WAVE
from flatlands.games.flatlands.notes import DAY, LASTS, MARK, Note, note
from flatlands.games.flatlands.options import Options
from flatlands.games.flatlands.tables import TABLES
from flatlands.games.flatlands.walkers.company import QUIET
from flatlands.server.query import tables as query_tables
from flatlands.testkit import World
from flatlands.world.terrain import BRIDGE, Terrain
from flatlands.world.track import UNIT
from games.flatlands.cairns.tests.test_cairns import build, keyed
from games.flatlands.landmarks.tests.test_finders import PLACE, come, find
from games.flatlands.tests.conftest import world
from games.flatlands.tests.harness import Sizes
from games.flatlands.tests.worlds import noted
from tests.processes import PATIENCE
from tests.server.harness import KEY, Broken

__all__ = ["world"]


def read(client):
    """Return the lines of a client's book without their times: [kind, who, n, x, y]."""
    client.model.messages.pop("book", None)
    client.send(35, "book", [])
    client.harness.run(100)
    [lines] = client.model.messages["book"]
    return [[line[0], *line[2:]] for line in lines]


def test_a_book_notes_what_others_do_even_while_its_player_is_away(world):
    harness = world(nodes=2)
    ada = keyed(harness, "Ada", (2, 1))
    build(harness, ada)
    ada.send(6)
    harness.run(15_000)
    bob = keyed(harness, "Bob", (2, 1), harness.hosts[1], key=KEY + "b")
    bob.send(35, "stone", [2, 1])
    harness.run(500)
    assert not bob.model.errors and read(bob) == []
    harness.kill(harness.hosts[1])
    again = keyed(harness, "Ada", (0, 0))
    stone, cairn = read(again)
    assert stone[:3] == ["stone", "Bob", 2] and cairn[:3] == ["cairn", "", 0]
    assert stone[3:] == cairn[3:], "that is where it stands"


def test_a_landmark_is_in_the_book_once(world):
    harness = world(nodes=2)
    ada = come(harness, "Ada")
    find(ada)
    find(come(harness, "Bob", (5, 3), harness.hosts[1]))
    harness.run(10_000)
    find(ada)
    assert read(ada) == [["landmark", "Ada", 1, *PLACE]]


def test_two_players_that_wave_to_each_other_note_it_once_a_day(world):
    harness = world(nodes=2)
    ada, bob = (
        keyed(harness, "Ada", (0, 0)),
        keyed(harness, "Bob", (0, 0), harness.hosts[1], KEY + "b"),
    )
    far = keyed(harness, "Far", (9, 9), key=KEY + "c")
    harness.run(1000)
    ada.send(35, "emote", [WAVE])
    for other in (bob.id, bob.id, far.id, ada.id, 2**52):
        ada.send(35, "spark", [other])
    harness.run(5000)
    assert [line[:2] for line in read(ada)] == [["spark", "Bob"]] and read(bob) == []


@pytest.mark.parametrize(("mine", "others"), [(None, 0), (WAVE_MS + 500, 0), (0, None), (0, 0)])
def test_only_who_has_waved_a_moment_ago_notes_a_spark(world, mine, others):
    """The ms since Ada waved, and since Bob did, who is at the same node; or None."""
    harness = world()
    ada, bob = keyed(harness, "Ada", (0, 0)), keyed(harness, "Bob", (0, 0), key=KEY + "b")
    harness.run(1000)
    if mine is not None:
        ada.send(35, "emote", [WAVE])
        harness.run(mine)
    if others is not None:
        bob.send(35, "emote", [WAVE])
    ada.send(35, "spark", [bob.id])
    harness.run(1000)
    assert [line[0] for line in read(ada)] == ["spark"] * (mine == others == 0)


def test_a_book_has_room_for_a_limited_number_of_lines_even_if_nobody_reads_it(world, monkeypatch):
    for module in (book, emotes):
        monkeypatch.setattr(module, "LINES", 5)
    harness = world()
    ada = keyed(harness, "Ada", (0, 0))
    others = [keyed(harness, f"P{n}", (0, 0), key=f"{KEY}{n}") for n in range(8)]
    harness.run(1000)
    for other in others:
        for one in (ada, other):
            one.send(35, "emote", [WAVE])
        ada.send(35, "spark", [other.id])
        harness.run(2500)
    owner = harness.node.residents.by_id[ada.id].owner
    kept = Records(Note)._of(lambda: harness.node.play.items).all(owner[:MARK])
    assert sorted(line.who for line in kept) == [f"P{n}" for n in range(3, 8)]
    assert [line[1] for line in read(ada)] == [f"P{n}" for n in range(7, 2, -1)]


def test_a_player_without_a_key_has_no_book_and_learns_if_the_store_is_away(world):
    harness = world()
    ada = harness.place("Ada", (0, 0))
    assert read(ada) == []
    ada.send(35, "spark", [ada.id])
    harness.run(100)
    ada.send(10, KEY)
    harness.node.store_client.store = Broken()
    harness.run(20_000)
    ada.send(35, "book", [])
    harness.run(100)
    assert ada.model.errors == ["store"]
    with pytest.raises(ValueError, match="no book"):
        note("", "spark", 0)


def page(client):
    """Return the almanac that a client is sent, by kind: its day, and the first entry of each."""
    client.model.messages.pop("almanac", None)
    client.send(35, "almanac", [])
    client.harness.run(200)
    day, entries = client.model.messages["almanac"]
    return day, {kind: rest for kind, *rest in reversed(entries)}


def test_everybody_reads_the_same_page_of_a_day_whatever_happens_meanwhile(world):
    harness = world(nodes=2)
    ada, bob = come(harness, "Ada"), keyed(harness, "Bob", (2, 1), harness.hosts[1], KEY + "b")
    find(ada)
    build(harness, bob, "the first")
    bob.harness.stand("far", (64 * UNIT, 0), (40, 25))
    cid = keyed(harness, "Cid", (40, 0), key=KEY + "c")
    harness.run(2000)
    build(harness, cid, "alone")
    harness.run(10_000)
    day, entries = page(ada)
    assert entries["farthest"] == ["Ada", 1, *PLACE, ""]
    assert entries["oldest"][0] == "Bob" and entries["oldest"][-1] == "the first"
    assert 10_000 < entries["oldest"][1] < 20_000
    assert entries["loneliest"][0] in ("Bob", "Cid") and entries["loneliest"][1] > 400
    build(harness, keyed(harness, "Dan", (90, 0), key=KEY + "d"), "later")
    assert page(bob) == (day, entries)
    harness.run(DAY)
    after, others = page(cid)
    assert after == day + 1 and others["loneliest"][0] == "Dan"


def part_of(host):
    """Return the almanac of a node."""
    [part] = [one for one in host.node.play._parts if isinstance(one, almanac.Almanac)]
    return part


def test_a_page_is_written_once_for_all_who_ask_meanwhile_at_any_node(world, monkeypatch):
    harness, select, calls, gate = world(nodes=2), almanac.select, [], Event()
    askers = [come(harness, f"P{n}", host=harness.hosts[n % 2]) for n in range(10)]
    harness.run(2000)

    def gated(part, *more):
        calls.append(part)
        gate.wait()
        return select(part, *more)

    monkeypatch.setattr(almanac, "select", gated)
    # The hooks of several players run at the same time.
    for host in harness.hosts:
        host.spawn = gevent.spawn

    def ask(some, done):
        for one in some:
            one.send(35, "almanac", [])
        with gevent.Timeout(PATIENCE):
            while not done():
                gevent.sleep(0.01)

    def pages(some):
        return [one.model.messages.get("almanac") for one in some]

    here, there = askers[::2], askers[1::2]
    ask(here, lambda: calls)
    ask(there, lambda: all(one.model.errors for one in there))
    assert [one.model.errors for one in there] == [["store"]] * 5 and not any(pages(askers))
    gate.set()
    ask((), lambda: all(pages(here)))
    # At the other node they know that it is being written.
    ask(there, lambda: all(pages(there)))
    assert len(calls) == 1 and pages(askers) == [pages(here)[0]] * 10


def test_a_page_whose_writer_has_died_is_written_by_another_node_later(world):
    harness = world(nodes=2)
    ada = come(harness, "Ada", host=harness.hosts[1])
    harness.run(2000)
    day = part_of(harness.hosts[0]).now() // DAY
    dead, part = part_of(harness.hosts[0]), part_of(harness.hosts[1])
    assert dead.writers.add(almanac.Writer(str(day)))
    harness.kill(harness.hosts[0])
    ada.send(35, "almanac", [])
    harness.run(500)
    assert ada.model.errors == ["store"] and not part.entries.all(str(day))
    # Its claim ends.
    store, queue = harness.hosts[0].node.store_client.store, part.writers._queue
    [claim] = store.group(queue, str(day))
    assert 0 < claim.delay <= almanac.CLAIM * 1000
    store.take(queue, claim.id, [(queue, claim._replace(delay=0))])
    harness.run(10_000)
    # Nobody has done anything of which there is something to tell.
    assert [*page(ada)[1]] == ["empty"]


@pytest.mark.parametrize("seed", range(40))
def test_the_loneliest_cairn_is_the_one_that_a_join_of_all_with_all_finds(seed):
    chance = random.Random(seed)
    far = chance.choice((1, 3, 8, 50, 1000, 2**30))
    tiles = [
        (chance.randint(-far, far), chance.randint(-far, far)) for _ in range(chance.randrange(300))
    ]
    tiles += [(chance.randrange(9), chance.randrange(9)) for _ in range(chance.choice((0, 20)))]
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE cairn (id, x, y)")
        rows = [(n, x + 0.5, y + 0.5) for n, (x, y) in enumerate(tiles)]
        database.executemany("INSERT INTO cairn VALUES (?, ?, ?)", rows)
        joined = dict(
            database.execute(
                "SELECT c.id, min(abs(c.x - o.x) + abs(c.y - o.y))"
                " FROM cairn c JOIN cairn o ON c.id <> o.id GROUP BY c.id"
            )
        )
    found = almanac.loneliest(tiles)
    assert (found is None) == (not joined)
    if found is not None:
        # Several may be equally lonely.
        at, away = found
        assert joined[at] == away == max(joined.values())


def test_the_loneliest_of_many_is_found_without_comparing_all_with_all():
    class Tile(tuple):
        """A tile that counts how often it is looked at."""

        looks = 0

        def __iter__(self):
            Tile.looks += 1
            return super().__iter__()

    chance, many = random.Random(1), 4000
    for places in (
        [(chance.randrange(2000), chance.randrange(2000)) for _ in range(many)],
        [(n % 63, n // 63) for n in range(many)],
        [(n, chance.randrange(10**8)) for n in range(many)],
        [(n % 50 + n % 2 * 5000, n // 50) for n in range(many)],
    ):
        Tile.looks = 0
        assert almanac.loneliest([Tile(place) for place in places])
        assert Tile.looks < 100 * many


def test_the_almanac_copies_only_the_lines_that_can_be_in_it(world):
    harness = world()
    ada = come(harness, "Ada")
    harness.run(1000)
    part, store = part_of(harness.hosts[0]), harness.node.store_client.store
    notes, now, owner = Records(Note)._of(lambda: harness.node.play.items), part.now(), "a" * MARK
    for kind, once in (("landmark", "0:0"), ("hand", "x"), ("spark", "7 1"), ("cairn", "")):
        notes.add(note(owner, kind, now, once=once))
    old = notes._item(note(owner, "landmark", now, once="1:1"))
    store.put(notes._queue, [old._replace(delay=LASTS * 1000 - almanac.NEW - 1000)])
    [rows] = almanac.select(part, almanac._READ, "SELECT kind FROM note ORDER BY kind")
    assert rows == [("hand",), ("landmark",)] and ada.model.errors == []


#: A statement that never ends.
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.mark.parametrize(
    ("bound", "value", "statement", "error"),
    [
        ("STATEMENT_S", 0.1, ENDLESS, "interrupted"),
        ("ANSWER_ROWS", 3, "SELECT kind FROM note", "more than 3 rows"),
        ("TABLES_BYTES", 16_384, "SELECT kind FROM note", "full"),
    ],
)
def test_a_statement_of_a_game_is_bounded(world, monkeypatch, bound, value, statement, error):
    harness = world()
    notes = Records(Note)._of(lambda: harness.node.play.items)
    for n in range(1000 if bound == "TABLES_BYTES" else 4):
        notes.add(note("a" * MARK, "cairn", n))
    part = part_of(harness.hosts[0])
    monkeypatch.setattr(query_tables, bound, value)
    with pytest.raises(sqlite3.Error, match=error):
        almanac.select(part, TABLES, statement)
    monkeypatch.undo()
    assert almanac.select(part, TABLES, "SELECT count(*) > 3 FROM note") == [[(1,)]]


def test_the_time_of_a_statement_begins_when_it_has_a_thread(monkeypatch):
    monkeypatch.setattr(query_tables, "STATEMENT_S", 0.2)
    monkeypatch.setattr(gevent.get_hub(), "threadpool", ThreadPool(1))

    def ask():
        with closing(sqlite3.connect(":memory:", check_same_thread=False)) as database:
            with pytest.raises(sqlite3.Error, match="interrupted"):
                query_tables._answer(database, ENDLESS)
        return True

    asking = [gevent.spawn(ask) for _ in range(3)]
    gevent.joinall(asking, timeout=10)
    assert all(one.value for one in asking)


def test_a_game_s_statements_read_a_limited_number_of_items(world, monkeypatch):
    harness = world()
    for n in range(8):
        Records(Note)._of(lambda: harness.node.play.items).add(note("a" * MARK, "cairn", n))
    monkeypatch.setattr(query_tables, "QUEUE_ITEMS", 5)
    assert almanac.select(part_of(harness.hosts[0]), TABLES, "SELECT count(*) FROM note") == [
        [(5,)]
    ]


def test_clockwork_quotes_the_almanac_once_somebody_has_asked_for_it(world):
    harness = world(sizes=Sizes(people=6))
    ada = keyed(harness, "Ada", (2, 1))
    build(harness, ada, "the first")
    harness.stand("Bob", (0, 0), (40, 25))
    page(ada)
    harness.run(3 * QUIET)
    chat = {text for client in harness.clients for _, text in client.model.chat}
    quotes = harness.game_of().herd.quotes
    assert chat & {*quotes} and 'Ada wrote on the oldest cairn: "the first"' in quotes


def test_a_book_begins_with_who_was_met_and_notes_the_first_bridge_and_gem_once():
    world = World("flatlands", 2, options=Options(walkers=8, deer=0, gems=2, twins=0))
    tiles = ((x, y) for y in range(-90, 90) for x in range(-90, 90))
    bridge = next(tile for tile in tiles if Terrain(2013).kind(*tile) == BRIDGE)
    world.run(15)
    ada, bob = world.join("Ada", at=(0, 3)), world.join("Bob", 1, at=bridge)
    world.run(3)
    guide = min(world.movers("Walker"), key=lambda one: dist(one.tile, (0, 3)))
    for _ in range(2):
        ada.do("came", guide.number)
        ada.do("crossed")
        bob.do("came", guide.number)
        bob.do("crossed")
        world.run(12)
    assert noted(world, ada, "came", "bridge") == [("came", guide.name, 0, 0, 3)]
    assert noted(world, bob, "came", "bridge") == [
        ("bridge", "", 0, *bridge),
        ("came", "", 0, *bridge),
    ]
    near = min(ada.things("Gem"), key=lambda gem: dist((gem.x, gem.y), (0, 3)))
    for gem in (near, *ada.things("Gem")[:3]):
        ada.go(gem.x, gem.y)
        world.run(20)
    assert len(noted(world, ada, "gem")) == 1
