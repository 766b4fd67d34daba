"""Dialects: what a client says to a server to join, to move and to stay connected.

A dialect is a Python file, one of those in dialects/ or a user's own, with these names:

    lines(square)          the lines with which a player joins in a square, (column, row)
    move(x, y, marker)     a move within the square, with the marker in it unchanged
    path(address, square)  the path at which a player connects, if it is not that of the URL
    HEARTBEAT              (payload of one byte, its answer), if the server sends heartbeats
    audiences(squares)     how many hear a move of each player, if it is not all in the 3x3 squares
                           around its own

Each line is (bytes to wait for, message to send then); either may be empty. A player plays when all
its lines are done. A message that is a str is sent as a text frame, and bytes as a binary one. What
a server sends is never decoded: its answers are recognised by a few of their bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from runpy import run_path

from flatlands.loadtest.studies.connections.dialects import Refused as Refused
from flatlands.loadtest.studies.peers.marker import find, marker

FOLDER = Path(__file__).parent / "dialects"

Address = tuple[str, int]
Square = tuple[int, int]
Message = str | bytes
Lines = Sequence[tuple[bytes, Message]]


@dataclass(frozen=True)
class Dialect:
    """What the file of a dialect contains, see the module. `path` raises Refused."""

    lines: Callable[[Square], Lines]
    move: Callable[[int, int, str], Message]
    path: Callable[[Address, Square], str] | None = None
    heartbeat: tuple[bytes, Message] | None = None
    audiences: Callable[[Sequence[Square]], list[int]] | None = None


def load(name: str) -> Dialect:
    """Return the dialect in a file, or the one of this name in dialects/. Raises ValueError with a
    sentence."""
    path = Path(name) if name.endswith(".py") else FOLDER / f"{name}.py"
    try:
        found = run_path(str(path))
        dialect = Dialect(
            found["lines"],
            found["move"],
            found.get("path"),
            found.get("HEARTBEAT"),
            found.get("audiences"),
        )
        list(dialect.lines((0, 0)))
        moved = as_bytes(dialect.move(1, 2, marker(42)))
    except KeyError as error:
        raise ValueError(f"the dialect {name} has no function {error.args[0]}") from error
    except Exception as error:
        raise ValueError(f"the dialect {name} fails: {type(error).__name__}: {error}") from error
    if find(moved)[1].tolist() != [42]:
        raise ValueError(f"move() of the dialect {name} does not pass its marker on as it is")
    return dialect


def as_bytes(message: Message) -> bytes:
    """Return the payload of a message."""
    return message.encode() if isinstance(message, str) else message
