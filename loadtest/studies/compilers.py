"""Builds programs that are written in Go or in Rust.

Both compilers keep what they have built: what has not changed is built again within a second.
"""

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from flatlands.loadtest.kit.processes import Program, Trouble

#: Where their own installers put the programs, which is not on every PATH.
USUAL_GO = "/usr/local/go/bin/go"
USUAL_CARGO = os.path.expanduser("~/.cargo/bin/cargo")


def find_go() -> str:
    """Return the path of the program `go`, or its name if it is not found."""
    return _find("go", USUAL_GO)


def find_cargo() -> str:
    """Return the path of the program `cargo`, or its name if it is not found."""
    return _find("cargo", USUAL_CARGO)


def build_go(source: Path, program: Path, name: str) -> None:
    """Build the program in a folder. `name` is its name in sentences.

    Raises Trouble and Interrupted.
    """
    # With these options it needs neither a C compiler nor git.
    command = [find_go(), "build", "-buildvcs=false", "-o", str(program), "."]
    missing = "Go is not installed (Debian: apt-get install golang-go)"
    _build(command, source, name, missing, {"CGO_ENABLED": "0"})


def build_rust(source: Path, target: Path, name: str) -> None:
    """Build the package in a folder; its programs are then in `target`/release. `name` is its name
    in sentences.

    Raises Trouble and Interrupted.
    """
    command = [find_cargo(), "build", "--release", "--locked", "--quiet"]
    missing = "Rust is not installed (Debian: apt-get install cargo)"
    _build(command, source, name, missing, {"CARGO_TARGET_DIR": str(target)})


def _find(program: str, usual: str) -> str:
    return shutil.which(program) or (usual if os.access(usual, os.X_OK) else program)


def _build(
    command: Sequence[str], source: Path, name: str, missing: str, environment: Mapping[str, str]
) -> None:
    try:
        # The environment says where the compiler has its caches, and where it gets packages.
        building = Program(
            command, command[0], environment={**os.environ, **environment}, folder=source
        )
    except Trouble as trouble:
        raise Trouble(missing) from trouble
    with building:
        building.wait(math.inf)
        if building.process.poll():
            raise Trouble(f"{name} cannot be built: {building.last_words()}")
