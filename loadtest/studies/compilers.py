"""Builds programs that are written in Go, in Rust or in C++.

What they have built is kept: what has not changed is built again within a second.
"""

import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from flatlands.loadtest.kit.processes import Program, Trouble

#: Where their own installers put the programs, which is not on every PATH.
USUAL_GO = "/usr/local/go/bin/go"
USUAL_CARGO = os.path.expanduser("~/.cargo/bin/cargo")

NO_CARGO = "Rust is not installed (Debian: apt-get install cargo)"


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
    _build(command, source, name, NO_CARGO, {"CARGO_TARGET_DIR": str(target)})


def build_cpp(source: Path, program: Path, name: str) -> None:
    """Build a program on uWebSockets: the main.cpp in a folder whose Cargo.lock names the crate
    that has the source of uWebSockets. `name` is its name in sentences.

    Raises Trouble and Interrupted.
    """
    main = source / "main.cpp"
    newest = max(path.stat().st_mtime for path in (main, source / "Cargo.lock", Path(__file__)))
    if program.exists() and program.stat().st_mtime > newest:
        return
    program.parent.mkdir(parents=True, exist_ok=True)
    # It is built apart: another process may build it too, or run it.
    with tempfile.TemporaryDirectory(dir=program.parent) as temporary:
        folder = Path(temporary)
        vendor = [find_cargo(), "vendor", "--locked", "--quiet", temporary]
        _build(vendor, source, name, NO_CARGO, {})
        library = folder / "libuwebsockets-sys" / "uWebSockets"
        sockets = library / "uSockets" / "src"
        files = [*sockets.glob("*.c"), sockets / "eventing" / "epoll_kqueue.c"]
        _compile(["gcc", "-std=c11", f"-I{sockets}", "-c", *map(str, files)], folder, name)
        objects = map(str, folder.glob("*.o"))
        folders = f"-I{library / 'src'}", f"-I{sockets}"
        _compile(["g++", "-std=c++20", *folders, str(main), *objects], folder, name)
        (folder / "a.out").replace(program)


def _compile(command: Sequence[str], folder: Path, name: str) -> None:
    # Without TLS and compression; and the last line of what it says is then its last error.
    options = "-O3", "-flto=auto", "-DLIBUS_NO_SSL", "-DUWS_NO_ZLIB", "-fno-diagnostics-show-caret"
    missing = "GCC is not installed (Debian: apt-get install g++)"
    _build([*command, *options], folder, name, missing, {})


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
