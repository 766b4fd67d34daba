"""docs/make-a-world.md: each snippet does what the page says, and runs."""

import re

import pytest

from flatlands.__main__ import COMMANDS, main
from flatlands.server.game import loader
from flatlands.server.web.joined import join_modules
from flatlands.testkit import World
from flatlands.testkit.simulate import plan, search
from tests.processes import ROOT, python
from tests.typescript import CHECK, ran

PAGE = (ROOT / "docs" / "make-a-world.md").read_text()


GAMES = (ROOT / "docs" / "games.md").read_text()


def snippets(language, page=PAGE):
    return re.findall(rf"```{language}\n(.*?)```", page, re.S)


@pytest.fixture
def folder(tmp_path):
    """The folder of an author that has followed the page to its end."""
    folder = tmp_path / "coins"
    assert main(["new", str(folder)]) == 0
    game, tests = snippets("python")
    [page] = snippets("js")
    (folder / "game.py").write_text(game)
    (folder / "page" / "main.js").write_text(page)
    (folder / "tests" / "test_game.py").write_text(tests)
    return folder


def test_the_game_of_the_page_is_played(folder):
    world = World(folder)
    ada = world.join("Ada", at=(0, 0))
    world.run(1)
    coins = ada.things("Coin")
    assert len(coins) > 5 and {coin.values["worth"] for coin in coins} <= {1, 2, 3}
    ada.walk(1, 0)
    world.run(2)
    assert ada.tiles("floor")


def test_its_tests_pass(folder):
    code = compile((folder / "tests" / "test_game.py").read_text(), "test_game.py", "exec")
    names = {"__file__": str(folder / "tests" / "test_game.py")}
    exec(code, names)
    tests = [call for name, call in names.items() if name.startswith("test_")]
    assert len(tests) == 1
    for test in tests:
        test()


def test_random_worlds_of_it_are_right(folder):
    worlds = search(folder)
    assert not any(worlds.fails(plan(seed)) for seed in range(4))


def test_its_page_can_be_joined(folder):
    page = loader.GameMaker(str(folder), None, alone=True).page
    sources = {path.name: path.read_text() for path in (ROOT / "static").glob("*.js")}
    sources |= {path.name: path.read_text() for path in page.glob("*.js")}
    assert "game.draw.thing('Coin'" in join_modules(sources, "main.js")


@pytest.mark.process
def test_its_page_is_right_by_the_types_of_its_game(folder):
    assert python("-m", "flatlands", "types", folder).returncode == 0
    assert ran("node", CHECK, folder / "page" / "jsconfig.json") == ""


def test_its_commands_and_pictures_are_there():
    told = " ".join(snippets("sh"))
    assert set(re.findall(r"flatlands (\w+)", told)) == {"new", *COMMANDS}
    for picture in re.findall(r"\]\((pictures/[\w.-]+)\)", PAGE):
        assert (ROOT / "docs" / picture).is_file(), picture


def test_a_flag_that_is_carried_is_with_one_player_whatever_dies():
    [snippet] = [it for it in snippets("python", GAMES) if "class Flag" in it]
    names = {"__name__": "flatlands_game_flag"}
    exec(snippet, names)
    world = World(names["Game"], nodes=2)
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(6, 0))
    world.run(1)
    for player in (ada, bob):
        player.go(3.5, 0.5)
    world.run(5)
    [flag] = ada.things()
    first = next(one for one in (ada, bob) if one.id == flag.values["carrier"])
    world.kill(first.node)
    first.back(1 - first.node)
    world.run(5)
    world.check()
    assert [thing.values for thing in first.things()] == [flag.values]
