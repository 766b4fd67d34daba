"""`flatlands docs`: the docs as a site and as a text, of what is in the wheel, without network."""

import os
import re
import shutil
import signal
import sys
import tomllib
import urllib.request
from fnmatch import fnmatch
from functools import partial
from http.server import ThreadingHTTPServer
from threading import Thread

import pytest
from mkdocs.exceptions import Abort

import flatlands
from flatlands import bot, reference, site, testkit
from flatlands.loadtest.kit.processes import Program
from tests.browser.pages import eventually
from tests.processes import PATIENCE, ROOT, clean_environment, python

#: The classes of which the text has each method.
CLASSES = {
    *[kind for name in dir(flatlands) if isinstance(kind := getattr(flatlands, name), type)],
    bot.Bot,
    testkit.World,
    testkit.Player,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the site."""
    folder = tmp_path_factory.mktemp("site")
    site.build(folder)
    return folder


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of the docs, of which the site is built instead."""
    kept = shutil.ignore_patterns("results", "adr", "*.webp")
    copy = shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=kept)
    monkeypatch.setattr(site, "DOCS", copy)
    return copy


def test_all_pages_for_authors_are_in_the_site(built):
    pages = {path.relative_to(built).as_posix() for path in built.rglob("*.html")}
    for folder in ("games", "recipes"):
        names = {path.stem for path in (ROOT / "docs" / folder).glob("*.md")} - {"README"}
        assert {f"{folder}/{name}.html" for name in names | {"index"}} <= pages
    assert {"index.html", "make-a-world.html", "what-happens.html", "reference.html"} <= pages


def test_the_site_loads_nothing_from_another_host(built):
    loaded = re.compile(r"""(?:src=|<link[^>]*href=|url\(|@import )["']?(?:https?:)?//[^"')\s]+""")
    texts = [path for path in built.rglob("*") if path.suffix in (".html", ".css", ".js")]
    assert len(texts) > 40
    assert [found for path in texts for found in loaded.findall(path.read_text())] == []


def test_the_wheel_has_all_of_the_site(copied, tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["flatlands"]
    for path in [path for path in copied.rglob("*") if path.is_file()]:
        name = path.relative_to(copied.parent).as_posix()
        if not any(fnmatch(name, pattern) for pattern in patterns):
            path.unlink()
    site.build(tmp_path / "built")
    assert (tmp_path / "built" / "games" / "hooks.html").exists()


@pytest.mark.parametrize("link", ["hooks.md#nowhere", "#nowhere"])
def test_a_link_to_a_title_that_is_not_there_ends_the_build(copied, tmp_path, link):
    page = copied / "games" / "things.md"
    page.write_text(page.read_text() + f"\nSee [there]({link}).\n")
    with pytest.raises(Abort):
        site.build(tmp_path / "built")


def test_files_of_the_source_are_named_instead_of_linked(built):
    page = (built / "games" / "class.html").read_text()
    assert "<code>games/chat.py</code>" in page and "chat.py</a>" not in page


def test_the_text_has_all_names_with_what_they_do():
    text = reference.markdown()
    for name in flatlands.__all__:
        assert re.search(rf"^### (class )?{name}\b", text, re.M), name
    for kind in CLASSES:
        own = {
            name
            for base in kind.__mro__
            if base.__module__.startswith("flatlands")
            for name in vars(base)
        }
        for name in {name for name in own if name[0] != "_" and callable(getattr(kind, name))}:
            homes = [base.__name__ for base in kind.__mro__]
            assert any(f"\n#### {home}.{name}\n" in text for home in homes), (kind, name)
    assert "`players_near(tile: tuple[int, int], reach: int) -> list[PlayerView]`" in text
    assert "`Cells(merge: str = 'last', *, persist: bool | str = True," in text
    assert "#### Part.store\n" in text and "#### Game.meets\n" in text
    assert "export function join(" in text


def test_the_text_has_all_guarantees():
    text = reference.markdown()
    for page in (ROOT / "docs" / "games").glob("*.md"):
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        for bold in re.findall(r"\*\*(.+?)\*\*", prose, re.S):
            begin = " ".join(bold.split("[")[0].split()).rstrip(".:")
            assert begin.lower() in text.lower() or bold == "in its methods", (page.name, bold)
    assert "- `on_leave(self, me)`: Not if its node dies.\n" in text


@pytest.mark.process
def test_the_command_prints_the_text():
    ended = python("-m", "flatlands", "docs", "--text", check=True)
    assert ended.stdout == reference.markdown() and ended.stderr == ""


@pytest.fixture
def interruptible():
    """What is begun now can be interrupted, even if the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.process
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("has_browser", [True, False])
def test_the_command_opens_the_site_until_it_is_ended(tmp_path, has_browser):
    opened = tmp_path / "opened"
    opener = tmp_path / "browser"
    opener.write_text(f'#!/bin/sh\n/bin/echo "$1" > {opened}\n')
    opener.chmod(0o755)
    kept = {name: value for name, value in clean_environment().items() if name != "DISPLAY"}
    environment = {**dict.fromkeys(os.environ, ""), **kept, "PATH": "", "BROWSER": ""}
    if has_browser:
        environment["BROWSER"] = str(opener)
    command = [sys.executable, "-m", "flatlands", "docs"]
    with Program(command, "the docs", environment=environment) as docs:
        [url] = re.findall(r"http://127\.0\.0\.1:\d+/", docs.line(PATIENCE))
        with urllib.request.urlopen(url + "games/hooks.html", timeout=PATIENCE) as page:
            assert b"<title>Hooks - Flatlands</title>" in page.read()
        if has_browser:
            eventually(opened.exists, "the browser is told the address")
            eventually(lambda: opened.read_text() == f"{url}\n", "the browser has the address")
        else:
            told = f"flatlands: no browser can be opened here: open {url} in one\n"
            eventually(lambda: docs.errors() == told, "the address is told")
        docs.process.send_signal(signal.SIGINT)
        assert docs.process.wait(PATIENCE) == 0
        assert "Traceback" not in docs.errors()


def test_the_site_is_searched_in_a_browser(built, open_page):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(site.Quiet, directory=built)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = open_page(f"http://127.0.0.1:{server.server_port}/", color_scheme="dark")
        assert page.locator("html").get_attribute("data-bs-theme") == "dark"
        page.keyboard.press("s")
        page.locator("#mkdocs-search-query").wait_for()

        def is_found():
            page.locator("#mkdocs-search-query").fill("")
            page.locator("#mkdocs-search-query").type("players_near")
            return "Part.players_near" in page.locator("#mkdocs-search-results").inner_text()

        eventually(is_found, "a method is found", seldom=1)
        page.get_by_role("link", name="Part.players_near").click()
        page.get_by_text("Return the players at most").wait_for()
        server.shutdown()
