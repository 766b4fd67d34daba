"""Says which package is missing, and lets programs find packages. It imports only what comes with
Python."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: How many `packages` blocks are open. The outermost one is the command's, and prints the sentence.
_open = 0


@contextmanager
def packages(target: str) -> Iterator[None]:
    """End the process with a sentence if an import in the block finds no package.

    `make TARGET` installs the packages; for an installed wheel, its extra of this name does.
    """
    global _open
    _open += 1
    try:
        yield
    except ModuleNotFoundError as error:
        name = str(error.name).partition(".")[0]
        if _open > 1 or (ROOT / name).exists():
            # The missing module is one of this project's: the traceback says where it is imported.
            raise
        sys.exit(f"flatlands: {missing(name, target)}")
    finally:
        _open -= 1


def missing(name: str, target: str) -> str:
    """Return a sentence that says that a package is missing, and what installs it; `target` is as
    in `packages`."""
    how = f"make {target} once, which creates a virtual environment, then . .venv/bin/activate"
    if not (ROOT / "Makefile").exists():
        # It is installed, and `target` is the name of an extra.
        how = f"pip install 'flatlands[{target}]'"
    return f"the package {name} is not installed for {sys.executable}: run {how}"


def apart() -> dict[str, str]:
    """Return the environment of a program that finds the same packages as this one, but no modules
    in the folder in which it starts: an author's own select.py takes no library's place."""
    found = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    if Path.cwd() == ROOT:
        # In a clone this package is found in that folder.
        found.insert(0, str(ROOT))
    path = {"PYTHONPATH": os.pathsep.join(found)} if found else {}
    return {**os.environ, **path, "PYTHONSAFEPATH": "1"}
