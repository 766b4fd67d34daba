"""Socket.IO 5 over Engine.IO 4: a packet is text that begins with the digits of its kinds."""

import json

HEARTBEAT = b"2", "3"


def path(address, square):
    """Return the path at which a player connects."""
    return "/socket.io/?EIO=4&transport=websocket"


def lines(square):
    """Return the lines: Engine.IO opens, then Socket.IO, and then the player joins."""
    join = "42" + json.dumps(["join", *square])
    return (b'0{"sid"', "40"), (b"40{", join), (b"joined", b"")


def move(x, y, marker):
    """Return an event with three arguments."""
    return "42" + json.dumps(["move", x, y, marker], separators=(",", ":"))
