"""JSON objects designed for this project: an example for your own dialects."""

import json


def path(address: tuple[str, int], square: tuple[int, int]) -> str:
    """Return the path at which a player connects."""
    return "/"


def lines(square: tuple[int, int]) -> tuple[tuple[bytes, str | bytes], ...]:
    """Return the lines: say where to join, and play once the server has answered "joined"."""
    join = json.dumps({"type": "join", "column": square[0], "row": square[1]})
    return (b"", join), (b"joined", b"")


def move(x: int, y: int, marker: str) -> str:
    """Return a move. The server tells it to all who hear the square, with the marker unchanged."""
    return json.dumps({"type": "move", "x": x, "y": y, "marker": marker}, separators=(",", ":"))
