"""Cells: all who see a tile see the same value of it, whatever is lost."""

import random
import sys
from collections import Counter
from contextlib import contextmanager

import msgpack
import pytest

from flatlands.brokers.base import PAYLOAD_LIMIT
from flatlands.games.paint.game import Game as Paint
from flatlands.server.game.cell_layer import (
    COUNT_TILES_EVERY_MS,
    NEEDED_FOR_MS,
    SAVE_EVERY_MS,
    SETTLED_MS,
)
from flatlands.server.game.cells import Cells
from flatlands.server.game.game import Game, every
from flatlands.server.players.steps import STEPS_TOGETHER_MS
from flatlands.server.storage import reader, rows
from flatlands.server.storage.rows import TILE
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from flatlands.world.batches import Batch, SquareCoordinates
from flatlands.world.events import Player
from flatlands.world.tiles import (
    AHEAD,
    NODE_BITS,
    RULE_FIRST,
    RULE_LAST,
    RULE_MOST,
    RULES,
    WRITE,
    Tiles,
    next_stamp,
)
from flatlands.world.track import UNIT, Track, tile_at
from tests.processes import ROOT
from tests.server.harness import Harness

QUEUE = "tiles test_cells.floor 2013-16"


class Floor(Game):
    floor = Cells()


class Worn(Game):
    worn = Cells("sum")


def world(nodes=2, stored=True, play=Floor, **more):
    """Return a harness whose nodes play a game with a floor, and a client at each, side by side."""
    clock = Clock()
    stores = {"stores": shared_stores(clock)} if stored else {}
    harness = Harness(nodes=nodes, clock=clock, ready=True, play=play, **stores, **more)
    clients = [harness.place(str(n), (n, 0), host=host) for n, host in enumerate(harness.hosts)]
    harness.run(500)
    return harness, *clients


def seen(client, tile):
    """Return the value of a tile as a client knows it."""
    column, row = tile
    known = client.model.cells.get((column // 16, row // 16, 0), bytes(256))
    return known[row % 16 * 16 + column % 16]


def everywhere(harness, tile):
    """Return the values of a tile at all nodes and in all clients that hold it."""
    found = {host.node.game.floor[tile] for host in harness.hosts}
    square = tile[0] // 16, tile[1] // 16
    return found | {seen(client, tile) for client in harness.clients if client.model.holds(square)}


def store_of(harness):
    return harness.node.store_client.store


def in_store(harness, queue=QUEUE):
    """Return the tiles in the store, and check that the store has counted them correctly."""
    found = {}
    for item in store_of(harness).each(queue):
        column, row = (int(at) * 16 for at in item.group.split(":"))
        for place, value, *_ in TILE.iter_unpack(item.body):
            found[column + place % 16, row + place // 16] = value
    counted = {int(value): n for value, n in store_of(harness).top(queue, 300) if n}
    assert counted == Counter(found.values()) - Counter({0: len(found)})
    return found


def cells_told(client, since=0):
    """Return the messages about cells among those that a client has got."""
    return [message for message in client.connection.messages[since:] if message[0] == 46]


def test_everybody_sees_a_write_and_a_player_who_comes_later_does_too():
    harness, a, b = world(skew=40)
    floor = a.host.node.game.floor
    floor[3, 4] = 7
    assert floor[3, 4] == 0, "it is there when it comes back"
    floor[[(20, -1), (-17, 5)]] = 9
    harness.run(50)
    assert everywhere(harness, (3, 4)) == {7}
    assert everywhere(harness, (20, -1)) == {9} and floor[-17, 5] == 9
    late = harness.place("late", (1, 0), host=harness.hosts[1])
    harness.run(50)
    assert seen(late, (3, 4)) == 7 and seen(late, (3, 5)) == 0
    assert {tuple(m[1:5]) for m in cells_told(late)} == {(0, 0, 0, True), (1, -1, 0, True)}
    assert [46, 0, 0, 0, False, bytes((3 + 4 * 16, 0, 7))] in cells_told(b)


@pytest.mark.parametrize(
    ("tile", "value", "said"),
    [
        *(((0, 0), value, "from 0 to 255") for value in (-1, 256, "1", True)),
        *((tile, 1, "two whole numbers") for tile in ((0.5, 1), (2**31, 0), ("1", 2))),
    ],
)
def test_a_wrong_write_is_refused_and_nothing_of_it_is_written(tile, value, said):
    harness, a, _ = world()
    with pytest.raises(ValueError, match=said):
        a.host.node.game.floor[[(0, 9), tile]] = value
    harness.run(50)
    assert everywhere(harness, (0, 9)) == {0}


def test_a_message_is_told_once_and_only_where_something_has_changed():
    harness, a, b = world()
    floor = a.host.node.game.floor
    for value in (1, 2, 3):
        floor[0, 0] = value
    floor[[(n, 1) for n in range(16)]] = 4
    before, batches = len(b.connection.messages), a.host.loop.stats["batches"]
    harness.run(50)
    assert a.host.loop.stats["batches"] == batches + 1
    [told] = cells_told(b, before)
    assert len(told[5]) == 3 * 17
    # Nobody is sent a batch in which nobody moves.
    assert not [m for m in b.connection.messages[before:] if m[0] == 21 and m[3]]
    before = len(b.connection.messages)
    floor[[(n, row) for n in range(16) for row in range(16)]] = 4
    harness.run(50)
    [told] = cells_told(b, before)
    assert told[4] is True and told[5] == bytes([4]) * 256


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("at", [(3, 4), (1000, 1000), (17, 0)])
def test_a_lost_write_is_repaired_whether_or_not_its_node_has_a_player_there(stored, at):
    harness, a, b = world(stored=stored)
    if at != (3, 4):
        b = harness.place("near", (at[0] // 16, at[1] // 16), host=harness.hosts[1])
        harness.run(8000)
    a.host.broker.losing = 1.0
    a.host.node.game.floor[at] = 7
    harness.run(100)
    a.host.broker.losing = 0.0
    assert seen(b, at) == 0
    if at == (17, 0):
        # The next write shows that one was missed; without a next write, the next keepalive does.
        a.host.node.game.floor[18, 0] = 8
    harness.run(2500)
    assert everywhere(harness, at) == {7}
    if at == (17, 0):
        assert everywhere(harness, (18, 0)) == {8}
        harness.run(10_000)
        assert not a.host.node.outbox.numbers.keys() - a.host.node.outbox.players_by_square.keys()


def test_a_node_that_was_cut_off_for_long_tells_of_its_writes_as_soon_as_it_is_back():
    harness, a, b = world()
    a.host.broker.fail()
    harness.run(5000)
    a.host.node.game.floor[3, 4] = 7
    harness.run(30_000)
    assert seen(b, (3, 4)) == 0
    a.host.broker.restore(a.host.node)
    harness.run(4000)
    assert seen(b, (3, 4)) == 7


class Rules(Game):
    first, most = Cells("first"), Cells("most")


@pytest.mark.parametrize("pause", [0, 100, 3000])
def test_screens_store_and_counts_agree_by_every_rule(pause):
    harness, a, _ = world(play=Rules)
    game = a.host.node.game
    for first, most in ((1, 200), (2, 5)):
        game.first[3, 4], game.most[3, 4] = first, most
        if pause:
            harness.run(pause)
    harness.run(SAVE_EVERY_MS + 100)
    assert (game.first[3, 4], game.most[3, 4]) == (1, 200)
    harness.run(COUNT_TILES_EVERY_MS)
    assert (game.first.counts(), game.most.counts()) == ({1: 1}, {200: 1})


@pytest.mark.parametrize("skew", [0, -3_600_000])
def test_a_write_ahead_of_all_clocks_is_refused_and_others_beside_it_are_believed(skew):
    harness, a, b = world(skew=skew)
    now, channel = a.now(), a.host.node.channels.square((0, 0))
    last = 2**42 - 5 - now
    for number, ahead in enumerate((AHEAD + 4_000_000, 2 * AHEAD, 3 * AHEAD, 2**40, last), 1):
        writes = [
            0,
            WRITE.pack(0, 1, (now + ahead) << NODE_BITS) + WRITE.pack(number, 5, now << 22),
        ]
        batch = [20, 0, 0, 77, number - 1, number, now, b"", [], 0, b"", writes]
        a.host.broker.publish(channel, msgpack.packb(batch))
        harness.run(100)
        assert everywhere(harness, (0, 0)) == {0} and everywhere(harness, (number, 0)) == {5}
    assert [host.loop.stats["writes_refused"] for host in harness.hosts] == [5, 5]
    for value in (9, 8):
        a.host.node.game.floor[0, 0] = value
        harness.run(1000)
        assert everywhere(harness, (0, 0)) == {value} == {in_store(harness)[0, 0]}


def test_a_write_just_before_the_server_stops_is_kept():
    harness, a, _ = world()
    floor, play, waiting = a.host.node.game.floor, a.host.node.play, []
    floor[3, 4] = 7
    harness.run(2 * SAVE_EVERY_MS)
    floor[3, 5] = 8
    harness.run(50)
    a.host.spawn = lambda call, *arguments: waiting.append((call, arguments))
    assert not play.finish() and len(waiting) == 1
    floor[3, 6] = 9
    assert not play.finish(), "it is still being given what was written before"
    for _ in range(2):
        call, arguments = waiting.pop()
        call(*arguments)
        done = play.finish()
    assert done and not waiting
    assert store_of(harness).top(QUEUE, 9) == [("9", 1), ("8", 1), ("7", 1)]


@contextmanager
def counting():
    """Yield a list that gets the name of each function of ours that is called in the block."""
    called = []
    folders = tuple(f"{ROOT}/flatlands/{name}/" for name in ("server", "world", "games"))

    def note(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(folders):
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)


def test_many_tiles_that_are_written_at_once_need_no_call_each():
    harness, a, b = world(play=Paint)
    harness.run(5000)
    needed = []
    for reach in (1, 2, 3):
        with counting() as called:
            a.send(35, "spill", [reach])
            while seen(b, (8 + reach, 8)) == 0:
                harness.run(1)
        needed.append(len(called))
        assert len(b.model.cells[0, 0, 0].replace(b"\0", b"")) == (2 * reach + 1) ** 2
        harness.run(6000)
    assert needed[0] > 10 and max(needed) - min(needed) < 20, needed


def test_a_sum_counts_a_tile_as_often_as_it_is_named():
    for stored in (True, False):
        harness, a, _ = world(play=Worn, stored=stored)
        worn = a.host.node.game.worn
        worn[[(3, 4), (3, 4), (3, 5)]] = 2
        harness.run(1000)
        worn[3, 5] = -9
        harness.run(1000)
        assert (worn[3, 4], worn[3, 5]) == (4, 0)


def test_a_full_batch_fits_into_a_message():
    batch = Batch(SquareCoordinates((0, 0), 65536, 0))
    player = Player(1, 5, 1, 0, "x" * 20, False, Track(0, 0, 0, 0, 0, 0))
    for _ in range(120):
        batch.say(player, "\U0001f600" * 120)
    batch.write(0, [(tile, 1, 2**62) for tile in range(4000)], instead=True)
    parts = list(batch.parts(120))
    assert max(len(msgpack.packb(part)) for part in parts) < PAYLOAD_LIMIT - 1000
    assert sum(len(part.writes[1]) for part in parts) == 4000 * WRITE.size


def test_a_node_that_stood_still_tells_only_of_steps_that_were_taken(hooks):
    harness, a, _ = world(play=Hooks)
    for pause in (1000, 6000, 1000):
        if pause == 6000:
            a.host.freeze()
        else:
            a.walk(1, 0)
        harness.run(pause)
        a.host.thaw()
    a.walk(0, 0)
    harness.run(1000)
    assert way()[-1] == tile_of(a)
    assert all(abs(p[0] - q[0]) == 1 for p, q in zip(way(), way()[1:], strict=False)), way()


def test_after_a_split_all_have_the_last_write_and_count_what_they_received():
    harness, a, b = world(stored=False, skew=-7000)
    links = [host.broker for host in harness.hosts]
    harness.network.cuts |= {tuple(links), tuple(links[::-1])}
    for value, client in enumerate((a, b, a, b), 1):
        client.host.node.game.floor[[(value, 0), (9, 9)]] = value
        harness.run(1000)
    assert seen(a, (9, 9)) == 3 and seen(b, (9, 9)) == 4
    harness.network.heal()
    harness.run(8000)
    # The clock of b is 7 s behind, so whatever a wrote counts as later.
    assert everywhere(harness, (9, 9)) == {3}
    assert [everywhere(harness, (value, 0)) for value in (1, 2, 3, 4)] == [{1}, {2}, {3}, {4}]
    b.host.node.game.floor[9, 9] = 8
    harness.run(5000)
    assert everywhere(harness, (9, 9)) == {8}, "who knows of a write comes after it"
    for host in harness.hosts:
        assert host.node.game.floor.counts() == {1: 1, 2: 1, 3: 1, 4: 1, 8: 1}


def test_a_write_is_kept_and_counted_exactly_once():
    harness, a, b = world()
    floors = [host.node.game.floor for host in harness.hosts]
    floors[0][[(n, n) for n in range(40)]] = 1
    harness.run(1)
    floors[1][[(n, n) for n in range(10)]] = 2
    harness.run(SAVE_EVERY_MS + 100)
    floors[0][[(n, n) for n in range(5)]] = 0
    harness.run(2 * COUNT_TILES_EVERY_MS)
    assert [floor.counts() for floor in floors] == [{1: 30, 2: 5}] * 2
    for client in (a, b):
        client.connection.lose(1000)
    harness.run(20_000)
    assert not harness.node.subscriptions.by_square
    again = harness.place("again", (0, 0), host=harness.hosts[1])
    harness.run(200)
    assert [seen(again, (n, n)) for n in (2, 7, 12)] == [0, 2, 1]


@pytest.mark.parametrize("stored", [True, False])
def test_an_operator_wipes_a_square_even_where_nobody_is(stored):
    harness, a, b = world(stored=stored, skew=-3_600_000)
    floor = a.host.node.game.floor
    floor[[(3, 4), (3, 5), (1000, 1000)]] = 7
    harness.run(NEEDED_FOR_MS + 5000)
    for square in ((0, 0), (62, 62)):
        b.host.node.play.content.clear(square)
    harness.run(2 * COUNT_TILES_EVERY_MS)
    assert everywhere(harness, (3, 4)) == everywhere(harness, (3, 5)) == {0}
    assert floor.counts() == {}


def test_a_layer_of_a_large_square_is_kept_in_parts(monkeypatch):
    monkeypatch.setattr(rows, "ROW_TILES", 100)
    harness, a, _ = world()
    a.host.node.game.floor[[(n, row) for n in range(16) for row in range(16)]] = 3
    harness.run(2 * SAVE_EVERY_MS + 100)
    kept = store_of(harness).scan(QUEUE, 9)
    assert [len(item.body) // TILE.size for item in kept] == [100, 100, 56]
    harness.run(COUNT_TILES_EVERY_MS)
    assert a.host.node.game.floor.counts() == {3: 256}
    floor = harness.host().node.game.floor
    harness.run(1500)
    harness.place("other", (1, 0), host=harness.hosts[-1])
    harness.run(200)
    assert floor[0, 0] == floor[15, 15] == 3


def fail(operation, answered, failed=lambda: None):
    """Ask a store that gives no answer."""
    failed()


def test_a_store_that_fails_for_a_while_loses_nothing(monkeypatch):
    harness, a, _ = world()
    floor, store_client = a.host.node.game.floor, a.host.node.store_client
    with monkeypatch.context() as patch:
        patch.setattr(store_client, "ask", fail)
        floor[3, 4] = 7
        floor[3, 5] = 7
        harness.run(3 * SETTLED_MS)
        floor[3, 5] = 8
        # A node that asks is told of a write that may be missing in the store, however old it is.
        assert floor.layer.unsaved_since() < a.now() - 3 * SETTLED_MS
    harness.run(2 * COUNT_TILES_EVERY_MS)
    assert floor.counts() == {7: 1, 8: 1} and floor.layer.unsaved_since() == a.now() - SETTLED_MS


def test_a_write_during_a_question_that_fails_is_told_to_any_node_that_asks(monkeypatch):
    harness, a, _ = world()
    floor, waiting = a.host.node.game.floor, []
    monkeypatch.setattr(a.host.node.store_client, "ask", lambda q, ok, bad=int: waiting.append(bad))
    harness.run(SAVE_EVERY_MS)
    floor[3, 4] = 7
    wrote = a.now()
    for _ in range(20):
        harness.run(1000)
        some, waiting[:] = waiting[:], []
        for failed in some:
            failed()
    assert floor.layer.unsaved_since() <= wrote


@pytest.mark.parametrize("away", [False, True])
def test_a_square_is_received_only_as_long_as_it_is_needed_though_the_store_is_away(
    monkeypatch, away
):
    harness, a, _ = world()
    node = a.host.node
    before = len(node.subscriptions.by_square)
    with monkeypatch.context() as patch:
        if away:
            patch.setattr(node.store_client, "ask", fail)
        node.game.floor[[(1000 + 16 * n, 1000) for n in range(50)]] = 5
        harness.run(100)
        assert len(node.subscriptions.by_square) == before + 50 and node.game.floor[1000, 1000] == 5
        harness.run(NEEDED_FOR_MS + 3000)
        assert (
            len(node.subscriptions.by_square) == before
            and (62, 62) not in node.subscriptions.by_square
        )
    harness.run(2 * COUNT_TILES_EVERY_MS)
    assert node.game.floor.counts() == {5: 50}


def test_values_of_the_store_are_compared_a_few_squares_at_a_time(monkeypatch):
    harness, a, _ = world()
    monkeypatch.setattr(reader, "TILES_AT_ONCE", 3 * 256)
    floor, turns = a.host.node.game.floor, []
    apply = floor.layer.apply_stored
    monkeypatch.setattr(
        floor.layer, "apply_stored", lambda *some: (turns.append(a.now()), apply(*some))
    )
    a.host.node.reader.read_all()
    harness.run(500)
    assert len(turns) == len(a.host.node.subscriptions.by_square) > 9
    assert max(turns.count(turn) for turn in turns) == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"merge": "middle"}, "one of last, first, most, sum, not 'middle'"),
        ({"persist": 1}, "persist must be True, False or 'write-through', not 1"),
        ({"persist": "last"}, "persist must be True, False or 'write-through', not 'last'"),
        ({"merge": "sum", "persist": False}, "sums always persist"),
        ({"most": 0}, "a whole number, 1 or more, not 0"),
        ({"per_owner": 1.5}, "a whole number, 1 or more, not 1.5"),
        ({"forget": 59}, "cells that persist must forget after 60 s or more, not after 59"),
        (
            {"persist": False, "forget": 0.5},
            "cells that do not persist must forget after 1 s or more",
        ),
    ],
)
def test_cells_that_are_declared_wrongly_are_refused_with_a_sentence(wrong, said):
    with pytest.raises(ValueError, match=said):
        Cells(**wrong)


@pytest.mark.parametrize("rule", [RULE_LAST, RULE_FIRST, RULE_MOST], ids=RULES[:3])
def test_writes_in_any_order_and_any_number_end_with_the_same_tiles(rule):
    chance = random.Random(rule)
    writes = [
        WRITE.pack(
            chance.randrange(4), chance.randrange(5), next_stamp(chance.randrange(9), node, 0)
        )
        for node in (1, 2, 2**32 - 1)
        for _ in range(20)
    ]
    ends = set()
    for _ in range(30):
        some = chance.sample(writes, len(writes)) + chance.choices(writes, k=10)
        tiles = Tiles(4, rule)
        for write in some:
            before = bytes(tiles.values)
            changed = tiles.apply(write)
            assert changed == [n for n in range(4) if tiles.values[n] != before[n]]
        again = Tiles(4, rule)
        again.apply(tiles.pack())
        assert again.pack() == tiles.pack()
        ends.add(bytes(tiles.values))
    assert len(ends) == 1
    of = [[WRITE.unpack(write)[1:] for write in writes if write[0] == n] for n in range(4)]
    count = {
        RULE_LAST: lambda w: w[::-1],
        RULE_FIRST: lambda w: (-w[1], -w[0]),
        RULE_MOST: lambda w: w[0],
    }[rule]
    [values] = ends
    assert list(values) == [max(some, key=count)[0] for some in of]


class Hooks(Game):
    """Notes what it is told; fails on request."""

    steps, ticks, wrong = [], [], None

    def on_step(self, me, tiles):
        assert me.tile == tiles[-1] or self.wrong is None
        Hooks.steps.append((me.name, tiles))
        if self.wrong is not None:
            raise self.wrong

    @every(0.5)
    def tick(self):
        Hooks.ticks.append(self.node.loop.now())


@pytest.fixture
def hooks():
    Hooks.steps.clear()
    Hooks.ticks.clear()


def way():
    """Return all tiles that the game was told of."""
    return [tile for _, tiles in Hooks.steps for tile in tiles]


def tile_of(client):
    return tuple(n // UNIT for n in client.at())


def test_the_game_is_told_once_of_each_tile_to_which_a_player_comes(hooks):
    harness, a, b = world(play=Hooks)
    assert not Hooks.steps, "a player who stands takes no step"
    begun = tile_of(a)
    for dx, dy, ms in ((1, 0, 3000), (0, 1, 1000), (1, 1, 1000), (0, 0, 500)):
        a.walk(dx, dy)
        harness.run(ms)
    assert {name for name, _ in Hooks.steps} == {"0"}, "only its own node is told"
    tiles = way()
    assert begun not in tiles and len(tiles) == len(set(tiles)) > 20
    for before, after in zip([begun, *tiles], tiles, strict=False):
        assert max(abs(p - q) for p, q in zip(before, after, strict=True)) == 1
    assert tiles[-1] == tile_of(a)
    assert len(Hooks.steps) <= 55 and not [tiles for _, tiles in Hooks.steps if len(tiles) > 2]
    a.go(*(n + 100 * UNIT for n in a.at()))
    harness.run(1000)
    a.home()
    harness.run(300)
    assert way()[-1] == tile_of(a), "also where it is put"


def test_a_player_who_goes_on_at_another_node_in_the_middle_of_a_walk_misses_no_tile(hooks):
    harness, a, _ = world(play=Hooks)
    a.walk(1, 0)
    while not Hooks.steps:
        harness.run(1)
    # It turns back at once: the game would be told of the tile behind it a moment later.
    a.walk(-1, 0)
    harness.run(2 * STEPS_TOGETHER_MS)
    resident, steps = a.host.node.residents.by_id[a.id], a.host.node.movement.steps
    tile = tile_at(resident.track, a.now())
    assert tile != way()[-1]
    a.host.node.residents.hand_over(resident)
    assert way()[-1] == tile
    assert resident not in steps._ways and resident not in steps._due


def test_a_hook_that_fails_harms_nobody(hooks, monkeypatch, caplog):
    harness, a, _ = world(play=Hooks)
    with monkeypatch.context() as patch:
        patch.setattr(Hooks, "wrong", RuntimeError("the game is wrong"))
        a.walk(1, 0)
        harness.run(2000)
    assert len(Hooks.steps) > 8 and harness.loop.stats["hooks_failed"] == len(Hooks.steps)
    assert harness.loop.stats["errors"] == 0
    [said] = [one for one in caplog.records if "on_step of the game failed" in one.getMessage()]
    assert said.exc_info[0] is RuntimeError
    harness.loop.cost = 0.006
    harness.run(500)
    assert harness.loop.stats["hooks_slow"] and "tick of the game took 6 ms" in caplog.text


def test_a_method_is_called_as_often_as_it_is_declared(hooks):
    Harness(play=Hooks).run(2600)
    assert [tick - Hooks.ticks[0] for tick in Hooks.ticks] == [0, 500, 1000, 1500, 2000]


def test_paint_is_played_on_two_nodes():
    harness, a, b = world(play=Paint)
    begun, row = tile_of(a)
    a.walk(1, 0)
    harness.run(4000)
    a.walk(0, 0)
    harness.run(200)
    colour = a.model.players[a.id].values[0]
    assert colour and colour == b.model.players[a.id].values[0]
    painted = [n for n in range(-40, 60) if seen(b, (n, row)) == colour]
    assert painted == list(range(begun + 1, tile_of(a)[0] + 1)) and len(painted) > 18
    harness.run(5000)
    # Each node knows the names of its own players.
    for player, name in ((a, "0"), (b, "")):
        left, first, rows = player.model.messages["board"]
        assert rows == [[colour, len(painted), name]] and left > 0 and first == 0


def test_nodes_refuse_malformed_writes():
    harness, a, _ = world()
    link, node = a.host.broker, 77
    for layer, tile, at in ((1, 0, 1), (-1, 0, 1), (0, 256, 1), (0, 0, 0), (0, 0, 2**64 - 1)):
        writes = [layer, WRITE.pack(tile, 1, at)]
        batch = [20, 0, 0, node, 0, 1, a.now(), b"", [], 0, b"", writes]
        link.publish(a.host.node.channels.square((0, 0)), msgpack.packb(batch))
    harness.run(100)
    assert harness.loop.stats["malformed"] == 5 and not a.model.cells
