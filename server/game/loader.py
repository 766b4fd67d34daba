"""Which games there are, and how the parts of a game are loaded. It never starts one.

A game that is shipped has a name, and is a folder in games/. An author's own game is named by its
path, which is a dot, has a slash or ends with .py: a folder, or one file with all of it.
"""

import sys
import traceback
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from inspect import getfile
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from flatlands import games
from flatlands.brokers.base import short_hash
from flatlands.stores.base import Store

if TYPE_CHECKING:
    from flatlands.server.game.chunks import Chunks
    from flatlands.server.game.game import AnyGame
    from flatlands.server.game.game_node import GameNode
    from flatlands.world.plain import Plain
    from flatlands.world.terrain import Terrain

#: The game that is played if nobody names one.
DEFAULT = "flatlands"

#: What a game may have -> the module of its folder that has it: the class of the game, the
#: dataclass of its options (settings.py) and its tables for SQL (query/tables.py).
_MODULES = {"Game": "game", "Options": "options", "TABLES": "tables"}
_FILE = "game.py"


class InvalidGame(ValueError):
    """A game cannot be loaded; the text is a sentence for its author."""


def shipped() -> list[str]:
    """Return the names of the games that come with Flatlands."""
    [folder] = games.__path__
    return sorted(path.parent.name for path in Path(folder).glob("*/game.py"))


def is_own(name: str) -> bool:
    """Return whether this names an author's own game, by its path."""
    return "/" in name or name.endswith(".py") or name in (".", "..")


def store_file(name: str) -> str:
    """Return the name of the file that is the store of a game, unless another store is named."""
    path = Path(name).resolve() if is_own(name) else Path(name)
    return f"{path.stem}.db"


def check(name: str) -> None:
    """Raise InvalidGame if there is no such game."""
    path = Path(name)
    if not is_own(name):
        if name not in shipped():
            here = f"; for the one in this folder write ./{name}" if (path / _FILE).exists() else ""
            raise InvalidGame(f"there is no game {name!r}: there are {', '.join(shipped())}{here}")
    elif not path.exists():
        raise InvalidGame(f"there is no game at {path.resolve()}")
    elif path.is_dir() and not (path / _FILE).is_file():
        raise InvalidGame(f"there is no game in {path.resolve()}: it has no {_FILE}")
    elif path.is_file() and path.suffix != ".py":
        raise InvalidGame(
            f"{path.resolve()} is not a game: a game is a folder with a {_FILE}, or a .py file"
        )


def attribute_of(name: str, what: str) -> Any:
    """Return what a game has under one of the names of _MODULES, or None. Raises InvalidGame if
    there is no such game, or if one of its modules fails."""
    check(name)
    if is_own(name):
        path = Path(name).resolve()
        package = f"flatlands_game_{path.stem}"
        if path.is_file():
            return getattr(_load(package, spec_from_file_location(package, path)), what, None)
        folder = ModuleSpec(package, None, is_package=True)
        folder.submodule_search_locations = [str(path)]
        _load(package, folder)
    else:
        package = f"flatlands.games.{name}"
    module = f"{package}.{_MODULES[what]}"
    if what != "Game" and find_spec(module) is None:
        return None
    return getattr(_load(module), what, None)


def _load(name: str, spec: ModuleSpec | None = None) -> ModuleType:
    """Import a module by its name, or make it from `spec` if it is not there yet. Raises
    InvalidGame."""
    if name in sys.modules:
        return sys.modules[name]
    try:
        if spec is None:
            return import_module(name)
        module = sys.modules[name] = module_from_spec(spec)
        if spec.loader is not None:
            spec.loader.exec_module(module)
        return module
    except Exception as error:
        sys.modules.pop(name, None)
        raise InvalidGame(f"the game does not load: {where(error)}") from error


def where(error: Exception) -> str:
    """Return the file and the line at which a module failed, and how. If the engine failed when a
    game called it, that is the last line of the game."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    frames = list(traceback.walk_tb(error.__traceback__))
    frame, line = ([one for one in frames if not _is_engine(one[0])] or frames)[-1]
    return f"{frame.f_code.co_filename}, line {line}: {type(error).__name__}: {error}"


def _is_engine(frame: FrameType) -> bool:
    """Return whether a frame belongs to the engine or to the loader of modules. A compiled module
    is recognised by its name only: its frames have no path."""
    name = frame.f_globals.get("__name__", "")
    engine = name.startswith("flatlands.") and not name.startswith("flatlands.games.")
    return engine or frame.f_code.co_filename.startswith("<")


def note_fields(name: str, store: Store) -> None:
    """Write the fields of a game's things and records into the store. Raises StoreError, and
    InvalidGame if something in the store may be lost."""
    from flatlands.server.game import game
    from flatlands.server.storage import schema

    kind = attribute_of(name, "Game")
    if isinstance(kind, type) and issubclass(kind, game.Game):
        # The workers look at the kinds of parts that are not classes.
        try:
            schema.note(store, game.store_name(kind), game.stored_kinds(game.known_parts(kind)))
        except ValueError as error:
            raise InvalidGame(f"the game {name} has changed: {error}") from error


def kind_of(name: str) -> "type[AnyGame]":
    """Return the class of a game. Raises InvalidGame."""
    from flatlands.server.game import game

    kind = attribute_of(name, "Game")
    # A module whose class has another name may have imported the one that all inherit from.
    if not (isinstance(kind, type) and issubclass(kind, game.Game)) or kind is game.Game:
        raise InvalidGame(f"the game {name} has no class Game that inherits from flatlands.Game")
    return kind


class GameMaker:
    """A game that was found by its name: `GameMaker(...)(node)` makes it for a node. `options` and
    `alone` are as in game.py. Raises InvalidGame."""

    def __init__(self, name: str, options: object, *, alone: bool) -> None:
        from flatlands.server.game import game

        self._name, self._kind = name, (kind := kind_of(name))
        self._options, self._alone = options, alone
        #: A text that is the same for nodes that play the same game.
        self.fingerprint = short_hash(f"{Path(name).stem} {game.schema(kind)}")
        #: The folder of the game's page, or None if it has none of its own.
        self.page = page_of(name, kind)

    def ground(self, seed: int) -> "Terrain | Plain | Chunks":
        """Return the ground of a world with this seed. Raises InvalidGame."""
        try:
            return self._kind.ground(seed)
        except Exception as error:
            raise InvalidGame(
                f"the ground of the game {self._name} fails: {where(error)}"
            ) from error

    def __call__(self, node: "GameNode") -> "AnyGame":
        """Return the game of a node. Raises InvalidGame if an author's own game fails."""
        try:
            return self._kind(node, self._options, self._alone)
        except Exception as error:
            if not is_own(self._name):
                raise
            raise InvalidGame(f"the game {self._name} cannot be created: {where(error)}") from error


def page_of(name: str, kind: "type[AnyGame]") -> Path | None:
    """Return the folder of a game's page, or None if it has none of its own. Raises InvalidGame if
    there is no page in it."""
    if kind.page is None:
        return None
    folder = Path(getfile(kind)).resolve().parent / kind.page
    index = folder / "index.html"
    if not index.is_file():
        raise InvalidGame(f"the game {name} has no page: there is no {index}")
    text = index.read_text()
    if text.count("<!-- base -->") != 1 or text.count("<!-- joined -->") != 2:
        raise InvalidGame(f"{index} must contain <!-- base --> once and <!-- joined --> twice")
    return folder
