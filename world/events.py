"""The events of a square, and the players that they are about.

A new track is published as a record of bytes (batches.py). Every other event is a tuple that begins
with its kind; docs/protocol.md explains the fields. Positions are in units from the square's
corner; an age is in ms before the time at which the event's batch was begun.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from flatlands.world.track import PACE_USUAL, Track

#: The kinds of the events that are tuples.
ENTER: Final = 0
LEAVE: Final = 2
GONE: Final = 3
SAID: Final = 4


class EnterEvent(NamedTuple):
    """A player came into the square, or more than its track has changed: everything about it. The
    entries of snapshots and of full states are such events too."""

    kind: int
    id: int
    seq: int
    ack: int
    name: str
    dimmed: bool
    slot: int
    x: int
    y: int
    dx: int
    dy: int
    age: int
    look: int
    pace: int
    values: Sequence[Any]


class LeaveEvent(NamedTuple):
    """A player went to the square (`column`, `row`)."""

    kind: int
    id: int
    seq: int
    column: int
    row: int


class GoneEvent(NamedTuple):
    """A player left the game, or its node no longer has it."""

    kind: int
    id: int
    seq: int


class SayEvent(NamedTuple):
    """A player said something."""

    kind: int
    id: int
    text: str


#: The events, other than tracks, that change something about a player, and therefore have a seq.
Change = EnterEvent | LeaveEvent | GoneEvent

#: Any event, including those that a game declares: its second item is the id of a player.
Event = tuple[Any, ...]

#: The fields of an EnterEvent as a plain tuple. It costs a third of a named tuple, and is enough
#: where it is only sent.
Entry = tuple[int, int, int, int, str, bool, int, int, int, int, int, int, int, int, Sequence[Any]]

#: The class of each kind of event.
EVENT_CLASSES: dict[int, type[Change | SayEvent]] = {
    ENTER: EnterEvent,
    LEAVE: LeaveEvent,
    GONE: GoneEvent,
    SAID: SayEvent,
}


class Player:
    """A player, as everybody may know it.

    `node` is the node that hosts it, and `slot` its number among that node's players in its square;
    -1 while it is in none. `seq` grows with every change, also from one incarnation to the next.
    `ack` is the number of the last intent that was obeyed. `dimmed` says that the player's
    connection is lost. `look` is how its client wants it to be drawn, a number whose meaning no
    server knows. `pace` is how fast it is (track.py), and `values` are those of the fields that the
    game has declared for players.
    """

    __slots__ = (
        "node",
        "id",
        "seq",
        "ack",
        "name",
        "dimmed",
        "track",
        "slot",
        "look",
        "pace",
        "values",
    )

    def __init__(
        self,
        node: int,
        id: int,
        seq: int,
        ack: int,
        name: str,
        dimmed: bool,
        track: Track,
    ) -> None:
        self.node = node
        self.id = id
        self.seq = seq
        self.ack = ack
        self.name = name
        self.dimmed = dimmed
        self.track = track
        self.slot = -1
        self.look = 0
        self.pace: int = PACE_USUAL
        self.values: Sequence[Any] = ()
