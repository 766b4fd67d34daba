"""Which games there are, and how their modules are loaded. It never starts one."""

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from flatlands import games

if TYPE_CHECKING:
    from flatlands.server.game import Make

#: The game that is played if nobody names one.
DEFAULT = "flatlands"


def shipped() -> list[str]:
    """Return the names of the games that come with Flatlands."""
    [folder] = games.__path__
    return sorted(path.parent.name for path in Path(folder).glob("*/game.py"))


def load(name: str, part: str) -> ModuleType | None:
    """Return the module `part` of a game that is shipped, or None if it has none of this name."""
    module = f"flatlands.games.{name}.{part}"
    return import_module(module) if find_spec(module) is not None else None


def maker(name: str, options: Any, *, alone: bool) -> "Make":
    """Return what makes a node's game; `options` and `alone` are as in server/game.py."""
    module = load(name, "game")
    assert module is not None
    return partial(module.Game, options=options, alone=alone)
