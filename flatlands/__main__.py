"""`flatlands`: begin your own game, play it while you edit it, and let a swarm play it.

It never loads the game: the server and the swarm do, in processes of their own.
"""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NoReturn
from zipfile import ZIP_DEFLATED, ZipFile

from flatlands import __version__
from flatlands.needs import apart, packages

HELP = """\
usage: flatlands COMMAND ...

  new FOLDER                 create a folder with a small game to start from, and its tests
  play [GAME] [OPTION ...]   serve a game, and restart it whenever one of its files changes;
                             pages show its errors, and return to where they were; with
                             --lag 150 --jitter 50 --loss 2 over a slow link
  check [GAME] [OPTION ...]  is the game right? types, tests, simulate for 60 s and swarm for 20 s,
                             with one verdict
  test [GAME] [OPTION ...]   run a game's tests, in its folder tests/, with pytest; GAME may also
                             be one file of tests
  simulate [GAME] [OPTION ...]
                             play it in random worlds, in which nodes die and links are cut, and
                             show the shortest one in which something goes wrong
  types [GAME]               write page/game.d.ts, by which editors complete and check the page's
                             modules; flatlands play keeps it up to date
  swarm [GAME] [OPTION ...]  let bots play a game on a server of their own, and measure it
  docs [--text]              open the docs in a browser, with search and without a network; or print
                             all that games may use, and all guarantees, as one text
  compile                    compile the modules of the server through which a move passes (needs
                             gcc): servers then use less CPU time, and behave the same
  --version                  print the version of Flatlands

GAME is a folder with a game.py, or a Python file (default: the current folder). OPTIONs are those
of the server, such as --port 9000 (flatlands play --help lists them), of the check, of pytest, of
the simulation, or of the swarm.
"""

#: What a game may be called: its name is part of a module's name and of its store's.
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

TEMPLATE = Path(__file__).with_name("template")

#: Stands for the game's name in the files of the template.
NAME_PLACEHOLDER = "NAME_OF_THE_GAME"

#: Stands for the name of the wheel with the same Flatlands.
WHEEL_PLACEHOLDER = "NAME_OF_THE_WHEEL"

#: What an installation adds to the description of a wheel.
INSTALLATION = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}


class Wrong(Exception):
    """The command line cannot be obeyed; the text is a sentence that says what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Obey a command line (None: that of the process); return the exit code."""
    command, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        if command in ("--help", "-h", "help"):
            print(HELP, end="")
            return 0
        if command == "--version" and not rest:
            print(f"flatlands {__version__}")
            return 0
        if command == "new":
            return new(rest)
        if command == "docs":
            _run("flatlands.site", *rest)
        if command == "compile" and not rest:
            _run("flatlands.compiled")
        if command in COMMANDS and "--help" in rest:
            if command == "play":
                _show_help_of_play()
            _run(COMMANDS[command][1], "--help")
        if command in COMMANDS:
            return COMMANDS[command][0](*_game(rest))
        raise Wrong(f"no command is called {' '.join([command, *rest])!r}: see flatlands --help")
    except Wrong as wrong:
        print(f"flatlands: {wrong}", file=sys.stderr)
        return 2


def new(arguments: Sequence[str]) -> int:
    """Copy the template into a new folder."""
    if len(arguments) != 1:
        raise Wrong("new takes the name of a folder: flatlands new mygame")
    folder = Path(arguments[0])
    if not NAME.fullmatch(folder.name):
        raise Wrong(
            f"a game cannot be called {folder.name!r}: use up to 40 letters from a to z, digits "
            "and _, beginning with a letter, as in flatlands new mygame"
        )
    try:
        shutil.copytree(TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    except FileExistsError:
        raise Wrong(f"{folder} already exists: choose another name") from None
    except (shutil.Error, OSError) as error:
        raise Wrong(f"cannot write to {folder}: {error}") from None
    name = f"flatlands-{__version__}-py3-none-any.whl"
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text().replace(NAME_PLACEHOLDER, folder.name)
            path.write_text(text.replace(WHEEL_PLACEHOLDER, name))
    (folder / "wheels").mkdir()
    if not _pack(folder / "wheels" / name):
        print(f"To deploy it: pip wheel --no-deps -w {folder}/wheels CLONE (a clone of Flatlands)")
    print(f"{folder} has a game: cd {folder} && flatlands play, then edit game.py")
    return 0


def _pack(path: Path) -> bool:
    """Write the wheel from which Flatlands is installed, as the specification of binary
    distributions describes it; return whether that is possible, which it is not in a clone."""
    try:
        installed = distribution("flatlands")
    except PackageNotFoundError:
        return False
    info = f"flatlands-{installed.version}.dist-info"
    record = (installed.read_text("RECORD") or "").splitlines()
    # Not what the installation has added, such as programs and what was compiled.
    kept = [
        row for row in record if row.startswith((f"{info}/", "flatlands/")) and ".pyc," not in row
    ]
    kept = [row for row in kept if row.split(",")[0].removeprefix(f"{info}/") not in INSTALLATION]
    files = [row.rsplit(",", 2)[0] for row in kept]
    if "flatlands/__init__.py" not in files:
        return False
    with ZipFile(path, "w", ZIP_DEFLATED) as wheel:
        for file in files:
            wheel.write(str(installed.locate_file(file)), file)
        wheel.writestr(f"{info}/RECORD", "\n".join([*kept, f"{info}/RECORD,,", ""]))
    return True


def play(game: Path, options: Sequence[str]) -> int:
    """Serve a game until it is ended."""
    with packages("play"):
        from flatlands.author import NotServed, serve

    try:
        return serve(game, options)
    except NotServed as why:
        raise Wrong(str(why)) from None
    except OSError as error:
        raise Wrong(f"cannot write beside the game: {error}") from None


def _show_help_of_play() -> None:
    """Print the options that `play` has besides those of the server."""
    with packages("play"):
        from flatlands.author import show_help
    show_help()
    print(flush=True)


def test(game: Path, options: Sequence[str]) -> int:
    """Run the tests of a game."""
    with packages("test"):
        import pytest as pytest
    folder = game if game.is_dir() else game.parent
    tests = folder / "tests"
    if folder.name == "tests":
        # One file of them.
        folder, tests, game = folder.parent, game, folder.parent
    if not tests.exists():
        raise Wrong(
            f"there is no folder tests in {folder}: flatlands new creates one to start from"
        )
    known = game.is_file() or (game / "game.py").is_file()
    loads = ["-p", LOADING_PLUGIN, "--flatlands-game", str(game)] if known else []
    _run("pytest", *loads, str(tests), *options, cwd=folder)


def simulate(game: Path, options: Sequence[str]) -> int:
    """Play a game in random worlds."""
    _run(SIMULATE_MODULE, str(game), *options)


def check(game: Path, options: Sequence[str]) -> int:
    """Check a game."""
    try:
        with packages("swarm"):
            from flatlands.check import main as check_game
    except SystemExit as missing:
        # The code 1 is for games in which something is wrong.
        print(missing, file=sys.stderr)
        return 2
    return check_game([str(game), *options])


def types(game: Path, options: Sequence[str]) -> int:
    """Write the types of a game's page."""
    _run(TYPES_MODULE, str(game), *options)


def swarm(game: Path, options: Sequence[str]) -> int:
    """Let bots play a game on a server of their own."""
    _run(SWARM_MODULE, "--game", str(game), *options)


#: The plugin of pytest that loads the game before its tests.
LOADING_PLUGIN = "flatlands.testkit.loading"
#: The module of the command `check`.
CHECK_MODULE = "flatlands.check"
#: The module of the command `simulate`.
SIMULATE_MODULE = "flatlands.testkit.simulate"
#: The module of the command `types`.
TYPES_MODULE = "flatlands.server.web.page_types"
#: The module of the command `swarm`.
SWARM_MODULE = "flatlands.loadtest.bots"

#: What obeys a command, and the module whose options may follow it.
COMMANDS = {
    "play": (play, "flatlands.server"),
    "check": (check, CHECK_MODULE),
    "test": (test, "pytest"),
    "simulate": (simulate, SIMULATE_MODULE),
    "types": (types, TYPES_MODULE),
    "swarm": (swarm, SWARM_MODULE),
}


def _run(module: str, *arguments: str, cwd: Path | None = None) -> NoReturn:
    """Become a module's program, in a folder: what ends this process ends that, and nothing else
    is left."""
    environment = apart()
    if cwd is not None:
        os.chdir(cwd)
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", module, *arguments], environment)


def _game(arguments: Sequence[str]) -> tuple[Path, Sequence[str]]:
    """Return the path of the game that arguments begin with, and the options after it."""
    named = bool(arguments) and not arguments[0].startswith("-")
    path = Path(arguments[0] if named else ".").resolve()
    if not path.exists():
        raise Wrong(f"there is no game at {path}: flatlands new creates one")
    if path.is_dir() and not (path / "game.py").is_file():
        raise Wrong(f"there is no game.py in {path}: go to a game's folder, or run flatlands new")
    return path, arguments[1:] if named else arguments


if __name__ == "__main__":
    sys.exit(main())
