"""A resident: a player hosted by this node. It only holds state; movement.py moves it."""

from server.squares.hub import Screen
from world.events import Player
from world.grid import Rect, Square, Viewport
from world.track import Intent, Track

#: A seq is incarnation x INCARNATION + events so far, so that one number tells which is newer. A
#: player's incarnation is how often it came back at another node, or after having left.
INCARNATION = 2**24


def incarnation(seq: int) -> int:
    """Return the incarnation that an event's seq belongs to."""
    return seq // INCARNATION


def next_incarnation(seq: int) -> int:
    """Return the seq with which the incarnation after that of `seq` begins: whatever is told with
    it is newer than all that was told of the player until then."""
    return (seq // INCARNATION + 1) * INCARNATION


class Resident(Player):
    """A player, and what only its node knows of it. Times are node time in ms.

    `screen` is None for a computer player, and for one whose connection is lost; `view` and `held`
    are None with it. `due` is when something changes for it by itself, or None; up to `moved` its
    square and what it holds are right. While it is `watched` its client is looked at for signs of
    life; `asked` is when it was last heard before it was asked for one, or None. `acted`: it has
    walked or spoken.
    """

    __slots__ = (
        "square", "intent", "screen", "view", "held", "due", "moved", "watched", "asked", "acted",
    )  # fmt: skip

    def __init__(
        self, node: int, id: int, seq: int, name: str, track: Track, square: Square
    ) -> None:
        super().__init__(node, id, seq, 0, name, False, track)
        self.square = square
        self.intent: Intent = None
        self.screen: Screen | None = None
        self.view: Viewport | None = None
        self.held: Rect | None = None
        self.due: int | None = None
        self.moved = track.start
        self.watched = False
        self.asked: int | None = None
        self.acted = False

    def walks(self, now: int) -> bool:
        """Whether it is on its way at node time `now`."""
        return self.intent is not None or self.track.end > now
