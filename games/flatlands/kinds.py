"""The messages, events and things of Flatlands, beside those of every game: docs/protocol.md.

It has their kinds, fields, ranges and rates, and packs the answers. It never acts on a message.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from flatlands.server.messages.peer_protocol import THING_ID, THING_VERSION, Kind, declare
from flatlands.server.messages.protocol import MESSAGE_LIMIT, TIME_MOST, pack
from flatlands.server.messages.table import Field, Row, number

# The kinds of messages from a client, and of those to it.
TAKE, KEY, SCORES, BUILD, STONE = range(9, 14)
EMOTE, FIND = 32, 34
FOUND, BOARD, FINDERS = 29, 30, 41

# The kinds of events, and of things.
EMOTED, EMBER = 5, 6
GEM, CAIRN = range(2)

#: Of computer players those with ids from DEER_FROM on are deer.
DEER_FROM: Final = 2**15

#: The most players on the board that a client is sent.
BOARD_LENGTH: Final = 10

#: The least and the most characters in the key of a player.
KEY_LEAST, KEY_MOST = 16, 64

_EMOTE: Final = number("emote", 1, 255)
_SQUARE: Final = (number("column"), number("row"))

#: All messages that clients send in Flatlands only.
ROWS: Final = {
    TAKE: Row("take", (*_SQUARE, THING_ID), rate=4, burst=12),
    KEY: Row("key", (Field("text", str, KEY_LEAST, KEY_MOST),), rate=0.5, burst=3),
    SCORES: Row("scores", (), rate=1, burst=5),
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


class GemThing(NamedTuple):
    """A gem at a position in units from the square's corner."""

    kind: int
    id: str
    version: int
    x: int
    y: int


class CairnThing(NamedTuple):
    """A heap of stones that player `player` has left, under the name `name`, with a line."""

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

_LYING: Final = THING_ID, THING_VERSION
THINGS: Final[dict[int, Kind]] = {
    GEM: declare(GemThing, *_LYING),
    CAIRN: declare(CairnThing, *_LYING, number("stones", 1, 1000)),
}


def found(id: str, version: int, gems: int, place: int, of: int) -> bytes:
    """Pack that a gem is the client's; `gems`, `place` and `of` as in `board`."""
    return pack(FOUND, id, version, gems, place, of)


def board(
    gems: int,
    place: int,
    of: int,
    top: Sequence[tuple[str, int, bool]],
    longest: Sequence[tuple[str, int, bool] | None],
) -> bytes:
    """Pack how many gems a player has, and its place, from 1, among `of` players.

    `top` has (name, gems, whether it is the client's player) of those with the most gems. `longest`
    has the same, with ms for gems, of who kept the ember for longest within a day, and ever.
    """
    return pack(BOARD, gems, place, of, top, longest)


def finders(column: int, row: int, place: int, of: int) -> bytes:
    """Pack that a player is the `place`th, from 1, of the finders of a part's landmark.

    `of` is their number. The place is 0 for a player who is not counted any more.
    """
    return pack(FINDERS, column, row, place, of)
