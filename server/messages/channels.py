"""The names of one world's channels, which keep all else that uses the same broker apart.

    WORLD/VERSION/nodes                          heartbeats, and who goes where
    WORLD/VERSION/SEED-SIDE/COLUMN:ROW           a square

So worlds of other names, and servers of another version, share a broker without hearing each other.
Servers of one world whose seeds or sides differ, by mistake, meet on the first channel, where they
notice it, and never in a square. It publishes nothing.
"""

from collections.abc import Callable
from functools import lru_cache

from server.messages.protocol import VERSION
from world.grid import Square

#: The name of a world that was given none.
WORLD = "flatlands"

#: Squares whose channels' names are remembered: what a node has residents in and holds fits.
REMEMBERED = 65536


class Channels:
    """See the module. `nodes` is the channel that all nodes of the world hear; `ground` is what
    they should agree about."""

    def __init__(self, world: str, seed: int, side: int) -> None:
        self.nodes = f"{world}/{VERSION}/nodes"
        self.ground = f"{seed}-{side}"
        prefix = f"{world}/{VERSION}/{self.ground}"

        def name(square: Square) -> str:
            return f"{prefix}/{square[0]}:{square[1]}"

        #: Returns the name of a square's channel. Each batch needs one.
        self.square: Callable[[Square], str] = lru_cache(REMEMBERED)(name)
