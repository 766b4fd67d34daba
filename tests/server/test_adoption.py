"""Values that a node has shown on the ground outlive it, whatever its store, link and clock do."""

import pytest

from flatlands.server.game.cells import Cells
from flatlands.server.game.game import Game
from flatlands.server.squares.layers import RECEIVED_CHECKED_AFTER_MS
from flatlands.server.storage.rows import TILE
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from flatlands.world.grid import Rect
from flatlands.world.track import UNIT
from tests.server.harness import Harness
from tests.server.test_cells import fail, in_store, seen, store_of, world
from tests.server.test_ground import ADA, BOB

QUEUE = "tiles test_adoption.floor 2013-16"


class Floor(Game):
    floor, sand = Cells(per_owner=10), Cells(persist=False)


def go_away(client):
    """Put a client's player far away, so that its node does not receive where it was."""
    node = client.host.node
    node.movement.put(node.residents.by_id[client.id], (400 * UNIT, 400 * UNIT))


@pytest.mark.parametrize("end", ["kill", "stop", "lose"])
def test_the_writer_is_known_even_when_others_have_adopted_its_write(end):
    harness, a, b = world(play=Floor)
    for value, who, ms in ((3, ADA, 6000), (5, BOB, 1000)):
        a.host.node.game.floor.write((3, 4), value, who)
        harness.run(ms)
    if end == "lose":
        a.host.broker.fail()
        harness.run(8000)
        a.host.broker.restore(a.host.node)
    else:
        getattr(harness, end)(a.host)
    harness.run(10_000)
    [item] = store_of(harness).each(QUEUE)
    [(_, value, _, before, who)] = TILE.iter_unpack(item.body)
    assert (value, before, who) == (5, 3, BOB)
    assert dict(store_of(harness).top(f"{QUEUE} owners", 9))[BOB.hex()] == 1
    assert b.host.node.play.content.undo(BOB.hex(), Rect(0, 0, 0, 0)) == {BOB.hex(): 1}
    harness.run(1000)
    assert b.host.node.game.floor[3, 4] == 3


@pytest.mark.parametrize("lived", [100, 30_000])
def test_a_write_that_a_living_node_could_not_keep_is_kept_when_it_dies(monkeypatch, lived):
    harness, a, b = world(play=Floor)
    monkeypatch.setattr(a.host.node.store_client, "ask", fail)
    a.host.node.game.floor[3, 4] = 7
    harness.run(lived)
    assert seen(b, (3, 4)) == 7 and in_store(harness, QUEUE) == {}
    unstored = b.host.node.square_context.layer_registry._unstored
    assert [len(some) for some in unstored.values()] == [1] * (lived > RECEIVED_CHECKED_AFTER_MS)
    harness.kill(a.host)
    go_away(b)
    harness.run(10_000)
    assert (0, 0) not in b.host.node.subscriptions.by_square
    assert in_store(harness, QUEUE) == {(3, 4): 7} and not unstored


def test_a_write_is_held_until_its_writer_says_that_the_store_has_it():
    harness, a, b = world(play=Floor)
    a.host.node.game.floor[3, 4] = 7
    harness.run(30_000)
    assert in_store(harness, QUEUE) == {(3, 4): 7} and seen(b, (3, 4)) == 7
    assert not b.host.node.square_context.layer_registry._unstored


def test_a_node_that_stood_still_when_another_one_died_keeps_what_it_had_heard():
    harness, a, b = world(play=Floor)
    a.host.node.game.floor[3, 4] = 7
    harness.run(20)
    b.host.freeze()
    a.walk(0, 1)
    harness.run(80)
    assert seen(b, (3, 4)) == 7 and in_store(harness, QUEUE) == {}
    harness.kill(a.host)
    harness.run(2500)
    b.host.thaw()
    harness.run(100)
    go_away(b)
    harness.run(12_000)
    assert in_store(harness, QUEUE) == {(3, 4): 7}


def test_a_node_that_stops_keeps_what_it_had_heard_of_a_dead_one():
    harness, a, b = world(play=Floor)
    a.host.node.game.floor[3, 4] = 7
    harness.run(100)
    harness.kill(a.host)
    harness.run(1000)
    store = store_of(harness)
    assert b.host.node.play.finish()
    assert [item.group for item in store.each(QUEUE)] == ["0:0"]


def test_an_adopted_write_is_told_to_a_node_that_asks_while_the_store_is_away(monkeypatch):
    harness, a, b = world(play=Floor)
    for host in harness.hosts:
        monkeypatch.setattr(host.node.store_client, "ask", fail)
    a.host.node.game.floor[3, 4] = 7
    harness.run(100)
    harness.kill(a.host)
    harness.run(25_000)
    late = harness.host()
    with monkeypatch.context() as patch:
        patch.setattr(late.node.store_client, "ask", fail)
        harness.run(2000)
        c = harness.place("c", (0, 0), host=late)
        harness.run(5000)
        assert seen(c, (3, 4)) == 7
        harness.kill(b.host)
        harness.run(3000)
    harness.run(100_000)
    assert in_store(harness, QUEUE) == {(3, 4): 7}


def test_a_clock_that_is_an_hour_fast_does_no_harm_when_its_node_has_gone():
    clock = Clock()
    harness = Harness(nodes=2, clock=clock, ready=True, play=Floor, stores=shared_stores(clock))
    a, _ = (harness.place(str(n), (n, 0), host=host) for n, host in enumerate(harness.hosts))
    harness._skew = 1_800_000
    fast = harness.host()
    harness.run(2000)
    harness.place("fast", (0, 1), host=fast)
    harness.run(1000)
    fast.node.game.floor[3, 4] = fast.node.game.sand[3, 4] = 7
    harness.run(1000)
    harness.stop(fast)
    harness.run(15_000)
    a.host.node.game.floor[3, 4] = a.host.node.game.sand[3, 4] = 5
    harness.run(1000)
    for layer in ("floor", "sand"):
        assert {getattr(host.node.game, layer)[3, 4] for host in harness.hosts} == {5}


@pytest.mark.parametrize("layer", ["floor", "turf"])
def test_two_writes_of_one_node_have_two_stamps_before_the_first_one_is_back(layer):
    play = type("Turf", (Floor,), {"turf": Cells(persist="write-through")})
    harness, a, b = world(play=play, skew=-3_600_000)
    getattr(a.host.node.game, layer)[3, 4] = 9
    harness.run(1000)
    cells = getattr(b.host.node.game, layer)
    harness.network.delay = 200
    cells[3, 4] = 5
    cells.layer.save()
    harness.run(1)
    cells[3, 4] = 2
    harness.network.delay = 0
    harness.run(3000)
    assert {getattr(host.node.game, layer)[3, 4] for host in harness.hosts} == {2}
