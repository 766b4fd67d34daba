"""Says in one sentence which package is missing. It imports only what comes with Python."""

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
        how = f"make {target} once, which creates a virtual environment, then . .venv/bin/activate"
        if not (ROOT / "Makefile").exists():
            # It is installed, and `target` is the name of an extra.
            how = f"pip install 'flatlands[{target}]'"
        sys.exit(f"flatlands: the package {name} is not installed for {sys.executable}: run {how}")
    finally:
        _open -= 1
