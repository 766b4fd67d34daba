"""TypeScript, by which the page of a game is checked."""

import subprocess
from pathlib import Path

from tests.processes import PATIENCE, ROOT, clean_environment

#: The TypeScript that checks the pages of this project.
TSC = ROOT / "tests" / "js" / "node_modules" / ".bin" / "tsc"

#: Prints what TypeScript finds in a page, and what is of type any there.
CHECK = ROOT / "tests" / "js" / "check.js"


def ran(*command: str | Path) -> str:
    """Return what a program of Node.js prints."""
    assert TSC.exists(), "TypeScript is not on this machine: make test installs it"
    ended = subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE
    )
    assert ended.stderr == ""
    return ended.stdout
