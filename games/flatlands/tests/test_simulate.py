"""Random worlds in which Flatlands is played."""

import json

import pytest

from flatlands.testkit.search import Step
from games.flatlands.tests.simulate import World, search
from tests.processes import ROOT
from tests.simulate.steps import Plan, plan

fails = search.fails

#: Worlds with a herd, of which one writes on the ground: each such takes as long as all others.
HERDS = [
    *(at for at in range(40) if plan(at).herd and not plan(at).cells),
    pytest.param(10, marks=pytest.mark.outside),
]


@pytest.mark.parametrize("seed", HERDS)
def test_the_world_of_a_seed_with_computer_players_is_right(seed):
    assert fails(plan(seed)) == ""


@pytest.mark.parametrize("seed", [114, 122, 165])
def test_each_gem_is_given_once_and_shown_where_it_lies(seed):
    assert plan(seed).things and fails(plan(seed)) == ""


#: What was once wrong -> the world in which it was: seed, nodes, skew and free; what it has; steps.
GHOSTS = json.loads((ROOT / "tests/vectors/ghosts.json").read_text())


@pytest.mark.parametrize("what", [what for what, (_, has, _) in GHOSTS.items() if "herd" in has])
def test_a_world_with_computer_players_that_was_wrong_once_is_right(what):
    first, has, steps = GHOSTS[what]
    some = tuple(Step(*step) for step in steps)
    assert fails(Plan(*first, some, **dict.fromkeys(has, True))) == ""


def test_a_world_with_a_herd_has_all_of_it():
    world = World(Plan(1, 2, 0, True, (), herd=True))
    world.run(5000)
    assert sum(len(host.node.residents.by_id) for host in world.harness.hosts) == World.herd == 6
