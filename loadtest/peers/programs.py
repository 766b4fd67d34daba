"""The peers: starts and stops them, and says why some of them cannot take part."""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.kit.processes import ROOT, Program, Trouble, cost
from loadtest.peers.dialects import Address, Colyseus, Dialect, PlainJson, SocketIo

SERVERS = Path(__file__).resolve().parent / "servers"

#: The peers in Python have a virtual environment of their own, apart from the project's.
PYTHON = ROOT / ".venv-peers" / "bin" / "python"

#: Seconds between the end of a program's last connection and its own end.
DYING = 0.3


@dataclass(frozen=True)
class Peer:
    """A server: a `program` in servers/ with its `options`. The suffix says what runs it."""

    name: str
    title: str
    program: str
    dialect: type[Dialect]
    options: tuple[str, ...] = ()

    @property
    def in_node(self) -> bool:
        """Whether Node runs it."""
        return Path(self.program).suffix == ".mjs"


PEERS = (
    Peer("flask-socketio", "Flask-SocketIO, gevent", "flask_socketio_server.py", SocketIo),
    Peer("websockets", "websockets, broadcast()", "websockets_server.py", PlainJson),
    Peer("socket.io", "Socket.IO, rooms", "socketio.mjs", SocketIo),
    Peer("ws", "ws, by hand", "ws.mjs", PlainJson),
    Peer("colyseus", "Colyseus, a view a player", "colyseus.mjs", Colyseus),
    Peer(
        "colyseus-shared", "Colyseus, a view a square", "colyseus.mjs", Colyseus,
        ("--shared-views",),
    ),
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
    why = {}
    for peer in peers:
        if peer.in_node and shutil.which("node") is None:
            why[peer.name] = "Node is not on this machine: install Node 20 or newer with npm, " \
                "then run make bench-peers"  # fmt: skip
        elif peer.in_node and not (SERVERS / "node_modules").is_dir():
            why[peer.name] = "their packages are not installed: run make bench-peers, or npm ci " \
                "in loadtest/peers/servers"  # fmt: skip
        elif not peer.in_node and not PYTHON.exists():
            why[peer.name] = "their packages are not installed: run make bench-peers"
    return why


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
    return ["node" if peer.in_node else str(PYTHON), program, *peer.options]
