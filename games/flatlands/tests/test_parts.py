"""A part of Flatlands is a folder: without it the game and its page go on."""

import re
import sys
from itertools import combinations

import pytest
from werkzeug import Response

from flatlands.server.game import loader
from flatlands.server.web.pages import STATIC, StaticFiles
from flatlands.testkit import simulate
from tests.processes import ROOT

FLATLANDS = ROOT / "games" / "flatlands"

#: The parts, each of which can be left out.
PARTS = [path.parent.name for path in sorted(FLATLANDS.glob("*/part.py"))]

#: The names of the modules of the game.
MODULES = "flatlands.games.flatlands."


#: The seed of a short world in which players ask for many actions.
SEED = 15


def play(copy):
    """Play the game in a random world, and join its page."""
    simulate.play("flatlands", lambda world: None, simulate.plan(SEED))
    page = loader.GameMaker("flatlands", None, alone=True).page
    assert page == copy / "page"
    StaticFiles(STATIC, Response(status=404), page=page)


@pytest.mark.parametrize("part", PARTS)
def test_the_game_is_played_without_a_part(without, part):
    play(without(part))
    loaded = {name for name in sys.modules if name.startswith(MODULES)}
    assert f"{MODULES}game" in loaded
    assert not any(name.startswith(f"{MODULES}{part}") for name in loaded)


def test_the_game_is_played_without_all_parts(without):
    play(without(*PARTS))


@pytest.mark.outside
@pytest.mark.parametrize("pair", list(combinations(PARTS, 2)), ids="-".join)
def test_the_game_is_played_without_two_parts(without, pair):
    play(without(*pair))


def test_nothing_imports_a_part():
    """Except the part itself: so whoever deletes its folder has a game without it."""
    for path in FLATLANDS.rglob("*.py"):
        own, *rest = path.relative_to(FLATLANDS).parts
        if "tests" not in (own, *rest):
            named = set(re.findall(r"games\.flatlands(?:\.| import )(\w+)", path.read_text()))
            assert not (named & set(PARTS)) - {own}, path
