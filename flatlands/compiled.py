"""The compiled modules: which there are, how Python finds them, and `python -m flatlands.compiled`.

That is what `make fast` runs in a clone, and `flatlands compile` elsewhere. It compiles the modules
on the path of a move with mypyc, and leaves the sources as they are:
docs/adr/0017-the-hot-path-may-be-compiled.md. A program that calls `use` then imports the compiled
modules in place of their sources. Nothing here imports any of these modules itself.
"""

import hashlib
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

from flatlands.needs import ROOT, packages

#: The file beside the compiled modules that says what they were compiled from.
STAMP = "stamp"

#: The environment variable that keeps Python to the sources if it is "no".
SWITCH = "COMPILED"

#: The library that has the code of all compiled modules: each module only looks itself up in it.
LIBRARY = "flatlands._fast"

#: What is compiled: all of the path that a move takes through a node, as one unit, since calls
#: from one compiled module into another are cheap only within a unit.
MODULES = (
    "flatlands.world.batches",
    "flatlands.world.contact",
    "flatlands.world.events",
    "flatlands.world.grid",
    "flatlands.world.lanes",
    "flatlands.world.lru_cache",
    "flatlands.world.replica",
    "flatlands.world.sketches",
    "flatlands.world.terrain",
    "flatlands.world.things",
    "flatlands.world.tiles",
    "flatlands.world.track",
    "flatlands.server.runtime.timers",
    "flatlands.server.runtime.limits",
    "flatlands.server.clients.handlers",
    "flatlands.server.clients.screen",
    "flatlands.server.clients.session",
    "flatlands.server.messages.channels",
    "flatlands.server.messages.peer_batches",
    "flatlands.server.messages.peer_protocol",
    "flatlands.server.messages.protocol",
    "flatlands.server.messages.table",
    "flatlands.server.messages.texts",
    "flatlands.server.movers.encounters",
    "flatlands.server.movers.hosting",
    "flatlands.server.movers.movers",
    "flatlands.server.players.meetings",
    "flatlands.server.players.movement",
    "flatlands.server.players.resident",
    "flatlands.server.players.steps",
    "flatlands.server.players.touches",
    "flatlands.server.squares.crowds",
    "flatlands.server.squares.context",
    "flatlands.server.squares.hub",
    "flatlands.server.squares.outbox",
    "flatlands.server.squares.peers",
    "flatlands.server.squares.subscriptions",
    "flatlands.server.squares.subscription",
    "flatlands.server.squares.sync",
    "flatlands.server.net.connection",
    "flatlands.server.net.frames",
)


def _folders() -> list[Path]:
    """Return where compiled modules may be: in a clone its build/; otherwise beside the package, or
    in the user's cache, under a name for this installation."""
    if (ROOT / "pyproject.toml").exists():
        return [ROOT / "build" / "fast"]
    folders = [ROOT / "flatlands" / "fast"]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    if cache.is_absolute():
        name = hashlib.sha256(str(ROOT).encode()).hexdigest()[:16]
        folders.append(cache / "flatlands" / name / "fast")
    return folders


FOLDERS = _folders()


class _State:
    """The result of `use`: whether compiled modules are used, or are stale and left aside."""

    used = stale = False


class _Finder(MetaPathFinder):
    """Finds the compiled modules in a folder, and their library, before Python looks for
    sources."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = {*MODULES, f"{LIBRARY}__mypyc"}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module if it is a compiled one, otherwise None."""
        if name not in self._names:
            return None
        file = str(self._folder.joinpath(*name.split("."))) + EXTENSION_SUFFIXES[0]
        return spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))


def stamp() -> str:
    """Return a text that changes with the sources, with how they are compiled, and with Python."""
    found = hashlib.sha256(f"{sys.version} {EXTENSION_SUFFIXES[0]}".encode())
    found.update(Path(__file__).read_bytes())
    for name in MODULES:
        found.update(f"\0{name}\0".encode() + _source(name).read_bytes())
    return found.hexdigest()


def _source(name: str) -> Path:
    return ROOT.joinpath(*name.split(".")).with_suffix(".py")


def use() -> None:
    """Let Python import the compiled modules from now on, if there are any and they fit.

    It must be called before any of MODULES is imported. Does nothing with COMPILED=no.
    """
    if os.environ.get(SWITCH) == "no" or _State.used:
        return
    found = {folder: _fit(folder) for folder in FOLDERS}
    folder = next((folder for folder, fits in found.items() if fits), None)
    if folder is not None:
        sys.meta_path.insert(0, _Finder(folder))
    _State.used, _State.stale = folder is not None, folder is None and False in found.values()


def _fit(folder: Path) -> bool | None:
    """Return whether the compiled modules in a folder fit the sources; None if there are none."""
    try:
        return (folder / STAMP).read_text() == stamp()
    except OSError:
        return None


def used() -> bool:
    """Return whether the compiled modules are used."""
    return _State.used


def stale() -> bool:
    """Return whether there are compiled modules that are not used because they do not fit."""
    return _State.stale


def build() -> None:
    """Compile the modules, unless some fit, into the first of FOLDERS that may be written. A
    running server keeps what it has loaded.

    Raises SystemExit with a sentence if there is no such folder or no compiler, or if mypyc refuses
    a module.
    """
    for folder in FOLDERS:
        if _fit(folder):
            print(f"The modules in {folder} are up to date: nothing to compile.")
            return
    gcc = shlex.split(sysconfig.get_config_var("CC") or "cc")[0]
    header = Path(sysconfig.get_paths()["include"], "Python.h")
    if shutil.which(gcc) is None or not header.exists():
        sys.exit(
            f"flatlands: compiling needs {gcc} and {header} "
            "(Debian: apt-get install gcc python3-dev)"
        )
    with packages("fast"):
        from mypyc.build import mypycify
        from setuptools import Distribution
        from setuptools.command.build_ext import build_ext

    folder = _writable()
    new = folder.with_name("fast.new")
    shutil.rmtree(new, ignore_errors=True)
    made = stamp()
    # Modules get their names from their paths, and others may lie beside the package.
    (new / "from").mkdir(parents=True)
    (new / "from" / "flatlands").symlink_to(ROOT / "flatlands")
    os.chdir(new / "from")
    mypy = ["--config-file=", "--ignore-missing-imports", f"--cache-dir={new / 'c' / 'mypy'}"]
    extensions = mypycify(
        [*mypy, *(str(_source(name).relative_to(ROOT)) for name in MODULES)],
        group_name=LIBRARY,
        opt_level="2",
        debug_level="0",
        target_dir=str(new / "c"),
    )
    command = build_ext(Distribution({"name": LIBRARY, "ext_modules": extensions}))
    command.build_lib, command.build_temp = str(new), str(new / "c")
    command.ensure_finalized()
    command.run()
    for part in ("c", "from"):
        shutil.rmtree(new / part)
    (new / STAMP).write_text(made)
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)
    print(f"The compiled modules are in {folder}.")


def _writable() -> Path:
    """Return the first of FOLDERS beside which something may be written. Raises SystemExit."""
    for folder in FOLDERS:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder.parent, os.W_OK):
            return folder
    places = " nor ".join(str(folder.parent) for folder in FOLDERS)
    sys.exit(f"flatlands: cannot write to {places}: set XDG_CACHE_HOME to another folder")


if __name__ == "__main__":
    build()
