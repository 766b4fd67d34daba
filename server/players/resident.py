"""A resident: a player hosted by this node. It only holds state; the node moves it."""

from typing import TYPE_CHECKING

from world.events import Player
from world.grid import Rect, Square, Viewport
from world.track import Intent, Track

if TYPE_CHECKING:
    from server.clients.session import Session

#: `seq` is incarnation x INCARNATION + events so far, so that one number tells which is newer.
INCARNATION = 2**24


class Resident(Player):
    """A player, and what only its node knows of it.

    `session` is None for a computer player, and for one whose connection is lost; `view` and
    `held` are None with it. `due` is when something changes for it by itself, or None; up to
    `moved` ms its square and what it holds are right. While it is `watched` its client is looked at
    for signs of life; `asked` is when it was last heard before it was asked for one, or None.
    `acted`: it has walked or spoken.
    """

    __slots__ = (
        "square", "intent", "session", "view", "held", "due", "moved", "watched", "asked", "acted",
    )  # fmt: skip

    def __init__(
        self, node: int, id: int, incarnation: int, name: str, track: Track, square: Square
    ) -> None:
        super().__init__(node, id, incarnation * INCARNATION, 0, name, False, track)
        self.square = square
        self.intent: Intent = None
        self.session: Session | None = None
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

    @property
    def incarnation(self) -> int:
        """How often it came back on another node, or after having left."""
        return incarnation_of(self.seq)


def incarnation_of(seq: int) -> int:
    """Return the incarnation that an event's seq belongs to."""
    return seq // INCARNATION
