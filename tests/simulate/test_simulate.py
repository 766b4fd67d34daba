"""The simulator itself: its worlds are right, it finds faults, and it plays a world again."""

import json
import random
import time

import pytest

from flatlands.server.game import delivery
from flatlands.server.game.cell_layer import CellLayer
from flatlands.server.game.delivery import Delivery
from flatlands.server.players.residents import Residents
from flatlands.server.players.takeovers import Takeovers
from flatlands.server.squares import subscription
from flatlands.server.squares.layers import LayerRegistry
from flatlands.server.squares.subscription import Subscription
from flatlands.stores.sqlite import SqliteStore
from flatlands.testkit.search import SHORT, Step
from flatlands.world import batches
from tests.processes import ROOT
from tests.simulate.__main__ import play, search
from tests.simulate.steps import WHAT, Plan, World, plan

fails = search.fails
shrink = search.shrink


#: Seeds of worlds of which each takes as long as ten others.
LONG = {15, 30}


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(at, marks=pytest.mark.outside) if at in LONG else at
        for at in range(40)
        if not plan(at).herd
    ],
)
def test_the_world_of_a_seed_is_right(seed):
    assert fails(plan(seed)) == ""


@pytest.mark.parametrize("seed", [264, 535, 641, 676])
def test_each_apple_is_given_once_and_shown_where_it_lies(seed):
    assert plan(seed).things and fails(plan(seed)) == ""


@pytest.mark.outside
@pytest.mark.parametrize("seed", [600507])
def test_each_mover_is_at_one_node(seed):
    assert plan(seed).movers and fails(plan(seed)) == ""


def test_a_world_is_the_same_when_it_is_played_again():
    some = plan(7)
    assert some == plan(7) != plan(8)
    states = []
    for _ in range(2):
        play(some)
        states.append(random.getstate())
    assert states[0] == states[1]


#: What was once wrong -> the world in which it was: seed, nodes, skew and free; what it has; steps.
GHOSTS = json.loads((ROOT / "tests/vectors/ghosts.json").read_text())


# Worlds with computer players are those of a game that has some.
@pytest.mark.parametrize("what", [one for one, (_, has, _) in GHOSTS.items() if "herd" not in has])
def test_a_world_that_was_wrong_once_is_right(what):
    plan, has, steps = GHOSTS[what]
    assert (
        fails(Plan(*plan, tuple([Step(*step) for step in steps]), **dict.fromkeys(has, True))) == ""
    )


def test_every_deed_can_be_done_in_an_empty_world():
    steps = tuple(Step(1, what, 1, 2, 3) for what in WHAT)
    assert fails(Plan(1, 1, 0, True, steps)) == ""


def test_an_empty_world_has_nobody_to_compare_and_one_with_two_has():
    world = World(Plan(1, 2, 0, True, ()))
    for n in range(2):
        world.play(Step(0, "join", n, n, 0))
    world.run(1000)
    believed = [len(client.model.players) for client in world.harness.clients]
    assert believed == [2, 2]


@pytest.mark.parametrize("what", ["is not adopted", "is kept too late"])
def test_what_is_lost_on_the_ground_is_found(what, monkeypatch):
    steps = [Step(0, "join", 0, 0, 0), Step(0, "join", 1, 0, 0), Step(900, "walk", 0, 2, 1)]
    if what == "is not adopted":
        steps.append(Step(2000, "kill", 0, 0, 0))
    else:
        steps += [Step(2000, "walk", 0, 1, 1), Step(1500, "kill", 0, 0, 0)]
    world = Plan(1, 2, 0, True, tuple(steps), cells=True)
    assert fails(world) == ""
    monkeypatch.setattr(LayerRegistry, "_check", lambda self: None)
    save = CellLayer.save
    monkeypatch.setattr(
        CellLayer, "save", lambda self: self.persist == "write-through" and save(self)
    )
    assert "ground.floor: " in fails(world)


def forget_partings(monkeypatch):
    """A player that comes back undimmed, and has not walked, still leaves later, while it plays."""
    attach = Residents.attach

    def faulty(self, resident, screen, view):
        parting = resident in self._partings._due
        due = self._partings._due.get(resident, (0, 0))[0]
        attach(self, resident, screen, view)
        if parting and not resident.ack:
            self._partings.put(resident, due)

    monkeypatch.setattr(Residents, "attach", faulty)


def let_go_for_nothing(monkeypatch):
    """A node that gave up a player never tells that it has gone."""
    monkeypatch.setattr(Takeovers, "_vanish", lambda self, id, due: None)


def believe_nobody_again(monkeypatch):
    """A player of which another node has told more is never announced again."""
    monkeypatch.setattr(Takeovers, "_raise_seq_above", lambda self, id, seq: None)


def never_say_it_again(monkeypatch):
    """A node sends no keepalives in quiet squares, so nobody asks for a lost last message."""
    for method in ("_compare_keepalive", "_apply_empty_keepalive"):
        monkeypatch.setattr(Subscription, method, lambda self, keepalive: None)


def never_miss_anybody(monkeypatch):
    """A living node that is silent in a square keeps its players there."""
    monkeypatch.setattr(subscription, "SILENT_AFTER", 10**9)


def name_another_slot(monkeypatch):
    """Now and then a record names the slot below its player's."""
    monkeypatch.setattr(
        batches,
        "_pack_narrow",
        lambda slot, seq, *rest: batches.RECORD.pack(max(slot - (seq % 5 == 0), 0), seq, *rest),
    )


def leave_things(monkeypatch):
    """A store gives away what is taken, but keeps it."""
    take = SqliteStore.take

    def faulty(self, queue, id, then=(), scores=(), *, only=None):
        if not queue.startswith("things "):
            return take(self, queue, id, then, scores, only=only)
        found = [item.body for item in self.scan(queue, 500) if item.id == id]
        return found[0] if found and only in (None, found[0]) else None

    monkeypatch.setattr(SqliteStore, "take", faulty)


def deliver_again(monkeypatch):
    """A node forgets at once which messages it has delivered for other nodes."""
    monkeypatch.setattr(delivery, "REMEMBERED_MS", 0)


def lose_answers(monkeypatch):
    """A node never learns that another one has delivered its message."""
    monkeypatch.setattr(Delivery, "on_delivered", lambda self, message: None)


#: Each fault, and a seed from which a world that shows it is soon found and shrunk: finding and
#: shrinking the first one may take a minute.
FAULTS = [
    (forget_partings, 224),
    (let_go_for_nothing, 744),
    (leave_things, 639),
    (deliver_again, 12),
    (lose_answers, 6),
    (believe_nobody_again, 110),
    *(
        pytest.param(fault, first, marks=pytest.mark.interpreted)
        for fault, first in (
            (name_another_slot, 152),
            (never_say_it_again, 713),
            (never_miss_anybody, 571),
        )
    ),
]


@pytest.mark.parametrize(("fault", "first"), FAULTS)
def test_a_fault_is_found_and_shrunk_to_a_short_story(fault, first, monkeypatch):
    fault(monkeypatch)
    seed = next(seed for seed in range(first, first + 2000) if fails(plan(seed)))
    short = shrink(plan(seed), time.monotonic() + 600)
    assert fails(short)
    assert len(short.steps) <= SHORT
