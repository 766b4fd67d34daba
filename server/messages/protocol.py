"""The messages between clients and server: their kinds, fields and ranges, as in docs/protocol.md.

What a client sends is checked here, against one row of a table, before any other code gets it.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgpack

from flatlands.server.messages.table import NUMBER, Field, Row, number
from flatlands.world.batches import BatchContent
from flatlands.world.grid import Rect, Square
from flatlands.world.things import PlacedThing

#: The WebSocket subprotocol, and the version of the messages that hello asks for.
SUBPROTOCOL: Final = "flatlands"
VERSION: Final = 3

#: The largest message from a client, in bytes.
MESSAGE_LIMIT: Final = 4096

#: The most characters of tokens and invitations.
TOKEN_LIMIT: Final = 512
INVITATION_LIMIT: Final = 512

#: The most characters in a ticket.
TICKET_LIMIT: Final = 2000

#: The least and the most characters in the key of a player.
KEY_LEAST: Final = 16
KEY_MOST: Final = 64

#: Players with ids below it are movers of the game; all other players have ids from it on.
FIRST_PERSON_ID: Final = 2**31

#: Movers with ids below it are in a store, and the node with the lease of their group moves them;
#: the others are only at the node that spawned them.
FIRST_UNSTORED_ID: Final = 2**30

#: The most characters in the id of a thing.
ID_LIMIT: Final = 60

#: The most ms in times and ages, up or down. Clients get sums of them, which must be numbers that
#: JavaScript holds exactly.
TIME_MOST: Final = 2**50

# The kinds of messages from a client. 9, 11 to 13, 32 and 34 were used by earlier versions.
HELLO: Final = 1
WALK: Final = 2
GO: Final = 3
HOME: Final = 4
VIEWPORT: Final = 5
SAY: Final = 6
PING: Final = 7
INVITE: Final = 8
KEY: Final = 10
ACK: Final = 14
WATCH: Final = 15
APPEAR: Final = 33
DO: Final = 35
TICKET: Final = 36
ASK: Final = 37

# The kinds of messages to a client. 20, 25, 29, 30, 41 and 47 were used by earlier versions.
WELCOME: Final = 16
TOKEN: Final = 17
HELD: Final = 18
SNAPSHOT: Final = 19
FLUSH: Final = 21
RESYNC: Final = 22
PONG: Final = 23
ERROR: Final = 24
LINK: Final = 26
INVITATION: Final = 27
THINGS: Final = 28
TOTALS: Final = 31
DOTS: Final = 40
HOST: Final = 44
MESSAGE: Final = 45
CELLS: Final = 46
MOVED: Final = 48
ANSWER: Final = 49

# Close codes: those of RFC 6455, section 7.4.1, and its registry, and one of this project.
GOING_AWAY: Final = 1001
UNSUPPORTED: Final = 1003
MALFORMED: Final = 1007
POLICY: Final = 1008
INTERNAL: Final = 1011
RESTART: Final = 1012
TRY_LATER: Final = 1013
CLOSE_TAKEN_OVER: Final = 4001

#: All close codes that RFC 6455 and its registry name, and that of this project.
CLOSE_CODES: Final = frozenset((*range(1000, 1016), CLOSE_TAKEN_OVER))

#: The largest grain that a client can ask for.
GRAIN_MOST: Final = 31

#: The farthest from the origin along each axis, in units: twice as far as there is ground.
_POSITION: Final = 2**41


class Refused(Exception):
    """The server does not obey what a client sent.

    `code` is one of the error codes in docs/protocol.md, or a game's own, a word of 20 letters at
    most; `sentence` is for people. `close` is the code to close the connection with, or None if it
    stays open. Raises TypeError if a game gives anything else.
    """

    def __init__(self, code: str, sentence: str, close: int | None = POLICY) -> None:
        word = isinstance(code, str) and code.isidentifier() and len(code) <= 20
        if not word or not isinstance(sentence, str):
            raise TypeError(f"Refused(code, sentence) takes a word and a text, not {code!r:.60}")
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.close = close


#: How a client draws a player; it means nothing to servers.
LOOK: Final = number("look", 0, 65535)

#: The number of an intent, or of an action.
_NUMBER: Final = number("n", 1, NUMBER)
_ACTION: Final = (Field("name", str, 1, 60), Field("fields", list, 0, 16))
_TIME: Final = number("t", 0, NUMBER)
_VIEW: Final = (number("width", 1, 65535), number("height", 1, 65535))

#: All messages that clients send in every game.
CLIENT_MESSAGES: Final = {
    HELLO: Row(
        "hello",
        (
            number("version", 0, 65535),
            Field("name", str, 0, MESSAGE_LIMIT),
            *_VIEW,
            Field("token", str, 0, TOKEN_LIMIT, optional=True),
            Field("near", int, 0, NUMBER, optional=True, text=INVITATION_LIMIT),
            *[Field(name, int, -_POSITION, _POSITION, optional=True) for name in "xy"],
        ),
        rate=1,
        burst=1,
        agree=lambda *fields: fields[0] == VERSION and (fields[-2] is None) == (fields[-1] is None),
    ),
    WALK: Row("walk", (_NUMBER, _TIME, number("dx", -1, 1), number("dy", -1, 1)), 30, 60),
    GO: Row(
        "go",
        (_NUMBER, _TIME, *[number(name, -_POSITION, _POSITION) for name in "xy"]),
        rate=10,
        burst=20,
    ),
    HOME: Row("home", (_NUMBER,), rate=0.5, burst=3),
    VIEWPORT: Row("viewport", _VIEW, rate=4, burst=12),
    SAY: Row("say", (Field("text", str, 0, MESSAGE_LIMIT),), rate=1, burst=5),
    PING: Row("ping", (number("time", 0, NUMBER), number("flush", 0, NUMBER)), 8, 16),
    INVITE: Row("invite", (), rate=1, burst=5),
    KEY: Row("key", (Field("text", str, KEY_LEAST, KEY_MOST),), rate=0.5, burst=3),
    ACK: Row("ack", (number("flush", 0, NUMBER),), rate=8, burst=16),
    WATCH: Row(
        "watch",
        (
            Field("grain", int, 0, GRAIN_MOST, optional=True),
            *[number(name) for name in ("c0", "r0", "c1", "r1")],
        ),
        rate=0.5,
        burst=5,
    ),
    DO: Row("do", _ACTION, rate=30, burst=60),
    APPEAR: Row("appear", (Field("name", str, 0, MESSAGE_LIMIT), LOOK), rate=0.5, burst=6),
    TICKET: Row("ticket", (Field("text", str, 1, TICKET_LIMIT),), rate=0.5, burst=3),
    ASK: Row("ask", (_NUMBER, *_ACTION), rate=30, burst=60),
}


def read(payload: bytes) -> list[Any]:
    """Return a client's message as [kind, field ...], with each field checked.

    Raises Refused, with `close` MALFORMED if it is not one MessagePack array, or POLICY if it is
    not as in its row of CLIENT_MESSAGES.
    """
    try:
        message = msgpack.unpackb(
            payload,
            raw=False,
            max_array_len=16,
            max_map_len=0,
            max_ext_len=0,
            max_bin_len=0,
        )
    except (ValueError, msgpack.UnpackException, RecursionError):
        raise Refused("malformed", "a message must be one MessagePack array", MALFORMED) from None
    if type(message) is not list:
        raise Refused("malformed", "a message must be a MessagePack array", MALFORMED)
    kind = message[0] if message else None
    row = CLIENT_MESSAGES.get(kind) if type(kind) is int else None
    if row is None:
        raise Refused("kind", "a message must begin with a kind that clients may send")
    fault = row.fault(message[1:])
    if fault is not None:
        # A page of another version, whose hello may have other fields, must be reloaded.
        if kind == HELLO and row.fields[0].allows(*message[1:2] or [""]) and message[1] != VERSION:
            raise Refused("version", f"this server speaks version {VERSION}: reload the page")
        raise Refused("fields", fault)
    return message


_pack: Callable[[Any], bytes] = msgpack.Packer(autoreset=True).pack


class BatchBody:
    """The last items of a batch as they were packed, without the first byte of an array.

    Nodes and clients get the same bytes after different headers.
    """

    __slots__ = ("items", "data")

    def __init__(self, items: int, data: bytes) -> None:
        self.items = items
        self.data = data


def body(content: BatchContent) -> BatchBody:
    """Pack what clients get of a batch. Empty items at the end are left out."""
    tracks, others, replaced, wide, _writes = content
    if wide:
        packed = _pack([tracks, others, replaced, wide])
    elif replaced:
        packed = _pack([tracks, others, replaced])
    elif others:
        packed = _pack([tracks, others])
    else:
        return BatchBody(1, _pack(tracks))
    return BatchBody(packed[0] - _ARRAY, packed[1:])


#: The first byte of a short array, to which its length is added.
_ARRAY: Final = 0x90


def with_header(header: list[Any], body: BatchBody) -> bytes:
    """Pack an array of the items of a header, which must be few, and those of a body."""
    packed = _pack(header)
    return _ARRAYS[packed[0] - _ARRAY + body.items] + packed[1:] + body.data


_ARRAYS: Final = [bytes((_ARRAY + items,)) for items in range(16)]


class Welcome(NamedTuple):
    """The answer to the hello of a client that may play: it is player `id` at (x, y), in units, at
    the node time `now` in ms.

    `side` and the granted viewport's `width` and `height` are in tiles. `speed` and `diagonal` are
    in units a second, and the margins `lead` and `drop` in units. `ground` is GROUND of
    world/terrain.py, 0 for a plain, or 1 where the game makes it, in chunks that pages get by HTTP.
    `kinds` has what the game declares, of each [what it is, number, name, names]: "thing", "event",
    "cells", "solid", "walking", "chat", "ground", "player", "clock" (docs/protocol.md).
    """

    version: int
    id: int
    now: int
    seed: int
    x: int
    y: int
    side: int
    speed: int
    diagonal: int
    lead: int
    drop: int
    width: int
    height: int
    ground: int
    kinds: Sequence[Any]


def welcome(welcome: Welcome) -> bytes:
    return _pack([WELCOME, *welcome])


def token(text: str) -> bytes:
    return _pack([TOKEN, text])


def held(rect: Rect) -> bytes:
    return _pack([HELD, *rect])


def snapshot(square: Square, sent: int, entries: Sequence[tuple[Any, ...]]) -> bytes:
    """Pack everything that is in a square; ages in `entries` are ms before `sent`, a node time.

    Each entry is the source that its player's slot belongs to, followed by an Entry.
    """
    return _pack([SNAPSHOT, *square, sent, entries])


def batch(square: Square, source: int, ago: int, body: BatchBody) -> bytes:
    """Pack a batch, as it stands in a flush: ages in it count back from `ago` ms before that.

    `source` is what this node calls the node whose players the slots name.
    """
    return with_header([*square, source, ago], body)


def flush(number: int, now: int, batches: Sequence[bytes], crowds: Sequence[bytes] = ()) -> bytes:
    """Pack flush `number`, which the client acknowledges, at the node time `now`.

    `batches` are as `batch` has packed them, and `crowds` as `crowd` has.
    """
    if not crowds:
        head = _pack([FLUSH, number, now, None])[:-1]
        return b"".join([head, _pack_header(len(batches)), *batches])
    head = _pack([FLUSH, number, now, None, None])[:-2]
    return b"".join(
        [head, _pack_header(len(batches)), *batches, _pack_header(len(crowds)), *crowds]
    )


def crowd(square: Square, replaced: int, sketches: Sequence[tuple[int, bytes]]) -> bytes:
    """Pack the moves of a crowd, as they stand in a flush: of each source the joined sketches.

    `replaced` is how many events were replaced by those in the sketches.
    """
    flat: list[Any] = [*square, replaced]
    for some in sketches:
        flat += some
    return _pack(flat)


#: Packs the header of an array of this many items.
_pack_header: Callable[[int], bytes] = msgpack.Packer(autoreset=True).pack_array_header


def resync() -> bytes:
    return _pack([RESYNC])


def pong(time: int, now: int) -> bytes:
    """Pack the answer to a ping: its own `time`, and the node time in ms."""
    return _pack([PONG, time, now])


def error(code: str, sentence: str) -> bytes:
    """Pack a refusal, or a notice: a code of docs/protocol.md, and a sentence for people."""
    return _pack([ERROR, code, sentence])


def link(up: bool) -> bytes:
    """Pack whether this node receives everything that other nodes publish."""
    return _pack([LINK, up])


def moved(address: str) -> bytes:
    """Pack the address of the machine at which the client is to go on."""
    return _pack([MOVED, address])


def invitation(text: str) -> bytes:
    return _pack([INVITATION, text])


def host(name: str, here: bool) -> bytes:
    """Pack the name of the player who invited a guest, and whether that player is in play."""
    return _pack([HOST, name, here])


def things(square: Square, things: Sequence[PlacedThing]) -> bytes:
    """Pack all things in a square."""
    return _pack([THINGS, *square, things])


def cells(square: Square, layer: int, whole: bool, values: bytes) -> bytes:
    """Pack what a game has written on the tiles of a square, in one of its layers.

    If it is the `whole` of it, `values` has a byte for each tile, row by row. Otherwise it has the
    tiles that have changed, as CHANGED packs each: the number of the tile, and its value.
    """
    return _pack([CELLS, *square, layer, whole, values])


#: A tile that has changed, in `cells`.
CHANGED: Final = struct.Struct("<HB")


def message(name: str, fields: Sequence[Any]) -> bytes:
    """Pack a message of a game to its pages, under a name that the game chooses."""
    return _pack([MESSAGE, name, fields])


def answer(n: int, done: bool) -> bytes:
    """Pack whether the action with this number was done, or refused."""
    return _pack([ANSWER, n, done])


def totals(
    players: tuple[int, int],
    squares: int | None,
    nodes: int,
    broker: str,
    ground: tuple[int, int],
    walked: tuple[Sequence[str], int],
) -> bytes:
    """Pack how many players there are in the whole world, (people, computer players), and on how
    many squares.

    `squares` is None if that was not found out. `broker` is the name of what joins the nodes.
    `ground` is its seed, and the side of its squares in tiles. `walked` has some names of those who
    have walked here within two days, and how many people these are.
    """
    return _pack([TOTALS, *players, squares, nodes, broker, *ground, *walked])


def dots(grain: int, fresh: bool, patches: Sequence[bytes]) -> bytes:
    """Pack patches of dots of the map of everybody, each as `patch` has packed it.

    With `fresh` they are all that there is; otherwise they are what has changed.
    """
    head = _pack([DOTS, grain, fresh, None])[:-1]
    return b"".join([head, _pack_header(len(patches)), *patches])


def patch(column: int, row: int, dots: list[int]) -> bytes:
    """Pack some dots of a patch: index, people, computer players, node, batches, index ..."""
    return _pack([column, row, dots])
