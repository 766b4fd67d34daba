"""Operators undo what one person wrote last, and nothing else."""

import pytest

from flatlands.server.game.actions import action, number
from flatlands.server.game.cells import Cells, writer_of
from flatlands.server.game.game import Game
from flatlands.server.storage.boards import owner_of
from flatlands.server.storage.rows import ZERO_FOR_MS, Rows, Write
from flatlands.stores.base import NEVER_DUE_MS
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from flatlands.world.grid import Rect
from flatlands.world.tiles import RULE_LAST, next_stamp
from tests.server.harness import Broken
from tests.server.test_cells import in_store, store_of, world
from tests.server.test_ground import values

ADA, BOB, CARL = (writer_of(owner_of(f"key {n}")) for n in range(3))
HERE = Rect(0, 0, 0, 0)


class Walls(Game):
    floor, worn = Cells(), Cells("sum")

    @action(rate=50, burst=50)
    def dig(self, me, column: int = number(-99, 99), value: int = number(0, 9)):
        me.write(self.floor, (column, 1), value)


def written(*writes):
    """Return a harness and its second node's play, after writes (who, value, ms) at (3, 4)."""
    harness, a, b = world(play=Walls)
    for who, value, ms in writes:
        a.host.node.game.floor.write((3, 4), value, who)
        harness.run(ms)
    return harness, b.host.node.play


def test_a_value_that_others_have_written_since_stays():
    harness, play = written((ADA, 3, 1000), (BOB, 5, 1000), (CARL, 9, 10))
    play.content.undo(BOB.hex(), HERE)
    harness.run(2000)
    assert values(harness, "floor", (3, 4)) == {9}


def test_a_player_that_writes_the_value_that_is_there_has_changed_nothing():
    harness, play = written((ADA, 3, 1000), (BOB, 5, 1000), (CARL, 5, 1000))
    assert play.content.undo(None, HERE) == {BOB.hex(): 1} == play.content.undo(BOB.hex(), HERE)
    harness.run(1000)
    assert values(harness, "floor", (3, 4)) == {3}


def test_the_previous_value_is_known_though_both_wrote_within_a_moment():
    harness, play = written((ADA, 3, 20), (BOB, 5, 1000))
    assert play.content.undo(BOB.hex(), HERE) == {BOB.hex(): 1}
    harness.run(1000)
    assert values(harness, "floor", (3, 4)) == {3}


def test_sums_are_taken_back_once_however_often_an_operator_asks():
    harness, a, b = world(play=Walls)
    worn = a.host.node.game.worn
    worn.write((3, 4), 4, ADA)
    harness.run(20)
    worn.write((3, 4), 10, BOB)
    harness.run(1000)
    assert values(harness, "worn", (3, 4)) == {14}
    for host in (a.host, b.host, a.host):
        host.node.play.content.undo(BOB.hex(), HERE)
        harness.run(50)
    harness.run(1000)
    assert values(harness, "worn", (3, 4)) == {4}


def test_the_previous_value_is_known_though_the_store_failed_in_between():
    harness, a, b = world(play=Walls)
    floor, spawn, asked = a.host.node.game.floor, a.host.spawn, []
    a.host.spawn = lambda call, *arguments: asked.append((call, arguments))
    floor.write((3, 4), 3, ADA)
    harness.run(1000)
    floor.write((3, 4), 5, BOB)
    a.host.spawn = spawn
    for call, (_store, *rest) in asked:
        call(Broken(), *rest)
    harness.run(2000)
    assert b.host.node.play.content.undo(BOB.hex(), HERE) == {BOB.hex(): 1}
    harness.run(1000)
    assert values(harness, "floor", (3, 4)) == {3}


def test_a_player_without_a_key_can_be_undone_too():
    harness, a, b = world(play=Walls)
    a.send(35, "dig", [3, 7])
    harness.run(1000)
    [who] = b.host.node.play.content.undo(None, HERE)
    assert int(who, 16) == a.id
    b.host.node.play.content.undo(who, HERE)
    harness.run(1000)
    assert values(harness, "floor", (3, 1)) == {0} and in_store(harness, queue("floor"))[3, 1] == 0
    # A zero is kept for a day, so that older writes do not count.
    harness.run(1000)
    [item] = store_of(harness).each(queue("floor"))
    assert ZERO_FOR_MS - 10_000 < item.delay <= ZERO_FOR_MS


def queue(layer):
    return f"tiles test_undo.{layer} 2013-16"


@pytest.mark.parametrize("zero", [False, True])
def test_a_row_is_due_when_one_of_its_values_is_to_be_forgotten(zero):
    clock = Clock()
    store, rows = shared_stores(clock)(), Rows("some", RULE_LAST, NEVER_DUE_MS, owners=False)
    for place, value in ((5, 7), (6, 0))[: 1 + zero]:
        write = Write(value, next_stamp(clock.time, 1, 0))
        rows.give(store, {(0, 0): {place: write}}, {}, clock.time)
    clock.time += ZERO_FOR_MS + 1
    assert not rows.fade(store, 20, clock.time)
    [item] = store.each("some")
    places = [tile.tile_index for _, tile in rows.read(store, [(0, 0)])]
    assert item.delay > 9 * ZERO_FOR_MS and places == [5]


def test_any_number_of_people_may_write_on_the_tiles_of_one_row():
    clock = Clock()
    store, rows = shared_stores(clock)(), Rows("some", RULE_LAST, NEVER_DUE_MS, owners=True)
    for turn in range(2):
        clock.time += 1
        people = [(turn * 512 + place + 1).to_bytes(8, "big") for place in range(512)]
        writes = {
            place: Write(place % 255 + 1, next_stamp(clock.time, 1, 0), who)
            for place, who in enumerate(people)
        }
        rows.give(store, {(0, 0): writes}, {}, clock.time)
    assert len(rows.owners(store, 1)) == 512
