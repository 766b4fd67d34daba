"""A resident: a player that this node hosts. It only holds state; movement.py moves it."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from flatlands.server.players.recording import Point
from flatlands.server.squares.hub import ClientSession
from flatlands.world.events import Player
from flatlands.world.grid import Rect, Square, Viewport
from flatlands.world.track import PACE_USUAL, Intent, Track

#: A seq is the player's incarnation x INCARNATION + its number of events in that incarnation. One
#: comparison therefore shows which of two events is newer.
INCARNATION: Final = 2**24


def incarnation(seq: int) -> int:
    """Return the incarnation that an event's seq belongs to."""
    return seq // INCARNATION


def next_incarnation(seq: int) -> int:
    """Return the seq with which the incarnation after that of `seq` begins.

    Whatever is published with it, or a higher one, is newer than everything up to that incarnation.
    """
    return (seq // INCARNATION + 1) * INCARNATION


def ms_left(until: int, now: int) -> int:
    """Return how many ms a pace that lasts until a time has left; both are 0 for good."""
    return until and max(until - now, 1)


class State(NamedTuple):
    """The part of a resident that goes along when its player is passed on: all else starts afresh
    at the next node. The fields are those of Resident."""

    id: int
    seq: int
    name: str
    track: Track
    square: Square
    followed_until: int
    ack: int = 0
    look: int = 0
    pace: int = PACE_USUAL
    pace_until: int = 0
    values: Sequence[Any] = ()
    intent: Intent = None
    has_acted: bool = False
    owner: str = ""
    before_home: tuple[int, int] | None = None
    recorded: Sequence[Point] = ()


class Resident(Player):
    """A player that this node hosts, with the state that no other node has. Times are node time in
    ms."""

    __slots__ = (
        "square",
        "intent",
        "pace_until",
        "session",
        "view",
        "held",
        "due",
        "awaits_unread_input",
        "followed_until",
        "liveness_checked",
        "heard_at_ping",
        "has_acted",
        "owner",
        "before_home",
        "recorded",
    )

    def __init__(self, node: int, state: State) -> None:
        super().__init__(node, state.id, state.seq, state.ack, state.name, False, state.track)
        self.look, self.pace, self.values = state.look, state.pace, state.values
        #: The square in which it is published.
        self.square = state.square
        self.intent: Intent = state.intent
        #: The node time in ms until which it goes at its pace; 0: for good.
        self.pace_until = state.pace_until
        #: The session of its client; None for a computer player, and while the connection is lost.
        self.session: ClientSession | None = None
        #: The viewport of its client, and the squares that its session holds; None without one.
        self.view: Viewport | None = None
        self.held: Rect | None = None
        #: When something changes for it by itself next (a border, a leg), or None.
        self.due: int | None = None
        #: Whether its walk waits until what its client sent while this node stood still is read.
        self.awaits_unread_input = False
        #: The time up to which `square` and `held` follow its track.
        self.followed_until = state.followed_until
        #: Whether its client is checked for signs of life, because it walks.
        self.liveness_checked = False
        #: The client's `last_heard` when it was pinged for a sign of life, or None.
        self.heard_at_ping: int | None = None
        #: Whether its client has ever let it walk or speak.
        self.has_acted = state.has_acted
        #: For whom it earns points, as in storage/boards.py; "" if its client has sent no key.
        self.owner = state.owner
        #: Where it was when it asked for home, in units, until it goes back.
        self.before_home: tuple[int, int] | None = state.before_home
        #: Its way since its recording began; empty while it is not recorded.
        self.recorded: Sequence[Point] = state.recorded

    def state(self) -> State:
        """Return what it takes along to another node."""
        return State(*[getattr(self, name) for name in State._fields])

    def walks(self, now: int) -> bool:
        """Return whether it is on its way at the time `now`."""
        return self.intent is not None or self.track.end > now
