"""`flatlands play`: serves a game, and restarts it whenever one of its files changes.

Tokens and what is kept outlast a restart, so open pages come back where they were. It never looks
into the game: the server does, in a process of its own.
"""

import fcntl
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from flatlands import output
from flatlands.needs import apart

#: The folder in which the secret and the store are, beside the game.
STATE_FOLDER = ".flatlands"

#: The interval at which a game's files are checked for changes.
LOOK_EVERY_SECONDS = 0.25
#: The time that a server may take to stop.
STOP_SECONDS = 10.0

#: Folders that are not part of a game; nor are those whose names begin with a dot.
OTHERS = {"__pycache__", "node_modules", "tests", "venv"}

#: The exit code of a server whose game or options cannot be used.
UNFIT = 2


class Played(Exception):
    """The game is played already; the text is a sentence that says by whom."""


def serve(game: Path, options: Sequence[str]) -> int:
    """Serve a game until it is stopped, or until its server ends; return the exit code. Raises
    OSError if the secret cannot be kept, and Played if somebody else serves the game."""
    command = [sys.executable, "-m", "flatlands.server", "--game", str(game), "--author", "1"]
    environment, patient = _environment(game, apart()), False
    # The server has it too, and would keep it if this process were killed.
    lock = _lock(game)
    command += ["--lock-fd", str(lock)]
    output.install()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        before = _state(game)
        server = subprocess.Popen([*command, *options], env=environment, pass_fds=[lock])
        try:
            changed = _wait(server, game, before, patient)
        except KeyboardInterrupt:
            return 0
        finally:
            _stop(server)
        if not changed:
            return server.returncode
        patient = True
        print(f"flatlands: {changed} has changed: restarting", file=sys.stderr)


def _wait(
    server: "subprocess.Popen[bytes]", game: Path, before: Mapping[Path, object], patient: bool
) -> str:
    """Wait until a file of the game changes, and return its name; or "" once the server has ended,
    unless that may be the game's fault and we are `patient`."""
    while (now := _state(game)) == before:
        code = server.poll()
        if code is not None and not (patient and code == UNFIT):
            return ""
        time.sleep(LOOK_EVERY_SECONDS)
    # An editor may write several files, or one in pieces.
    while (later := _state(game)) != now:
        now = later
        time.sleep(LOOK_EVERY_SECONDS / 2)
    return min(path.name for path, _ in dict(before).items() ^ now.items())


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """End a server that has not ended yet."""
    if server.poll() is None:
        server.terminate()
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _state(game: Path) -> dict[Path, object]:
    """Return the state of the game's files, which differs once one of them has changed."""
    found: dict[Path, object] = {}
    for path in _files(game):
        try:
            known = path.stat()
        except FileNotFoundError:
            # It was removed just now.
            continue
        found[path] = known.st_mtime_ns, known.st_size
    return found


def _files(game: Path) -> Iterator[Path]:
    """Yield the files of a game: a folder, or one file with the folder of its page."""
    if game.is_file():
        yield game
    for folder, folders, names in os.walk(game if game.is_dir() else game.with_name("page")):
        folders[:] = [name for name in folders if name[0] != "." and name not in OTHERS]
        yield from (Path(folder, name) for name in names if name[0] != ".")


def _lock(game: Path) -> int:
    """Return the descriptor of the game's lock, which nobody else has as long as it is open here
    or in a server; the system frees it however they end. Its file says who has it. Raises Played,
    and OSError."""
    lock = os.open(_folder(game) / f"{game.stem}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        by = os.pread(lock, 1000, 0).decode()
        os.close(lock)
        raise Played(
            f"{game} is already being played, by {by}: go there, or stop it first"
        ) from None
    os.ftruncate(lock, 0)
    # The server adds where it is (server/__main__.py).
    os.pwrite(lock, f"process {os.getpid()}".encode(), 0)
    return lock


def _folder(game: Path) -> Path:
    """Return the folder of what is kept beside a game."""
    return (game if game.is_dir() else game.parent) / STATE_FOLDER


def _environment(game: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the server: with a lasting secret and a lasting store, unless
    `given` names others."""
    folder = _folder(game)
    secret = folder / "secret"
    if not secret.exists():
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex())
    stays = {"SECRET_KEY": secret.read_text(), "STORE_URL": f"sqlite:///{folder / 'world.db'}"}
    return {**stays, **given}
