"""docs/make-a-world.md: each snippet does what the page says, and runs."""

import re
import sys

import psutil
import pytest

from flatlands.__main__ import COMMANDS, main
from flatlands.loadtest.kit.processes import Program
from flatlands.server.game import loader
from flatlands.server.web.joined import join_modules
from flatlands.testkit import World
from flatlands.testkit.simulate import plan, search
from tests.brokers.servers import eventually
from tests.processes import ROOT, python
from tests.typescript import CHECK, ran

PAGE = (ROOT / "docs" / "make-a-world.md").read_text()


def snippets(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


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


@pytest.mark.process
def test_what_ends_a_command_ends_all_that_it_has_started(folder):
    command = [sys.executable, "-m", "flatlands", "simulate", str(folder), "--seconds", "60"]
    with Program(command, "the command") as program:
        process = psutil.Process(program.process.pid)
        eventually(lambda: "flatlands.testkit.simulate" in process.cmdline(), "it runs")
        assert process.children() == []


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
    told = "\n".join(snippets("sh"))
    listed = re.findall(r"^- `(flatlands \w+)", PAGE, re.M)
    assert set(re.findall(r"flatlands (\w+)", "\n".join([told, *listed]))) == {"new", *COMMANDS}
    for picture in re.findall(r"\]\((pictures/[\w.-]+)\)", PAGE):
        assert (ROOT / "docs" / picture).is_file(), picture
