"""What the process of the other nodes and its parent tell each other, see others.py."""

from typing import TypedDict


class Config(TypedDict):
    """The configuration: `players` of each node, `squares` of the whole world, and `moves` a second
    of each player."""

    broker: str
    nodes: int
    players: int
    squares: int
    moves: float


class Near(TypedDict):
    """How many nodes have players where the real node hears them, and how many these are."""

    near: int
    players: int


class Counts(TypedDict):
    """What was published since the start, see Others.counts."""

    messages: int
    bytes: int
    heartbeats: int
    heartbeat_bytes: int
    late_ms: float
    cpu: float
    lost: int
    failed: int
