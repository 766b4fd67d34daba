"""Tells in one sentence which package is missing. It imports nothing but what comes with Python."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent

#: How many of these blocks are open. The outermost one is the command's, and tells.
_open = 0


@contextmanager
def packages(target: str) -> Iterator[None]:
    """End the process with a sentence where an import finds no package; `make target` gets it."""
    global _open
    _open += 1
    try:
        yield
    except ModuleNotFoundError as error:
        name = str(error.name).partition(".")[0]
        if _open > 1 or (ROOT / name).exists():
            # One of our own folders: the fault is ours, and the traceback tells where.
            raise
        sys.exit(
            f"flatlands: the package {name} is not installed for {sys.executable}: run "
            f"make {target} once, which makes a virtual environment, then . .venv/bin/activate"
        )
    finally:
        _open -= 1
