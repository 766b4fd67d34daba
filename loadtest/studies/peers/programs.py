"""The peers: builds, starts and stops them, and says why some of them cannot take part."""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flatlands.loadtest.kit.processes import ROOT, Program, Trouble, cost
from flatlands.loadtest.studies.compilers import (
    build_cpp,
    build_go,
    build_rust,
    find_cargo,
    find_go,
)
from flatlands.loadtest.studies.peers.dialect import Address

SERVERS = Path(__file__).resolve().parent / "servers"

#: The peers in Python have a separate virtual environment, not the project's.
PYTHON = ROOT / ".venv-peers" / "bin" / "python"

#: Those in Go, in Rust and in C++ are built into this folder.
BUILT = ROOT / "build" / "peers"

#: Seconds between the end of a program's last connection and its own end.
DYING = 0.3


@dataclass(frozen=True)
class Peer:
    """A server: a `program` in servers/ with its `options`, and its dialect. The suffix says what
    runs or builds it: .py, .mjs (Node), .go, .rs or .cpp."""

    name: str
    title: str
    program: str
    dialect: str
    options: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """The suffix of its program."""
        return Path(self.program).suffix

    @property
    def compiled(self) -> bool:
        """Whether it has to be built before it can run."""
        return self.suffix in (".go", ".rs", ".cpp")


PEERS = (
    Peer("flask-socketio", "Flask-SocketIO, gevent", "flask_socketio_server.py", "socketio"),
    Peer("websockets", "websockets, broadcast()", "websockets_server.py", "plain_json"),
    Peer("socket.io", "Socket.IO, rooms", "socketio.mjs", "socketio"),
    Peer("ws", "ws, by hand", "ws.mjs", "plain_json"),
    Peer("colyseus", "Colyseus, a view a player", "colyseus.mjs", "colyseus"),
    Peer(
        "colyseus-shared",
        "Colyseus, a view a square",
        "colyseus.mjs",
        "colyseus",
        ("--shared-views",),
    ),
    Peer("go", "Go, gobwas/ws", "go/main.go", "plain_json"),
    Peer("rust", "Rust, tokio-tungstenite", "rust/src/main.rs", "plain_json"),
    Peer("uwebsockets", "C++, uWebSockets", "cpp/main.cpp", "plain_json"),
)


@dataclass
class Server:
    """A running peer, which listens at `address`."""

    address: Address
    program: Program

    def cost(self) -> tuple[float, float]:
        """Return its CPU seconds (user and system) and its MB of resident memory.

        Raises Trouble if it has ended.
        """
        if death := self.program.death():
            raise Trouble(death)
        return cost([self.program.process])

    def death(self) -> str:
        """Return a sentence that says how it has ended, or an empty text while it runs.

        If its connections have just broken, it may take a moment to end, so this waits for DYING.
        """
        self.program.wait(DYING)
        return self.program.death()


def absent(peers: Sequence[Peer]) -> dict[str, str]:
    """Return name -> reason, for each peer that cannot take part. A reason says what to do."""
    reasons = {peer.name: _missing(peer.suffix) for peer in peers}
    return {name: reason for name, reason in reasons.items() if reason}


def _missing(suffix: str) -> str:
    """Return why no program with this suffix can run here, or an empty text."""
    then = "then run make bench-peers"
    if suffix == ".mjs" and shutil.which("node") is None:
        return f"Node is not on this machine: install Node 20 or newer with npm, {then}"
    if suffix == ".mjs" and not (SERVERS / "node_modules").is_dir():
        return (
            "their packages are not installed: run make bench-peers, or npm ci in "
            "loadtest/studies/peers/servers"
        )
    if suffix == ".py" and not PYTHON.exists():
        return "their packages are not installed: run make bench-peers"
    if suffix == ".go" and shutil.which(find_go()) is None:
        return f"Go is not on this machine: install Go 1.19 or newer, {then}"
    if suffix == ".cpp" and shutil.which("g++") is None:
        return f"GCC is not on this machine: install GCC 10 or newer with g++, {then}"
    # Cargo also downloads what the one in C++ is built from.
    if suffix in (".rs", ".cpp") and shutil.which(find_cargo()) is None:
        return f"Rust is not on this machine: install Rust 1.63 or newer with cargo, {then}"
    return ""


def build(peer: Peer) -> None:
    """Build a peer in Go, in Rust or in C++. Raises Trouble and Interrupted."""
    source, name = SERVERS / Path(peer.program).parts[0], f"the peer {peer.name}"
    if peer.suffix == ".go":
        build_go(source, BUILT / "go", name)
    elif peer.suffix == ".cpp":
        build_cpp(source, BUILT / "cpp", name)
    else:
        build_rust(source, BUILT / "rust", name)


@contextlib.contextmanager
def started(command: Sequence[str], cpus: Sequence[int] = ()) -> Iterator[Server]:
    """Run a server that prints its port, on these cores (none given: all).

    Raises Trouble and Interrupted.
    """
    with Program(
        command, "the server", cpus=cpus, environment={"NODE_ENV": "production"}
    ) as program:
        port = int(program.ready(r"^\d+$")[0])
        yield Server(("127.0.0.1", port), program)


def command(peer: Peer) -> list[str]:
    """Return the command that starts a peer."""
    program = str(SERVERS / peer.program)
    starts = {
        ".py": [str(PYTHON), program],
        ".mjs": ["node", program],
        ".go": [str(BUILT / "go")],
        ".rs": [str(BUILT / "rust" / "release" / "peer")],
        ".cpp": [str(BUILT / "cpp")],
    }
    return [*starts[peer.suffix], *peer.options]
