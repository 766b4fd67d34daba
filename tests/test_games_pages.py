"""docs/games/: each page begins with an example of at most 15 lines, which does what it says."""

import json
import os
import re
import shlex
import shutil
import sys
import urllib.request

import pytest
from itsdangerous import URLSafeTimedSerializer

from flatlands.loadtest.kit.processes import Program
from flatlands.testkit import World
from tests.brokers.servers import free_port
from tests.browser.pages import eventually
from tests.inside import inside
from tests.processes import PATIENCE, ROOT, clean_environment, python
from tests.socket_client import SocketClient
from tests.typescript import CHECK, ran

FOLDER = ROOT / "docs" / "games"
PAGES = sorted(page.stem for page in FOLDER.glob("*.md") if page.name != "README.md")
TEMPLATE = ROOT / "flatlands" / "template" / "page"

#: The most lines of the example with which a page begins.
LINES_MOST = 15


def text(page):
    return (FOLDER / f"{page}.md").read_text()


def example(page, number=0):
    """Return an example of a page, and its language."""
    return re.findall(r"```(\w+)\n(.*?)```", text(page), re.S)[number][::-1]


@pytest.fixture
def played(tmp_path):
    """Return a function that writes a Python example of a page as a game, and returns its path."""

    def write(page, number=0):
        source, language = example(page, number)
        assert language == "python"
        path = tmp_path / f"{page.lower()}{number}.py"
        path.write_text(source)
        return path

    return write


@pytest.fixture
def folder(tmp_path, played):
    """Return a function that makes a folder of the game with which a page begins, and of a page of
    its own with the `modules` that are given by name."""

    def make(page, modules):
        made = tmp_path / "made"
        (made / "page").mkdir(parents=True)
        for name in ("index.html", "game.css"):
            shutil.copy(TEMPLATE / name, made / "page")
        for name, module in modules.items():
            (made / "page" / name).write_text(module)
        source = played(page).read_text()
        (made / "game.py").write_text(source.replace("    ground", '    page = "page"\n    ground'))
        return made

    return make


def wrong(made):
    """Return what TypeScript finds in the page of a game."""
    assert python("-m", "flatlands", "types", made).returncode == 0
    return ran("node", CHECK, made / "page" / "jsconfig.json")


def told(player, name):
    """Return the fields of all messages of a name, in order."""
    return [more[1] for what, _, more in player.events if what == "message" and more[0] == name]


def test_the_first_page_lists_all_others():
    listed = re.findall(r"^\| \[[^]]+\]\((\w+)\.md\)", text("README"), re.M)
    assert sorted(listed) == PAGES
    assert len(text("README").splitlines()) < 80 and 8 <= len(PAGES) <= 13


@pytest.mark.parametrize("page", ["README", *PAGES])
def test_a_page_begins_with_an_example_that_is_short_and_tested(page):
    title, _, begin = text(page).partition("\n")
    assert title.startswith("# ")
    source, _language = example(page)
    assert len(source.splitlines()) <= LINES_MOST and max(map(len, source.splitlines())) <= 100
    assert begin.index("```") < 400 and "\n#" not in begin[: begin.index("```")]
    assert any(name.startswith(f"test_{page.lower()}_") for name in globals())


def test_readme_paints_where_players_walk_and_what_they_spill(played):
    world = World(played("README"), nodes=2)
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(6, 0))
    ada.walk(1, 0)
    world.run(1)
    ada.walk(0, 0)
    ada.do("spill", 3)
    world.run(2)
    world.check()
    assert bob.tiles("floor")[1, 0] == 1 and bob.tiles("floor")[ada.tile] == 3


def test_movers_come_walk_and_are_taken_once(played):
    world = World(played("movers"), nodes=2)
    ada = world.join("Ada", 0, at=(6, 0))
    world.run(8)
    assert ada.movers == {} and world.game().top("monsters", 2)[0].points == 1
    bob = world.join("Bob", 1, at=(12, 8))
    ada.go(0.5, 8.5)
    world.run(5)
    [monster] = bob.movers.values()
    assert (monster.type, monster.values) == ("Monster", {"health": 4})
    world.run(8)
    assert bob.movers == {}
    world.check()


def test_hooks_greet_and_refuse(played):
    world = World(played("hooks"), nodes=2)
    ada, far = world.join("Ada", at=(1, 1)), world.join("Far", at=(90, 1))
    ada.do("jump", 9)
    far.do("jump", 9)
    ada.do("jump", 10)
    world.run(1)
    assert told(ada, "hello") == [["Ada"]] and ada.tile == (10, 1) and len(ada.errors()) == 1
    assert far.tile == (90, 1) and far.errors() == ["Nobody can jump here."]
    world.kill(0)
    ada.back(1)
    world.run(1)
    assert told(ada, "hello")[-1] == ["again"]


def test_players_keep_what_persists(played):
    world = World(played("players"), nodes=2)
    ada = world.join("Ada", 0, at=(0, 0))
    ada.do("choose", 2)
    world.game(0).player(ada.id).laps = 3
    world.run(2)
    assert ada.me.values == {"team": 2, "laps": 3}
    assert world.game(0).node.residents.by_id[ada.id].pace == 150
    world.kill(0)
    ada.back(1)
    world.run(2)
    assert ada.me.values == {"team": 2, "laps": 0}


def test_players_who_may_play_have_a_ticket(played):
    world = World(played("players", 1))
    ticket = URLSafeTimedSerializer("a secret that the site has too").dumps("Ada Lovelace")
    ada, eve = world.join("Eve", ticket=ticket), world.join("Eve")
    world.run(1)
    assert ada.me.name == "Ada Lovelace" and eve.refused == "please log in first"


def test_things_are_taken_by_one_and_counted_once(played):
    world = World(played("things"), nodes=2)
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(6, 0))
    world.run(1)
    for player in (ada, bob):
        player.go(3.5, 0.5)
    world.run(5)
    assert ada.things() == bob.things() == []
    world.kill(0)
    ada.back(1)
    world.run(25)
    world.check()
    [coin] = bob.things()
    assert (coin.x, coin.y) == (9.5, 0.5)
    assert sum(one.points for one in world.game(1).top("coins", 9)) == 2


def test_things_that_are_carried_are_with_one_player_whatever_dies(played):
    world = World(played("things", 1), nodes=2)
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


def test_records_keep_the_best(played):
    world = World(played("records"))
    ada = world.join("Ada")
    for ms in (900, 700, 800):
        ada.do("finish", 1, ms)
    world.run(1)
    assert told(ada, "best") == [[1, 900], [1, 700], [1, 700]]


def test_ground_is_changed_by_players(played):
    world = World(played("ground"))
    ada = world.join("Ada", at=(0, 0))
    ada.walk(1, 0)
    world.run(1)
    ada.walk(0, 0)
    ada.do("build", 3)
    world.run(3)
    game = world.game()
    assert game.walls.counts() == {3: 1} and game.worn.counts()[1] >= 3 and ada.errors() == []
    column, row = ada.tile
    assert game.blocked((column, row - 1)) and not game.blocked((column, row))


def test_ground_may_be_of_your_own(played):
    world, plain = World(played("ground", 1)), World(played("ground"))
    blocked = world.game().blocked
    assert [blocked((x, 3)) for x in range(9)] == [True] * 7 + [False, True]
    assert not any(blocked((x, 4)) for x in range(9))
    # Pages ask for its pieces, and a plain has none.
    welcomes = [each.join("Ada")._client.model.welcome for each in (world, plain)]
    assert [welcome[13] for welcome in welcomes] == [1, 0]


def test_messages_reach_those_whom_they_are_for(played):
    world = World(played("messages"), nodes=2)
    ada = world.join("Ada", 0)
    world.run(1)
    bob = world.join("Bob", 1)
    world.run(1)
    assert told(ada, "hello") == [["Ada"], ["Bob"]] and ["Bob"] in told(bob, "hello")
    assert told(ada, "board") == [[[["Ada", 3], ["Bob", 1]], False]]
    with pytest.raises(ValueError, match="hello"):
        world.game().broadcast("hello", 3)


def test_time_passes_once_for_all_whichever_node_dies(played):
    world = World(played("time"), nodes=2)
    ada, bob = world.join("Ada", 0), world.join("Bob", 1)
    world.run(121)
    assert told(ada, "front") == told(bob, "front") == [[0], [1]]
    world.kill(0)
    world.run(70)
    assert told(bob, "front")[2:] == [[2]]


def test_class_has_a_part_that_counts_at_its_node(played):
    world = World(played("class"), nodes=2)
    ada, bob, cay = (world.join(name, n) for name, n in (("Ada", 0), ("Bob", 0), ("Cay", 1)))
    world.run(1)
    assert [told(one, "hello") for one in (ada, bob, cay)] == [[[1]], [[2]], [[1]]]
    ada.walk(1, 1)
    assert len(ada.errors()) == 1


@pytest.mark.process
def test_page_is_right_by_the_types_of_its_game(folder):
    main, _language = example("page")
    assert wrong(folder("README", {"main.js": main})) == ""


@pytest.mark.process
def test_page_with_an_action_that_feels_immediate_is_right(folder):
    main = example("page")[0] + example("page", 1)[0]
    assert wrong(folder("README", {"main.js": main})) == ""


@pytest.mark.process
def test_page_plays_in_a_browser(folder, open_page):
    made = folder("README", {"main.js": example("page")[0]})
    with inside("--game", str(made), "--store", "memory://") as server:
        page = open_page(server.url, cut_off=True)
        ada = SocketClient(server.port).hello("Ada")

        def is_spilt():
            page.keyboard.press("Space")
            ada.pump(0.1)
            return painted(ada, 2)

        eventually(is_spilt, "the page spills paint")
        page.context.close()


def painted(client, colour):
    """Return whether there is a tile of a colour in a client's view."""
    return any(colour in cells for cells in client.model.cells.values())


@pytest.mark.process
def test_types_find_what_was_renamed(folder):
    module, _language = example("types")
    made = folder("players", {"title.js": module})
    assert wrong(made) == ""
    game = made / "game.py"
    game.write_text(game.read_text().replace("team", "side"))
    assert "title.js:3: Property 'team' does not exist" in wrong(made)


def test_tests_pass_with_the_first_game(folder):
    made = folder("README", {})
    (made / "tests").mkdir()
    path = made / "tests" / "test_game.py"
    names = {"__file__": str(path)}
    exec(compile(example("tests")[0], path.name, "exec"), names)
    [test] = [call for name, call in names.items() if name.startswith("test_")]
    test()


@pytest.mark.process
def test_tests_page_has_a_bot_that_does_what_it_is_told(played, tmp_path):
    game, (source, _language) = played("README"), example("tests", 1)
    with inside("--game", str(game), "--store", "memory://") as server:
        path = tmp_path / "my_bot.py"
        path.write_text(source.replace("http://localhost:8000", server.url))
        program = [sys.executable, "-W", "error", str(path)]
        ada = SocketClient(server.port).hello("Ada")
        with Program(program, "the bot", environment={"PYTHONPATH": str(ROOT)}) as bot:
            ada.until(lambda: any(p.name == "My Bot" for p in ada.model.players.values()))
            ada.send(6, "paint!")
            ada.until(lambda: painted(ada, 4))
            assert bot.errors() == ""


@pytest.mark.process
def test_deploy_serves_the_game_that_new_has_made(tmp_path):
    script, language = example("deploy")
    assert language == "sh"
    (tmp_path / "bin").mkdir()
    for name, command in (("flatlands", "-m flatlands"), ("python", "")):
        path = tmp_path / "bin" / name
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {command} "$@"\n')
        path.chmod(0o755)
    environment = {
        **clean_environment(),
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PORT": str(free_port()),
    }
    last = "python -m flatlands.server"
    assert script.count(last) == 1
    command = ["sh", "-e", "-c", script.replace(last, f"exec {last}")]
    with Program(command, "the game", environment=environment, folder=tmp_path) as program:
        program.ready(r"http://\S+", PATIENCE)
        with urllib.request.urlopen(f"http://localhost:{environment['PORT']}/stats") as stats:
            assert json.load(stats)["game"] == "mygame"
