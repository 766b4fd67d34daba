"""Players that go to and fro in their squares: a worker of the study.

It is the process of connections/client.py, whose lines of JSON it exchanges with its parent; the
configuration is the same. Its one request, "walk", is an intent and a ping. What its players are
told is acknowledged but not decoded, so that one process can have the players of many nodes.
"""

import random
import sys
import time

import msgpack

from flatlands import wire
from flatlands.loadtest.kit.processes import raise_descriptor_limit
from flatlands.loadtest.studies import parent
from flatlands.loadtest.studies.connections.client import Client, GameClientConfig
from flatlands.loadtest.studies.connections.dialects import Game, Talk
from flatlands.loadtest.studies.parent import Parent

#: Tiles that a screen shows. With the margin around it, a player in a square of 16 tiles holds that
#: square and the eight around it, wherever in the square it is.
SCREEN = 24

#: Units from a square's border within which no player has its goal.
BORDER = 2 * 1024


class Walker(Game):
    """A player of Flatlands that goes from one place in its square to another."""

    requests: tuple[str, ...] = ("walk",)

    def __init__(self, host: str, path: str) -> None:
        super().__init__(host, path, screen=SCREEN)
        #: Connection -> the corner of its player's square and the square's side, in units, and how
        #: many intents it has sent.
        self._places: dict[Talk, tuple[int, int, int, int]] = {}

    def ask(self, talk: Talk, request: str, due: int) -> bytes:
        """See Dialect. The ping is read right after the intent, and answered at once."""
        ping = super().ask(talk, request, due)
        if request != "walk":
            return ping
        x, y, span, number = self._places[talk]
        self._places[talk] = x, y, span, number + 1
        goal = (low + random.randint(BORDER, span - BORDER) for low in (x, y))
        # The server has no later intents than its own time.
        now = int(time.time() * 1000)
        return wire.message_frame(wire.GO, number + 1, now, *goal) + ping

    def _told(self, talk: Talk, payload: bytes, dues: list[int]) -> None:
        super()._told(talk, payload, dues)
        if wire.message_kind(payload) == wire.WELCOME:
            x, y, side = msgpack.unpackb(payload)[5:8]
            span = side * 1024
            self._places[talk] = x // span * span, y // span * span, span, 0


def work(config: GameClientConfig, parent: Parent) -> None:
    """Run the process of the players, for ever. Raises Trouble."""
    raise_descriptor_limit()
    Client(config, parent, Walker(config["host"], config["path"])).run()


if __name__ == "__main__":
    sys.exit(parent.work(work))
