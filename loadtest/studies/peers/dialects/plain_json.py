"""JSON objects designed for this project: an example for your own dialects."""

import json


def path(address, square):
    """Return the path at which a player connects."""
    return "/"


def lines(square):
    """Return the lines: say where to join, and play once the server has answered "joined"."""
    join = json.dumps({"type": "join", "column": square[0], "row": square[1]})
    return (b"", join), (b"joined", b"")


def move(x, y, marker):
    """Return a move. The server tells it to all who hear the square, with the marker unchanged."""
    return json.dumps({"type": "move", "x": x, "y": y, "marker": marker}, separators=(",", ":"))
