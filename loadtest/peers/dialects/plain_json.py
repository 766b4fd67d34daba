"""JSON objects of this project's own design: an example for dialects of one's own."""

import json


def path(address, square):
    """The path at which a player connects."""
    return "/"


def lines(square):
    """A player says where it joins, and plays once the server has said so, too."""
    join = json.dumps({"type": "join", "column": square[0], "row": square[1]})
    return (b"", join), (b"joined", b"")


def move(x, y, marker):
    """The server tells all who hear the square of this, with the marker as it is."""
    return json.dumps({"type": "move", "x": x, "y": y, "marker": marker}, separators=(",", ":"))
