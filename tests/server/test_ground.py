"""Ground that players change: sums, what is kept before it is told, limits, what operators undo."""

import pytest

from flatlands.server.actions import action, number
from flatlands.server.cells import Cells, writer_of
from flatlands.server.game import Game
from flatlands.server.kept import rows
from flatlands.server.kept.boards import owner_of
from flatlands.server.kept.layer import COUNT_EVERY, FADE_EVERY, SWEEP_EVERY
from flatlands.server.kept.reader import AGAIN
from flatlands.server.limits import WRITES
from flatlands.server.me import Me
from flatlands.server.messages.protocol import Refused
from flatlands.stores.base import StoreError
from flatlands.stores.sqlite import SqliteStore
from flatlands.world.grid import Rect
from flatlands.world.track import UNIT
from tests.server.test_cells import in_store, store_of, world

ADA, BOB = (writer_of(owner_of(f"key {n}")) for n in range(2))


def queue(layer):
    return f"tiles test_ground.{layer} 2013-16"


def values(harness, layer, tile):
    """Return the values of a tile in a layer at all nodes that receive it, and on all screens."""
    square, place = (tile[0] // 16, tile[1] // 16), tile[1] % 16 * 16 + tile[0] % 16
    cells = getattr(harness.node.game, layer)
    nodes = [host.node.replicas.squares.get(square) for host in harness.hosts]
    known = [heard.layers.tiles.get(cells.layer.number) for heard in nodes if heard]
    found = {tiles.values[place] if tiles else 0 for tiles in known}
    for client in harness.clients:
        if client.connection.open and client.model.holds(square):
            found.add(client.model.cells.get((*square, cells.layer.number), bytes(256))[place])
    return found


QUEUE_OF_SUMS = queue("worn")


class Ways(Game):
    sand = Cells(kept=False)
    stone = Cells("first", kept="first")
    turf = Cells(kept="first")
    worn = Cells("sum")


def test_what_is_not_kept_is_told_and_never_in_the_store():
    harness, a, _ = world(play=Ways)
    a.host.node.game.sand[3, 4] = 7
    harness.run(3000)
    assert values(harness, "sand", (3, 4)) == {7}
    harness.place("late", (1, 0), host=harness.host())
    harness.run(2500)
    assert values(harness, "sand", (3, 4)) == {7} and in_store(harness, queue("sand")) == {}
    assert a.host.node.game.sand.counts() == {7: 1}


@pytest.mark.parametrize("layer", ["stone", "turf", "worn"])
def test_nobody_is_told_of_what_the_store_does_not_have(layer, monkeypatch):
    harness, a, _ = world(play=Ways)
    node = a.host.node
    cells, ask = getattr(node.game, layer), node.keeper.ask
    monkeypatch.setattr(node.keeper, "ask", lambda question, ok, bad=lambda: None: bad())
    cells[3, 4] = 7
    harness.run(3000)
    assert values(harness, layer, (3, 4)) == {0}
    monkeypatch.setattr(node.keeper, "ask", ask)
    harness.run(200)
    assert values(harness, layer, (3, 4)) == {7} and in_store(harness, queue(layer)) == {(3, 4): 7}


@pytest.mark.parametrize("layer", ["stone", "turf"])
def test_what_the_store_has_taken_is_told_though_its_answer_was_lost(layer, monkeypatch):
    harness, a, _ = world(play=Ways)
    swap, lost = SqliteStore.swap, []

    def lose(self, name, swaps):
        put = swap(self, name, swaps)
        if name == queue(layer) and not lost:
            lost.append(name)
            raise StoreError("the connection has ended")
        return put

    monkeypatch.setattr(SqliteStore, "swap", lose)
    getattr(a.host.node.game, layer)[3, 4] = 7
    harness.run(150)
    assert lost and in_store(harness, queue(layer)) == {(3, 4): 7}
    harness.run(200)
    assert values(harness, layer, (3, 4)) == {7}


def test_what_a_node_had_put_into_the_store_is_seen_though_it_dies_before_it_tells():
    harness, a, b = world(play=Ways)
    a.host.broker.losing = 1.0
    a.host.node.game.stone[3, 4] = 7
    harness.run(150)
    harness.kill(a.host)
    assert in_store(harness, queue("stone")) == {(3, 4): 7} and values(
        harness, "stone", (3, 4)
    ) == {0}
    harness.run(AGAIN)
    assert values(harness, "stone", (3, 4)) == {7}


def test_of_two_who_write_first_at_two_nodes_one_is_told_of():
    harness, a, b = world(play=Ways)
    for client, value in ((a, 5), (b, 6)):
        client.host.node.game.stone[3, 4] = value
    harness.run(1000)
    [value] = values(harness, "stone", (3, 4))
    assert in_store(harness, queue("stone")) == {(3, 4): value}


@pytest.mark.parametrize("stored", [True, False])
def test_what_is_added_at_several_nodes_is_added_up(stored):
    harness, a, b = world(play=Ways, stored=stored)
    for n in range(40):
        (a if n % 2 else b).host.node.game.worn[[(3, 4), (n, 0)]] = 5
        harness.run(40 if stored else 300)
    harness.run(1000)
    assert values(harness, "worn", (3, 4)) == {200} and values(harness, "worn", (3, 0)) == {5}
    for more, now in ((100, 255), (-5, 250), (-255, 0), (-3, 0), (9, 9)):
        a.host.node.game.worn[3, 4] = more
        harness.run(1000)
        assert values(harness, "worn", (3, 4)) == {now}
    if stored:
        assert in_store(harness, queue("worn"))[3, 4] == 9
    with pytest.raises(ValueError, match="0 to 255"):
        a.host.node.game.worn[3, 4] = -256


def test_what_is_added_while_the_store_fails_in_the_middle_is_added_once(monkeypatch):
    monkeypatch.setattr(rows, "AT_ONCE", 1)
    harness, a, _ = world(play=Ways)
    worn, swap = a.host.node.game.worn, SqliteStore.swap
    failing = iter([False, True, False, False, False])

    def fail(self, queue, swaps):
        if queue == QUEUE_OF_SUMS and next(failing, False):
            raise StoreError("the disk is full")
        return swap(self, queue, swaps)

    monkeypatch.setattr(SqliteStore, "swap", fail)
    worn[[(n * 16, 0) for n in range(-1, 2)]] = 5
    harness.run(1000)
    assert set(in_store(harness, QUEUE_OF_SUMS).values()) == {5}
    assert [values(harness, "worn", (n * 16, 0)) for n in range(-1, 2)] == [{5}] * 3


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
    harness.run(2 * COUNT_EVERY)
    return client.model.errors[before:]


def owners(*clients):
    for n, client in enumerate(clients):
        client.host.node.residents.by_id[client.id].owner = owner_of(f"key {n}")


def test_a_person_may_have_so_many_tiles_and_all_people_so_many():
    harness, a, b = world(play=Plots)
    assert dig(harness, a, 0) == ["key"]
    owners(a, b)
    assert [dig(harness, a, n) for n in range(4)] == [[], [], [], ["full"]]
    # What another one has written over is not its own any more; nor is what it has taken away.
    assert dig(harness, b, 2, 5) == [] == dig(harness, a, 3)
    assert dig(harness, a, 4) == ["full"] and dig(harness, a, 3, 0) == [] == dig(harness, a, 4)
    assert dig(harness, b, 5) == [] == dig(harness, b, 6) and dig(harness, b, 7) == ["full"]
    game = a.host.node.game
    game.plots[[(n, 9) for n in range(2)]] = 3
    harness.run(2 * COUNT_EVERY)
    assert sum(game.plots.counts().values()) == 8
    with pytest.raises(Refused, match="no room left"):
        game.plots[9, 9] = 3
    game.plots[0, 9] = 4
    harness.run(1000)
    assert values(harness, "plots", (0, 9)) == {4}, "that tile has a value already"
    assert dig(harness, b, 6, 0) == []
    game.plots[9, 9] = 3
    harness.run(2 * COUNT_EVERY)
    assert len([value for value in in_store(harness, queue("plots")).values() if value]) == 8


def test_nobody_gets_beyond_a_limit_by_writing_on_many_tiles_at_once():
    harness, a, _ = world(play=Plots)
    plots = a.host.node.game.plots
    with pytest.raises(Refused, match="as many tiles as one person may have"):
        plots.write([(n, 5) for n in range(4)], 1, ADA)
    plots.write([(n, 5) for n in range(3)], 1, ADA)
    with pytest.raises(Refused, match="as many tiles as one person may have"):
        plots.write((9, 9), 1, ADA)
    with pytest.raises(Refused, match="no room left"):
        plots.write([(n, 6) for n in range(9)], 1)
    harness.run(2 * COUNT_EVERY)
    assert len(in_store(harness, queue("plots"))) == 3


@pytest.mark.parametrize("pause", [40, 500, 1000, 3000])
def test_the_limit_of_a_person_at_one_node_is_exact_however_fast_it_writes(pause):
    harness, a, _ = world(play=Plots)
    owners(a)
    for column in range(9):
        a.send(35, "dig", [column % 5, 1])
        harness.run(pause)
    harness.run(2 * COUNT_EVERY)
    assert len(in_store(harness, queue("plots"))) == 3 and "full" in a.model.errors
    a.model.errors.clear()
    assert dig(harness, a, 0, 2) == ["full"], "the node does not know whose it is"
    assert dig(harness, a, 0, 0) == [] == dig(harness, a, 7)


def test_an_address_may_write_so_much():
    harness, a, b = world(play=Plots)
    owners(a, b)
    limits = a.session.limits
    a.connection.address, b.connection.address = "192.0.2.1", "198.51.100.1"
    while limits.allow_address(WRITES, a.session.address):
        pass
    assert dig(harness, a, 0) == ["crowded"] and dig(harness, b, 0) == []
    assert dig(harness, a, 0) == [], "some seconds later"
    # What is refused as a whole does not count.
    a.send(35, "spread", [int(WRITES.burst) + 1])
    harness.run(100)
    assert a.model.errors.pop() == "crowded" and dig(harness, a, 0) == []


class Walls(Game):
    floor, worn = Cells(), Cells("sum")


def test_an_operator_undoes_what_a_person_has_written_last():
    harness, a, b = world(play=Walls)
    floor, worn = a.host.node.game.floor, a.host.node.game.worn
    floor.write([(0, 0), (1, 0), (40, 0)], 3, ADA)
    worn.write((0, 0), 4, ADA)
    harness.run(1000)
    for value in (5, 6):
        floor.write([(1, 0), (2, 0), (40, 0)], value, BOB)
        worn.write((0, 0), 10, BOB)
        harness.run(1000)
    squares = Rect(0, 0, 1, 0)
    play = b.host.node.play
    # Also who has only taken away what others had put there is found.
    floor.write((5, 5), 7, ADA)
    harness.run(1000)
    floor.write((5, 5), 0, BOB)
    harness.run(1000)
    assert play.undo(None, squares) == {BOB.hex(): 4, ADA.hex(): 1}
    assert play.undo(BOB.hex(), squares) == {BOB.hex(): 4}
    harness.run(1000)
    found = {tile: values(harness, "floor", tile) for tile in ((0, 0), (1, 0), (2, 0))}
    assert found == {(0, 0): {3}, (1, 0): {3}, (2, 0): {0}}
    assert values(harness, "worn", (0, 0)) == {4} and values(harness, "floor", (5, 5)) == {7}
    assert in_store(harness, queue("floor"))[40, 0] == 6, "it is in another square"
    assert play.undo(BOB.hex(), squares) == {}


class Steps(Game):
    steps, smoke = Cells(forget=60), Cells(kept=False, forget=2)


def test_what_is_old_is_forgotten_on_screens_and_in_the_store():
    harness, a, _ = world(play=Steps)
    steps = a.host.node.game.steps
    steps[[(1, 1), (2, 1)]] = 5
    harness.run(40_000)
    steps[2, 1] = 6
    harness.run(20_000 + FADE_EVERY)
    assert values(harness, "steps", (1, 1)) == {0} and values(harness, "steps", (2, 1)) == {6}
    harness.run(SWEEP_EVERY)
    assert in_store(harness, queue("steps")) == {(2, 1): 6}
    harness.run(COUNT_EVERY)
    assert steps.counts() == {6: 1}
    harness.run(60_000 + FADE_EVERY + SWEEP_EVERY)
    assert in_store(harness, queue("steps")) == {} and values(harness, "steps", (2, 1)) == {0}


def test_what_is_renewed_is_not_forgotten_and_stays_its_writers():
    harness, a, b = world(play=Steps)
    me = Me(a.host.node, a.host.node.residents.by_id[a.id])
    steps = a.host.node.game.steps
    me.write(steps, [(1, 1), (20, 1)], 5)
    harness.run(30_000)
    steps[2, 1] = 6
    steps.renew((0, 0), 40)
    harness.run(15_000)
    # The other node does so.
    b.host.node.game.steps.renew((0, 0), 40)
    harness.run(30_000)
    found = {tile: values(harness, "steps", tile) for tile in ((1, 1), (2, 1), (20, 1))}
    assert found == {(1, 1): {5}, (2, 1): {6}, (20, 1): {0}}
    owner = writer_of("", a.id).hex()
    assert a.host.node.play.undo(None, Rect(0, 0, 0, 0)) == {owner: 1}
    harness.run(30_000 + FADE_EVERY)
    assert values(harness, "steps", (1, 1)) == {0}


def test_what_is_not_kept_may_be_forgotten_within_seconds():
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


def test_all_rows_that_are_due_are_swept_some_at_a_time_also_where_nobody_is():
    harness, a, _ = world(play=Steps)
    steps = a.host.node.game.steps
    steps[[(n * 16, 500) for n in range(50)]] = 5
    harness.run(59_000)
    assert len(in_store(harness, queue("steps"))) == 50
    sizes = set()
    for _ in range(SWEEP_EVERY // 10 + 100):
        harness.run(10)
        sizes.add(len(in_store(harness, queue("steps"))))
    assert sizes == {50, 30, 10, 0} and not store_of(harness).count(queue("steps"))
    harness.run(COUNT_EVERY)
    assert steps.counts() == {}


class Fading(Game):
    plots, worn = Cells("first", kept="first", forget=60), Cells("sum", forget=60)
    claims, peak = Cells("first", forget=60), Cells("most", forget=60)


def test_what_is_forgotten_does_not_count_though_it_is_in_the_store_still(monkeypatch):
    monkeypatch.setattr(rows.Rows, "fade", lambda *_, **__: False)
    harness, a, _ = world(play=Fading)
    game = a.host.node.game
    layers = {"plots": game.plots, "worn": game.worn, "claims": game.claims, "peak": game.peak}
    for cells in layers.values():
        cells[3, 4] = 200
    harness.run(75_000)
    assert all(values(harness, name, (3, 4)) == {0} for name in layers)
    for cells in layers.values():
        cells[3, 4] = 9
    harness.run(3000)
    for name in layers:
        assert values(harness, name, (3, 4)) == {9}
        assert in_store(harness, queue(name)) == {(3, 4): 9}
        assert layers[name].counts() == {9: 1}


@pytest.mark.parametrize("pause", [0, 20])
def test_sums_of_a_world_without_a_store_have_all_that_a_node_adds(pause):
    harness, a, _ = world(play=Ways, stored=False)
    for _ in range(20):
        a.host.node.game.worn[3, 4] = 3
        harness.run(pause)
    harness.run(1000)
    assert values(harness, "worn", (3, 4)) == {60}


def test_writes_that_cannot_count_are_not_published():
    harness, a, _ = world(play=Ways)
    a.host.node.game.stone[3, 4] = 5
    harness.run(1000)
    layer = a.host.node.game.stone.layer
    a.host.node.game.stone[3, 4] = 6
    assert not layer._written and values(harness, "stone", (3, 4)) == {5}


def test_what_is_not_kept_is_asked_of_the_others_once_a_minute():
    harness, a, b = world(nodes=3, play=Ways)[:3]
    # The first node has nobody near, so that its signs end.
    writer, link = harness.hosts[0], harness.hosts[1].broker
    writer.node.movement.put(writer.node.residents.by_id[a.id], (900 * UNIT, 900 * UNIT))
    harness.run(10_000)
    harness.network.cuts.add((writer.broker, link))
    harness.network.cuts.add((link, writer.broker))
    writer.node.game.sand[20, 4] = 7
    harness.run(15_000)
    assert values(harness, "sand", (20, 4)) == {0, 7}
    harness.network.heal()
    harness.run(AGAIN + 5000)
    assert values(harness, "sand", (20, 4)) == {7}
