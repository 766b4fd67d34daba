"""Which compiled modules count, and what a server says of them."""

import json
import shutil
import sys

import pytest

from flatlands import compiled
from tests.processes import ROOT, ServerProcess


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A project with one source and nothing compiled, in a process that uses nothing compiled."""
    monkeypatch.setattr(compiled, "ROOT", tmp_path)
    monkeypatch.setattr(compiled, "FOLDERS", [tmp_path / "one" / "fast", tmp_path / "two" / "fast"])
    monkeypatch.setattr(compiled, "MODULES", ("flatlands.world.one",))
    monkeypatch.setattr(compiled._State, "used", False)
    monkeypatch.setattr(compiled._State, "stale", False)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delenv(compiled.SWITCH, raising=False)
    world = tmp_path / "flatlands" / "world"
    world.mkdir(parents=True)
    (world / "one.py").write_text("ONE = 1\n")
    return tmp_path


def compile_it(at=0):
    folder = compiled.FOLDERS[at]
    folder.mkdir(parents=True)
    (folder / compiled.STAMP).write_text(compiled.stamp())
    return folder


def test_without_compiled_modules_the_sources_are_used_and_nothing_is_stale(tree):
    before = list(sys.meta_path)
    compiled.use()
    assert not compiled.used() and not compiled.stale() and sys.meta_path == before


@pytest.mark.parametrize("at", [0, 1])
def test_compiled_modules_that_fit_are_found_before_their_sources(tree, at):
    folder = compile_it(at)
    compiled.use()
    compiled.use()
    assert compiled.used() and not compiled.stale()
    first, second = sys.meta_path[:2]
    found = first.find_spec("flatlands.world.one", None)
    assert found.origin.startswith(str(folder / "flatlands" / "world"))
    assert first.find_spec("flatlands.world.two", None) is None and type(second) is not type(first)


@pytest.mark.parametrize(
    "change",
    [
        lambda monkeypatch, tree: (tree / "flatlands" / "world" / "one.py").write_text("ONE = 2\n"),
        lambda monkeypatch, tree: monkeypatch.setattr(sys, "version", "another Python"),
        lambda monkeypatch, tree: (compiled.FOLDERS[0] / compiled.STAMP).write_text(""),
    ],
)
def test_compiled_modules_that_do_not_fit_are_ignored(tree, monkeypatch, change):
    compile_it()
    change(monkeypatch, tree)
    before = list(sys.meta_path)
    compiled.use()
    assert not compiled.used() and compiled.stale() and sys.meta_path == before


def test_modules_that_fit_are_not_compiled_again(tree, capsys):
    folder = compile_it(1)
    compiled.build()
    assert capsys.readouterr().out.endswith("are up to date: nothing to compile.\n")
    assert [path.name for path in folder.iterdir()] == [compiled.STAMP]


def test_a_folder_that_may_not_be_written_gets_a_sentence(tree):
    for folder in compiled.FOLDERS:
        folder.parent.touch()
    with pytest.raises(SystemExit, match="set XDG_CACHE_HOME to another folder"):
        compiled._writable()


def test_an_installed_package_is_compiled_beside_it_or_for_its_user(tree, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    beside, of_user = compiled._folders()
    assert beside == tree / "flatlands" / "fast"
    assert of_user.parts[:3] == ("/", "cache", "flatlands")
    (tree / "pyproject.toml").touch()
    assert compiled._folders() == [tree / "build" / "fast"]


def test_compiled_modules_can_be_switched_off(tree, monkeypatch):
    compile_it()
    monkeypatch.setenv(compiled.SWITCH, "no")
    compiled.use()
    assert not compiled.used() and not compiled.stale()


def test_every_compiled_module_has_a_source():
    assert all(compiled._source(name).is_file() for name in compiled.MODULES)


@pytest.mark.process
def test_a_server_says_what_it_uses_and_that_stale_modules_are_ignored(tmp_path):
    for name in ("world", "brokers", "stores", "server", "games", "static"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "flatlands", tmp_path / "flatlands", symlinks=True)
    (tmp_path / "pyproject.toml").touch()
    folder = tmp_path / "build" / "fast"
    folder.mkdir(parents=True)
    (folder / compiled.STAMP).write_text("of other sources")
    for switch in ("", "no"):
        server = ServerProcess(folder=tmp_path, COMPILED=switch)
        try:
            assert json.loads(server.get("stats"))["compiled"] == "no"
            server.stop()
            assert "compiled: yes" not in server.errors()
            assert ("ignoring the compiled modules" in server.errors()) == (switch != "no")
        finally:
            server.close()
