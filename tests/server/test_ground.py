"""Ground that players change: sums, values kept before they are told, limits, and undoing."""

from itertools import pairwise

import pytest

from flatlands.server.game.actions import action, number
from flatlands.server.game.cell_layer import COUNT_TILES_EVERY_MS, FADE_EVERY_MS, SWEEP_EVERY_MS
from flatlands.server.game.cells import Cells, writer_of
from flatlands.server.game.game import Game
from flatlands.server.game.me import Me
from flatlands.server.messages.protocol import Refused
from flatlands.server.runtime.limits import WRITES_EACH
from flatlands.server.storage import rows
from flatlands.server.storage.boards import owner_of
from flatlands.server.storage.reader import SQUARE_AGAIN_MS
from flatlands.stores.base import StoreError
from flatlands.stores.sqlite import SqliteStore
from flatlands.world.grid import Rect
from flatlands.world.track import UNIT
from tests.server.test_cells import fail, in_store, store_of, world

ADA, BOB = (writer_of(owner_of(f"key {n}")) for n in range(2))


def queue(layer):
    return f"tiles test_ground.{layer} 2013-16"


def values(harness, layer, tile):
    """Return the values of a tile in a layer at all nodes that receive it, and on all screens."""
    square, place = (tile[0] // 16, tile[1] // 16), tile[1] % 16 * 16 + tile[0] % 16
    number = getattr(harness.node.game, layer).layer.number
    nodes = [host.node.subscriptions.by_square.get(square) for host in harness.hosts]
    known = [heard.layers.tiles.get(number) for heard in nodes if heard]
    found = {tiles.values[place] if tiles else 0 for tiles in known}
    for client in harness.clients:
        if client.connection.open and client.model.holds(square):
            found.add(client.model.cells.get((*square, number), bytes(256))[place])
    return found


class Ways(Game):
    sand = Cells(persist=False)
    stone = Cells("first", persist="write-through")
    turf = Cells(persist="write-through")
    worn = Cells("sum")


def test_a_value_that_is_not_kept_is_told_and_never_in_the_store():
    harness, a, _ = world(play=Ways)
    a.host.node.game.sand[3, 4] = 7
    harness.run(3000)
    assert values(harness, "sand", (3, 4)) == {7}
    harness.place("late", (1, 0), host=harness.host())
    harness.run(2500)
    assert values(harness, "sand", (3, 4)) == {7} and in_store(harness, queue("sand")) == {}
    assert a.host.node.game.sand.counts() == {7: 1}


@pytest.mark.parametrize("layer", ["stone", "turf", "worn"])
def test_nobody_is_told_of_a_value_that_the_store_does_not_have(layer, monkeypatch):
    harness, a, _ = world(play=Ways)
    with monkeypatch.context() as patch:
        patch.setattr(a.host.node.store_client, "ask", fail)
        getattr(a.host.node.game, layer)[3, 4] = 7
        harness.run(3000)
        assert values(harness, layer, (3, 4)) == {0}
    harness.run(200)
    assert values(harness, layer, (3, 4)) == {7} and in_store(harness, queue(layer)) == {(3, 4): 7}


def fail_in(monkeypatch, layer, before=(), after=()):
    """Let the store fail when it takes rows of a layer: in the calls `before`, from 0 on, before it
    takes them, and in the calls `after`, afterwards. Return the growing list of the calls."""
    swap, asked = SqliteStore.swap, []

    def fails(self, name, swaps):
        if name != queue(layer):
            return swap(self, name, swaps)
        asked.append(len(asked))
        if asked[-1] in before:
            raise StoreError("the disk is full")
        put = swap(self, name, swaps)
        if asked[-1] in after:
            raise StoreError("the connection has ended")
        return put

    monkeypatch.setattr(SqliteStore, "swap", fails)
    return asked


@pytest.mark.parametrize("layer", ["stone", "turf"])
def test_a_value_that_the_store_has_taken_is_told_though_its_answer_was_lost(layer, monkeypatch):
    harness, a, _ = world(play=Ways)
    asked = fail_in(monkeypatch, layer, after=(0,))
    getattr(a.host.node.game, layer)[3, 4] = 7
    harness.run(150)
    assert asked and in_store(harness, queue(layer)) == {(3, 4): 7}
    harness.run(200)
    assert values(harness, layer, (3, 4)) == {7}


def test_a_sum_is_added_once_though_the_store_fails_in_the_middle(monkeypatch):
    monkeypatch.setattr(rows, "ROWS_A_STEP", 1)
    harness, a, _ = world(play=Ways)
    fail_in(monkeypatch, "worn", before=(1,))
    a.host.node.game.worn[[(n * 16, 0) for n in range(-1, 2)]] = 5
    harness.run(1000)
    assert set(in_store(harness, queue("worn")).values()) == {5}
    assert [values(harness, "worn", (n * 16, 0)) for n in range(-1, 2)] == [{5}] * 3


def test_a_value_that_a_node_has_stored_is_seen_though_it_dies_before_it_tells():
    harness, a, b = world(play=Ways)
    a.host.broker.losing = 1.0
    a.host.node.game.stone[3, 4] = 7
    harness.run(150)
    harness.kill(a.host)
    for found in ({0}, {7}):
        assert in_store(harness, queue("stone")) == {(3, 4): 7}
        assert values(harness, "stone", (3, 4)) == found
        harness.run(SQUARE_AGAIN_MS)


def test_of_two_first_writes_at_two_nodes_one_counts():
    harness, a, b = world(play=Ways)
    for client, value in ((a, 5), (b, 6)):
        client.host.node.game.stone[3, 4] = value
    harness.run(1000)
    [value] = values(harness, "stone", (3, 4))
    assert in_store(harness, queue("stone")) == {(3, 4): value}


def test_a_write_that_cannot_count_is_neither_stored_nor_published():
    harness, a, _ = world(play=Ways)
    a.host.node.game.stone[3, 4] = 5
    harness.run(1000)
    a.host.node.game.stone[3, 4] = 6
    assert not a.host.node.game.stone.layer._unsaved and values(harness, "stone", (3, 4)) == {5}


@pytest.mark.parametrize("stored", [True, False])
def test_sums_have_all_that_several_nodes_add(stored):
    harness, a, b = world(play=Ways, stored=stored)
    for n in range(40):
        (a if n % 2 else b).host.node.game.worn[[(3, 4), (n, 0)]] = 5
        harness.run(40 if stored else 300)
    harness.run(1000)
    assert values(harness, "worn", (3, 4)) == {200} and values(harness, "worn", (3, 0)) == {5}
    # A node may add faster than it hears of its own additions.
    for some, pause, now in (
        ((100,), 0, 255),
        ((-5,), 0, 250),
        ((-255,), 0, 0),
        ((-3,), 0, 0),
        ((3,) * 20, 0, 60),
        ((3,) * 20, 20, 120),
    ):
        for more in some:
            a.host.node.game.worn[3, 4] = more
            harness.run(pause)
        harness.run(1000)
        assert values(harness, "worn", (3, 4)) == {now}
    if stored:
        assert in_store(harness, queue("worn"))[3, 4] == 120
    with pytest.raises(ValueError, match="0 to 255"):
        a.host.node.game.worn[3, 4] = -256


class Plots(Game):
    ground = Game.ground
    plots = Cells(per_owner=3, most=8)

    @action(rate=50, burst=50)
    def dig(self, me, column: int = number(-99, 99), value: int = number(0, 9)):
        me.write(self.plots, (column, 1), value)

    @action(rate=50, burst=50)
    def spread(self, me, columns: int = number(0, 9999)):
        me.write(self.plots, [(column, 5) for column in range(columns)], 1)


def dig(harness, client, column, value=1):
    """Write on a tile as a player; return the codes of the errors that its page got."""
    before = len(client.model.errors)
    client.send(35, "dig", [column, value])
    harness.run(2 * COUNT_TILES_EVERY_MS)
    return client.model.errors[before:]


def owners(*clients):
    for n, client in enumerate(clients):
        client.host.node.residents.by_id[client.id].owner = owner_of(f"key {n}")


def test_the_tiles_of_one_person_and_of_all_people_are_limited():
    harness, a, b = world(play=Plots)
    assert dig(harness, a, 0) == ["key"]
    owners(a, b)
    assert [dig(harness, a, n) for n in range(4)] == [[], [], [], ["full"]]
    # A tile that others have written over, or that it has cleared, is not its own any more.
    assert dig(harness, b, 2, 5) == [] == dig(harness, a, 3)
    assert dig(harness, a, 4) == ["full"] and dig(harness, a, 3, 0) == [] == dig(harness, a, 4)
    assert dig(harness, b, 5) == [] == dig(harness, b, 6) and dig(harness, b, 7) == ["full"]
    game = a.host.node.game
    game.plots[[(n, 9) for n in range(2)]] = 3
    harness.run(2 * COUNT_TILES_EVERY_MS)
    assert sum(game.plots.counts().values()) == 8
    with pytest.raises(Refused, match="no room left"):
        game.plots[9, 9] = 3
    game.plots[0, 9] = 4
    harness.run(1000)
    assert values(harness, "plots", (0, 9)) == {4}, "that tile has a value already"
    assert dig(harness, b, 6, 0) == []
    game.plots[9, 9] = 3
    harness.run(2 * COUNT_TILES_EVERY_MS)
    assert len([value for value in in_store(harness, queue("plots")).values() if value]) == 8


def test_nobody_gets_beyond_a_limit_by_writing_on_many_tiles_at_once():
    harness, a, _ = world(play=Plots)
    plots = a.host.node.game.plots
    plots.write([(n, 5) for n in range(3)], 1, ADA)
    for tiles, who, said in (
        ([(n, 5) for n in range(4)], BOB, "as many tiles as one person may have"),
        ((9, 9), ADA, "as many tiles as one person may have"),
        ([(n, 6) for n in range(9)], None, "no room left"),
    ):
        with pytest.raises(Refused, match=said):
            plots.write(tiles, 1, *([who] if who else []))
    harness.run(2 * COUNT_TILES_EVERY_MS)
    assert len(in_store(harness, queue("plots"))) == 3


@pytest.mark.parametrize("pause", [40, 500, 1000, 3000])
def test_the_limit_of_a_person_at_one_node_is_exact_however_fast_it_writes(pause):
    harness, a, _ = world(play=Plots)
    owners(a)
    for column in range(9):
        a.send(35, "dig", [column % 5, 1])
        harness.run(pause)
    harness.run(2 * COUNT_TILES_EVERY_MS)
    assert len(in_store(harness, queue("plots"))) == 3 and "full" in a.model.errors
    a.model.errors.clear()
    assert dig(harness, a, 0, 2) == ["full"], "the node does not know whose it is"
    assert dig(harness, a, 0, 0) == [] == dig(harness, a, 7)


def test_what_an_address_may_write_is_limited():
    harness, a, b = world(play=Plots)
    owners(a, b)
    a.connection.address, b.connection.address = "192.0.2.1", "198.51.100.1"
    while a.session.limits.allow_address(WRITES_EACH, a.session.address):
        pass
    assert dig(harness, a, 0) == ["crowded"] and dig(harness, b, 0) == []
    assert dig(harness, a, 0) == [], "some seconds later"
    # A write that is refused as a whole does not count.
    a.send(35, "spread", [int(WRITES_EACH.burst) + 1])
    harness.run(100)
    assert a.model.errors.pop() == "crowded" and dig(harness, a, 0) == []


class Walls(Game):
    floor, worn = Cells(), Cells("sum")


def test_an_operator_undoes_what_a_person_wrote_last():
    harness, a, b = world(play=Walls)
    floor, worn, play = a.host.node.game.floor, a.host.node.game.worn, b.host.node.play
    floor.write([(0, 0), (1, 0), (40, 0)], 3, ADA)
    worn.write((0, 0), 4, ADA)
    harness.run(1000)
    for value in (5, 6):
        floor.write([(1, 0), (2, 0), (40, 0)], value, BOB)
        worn.write((0, 0), 10, BOB)
        harness.run(1000)
    # A person that has only removed what others had put there is found too.
    for value, who in ((7, ADA), (0, BOB)):
        floor.write((5, 5), value, who)
        harness.run(1000)
    squares = Rect(0, 0, 1, 0)
    assert play.content.undo(None, squares) == {BOB.hex(): 4, ADA.hex(): 1}
    assert play.content.undo(BOB.hex(), squares) == {BOB.hex(): 4}
    harness.run(1000)
    for tile, found in (((0, 0), 3), ((1, 0), 3), ((2, 0), 0), ((5, 5), 7)):
        assert values(harness, "floor", tile) == {found}
    assert values(harness, "worn", (0, 0)) == {4}
    assert in_store(harness, queue("floor"))[40, 0] == 6, "it is in another square"
    assert play.content.undo(BOB.hex(), squares) == {}


class Steps(Game):
    steps, smoke = Cells(forget=60), Cells(persist=False, forget=2)


def test_an_old_value_is_forgotten_on_screens_and_in_the_store():
    harness, a, _ = world(play=Steps)
    steps = a.host.node.game.steps
    steps[[(1, 1), (2, 1)]] = 5
    harness.run(40_000)
    steps[2, 1] = 6
    harness.run(20_000 + FADE_EVERY_MS)
    assert values(harness, "steps", (1, 1)) == {0} and values(harness, "steps", (2, 1)) == {6}
    harness.run(SWEEP_EVERY_MS)
    assert in_store(harness, queue("steps")) == {(2, 1): 6}
    harness.run(COUNT_TILES_EVERY_MS)
    assert steps.counts() == {6: 1}
    harness.run(60_000 + FADE_EVERY_MS + SWEEP_EVERY_MS)
    assert in_store(harness, queue("steps")) == {} and values(harness, "steps", (2, 1)) == {0}


def test_a_renewed_value_is_not_forgotten_and_stays_its_writers():
    harness, a, b = world(play=Steps)
    steps = a.host.node.game.steps
    me = Me(a.host.node, a.host.node.residents.by_id[a.id])
    me.write(steps, [(1, 1), (20, 1)], 5)
    harness.run(30_000)
    steps[2, 1] = 6
    for host, ms in ((a.host, 15_000), (b.host, 30_000)):
        host.node.game.steps.renew((0, 0), 40)
        harness.run(ms)
    for tile, found in (((1, 1), 5), ((2, 1), 6), ((20, 1), 0)):
        assert values(harness, "steps", tile) == {found}
    owner = writer_of("", a.id).hex()
    assert a.host.node.play.content.undo(None, Rect(0, 0, 0, 0)) == {owner: 1}
    harness.run(30_000 + FADE_EVERY_MS)
    assert values(harness, "steps", (1, 1)) == {0}


def test_a_value_that_is_not_kept_may_be_forgotten_within_seconds():
    harness, a, _ = world(play=Steps)
    smoke = a.host.node.game.smoke
    smoke[1, 1] = 5
    harness.run(1500)
    smoke[2, 1] = 6
    assert values(harness, "smoke", (1, 1)) == {5} == set(smoke.counts())
    harness.run(1000)
    assert values(harness, "smoke", (1, 1)) == {0} and values(harness, "smoke", (2, 1)) == {6}
    harness.run(1500)
    assert smoke.counts() == {} and values(harness, "smoke", (2, 1)) == {0}


def test_all_rows_that_are_due_are_swept_a_few_at_a_time_even_where_nobody_is():
    harness, a = world(nodes=1, play=Steps)
    steps = a.host.node.game.steps
    steps[[(n * 16, 500) for n in range(50)]] = 5
    harness.run(59_000)
    assert len(in_store(harness, queue("steps"))) == 50
    sizes = [50]
    for _ in range(2 * SWEEP_EVERY_MS // 10):
        harness.run(10)
        sizes.append(len(in_store(harness, queue("steps"))))
    assert sizes[-1] == 0 and not store_of(harness).count(queue("steps"))
    assert max(before - after for before, after in pairwise(sizes)) == 20
    harness.run(COUNT_TILES_EVERY_MS)
    assert steps.counts() == {}


class Fading(Game):
    plots, worn = Cells("first", persist="write-through", forget=60), Cells("sum", forget=60)
    claims, peak = Cells("first", forget=60), Cells("most", forget=60)


def test_a_forgotten_value_does_not_count_though_it_is_still_in_the_store(monkeypatch):
    monkeypatch.setattr(rows.Rows, "fade", lambda *_, **__: False)
    harness, a, _ = world(play=Fading)
    layers = {name: getattr(a.host.node.game, name) for name in ("plots", "worn", "claims", "peak")}
    for value, ms in ((200, 75_000), (9, 3000)):
        for name, cells in layers.items():
            assert values(harness, name, (3, 4)) == {0}
            cells[3, 4] = value
        harness.run(ms)
    for name, cells in layers.items():
        assert values(harness, name, (3, 4)) == {9}
        assert in_store(harness, queue(name)) == {(3, 4): 9} and cells.counts() == {9: 1}


class Fleeting(Game):
    claims, peak = Cells("first", persist=False, forget=3), Cells("most", persist=False, forget=3)


@pytest.mark.parametrize("name", ["claims", "peak"])
def test_a_forgotten_tile_can_be_written_again_where_others_are_written_all_the_time(name):
    harness, a, _ = world(play=Fleeting, stored=False)
    cells = getattr(a.host.node.game, name)
    cells[3, 4] = 9
    for column in range(6):
        harness.run(1000)
        cells[column, 9] = 1
    assert values(harness, name, (3, 4)) == {0}
    cells[3, 4] = 5
    harness.run(500)
    assert values(harness, name, (3, 4)) == {5}


@pytest.mark.parametrize("stored", [True, False])
def test_nodes_ask_each_other_once_a_minute_for_values_that_no_store_has(stored):
    harness, a, b, _ = world(nodes=3, play=Ways, stored=stored)
    # The first node has nobody nearby, so its keepalives end.
    writer, link = a.host, b.host.broker
    writer.node.movement.put(writer.node.residents.by_id[a.id], (900 * UNIT, 900 * UNIT))
    harness.run(10_000)
    harness.network.cuts |= {(writer.broker, link), (link, writer.broker)}
    writer.node.game.sand[20, 4] = 7
    harness.run(15_000)
    assert values(harness, "sand", (20, 4)) == {0, 7}
    harness.network.heal()
    harness.run(SQUARE_AGAIN_MS + 5000)
    assert values(harness, "sand", (20, 4)) == {7}
