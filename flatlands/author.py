"""`flatlands play`: serves a game, and restarts it whenever one of its files changes. It may put a
proxy in front, which makes the link slow.

Tokens and what is kept outlast a restart, so open pages come back where they were. It never looks
into the game: the server does, in a process of its own.
"""

import fcntl
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from flatlands import output
from flatlands.needs import apart
from flatlands.proxy import RETRANSMISSION_MS, LinkQuality, Proxy

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


#: What the game's options are given to.
COMMAND = "flatlands play"

#: The most ms of --lag, and of --jitter: with more, no page could say hello in time.
SLOWEST_MS = 2000


class NotServed(Exception):
    """The game cannot be served; the text is a sentence that says why."""


def serve(game: Path, options: Sequence[str]) -> int:
    """Serve a game until it is stopped, or until its server ends; return the exit code. Raises
    OSError if the secret cannot be kept, and NotServed if somebody else serves the game or has the
    proxy's port. Ends the process with a sentence and code 2 if an option is wrong."""
    link, options = _link(options)
    command = [sys.executable, "-m", "flatlands.server", "--game", str(game), "--author", "1"]
    environment, again = _environment(game, apart()), list[str]()
    # The server has it too, and would keep it if this process were killed.
    lock = _lock(game)
    command += ["--lock-fd", str(lock)]
    proxy = None
    if any(link):
        proxy, options = _proxy(link, options, environment)
    output.install()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        before = _state(game)
        server = subprocess.Popen(
            [*command, *again, *options, *_behind(proxy)], env=environment, pass_fds=[lock]
        )
        try:
            changed = _wait(server, game, before, bool(again))
        except KeyboardInterrupt:
            return 0
        finally:
            _stop(server)
        if not changed:
            return server.returncode
        again = ["--show-fault", "1"]
        print(f"flatlands: {changed} has changed: restarting", file=sys.stderr)


def _up_to(most: int) -> Callable[[str], float]:
    """Return what reads a number from 0 to `most`."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1
        if not 0 <= number <= most:
            raise ArgumentTypeError(f"{text!r} is not a number from 0 to {most}")
        return number

    return read


def _parser() -> ArgumentParser:
    """Return what reads the options of a slow link."""
    parser = ArgumentParser(
        COMMAND,
        usage=f"{COMMAND} [GAME] [--help] [OPTION ...]",
        add_help=False,
        allow_abbrev=False,
    )
    group = parser.add_argument_group(
        "a slow link between pages and server, to try how the game feels to players far away "
        "(on this machine only)"
    )
    rows = (
        (
            "--lag",
            "MS",
            SLOWEST_MS,
            "a round trip takes MS longer (which players call a ping of "
            "MS): half of it on the way to the server, and half on the way back",
        ),
        (
            "--jitter",
            "MS",
            SLOWEST_MS,
            "a round trip takes up to MS longer than that, each time another time; the order stays",
        ),
        (
            "--loss",
            "PERCENT",
            100,
            "of all packets, PERCENT are lost in each direction, and come, "
            f"with all that follows them, {RETRANSMISSION_MS} ms and a round trip later",
        ),
    )
    for flag, unit, most, text in rows:
        group.add_argument(flag, metavar=unit, type=_up_to(most), default=0, help=text)
    return parser


def show_help() -> None:
    """Print the options that the server does not have."""
    _parser().print_help()


def _link(options: Sequence[str]) -> tuple[LinkQuality, Sequence[str]]:
    """Return how slow the link is to be, and all other options."""
    given, others = _parser().parse_known_args(options)
    return LinkQuality(**vars(given)), others


def _proxy(
    link: LinkQuality, options: Sequence[str], environment: Mapping[str, str]
) -> tuple[Proxy, Sequence[str]]:
    """Return a proxy that listens in the server's place, and the options that are left for the
    server. Raises NotServed."""
    # These import much of the server, and most authors need no proxy.
    from flatlands.server import settings
    from flatlands.server.net.hosts import is_local
    from flatlands.server.runtime.port import cannot_listen

    host, port, others = settings.where(COMMAND, options, environment)
    try:
        proxy = Proxy(0, link, host=host, port=port)
    except OSError as error:
        raise NotServed(cannot_listen(error, host, port)) from None
    if not is_local(proxy.address):
        proxy.close()
        # To the server all who come through the proxy are this machine itself, which may do more.
        raise NotServed(
            f"a slow link is for this machine only, and {host} lets others in: leave out --host, "
            "or --lag, --jitter and --loss"
        )
    lag, jitter, loss = link
    longer = f"{lag:g} to {lag + jitter:g}" if jitter else f"{lag:g}"
    print(
        f"flatlands: a slow link: round trips take {longer} ms longer, and {loss:g} % of packets "
        "are lost",
        file=sys.stderr,
    )
    return proxy, others


def _behind(proxy: Proxy | None) -> list[str]:
    """Return the options of a server behind the proxy, on another port each time."""
    if proxy is None:
        return []
    with socket.create_server(("127.0.0.1", 0)) as free:
        proxy.to_port = free.getsockname()[1]
    return [
        *("--host", "127.0.0.1", "--port", str(proxy.to_port)),
        *("--proxy-port", str(proxy.port)),
    ]


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
        yield from (Path(folder, name) for name in names if _is_looked_at(name))


def _is_looked_at(name: str) -> bool:
    """Return whether a file may be a part of a game: the types of its page are made from it."""
    return name[0] != "." and not name.endswith(".d.ts")


def _lock(game: Path) -> int:
    """Return the descriptor of the game's lock, which nobody else has as long as it is open here
    or in a server; the system frees it however they end. Its file says who has it. Raises
    NotServed, and OSError."""
    lock = os.open(_folder(game) / f"{game.stem}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        by = os.pread(lock, 1000, 0).decode()
        os.close(lock)
        raise NotServed(
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
