"""The command `flatlands`: what it puts into a folder, what it watches, and what it refuses."""

import os
import shutil
from pathlib import Path

import pytest

from flatlands import __version__, author, needs
from flatlands.__main__ import COMMANDS, TEMPLATE, main
from flatlands.server.game import loader
from tests.processes import python

#: Command lines that cannot be obeyed, and what is said of them.
WRONG = [
    (["dance"], "no command is called 'dance': see flatlands --help"),
    (["compile", "--help"], "no command is called 'compile --help'"),
    (["new"], "new takes the name of a folder: flatlands new mygame"),
    (["new", "a", "b"], "new takes the name of a folder"),
    (["new", "9-lives"], "a game cannot be called '9-lives': use up to 40 letters"),
    (["new", "there"], "there already exists: choose another name"),
    (["new", "there/file/mygame"], "cannot write to there/file/mygame"),
    (["play", "nowhere"], "nowhere: flatlands new creates one"),
    (["play", "."], "there is no game.py in "),
    (["types", "nowhere"], "nowhere: flatlands new creates one"),
    (["types", "."], "there is no game.py in "),
    (["test", "there/game.py"], "there is no folder tests in "),
    (["swarm", "--bots", "10"], "there is no game.py in "),
]


@pytest.fixture
def ran(monkeypatch):
    """The command lines of the programs that a command becomes, which are not run."""
    commands = []

    def become(_path, command, _environment):
        commands.append(command)
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", become)
    return commands


@pytest.mark.parametrize("arguments, sentence", WRONG, ids=lambda it: " ".join(it)[:20])
def test_a_command_that_cannot_be_obeyed_says_why(
    tmp_path, monkeypatch, capsys, arguments, sentence
):
    (tmp_path / "there").mkdir()
    for name in ("file", "game.py"):
        (tmp_path / "there" / name).touch()
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.err.startswith("flatlands: ") and sentence in told.err and told.out == ""


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_names_all_commands(capsys, arguments):
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert all(f"\n  {command} " in told for command in ("new", "docs", *COMMANDS))


def test_the_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"flatlands {__version__}\n"


def test_a_new_game_has_the_name_of_its_folder(tmp_path):
    folder = tmp_path / "mygame"
    assert main(["new", str(folder)]) == 0
    assert "<title>mygame</title>" in (folder / "page" / "index.html").read_text()
    assert {path.name for path in folder.rglob("*")} >= {"game.py", "bot.py", "main.js"}
    assert loader.GameMaker(str(folder), None, alone=True).page == folder / "page"


def test_a_game_whose_secret_cannot_be_kept_is_not_served(tmp_path, capsys):
    assert main(["new", str(tmp_path / "mygame")]) == 0
    (tmp_path / "mygame" / ".flatlands").touch()
    assert main(["play", str(tmp_path / "mygame")]) == 2
    assert "cannot write beside the game" in capsys.readouterr().err


def test_one_file_of_the_tests_can_be_run(tmp_path, monkeypatch, ran):
    folder = tmp_path / "mygame"
    assert main(["new", str(folder)]) == 0
    file = folder / "tests" / "test_game.py"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["test", str(file), "-q"])
    [command] = ran
    assert command[-2:] == [str(file), "-q"] and Path.cwd() == folder


@pytest.mark.process
@pytest.mark.parametrize("named", ["", "game.py", "tests/test_game.py"])
def test_a_game_that_does_not_load_is_said_once_by_its_tests(tmp_path, named):
    folder = tmp_path / "mygame"
    main(["new", str(folder)])
    with (folder / "game.py").open("a") as file:
        file.write("\n\nclass Hop(Event):\n    high = 3\n")
    told = python("-m", "flatlands", "test", str(folder / named))
    assert told.returncode == pytest.ExitCode.USAGE_ERROR
    line = (folder / "game.py").read_text().splitlines().index("class Hop(Event):") + 1
    assert told.stderr.strip() == (
        f"ERROR: the game does not load: {folder / 'game.py'}, line {line}: NameError: "
        "name 'Event' is not defined: correct that first, since every test plays it"
    )
    assert "Traceback" not in told.stdout and "HERE" not in told.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_needs_no_game(tmp_path, monkeypatch, ran, command):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert ran[0][-1] == "--help" and not list(tmp_path.iterdir())


def test_an_installed_package_names_the_extra_that_has_what_it_lacks(tmp_path, monkeypatch):
    monkeypatch.setattr(needs, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"run pip install 'flatlands\[test\]'"):
        with needs.packages("test"):
            import no_package_has_this_name  # noqa: F401


def test_only_files_of_a_game_are_looked_at(tmp_path):
    folder, single = tmp_path / "mygame", tmp_path / "single.py"
    shutil.copytree(TEMPLATE, folder)
    shutil.copytree(TEMPLATE / "page", tmp_path / "page")
    shutil.copy(TEMPLATE / "game.py", single)
    known = author._state(folder), author._state(single)
    names = ".flatlands/world.db tests/test_game.py __pycache__/x.pyc .git/index page/game.d.ts"
    for name in names.split():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("new")
    assert (author._state(folder), author._state(single)) == known
    for path in (folder / "page" / "game.css", folder / "more.py"):
        before = author._state(folder)
        path.write_text("body {}")
        assert author._state(folder) != before
    (tmp_path / "page" / "main.js").unlink()
    assert author._state(single) != known[1] and single in author._state(single)


def test_the_secret_and_the_store_stay_unless_others_are_given(tmp_path):
    first = author._environment(tmp_path, {"PATH": "/bin"})
    again = author._environment(tmp_path, {"STORE_URL": "memory://"})
    assert first["SECRET_KEY"] == again["SECRET_KEY"] and len(first["SECRET_KEY"]) == 64
    assert first["STORE_URL"] == f"sqlite:///{tmp_path}/.flatlands/world.db"
    assert (first["PATH"], again["STORE_URL"]) == ("/bin", "memory://")
    assert (tmp_path / ".flatlands" / "secret").stat().st_mode & 0o77 == 0
    assert author._environment(tmp_path, {"SECRET_KEY": "mine"})["SECRET_KEY"] == "mine"
