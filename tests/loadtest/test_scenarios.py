"""Where bots go next."""

import math
from itertools import pairwise
from random import Random
from types import SimpleNamespace

import pytest

from flatlands.loadtest.swarm.command import main
from flatlands.loadtest.swarm.scenarios import AROUND, OWN, RING, SCENARIOS, scenario


def explorer(x, y, *, halted=False):
    """Return a bot at a place, in tiles, and the list of its walks."""
    walks = []
    bot = SimpleNamespace(
        turn=0, halted=halted, place=lambda: (x, y), walk=lambda *way: walks.append(way)
    )
    bot.random = Random(1)
    return bot, walks


@pytest.mark.parametrize("angle", range(0, 360, 7))
def test_an_explorer_walks_away_from_the_plaza_and_each_move_is_a_new_one(angle):
    x, y = (RING * at(math.radians(angle)) for at in (math.cos, math.sin))
    bot, walks = explorer(x, y)
    for _ in range(5):
        SCENARIOS["explore"].move(bot)
    assert all(way in AROUND and x * way[0] + y * way[1] > 0 for way in walks)
    assert len(walks) == 5 and all(one != other for one, other in pairwise(walks))


def test_an_explorer_whose_way_is_blocked_tries_other_ways():
    bot, walks = explorer(RING, 0, halted=True)
    for _ in range(300):
        SCENARIOS["explore"].move(bot)
    assert set(walks) == set(AROUND)


HOME = -3, 20


def patrols_to(x, y, *, halted=False):
    """Return where a bot on patrol goes from a place, both in tiles from its home."""
    goals = []
    bot = SimpleNamespace(
        home=HOME,
        halted=halted,
        place=lambda: (HOME[0] + x, HOME[1] + y),
        go=lambda *to: goals.append(tuple(at - home for at, home in zip(to, HOME, strict=True))),
        random=Random(1),
    )
    SCENARIOS["patrol"].move(bot)
    (goal,) = goals
    return goal


@pytest.mark.parametrize("along", [0, 0.1, 5, 9])
def test_a_patrol_goes_along_each_side_of_its_field_to_the_corner(along):
    assert patrols_to(along, 0) == (10, 0)
    assert patrols_to(10, along) == (10, 10)
    assert patrols_to(10 - along, 10) == (0, 10)
    assert patrols_to(0, 10 - along) == (0, 0)


def test_a_patrol_turns_at_each_corner():
    corners = [(0, 0), (10, 0), (10, 10), (0, 10)]
    for here, there in pairwise([*corners, corners[0]]):
        for way in AROUND:
            x, y = (at + 0.02 * by for at, by in zip(here, way, strict=True))
            assert patrols_to(x, y) == there == patrols_to(x, y, halted=True)


def test_a_patrol_whose_way_is_blocked_goes_around():
    assert patrols_to(5, 0, halted=True) not in [(10, 0), (5, 0)]


def test_the_help_lists_each_scenario(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert {"patrol", *SCENARIOS} <= set(capsys.readouterr().out.split())


def test_a_file_is_a_scenario_with_a_plan_of_its_own(tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text("PLAN = {'rate': 9, 'stay': 5}\ndef turn(bot):\n    bot.walk(0, 1)\n")
    bot, walks = explorer(0, 0)
    own = scenario(str(mine), "")
    own.move(bot)
    assert (walks, own.rate, own.stay, own.see, own.share) == ([(0, 1)], 9, 5, True, 20)
    for code, sentence in (
        ("PLAN = {}", "has no function turn"),
        ("PLAN = {'speed': 1}\ndef turn(bot): 0", "unexpected keyword argument 'speed'; PLAN may "),
        ("1 / 0", "fails: ZeroDivisionError: division by zero"),
    ):
        mine.write_text(code)
        with pytest.raises(ValueError, match=sentence):
            scenario(str(mine), "")


def test_the_bots_of_a_game_have_turns(tmp_path):
    (tmp_path / "bot.py").write_text("TICKET = 'tulip'\ndef turn(bot):\n    bot.walk(1, 0)\n")
    bot, walks = explorer(0, 0)
    own = scenario(OWN, str(tmp_path))
    own.move(bot)
    assert walks == [(1, 0)] and own.ticket == "tulip"
    assert scenario(OWN, "paint").move.__module__ == "<run_path>"
    for game in ("quiet", "typo", "..", str(tmp_path / "page" / "nothing.py")):
        with pytest.raises(ValueError, match="has no bot.py with a function turn"):
            scenario(OWN, game)
