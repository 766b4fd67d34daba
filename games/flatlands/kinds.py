"""The messages, events and things of Flatlands, beside those of every game: docs/protocol.md.

It has their kinds, fields, ranges and rates, and packs the answers. It never acts on a message.
"""

from typing import Final, NamedTuple

from flatlands.server.messages.peer_protocol import THING_ID, THING_VERSION, Kind, declare
from flatlands.server.messages.protocol import MESSAGE_LIMIT, TIME_MOST, pack
from flatlands.server.messages.table import Field, Row, number

# The kinds of messages from a client, and of those to it.
BUILD, STONE = 12, 13
EMOTE, FIND = 32, 34
FINDERS = 41

# The kinds of events, and of things that are kept here (gems are declared in gems/gems.py).
EMOTED, EMBER = 5, 6
CAIRN = 1

#: Of computer players those with ids from DEER_FROM on are deer.
DEER_FROM: Final = 2**15

_EMOTE: Final = number("emote", 1, 255)
_SQUARE: Final = (number("column"), number("row"))

#: All messages that clients send in Flatlands only.
ROWS: Final = {
    BUILD: Row("build", (Field("text", str, 0, MESSAGE_LIMIT),), rate=0.5, burst=3),
    STONE: Row("stone", (*_SQUARE, THING_ID), rate=0.5, burst=3),
    EMOTE: Row("emote", (_EMOTE,), rate=1, burst=5),
    FIND: Row("find", _SQUARE, rate=0.5, burst=5),
}


class EmoteEvent(NamedTuple):
    """A player made an emote."""

    kind: int
    id: int
    emote: int


class EmberEvent(NamedTuple):
    """A player carries the ember since `age` ms, after so many `passes`. Player `before` had it
    before, or nobody (0), and kept it for `kept` ms."""

    kind: int
    id: int
    passes: int
    age: int
    before: int
    kept: int


class CairnThing(NamedTuple):
    """A heap of stones that player `player` has left, under the name `name`, with a line, at a
    position in units from the square's corner."""

    kind: int
    id: str
    version: int
    x: int
    y: int
    player: int
    name: str
    text: str
    stones: int


EVENTS: Final[dict[int, Kind]] = {
    EMOTED: declare(EmoteEvent, _EMOTE),
    EMBER: declare(
        EmberEvent, number("passes", 0), number("before", 0), number("kept", 0, TIME_MOST)
    ),
}

THINGS: Final[dict[int, Kind]] = {
    CAIRN: declare(CairnThing, THING_ID, THING_VERSION, number("stones", 1, 1000)),
}


def finders(column: int, row: int, place: int, of: int) -> bytes:
    """Pack that a player is the `place`th, from 1, of the finders of a part's landmark.

    `of` is their number. The place is 0 for a player who is not counted any more.
    """
    return pack(FINDERS, column, row, place, of)
