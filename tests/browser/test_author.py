"""`flatlands new` and `flatlands play`, as an author uses them: edit, see what fails, and go on."""

import re
import subprocess
import sys

import pytest

from flatlands.loadtest.kit.processes import Program
from tests.brokers.redis_servers import free_port
from tests.browser.pages import eventually
from tests.processes import PATIENCE, ROOT, clean_environment

HERE = {**clean_environment(), "PYTHONPATH": str(ROOT)}


def new_game(parent):
    """Make a new game in a folder; return its own folder, its port, and the program that plays it,
    which runs by now and ends with a `with` block."""
    command = [sys.executable, "-m", "flatlands"]
    subprocess.run([*command, "new", "mygame"], cwd=parent, env=HERE, check=True, timeout=PATIENCE)
    folder, port = parent / "mygame", free_port()
    command += ["play", "--port", str(port)]
    return folder, port, Program(command, "play", folder=folder, environment=HERE)


@pytest.mark.process
def test_an_author_edits_a_game_while_it_is_played(open_page, tmp_path):
    folder, port, play = new_game(tmp_path)
    game, main = folder / "game.py", folder / "page" / "main.js"
    with play:
        url = f"http://localhost:{port}"
        where = f"Flatlands is at {url} (Ctrl-C stops it). Look inside: {url}/inspect"
        assert play.line(PATIENCE) == where
        page = open_page(f"http://127.0.0.1:{port}/", cut_off=True, script="var count = 0;")
        page.get_by_text("Walk with the arrow keys").wait_for()

        def is_counted():
            page.keyboard.press("ArrowRight", delay=400)
            return page.locator("#board li").count() > 0

        eventually(is_counted, "a step is counted")

        # What fails is shown, with the line of the author's file, until it is mended.
        right = game.read_text()
        game.write_text(right.replace("me.write(self.floor, tiles, self.colour(me))", "1 / 0", 1))
        fault = page.get_by_role("alert").filter(has_text="on_step of the game failed")

        def is_shown():
            page.keyboard.press("ArrowRight", delay=400)
            return fault.is_visible()

        eventually(is_shown, "the fault is shown")
        assert "game.py, line 22: ZeroDivisionError: division by zero" in fault.inner_text()
        page.get_by_role("button", name="Close").click()
        fault.wait_for(state="hidden")

        # A game that does not load is shown, too, in pages that are open and in new ones, which
        # go on once it is mended.
        game.write_text("def (\n")
        sentence = f"the game does not load: {game}, line 1: invalid syntax"
        page.get_by_role("alert").filter(has_text=sentence).wait_for()
        assert sentence in play.errors()
        new = open_page(f"http://127.0.0.1:{port}/", cut_off=True)
        new.get_by_role("alert").filter(has_text=sentence).wait_for()
        game.write_text(right)
        page.get_by_text("Walk with the arrow keys").wait_for()
        new.get_by_text("Walk with the arrow keys").wait_for()
        new.close()
        page.get_by_role("alert").wait_for(state="hidden")

        # The template's bot plays the game.
        bot = Program(
            [sys.executable, "bot.py", page.url], "the bot", folder=folder, environment=HERE
        )
        with bot:
            eventually(lambda: "name='Painter'" in play.errors(), "the bot has joined")
            assert bot.process.poll() is None and bot.errors() == ""

        # A page that has changed is loaded again, and keeps its player.
        main.write_text(main.read_text() + "document.body.append('A new page');\n")
        page.get_by_text("A new page").wait_for()
        page.get_by_text("Walk with the arrow keys").wait_for()
        assert len(set(re.findall(r"join player=(\d+)", play.errors()))) == 3
        page.keyboard.press("ArrowRight", delay=400)
        assert fault.is_hidden()
    assert play.process.returncode == 0


@pytest.mark.process
def test_an_author_sees_what_fails_in_the_page_and_where(open_page, tmp_path):
    folder, port, play = new_game(tmp_path)
    main = folder / "page" / "main.js"
    whole = main.read_text()
    line = len(whole.splitlines()) + 1
    with play:
        play.line(PATIENCE)
        page = open_page(f"http://127.0.0.1:{port}/", cut_off=True, fails=True)
        page.get_by_text("Walk with the arrow keys").wait_for()
        alert = page.get_by_role("alert")
        for wrong, shown in (
            ("const = 1;\n", "The page: Uncaught SyntaxError"),
            ("setTimeout(() => nothing.there(), 100);\n", "nothing is not defined"),
            ("Promise.reject(new Error('broken'));\n", "The page: Error: broken"),
        ):
            main.write_text(whole + wrong)
            alert.filter(has_text=shown).wait_for()
            assert f"main.js:{line}:" in alert.inner_text()
        # This one is found before a browser has the page.
        main.write_text("import { x } from './nowhere.js';\n" + whole)
        alert.filter(has_text="the page imports nowhere.js, which does not exist").wait_for()
        main.write_text(whole)
        page.get_by_text("Walk with the arrow keys").wait_for()
        alert.wait_for(state="hidden")
    assert play.process.returncode == 0
