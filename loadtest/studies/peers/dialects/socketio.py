"""Socket.IO 5 over Engine.IO 4: a packet is text that begins with the digits of its kinds."""

import json

HEARTBEAT = b"2", "3"


def path(address: tuple[str, int], square: tuple[int, int]) -> str:
    """Return the path at which a player connects."""
    return "/socket.io/?EIO=4&transport=websocket"


def lines(square: tuple[int, int]) -> tuple[tuple[bytes, str | bytes], ...]:
    """Return the lines: Engine.IO opens, then Socket.IO, and then the player joins."""
    join = "42" + json.dumps(["join", *square])
    return (b'0{"sid"', "40"), (b"40{", join), (b"joined", b"")


def move(x: int, y: int, marker: str) -> str:
    """Return an event with three arguments."""
    return "42" + json.dumps(["move", x, y, marker], separators=(",", ":"))
